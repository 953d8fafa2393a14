//! The verbs on every kind of file: ELF, PE, Mach-O and raw bytes.

use super::{fixture, name, printed};

/// `push rbp; mov rbp,rsp; mov eax,42; pop rbp; ret`
const CODE: [u8; 11] = [0x55, 0x48, 0x89, 0xe5, 0xb8, 0x2a, 0, 0, 0, 0x5d, 0xc3];

/// The smallest Mach-O with a function in it.
fn mach_o() -> Vec<u8> {
    const TEXT: u32 = 0x200;
    let words =
        |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let longs =
        |longs: &[u64]| longs.iter().flat_map(|long| long.to_le_bytes()).collect::<Vec<u8>>();
    let name = |text: &str| {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(16, 0);
        bytes
    };
    let base = 0x1_0000_0000u64;
    let mut segment = words(&[0x19, 72 + 80]);
    segment.extend(name("__TEXT"));
    segment.extend(longs(&[base, 0x1000, 0, 0x300]));
    segment.extend(words(&[5, 5, 1, 0]));
    segment.extend(name("__text"));
    segment.extend(name("__TEXT"));
    segment.extend(longs(&[base + u64::from(TEXT), CODE.len() as u64]));
    segment.extend(words(&[TEXT, 4, 0, 0, 0x8000_0400, 0, 0, 0]));
    let mut main = words(&[0x8000_0028, 24]);
    main.extend(longs(&[u64::from(TEXT), 0]));
    let mut symbols = words(&[2, 24, 0x280, 1, 0x290, 8]);
    let size = segment.len() + main.len() + symbols.len();
    let mut out = words(&[0xfeed_facf, 0x0100_0007, 3, 2, 3, size as u32, 0x85, 0]);
    out.append(&mut segment);
    out.append(&mut main);
    out.append(&mut symbols);
    out.resize(TEXT as usize, 0);
    out.extend(CODE);
    out.resize(0x280, 0);
    out.extend(words(&[1]));
    out.extend([0x0f, 1, 0, 0]);
    out.extend(longs(&[base + u64::from(TEXT)]));
    out.extend(b"\0_main\0\0");
    out.resize(0x300, 0);
    out
}

#[test]
fn every_format_is_listed_and_decompiled() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |file: &str, bytes: &[u8]| {
        let path = folder.path().join(file);
        std::fs::write(&path, bytes).expect("a file");
        name(&path).to_owned()
    };
    let mach_o = write("macho", &mach_o());
    let raw = write("raw", &CODE);
    let raw_words = ["--loader", "raw", "--language", "x86:LE:64:default:gcc", "--base", "1000"];
    let elf = fixture("bin/inventory.aarch64.O2");
    let pe = fixture("windows/hatch.x64.dll");
    let cases: [(&str, &[&str], &str); 4] = [
        (&elf, &[], "Executable and Linking Format"),
        (&pe, &[], "Portable Executable"),
        (&mach_o, &[], "Mac OS X Mach-O"),
        (&raw, &raw_words, "Raw Binary"),
    ];
    for (file, opening, format) in cases {
        let said = |words: &[&str]| printed(&[words, opening].concat());
        let info = said(&["info", file]);
        assert!(info.contains(format), "{info}");
        if format == "Raw Binary" {
            // Nothing says where code is; whoever names a place does.
            assert!(said(&["disasm", file, "1000"]).contains("MOV EAX,0x2a"));
            assert!(said(&["decompile", file, "1000"]).contains("return 0x2a;"));
            assert!(said(&["disasm", file, "1000..100a"]).contains("??"));
            continue;
        }
        let functions = said(&["functions", file]);
        let entry =
            functions.lines().next().and_then(|line| line.split(' ').next()).expect("a function");
        assert!(said(&["disasm", file, entry]).contains(entry));
        assert!(said(&["decompile", file, entry]).contains('{'));
    }
    assert!(printed(&["decompile", &mach_o]).contains("return 0x2a;"));
    let exports = printed(&["exports", &pe]);
    assert!(exports.lines().count() > 2, "{exports}");
    let imports = printed(&["imports", &fixture("windows/latch.x64.exe")]);
    assert!(imports.contains("LATCH.DLL open_latch\n"), "{imports}");
}

#[test]
fn a_language_that_does_not_fit_the_header_is_doubted() {
    let file = fixture("bin/inventory.x64.O0");
    let output =
        super::verb(&["functions", &file, "--language", "ARM:LE:32:v8"]).output().expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.contains("the header says x86:LE:64:default"), "{errors}");
    assert!(!errors.contains("panicked"), "{errors}");
}
