//! Readable names for mangled symbols of C++ (Itanium and Microsoft), Rust, D and
//! Swift. The mangled name stays as a second label.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

mod decorated;
mod dlang;
mod gnu;
mod gnu_text;
mod literals;
mod microsoft;
mod replacements;
mod rust;
mod spelling;
mod swift;

pub use decorated::{Plain, plain};
pub use gnu::{Prototype, Type, TypeKind, signature};
pub use rust::{is_rust, is_rust_program};

use program::{Address, CommentKind, Program, SourceType, SpaceId, Symbol, SymbolId, SymbolKind};
use std::fmt;

/// Longest mangled and longest readable name that is worked on.
const LONGEST: usize = 4096;

/// Symbols of one place that are looked through for a mangled name.
const ALIASES: usize = 64;

/// A readable name in its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Readable {
    /// Namespaces, outermost first.
    path: Vec<String>,
    /// The name itself.
    name: String,
    /// The whole as a programmer would write it.
    text: String,
    /// Whether the innermost namespace is known to be a class.
    in_class: bool,
}

/// A text that refuses to grow beyond a limit.
#[derive(Default)]
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.0.len() + part.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(part);
        Ok(())
    }
}

/// What a mangled name says, as a programmer would write it; `None` for a plain one.
pub fn demangled(mangled: &str) -> Option<String> {
    let readable = if microsoft::is_one(mangled) {
        microsoft::demangle_all(&[mangled]).pop().flatten()
    } else {
        demangle(mangled, false)
    };
    readable.map(|readable| readable.text)
}

/// What type descriptors of Microsoft's compilers call their types (`.?AVDog@zoo@@`), as a programmer
/// would write it: `class zoo::Dog`. `None` where it is no such name.
pub fn described_types(names: &[&str]) -> Vec<Option<String>> {
    let symbol = |name: &&str| format!("??_R0{}@8", name.strip_prefix('.').unwrap_or(name));
    let symbols: Vec<String> = names.iter().map(symbol).collect();
    let symbols: Vec<&str> = symbols.iter().map(String::as_str).collect();
    let type_of = |readable: Option<Readable>| {
        let text = readable?.text;
        text.strip_suffix(" `RTTI Type Descriptor'").map(str::to_owned)
    };
    microsoft::demangle_all(&symbols).into_iter().map(type_of).collect()
}

/// Cuts a name that Microsoft's tools write out into namespaces and the name itself. What has no name
/// of its own is called by what `mangled` tells of it.
pub fn split_microsoft(text: &str, mangled: &str) -> (Vec<String>, String) {
    let anonymous = microsoft::anonymous_namespace(mangled);
    let (path, name) = split(text);
    let plain = |part| microsoft::plain_space(part, anonymous.as_deref());
    (path.into_iter().map(plain).collect(), name)
}

/// Takes a mangled name apart; `None` for a plain one, and for Microsoft's. In a program of Rust,
/// its names have the hashes of crates.
fn demangle(mangled: &str, in_rust: bool) -> Option<Readable> {
    if mangled.len() > LONGEST {
        return None;
    }
    let mangled = mangled.strip_prefix("DW.ref.").unwrap_or(mangled);
    // Local entries of functions on PowerPC.
    let dots = mangled.strip_prefix('.').filter(|m| m.starts_with("_Z"));
    // Mach-O and some 32-bit formats put one more underscore before.
    let plain = dots.unwrap_or(mangled);
    let plain = plain.strip_prefix('_').filter(|m| m.starts_with("_Z") || m.starts_with("_R"));
    let mangled = plain.or(dots).unwrap_or(mangled);
    if let Some(readable) = rust::demangle(mangled, in_rust) {
        return Some(readable);
    }
    if mangled.starts_with("_D") {
        return dlang::demangle(mangled);
    }
    if !mangled.starts_with("_Z") {
        return swift::demangle(mangled);
    }
    let mut text = replacements::abbreviated(gnu_text::text(mangled)?);
    if dots.is_some() {
        text.insert(0, '.');
    }
    let named = gnu::read(&text, mangled)?;
    let in_class = is_in_class(&named, &text);
    Some(Readable { path: named.path, name: named.name, text, in_class })
}

/// Whether the innermost namespace of a name is a class, by what the name tells.
fn is_in_class(named: &gnu::Named, text: &str) -> bool {
    let class = named.path.last().is_some_and(|class| {
        let base = class.split('<').next().unwrap_or(class);
        let name = named.name.strip_prefix('~').unwrap_or(&named.name);
        name == base || name.strip_prefix(base).is_some_and(|rest| rest.starts_with('<'))
    });
    let tables = ["vtable", "construction-vtable", "VTT", "typeinfo", "typeinfo-name"];
    class || text.ends_with(" const") || tables.contains(&named.name.as_str())
}

/// Splits at `::` outside of brackets and spells the parts without blanks: namespaces, outermost
/// first, and the name itself.
pub fn split(text: &str) -> (Vec<String>, String) {
    let mut parts: Vec<String> = Vec::new();
    let mut depth = 0i32;
    let mut quotes = 0u32;
    let mut current = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if depth == 0
            && let Some(after) = rest.strip_prefix("::")
        {
            if !current.is_empty() {
                parts.push(spell(&current));
            }
            current.clear();
            rest = after;
            continue;
        }
        if depth == 0
            && current.is_empty()
            && let Some(operator) = operator(rest)
        {
            current.push_str(operator);
            rest = rest.get(operator.len()..).unwrap_or("");
            continue;
        }
        match c {
            '<' | '(' | '{' | '[' => depth += 1,
            '>' | ')' | '}' | ']' => depth -= 1,
            '`' => {
                quotes += 1;
                depth += 1;
            }
            '\'' if quotes > 0 => {
                quotes -= 1;
                depth -= 1;
            }
            _ => {}
        }
        current.push(c);
        rest = rest.get(c.len_utf8()..).unwrap_or("");
    }
    let name = spell(&current);
    if parts.len() > 64 { (Vec::new(), spell(text)) } else { (parts, name) }
}

/// An operator's name at the start of a text, whose brackets open nothing.
fn operator(text: &str) -> Option<&str> {
    let symbols = text.strip_prefix("operator")?;
    let known = ["()", "<<=", ">>=", "<=>", "->*", "<<", ">>", "<=", ">=", "->", "<", ">", "[]"];
    let found = known.iter().find(|symbol| symbols.starts_with(**symbol))?;
    text.get(.."operator".len() + found.len())
}

/// A name without blanks: none after commas and before stars.
fn spell(part: &str) -> String {
    let part = match part.strip_prefix("operator ") {
        Some(rest) => format!("operator.{rest}"),
        None => part.to_owned(),
    };
    part.replace(", ", ",").replace(" *", "*").replace(" &", "&").replace(' ', "_")
}

/// Gives every mangled symbol a readable name beside it. Functions of other
/// files are renamed.
pub fn apply(program: &mut Program) {
    let found: Vec<(SymbolId, Address, bool)> = program
        .symbols
        .iter()
        .filter(|(_, s)| s.source == SourceType::Imported && looks_mangled(&s.name))
        .filter(|(id, s)| {
            s.address != Address::MAX && (s.primary || is_behind_section(program, *id, s))
        })
        .map(|(id, s)| (id, s.address, is_function(program, s)))
        .collect();
    let in_rust = rust::is_rust_program(program);
    let readables = read(program, &found, in_rust);
    for ((id, place, function), readable) in found.iter().copied().zip(readables) {
        let (Some(readable), Some(symbol)) = (readable, program.symbols.get(id).cloned()) else {
            continue;
        };
        if readable.name.is_empty() {
            continue;
        }
        if let Some(literal) = literals::read(&symbol.name) {
            literal.define(program, place);
        }
        let parent = namespaces(program, symbol.parent, &readable);
        if place.space == SpaceId::EXTERNAL {
            // Analysis reads what the function takes out of this.
            if function && !microsoft::is_one(&symbol.name) {
                let key = (place, CommentKind::Plate);
                program.comments.insert(key, readable.text.as_str().into());
            }
            program.symbols.edit(id, |s| {
                s.name = readable.name.as_str().into();
                s.parent = parent;
            });
            continue;
        }
        let shown = program.symbols.primary_at(place).map_or(id, |(shown, _)| shown);
        let fresh = program.symbols.add(Symbol {
            name: readable.name.as_str().into(),
            parent,
            source: SourceType::Analysis,
            kind: if function { SymbolKind::Function } else { symbol.kind },
            ..symbol
        });
        if function {
            program.symbols.edit(shown, |s| s.kind = SymbolKind::Label);
            program.functions.edit(place, |f| f.symbol = fresh);
        }
        program.symbols.make_primary(fresh);
        let key = (place, CommentKind::Plate);
        if !program.comments.contains_key(&key) {
            program.comments.insert(key, readable.text.as_str().into());
        }
        name_aliases(program, place, id, in_rust);
    }
}

/// Gives the other mangled symbols of a place readable names beside them. Those of Rust are noted in
/// the comment as well: one function may stand for many.
fn name_aliases(program: &mut Program, place: Address, shown: SymbolId, in_rust: bool) {
    let is_alias = |id: SymbolId, s: &Symbol| {
        id != shown && s.source == SourceType::Imported && looks_mangled(&s.name)
    };
    let there = program.symbols.at(place).take(ALIASES);
    let aliases: Vec<Symbol> =
        there.filter(|(id, s)| is_alias(*id, s)).map(|(_, s)| s.clone()).collect();
    for alias in aliases {
        let Some(readable) = demangle(&alias.name, in_rust).filter(|r| !r.name.is_empty()) else {
            continue;
        };
        let parent = namespaces(program, alias.parent, &readable);
        let is_same = |s: &Symbol| *s.name == readable.name && s.parent == parent;
        if program.symbols.at(place).any(|(_, s)| is_same(s)) {
            continue;
        }
        program.symbols.add(Symbol {
            name: readable.name.as_str().into(),
            parent,
            source: SourceType::Analysis,
            kind: SymbolKind::Label,
            primary: false,
            ..alias
        });
        let key = (place, CommentKind::Plate);
        let known = program.comments.get(&key).filter(|_| in_rust).cloned();
        if let Some(known) = known.filter(|known| !known.lines().any(|l| l == readable.text)) {
            program.comments.insert(key, format!("{known}\n{}", readable.text).into());
        }
    }
}

/// Whether a function is shown under the symbol, or under the one that is shown in its place.
fn is_function(program: &Program, symbol: &Symbol) -> bool {
    let shown = program.symbols.primary_at(symbol.address).filter(|_| !symbol.primary);
    shown.map_or(symbol.kind, |(_, shown)| shown.kind) == SymbolKind::Function
}

/// Whether the name of a section is shown where a symbol is the first mangled one.
fn is_behind_section(program: &Program, id: SymbolId, symbol: &Symbol) -> bool {
    let shown = program.symbols.primary_at(symbol.address);
    let is_section = |s: &Symbol| s.source == SourceType::Imported && s.name.starts_with('.');
    let mut there = program.symbols.at(symbol.address).take(ALIASES);
    shown.is_some_and(|(_, shown)| is_section(shown))
        && there.find(|(_, s)| looks_mangled(&s.name)).is_some_and(|(first, _)| first == id)
}

/// The readable names of some symbols.
fn read(
    program: &Program,
    found: &[(SymbolId, Address, bool)],
    in_rust: bool,
) -> Vec<Option<Readable>> {
    let name = |id: &SymbolId| program.symbols.get(*id).map_or("", |symbol| &*symbol.name);
    let names = found.iter().map(|(id, ..)| name(id));
    let microsoft: Vec<&str> = names.clone().filter(|name| microsoft::is_one(name)).collect();
    let mut theirs = microsoft::demangle_all(&microsoft).into_iter();
    let one = |name| match microsoft::is_one(name) {
        true => theirs.next().flatten(),
        false => demangle(name, in_rust),
    };
    names.map(one).collect()
}

/// Whether a symbol bears a mangled name that can be read.
pub fn is_mangled(name: &str) -> bool {
    looks_mangled(name) && demangled(name).is_some()
}

fn looks_mangled(name: &str) -> bool {
    let d = || name.strip_prefix("_D").is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()));
    let swift = || ["$s", "$S", "_$s", "_$S"].iter().any(|prefix| name.starts_with(prefix));
    microsoft::is_one(name)
        || d()
        || swift()
        || ["_Z", "__Z", "._Z", "_R", "__R", "DW.ref._Z"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

fn namespaces(program: &mut Program, mut parent: SymbolId, readable: &Readable) -> SymbolId {
    for (index, name) in readable.path.iter().enumerate() {
        let innermost = index + 1 == readable.path.len();
        let class = innermost && readable.in_class;
        let kind = if class { SymbolKind::Class } else { SymbolKind::Namespace };
        parent = program.symbols.namespace(name, parent, kind);
        if class {
            program.symbols.edit(parent, |s| s.kind = SymbolKind::Class);
        }
    }
    parent
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(mangled: &str) -> (String, String) {
        let readable = demangle(mangled, false).expect(mangled);
        (readable.path.join("::"), readable.name)
    }

    fn names(path: &str, name: &str) -> (String, String) {
        (path.to_owned(), name.to_owned())
    }

    #[test]
    fn names_and_their_namespaces_come_apart() {
        let expected = [
            ("_Z10total_areaPPN3geo5ShapeEi", "", "total_area"),
            ("_ZN3geo5ShapeD2Ev", "geo::Shape", "~Shape"),
            ("_ZNK3geo4RectltERKS0_", "geo::Rect", "operator<"),
            ("_ZN5StackIPN3geo5ShapeELi4EE4pushES2_", "Stack<geo::Shape*,4>", "push"),
            ("_Z7maximumIiET_S0_S0_", "", "maximum<int>"),
            ("_ZThn16_N3geo4RectD1Ev", "geo::Rect", "~Rect"),
            ("_ZTVN3geo6SquareE", "geo::Square", "vtable"),
            ("_ZTSN3geo6SquareE", "geo::Square", "typeinfo-name"),
            ("_ZTIPKc", "char_const*", "typeinfo"),
            ("DW.ref._ZTIPKc", "char_const*", "typeinfo"),
            ("_ZZ4downPN3geo5ShapeEE1b", "down(geo::Shape*)", "b"),
            ("_Znwm", "", "operator.new"),
            ("_ZdlPvm", "", "operator.delete"),
            (
                "_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE",
                "core::fmt::Formatter",
                "write_str",
            ),
            ("_RNvC6_123foo3bar", "123foo", "bar"),
            ("_Z7guardedi.cold", "", "guarded(int)_[clone_.cold]"),
            ("_Z7guardedi.part.0", "", "guarded"),
        ];
        for (mangled, path, name) in expected {
            assert_eq!(parts(mangled), names(path, name), "{mangled}");
        }
    }

    #[test]
    fn texts_are_what_a_programmer_would_write() {
        let text = |mangled| demangle(mangled, false).expect("mangled").text;
        assert_eq!(text("_Z10total_areaPPN3geo5ShapeEi"), "total_area(geo::Shape**, int)");
        assert_eq!(text("_ZNK3geo5Shape4kindEv"), "geo::Shape::kind() const");
        assert_eq!(text("_ZThn16_N3geo4RectD1Ev"), "non-virtual thunk to geo::Rect::~Rect()");
        assert_eq!(text("_ZTIPKc"), "typeinfo for char const*");
    }

    #[test]
    fn types_are_named_by_their_descriptors() {
        let names = [".?AVDog@zoo@@", ".?AV?$Cage@VDog@zoo@@@zoo@@", ".?AUPair@@", ".?A", "", ".H"];
        let found = described_types(&names);
        let found: Vec<&str> = found.iter().map(|name| name.as_deref().unwrap_or("")).collect();
        let cage = "class zoo::Cage<class zoo::Dog>";
        assert_eq!(found, ["class zoo::Dog", cage, "struct Pair", "", "", "int"]);
    }

    #[test]
    fn plain_and_hostile_names_stay() {
        for name in ["main", "_start", "_Z", "_ZN", "_R", "", "_ZNSt", &"_Z1aIS0_".repeat(700)] {
            assert_eq!(demangle(name, false), None, "{name}");
        }
    }
}
