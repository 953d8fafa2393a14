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
