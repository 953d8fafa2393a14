//! Jumps over the starts of functions. The assembly stands beside its bytes.

use std::sync::Arc;

use program::{Address, FlowOverride, Program, SourceType, SymbolId};

use crate::image::Image;

const ELF: &str = "Executable and Linking Format (ELF)";

/// Code of x86-64 at these places, with traps between.
fn code(start: u64, pieces: &[(u64, &[u8])]) -> Vec<u8> {
    let mut code = vec![0xcc; 0x130];
    for (at, piece) in pieces {
        let at = (at - start) as usize;
        code[at..at + piece.len()].copy_from_slice(piece);
    }
    code
}

fn image() -> Program {
    let text = code(
        0x1000,
        &[
            // xor edi,edi; jmp 1040, over a function: ret
            (0x1000, &[0x31, 0xff, 0xe9, 0x39, 0, 0, 0]),
            (0x1020, &[0xc3]),
            // xor eax,eax; ret
            (0x1040, &[0x31, 0xc0, 0xc3]),
            // xor edi,edi; jmp 1080, over a function: test edi,edi; jne 1078; ret
            (0x1060, &[0x31, 0xff, 0xe9, 0x19, 0, 0, 0]),
            (0x1070, &[0x85, 0xff, 0x75, 0x04, 0xc3]),
            // call 1090; nop; nop; nop; then, behind the call, xor eax,eax; ret
            (0x1078, &[0xe8, 0x13, 0, 0, 0, 0x90, 0x90, 0x90]),
            (0x1080, &[0x31, 0xc0, 0xc3]),
            // jmp 1090: never returns
            (0x1090, &[0xeb, 0xfe]),
            // xor edi,edi; jmp 10c5, over a function: ret
            (0x10a0, &[0x31, 0xff, 0xe9, 0x1e, 0, 0, 0]),
            (0x10b0, &[0xc3]),
            // mov edi,1; then xor eax,eax; ret
            (0x10c0, &[0xbf, 1, 0, 0, 0, 0x31, 0xc0, 0xc3]),
            // calls of 1000, 1020, 1060, 1070, 10a0, 10b0 and 10c0; ret
            (0x1100, &[0xe8, 0xfb, 0xfe, 0xff, 0xff, 0xe8, 0x16, 0xff, 0xff, 0xff]),
            (0x110a, &[0xe8, 0x51, 0xff, 0xff, 0xff, 0xe8, 0x5c, 0xff, 0xff, 0xff]),
            (0x1114, &[0xe8, 0x87, 0xff, 0xff, 0xff, 0xe8, 0x92, 0xff, 0xff, 0xff]),
            (0x111e, &[0xe8, 0x9d, 0xff, 0xff, 0xff, 0xc3]),
        ],
    );
    let mut image = Image::new("x86:LE:64:default", "gcc");
    image.block(".text", 0x1000, &text, true);
    image.entry(0x1100);
    image.analysed()
}

fn is_function(program: &Program, at: u64) -> bool {
    program.functions.at(Address::ram(at)).is_some()
}

#[test]
fn what_a_jump_over_a_function_leads_to_is_one_unless_other_code_goes_on_there() {
    let program = image();
    for called in [0x1000, 0x1020, 0x1060, 0x1070, 0x1090, 0x10a0, 0x10b0, 0x10c0] {
        assert!(is_function(&program, called), "{called:x} is called");
    }
    assert!(is_function(&program, 0x1040));
    let jump = program.listing.instructions.get(&Address::ram(0x1002)).expect("a jump");
    assert_eq!(jump.flow_override, FlowOverride::CallReturn);
    assert!(!is_function(&program, 0x10c5), "the function before it goes on there");
}

#[test]
fn a_call_that_is_known_late_never_to_return_hides_the_start_behind_it() {
    let program = image();
    assert!(program.functions.at(Address::ram(0x1090)).is_some_and(|f| f.no_return));
    assert!(!is_function(&program, 0x1080));
    let body = &program.functions.at(Address::ram(0x1060)).expect("a function").body;
    assert!(body.contains(Address::ram(0x1080)), "it stays with what jumps to it");
}

/// A label that the file states.
fn label(image: &mut Image, at: u64, name: &str) {
    let at = Address::ram(at);
    image.program.add_label(at, name, SymbolId::GLOBAL, SourceType::Imported);
}

#[test]
fn a_jump_of_code_without_a_function_over_functions_leads_to_one() {
    let text = code(
        0x1000,
        &[
            // call 1040; ret
            (0x1000, &[0xe8, 0x3b, 0, 0, 0, 0xc3]),
            // main.cold: xor edi,edi; jmp 1060, over a function: ret
            (0x1020, &[0x31, 0xff, 0xe9, 0x39, 0, 0, 0]),
            (0x1040, &[0xc3]),
            // xor eax,eax; ret
            (0x1060, &[0x31, 0xc0, 0xc3]),
        ],
    );
    let mut image = Image::new("x86:LE:64:default", "gcc");
    Arc::make_mut(&mut image.program.info).executable_format = ELF.to_owned();
    image.block(".text", 0x1000, &text, true);
    image.entry(0x1000);
    label(&mut image, 0x1020, "main.cold");
    let program = image.analysed();
    assert!(!is_function(&program, 0x1020), "it is part of another one");
    assert!(program.listing.instructions.contains_key(&Address::ram(0x1020)));
    assert!(is_function(&program, 0x1060));
    let jump = program.listing.instructions.get(&Address::ram(0x1022)).expect("a jump");
    assert_eq!(jump.flow_override, FlowOverride::CallReturn);
}

#[test]
fn what_a_condition_leads_to_as_well_is_no_function() {
    let text = code(
        0x1000,
        &[
            // xor edi,edi; test edi,edi; jne 1060; call 1040; jmp 1060, over a function
            (0x1000, &[0x31, 0xff, 0x85, 0xff, 0x75, 0x5a, 0xe8, 0x35, 0, 0, 0, 0xeb, 0x53]),
            (0x1040, &[0xc3]),
            (0x1060, &[0x31, 0xc0, 0xc3]),
        ],
    );
    let mut image = Image::new("x86:LE:64:default", "gcc");
    image.block(".text", 0x1000, &text, true);
    image.entry(0x1000);
    let program = image.analysed();
    assert!(is_function(&program, 0x1040));
    assert!(!is_function(&program, 0x1060));
}

#[test]
fn a_part_that_was_moved_away_belongs_to_the_function_that_jumps_there() {
    let text = code(
        0x1000,
        &[
            // main: call 1040; jmp 1060, over a function
            (0x1000, &[0xe8, 0x3b, 0, 0, 0, 0xeb, 0x59]),
            (0x1040, &[0xc3]),
            // main.cold.1: xor eax,eax; ret
            (0x1060, &[0x31, 0xc0, 0xc3]),
        ],
    );
    let mut image = Image::new("x86:LE:64:default", "gcc");
    Arc::make_mut(&mut image.program.info).executable_format = ELF.to_owned();
    image.block(".text", 0x1000, &text, true);
    image.entry(0x1000);
    label(&mut image, 0x1060, "main.cold.1");
    let program = image.analysed();
    assert!(is_function(&program, 0x1040) && !is_function(&program, 0x1060));
    let main = program.functions.at(Address::ram(0x1000)).expect("a function");
    assert!(main.body.contains(Address::ram(0x1060)));
}
