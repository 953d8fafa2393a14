//! The debug directory, and where the debug information of the program is.

use super::Loader;
use object::pe;

/// Bytes of one entry.
const ENTRY: u32 = 28;
/// Kinds of debug information that are known.
const KINDS: u32 = 16;

impl Loader {
    pub(super) fn mark_debug_directory(&mut self) {
        let Some(directory) = self.file.directory(pe::IMAGE_DIRECTORY_ENTRY_DEBUG) else { return };
        let data_type = self.debug_directory_type();
        // Zeros that no file has could go on for gigabytes.
        let length = u32::try_from(self.file.bytes.len()).unwrap_or(u32::MAX).min(directory.size);
        for index in 0..length / ENTRY {
            let Some(at) = directory.address.checked_add(ENTRY * index) else { break };
            let place = self.place(at);
            let Some([_, _, _, kind, _, data, _]) = self.words::<7>(place) else { break };
            if kind > KINDS || !self.program.define_data(place, data_type, ENTRY) {
                break;
            }
            if kind == pe::IMAGE_DEBUG_TYPE_CODEVIEW && data != 0 {
                self.mark_code_view(data);
            }
        }
    }

    /// The name of the file with the debug information, and what tells that it is the right one.
    fn mark_code_view(&mut self, offset: u32) {
        let place = self.place(offset);
        if self.program.memory.read_array::<4>(place) != Some(*b"RSDS") {
            return;
        }
        let Some(path) = offset.checked_add(24).and_then(|at| self.text(self.place(at))) else {
            return;
        };
        let name = path.rsplit(['/', '\\']).next().unwrap_or(&path);
        if name.trim().is_empty() {
            return;
        }
        let (data_type, length) = self.code_view_type(name.len() as u32);
        self.program.define_data(place, data_type, length);
        self.plate(place, ".NET PDB Info");
    }
}
