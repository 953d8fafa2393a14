//! Numbers in x86 instructions that are addresses: processors whose instructions hold whole
//! addresses show them as plain operands.

use crate::code::CodeReader;
use crate::operands::scalar_kind;
use decompiler::{Language, OperandPart};
use program::{Address, Instruction, Program, RefType, SourceType};

/// Numbers below this are sizes and counts.
const LEAST: u64 = 4096;
/// Numbers that are colours, masks and the like.
const MASKS: [u64; 9] = [
    0xffff,
    0xff00,
    0xff_ffff,
    0xff_0000,
    0xff_00ff,
    0xffff_ffff,
    0xffff_ff00,
    0xffff_0000,
    0xff00_0000,
];

/// Adds references for such numbers where the operand has none yet. Cost: linear in the instructions;
/// only those that hold a number within memory are looked at closely.
pub(crate) fn refer<'a>(
    program: &mut Program,
    language: &Language,
    instructions: impl Iterator<Item = (&'a Address, &'a Instruction)>,
) {
    let Some((low, high)) = program.memory.bounds().filter(|(low, _)| low.offset != 0) else {
        return;
    };
    let mut reader = CodeReader::new(language);
    let mut found: Vec<(Address, Address, RefType, i8)> = Vec::new();
    for (at, instruction) in instructions {
        if !holds_address(program, *at, instruction, low.offset, high.offset) {
            continue;
        }
        let context = reader.context(instruction.mode);
        let operands = reader.operands(program, *at, context);
        for (index, operand) in operands.iter().enumerate() {
            let index = index as i8;
            for part in &operand.parts {
                let OperandPart::Scalar { value, bits } = *part else { continue };
                let place = value as u64 & crate::values::mask(bits.div_ceil(8));
                let taken = |r: &(Address, Address, RefType, i8)| r.0 == *at && r.3 == index;
                if !is_address(program, *at, place)
                    || program.references.from(*at).any(|r| r.operand == index)
                    || found.last().is_some_and(taken)
                    || is_linkage(&mut reader, program, *at, instruction, place)
                {
                    continue;
                }
                let kind = scalar_kind(&mut reader, program, *at, instruction, place);
                found.push((*at, Address::ram(place), kind, index));
            }
        }
    }
    for (at, to, kind, operand) in found {
        program.add_reference(at, to, kind, operand, SourceType::Analysis);
    }
}

/// Whether the bytes of an instruction hold a number within memory, or one relative to it.
fn holds_address(
    program: &Program,
    at: Address,
    instruction: &Instruction,
    low: u64,
    high: u64,
) -> bool {
    let bytes = program.memory.run(at);
    let bytes = bytes.get(..usize::from(instruction.length)).unwrap_or(bytes);
    // Places past the end may still bear a symbol.
    let high = high.saturating_add(LEAST);
    bytes.windows(4).skip(1).any(|window| {
        let number = window.iter().rev().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
        (low..=high).contains(&number)
    }) || bytes.windows(6).any(|w| w[0] == 0x8d && w[1] & 0xc7 == 5)
}

fn is_address(program: &Program, at: Address, place: u64) -> bool {
    if place < LEAST || MASKS.contains(&place) {
        return false;
    }
    let target = Address::ram(place);
    let named = || program.symbols.primary_at(target).is_some();
    if target == at || !program.memory.contains(target) && !named() {
        return false;
    }
    match program.listing.instruction_containing(target) {
        Some((start, _)) if start != target => false,
        Some(_) => program.functions.containing(target).is_none_or(|f| f.entry == target),
        None => true,
    }
}

/// Numbers by which position-independent code finds its tables.
fn is_linkage(
    reader: &mut CodeReader,
    program: &Program,
    at: Address,
    instruction: &Instruction,
    number: u64,
) -> bool {
    let block_named = |place: Address, part: &str| {
        program.memory.block_at(place).is_some_and(|block| block.name.contains(part))
    };
    let context = reader.context(instruction.mode);
    match reader.mnemonic(program, at, context).as_str() {
        "ADD" => block_named(at.wrapping_add(number), ".got"),
        "PUSH" => block_named(at, ".plt"),
        _ => false,
    }
}
