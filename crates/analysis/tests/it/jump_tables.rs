//! Jump tables in small hand-made functions, whose assembly stands beside their bytes.

use program::{Address, Program};

use crate::image::{Image, analysed, bytes, destinations};

/// The address of the table stays in a register over a loop that calls another function.
const KEPT: (u64, &str) = (
    0x1000,
    "41 55  4c 8d 2d f7 0f 00 00 \
     e8 32 00 00 00  83 e8 61  83 f8 03  77 13  49 63 44 85 00  4c 01 e8  ff e0  \
     90 eb e6  90 90 eb e2  eb e0  41 5d c3",
    // 1000 push r13; lea r13,[2000]
    // 1009 call 1040; sub eax,61h; cmp eax,3; ja 1029; movsxd rax,[r13+rax*4]; add rax,r13; 101e jmp rax
    // 1020 nop; jmp 1009   1023 nop; nop; jmp 1009   1027 jmp 1009   1029 pop r13; ret
);
/// What the loop calls: `mov eax,[rdi]; ret`.
const CALLED: (u64, &str) = (0x1040, "8b 07 c3");
/// The index runs from -5 to -1.
const NEGATIVE: (u64, &str) = (
    0x1060,
    "8d 47 05  83 ff fb  72 1c  48 8d 15 a1 0f 00 00  48 63 04 82  48 01 d0  ff e0 \
     b8 01 00 00 00 c3  b8 02 00 00 00 c3  31 c0 c3",
    // lea eax,[rdi+5]; cmp edi,-5; jb 1084; lea rdx,[2010]; movsxd rax,[rdx+rax*4]; add rax,rdx
    // 1076 jmp rax   1078 mov eax,1; ret   107e mov eax,2; ret   1084 xor eax,eax; ret
);
/// Nothing bounds the index.
const UNGUARDED: (u64, &str) = (
    0x10a0,
    "48 8d 15 69 0f 00 00  89 ff  48 63 04 ba  48 01 d0  ff e0",
    // lea rdx,[2010]; mov edi,edi; movsxd rax,[rdx+rdi*4]; add rax,rdx; 10b0 jmp rax
);
/// A case of the table ends in a jump through a pointer.
const NESTED: (u64, &str) = (
    0x10c0,
    "83 ff 03  77 1a  48 8d 15 64 0f 00 00  89 ff  48 63 04 ba  48 01 d0  ff e0 \
     48 8b 06 ff e0  31 c0 c3  31 c0 c3",
    // cmp edi,3; ja 10df; lea rdx,[2030]; mov edi,edi; movsxd rax,[rdx+rdi*4]; add rax,rdx
    // 10d5 jmp rax   10d7 mov rax,[rsi]; jmp rax   10dc xor eax,eax; ret   10df xor eax,eax; ret
);
/// Passes on to what a pointer leads to: `mov rax,[rdi]; jmp rax`.
const PASSES_ON: (u64, &str) = (0x1100, "48 8b 07 ff e0");
/// Distances from 2000 to 1020, 1023, 1027, 1020; from 2010 to 1078, 107e, 1078, 107e, 107e;
/// from 2030 to 10d7, 10dc, 10d7, 10dc.
const TABLES: (u64, &str) = (
    0x2000,
    "20 f0 ff ff 23 f0 ff ff 27 f0 ff ff 20 f0 ff ff \
     68 f0 ff ff 6e f0 ff ff 68 f0 ff ff 6e f0 ff ff 6e f0 ff ff 00 00 00 00 00 00 00 00 00 00 00 00 \
     a7 f0 ff ff ac f0 ff ff a7 f0 ff ff ac f0 ff ff",
);

/// All of them in one program.
fn tables() -> Program {
    let code = [KEPT, CALLED, NEGATIVE, UNGUARDED, NESTED, PASSES_ON];
    let blocks: Vec<(u64, Vec<u8>)> =
        code.iter().chain([&TABLES]).map(|(start, hex)| (*start, bytes(hex))).collect();
    analysed(&blocks, &code.map(|(start, _)| start))
}

#[test]
fn a_table_is_found_whose_address_a_register_keeps_over_calls() {
    let program = tables();
    assert_eq!(destinations(&program, 0x101e), [0x1020, 0x1023, 0x1027]);
    for case in [0x1020, 0x1023, 0x1027] {
        assert!(program.listing.instructions.contains_key(&Address::ram(case)), "{case:x}");
    }
}

#[test]
fn a_table_is_found_whose_index_starts_below_zero() {
    let program = tables();
    assert_eq!(destinations(&program, 0x1076), [0x1078, 0x107e]);
    let name = program.label_at(Address::ram(0x1078)).unwrap_or_default();
    assert_eq!(name, "caseD_fffffffb");
}

#[test]
fn no_table_is_made_up_where_nothing_bounds_the_index() {
    assert_eq!(destinations(&tables(), 0x10b0), [0u64; 0]);
}

#[test]
fn a_function_that_passes_on_to_a_pointer_returns_while_other_jumps_are_looked_at() {
    let program = tables();
    assert_eq!(destinations(&program, 0x10d5), [0x10d7, 0x10dc]);
    for entry in [NESTED.0, PASSES_ON.0] {
        let function = program.functions.at(Address::ram(entry)).expect("is an entry");
        assert!(!function.no_return, "{entry:x}");
    }
}

/// A byte that nothing bounds chooses between two cases, the second of which chooses between two
/// by a table right behind the first one.
const BY_BYTE: (u64, &str) = (
    0x1000,
    "40 0f b6 c7  48 8d 0d f5 0f 00 00  48 63 04 81  48 01 c8  ff e0  c3 \
     83 fe 01  77 fa  48 8d 0d e7 0f 00 00  89 f0  48 63 04 81  48 01 c8  ff e0 \
     b8 01 00 00 00 c3  b8 02 00 00 00 c3",
    // movzx eax,dil; lea rcx,[2000]; movsxd rax,[rcx+rax*4]; add rax,rcx; 1012 jmp rax   1014 ret
    // 1015 cmp esi,1; ja 1014; lea rcx,[2008]; mov eax,esi; 1023 movsxd rax,[rcx+rax*4]
    // add rax,rcx; 102a jmp rax   102c mov eax,1; ret   1032 mov eax,2; ret
);

#[test]
fn a_table_without_a_bound_ends_where_the_code_of_its_cases_has_another() {
    // Distances from 2000 to 1014, 1015; from 2008 to 102c, 1032.
    let tables = bytes("14 f0 ff ff 15 f0 ff ff 24 f0 ff ff 2a f0 ff ff");
    let program = analysed(&[(BY_BYTE.0, bytes(BY_BYTE.1)), (0x2000, tables)], &[BY_BYTE.0]);
    assert_eq!(destinations(&program, 0x1012), [0x1014, 0x1015]);
    assert_eq!(destinations(&program, 0x102a), [0x102c, 0x1032]);
    assert!(
        program.listing.instructions.contains_key(&Address::ram(0x1023)),
        "no instruction lost"
    );
}

/// A comparison keeps out what is too small; above, only the size of a byte bounds the index.
const BOUNDED_BELOW: (u64, &str) = (
    0x1000,
    "0f b6 46 10  83 f8 17  73 01  c3  83 c0 e9  48 8d 0d ec 0f 00 00  48 63 04 81  48 01 c8 \
     ff e0  b8 01 00 00 00 c3  b8 02 00 00 00 c3  31 c0 c3",
    // movzx eax,[rsi+10h]; cmp eax,17h; jae 100a; ret   100a sub eax,17h; lea rcx,[2000]
    // movsxd rax,[rcx+rax*4]; add rax,rcx; 101b jmp rax   101d mov eax,1; ret   1023 mov eax,2; ret
    // 1029 xor eax,eax; ret
);

#[test]
fn the_size_of_a_byte_bounds_no_table() {
    // Distances from 2000 to 101d, 1023, 101d, and what leads into the next function.
    let own = "1d f0 ff ff 23 f0 ff ff 1d f0 ff ff ".to_owned();
    let table = bytes(&(own + &"2a f0 ff ff ".repeat(0xf0)));
    let (start, code) = BOUNDED_BELOW;
    let program = analysed(&[(start, bytes(code)), (0x2000, table)], &[start, 0x1029]);
    assert_eq!(destinations(&program, 0x101b), [0x101d, 0x1023]);
}

#[test]
fn an_index_that_is_read_from_memory_twice_is_one_value() {
    let code = bytes(
        "83 3d f9 1f 00 00 03  77 1d  53  48 8d 15 ef 0f 00 00  8b 05 e9 1f 00 00 \
         48 63 04 82  48 01 d0  ff e0  5b c3  31 c0 5b c3  c3",
        // cmp dword ptr [3000],3; ja 1026; push rbx; lea rdx,[2000]; mov eax,[3000]
        // movsxd rax,[rdx+rax*4]; add rax,rdx; 101e jmp rax
        // 1020 pop rbx; ret   1022 xor eax,eax; pop rbx; ret   1026 ret
    );
    let table = bytes("20 f0 ff ff 22 f0 ff ff 20 f0 ff ff 22 f0 ff ff");
    let mut image = Image::new("x86:LE:64:default", "gcc");
    image.block(".text", 0x1000, &code, true);
    image.block(".rodata", 0x2000, &table, false);
    image.changing_pointer(0x3000, 2);
    image.entry(0x1000);
    let program = image.analysed();
    assert_eq!(destinations(&program, 0x101e), [0x1020, 0x1022]);
    let body = &program.functions.at(Address::ram(0x1000)).expect("a function").body;
    assert!(body.contains(Address::ram(0x1022)));
}

#[test]
fn entries_that_destinations_are_calculated_from_are_no_pointers() {
    // On 32-bit x86 an entry is as wide as a pointer.
    let code = bytes(
        "8b 44 24 04  83 f8 02  77 10  8b 04 85 00 20 00 00  05 00 20 00 00  ff e0 \
         90 90  c3  31 c0 c3",
        // mov eax,[esp+4]; cmp eax,2; ja 1019; mov eax,[2000+eax*4]; add eax,2000; 1015 jmp eax
        // 1017 nop; nop   1019 ret   101a xor eax,eax; ret
    );
    let table = bytes("17 f0 ff ff 1a f0 ff ff 17 f0 ff ff");
    let mut image = Image::new("x86:LE:32:default", "gcc");
    image.block(".text", 0x1000, &code, true);
    image.block(".rodata", 0x2000, &table, false);
    image.entry(0x1000);
    let program = image.analysed();
    assert_eq!(destinations(&program, 0x1015), [0x1017, 0x101a]);
    let unit = program.listing.data.get(&Address::ram(0x2000)).expect("an entry");
    assert_eq!(program.types.name(unit.data_type), "uint");
    assert_eq!(program.references.from(Address::ram(0x2000)).count(), 0);
}
