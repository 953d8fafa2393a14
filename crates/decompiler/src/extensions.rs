//! What Ghidra adds to compiler specifications for programs of certain compilers: the calling
//! convention of Rust on x86-64.

use ghidra_decompiler::error::Result;
use ghidra_decompiler::xml::DocumentStorage;

/// Numbers pass in the first half of these registers.
const FLOATS: std::ops::RangeInclusive<u32> = 0..=7;
const WORDS: [&str; 6] = ["RDI", "RSI", "RDX", "RCX", "R8", "R9"];
/// What calls change.
const CHANGED: [&str; 3] = ["RAX", "RDX", "XMM0"];
/// What calls leave as it was, besides the upper vector registers.
const KEPT: [&str; 7] = ["RBX", "RSP", "RBP", "R12", "R13", "R14", "R15"];
const KEPT_VECTORS: std::ops::RangeInclusive<u32> = 6..=15;

/// Adds the extension of a compiler specification, if it has one, to what an engine reads.
pub(crate) fn register_all(
    store: &mut DocumentStorage,
    language: &str,
    compiler: &str,
) -> Result<()> {
    if language.starts_with("x86:LE:64:") && compiler == "gcc" {
        let document = store.parse_document(rust().as_bytes())?;
        store.register_tag(document.get_root());
    }
    Ok(())
}

/// Parameters of 9 to 16 bytes take two registers; what is larger lies on the stack.
fn rust() -> String {
    let mut text = String::from("<specextensions><prototype ");
    text.push_str("name=\"__rustcall\" extrapop=\"8\" stackshift=\"8\"><input pointermax=\"8\">");
    for number in FLOATS {
        text.push_str(&float(number));
    }
    WORDS.iter().for_each(|name| text.push_str(&word(name)));
    let stack = "<addr offset=\"8\" space=\"stack\"/>";
    text.push_str(&entry("minsize=\"1\" maxsize=\"500\" align=\"8\"", stack));
    text.push_str("<rule><datatype name=\"any\" minsize=\"9\" maxsize=\"16\"/>");
    text.push_str("<join align=\"true\"/></rule></input><output>");
    text.push_str(&float(0));
    text.push_str(&word("RAX"));
    let pair = "<addr space=\"join\" piece1=\"RDX\" piece2=\"RAX\"/>";
    text.push_str(&entry("minsize=\"9\" maxsize=\"16\"", pair));
    text.push_str("</output><killedbycall>");
    CHANGED.iter().for_each(|name| text.push_str(&register(name)));
    text.push_str("</killedbycall><unaffected>");
    KEPT.iter().for_each(|name| text.push_str(&register(name)));
    for number in KEPT_VECTORS {
        text.push_str(&register(&format!("XMM{number}")));
    }
    text.push_str("</unaffected></prototype></specextensions>");
    text
}

fn register(name: &str) -> String {
    format!("<register name=\"{name}\"/>")
}

fn entry(sizes: &str, place: &str) -> String {
    format!("<pentry {sizes}>{place}</pentry>")
}

fn float(number: u32) -> String {
    let place = register(&format!("XMM{number}_Qa"));
    entry("minsize=\"4\" maxsize=\"8\" metatype=\"float\"", &place)
}

fn word(name: &str) -> String {
    entry("minsize=\"1\" maxsize=\"8\"", &register(name))
}
