//! The C text of small functions: what is known about them shows there. The assembly stands beside
//! its bytes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use decompiler::{Decompiler, Limits};
use program::data_type::Field;
use program::{Address, DataType, Parameter, Program, SourceType, Storage, TypeKind};

use crate::image::{Image, analysed, bytes};

const CODE: u64 = 0x40_1000;
const DATA: u64 = 0x40_2000;

fn text(program: &Program, entry: u64) -> String {
    let never = Arc::new(AtomicBool::new(false));
    let result =
        Decompiler::new().decompile(program, Address::ram(entry), &Limits::default(), &never);
    assert!(result.completed, "{:?}", result.warnings);
    result.c
}

/// Calls what stands at 401020 on a stack of unknown depth, then runs `rest`.
fn caller_of_unknown_depth(rest: &str, callee: &str) -> Program {
    // push rbp; mov rbp,rsp; sub rsp,rdi; call 401020
    let mut code = bytes(&format!("55 48 89 e5 48 29 fc e8 14 00 00 00 {rest}"));
    code.resize(0x20, 0xcc);
    code.extend(bytes(callee));
    analysed(&[(CODE, code)], &[CODE])
}

#[test]
fn a_number_that_equals_the_place_of_a_label_is_no_pointer() {
    // 40100c dec eax; jnz 40100c; leave; ret   401020 mov eax,edi; ret
    let program = caller_of_unknown_depth("ff c8 75 fc c9 c3", "89 f8 c3");
    let text = text(&program, CODE);
    assert!(text.contains("= 0x40100c;") && !text.contains("&LAB_"), "{text}");
}

#[test]
fn a_number_that_equals_the_place_of_undefined_bytes_is_a_pointer() {
    // 401020 jmp 401020
    let program = caller_of_unknown_depth("cc cc", "eb fe");
    let text = text(&program, CODE);
    assert!(text.contains("= &UNK_0040100c;"), "{text}");
}

#[test]
fn a_result_of_which_only_the_size_is_known_keeps_its_size() {
    // call 401010; movsxd rax,eax; ret   401010 mov rax,rdi; ret
    let mut code = bytes("e8 0b 00 00 00 48 63 c0 c3");
    code.resize(0x10, 0xcc);
    code.extend(bytes("48 89 f8 c3"));
    let mut program = analysed(&[(CODE, code)], &[CODE]);
    let undefined = program.types.undefined(8);
    program.functions.edit(Address::ram(CODE + 0x10), |function| {
        function.signature.return_type = undefined;
        function.signature.source = SourceType::Analysis;
    });
    let text = text(&program, CODE);
    assert!(
        text.contains("undefined8 uVar1;") && text.contains("return (long)(int)uVar1;"),
        "{text}"
    );
}

#[test]
fn a_literal_ends_where_its_text_is_defined_to_end() {
    // lea rax,[402000]; ret
    let code = bytes("48 8d 05 f9 0f 00 00 c3");
    let mut image = Image::new("x86:LE:64:default", "gcc");
    image.block("code", CODE, &code, true);
    image.block("texts", DATA, b"first textsecond text\0", false);
    image.entry(CODE);
    let mut program = image.analysed();
    let (text_type, character) = (program.types.builtin("string"), program.types.builtin("char"));
    let pointer = program.types.pointer_to(character);
    program.functions.edit(Address::ram(CODE), |function| {
        function.signature.return_type = pointer;
        function.signature.source = SourceType::UserDefined;
    });
    assert!(text(&program, CODE).contains("return \"first textsecond text\";"));
    program.listing.data.remove(&Address::ram(DATA));
    program.define_data(Address::ram(DATA), text_type, 10);
    program.define_data(Address::ram(DATA + 10), text_type, 12);
    assert!(text(&program, CODE).contains("return \"first text\";"), "{}", text(&program, CODE));
}

#[test]
fn memory_that_is_written_to_is_not_constant() {
    // mov dword ptr [402000],5; ret; int3...   401010 mov eax,[402000]; ret
    let mut code = bytes("c7 05 f6 0f 00 00 05 00 00 00 c3");
    code.resize(0x10, 0xcc);
    code.extend(bytes("8b 05 ea 0f 00 00 c3"));
    let entries = [CODE, CODE + 0x10];
    let program = analysed(&[(CODE, code), (DATA, vec![7; 0x10])], &entries);
    let writer = text(&program, CODE);
    assert!(!writer.contains("WARNING"), "{writer}");
    let reader = text(&program, CODE + 0x10);
    assert!(reader.contains("return DAT_00402000;"), "{reader}");
}

#[test]
fn code_that_changes_a_register_on_its_way_is_no_thunk() {
    // shl rdx,2; jmp 401010   401010 mov rax,rdx; ret   401020 call 401000; ret
    let mut code = bytes("48 c1 e2 02 e9 07 00 00 00");
    code.resize(0x10, 0xcc);
    code.extend(bytes("48 89 d0 c3"));
    code.resize(0x20, 0xcc);
    code.extend(bytes("e8 db ff ff ff c3"));
    let program = analysed(&[(CODE, code)], &[CODE, CODE + 0x10, CODE + 0x20]);
    let function = program.functions.at(Address::ram(CODE)).expect("is an entry");
    assert_eq!(function.thunk_of, None);
}

#[test]
fn a_function_made_out_of_the_end_of_another_has_the_variables_of_its_code() {
    // 401000 jmp 401020   401010 lea rax,[401020]; call rax; ret
    let mut code = bytes("e9 1b 00 00 00");
    code.resize(0x10, 0xcc);
    code.extend(bytes("48 8d 05 09 00 00 00 ff d0 c3"));
    code.resize(0x20, 0xcc);
    // 401020 sub rsp,18; mov [rsp+8],rdi; mov rax,[rsp+8]; add rsp,18; ret
    code.extend(bytes("48 83 ec 18 48 89 7c 24 08 48 8b 44 24 08 48 83 c4 18 c3"));
    let program = analysed(&[(CODE, code)], &[CODE, CODE + 0x10]);
    let locals = |at: u64| {
        let function = program.functions.at(Address::ram(at)).expect("is a function");
        function.locals.iter().map(|local| local.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(locals(CODE + 0x20), ["local_10"]);
    assert!(locals(CODE).is_empty());
}

#[test]
fn a_structure_of_bits_is_passed_like_a_number() {
    // mov eax,edi; and eax,7; ret
    let mut program = analysed(&[(CODE, bytes("89 f8 83 e0 07 c3"))], &[CODE]);
    let uint = program.types.builtin("uint");
    let bits = |name: &str, first, width| Field {
        name: name.into(),
        data_type: uint,
        offset: 0,
        length: 1,
        bits: Some((first, width)),
        comment: "".into(),
    };
    let flags = program.types.add(DataType {
        category: "/".into(),
        name: "flags".into(),
        length: Some(4),
        alignment: 4,
        description: "".into(),
        kind: TypeKind::Struct { fields: vec![bits("a", 0, 3), bits("b", 3, 5)], packed: false },
        used: true,
    });
    program.functions.edit(Address::ram(CODE), |function| {
        function.signature.return_type = uint;
        function.signature.source = SourceType::Imported;
        function.signature.convention = Some("__stdcall".into());
        function.signature.parameters = vec![Parameter {
            name: "f".into(),
            data_type: flags,
            storage: Storage::Unassigned,
            source: SourceType::Imported,
            automatic: false,
            id: 1,
        }];
    });
    let text = text(&program, CODE);
    assert!(text.contains("(flags f)") && !text.contains("in_EDI"), "{text}");
}

#[test]
fn calls_that_probe_the_stack_are_replaced_by_name() {
    // 401000 mov eax,1000; call 401010; ret   401010 ret
    let mut code = bytes("b8 00 10 00 00 e8 06 00 00 00 c3");
    code.resize(0x10, 0xcc);
    code.extend(bytes("c3"));
    let mut image = Image::new("x86:LE:64:default", "windows");
    image.block(".text", CODE, &code, true);
    image.entry(CODE);
    let at = Address::ram(CODE + 0x10);
    let function = image.program.add_function(at, program::AddressSet::new());
    image.program.symbols.edit(function.symbol, |symbol| {
        symbol.name = "___chkstk_ms".into();
        symbol.source = SourceType::Imported;
    });
    let program = image.analysed();
    let function = program.functions.at(at).expect("is there");
    assert_eq!(function.call_fixup.as_deref(), Some("alloca_probe"));
}

#[test]
fn an_array_whose_beginning_is_read_gives_way_to_what_was_read_of_it_before() {
    // mov eax,[402004]; mov ecx,[402000]; add eax,ecx; ret
    let code = bytes("8b 05 fe 0f 00 00 8b 0d f4 0f 00 00 01 c8 c3");
    let mut image = Image::new("x86:LE:64:default", "gcc");
    image.block(".text", CODE, &code, true);
    image.block(".data", DATA, &[0; 16], false);
    image.entry(CODE);
    let byte = image.program.types.undefined(1);
    let array = image.program.types.array_of(byte, 16);
    assert!(image.program.define_data(Address::ram(DATA), array, 16));
    let program = image.analysed();
    let data = program.listing.data.range(Address::ram(DATA)..=Address::ram(DATA + 15));
    let found: Vec<(u64, &str)> =
        data.map(|(at, unit)| (at.offset, program.types.name(unit.data_type))).collect();
    assert_eq!(found, [(DATA, "undefined4"), (DATA + 4, "undefined4")]);
}

#[test]
fn a_named_function_that_loads_its_return_address_has_the_name_for_that_too() {
    // 401000 mov ebx,[esp]; ret   401010 mov edi,[esp]; ret
    let mut code = bytes("8b 1c 24 c3");
    code.resize(0x10, 0xcc);
    code.extend(bytes("8b 3c 24 c3"));
    let mut image = Image::new("x86:LE:32:default", "gcc");
    image.block(".text", CODE, &code, true);
    for (at, name) in [(CODE, "__x86.get_pc_thunk.bx"), (CODE + 0x10, "__x86.get_pc_thunk.di")] {
        image.entry(at);
        let function = image.program.add_function(Address::ram(at), program::AddressSet::new());
        image.program.symbols.edit(function.symbol, |symbol| {
            symbol.name = name.into();
            symbol.source = SourceType::Imported;
        });
    }
    let program = image.analysed();
    let names = |at: u64| {
        let symbols = program.symbols.at(Address::ram(at));
        symbols.map(|(_, symbol)| (&*symbol.name, symbol.primary)).collect::<Vec<_>>()
    };
    let plain = ("__x86.get_pc_thunk.bx", true);
    assert_eq!(names(CODE), [plain, ("__i686.get_pc_thunk.bx", false)]);
    assert_eq!(names(CODE + 0x10), [("__x86.get_pc_thunk.di", true)]);
}

#[test]
fn what_a_function_calls_counts_outside_of_its_body_too() {
    // nop   401010 push rax; call 401020; ud2   401020 jmp 401020: never returns
    let mut code = bytes("90 0f 1f 80 00 00 00 00 0f 1f 80 00 00 00 00 90");
    code.extend(bytes("50 e8 0a 00 00 00 31 c0 c3"));
    code.resize(0x20, 0xcc);
    code.extend(bytes("eb fe"));
    let program = analysed(&[(CODE, code)], &[CODE, CODE + 0x10, CODE + 0x20]);
    let body = |at: u64| program.functions.at(Address::ram(at)).expect("a function").body.len();
    assert_eq!(body(CODE), 0x10, "it ends where the next one starts");
    // Nothing else was asked for before.
    let text = text(&program, CODE);
    assert!(text.contains("FUN_00401020();") && !text.contains("return 0"), "{text}");
}

#[test]
fn labels_outside_of_a_function_s_body_have_their_names() {
    // test edi,edi; je 401010; mov eax,1; falls on   401010 dec edi; jne 401010; ret
    let mut code = bytes("85 ff 74 0c b8 01 00 00 00 0f 1f 80 00 00 00 00");
    code.extend(bytes("85 f6 74 05 ff cf 75 f8 c3 ff cf 75 f3 c3"));
    let program = analysed(&[(CODE, code)], &[CODE, CODE + 0x10]);
    let text = text(&program, CODE);
    assert!(!text.contains("code_r"), "{text}");
}

#[test]
fn a_place_outside_of_memory_that_is_read_is_data() {
    // mov eax,[e0005000]; ret
    let mut image = Image::new("x86:LE:32:default", "gcc");
    image.block(".text", CODE, &bytes("a1 00 50 00 e0 c3"), true);
    image.entry(CODE);
    let text = text(&image.analysed(), CODE);
    assert!(text.contains("return _DAT_e0005000;"), "{text}");
}

/// On an e500 results of four bytes lie in the lower half of a register, and `mr.` looks at all of it.
#[test]
fn what_a_result_leaves_of_a_register_is_zero() {
    // bl 401010; mr. r4,r3; blt 40100c; blr   401010 lwz r3,0(r3); blr
    let mut code = bytes("48 00 00 11 7c 64 1b 79 41 80 ff f8 4e 80 00 20");
    code.extend(bytes("80 63 00 00 4e 80 00 20"));
    let mut image = Image::new("PowerPC:BE:32:e500", "default");
    image.block(".text", CODE, &code, true);
    image.entry(CODE);
    let text = text(&image.analysed(), CODE);
    assert!(text.contains("FUN_00401010();") && !text.contains("extraout"), "{text}");
}
