//! The thread environment block of Windows (TEB): memory that FS (32 bits) or GS (64 bits) points
//! to in every thread. A block is made for it beside the program, its fields named and typed, so that
//! accesses by those registers show what they read.

use crate::pass::{Analysis, Stopped};
use crate::rtti::compiler::is_by_microsoft_or_clang;
use program::data_type::Field;
use program::{
    Address, AddressRange, BlockSource, MemoryBlock, Permissions, Program, RefType, SourceType,
    SymbolId, TypeId,
};

/// Where it lies unless something is there, and its size, in 32-bit programs.
const SMALL: (u64, u64) = (0xffdf_f000, 0x1000);
/// The same in 64-bit programs.
const LARGE: (u64, u64) = (0xff_0000_0000, 0x1850);
/// The field that holds the block's own address, which never changes.
const SELF: &str = "Self";

/// Offsets, names and types of the fields.
const FIELDS: &str = include_str!("thread_block/fields.txt");

/// Makes the block in programs of Microsoft's and clang's for x86. Cost: constant.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    let program = &mut *analysis.program;
    let windows = program.info.executable_format.contains("(PE)");
    let x86 = program.info.language_id.starts_with("x86:");
    let known = program.thread_block().is_some();
    if windows && x86 && !known && is_by_microsoft_or_clang(program) {
        make(program);
    }
    Ok(())
}

fn make(program: &mut Program) {
    let pointer = program.types.organization().pointer;
    let (wanted, size) = if pointer == 8 { LARGE } else { SMALL };
    let Some(start) = free(program, wanted, size) else { return };
    let mut block = MemoryBlock::new(program::THREAD_BLOCK, start, size, BlockSource::Zero);
    block.permissions =
        Permissions { read: true, write: true, artificial: true, ..Permissions::default() };
    if program.memory.add_block(block).is_err() {
        return;
    }
    for line in FIELDS.lines().filter(|line| !line.starts_with('#')) {
        let Some((offset, name, data_type)) = field(line, pointer) else { continue };
        let Some(place) = start.checked_add(offset) else { continue };
        let Some(data_type) = type_of(program, data_type) else { continue };
        let length = program.types.length(data_type).unwrap_or(1);
        if !program.define_data(place, data_type, length) {
            continue;
        }
        program.add_label(place, name, SymbolId::GLOBAL, SourceType::Analysis);
        if name == SELF {
            let bytes = start.offset.to_le_bytes();
            let written = program.memory.write(place, &bytes[..pointer as usize]);
            debug_assert!(written.is_ok(), "the block was just made");
            if let Some(range) = AddressRange::with_length(place, u64::from(pointer)) {
                program.protected.insert(range);
            }
            program.add_reference(place, start, RefType::Data, 0, SourceType::Default);
        }
    }
}

/// The place wanted, or the one behind all memory where that is taken.
fn free(program: &Program, wanted: u64, size: u64) -> Option<Address> {
    let range = AddressRange::with_length(Address::ram(wanted), size)?;
    let blocks = || program.memory.blocks().iter().filter(|block| !block.is_overlay());
    if blocks().all(|block| !block.range().intersects(&range)) {
        return Some(range.start);
    }
    blocks().map(|block| block.end()).max()?.checked_add(1)
}

/// A field's offset, name and type in a program of these pointers.
fn field(line: &str, pointer: u32) -> Option<(u64, &str, &str)> {
    let mut words = line.split(' ');
    let (small, large, name, types) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let (offset, data_type) = match (pointer, types.split_once('/')) {
        (8, Some((_, data_type))) => (large, data_type),
        (8, None) => (large, types),
        (_, Some((data_type, _))) => (small, data_type),
        (_, None) => (small, types),
    };
    Some((u64::from_str_radix(offset, 16).ok()?, name, data_type))
}

fn type_of(program: &mut Program, text: &str) -> Option<TypeId> {
    let (name, count) = match text.split_once('[') {
        Some((name, count)) => (name, Some(count.trim_end_matches(']').parse().ok()?)),
        None => (text, None),
    };
    let types = &mut program.types;
    let element = match name {
        "pointer" => {
            let void = types.builtin("void");
            types.pointer_to(void)
        }
        "CLIENT_ID" => client_id(program),
        "GUID" => {
            let byte = types.builtin("byte");
            let bytes = types.array_of(byte, 16);
            types.add_struct("/", "GUID", 16, vec![member(0, bytes, 16, "bytes")])
        }
        name => types.builtin(name),
    };
    Some(match count {
        Some(count) => program.types.array_of(element, count),
        None => element,
    })
}

/// Process and thread.
fn client_id(program: &mut Program) -> TypeId {
    let types = &mut program.types;
    let (void, size) = (types.builtin("void"), types.organization().pointer);
    let handle = types.pointer_to(void);
    let fields =
        vec![member(0, handle, size, "UniqueProcess"), member(size, handle, size, "UniqueThread")];
    types.add_struct("/", "CLIENT_ID", 2 * size, fields)
}

fn member(offset: u32, data_type: TypeId, length: u32, name: &str) -> Field {
    Field { offset, data_type, length, name: name.into(), comment: "".into(), bits: None }
}
