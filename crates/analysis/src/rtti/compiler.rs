//! Whether a program was made by a compiler that lays down such descriptions: Microsoft's, or clang
//! in its place. The small DOS program at the file's start tells, as its makers differ.

use program::{Address, Program};

/// Bytes of the headers that are looked at.
const HEAD: usize = 0x400;
/// The usual code of the DOS program.
const USUAL_CODE: [u8; 14] =
    [0x0e, 0x1f, 0xba, 0x0e, 0x00, 0xb4, 0x09, 0xcd, 0x21, 0xb8, 0x01, 0x4c, 0xcd, 0x21];
/// What it says, by gcc and Microsoft, and by clang.
const MESSAGE: &[u8] = b"This program cannot be run in DOS mode.\r\r\n$";
const CLANG_MESSAGE: &[u8] = b"This program cannot be run in DOS mode.$";
/// Where the DOS program and the new header usually begin.
const CODE: usize = 0x40;
const USUAL_HEADER: usize = 0x80;
const CLANG_HEADER: usize = 0x78;
/// Headers farther away are nobody's.
const FARTHEST_HEADER: usize = 0x300;
/// Two words that are this apart begin the list of tools that Microsoft's linker leaves behind.
const TOOLS: u32 = 0x536e_6144;
/// Texts in programs that Rust's compiler made.
const RUST: [&[u8]; 3] = [b"RUST_BACKTRACE", b"RUST_MIN_STACK", b"/rustc/"];
/// How Swift's sections are called.
const SWIFT: [&str; 3] = ["__swift", "swift", ".sw5"];
/// What Go's linker writes.
const GO: &[u8] = b"\xff Go buildinf:";

/// Whether it was. Cost: linear in the read-only data.
pub(super) fn lays_down_descriptions(program: &Program) -> bool {
    program.info.executable_format.contains("(PE)")
        && is_by_microsoft_or_clang(program)
        && !is_of_another_language(program)
}

fn is_of_another_language(program: &Program) -> bool {
    let swift = |name: &str| SWIFT.iter().any(|prefix| name.starts_with(prefix));
    program.memory.blocks().iter().any(|block| swift(&block.name))
        || RUST.iter().any(|text| holds(program, ".rdata", text))
}

fn holds(program: &Program, block: &str, text: &[u8]) -> bool {
    let block = program.memory.block_named(block);
    let run = block.map_or(&[][..], |block| program.memory.run(block.start));
    memchr::memmem::find(run, text).is_some()
}

fn is_by_microsoft_or_clang(program: &Program) -> bool {
    let mut head = [0u8; HEAD];
    let base = Address::ram(program.info.image_base);
    if program.memory.read(base, &mut head).is_err() {
        return false;
    }
    let word = |at: usize| {
        let bytes = head.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(u32::from_le_bytes(bytes))
    };
    let Some(header) = word(0x3c).and_then(|at| usize::try_from(at).ok()) else { return false };
    if header > FARTHEST_HEADER || is_managed(&word, header) {
        return false;
    }
    let tools = || word(0x80).zip(word(0x84));
    let by_linker = |(a, b): (u32, u32)| a != 0 && b != 0 && a ^ b == TOOLS;
    if header > USUAL_HEADER && tools().is_some_and(by_linker) {
        return true;
    }
    let code = &head[CODE..];
    let message = memchr::memmem::find(code, b"This").map_or(&[][..], |at| &code[at..]);
    if !code.starts_with(&USUAL_CODE) || message.is_empty() {
        return false;
    }
    if header == CLANG_HEADER || message.starts_with(CLANG_MESSAGE) {
        return true;
    }
    if !message.starts_with(MESSAGE) {
        return false;
    }
    // gcc's programs or old ones of Microsoft's: the symbols and sections tell.
    let named = |name| program.memory.block_named(name).is_some();
    let by_gcc = header == USUAL_HEADER && word(header + 12) != Some(0);
    !by_gcc && !named("CODE") && !named(".bss") && !named(".idata") && !holds(program, ".data", GO)
}

/// Whether it is a program for .NET.
fn is_managed(word: &impl Fn(usize) -> Option<u32>, header: usize) -> bool {
    let wide = word(header + 24).is_some_and(|magic| magic & 0xffff == 0x20b);
    let directories = header + 24 + if wide { 112 } else { 96 };
    let count = word(directories - 4).unwrap_or(0);
    count > 14 && word(directories + 14 * 8).is_some_and(|at| at != 0)
}
