//! What hostile programs may cost: passes look at nothing too often, and end when the run should.

use std::cell::Cell;

use analysis::{Monitor, Stopped};
use decompiler::Language;
use program::{Address, Program, RefType, SourceType};

use crate::image::{Image, bytes};

const CODE: u64 = 0x40_1000;
const DATA: u64 = 0x80_0000;

fn is_code(program: &Program, at: u64) -> bool {
    program.listing.instructions.contains_key(&Address::ram(at))
}

/// Wants the run to end after so many looks.
struct Impatient {
    looks: Cell<usize>,
}

impl Monitor for Impatient {
    fn phase(&mut self, _name: &'static str, _done: usize, _total: usize) {}
    fn progress(&mut self, _fraction: f32) {}
    fn cancelled(&self) -> bool {
        self.looks.set(self.looks.get().saturating_sub(1));
        self.looks.get() == 0
    }
    fn publish(&mut self, _program: &Program) {}
}

/// A run of `add eax,1; inc ecx` that ends in a return, data that points to every place in it and,
/// last, to a subroutine behind it.
fn everywhere(length: u64) -> (Program, u64) {
    let mut code = vec![0xcc; 16];
    code.extend(bytes("83 c0 01 ff c1").repeat(length as usize / 5));
    code.extend(bytes("c3 cc cc cc"));
    let last = CODE + code.len() as u64;
    code.extend(bytes("31 c0 ff c1 c3 cc cc cc cc cc"));
    let mut image = Image::new("x86:LE:32:default", "gcc");
    image.block(".text", CODE, &code, true);
    image.block(".data", DATA, &vec![0; 4 * length as usize + 4], false);
    for (at, to) in (CODE + 16..CODE + 16 + length).chain([last]).enumerate() {
        let (from, to) = (Address::ram(DATA + 4 * at as u64), Address::ram(to));
        image.program.add_reference(from, to, RefType::Data, 0, SourceType::Default);
    }
    (image.program, last)
}

fn run(pass: &str, program: &mut Program, looks: usize) -> Result<(), Stopped> {
    let id = program.info.language_id.clone();
    let language = Language::open(&id, "gcc").expect("is built in");
    let pass = [pass.to_owned()];
    let mut monitor = Impatient { looks: Cell::new(looks) };
    analysis::run(program, &language, Some(&pass), &mut monitor)
}

fn data_references(program: &mut Program, looks: usize) -> Result<(), Stopped> {
    run("Data Reference", program, looks)
}

#[test]
fn many_pointers_into_long_code_cost_no_more_than_the_code_is_long() {
    // Each of the pointers is good for thousands of instructions: together for more than a hundred
    // million.
    let (mut program, last) = everywhere(100_000);
    data_references(&mut program, usize::MAX).expect("runs to its end");
    assert!(!is_code(&program, last), "it has not looked so far");
    let warnings = &program.info.warnings;
    assert_eq!(warnings.iter().filter(|w| w.contains("leads too far")).count(), 1);
    let (mut program, last) = everywhere(100);
    data_references(&mut program, usize::MAX).expect("runs to its end");
    assert!(is_code(&program, last));
    assert!(program.info.warnings.is_empty());
}

#[test]
fn looking_at_what_is_pointed_to_ends_when_the_run_should() {
    let (mut program, last) = everywhere(100);
    let before = program.listing.instructions.len();
    assert_eq!(data_references(&mut program, 20), Err(Stopped::Cancelled));
    assert_eq!(program.listing.instructions.len(), before);
    assert!(!is_code(&program, last));
}

#[test]
fn pointers_that_make_no_table_are_read_once_or_twice() {
    // Each is far from its neighbours, so that no two of them are one; the last three are.
    let count = 150_000u64;
    let far = |index: u64| if index.is_multiple_of(2) { DATA } else { 0x7000_0000 };
    let pointers: Vec<u64> = (0..count).map(far).chain([DATA + 8; 3]).collect();
    let pointers: Vec<u8> = pointers.iter().flat_map(|to| to.to_le_bytes()).collect();
    let mut image = Image::new("x86:LE:64:default", "gcc");
    image.block(".data", DATA, &pointers, false);
    image.block(".far", 0x7000_0000, &[0; 16], false);
    let mut program = image.program;
    run("Create Address Tables", &mut program, usize::MAX).expect("runs to its end");
    let made: Vec<u64> = program.listing.data.iter().map(|(at, _)| at.offset).collect();
    let last = DATA + 8 * count;
    // They lead to the first, which is a pointer as well.
    assert_eq!(made, [DATA + 8, last, last + 8, last + 16]);
}

#[test]
fn the_search_for_texts_ends_within_a_block() {
    let mut data = vec![0u8; 1 << 20];
    let text = b"nobody looks as far as this\0";
    let at = data.len() - text.len();
    data[at..].copy_from_slice(text);
    for (looks, found) in [(usize::MAX, true), (6, false)] {
        let mut image = Image::new("x86:LE:64:default", "gcc");
        image.block(".data", DATA, &data, false);
        let mut program = image.program;
        let ended = run("ASCII Strings", &mut program, looks);
        assert_eq!(ended.is_ok(), found);
        let place = Address::ram(DATA + at as u64);
        assert_eq!(program.listing.data.contains_key(&place), found);
    }
}
