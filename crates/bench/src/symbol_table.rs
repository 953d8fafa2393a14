//! Compares what the engine finds in a program without symbols with the symbol table that the
//! program had: facts of any binary at hand, where no dump of Ghidra is.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use decompiler::{Decoder, Language};
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind, SymbolSection};
use program::{Address, FlowType, Program, RefType};

/// A function of the symbol table, at its place in our program.
#[derive(Debug, Clone)]
pub struct Known {
    /// Its bytes; 0 when the table does not say.
    pub size: u64,
    /// Its name, mangled as in the file.
    pub name: String,
}

/// What differs between a program and the symbol table that it had.
#[derive(Debug, Default)]
pub struct Differences {
    /// Functions of the table.
    pub known: usize,
    /// Those of them that we found.
    pub found: usize,
    /// Functions of the table that we do not have.
    pub missed: Vec<(u64, String)>,
    /// Functions of ours inside of one of the table.
    pub invented: Vec<(u64, String)>,
    /// Functions whose body holds the start of another one.
    pub swallowing: Vec<(u64, String)>,
    /// Functions marked never to return, though a return instruction is among their bytes.
    pub no_return: Vec<(u64, String)>,
    /// Functions with bytes that are neither code nor data: where, and how many.
    pub holes: Vec<(u64, String)>,
    /// Bytes of the table's functions, and those of them that are neither code nor data.
    pub bytes: (u64, u64),
    /// Jumps to computed places in functions of the table, and those without a destination.
    pub jumps: (usize, Vec<(u64, String)>),
}

/// The functions that a file's symbol table states, by their offsets in our program.
pub fn known_functions(file: &Path, program: &Program) -> Result<BTreeMap<u64, Known>> {
    let data = std::fs::read(file).with_context(|| file.display().to_string())?;
    let object = object::File::parse(data.as_slice())?;
    let lowest = match object.format() {
        object::BinaryFormat::Elf => object.segments().map(|s| s.address()).min().unwrap_or(0),
        _ => object.relative_address_base(),
    };
    let moved = program.info.image_base.wrapping_sub(lowest);
    let mut functions: BTreeMap<u64, Known> = BTreeMap::new();
    for symbol in object.symbols() {
        let defined = matches!(symbol.section(), SymbolSection::Section(_));
        if symbol.kind() != SymbolKind::Text || !defined {
            continue;
        }
        let name = symbol.name().unwrap_or_default();
        let at = code_of(program, symbol.address().wrapping_add(moved));
        let known = Known { size: symbol.size(), name: name.to_owned() };
        match functions.get_mut(&at) {
            Some(other) if other.size >= known.size => {}
            _ => drop(functions.insert(at, known)),
        }
    }
    Ok(functions)
}

/// Where the code of a function lies that a symbol of the table stands for: behind a descriptor on
/// 64-bit PowerPC, and without the bit that chooses a mode on ARM.
fn code_of(program: &Program, at: u64) -> u64 {
    let place = Address::ram(at);
    match program.memory.block_at(place) {
        Some(block) if &*block.name == ".opd" => program.memory.read_uint(place, 8).unwrap_or(at),
        _ if &*program.info.processor == "ARM" => at & !1,
        _ => at,
    }
}

/// Compares a program with the functions that it is known to have.
pub fn differences(program: &Program, known: &BTreeMap<u64, Known>) -> Result<Differences> {
    let language = Language::open(&program.info.language_id, &program.info.compiler_spec_id)?;
    let mut decoder = Decoder::new(&language);
    let mut result = Differences { known: known.len(), ..Differences::default() };
    for (at, function) in known {
        let Some(found) = program.functions.at(Address::ram(*at)) else {
            result.missed.push((*at, function.name.clone()));
            look_for_holes(program, *at, function, &mut result);
            continue;
        };
        result.found += 1;
        let others = known.range(at + 1..).map(|(other, _)| *other);
        if let Some(other) = others.clone().find(|o| found.body.contains(Address::ram(*o))) {
            let text = format!("{} holds {}", function.name, known[&other].name);
            result.swallowing.push((*at, text));
        }
        if found.no_return && returns(program, &mut decoder, *at, function.size) {
            let jumps = jumps_of(program, *at, function.size);
            result.no_return.push((*at, format!("{} {jumps}", function.name)));
        }
        look_for_holes(program, *at, function, &mut result);
        look_at_jumps(program, *at, function, &mut result);
    }
    result.invented = invented(program, known);
    Ok(result)
}

/// Functions of ours that begin inside of one of the table.
fn invented(program: &Program, known: &BTreeMap<u64, Known>) -> Vec<(u64, String)> {
    let mut found = Vec::new();
    for function in program.functions.iter().filter(|f| !f.is_external()) {
        let at = function.entry.offset;
        let before = known.range(..=at).next_back();
        let Some((start, holder)) = before else { continue };
        if at != *start && at - start < holder.size {
            let kinds = program.references.to(function.entry);
            let kinds: Vec<String> =
                kinds.map(|r| format!("{:x} {}", r.from.offset, r.info.kind.name())).collect();
            let place = format!("in {} + {:#x}", holder.name, at - start);
            found.push((at, format!("{place} from {}", kinds.join(", "))));
        }
    }
    found
}

/// Whether a return instruction is among the bytes of a function, one instruction after the other.
fn returns(program: &Program, decoder: &mut Decoder, start: u64, size: u64) -> bool {
    let mode = program.mode_at(Address::ram(start));
    let context = decoder.language().mode_context(mode);
    let mut at = start;
    while at < start.saturating_add(size) {
        let mut bytes = [0; 32];
        let read = program.memory.read(Address::ram(at), &mut bytes).unwrap_or(0);
        let Ok(decoded) = decoder.decode(&bytes[..read], at, context) else { return false };
        if matches!(decoded.flow, FlowType::Terminator | FlowType::ConditionalTerminator) {
            return true;
        }
        at += u64::from(decoded.length).max(1);
    }
    false
}

/// Where the computed jumps of a function lead.
fn jumps_of(program: &Program, start: u64, size: u64) -> String {
    let range = Address::ram(start)..Address::ram(start.saturating_add(size));
    let units = program.listing.instructions.range(range);
    let jumps = units.filter(|(_, unit)| unit.flow == FlowType::ComputedJump);
    let leads = jumps.map(|(at, _)| {
        let places = program.references.from(*at).map(|r| format!("{:x}", r.to.offset));
        format!("{:x}: {}", at.offset, places.collect::<Vec<_>>().join(" "))
    });
    leads.collect::<Vec<_>>().join("; ")
}

/// Counts the bytes of a function that are neither code nor data, fillers aside.
fn look_for_holes(program: &Program, start: u64, function: &Known, result: &mut Differences) {
    let (mut at, end) = (start, start.saturating_add(function.size));
    let mut holes: Vec<(u64, u64)> = Vec::new();
    while at < end {
        match program.listing.unit_containing(Address::ram(at)) {
            Some((unit, code)) => at = unit.offset + code.length().max(1),
            None => {
                match holes.last_mut() {
                    Some((first, length)) if *first + *length == at => *length += 1,
                    _ => holes.push((at, 1)),
                }
                at += 1;
            }
        }
    }
    result.bytes.0 += function.size;
    for (at, length) in holes.into_iter().filter(|(_, length)| *length > 15) {
        result.bytes.1 += length;
        result.holes.push((at, format!("{length} bytes of {}+{:#x}", function.name, at - start)));
    }
}

/// Counts jumps to computed places, and those that lead nowhere.
fn look_at_jumps(program: &Program, start: u64, function: &Known, result: &mut Differences) {
    let range = Address::ram(start)..Address::ram(start.saturating_add(function.size));
    for (at, instruction) in program.listing.instructions.range(range) {
        if instruction.flow != FlowType::ComputedJump {
            continue;
        }
        result.jumps.0 += 1;
        let leads = |kind| matches!(kind, RefType::Flow(flow) if flow.is_jump() || flow.is_call());
        if !program.references.from(*at).any(|r| leads(r.info.kind)) {
            result.jumps.1.push((at.offset, function.name.clone()));
        }
    }
}
