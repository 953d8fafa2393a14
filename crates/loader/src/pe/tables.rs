//! Base relocations and thread-local storage.

use super::Loader;
use crate::fields::{half_word, with_half_word};
use crate::unapplied;
use object::pe;
use program::{Address, Relocation};

const BASE_RELOCATION: usize = pe::IMAGE_DIRECTORY_ENTRY_BASERELOC;
const TLS: usize = pe::IMAGE_DIRECTORY_ENTRY_TLS;

/// Most callbacks that are believed.
const CALLBACKS: u64 = 20;

impl Loader {
    /// Reads the list of places that depend on the image base, and moves them
    /// if the image is not where the linker put it.
    pub(super) fn load_base_relocations(&mut self) {
        let Some(directory) = self.file.directory(BASE_RELOCATION) else { return };
        let header = self.relocation_type();
        let shift = self.base.wrapping_sub(self.file.image_base);
        let mut at = 0u32;
        // Zeros that no file has could go on for gigabytes.
        let length = u32::try_from(self.file.bytes.len()).unwrap_or(u32::MAX).min(directory.size);
        while at.saturating_add(8) <= length {
            let Some(start) = directory.address.checked_add(at) else { break };
            let place = self.place(start);
            let Some([page, size]) = self.words::<2>(place) else { break };
            if size < 8 {
                break;
            }
            let size = size.min(length - at);
            self.program.define_data(place, header, 8);
            for entry in (8..size.saturating_sub(1)).step_by(2) {
                let Some(entry_at) = start.checked_add(entry) else { break };
                let Some(entry) = self.read(self.place(entry_at), 2) else { return };
                self.define(self.place(entry_at), "word");
                self.relocate(page, entry as u16, shift);
            }
            at = match at.checked_add(size) {
                Some(next) => next,
                None => break,
            };
        }
    }

    fn relocate(&mut self, page: u32, entry: u16, shift: u64) {
        let kind = entry >> 12;
        let place = self.place(page.wrapping_add(u32::from(entry & 0xfff)));
        let is_pair = kind == pe::IMAGE_REL_BASED_THUMB_MOV32 && self.file.is_arm();
        let size = match kind {
            pe::IMAGE_REL_BASED_HIGHLOW => 4,
            pe::IMAGE_REL_BASED_DIR64 => 8,
            _ if is_pair => 8,
            _ => 0,
        };
        // Those that fill up the list move nothing.
        let mut applied = shift != 0 && kind == pe::IMAGE_REL_BASED_ABSOLUTE;
        if size > 0
            && shift != 0
            && let Some(value) = self.read(place, size)
        {
            let moved = if is_pair { moved_pair(value, shift) } else { value.wrapping_add(shift) };
            let moved = moved.to_le_bytes();
            let bytes = moved.get(..size as usize).unwrap_or(&[]);
            applied = self.program.memory.write(place, bytes).is_ok();
        }
        if self.relocations.len() < self.file.bytes.len() {
            self.relocations.push(Relocation {
                address: place,
                kind: u32::from(kind),
                symbol: "".into(),
                length: if applied { size as u8 } else { 0 },
                applied,
            });
        }
    }

    /// Says which places were not moved though the image is.
    pub(super) fn warn_of_unmoved(&mut self) {
        if self.base != self.file.image_base {
            unapplied::warn(&mut self.program, |kind| kind.to_string());
        }
    }

    /// Functions that run before the entry whenever a thread starts.
    pub(super) fn load_tls(&mut self) {
        let Some(directory) = self.file.directory(TLS) else { return };
        let place = self.place(directory.address);
        let data_type = self.tls_type();
        let length = self.program.types.length(data_type).unwrap_or(24);
        self.program.define_data(place, data_type, length);
        let word = self.file.word();
        let member = |loader: &Loader, n: u64| {
            let at = place.checked_add(n * word)?;
            loader.read(at, word as u32).map(|v| Address::ram(v & loader.mask))
        };
        if let Some(index) = member(self, 2)
            && self.program.memory.contains(index)
        {
            self.label(index, "_tls_index");
        }
        let Some(callbacks) = member(self, 3).filter(|c| c.offset != 0) else { return };
        for index in 0..CALLBACKS {
            let Some(at) = callbacks.checked_add(index * word) else { break };
            let Some(value) = self.read(at, word as u32).filter(|v| *v != 0) else { break };
            let target = Address::ram(value & self.mask);
            if !self.program.memory.contains(target) {
                break;
            }
            self.define(at, "pointer");
            self.refer(at, target);
            self.label(target, &format!("tls_callback_{index}"));
            self.enter(target);
            self.start_function(target);
        }
    }
}

/// Two Thumb instructions, which load the lower and the higher half of an address, moved.
fn moved_pair(code: u64, shift: u64) -> u64 {
    // The first half of an instruction is the higher one.
    let turned = |code: u64| (code as u32).rotate_left(16);
    let (low, high) = (turned(code), turned(code >> 32));
    let address = (half_word(high) << 16 | half_word(low)).wrapping_add(shift);
    let low = with_half_word(low, address).rotate_left(16);
    let high = with_half_word(high, address >> 16).rotate_left(16);
    u64::from(high) << 32 | u64::from(low)
}
