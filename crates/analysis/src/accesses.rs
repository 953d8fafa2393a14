//! Undefined data of the right size where code reads or writes: the size of an
//! access is all that is known about such a place, until something knows more.
//!
//! Each reading or writing instruction is decoded once more. On ARM Ghidra makes such data with the
//! reference itself: for imports as well, and without cutting what a symbol says is larger.

use crate::code::CodeReader;
use crate::pass::{Analysis, Stopped};
use decompiler::{Opcode, PcodeOp, VarSpace, Varnode};
use program::{Address, AddressRange, Program, RefType, Reference, SpaceId};

/// References between two reports of progress.
const STEP: usize = 1 << 14;

/// Runs the pass.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    let references = analysis.program.references.clone();
    let total = references.len().max(1) as f32;
    let mut reader = CodeReader::new(analysis.language);
    let mut pcode = Vec::new();
    // Accesses to parts of arrays of bytes, whose beginnings may show later that they are none.
    let mut parts: Vec<(Address, u32)> = Vec::new();
    let with_reference = analysis.language.processor() == "ARM";
    for (done, reference) in references.iter().enumerate() {
        if done % STEP == 0 {
            analysis.step(done as f32 / total)?;
        }
        if !is_access(analysis.program, &reference, with_reference) {
            continue;
        }
        let Some(unit) = analysis.program.listing.instructions.get(&reference.from).copied() else {
            continue;
        };
        pcode.clear();
        let context = reader.context(unit.mode);
        if reader.pcode(analysis.program, reference.from, context, &mut pcode).is_ok() {
            let size = access_size(&pcode, &reference);
            if is_part(analysis.program, reference.to) {
                parts.push((reference.to, size));
            } else {
                define(analysis.program, reference.to, size, with_reference);
            }
        }
    }
    for (at, size) in parts {
        define(analysis.program, at, size, with_reference);
    }
    Ok(())
}

/// Whether a place lies inside of something larger of which nothing is known.
fn is_part(program: &Program, at: Address) -> bool {
    let known = program.listing.data_containing(at);
    known.is_some_and(|(start, unit)| {
        start != at && crate::strings::is_undefined_type(program, unit.data_type)
    })
}

fn is_access(program: &Program, reference: &Reference, with_reference: bool) -> bool {
    let reads_or_writes =
        matches!(reference.info.kind, RefType::Read | RefType::Write | RefType::ReadWrite);
    reads_or_writes
        && reference.to.space == SpaceId::RAM
        && program
            .memory
            .block_at(reference.to)
            .is_some_and(|b| with_reference || !b.permissions.artificial)
}

/// Bytes that the instruction reads or writes there; zero if unknown.
fn access_size(pcode: &[PcodeOp], reference: &Reference) -> u32 {
    let there = |node: &Varnode| node.space == VarSpace::Ram && node.offset == reference.to.offset;
    let named = |op: &PcodeOp| op.inputs.iter().chain(op.output.iter()).any(there);
    if pcode.iter().any(named) {
        // Ghidra goes by what is taken out of a named place as it is; what is written there, or
        // part of a computation, has no say.
        let taken = pcode
            .iter()
            .filter(|op| matches!(op.opcode, Opcode::Copy | Opcode::IntZExt | Opcode::IntSExt));
        return taken.flat_map(|op| op.inputs.first()).find(|n| there(n)).map_or(0, |n| n.size);
    }
    let mut memory = pcode.iter().filter(|op| op.is_ram_access());
    let read = |op: &PcodeOp| op.opcode == Opcode::Load;
    let size = |op: &PcodeOp| match op.opcode {
        Opcode::Load => op.output.map_or(0, |node| node.size),
        _ => op.inputs.get(2).map_or(0, |node| node.size),
    };
    let found = match reference.info.kind {
        RefType::Write => memory.rfind(|op| !read(op)),
        _ => memory.find(|op| read(op)),
    };
    found.map_or(0, size)
}

/// Makes undefined data of that size in place of other undefined data.
fn define(program: &mut Program, at: Address, size: u32, with_reference: bool) {
    if !(1..=8).contains(&size) {
        return;
    }
    let Some(range) = AddressRange::with_length(at, u64::from(size)) else { return };
    let known = program.listing.data_containing(at);
    // A part of a larger access says nothing about the whole.
    let settled = known.is_some_and(|(start, unit)| {
        start != at || unit.length == size || with_reference && unit.length > size
    });
    if settled || !crate::strings::is_undefined(program, &range) {
        return;
    }
    crate::strings::clear(program, &range);
    let undefined = program.types.undefined(size);
    program.define_data(at, undefined, size);
}
