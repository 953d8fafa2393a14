//! Functions whose calls the decompiler replaces: those that the compiler specification names, and
//! those by which position-independent code for 32-bit x86 asks where it is.

use crate::pass::{Analysis, Stopped};
use decompiler::Language;
use program::{Address, Program, SourceType, SymbolId};

/// Finds them by their names or their four bytes, and names those without a name. Cost: linear in
/// the functions.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    crate::known_code::name(analysis);
    let program = &mut *analysis.program;
    find_named(program, analysis.language);
    if !program.info.language_id.starts_with("x86:LE:32:") {
        return Ok(());
    }
    let found: Vec<(Address, &'static str)> = program
        .functions
        .iter()
        .filter(|f| f.body.len() == 4)
        .filter_map(|f| Some((f.entry, register(program, f.entry)?)))
        .collect();
    for (entry, register) in found {
        program.functions.edit(entry, |f| {
            let replaced = || format!("get_pc_thunk_{register}").into();
            f.call_fixup.get_or_insert_with(replaced);
        });
        name(program, entry, register);
    }
    Ok(())
}

/// Names a function by what it does; one with a name of its own has this one too.
fn name(program: &mut Program, entry: Address, register: &str) {
    let name = format!("__i686.get_pc_thunk.{register}");
    let Some(symbol) = program.functions.at(entry).map(|f| f.symbol) else { return };
    let Some(known) = program.symbols.get(symbol).map(|s| s.name.clone()) else { return };
    if known.is_empty() {
        program.symbols.edit(symbol, |s| {
            s.name = name.into();
            s.source = SourceType::Analysis;
        });
    } else if *known != *name {
        program.add_label(entry, &name, SymbolId::GLOBAL, SourceType::Analysis);
    }
}

fn find_named(program: &mut Program, language: &Language) {
    let open = program.functions.iter().filter(|f| f.call_fixup.is_none() && f.thunk_of.is_none());
    let found: Vec<(Address, &str)> = open
        .filter_map(|f| Some((f.entry, &program.symbols.get(f.symbol)?.name)))
        .filter_map(|(entry, name)| Some((entry, language.call_fixup(name)?)))
        .collect();
    for (entry, fixup) in found {
        program.functions.edit(entry, |f| f.call_fixup = Some(fixup.into()));
    }
}

/// The register that a function loads its return address into, if it does nothing else. Ghidra knows
/// those for EDI and EBP by their names alone.
fn register(program: &Program, entry: Address) -> Option<&'static str> {
    let [0x8b, operand, 0x24, 0xc3] = program.memory.read_array::<4>(entry)? else { return None };
    match operand {
        0x04 => Some("ax"),
        0x0c => Some("cx"),
        0x14 => Some("dx"),
        0x1c => Some("bx"),
        0x34 => Some("si"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use program::{BlockSource, DataOrganization, MemoryBlock, ProgramInfo};

    #[test]
    fn only_a_plain_load_of_the_return_address_counts() {
        let mut program = Program::new(ProgramInfo::default(), false, DataOrganization::default());
        let bytes = [0x8b, 0x1c, 0x24, 0xc3, 0x8b, 0x5c, 0x24, 0xc3, 0x8b, 0x3c, 0x24, 0xc3];
        let source =
            BlockSource::Bytes { bytes: bytes.as_slice().into(), offset: 0, length: bytes.len() };
        let block = MemoryBlock::new(".text", Address::ram(0x1000), bytes.len() as u64, source);
        program.memory.add_block(block).unwrap();
        assert_eq!(register(&program, Address::ram(0x1000)), Some("bx"));
        assert_eq!(register(&program, Address::ram(0x1004)), None);
        assert_eq!(register(&program, Address::ram(0x1008)), None, "into EDI: known by name alone");
    }
}
