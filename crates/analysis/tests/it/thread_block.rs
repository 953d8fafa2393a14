//! The thread environment block of Windows programs, and functions of their runtime that are known
//! by their code. The assembly stands beside its bytes.

use std::sync::Arc;

use program::{Address, Program, RefType};

use crate::image::{Image, bytes};

/// A program of Microsoft's, as the list of tools at its start tells.
fn image(language: &str, code: &str) -> Image {
    let mut image = Image::new(language, "windows");
    let info = Arc::make_mut(&mut image.program.info);
    info.executable_format = "Portable Executable (PE)".to_owned();
    info.image_base = 0x40_0000;
    let mut head = vec![0u8; 0x400];
    head[0x3c..0x40].copy_from_slice(&0x100u32.to_le_bytes());
    head[0x80..0x84].copy_from_slice(&0x1234_5678u32.to_le_bytes());
    head[0x84..0x88].copy_from_slice(&(0x1234_5678u32 ^ 0x536e_6144).to_le_bytes());
    image.block("Headers", 0x40_0000, &head, false);
    image.block(".text", 0x40_1000, &bytes(code), true);
    image.entry(0x40_1000);
    image
}

fn read(program: &Program, from: u64) -> Option<u64> {
    let mut all = program.references.from(Address::ram(from));
    all.find(|r| r.info.kind == RefType::Read).map(|r| r.to.offset)
}

fn text(program: &Program, entry: u64) -> String {
    let decompiler = decompiler::Decompiler::new();
    let entry = Address::ram(entry);
    decompiler.decompile(program, entry, &Default::default(), &Default::default()).c
}

#[test]
fn accesses_by_segment_lead_to_fields_of_the_thread_block() {
    // mov eax,fs:[18]; mov eax,[eax+30]; ret
    let program = image("x86:LE:32:default", "64 a1 18 00 00 00 8b 40 30 c3").analysed();
    assert_eq!(program.thread_block(), Some(Address::ram(0xffdf_f000)));
    assert_eq!(read(&program, 0x40_1000), Some(0xffdf_f018));
    assert_eq!(read(&program, 0x40_1006), Some(0xffdf_f030));
    let c = text(&program, 0x40_1000);
    assert!(c.contains("return ProcessEnvironmentBlock;"), "{c}");
    // mov rax,gs:[58]; ret
    let program = image("x86:LE:64:default", "65 48 8b 04 25 58 00 00 00 c3").analysed();
    assert_eq!(read(&program, 0x40_1000), Some(0xff_0000_0058));
    let c = text(&program, 0x40_1000);
    assert!(c.contains("return ThreadLocalStoragePointer;"), "{c}");
}

#[test]
fn programs_of_other_makers_have_no_thread_block() {
    let mut image = image("x86:LE:32:default", "64 a1 18 00 00 00 c3");
    Arc::make_mut(&mut image.program.info).executable_format =
        "Executable and Linking Format (ELF)".to_owned();
    assert_eq!(image.analysed().thread_block(), None);
}

#[test]
fn a_probe_of_the_stack_makes_room_for_its_caller() {
    // 1000: mov eax,1000; call 1010; lea ecx,[esp+4]; mov esp,ebp(pop); ret
    let code = "b8 00 10 00 00 e8 06 00 00 00 8d 4c 24 04 c3 90 \
                51 8d 4c 24 04 2b c8 1b c0 f7 d0 23 c8 8b c4 25 00 f0 ff ff 3b c8 72 0a 8b c1 59 94 \
                8b 00 89 04 24 c3 2d 00 10 00 00 85 00 eb e9";
    let program = image("x86:LE:32:default", code).analysed();
    let probe = Address::ram(0x40_1010);
    assert_eq!(program.function_name(probe), "__alloca_probe");
    let fixup = program.functions.at(probe).and_then(|f| f.call_fixup.clone());
    assert_eq!(fixup.as_deref(), Some("alloca_probe"));
    let mut from = program.references.from(Address::ram(0x40_100a));
    let stack = from.find(|r| r.to.space == program::SpaceId::STACK).expect("a place on the stack");
    assert_eq!(stack.to.offset as i64, -0xffc);
}
