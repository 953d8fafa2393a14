//! Code whose address is only taken, and what makes a function of it. The assembly stands beside its
//! bytes.

use std::cell::Cell;

use analysis::{Monitor, Stopped};
use decompiler::Language;
use program::{Address, Program, RefType, SourceType};

use crate::image::{Image, analysed, bytes};

const CODE: u64 = 0x40_1000;
const DATA: u64 = 0x40_2000;

/// Takes addresses, calls a function through a pointer that may change, and jumps to what it took.
const TAKER: &str = "68 20 10 40 00  68 40 10 40 00  e8 41 00 00 00  58 58 c3  90 90 90 90 90 90 \
     90 90 90 90 90 90 90 90";
// 401000 push 401020; push 401040; call 401050; pop eax; pop eax; ret; fillers

/// A handler behind a long filler, one behind a filler that tells starts, and one of which a table
/// tells; then a stub.
const HANDLERS: &str = "b8 01 00 00 00 e8 36 00 00 00 c3  8d b6 00 00 00 00  8d b6 00 00 00 00 \
     8d b4 26 00 00 00 00 90 90  55 89 e5 5d c3  8d 74 26 00  8d 74 26 00  90 90 90 \
     ff 25 08 20 40 00  66 90  31 c0 c3  90 90 90 90 90";
// 401020 mov eax,1; call 401060; ret; fillers   401040 push ebp; mov ebp,esp; pop ebp; ret; fillers
// 401050 jmp [402008]   401058 xor eax,eax; ret; nops

/// What the handler calls, and what the stub leads to.
const CALLED: &str = "33 c0 c3 90 90 90 90 90 90 90 90 90 90 90 90 90  40 c3";
// 401060 xor eax,eax; ret; fillers   401070 inc eax; ret

fn image() -> Program {
    let code = [bytes(TAKER), bytes(HANDLERS), bytes(CALLED)].concat();
    assert_eq!(code.len(), 0x72);
    let pointers: [u32; 3] = [0x40_1058, 0x40_1058, 0x40_1070];
    let data: Vec<u8> = pointers.iter().flat_map(|place| place.to_le_bytes()).collect();
    let mut image = Image::new("x86:LE:32:default", "windows");
    image.block(".text", CODE, &code, true);
    image.block(".data", DATA, &data, false);
    image.entry(CODE);
    image.analysed()
}

fn is_code(program: &Program, at: u64) -> bool {
    program.listing.instructions.contains_key(&Address::ram(at))
}

fn is_function(program: &Program, at: u64) -> bool {
    program.functions.at(Address::ram(at)).is_some()
}

#[test]
fn code_whose_address_is_taken_is_decoded_but_no_function() {
    let program = image();
    assert!(is_code(&program, 0x40_1020) && !is_function(&program, 0x40_1020));
    // What it calls is one.
    assert!(is_function(&program, 0x40_1060));
}

#[test]
fn a_frame_behind_a_filler_is_a_function() {
    let program = image();
    assert!(is_function(&program, 0x40_1040));
}

#[test]
fn code_in_a_table_of_pointers_is_decoded() {
    let program = image();
    assert!(is_code(&program, 0x40_1058) && !is_function(&program, 0x40_1058));
}

#[test]
fn a_stub_through_a_pointer_that_may_change_makes_its_destination_a_function() {
    let program = image();
    assert!(is_function(&program, 0x40_1070));
    let stub = program.functions.at(Address::ram(0x40_1050)).expect("is called");
    assert_eq!(stub.thunk_of, Some(Address::ram(0x40_1070)));
}

#[test]
fn bytes_that_are_no_subroutine_stay_undecoded() {
    // lea rdi,[1020]; ret; fillers   1020 a byte that is no instruction
    let code = bytes(
        "48 8d 3d 19 00 00 00 c3 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 \
         90 90  b8 01 00 00 00 06 c3 90 90",
    );
    let program = analysed(&[(0x1000, code)], &[0x1000]);
    assert!(!is_code(&program, 0x1020));
}

#[test]
fn code_that_runs_into_the_middle_of_a_function_is_left_alone() {
    // lea rdi,[1020]; mov eax,1; 100c add eax,2; ret; fillers   1020 mov eax,3; jmp 100c
    let code = bytes(
        "48 8d 3d 19 00 00 00 b8 01 00 00 00 83 c0 02 c3 90 90 90 90 90 90 90 90 90 90 90 90 90 90 \
         90 90  b8 03 00 00 00 eb e5 90 90",
    );
    let program = analysed(&[(0x1000, code)], &[0x1000]);
    assert!(is_code(&program, 0x100c));
    assert!(!is_code(&program, 0x1020));
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
    image.block(".data", 0x80_0000, &vec![0; 4 * length as usize + 4], false);
    for (at, to) in (CODE + 16..CODE + 16 + length).chain([last]).enumerate() {
        let (from, to) = (Address::ram(0x80_0000 + 4 * at as u64), Address::ram(to));
        image.program.add_reference(from, to, RefType::Data, 0, SourceType::Default);
    }
    (image.program, last)
}

fn data_references(program: &mut Program, looks: usize) -> Result<(), Stopped> {
    let language = Language::open("x86:LE:32:default", "gcc").expect("is built in");
    let pass = ["Data Reference".to_owned()];
    let mut monitor = Impatient { looks: Cell::new(looks) };
    analysis::run(program, &language, Some(&pass), &mut monitor)
}

#[test]
fn many_pointers_into_long_code_cost_no_more_than_the_code_is_long() {
    // Each of the pointers is good for thousands of instructions: together for more than a hundred
    // million.
    let (mut program, last) = everywhere(100_000);
    data_references(&mut program, usize::MAX).expect("runs to its end");
    assert!(!is_code(&program, last), "it has not looked so far");
    let (mut program, last) = everywhere(100);
    data_references(&mut program, usize::MAX).expect("runs to its end");
    assert!(is_code(&program, last));
}

#[test]
fn looking_at_what_is_pointed_to_ends_when_the_run_should() {
    let (mut program, last) = everywhere(100);
    let before = program.listing.instructions.len();
    assert_eq!(data_references(&mut program, 20), Err(Stopped::Cancelled));
    assert_eq!(program.listing.instructions.len(), before);
    assert!(!is_code(&program, last));
}
