//! Whether a program was made by a compiler that lays down such descriptions: Microsoft's, or clang
//! in its place. The small DOS program at the file's start tells, as its makers differ.

use program::{Address, DosStub, Program};

/// Bytes of the headers that are looked at.
const HEAD: usize = 0x400;
/// Texts in programs that Rust's compiler made.
const RUST: [&[u8]; 3] = [b"RUST_BACKTRACE", b"RUST_MIN_STACK", b"/rustc/"];
/// How Swift's sections are called.
const SWIFT: [&str; 3] = ["__swift", "swift", ".sw5"];
/// What Go's linker writes.
const GO: &[u8] = b"\xff Go buildinf:";

/// Whether it was. Cost: linear in the read-only data.
pub(crate) fn lays_down_descriptions(program: &Program) -> bool {
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

/// Whether its compiler was Microsoft's or clang, as far as the program's start and sections tell.
pub(crate) fn is_by_microsoft_or_clang(program: &Program) -> bool {
    let mut head = [0u8; HEAD];
    let base = Address::ram(program.info.image_base);
    if program.memory.read(base, &mut head).is_err() {
        return false;
    }
    let Some(stub) = DosStub::read(&head) else { return false };
    let word = |at: usize| Some(u32::from_le_bytes(*head.get(at..)?.first_chunk()?));
    let header = stub.header as usize;
    if is_managed(&word, header) {
        return false;
    }
    if stub.has_tools() || stub.is_by_clang() {
        return true;
    }
    // gcc's programs or old ones of Microsoft's: the symbols and sections tell.
    let named = |name| program.memory.block_named(name).is_some();
    let by_gcc = stub.has_usual_header() && word(header + 12) != Some(0);
    stub.is_plain()
        && !by_gcc
        && !named("CODE")
        && !named(".bss")
        && !named(".idata")
        && !holds(program, ".data", GO)
}

/// Whether it is a program for .NET.
fn is_managed(word: &impl Fn(usize) -> Option<u32>, header: usize) -> bool {
    let wide = word(header + 24).is_some_and(|magic| magic & 0xffff == 0x20b);
    let directories = header + 24 + if wide { 112 } else { 96 };
    let count = word(directories - 4).unwrap_or(0);
    count > 14 && word(directories + 14 * 8).is_some_and(|at| at != 0)
}
