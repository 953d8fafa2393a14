//! Functions of Windows programs whose names are decorated C names: they are shown under the names
//! that programmers wrote, and are called as the decoration says.

use crate::pass::{Analysis, Stopped};
use decompiler::Language;
use program::{
    Address, CommentKind, Function, Program, SourceType, SpaceId, Symbol, SymbolId, SymbolKind,
};

/// Runs the pass. Cost: linear in the functions and their symbols.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    let program = &mut *analysis.program;
    let format = &program.info.executable_format;
    if !format.contains("(PE)") && !format.starts_with("MS ") {
        return Ok(());
    }
    let open = program.functions.iter().filter(|f| is_open(f));
    let entries: Vec<Address> = open.map(|f| f.entry).collect();
    for entry in entries {
        if let Some(decorated) = decorated(program, entry) {
            show_plain(program, analysis.language, entry, &decorated);
        }
    }
    Ok(())
}

/// Whether nothing better than a name tells what a function is.
fn is_open(function: &Function) -> bool {
    let source = function.signature.source;
    let guessed = matches!(source, SourceType::Default | SourceType::Analysis);
    function.entry.space == SpaceId::RAM && (function.thunk_of.is_some() || guessed)
}

/// The decorated name of a function: the one that is shown, or another one if that tells nothing.
fn decorated(program: &Program, entry: Address) -> Option<Symbol> {
    let bits = program.info.address_bits;
    let is_decorated = |symbol: &Symbol| {
        // Handlers that analysis names after their address are not decorated.
        let made = symbol.source == SourceType::Analysis && !symbol.name.starts_with('_');
        let given = symbol.source != SourceType::Default && !made;
        let given = given && symbol.parent == SymbolId::GLOBAL;
        given && demangler::plain(&symbol.name, bits).is_some()
    };
    let (_, shown) = program.symbols.primary_at(entry)?;
    if is_decorated(shown) {
        return Some(shown.clone());
    }
    let mut others = program.symbols.at(entry).filter(|(_, symbol)| !symbol.primary);
    let other = others.find(|(_, symbol)| is_decorated(symbol));
    other.filter(|_| shown.source == SourceType::Imported).map(|(_, symbol)| symbol.clone())
}

/// The symbol of that name at a place.
fn named(program: &Program, at: Address, name: &str) -> Option<SymbolId> {
    let mut there = program.symbols.at(at);
    let found = there.find(|(_, s)| *s.name == *name && s.parent == SymbolId::GLOBAL);
    found.map(|(id, _)| id)
}

fn show_plain(program: &mut Program, language: &Language, entry: Address, decorated: &Symbol) {
    let Some(plain) = demangler::plain(&decorated.name, program.info.address_bits) else { return };
    let Some(shown) = program.symbols.primary_at(entry).map(|(id, _)| id) else { return };
    let known = named(program, entry, plain.name);
    let symbol = known.unwrap_or_else(|| {
        program.symbols.add(Symbol {
            name: plain.name.into(),
            source: SourceType::Analysis,
            ..decorated.clone()
        })
    });
    program.symbols.edit(shown, |s| s.kind = SymbolKind::Label);
    program.symbols.edit(symbol, |s| s.kind = SymbolKind::Function);
    program.symbols.make_primary(symbol);
    let convention = language.convention(plain.convention).map(|known| known.name.as_str().into());
    program.functions.edit(entry, |f| {
        f.symbol = symbol;
        // A name of its own makes a function of its own.
        f.thunk_of = None;
        if convention.is_some() {
            f.signature.convention = convention;
        }
    });
    let text = plain.text();
    let key = (entry, CommentKind::Plate);
    let comment = match program.comments.get(&key) {
        Some(before) if before.contains(&text) => return,
        Some(before) => format!("{before}\n{text}"),
        None => text,
    };
    program.comments.insert(key, comment.into());
}
