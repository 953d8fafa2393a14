//! How verbs end: exit codes, closed pipes, broken files, one line for each error.

use super::{fault, fed, fixture, name, printed, refused, verb};
use std::io::Read;
use std::process::Stdio;

#[test]
fn exit_codes_tell_found_from_nothing_and_from_errors() {
    let file = fixture("bin/inventory.x64.O0");
    for words in [
        &["functions", &file, "no_such_name"][..],
        &["strings", &file, "no such text"],
        &["grep", "no_such_pattern", &file],
        &["grep", "--asm", "NOSUCH", &file],
        &["imports", &fixture("bin/tiny.x64.O2.static")],
        &["types", &file, "no_such_type"],
    ] {
        let output = verb(words).output().expect("it runs");
        assert_eq!(output.status.code(), Some(1), "{words:?}: {output:?}");
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{words:?}: {output:?}");
    }
    for (words, expected) in [
        (&["functions"][..], "<FILE>"),
        (&["functons", &file], "did you mean functions?"),
        (&["functions", &file, "--bogus"], "--bogus"),
        (&["functions", &file, "--sort", "siz"], "did you mean size?"),
        (&["functions", "/nonexistent/file"], "/nonexistent/file"),
        (&["info", "/"], "is not a file"),
        (&["disasm", &file, "nosuch"], "nosuch"),
        (&["xrefs", &file, "nosuch"], "nosuch"),
        (&["decompile", &file, "shelf"], "no function is at shelf"),
        (&["decompile", &file, "--all", "main"], "--all"),
        (&["info", &file, "--loader", "pe"], "this is ELF, not PE"),
        (&["info", &file, "--base", "xyz"], "base"),
    ] {
        let text = refused(words);
        assert!(text.contains(expected), "{words:?}: {text}");
    }
}

#[test]
fn a_reader_that_leaves_ends_it_quietly() {
    let file = fixture("bin/inventory.x64.O0");
    for words in [&["functions", &file][..], &["grep", ".", &file], &["decompile", &file, "--all"]]
    {
        let mut child =
            verb(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        drop(child.stdout.take());
        let mut errors = String::new();
        child.stderr.take().expect("piped").read_to_string(&mut errors).expect("text");
        let status = child.wait().expect("it ends");
        assert!(errors.is_empty(), "{words:?}: {errors}");
        assert_eq!(status.code(), Some(0), "{words:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error() {
    let words = ["functions", &fixture("bin/inventory.x64.O0")];
    let full = std::fs::File::options().write(true).open("/dev/full").expect("a device");
    let output = verb(&words).stdout(full).stderr(Stdio::piped()).output().expect("it runs");
    assert!(fault(&words, &output).contains("standard output"));
}

#[test]
fn a_program_comes_by_standard_input() {
    let bytes = std::fs::read(fixture("bin/inventory.x64.O0")).expect("the sample");
    let output = fed(&["decompile", "-", "weight_of"], &bytes);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("uint weight_of("));
    let output = fed(&["info", "-"], &bytes);
    assert!(String::from_utf8_lossy(&output.stdout).contains("standard input"), "{output:?}");
    let words = ["info", "-"];
    assert!(fault(&words, &fed(&words, b"")).contains("standard input is empty"));
    assert!(fault(&words, &fed(&words, b"hello")).contains("unknown file format"));
}

/// Files that are cut, overwritten or empty: each verb answers with what can be read or with one
/// line, and never panics.
#[test]
fn broken_files_end_in_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut broken = Vec::new();
    for sample in ["bin/inventory.x64.O2.stripped", "pdb/plain.x64.exe"] {
        let bytes = std::fs::read(fixture(sample)).expect("a sample");
        for cut in [0, 1, 4, 52, 64, 100, 300, 700, 1024, 4096, bytes.len() / 2, bytes.len() - 1] {
            broken.push(bytes[..cut.min(bytes.len())].to_vec());
        }
        for (start, step, value) in [(16, 1, 0xff), (20, 3, 0x80), (64, 7, 0xff), (0x200, 64, 0)] {
            let mut bytes = bytes.clone();
            bytes.iter_mut().skip(start).step_by(step).take(200).for_each(|byte| *byte = value);
            broken.push(bytes);
        }
    }
    let mut refusals = 0;
    for (at, bytes) in broken.iter().enumerate() {
        let path = folder.path().join(format!("broken{at}"));
        std::fs::write(&path, bytes).expect("a file");
        let file = name(&path);
        let out = folder.path().join(format!("out{at}.c"));
        let verbs: &[&[&str]] = &[
            &["info", file],
            &["functions", file],
            &["decompile", file, "--all", "-o", name(&out)],
            &["disasm", file, "entry"],
        ];
        for words in verbs {
            let output = verb(words).output().expect("it runs");
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!errors.contains("panicked"), "{words:?}: {errors}");
            match output.status.code() {
                Some(0 | 1) => {}
                Some(2) => {
                    fault(words, &output);
                    refusals += 1;
                }
                other => panic!("{words:?}: {other:?} {errors}"),
            }
        }
    }
    assert!(refusals > 40, "most of them are refused: {refusals}");
    let left = std::fs::read_dir(folder.path()).expect("a folder").flatten();
    let half =
        left.filter(|entry| entry.file_name().to_string_lossy().starts_with(".ghidra-bridge-"));
    assert_eq!(half.count(), 0, "nothing half-written stays");
}

/// Names of a hostile program do nothing to a terminal.
#[test]
fn names_are_shown_as_text() {
    let mut bytes = std::fs::read(fixture("bin/inventory.x64.O0")).expect("the sample");
    let at = find(&bytes, b"weight_of\0");
    bytes[at..at + 9].copy_from_slice(b"\x1b[31m\x07\xc2\x9bx");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("hostile");
    std::fs::write(&path, bytes).expect("a file");
    for words in [
        &["functions", name(&path)][..],
        &["symbols", name(&path)],
        &["disasm", name(&path), "1011d4"],
    ] {
        let text = printed(words);
        assert!(text.contains("[31m"), "{words:?}: the name is there: {text}");
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{9b}']), "{words:?}: {text}");
    }
}

fn find(bytes: &[u8], text: &[u8]) -> usize {
    bytes.windows(text.len()).position(|window| window == text).expect("it is there")
}
