//! Triage of a whole program: protections as the file's header states them, randomness of its
//! memory, imports by theme, strings that tell what it does.

mod protections;
mod themes;

use program::{Address, Program, SymbolKind};

use crate::pattern::Pattern;
use crate::strings::string_of;

pub use protections::{Protections, Relro, protections};
pub use themes::{theme_of, themes};

/// Bytes of one block that its randomness is measured over.
const MAX_MEASURED: u64 = 16 << 20;
/// Above this many bits a byte, code is packed or encrypted.
const PACKED: f64 = 7.2;
/// Strings that are looked at.
const MAX_STRINGS: usize = 200_000;

/// Shannon's entropy of the first 16 MiB of a block, in bits a byte; `None` where it has no bytes.
#[must_use]
pub fn entropy(program: &Program, block: &program::MemoryBlock) -> Option<f64> {
    let mut counts = [0u64; 256];
    let mut at = block.start;
    let mut left = block.length.min(MAX_MEASURED);
    while left > 0 {
        let run = program.memory.run(at);
        let run = &run[..run.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
        if run.is_empty() {
            break;
        }
        run.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        left -= run.len() as u64;
        at = at.checked_add(run.len() as u64)?;
    }
    let total: u64 = counts.iter().sum();
    if total == 0 {
        return None;
    }
    let bits = |count: &u64| {
        let share = *count as f64 / total as f64;
        if *count == 0 { 0.0 } else { -share * share.log2() }
    };
    Some(counts.iter().map(bits).sum())
}

/// What speaks for a program that unpacks itself, in sentences.
#[must_use]
pub fn packer_hints(program: &Program) -> Vec<String> {
    const NAMES: [&str; 8] =
        ["UPX0", "UPX1", "UPX!", ".aspack", ".adata", ".petite", ".vmp0", ".themida"];
    let mut hints = Vec::new();
    for block in program.memory.blocks() {
        if NAMES.contains(&&*block.name) {
            hints.push(format!("the block {} bears the name that a packer gives", block.name));
        }
        if !block.permissions.execute {
            continue;
        }
        if let Some(bits) = entropy(program, block).filter(|bits| *bits > PACKED) {
            hints.push(format!(
                "the code in {} looks random ({bits:.2} bits a byte): packed or encrypted",
                block.name
            ));
        }
        if block.permissions.write && block.is_initialized() {
            hints.push(format!("the block {} can be written and run", block.name));
        }
    }
    hints
}

/// Whether functions check that nobody overwrote the stack.
#[must_use]
pub fn has_stack_canary(program: &Program) -> bool {
    const NAMES: [&str; 5] = [
        "__stack_chk_fail",
        "___stack_chk_fail",
        "__stack_chk_guard",
        "__security_cookie",
        "__security_check_cookie",
    ];
    NAMES.iter().any(|name| {
        program.symbols.named(name).any(|(_, symbol)| symbol.kind != SymbolKind::Namespace)
    })
}

/// A string that tells what a program does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Telling {
    /// Where it is.
    pub address: Address,
    /// Its text.
    pub text: String,
    /// What it looks like: `url`, `command`, ...
    pub kind: &'static str,
}

/// The first strings that look like addresses of the network, commands, keys of the registry and
/// the like. Cost: all strings, 200000 at most.
#[must_use]
pub fn telling_strings(program: &Program, most: usize) -> Vec<Telling> {
    const KINDS: [(&str, &str); 6] = [
        ("url", r"\b(https?|ftp|wss?|tcp|udp)://\S"),
        ("ip_address", r"\b(25[0-5]|2[0-4]\d|1?\d?\d)(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}\b"),
        (
            "command",
            r"(^|[\\/ ])(cmd(\.exe)?|powershell|sh|bash|curl|wget|schtasks|reg)( |\.exe|$) ?[-/]|/bin/(ba)?sh|\bcmd\.exe",
        ),
        ("registry_key", r"\b(HKEY_|HKLM|HKCU)|^software\\"),
        ("secret", r"BEGIN [A-Z ]*PRIVATE KEY|\b(password|passwd|api[_-]?key|secret)\b"),
        ("path", r"^(/(etc|proc|dev|tmp|root|home)/|[A-Z]:\\)"),
    ];
    let kinds =
        KINDS.iter().filter_map(|(kind, text)| Some((*kind, Pattern::new(text, false).ok()?)));
    let kinds: Vec<(&str, Pattern)> = kinds.collect();
    let texts =
        program.listing.data.iter().filter(|(_, unit)| program.is_text_type(unit.data_type));
    let mut found = Vec::new();
    for (address, unit) in texts.take(MAX_STRINGS) {
        let Some(string) = string_of(program, *address, unit) else { continue };
        if let Some((kind, _)) = kinds.iter().find(|(_, pattern)| pattern.is_in(&string.text)) {
            found.push(Telling { address: *address, text: string.text, kind });
            if found.len() >= most {
                break;
            }
        }
    }
    found
}
