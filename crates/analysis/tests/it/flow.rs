//! Where control goes: tables with unusual bounds and bases, and functions that do and do not
//! return. The assembly stands beside its bytes.

use program::Address;

use crate::image::{Image, analysed, bytes, destinations};

/// `switch (x % 10)` as a C compiler has it: the remainder, a comparison, a table.
const REMAINDER: (u64, &str) = (
    0x1000,
    "89 f8  ba cd cc cc cc  48 0f af c2  48 c1 e8 23  8d 14 80  01 d2  89 f8  29 d0 \
     83 f8 09  77 4e  89 c0  48 8d 15 da 1f 00 00  48 63 04 82  48 01 d0  ff e0",
    // mov eax,edi; mov edx,0cccccccdh; imul rax,rdx; shr rax,23h; lea edx,[rax+rax*4]; add edx,edx
    // mov eax,edi; sub eax,edx; cmp eax,9; ja 106b; mov eax,eax; lea rdx,[3000]
    // movsxd rax,[rdx+rax*4]; add rax,rdx; 102d jmp rax
);
/// One byte chooses between 256 ways, with no comparison.
const WIDE: (u64, &str) = (
    0x1100,
    "0f b6 07  48 8d 15 f6 1f 00 00  48 63 04 82  48 01 d0  ff e0 90",
    // movzx eax,byte [rdi]; lea rdx,[3100]; movsxd rax,[rdx+rax*4]; add rax,rdx; 1111 jmp rax; nop
);
/// A byte chooses between the entries of a table behind which another function's table lies.
const NEIGHBOURS: [(u64, &str); 2] = [
    (
        0x1700,
        "0f b6 07  48 8d 15 f6 1f 00 00  48 63 04 82  48 01 d0  ff e0 90",
        // as above, by the table at 3700
    ),
    (
        0x1738,
        "0f b6 07  48 8d 15 d6 1f 00 00  48 63 04 82  48 01 d0  ff e0 90",
        // as above, by the table at 3718
    ),
];
/// The low byte of a register is read, then all of it is compared and the byte chooses.
const BYTE_FIRST: (u64, &str) = (
    0x1200,
    "48 0f be f7  8d 47 e0  3c 05  77 3d  40 0f be c7  83 e8 20  48 98  48 8d 0d e5 1f 00 00 \
     48 63 04 81  48 01 c8  ff e0",
    // movsx rsi,dil; lea eax,[rdi-20h]; cmp al,5; ja 1248; movsx eax,dil; sub eax,20h; cdqe
    // lea rcx,[3200]; movsxd rax,[rcx+rax*4]; add rax,rcx; 1222 jmp rax
);
/// Distances from the image's base are taken out of a table somewhere in it.
const FROM_BASE: (u64, &str) = (
    0x40_1000,
    "8d 41 ff  83 f8 05  77 39  48 98  48 8d 15 ef ef ff ff  8b 8c 82 00 27 00 00  48 01 d1  ff e1",
    // lea eax,[rcx-1]; cmp eax,5; ja 401041; cdqe; lea rdx,[400000]; mov ecx,[rdx+rax*4+2700h]
    // add rcx,rdx; 40101b jmp rcx
);
/// Functions one behind the other.
const CALLS: (u64, &str) = (
    0x1400,
    "85 ff  75 01  c3  e8 06 00 00 00  b8 07 00 00 00 c3 \
     48 83 ec 08  e8 01 00 00 00  90  eb fe 90 \
     85 ff  74 08  ff cf  e8 f5 ff ff ff  c3  31 c0 c3 \
     85 ff  74 02  eb 01  c3  ff cf  e8 f2 ff ff ff c3 \
     ff 27  ff 17 c3",
    // 1400 test edi,edi; jne 1405; ret; 1405 call 1410   140a mov eax,7; ret
    // 1410 sub rsp,8; call 141a; nop   141a jmp 141a; nop
    // 141d test edi,edi; je 1429; dec edi; call 141d; ret; 1429 xor eax,eax; ret
    // 142c test edi,edi; je 1432; jmp 1433; 1432 ret   1433 dec edi; call 142c; ret
    // 143b jmp [rdi]   143d call [rdi]; ret
);

/// `mov eax,N; ret`, some of them one behind the other.
fn cases(count: u8) -> Vec<u8> {
    (0..count).flat_map(|n| [0xb8, n, 0, 0, 0, 0xc3]).collect()
}

/// Entries of four bytes, each the distance from `base` to a case.
fn table(base: u64, first: u64, choices: impl Iterator<Item = u64>) -> Vec<u8> {
    choices.flat_map(|n| ((first + 6 * n).wrapping_sub(base) as u32).to_le_bytes()).collect()
}

fn every_sixth(first: u64, count: u64) -> Vec<u64> {
    (0..count).map(|n| first + 6 * n).collect()
}

#[test]
fn a_switch_on_a_remainder_has_all_its_cases() {
    let mut code = bytes(REMAINDER.1);
    code.extend(cases(10));
    code.extend(bytes("b8 ff ff ff ff c3"));
    let blocks = [(REMAINDER.0, code), (0x3000, table(0x3000, 0x102f, 0..10))];
    let program = analysed(&blocks, &[REMAINDER.0]);
    assert_eq!(destinations(&program, 0x102d), every_sixth(0x102f, 10));
    let function = program.functions.at(Address::ram(0x1000)).expect("a function");
    assert_eq!(function.body.len(), 0x71);
}

#[test]
fn a_byte_chooses_between_256_ways_without_a_comparison() {
    let mut code = bytes(WIDE.1);
    code.extend(cases(7));
    // What follows the table would lead to code as well.
    let entries = (0..256u64).map(|n| n % 6).chain(std::iter::repeat_n(6, 40));
    let blocks = [(WIDE.0, code), (0x3100, table(0x3100, 0x1114, entries))];
    let program = analysed(&blocks, &[WIDE.0]);
    assert_eq!(destinations(&program, 0x1111), every_sixth(0x1114, 6));
}

#[test]
fn a_table_that_a_byte_chooses_from_ends_where_it_leads_out_of_its_function() {
    let [(first, code), _] = NEIGHBOURS;
    let code = [bytes(code), cases(6)].concat();
    let other = (0x1900, cases(2));
    let entries = [table(0x3700, 0x1714, 0..6), table(0x3700, 0x1900, [0, 1, 0, 1].into_iter())];
    let blocks = [(first, code), other, (0x3700, [entries.concat(), vec![0; 0x400]].concat())];
    let program = analysed(&blocks, &[first, 0x1900]);
    assert_eq!(destinations(&program, 0x1711), every_sixth(0x1714, 6));
}

#[test]
fn a_table_that_a_byte_chooses_from_ends_where_the_next_one_starts() {
    let code: Vec<u8> =
        NEIGHBOURS.iter().flat_map(|(_, code)| [bytes(code), cases(6)].concat()).collect();
    // Read as an entry of the first table, the first one of the second leads to 1734.
    let entries = [table(0x3700, 0x1714, 0..6), table(0x3718, 0x174c, 0..6)].concat();
    let blocks = [(0x1700, code), (0x3700, [entries, vec![0; 0x400]].concat())];
    let program = analysed(&blocks, &[0x1700, 0x1738]);
    assert_eq!(destinations(&program, 0x1711), every_sixth(0x1714, 6));
    assert_eq!(destinations(&program, 0x1749), every_sixth(0x174c, 6));
}

#[test]
fn what_bounds_a_register_bounds_its_low_byte_that_was_read_before() {
    let mut code = bytes(BYTE_FIRST.1);
    code.extend(cases(6));
    code.extend(bytes("31 c0 c3"));
    let entries = table(0x3200, 0x1224, 0..6);
    let program = analysed(&[(BYTE_FIRST.0, code), (0x3200, entries)], &[BYTE_FIRST.0]);
    assert_eq!(destinations(&program, 0x1222), every_sixth(0x1224, 6));
}

#[test]
fn a_table_may_count_from_the_base_of_the_image() {
    let mut code = bytes(FROM_BASE.1);
    code.extend(cases(6));
    code.extend(bytes("31 c0 c3"));
    let entries = (0..6).chain([0, 1, 2]);
    let blocks = [
        (0x40_0000, vec![0; 0x100]),
        (FROM_BASE.0, code),
        (0x40_2700, table(0x40_0000, 0x40_101d, entries)),
    ];
    let program = analysed(&blocks, &[FROM_BASE.0]);
    assert_eq!(destinations(&program, 0x40_101b), every_sixth(0x40_101d, 6));
    let name = program.label_at(Address::ram(0x40_101d)).unwrap_or_default();
    assert_eq!(name, "caseD_1");
}

#[test]
fn a_function_that_ends_in_a_call_of_no_return_leaves_its_neighbour_alone() {
    let program = analysed(&[(CALLS.0, bytes(CALLS.1))], &[CALLS.0]);
    let at = |entry| program.functions.at(Address::ram(entry)).expect("a function");
    assert!(at(0x1410).no_return && at(0x141a).no_return);
    assert!(!at(0x1400).no_return);
    assert!(at(0x1400).body.contains(Address::ram(0x1405)));
    assert!(!at(0x1400).body.contains(Address::ram(0x140a)));
    assert!(!at(0x1410).body.contains(Address::ram(0x1419)));
}

#[test]
fn functions_that_return_on_some_path_are_not_marked() {
    let entries = [0x1400, 0x140a, 0x141d, 0x142c, 0x1433, 0x143b, 0x143d];
    let program = analysed(&[(CALLS.0, bytes(CALLS.1))], &entries);
    for entry in entries {
        let function = program.functions.at(Address::ram(entry)).expect("a function");
        assert!(!function.no_return, "{entry:x}");
    }
    let after_recursion = Address::ram(0x1428);
    assert!(program.listing.instructions.contains_key(&after_recursion));
}

#[test]
fn a_text_that_is_followed_like_a_pointer_refers_to_nothing() {
    // mov rax,[2000]; mov rcx,[rax]; mov rax,[2008]; mov rcx,[rax]; ret
    let code = bytes("48 8b 05 f9 0f 00 00 48 8b 08 48 8b 05 f7 0f 00 00 48 8b 08 c3");
    let mut data = b"abcdefgh".to_vec();
    data.extend(0x2000u64.to_le_bytes());
    let program = analysed(&[(0x1000, code), (0x2000, data)], &[0x1000]);
    let read = |at| program.references.from(Address::ram(at)).map(|r| r.to.offset).next();
    assert_eq!(read(0x1007), None, "a text");
    assert_eq!(read(0x1011), Some(0x2000), "a pointer");
}

/// Functions that call another one and end, the last but one; `1020` jumps who knows where.
const NOTHING_BEHIND: (u64, &str) = (
    0x1000,
    "e8 1b 00 00 00  e8 16 00 00 00  e8 11 00 00 00  e8 0c 00 00 00 c3 \
     90 90 90 90 90 90 90 90 90 90 90  ff 27",
    // 1000 call 1020   1005 call 1020   100a call 1020   100f call 1020; ret   1020 jmp [rdi]
);

#[test]
fn a_function_does_not_return_that_is_called_with_nothing_behind() {
    let code = bytes(NOTHING_BEHIND.1);
    let program = analysed(&[(0x1000, code)], &[0x1000, 0x1005, 0x100a, 0x100f]);
    let function = |at| program.functions.at(Address::ram(at)).expect("a function");
    assert!(function(0x1020).no_return);
    assert!(function(0x1000).no_return);
    // What stands behind another call of it is out of reach.
    assert_eq!(function(0x100f).body.len(), 5);
}

#[test]
fn two_calls_with_nothing_behind_prove_nothing() {
    let code = bytes(NOTHING_BEHIND.1);
    let program = analysed(&[(0x1000, code)], &[0x1000, 0x1005, 0x100f]);
    let callee = program.functions.at(Address::ram(0x1020)).expect("a function");
    assert!(!callee.no_return);
}

#[test]
fn instructions_that_others_were_decoded_across_are_not_nothing() {
    // 1000 je 1016; je 1026; je 1036; ret   1010, 1020, 1030 call 1040; mov eax,909090c3h; ret
    // 1040 jmp [rdi]
    let code = "74 14 74 22 74 30 c3 90 90 90 90 90 90 90 90 90 \
                e8 2b 00 00 00 b8 c3 90 90 90 c3 90 90 90 90 90 \
                e8 1b 00 00 00 b8 c3 90 90 90 c3 90 90 90 90 90 \
                e8 0b 00 00 00 b8 c3 90 90 90 c3 90 90 90 90 90 ff 27";
    let program = analysed(&[(0x1000, bytes(code))], &[0x1000, 0x1010, 0x1020, 0x1030]);
    assert!(program.listing.instructions.contains_key(&Address::ram(0x1016)));
    let callee = program.functions.at(Address::ram(0x1040)).expect("a function");
    assert!(!callee.no_return);
}

/// What an instruction takes out of a place as it is tells the place's size.
#[test]
fn only_what_is_taken_as_it_is_defines_a_place() {
    // mov eax,[3000]; add eax,[3010]; mov [3020],eax; movzx ecx,word [3030]; ret
    let code = "8b 04 25 00 30 00 00  03 04 25 10 30 00 00  89 04 25 20 30 00 00 \
                0f b7 0c 25 30 30 00 00  c3";
    let program = analysed(&[(0x1000, bytes(code)), (0x3000, vec![0; 0x40])], &[0x1000]);
    let size = |at| program.listing.data.get(&Address::ram(at)).map(|unit| unit.length);
    assert_eq!([0x3000, 0x3010, 0x3020, 0x3030].map(size), [Some(4), None, None, Some(2)]);
}

#[test]
fn a_function_that_asks_first_where_it_is_stays_in_one_piece() {
    // 1000 call 1005; pop eax; add eax,0ffbh; mov ecx,[esp+4]; mov [eax],ecx; jmp 1012
    let code = "e8 00 00 00 00  58  05 fb 0f 00 00  8b 4c 24 04  89 08  eb fe";
    let mut image = Image::new("x86:LE:32:default", "gcc");
    image.block(".text", 0x1000, &bytes(code), true);
    image.block(".data", 0x2000, &[0; 0x10], false);
    image.entry(0x1000);
    let program = image.analysed();
    let entries: Vec<u64> = program.functions.iter().map(|f| f.entry.offset).collect();
    assert_eq!(entries, [0x1000]);
    assert_eq!(program.functions.at(Address::ram(0x1000)).expect("a function").body.len(), 19);
}
