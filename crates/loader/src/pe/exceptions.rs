//! Exception tables: the functions that unwinding knows.

use super::Loader;
use super::file::Directory;
use object::pe;

const EXCEPTION: usize = pe::IMAGE_DIRECTORY_ENTRY_EXCEPTION;

impl Loader {
    /// The table of functions with what unwinding needs to know.
    pub(super) fn load_exceptions(&mut self) {
        let Some(directory) = self.file.directory(EXCEPTION) else { return };
        match self.file.machine {
            pe::IMAGE_FILE_MACHINE_AMD64 => self.load_unwound_x64(directory),
            pe::IMAGE_FILE_MACHINE_ARM64 => self.load_unwound_arm(directory, !0),
            pe::IMAGE_FILE_MACHINE_ARMNT | pe::IMAGE_FILE_MACHINE_THUMB => {
                self.load_unwound_arm(directory, !1);
            }
            _ => {}
        }
    }

    fn load_unwound_x64(&mut self, directory: Directory) {
        let data_type = self.exception_type();
        let place = self.place(directory.address);
        let room = match self.program.memory.block_at(place) {
            Some(block) => block.end().offset - place.offset + 1,
            None => {
                self.warn("the exception directory is not in memory");
                return;
            }
        };
        let count = u64::from(directory.size).min(room) / 12;
        for index in 0..count {
            let Some(at) = place.checked_add(12 * index) else { break };
            let Some([begin, _, unwind]) = self.words::<3>(at) else { break };
            if begin == 0 {
                break;
            }
            self.program.define_data(at, data_type, 12);
            self.refer(at, self.place(begin));
            self.unwound.insert(self.place(begin));
            if let Some(from) = at.checked_add(8) {
                self.refer(from, self.place(unwind));
            }
            self.mark_unwind_info(unwind);
        }
    }

    /// What unwinding one function takes: a head, a list of two-byte codes, and maybe a handler
    /// or another function's entry.
    fn mark_unwind_info(&mut self, offset: u32) {
        const HANDLERS: u8 = 3;
        const CHAINED: u8 = 4;
        let place = self.place(offset);
        let Some([head, _, codes, _]) = self.program.memory.read_array::<4>(place) else { return };
        let codes = 4 + 2 * u32::from(codes);
        let behind = codes.next_multiple_of(4);
        let flags = head >> 3;
        // A handler comes first where both are announced.
        let offsets = match flags {
            flags if flags & HANDLERS != 0 => 1,
            flags if flags & CHAINED != 0 => 3,
            _ => 0,
        };
        let length = if offsets > 0 { behind + 4 * offsets } else { codes };
        let data_type = self.unwind_info_type();
        self.program.define_data(place, data_type, length);
        for index in 0..offsets {
            if let Some(at) = place.checked_add(u64::from(behind + 4 * index))
                && let Some([offset]) = self.words::<1>(at)
            {
                self.refer(at, self.place(offset));
            }
        }
    }

    /// The table for ARM and AArch64. In addresses of Thumb code the lowest bit says so.
    fn load_unwound_arm(&mut self, directory: Directory, code: u32) {
        let place = self.place(directory.address);
        let Some(block) = self.program.memory.block_at(place) else {
            self.warn("the exception directory is not in memory");
            return;
        };
        let room = block.end().offset - place.offset + 1;
        for index in 0..u64::from(directory.size).min(room) / 8 {
            let at = place.wrapping_add(8 * index);
            let Some([begin, unwind]) = self.words::<2>(at) else { break };
            if begin == 0 {
                break;
            }
            // The lowest bits of what unwinding takes say whether it stands here itself.
            let packed = unwind & 3 != 0;
            let data_type = self.exception_type_arm(packed);
            self.program.define_data(at, data_type, 8);
            self.refer(at, self.place(begin & code));
            if !packed {
                self.refer(at.wrapping_add(4), self.place(unwind));
            }
        }
    }
}
