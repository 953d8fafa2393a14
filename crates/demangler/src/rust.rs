//! Names of Rust, of both mangling schemes, the newer one with the hashes of crates.

use crate::spelling::{condensed, path, symbol_name};
use crate::{Bounded, LONGEST, Readable};
use program::Program;
use std::fmt::{self, Write};

/// Texts that the standard library of Rust brings along.
const SIGNS: [&[u8]; 3] = [b"RUST_BACKTRACE", b"RUST_MIN_STACK", b"/rustc/"];
/// What the compiler says of itself among the notes of a file.
const COMPILER: &[u8] = b"rustc version ";
/// Most bytes of a block that are looked through.
const MOST: usize = 64 << 20;
/// Letters behind `17h` at the end of a name of the older scheme: 16 digits of a hash.
const HASH: usize = 16;

/// Whether a program is one of Rust: its compiler or its standard library say so.
pub fn is_rust_program(program: &Program) -> bool {
    let holds = |names: &[&str], signs: &[&[u8]]| {
        let blocks = program.memory.blocks().iter().filter(|block| names.contains(&&*block.name));
        blocks
            .filter_map(|block| {
                let length = usize::try_from(block.length).unwrap_or(MOST).min(MOST);
                let mut bytes = vec![0; length];
                let read = program.memory.read(block.start, &mut bytes).ok()?;
                bytes.truncate(read);
                Some(bytes)
            })
            .any(|bytes| signs.iter().any(|sign| contains(&bytes, sign)))
    };
    holds(&[".comment"], &[COMPILER]) || holds(&[".rodata", ".rdata", "__const"], &SIGNS)
}

fn contains(bytes: &[u8], sign: &[u8]) -> bool {
    bytes.windows(sign.len()).any(|window| window == sign)
}

/// Whether a name of a program of Rust is read as one of Rust.
pub fn is_rust(mangled: &str) -> bool {
    let plain = mangled.strip_prefix('_').filter(|m| m.starts_with("_Z") || m.starts_with("_R"));
    mangled.len() <= LONGEST && demangle(plain.unwrap_or(mangled), true).is_some()
}

/// Takes a name of Rust apart. In a program of Rust, names of the older scheme need no hash.
pub(crate) fn demangle(mangled: &str, in_rust: bool) -> Option<Readable> {
    let text = match mangled.starts_with("_ZN") {
        true => older(mangled, in_rust)?,
        false if mangled.starts_with("_R") => newer(mangled)?,
        false => return None,
    };
    let spelled = condensed(&text);
    let parts = path(&spelled);
    let (name, spaces) = parts.split_last()?;
    let path = spaces.iter().map(|part| symbol_name(&condensed(part))).collect();
    Some(Readable { path, name: symbol_name(name), text, in_class: false })
}

fn bounded(arguments: fmt::Arguments<'_>) -> Option<String> {
    let mut text = Bounded::default();
    text.write_fmt(arguments).ok()?;
    Some(text.0)
}

/// The newer scheme, `_R...`, with the hashes of crates: two crates may have one name.
fn newer(mangled: &str) -> Option<String> {
    let symbol = rustc_demangle::try_demangle(mangled).ok()?;
    bounded(format_args!("{symbol}"))
}

/// The older scheme, which is that of C++ with a hash at the end.
fn older(mangled: &str, in_rust: bool) -> Option<String> {
    let hashed = mangled.rsplit_once("17h").and_then(|(before, rest)| {
        let (hash, after) = rest.split_at_checked(HASH)?;
        let is_hash = hash.bytes().all(|b| b.is_ascii_hexdigit());
        // What follows tells copies apart and is no part of the name.
        (is_hash && after.starts_with('E')).then_some(before.len() + "17h".len() + HASH + 1)
    });
    if let Some(end) = hashed {
        let symbol = rustc_demangle::try_demangle(mangled.get(..end)?).ok()?;
        return bounded(format_args!("{symbol:#}"));
    }
    if !in_rust {
        return None;
    }
    let mut rest = mangled.strip_prefix("_ZN")?;
    let mut parts = Vec::new();
    while !rest.starts_with('E') {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let length: usize = rest.get(..digits)?.parse().ok()?;
        let (part, after) = rest.get(digits..)?.split_at_checked(length)?;
        parts.push(part);
        rest = after;
    }
    (!parts.is_empty() && parts.iter().all(|part| !part.is_empty() && !part.contains('$')))
        .then(|| parts.join("::"))
}
