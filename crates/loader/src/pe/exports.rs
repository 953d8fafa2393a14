//! Exports: names and ordinals that other programs may use.

use super::Loader;

const EXPORT: usize = object::pe::IMAGE_DIRECTORY_ENTRY_EXPORT;

/// Most exports that are believed: ordinals have 16 bits.
const EXPORTS: u32 = 65536;

impl Loader {
    pub(super) fn load_exports(&mut self) {
        let Some(directory) = self.file.directory(EXPORT) else { return };
        let place = self.place(directory.address);
        let Some([_, _, _, _, base, functions, names, table, name_table, ordinal_table]) =
            self.words::<10>(place)
        else {
            self.warn("the export directory is not in memory");
            return;
        };
        let forwarded = directory.address..directory.address.saturating_add(directory.size);
        // What a function of another library is called stands as a text in the directory.
        let target = |loader: &Loader, index: u32| -> Option<(u32, bool)> {
            let at = table.checked_add(index.checked_mul(4)?)?;
            let offset = loader.read(loader.place(at), 4)? as u32;
            (offset != 0).then(|| (offset, forwarded.contains(&offset)))
        };
        for index in 0..names.min(EXPORTS) {
            let (Some(name_at), Some(ordinal_at)) =
                (name_table.checked_add(4 * index), ordinal_table.checked_add(2 * index))
            else {
                break;
            };
            let name = self.read(self.place(name_at), 4).map(|at| self.place(at as u32));
            let ordinal = self.read(self.place(ordinal_at), 2);
            let (Some(name), Some(ordinal)) = (name.and_then(|at| self.text(at)), ordinal) else {
                break;
            };
            if let Some(found) = target(self, ordinal as u32).filter(|_| !name.is_empty()) {
                self.export(found, &name);
            }
        }
        for index in 0..functions.min(EXPORTS) {
            if let Some(found) = target(self, index) {
                self.export(found, &format!("Ordinal_{}", base.wrapping_add(index)));
            }
        }
    }

    fn export(&mut self, (offset, forwarded): (u32, bool), name: &str) {
        let place = self.place(offset);
        if !self.program.memory.contains(place) {
            return;
        }
        self.label(place, name);
        self.program.entry_points.insert(place, ());
        let executable = self.program.memory.block_at(place).is_some_and(|b| b.permissions.execute);
        if forwarded {
            self.mark_text(offset);
        } else if executable {
            self.function_starts.insert(place);
        }
    }
}
