//! What PowerPC adds: the base of the table of pointers that 64-bit code keeps in R2, functions
//! with two entries, and stubs of 32-bit code that find their pointers through R30.

use super::Loader;
use super::file::ElfSymbol;
use program::{Address, AddressRange, AddressSet, SymbolId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What follows the start of the table that the base stands behind.
const BIAS: u64 = 0x8000;
/// The section of the descriptors of functions.
pub(super) const DESCRIPTORS: &str = ".opd";
/// The name of the base.
pub(super) const TOC_BASE: &str = "TOC_BASE";
/// Bytes of a function's descriptor.
const DESCRIPTOR: u64 = 24;
/// The bits of the file's flags that number its conventions.
const CONVENTIONS: u32 = 3;
/// Bytes from a function's entry to that for callers with the same base, by the upper three bits
/// of its symbol.
const LOCAL_ENTRIES: [u64; 8] = [0, 0, 4, 8, 16, 32, 64, 0];

impl Loader {
    fn is_powerpc(&self) -> bool {
        self.file.header.machine == object::elf::EM_PPC
    }

    pub(super) fn has_local_entries(&self) -> bool {
        let header = &self.file.header;
        header.machine == object::elf::EM_PPC64 && header.flags & CONVENTIONS == 2
    }

    /// Names the base of the table of pointers, and the entries that keep it.
    pub(super) fn load_powerpc(&mut self) {
        if self.file.header.machine != object::elf::EM_PPC64 {
            return;
        }
        let base = match self.block_start(".toc") {
            Some(start) => Some(start),
            None => self.block_start(".got").and_then(|start| start.checked_add(BIAS)),
        };
        if let Some(base) = base {
            self.label(base, TOC_BASE, false);
        }
    }

    /// The other entry of a function: it is a function of its own, which the first one passes on
    /// to once it has found the base.
    pub(super) fn note_local_entry(&mut self, symbol: &ElfSymbol, place: Address) {
        if !self.has_local_entries() || !symbol.is_function() {
            return;
        }
        let distance = LOCAL_ENTRIES.get(usize::from(symbol.other >> 5)).copied().unwrap_or(0);
        let Some(local) = place.checked_add(distance).filter(|_| distance != 0) else { return };
        if self.local_entries.insert(place, local).is_none() {
            let id = self.label(local, &format!(".{}", symbol.name), false);
            self.program.symbols.make_primary(id);
            self.function_starts.insert(local);
        }
    }

    /// Makes the functions with two entries thunks of what begins at the second.
    pub(super) fn link_local_entries(&mut self) {
        for (entry, local) in std::mem::take(&mut self.local_entries) {
            let code = |at| self.program.memory.block_at(at).is_some_and(|b| b.permissions.execute);
            if !code(entry) || !code(local) {
                continue;
            }
            for at in [entry, local] {
                let body: AddressSet = AddressRange::with_length(at, 1).into_iter().collect();
                self.program.add_function(at, body);
            }
            self.program.functions.edit(entry, |f| f.thunk_of = Some(local));
        }
    }

    /// Descriptors of functions: pointers to the code and to its table of pointers, and a word
    /// more. What they are called is the functions' name. Cost: linear in the descriptors.
    pub(super) fn link_descriptors(&mut self) {
        if self.file.header.machine != object::elf::EM_PPC64 || self.has_local_entries() {
            return;
        }
        let Some(block) = self.program.memory.block_named(DESCRIPTORS) else { return };
        let (start, end) = (block.start, block.end());
        let dynamic = |tag| self.file.dynamic.as_ref().and_then(|d| d.value(tag));
        let entry = Some(self.file.header.entry).filter(|entry| *entry != 0);
        let named: Vec<(Address, &str)> = [
            (entry, "entry"),
            (dynamic(object::elf::DT_INIT), "_DT_INIT"),
            (dynamic(object::elf::DT_FINI), "_DT_FINI"),
        ]
        .into_iter()
        .filter_map(|(address, name)| Some((self.ram(address?), name)))
        .collect();
        self.program.memory.edit_block(start, |b| b.permissions.write = false);
        let mut at = start;
        while let Some(last) = at.checked_add(DESCRIPTOR - 1).filter(|last| *last <= end) {
            self.link_descriptor(at, &named);
            let Some(next) = last.checked_add(1) else { break };
            at = next;
        }
    }

    fn link_descriptor(&mut self, at: Address, named: &[(Address, &str)]) {
        let Some(code) = self.read_value(at, 8).map(|code| Address::ram(code & self.mask)) else {
            return;
        };
        if self.program.memory.block_at(code).is_none_or(|b| !b.permissions.execute) {
            return;
        }
        let word = self.program.types.builtin("qword");
        self.mark_pointer(at);
        if let (Some(base), Some(rest)) = (at.checked_add(8), at.checked_add(16)) {
            self.mark_pointer(base);
            self.redefine(rest, word);
        }
        let symbols: Vec<SymbolId> = self.program.symbols.at(at).map(|(id, _)| id).collect();
        let moved = symbols.into_iter().filter_map(|id| self.program.symbols.remove(id));
        let mut names: Vec<Arc<str>> = moved.map(|symbol| symbol.name).collect();
        let headers = named.iter().filter(|(place, _)| *place == at);
        let (mut outside, before) = (false, names.len());
        names.extend(headers.map(|(_, name)| Arc::from(*name)));
        outside |= names.len() > before;
        self.function_starts.remove(&at);
        outside |= self.program.entry_points.remove(&at).is_some();
        if names.is_empty() && self.program.symbols.primary_at(code).is_none() {
            let plain = self.program.default_function_name(code);
            names.push(format!(".opd.{plain}").into());
        }
        for name in names {
            self.label(code, &name, false);
        }
        self.function_starts.insert(code);
        if outside {
            self.program.entry_points.insert(code, ());
        }
    }

    /// Stubs of position-independent code take a pointer at a distance from R30, which their
    /// callers set. Cost: linear in the code.
    pub(super) fn link_powerpc_stubs(&mut self) {
        if !self.is_powerpc() || self.file.is_relocatable() {
            return;
        }
        let slots: BTreeMap<Address, Arc<str>> = self
            .relocations
            .iter()
            .filter(|r| r.applied && r.kind == object::elf::R_PPC_JMP_SLOT && !r.symbol.is_empty())
            .map(|r| (r.address, Arc::clone(&r.symbol)))
            .collect();
        if slots.is_empty() {
            return;
        }
        for (stub, base) in self.called_with_base() {
            let name = self.stub_slot(stub, base).and_then(|slot| slots.get(&slot));
            if let Some(name) = name.cloned() {
                self.link_function(&name, stub);
            }
        }
    }

    /// What is called, with the value that R30 was last given before the first such call.
    fn called_with_base(&self) -> BTreeMap<Address, u64> {
        let mut called = BTreeMap::new();
        let code = self.program.memory.blocks().iter().filter(|block| {
            block.permissions.execute && block.is_initialized() && !block.is_overlay()
        });
        for block in code {
            let mut sweep = Sweep::default();
            let mut at = block.start;
            while at <= block.end() {
                let Some(word) = self.read_value(at, 4) else { break };
                let target = sweep.step(self, at.offset, word as u32);
                if let (Some(target), Some(base)) = (target, sweep.base) {
                    called.entry(Address::ram(target & self.mask)).or_insert(base);
                }
                let Some(next) = at.checked_add(4) else { break };
                at = next;
            }
        }
        called
    }

    /// Where the pointer is that a stub jumps through, if there is one at a place.
    fn stub_slot(&self, stub: Address, base: u64) -> Option<Address> {
        const TO_COUNTER: u32 = 0x7d69_03a6;
        const JUMP: u32 = 0x4e80_0420;
        let word = |index: u64| self.read_value(stub.checked_add(4 * index)?, 4).map(|w| w as u32);
        let (slot, next) = match (word(0)?, word(1)?) {
            // lwz r11,N(r30)
            (load, _) if load >> 16 == 0x817e => (base.wrapping_add(low(load)), 1),
            // addis r11,r30,N; lwz r11,N(r11)
            (add, load) if add >> 16 == 0x3d7e && load >> 16 == 0x816b => {
                (base.wrapping_add(low(add) << 16).wrapping_add(low(load)), 2)
            }
            _ => return None,
        };
        let jumps = word(next)? == TO_COUNTER && word(next + 1)? == JUMP;
        jumps.then(|| Address::ram(slot & self.mask))
    }
}

/// The lower half of an instruction as a signed number.
fn low(word: u32) -> u64 {
    i64::from(word as u16 as i16) as u64
}

/// What a sweep over code knows.
#[derive(Default)]
struct Sweep {
    /// What the link register was given to find out where the code is.
    here: u64,
    /// R30.
    base: Option<u64>,
    /// R0.
    scratch: u64,
}

impl Sweep {
    /// Passes one instruction; the place that it calls.
    fn step(&mut self, loader: &Loader, at: u64, word: u32) -> Option<u64> {
        match (word, word >> 16) {
            // bcl 20,31,.+4
            (0x429f_0005, _) => self.here = at.wrapping_add(4),
            // mflr r30
            (0x7fc8_02a6, _) => self.base = Some(self.here),
            // addis r30,r30,N; addi r30,r30,N
            (_, 0x3fde) => self.base = self.base.map(|base| base.wrapping_add(low(word) << 16)),
            (_, 0x3bde) => self.base = self.base.map(|base| base.wrapping_add(low(word))),
            // lwz r0,N(r30); add r30,r0,r30; add r30,r30,r0
            (_, 0x801e) => {
                let from = self.base?.wrapping_add(low(word)) & loader.mask;
                self.scratch = loader.read_value(Address::ram(from), 4).unwrap_or(0);
            }
            (0x7fc0_f214 | 0x7fde_0214, _) => {
                self.base = self.base.map(|base| base.wrapping_add(self.scratch));
            }
            // bl N
            _ if word & 0xfc00_0003 == 0x4800_0001 => {
                let distance = i64::from((word << 6) as i32 >> 6) & !3;
                return Some(at.wrapping_add(distance as u64));
            }
            _ => {}
        }
        None
    }
}
