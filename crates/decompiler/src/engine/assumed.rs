//! Register values that hold when a function is entered, by the conventions of its processor.

use ghidra_decompiler::architecture::Architecture;
use ghidra_decompiler::error::{Error, Result};
use ghidra_decompiler::globalcontext::TrackedContext;
use program::{Address as Place, Program, SourceType, SpaceId};

use super::symbols::Symbols;

/// Tells the engine what registers hold at a function's entry.
pub(crate) fn feed(
    architecture: &mut Architecture,
    program: &Program,
    symbols: &Symbols,
    entry: Place,
) -> Result<()> {
    let assumed = assumed(program, entry);
    if assumed.is_empty() {
        return Ok(());
    }
    let translate = architecture.translator()?;
    let known = |(register, value): (&str, u64)| {
        let loc = translate.get_register(register).ok()?;
        Some(TrackedContext { loc, val: value })
    };
    let assumed: Vec<TrackedContext> = assumed.into_iter().filter_map(known).collect();
    let missing = || Error::Lowlevel("the engine has no context".to_string());
    let context = architecture.context.as_ref().ok_or_else(missing)?;
    let mut context = context.lock().map_err(|_| missing())?;
    let mut all = context.get_tracked_default().clone();
    all.extend(assumed);
    let from = symbols.address(entry);
    let to = from.add(1);
    *context.create_set(&from, &to) = all;
    Ok(())
}

fn assumed(program: &Program, entry: Place) -> Vec<(&'static str, u64)> {
    let language = program.info.language_id.as_str();
    let wide = language.starts_with("PowerPC:") && language.contains(":64:");
    if language.starts_with("MIPS:") {
        // Position-independent code is called through this register, and stubs of a program's
        // imports use the base of their callers' table.
        let stub = program.memory.block_at(entry).filter(|block| &*block.name == ".MIPS.stubs");
        let base = stub.and_then(|_| named(program, "_gp")).map(|base| ("gp", base));
        return base.into_iter().chain([("t9", entry.offset)]).collect();
    }
    if language.starts_with("PowerPC:") && !wide {
        return SMALL_DATA_BASES.into_iter().filter_map(|base| small_data(program, base)).collect();
    }
    if let Some(base) = program.thread_block().filter(|_| language.starts_with("x86:")) {
        let register = if language.contains(":64:") { "GS_OFFSET" } else { "FS_OFFSET" };
        let alone = assumed_alone(program, entry);
        return alone.into_iter().chain([(register, base.offset)]).collect();
    }
    if !wide {
        return assumed_alone(program, entry).into_iter().collect();
    }
    // The base of the table of pointers; and where functions have no descriptors, those that the
    // outside knows are called through the second one.
    let base = named(program, "TOC_BASE").map(|base| ("r2", base));
    let called =
        program.entry_points.contains_key(&entry) && program.memory.block_named(".opd").is_none();
    base.into_iter().chain(called.then_some(("r12", entry.offset))).collect()
}

/// Registers of small data and the symbols of their bases.
const SMALL_DATA_BASES: [(&str, &str); 2] = [("r13", "_SDA_BASE_"), ("r2", "_SDA2_BASE_")];

/// The base of small data where relocations made it, in object files.
fn small_data(
    program: &Program,
    (register, name): (&'static str, &str),
) -> Option<(&'static str, u64)> {
    let mut found = program.symbols.named(name).map(|(_, symbol)| symbol);
    let made = found.find(|symbol| symbol.source == SourceType::Analysis)?;
    Some((register, made.address.offset))
}

fn assumed_alone(program: &Program, entry: Place) -> Option<(&'static str, u64)> {
    let language = program.info.language_id.as_str();
    let block = program.memory.block_at(entry)?;
    if language.starts_with("RISCV:") && block.permissions.execute {
        return Some(("gp", named(program, "__global_pointer$")?));
    }
    if language.starts_with("x86:LE:32") {
        // Stubs of position-independent code reach the table of pointers through this register.
        if !block.name.starts_with(".plt") {
            return None;
        }
        let table = named(program, "_GLOBAL_OFFSET_TABLE_");
        return Some(("EBX", table.or_else(|| named(program, "__DT_PLTGOT"))?));
    }
    None
}

fn named(program: &Program, name: &str) -> Option<u64> {
    let mut found = program.symbols.named(name);
    found.find(|(_, symbol)| symbol.address.space == SpaceId::RAM).map(|(_, s)| s.address.offset)
}
