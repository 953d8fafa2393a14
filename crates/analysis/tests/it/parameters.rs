//! Parameters of Windows programs in C text. The assembly stands beside its bytes.

use std::sync::Arc;

use program::Address;

use crate::image::{Image, bytes};

#[test]
fn what_is_known_to_be_a_parameter_holds_no_other_values() {
    let mut image = Image::new("x86:LE:64:default", "windows");
    Arc::make_mut(&mut image.program.info).executable_format =
        "Portable Executable (PE)".to_owned();
    // 1000: dec ecx; xor eax,eax   1004: inc eax; sar ecx,1; jnz 1004; ret
    image.block(".text", 0x1000, &bytes("ff c9 31 c0 ff c0 d1 f9 75 fa c3"), true);
    image.entry(0x1000);
    let program = image.analysed();
    let decompiler = decompiler::Decompiler::new();
    let entry = Address::ram(0x1000);
    let text = decompiler.decompile(&program, entry, &Default::default(), &Default::default()).c;
    assert!(text.contains("= param_1 + -1;"), "{text}");
    assert!(!text.contains("param_1 = "), "{text}");
}

#[test]
fn values_keep_the_width_in_which_they_come_and_go() {
    let mut image = Image::new("x86:LE:64:default", "windows");
    Arc::make_mut(&mut image.program.info).executable_format =
        "Portable Executable (PE)".to_owned();
    // 1000: sub rsp,0x28; call 1020; cdqe; add rsp,0x28; ret   1020: mov rax,[2000]; ret
    // 1030: fld tbyte [rcx]; fstp tbyte [rdx]; ret
    let code = bytes(
        "48 83 ec 28  e8 17 00 00 00  48 98  48 83 c4 28 c3  90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 \
         48 8b 05 d9 0f 00 00 c3 90 90 90 90 90 90 90 90  db 29 db 3a c3",
    );
    image.block(".text", 0x1000, &code, true);
    image.changing_pointer(0x2000, 0);
    image.entry(0x1000);
    image.entry(0x1030);
    let program = image.analysed();
    let decompiler = decompiler::Decompiler::new();
    let entry = Address::ram(0x1000);
    let text = decompiler.decompile(&program, entry, &Default::default(), &Default::default()).c;
    assert!(text.contains("return (long)(int)uVar1;"), "{text}");
    let copies = &program.functions.at(Address::ram(0x1030)).expect("a function").signature;
    let types: Vec<_> =
        copies.parameters.iter().map(|p| program.types.name(p.data_type).to_owned()).collect();
    assert_eq!(types, ["undefined1[10] *", "undefined1[10] *"]);
}

#[test]
fn a_call_where_a_header_would_name_the_entry_names_none() {
    let mut image = Image::new("x86:LE:64:default", "gcc");
    let info = Arc::make_mut(&mut image.program.info);
    info.executable_format = "Executable and Linking Format (ELF)".to_owned();
    info.image_base = 0x1000;
    let mut code = vec![0x90; 0x18];
    // 1018 call 1020; ret    1020 lea eax,[rdi+1]; ret
    code.extend(bytes("e8 03 00 00 00 c3 90 90 8d 47 01 c3"));
    image.block(".text", 0x1000, &code, true);
    image.entry(0x1000);
    let program = image.analysed();
    let called = program.functions.at(Address::ram(0x1020)).expect("a function");
    assert_ne!(called.signature.convention.as_deref(), Some("processEntry"));
}
