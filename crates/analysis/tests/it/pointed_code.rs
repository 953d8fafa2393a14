//! Code whose address is only taken, and what makes a function of it. The assembly stands beside its
//! bytes.

use program::{Address, Program};

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
