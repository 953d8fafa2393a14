//! COFF symbols that a linker left in the image.

use super::Loader;
use object::LittleEndian as LE;
use object::pe;
use std::sync::Arc;

/// Bytes of one symbol.
const SYMBOL: u64 = 18;

impl Loader {
    pub(super) fn load_coff_symbols(&mut self) {
        let file = Arc::clone(&self.file);
        if file.symbol_table == 0 {
            return;
        }
        let fitting =
            (file.bytes.len() as u64).saturating_sub(u64::from(file.symbol_table)) / SYMBOL;
        let count = u64::from(file.symbol_count).min(fitting);
        if count < u64::from(file.symbol_count) {
            let announced = file.symbol_count;
            self.warn(format!(
                "the symbol table announces {announced} symbols, the file has {count}"
            ));
        }
        let mut index = 0;
        while index < count {
            let at = u64::from(file.symbol_table) + SYMBOL * index;
            let Some(raw) = super::file::at::<pe::ImageSymbol>(&file.bytes, at) else { break };
            index += 1 + u64::from(raw.number_of_aux_symbols);
            self.load_coff_symbol(raw);
        }
    }

    fn load_coff_symbol(&mut self, raw: &pe::ImageSymbol) {
        let file = Arc::clone(&self.file);
        let section = usize::from(raw.section_number.get(LE)).wrapping_sub(1);
        let Some(section) = file.sections.get(section) else { return };
        let value = raw.value.get(LE);
        let is_function = raw.typ.get(LE) >> 4 & 3 == pe::IMAGE_SYM_DTYPE_FUNCTION;
        // The start of a section has the section's own name, if any.
        if value == 0 {
            return;
        }
        let Some(name) = self.coff_name(&raw.name) else { return };
        // Drivers count from the image base.
        let start = if file.is_driver() { 0 } else { section.address };
        let Some(offset) = start.checked_add(value) else { return };
        let place = self.place(offset);
        if !self.program.memory.contains(place) {
            return;
        }
        let id = self.label(place, &name);
        // The last one shows, if it is none of a section; where unwinding knows a function, the
        // first one is the function's.
        let group = name.strip_prefix(section.name.as_str());
        let of_section = group.is_some_and(|group| group.is_empty() || group.starts_with('$'));
        if !of_section && !self.unwound.contains(&place) {
            self.program.symbols.make_primary(id);
        }
        if is_function && self.is_executable(place) {
            self.start_function(place);
        }
    }

    /// A name of up to eight bytes, or an offset into the string table.
    fn coff_name(&self, raw: &[u8; 8]) -> Option<String> {
        let name = match raw {
            [0, 0, 0, 0, a, b, c, d] => self.file.string(u32::from_le_bytes([*a, *b, *c, *d]))?,
            _ => {
                let short = raw.split(|b| *b == 0).next()?;
                String::from_utf8_lossy(short).into_owned()
            }
        };
        (!name.is_empty()).then_some(name)
    }
}
