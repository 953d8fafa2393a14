//! Marks up the small programs for the dynamic linker: each operation, and the numbers and names
//! behind it (`LC_DYLD_INFO`).

use super::Loader;
use super::bind::Program as Bytes;
use object::macho as m;
use program::{Address, DataType, TypeId, TypeKind};
use std::sync::Arc;

/// What follows an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operand {
    Number,
    Signed,
    Name,
}

use Operand::{Name, Number, Signed};

/// An operation: its name, its bits, and what follows it.
type Operation = (&'static str, u8, &'static [Operand]);

const REBASE: &[Operation] = &[
    ("REBASE_OPCODE_DONE", m::REBASE_OPCODE_DONE, &[]),
    ("REBASE_OPCODE_SET_TYPE_IMM", m::REBASE_OPCODE_SET_TYPE_IMM, &[]),
    (
        "REBASE_OPCODE_SET_SEGMENT_AND_OFFSET_ULEB",
        m::REBASE_OPCODE_SET_SEGMENT_AND_OFFSET_ULEB,
        &[Number],
    ),
    ("REBASE_OPCODE_ADD_ADDR_ULEB", m::REBASE_OPCODE_ADD_ADDR_ULEB, &[Number]),
    ("REBASE_OPCODE_ADD_ADDR_IMM_SCALED", m::REBASE_OPCODE_ADD_ADDR_IMM_SCALED, &[]),
    ("REBASE_OPCODE_DO_REBASE_IMM_TIMES", m::REBASE_OPCODE_DO_REBASE_IMM_TIMES, &[]),
    ("REBASE_OPCODE_DO_REBASE_ULEB_TIMES", m::REBASE_OPCODE_DO_REBASE_ULEB_TIMES, &[Number]),
    ("REBASE_OPCODE_DO_REBASE_ADD_ADDR_ULEB", m::REBASE_OPCODE_DO_REBASE_ADD_ADDR_ULEB, &[Number]),
    (
        "REBASE_OPCODE_DO_REBASE_ULEB_TIMES_SKIPPING_ULEB",
        m::REBASE_OPCODE_DO_REBASE_ULEB_TIMES_SKIPPING_ULEB,
        &[Number, Number],
    ),
];

const BIND: &[Operation] = &[
    ("BIND_OPCODE_DONE", m::BIND_OPCODE_DONE, &[]),
    ("BIND_OPCODE_SET_DYLIB_ORDINAL_IMM", m::BIND_OPCODE_SET_DYLIB_ORDINAL_IMM, &[]),
    ("BIND_OPCODE_SET_DYLIB_ORDINAL_ULEB", m::BIND_OPCODE_SET_DYLIB_ORDINAL_ULEB, &[Number]),
    ("BIND_OPCODE_SET_DYLIB_SPECIAL_IMM", m::BIND_OPCODE_SET_DYLIB_SPECIAL_IMM, &[]),
    (
        "BIND_OPCODE_SET_SYMBOL_TRAILING_FLAGS_IMM",
        m::BIND_OPCODE_SET_SYMBOL_TRAILING_FLAGS_IMM,
        &[Name],
    ),
    ("BIND_OPCODE_SET_TYPE_IMM", m::BIND_OPCODE_SET_TYPE_IMM, &[]),
    ("BIND_OPCODE_SET_ADDEND_SLEB", m::BIND_OPCODE_SET_ADDEND_SLEB, &[Signed]),
    (
        "BIND_OPCODE_SET_SEGMENT_AND_OFFSET_ULEB",
        m::BIND_OPCODE_SET_SEGMENT_AND_OFFSET_ULEB,
        &[Number],
    ),
    ("BIND_OPCODE_ADD_ADDR_ULEB", m::BIND_OPCODE_ADD_ADDR_ULEB, &[Number]),
    ("BIND_OPCODE_DO_BIND", m::BIND_OPCODE_DO_BIND, &[]),
    ("BIND_OPCODE_DO_BIND_ADD_ADDR_ULEB", m::BIND_OPCODE_DO_BIND_ADD_ADDR_ULEB, &[Number]),
    ("BIND_OPCODE_DO_BIND_ADD_ADDR_IMM_SCALED", m::BIND_OPCODE_DO_BIND_ADD_ADDR_IMM_SCALED, &[]),
    (
        "BIND_OPCODE_DO_BIND_ULEB_TIMES_SKIPPING_ULEB",
        m::BIND_OPCODE_DO_BIND_ULEB_TIMES_SKIPPING_ULEB,
        &[Number, Number],
    ),
    ("BIND_OPCODE_THREADED", m::BIND_OPCODE_THREADED, &[]),
];

impl Loader {
    /// Defines the operations of all programs that are in memory.
    pub(super) fn mark_opcodes(&mut self) {
        let file = Arc::clone(&self.file);
        let Some(command) = file.commands.iter().find_map(|(command, ..)| match *command {
            m::LC_DYLD_INFO => Some("LC_DYLD_INFO"),
            m::LC_DYLD_INFO_ONLY => Some("LC_DYLD_INFO_ONLY"),
            _ => None,
        }) else {
            return;
        };
        let kinds = ["bind", "weak bind", "lazy bind"].into_iter();
        let binds = file.binds.iter().zip(kinds).map(|(part, kind)| (*part, kind, false));
        let rebase = file.rebase.map(|part| (part, "rebase", true));
        for ((offset, size), kind, moves) in rebase.into_iter().chain(binds) {
            let Some(place) = self.file_place(offset).filter(|_| size != 0) else { continue };
            self.title(place, &format!("{command} ({kind})"));
            let (name, operations) = if moves { ("rebase", REBASE) } else { ("bind", BIND) };
            let data_type = self.opcode_type(&format!("{name}_opcode"), operations);
            let lazy = kind == "lazy bind";
            let bytes = Bytes::new(&file.bytes, offset, size);
            self.mark_program(place, bytes, (data_type, operations), lazy);
        }
        let exports = file.export_trees.first().and_then(|tree| self.file_place(tree.offset));
        if let Some(place) = exports.filter(|_| file.exports_in_info) {
            self.title(place, &format!("{command} (export)"));
        }
    }

    /// Defines one program up to its end; lazy ones are many, each with an end of its own.
    fn mark_program(
        &mut self,
        start: Address,
        mut bytes: Bytes<'_>,
        (data_type, operations): (TypeId, &[Operation]),
        lazy: bool,
    ) {
        let whole = bytes.left();
        let [number, signed, text] =
            ["uleb128", "sleb128", "string"].map(|name| self.program.types.builtin(name));
        loop {
            let before = bytes.left();
            let Some(code) = bytes.byte() else { break };
            let place = |left: usize| start.checked_add((whole - left) as u64);
            let Some(at) = place(before) else { break };
            self.program.define_data(at, data_type, 1);
            let known = operations.iter().find(|(_, bits, _)| *bits == code & 0xf0);
            let Some((_, bits, operands)) = known else { break };
            if *bits == 0 && !lazy {
                break;
            }
            // A threaded program states the size of its table in a number.
            let table = *bits == m::BIND_OPCODE_THREADED && operations.len() == BIND.len();
            let sized: &[Operand] = if table && code & 0xf == 0 { &[Number] } else { operands };
            for operand in sized {
                let before = bytes.left();
                let (read, data_type) = match operand {
                    Number => (bytes.unsigned().is_some(), number),
                    Signed => (bytes.signed().is_some(), signed),
                    Name => (bytes.text().is_some(), text),
                };
                let Some(at) = place(before).filter(|_| read) else { return };
                self.program.define_data(at, data_type, (before - bytes.left()) as u32);
            }
        }
    }

    /// The operations as an enumeration of one byte.
    fn opcode_type(&mut self, name: &str, operations: &[Operation]) -> TypeId {
        let values = operations
            .iter()
            .map(|(name, bits, _)| ((*name).into(), i64::from(*bits), "".into()))
            .collect();
        self.program.types.add(DataType {
            category: "/MachO".into(),
            name: name.into(),
            length: Some(1),
            alignment: 1,
            description: "".into(),
            kind: TypeKind::Enum { values },
            used: true,
        })
    }
}
