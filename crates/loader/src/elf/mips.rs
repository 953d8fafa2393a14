//! What MIPS adds: register information, and an offset table that the dynamic
//! symbol table describes instead of relocations.

use super::Loader;
use program::{Address, SymbolId};
use std::sync::Arc;

const DT_MIPS_LOCAL_GOTNO: u32 = 0x7000_000a;
const DT_MIPS_GOTSYM: u32 = 0x7000_0013;
const DT_MIPS_GP_VALUE: u32 = 0x7000_0030;
const PT_MIPS_REGINFO: u32 = 0x7000_0000;
const PT_MIPS_OPTIONS: u32 = 0x7000_0002;
const SHT_MIPS_REGINFO: u32 = 0x7000_0006;
const SHT_MIPS_OPTIONS: u32 = 0x7000_000d;
/// Bytes of an option's header, and the option that has the register information.
const OPTION: u64 = 8;
const REGISTER_INFORMATION: u64 = 1;

/// Kinds of options in the order of their numbers.
const OPTIONS: [&str; 12] = [
    "ODK_NULL",
    "ODK_REGINFO",
    "ODK_EXCEPTIONS",
    "ODK_PAD",
    "ODK_HWPATCH",
    "ODK_FILL",
    "ODK_TAGS",
    "ODK_HWAND",
    "ODK_HWOR",
    "ODK_GP_GROUP",
    "ODK_IDENT",
    "ODK_PAGESIZE",
];

/// What register information says of the base of the table of pointers.
pub(super) const OLD_BASE: &str = "_mips_gp0_value";
/// Where that base is.
pub(super) const BASE: &str = "_mips_gp_value";

/// General registers in the order of their bits.
const REGISTERS: [&str; 32] = [
    "gpr_zero", "gpr_at", "gpr_v0", "gpr_v1", "gpr_a0", "gpr_a1", "gpr_a2", "gpr_a3", "gpr_t0",
    "gpr_t1", "gpr_t2", "gpr_t3", "gpr_t4", "gpr_t5", "gpr_t6", "gpr_t7", "gpr_s0", "gpr_s1",
    "gpr_s2", "gpr_s3", "gpr_s4", "gpr_s5", "gpr_s6", "gpr_s7", "gpr_t8", "gpr_t9", "gpr_k0",
    "gpr_k1", "gpr_gp", "gpr_sp", "gpr_fp", "gpr_ra",
];

impl Loader {
    pub(super) fn is_mips(&self) -> bool {
        self.file.header.machine == object::elf::EM_MIPS
    }

    /// Register information and the base of the offset table.
    pub(super) fn load_mips(&mut self) {
        if !self.is_mips() {
            return;
        }
        let file = Arc::clone(&self.file);
        if let Some(place) = self.mips_table_place(SHT_MIPS_OPTIONS, PT_MIPS_OPTIONS) {
            self.mark_options(place);
        }
        if let Some(place) = self.mips_table_place(SHT_MIPS_REGINFO, PT_MIPS_REGINFO) {
            self.mark_register_info(place);
        }
        let value = file.dynamic.as_ref().and_then(|d| d.value(DT_MIPS_GP_VALUE));
        if let Some(value) = value {
            let place = self.ram(value);
            self.label(place, BASE, false);
        }
    }

    /// Where the section of that kind is, or else the segment.
    fn mips_table_place(&self, section: u32, segment: u32) -> Option<Address> {
        let section = self.file.sections.iter().position(|s| s.kind == section);
        let segment = self.file.segments.iter().position(|s| s.kind == segment);
        match (section, segment) {
            (Some(index), _) => self.section_place(index, 0),
            (None, Some(index)) => self.segment_place(index, 0),
            (None, None) => None,
        }
    }

    /// Options, each with a header that tells its length.
    fn mark_options(&mut self, start: Address) {
        let values = (0u32..).zip(OPTIONS).collect();
        let name = self.class_name("MipsOptionKind");
        let kind = self.enumeration(name, 1, values);
        let builtin = |name| self.program.types.builtin(name);
        let (byte, word, dword) = (builtin("byte"), builtin("word"), builtin("dword"));
        let members =
            [(kind, "kind", ""), (byte, "size", ""), (word, "section", ""), (dword, "info", "")];
        let name = self.class_name("MipsOptionHeader");
        let header = self.elf_struct(&name, &members);
        let end = self.program.memory.block_at(start).map_or(0, |block| block.end().offset);
        let mut at = start;
        while at.offset.checked_add(OPTION - 1).is_some_and(|last| last <= end) {
            let Some([kind, size]) = self.program.memory.read_array::<2>(at) else { break };
            let rest = u64::from(size).saturating_sub(OPTION);
            let Some(inside) = at.checked_add(OPTION) else { break };
            if kind == 0 || u64::from(size) < OPTION {
                break;
            }
            self.define(at, header);
            if u64::from(kind) == REGISTER_INFORMATION {
                self.mark_register_info(inside);
            } else if rest > 0 {
                let bytes = self.program.types.array_of(byte, rest as u32);
                self.define(inside, bytes);
            }
            let Some(next) = inside.checked_add(rest.next_multiple_of(8)) else { break };
            at = next;
        }
    }

    /// An imported function's symbol has the place of its stub, for comparisons of pointers.
    pub(super) fn link_mips_stubs(&mut self) {
        if !self.is_mips() || self.file.is_relocatable() {
            return;
        }
        let file = Arc::clone(&self.file);
        let Some(table) = file.dynamic_symbols() else { return };
        let imports = table.symbols.iter().filter(|s| s.index == object::elf::SHN_UNDEF);
        for symbol in imports.filter(|s| s.is_function() && s.value != 0 && !s.name.is_empty()) {
            let place = self.ram(symbol.value & !1);
            let code = self.program.memory.block_at(place);
            if code.is_some_and(|block| block.permissions.execute) {
                self.link_function(&symbol.name, place);
            }
        }
    }

    fn mark_register_info(&mut self, place: Address) {
        let wide = self.file.header.is_64;
        let values = (0u32..).zip(REGISTERS).map(|(bit, name)| (1u32 << bit, name)).collect();
        let name = self.class_name("GPRMask_MIPS");
        let mask = self.enumeration(name, 4, values);
        let (dword, qword) =
            (self.program.types.builtin("dword"), self.program.types.builtin("qword"));
        let others = self.program.types.array_of(dword, 4);
        let mut members = vec![(mask, "ri_gprmask", "")];
        if wide {
            members.push((dword, "ri_pad", ""));
        }
        members.push((others, "", ""));
        members.push((if wide { qword } else { dword }, "ri_gp_value", ""));
        let name = self.class_name("RegInfo_MIPS");
        let data_type = self.elf_struct(&name, &members);
        self.define(place, data_type);
        let at = place.checked_add(if wide { 24 } else { 20 });
        let value = at.and_then(|at| self.read_value(at, self.file.word() as u32));
        let known = self.program.symbols.named(OLD_BASE).next().is_some();
        // The value is a constant of the linker's, not an address to move.
        if let Some(value) = value.filter(|_| !known) {
            let id = self.label(Address::ram(value & self.mask), OLD_BASE, false);
            self.program.symbols.edit(id, |s| s.pinned = true);
        }
    }

    /// Fills and moves the entries of the offset table: first local ones, then
    /// one for each dynamic symbol from a certain one on.
    pub(super) fn relocate_mips_got(&mut self) {
        if !self.is_mips() || self.file.is_relocatable() {
            return;
        }
        let file = Arc::clone(&self.file);
        let value = |tag| file.dynamic.as_ref().and_then(|d| d.value(tag));
        let got = value(object::elf::DT_PLTGOT);
        let (Some(got), Some(locals), Some(first)) =
            (got, value(DT_MIPS_LOCAL_GOTNO), value(DT_MIPS_GOTSYM))
        else {
            return;
        };
        let start = self.ram(got);
        let word = file.word();
        let most = file.bytes.len() as u64 / word;
        self.fill_global_entries(start, locals, first);
        let count = file.dynamic_symbols().map_or(0, |t| t.symbols.len() as u64);
        let entries = locals.saturating_add(count.saturating_sub(first)).min(most);
        for index in 0..entries {
            let Some(at) = start.checked_add(index * word) else { break };
            let Some(stored) = self.read_value(at, word as u32) else { break };
            if stored != 0 && self.delta != 0 {
                self.move_entry(at, stored.wrapping_add(self.delta));
            }
        }
    }

    fn move_entry(&mut self, at: Address, value: u64) {
        if self.write_word(at, value) {
            self.note_change(at, self.file.word() as u8);
        }
    }

    /// Entries that the linker left zero get their symbol's place; it is moved
    /// with the others afterwards.
    fn fill_global_entries(&mut self, start: Address, locals: u64, first: u64) {
        let file = Arc::clone(&self.file);
        let Some(table) = file.symbol_tables.iter().position(|t| t.dynamic) else { return };
        let places = self.symbol_places.get(table).cloned().unwrap_or_default();
        let word = file.word();
        for (index, place) in places.iter().enumerate() {
            let Some(from) = (index as u64).checked_sub(first) else { continue };
            let Some(place) = place else { continue };
            let at = locals.checked_add(from).and_then(|n| n.checked_mul(word));
            let Some(at) = at.and_then(|at| start.checked_add(at)) else { break };
            if self.read_value(at, word as u32) == Some(0) {
                self.move_entry(at, place.offset.wrapping_sub(self.delta));
            }
        }
    }

    /// Links every imported primary symbol of a range to the external function
    /// of its name.
    pub(super) fn link_named(&mut self, start: Address, end: Address) {
        let named: Vec<(Address, Arc<str>)> = self
            .program
            .symbols
            .in_order((start, SymbolId(0)), end)
            .filter(|(_, s)| s.primary && s.source == program::SourceType::Imported)
            .map(|(_, s)| (s.address, s.name.clone()))
            .collect();
        for (place, name) in named {
            self.link_function(&name, place);
        }
    }
}
