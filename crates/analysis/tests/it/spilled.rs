//! Jumps whose index or destination takes a detour, and code that only exceptions lead to. The
//! assembly stands beside its bytes.

use program::{Address, AddressSet, Program, SourceType, SymbolId};

use crate::image::{Image, analysed, bytes, destinations};

/// The index is kept in the stack frame between its check and its use, as compilers leave it
/// that do not optimise.
const KEPT: (u64, &str) = (
    0x1000,
    "55  48 89 e5  89 f8  89 c1  48 89 4d f0  c7 45 e8 07 00 00 00  83 e8 04  77 23 \
     48 8b 45 f0  48 8d 0d dd 0f 00 00  48 63 04 81  48 01 c8  ff e0 \
     b8 01 00 00 00 5d c3  31 c0 5d c3 90 90 90 90 5d c3",
    // push rbp; mov rbp,rsp; mov eax,edi; mov ecx,eax; mov [rbp-10h],rcx; mov dword [rbp-18h],7
    // sub eax,4; ja 103b; mov rax,[rbp-10h]; lea rcx,[2000]; movsxd rax,[rcx+rax*4]; add rax,rcx
    // 102a jmp rax   102c mov eax,1; pop rbp; ret   1033 xor eax,eax; pop rbp; ret
);
/// The same, but something else may have been put over the index.
const OVERWRITTEN: (u64, &str) = (
    0x1100,
    "55  48 89 e5  89 f8  89 c1  48 89 4d f0  c7 45 f4 07 00 00 00  83 e8 04  77 23 \
     48 8b 45 f0  48 8d 0d dd 0e 00 00  48 63 04 81  48 01 c8  ff e0 \
     b8 01 00 00 00 5d c3  31 c0 5d c3 90 90 90 90 5d c3",
    // mov dword [rbp-0ch],7 instead
);

/// Distances from 2000 to two cases.
fn table(first: u32, second: u32) -> Vec<u8> {
    let entries = [first, second, first, first, second];
    entries.iter().flat_map(|to| to.wrapping_sub(0x2000).to_le_bytes()).collect()
}

#[test]
fn an_index_kept_in_the_stack_frame_after_its_check_finds_its_table() {
    let blocks = [(KEPT.0, bytes(KEPT.1)), (0x2000, table(0x102c, 0x1033))];
    let program = analysed(&blocks, &[KEPT.0]);
    assert_eq!(destinations(&program, 0x102a), [0x102c, 0x1033]);
}

#[test]
fn an_index_in_the_stack_frame_that_was_overwritten_is_not_the_one_checked() {
    let blocks = [(OVERWRITTEN.0, bytes(OVERWRITTEN.1)), (0x2000, table(0x112c, 0x1133))];
    let program = analysed(&blocks, &[OVERWRITTEN.0]);
    assert_eq!(destinations(&program, 0x112a), [0u64; 0]);
}

/// A function that passes on to one whose computed jump nobody can follow.
const PASSES_ON: (u64, &str) = (
    0x1200,
    "48 8b 3f eb 0b 90 90 90 90 90 90 90 90 90 90 90 \
     53 48 8b 07 ff e0 90 90 90 90 90 90 90 90 90 90 \
     e8 eb ff ff ff c3 90 90 90 90 90 90 90 90 90 90 \
     e8 cb ff ff ff c3",
    // 1200 mov rdi,[rdi]; jmp 1210   1210 push rbx; mov rax,[rdi]; jmp rax
    // 1220 call 1210; ret   1230 call 1200; ret
);

#[test]
fn a_function_is_not_thought_endless_for_a_jump_that_another_one_passes_on_to() {
    let program = analysed(&[(PASSES_ON.0, bytes(PASSES_ON.1))], &[0x1200, 0x1220, 0x1230]);
    for entry in [0x1200, 0x1210, 0x1220, 0x1230] {
        let function = program.functions.at(Address::ram(entry)).expect("a function");
        assert!(!function.no_return, "{entry:x}");
    }
}

/// A function with a call that may throw, and two landing pads, the first of which jumps into
/// the second.
const THROWS: (u64, &str) = (
    0x1010,
    "50  e8 1a 00 00 00  58 c3  eb 04 90 90 90 90  89 c3 58 c3 90 90 90 90 90 90 90 90 90 90 90 90 90 90 c3",
    // push rax; call 1030; pop rax; ret   1018 jmp 101e   101e mov ebx,eax; pop rax; ret   1030 ret
);

#[test]
fn a_landing_pad_that_begins_with_a_jump_leads_to_no_new_function() {
    // A common entry with a personality, one function at 1010 of 20h bytes with its area, the end.
    let frames = bytes(
        "18 00 00 00 00 00 00 00 01 7a 50 4c 52 00 01 78 10 07 0b 00 00 00 00 1b 1b 00 00 00 \
         18 00 00 00 20 00 00 00 ec ef ff ff 20 00 00 00 04 d3 0f 00 00 41 0e 10 00 00 00 00 \
         00 00 00 00",
    );
    // Call sites: 1011 of 5 bytes lands at 1018, 1017 of 1 byte at 101e.
    let area = bytes("ff ff 01 08 01 05 08 00 07 01 0e 00");
    let mut image = Image::new("x86:LE:64:default", "gcc");
    image.block(".text", THROWS.0, &bytes(THROWS.1), true);
    image.block(".eh_frame", 0x2000, &frames, false);
    image.block(".gcc_except_table", 0x3000, &area, false);
    image.entry(THROWS.0);
    let program = image.analysed();
    for place in [0x1018, 0x101e] {
        assert!(program.listing.instructions.contains_key(&Address::ram(place)), "{place:x}");
        assert!(program.functions.at(Address::ram(place)).is_none(), "{place:x}");
    }
}

/// `call 1310; ret`, and a function that changes to another stack and never returns.
const SWITCHES: (u64, &str) =
    (0x1300, "e8 0b 00 00 00 c3 90 90 90 90 90 90 90 90 90 90  48 8b 66 38 eb fe");

#[test]
fn what_changes_to_another_stack_comes_back() {
    let program = |name: Option<&str>| {
        let mut image = Image::new("x86:LE:64:default", "gcc");
        image.block(".text", SWITCHES.0, &bytes(SWITCHES.1), true);
        image.entry(SWITCHES.0);
        if let Some(name) = name {
            let (at, source) = (Address::ram(0x1310), SourceType::Imported);
            image.program.add_label(at, name, SymbolId::GLOBAL, source);
            image.program.add_function(at, AddressSet::new());
        }
        image.analysed()
    };
    let length =
        |program: &Program| program.functions.at(Address::ram(0x1300)).map(|f| f.body.len());
    assert_eq!(length(&program(None)), Some(5));
    assert_eq!(length(&program(Some("runtime.mcall"))), Some(6));
    assert_eq!(length(&program(Some("runtime.mcalls"))), Some(5));
}
