//! `decompile` into files: all functions, whole or not at all.

use super::{fixture, name, printed, refused, rows};
use std::collections::BTreeSet;
use std::path::Path;

fn files(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_folder_gets_a_file_for_each_function() {
    let place = tempfile::tempdir().expect("a folder");
    let out = place.path().join("out");
    let file = fixture("bin/inventory.x64.O0");
    let summary = rows(&["decompile", &file, "--all", "-o", name(&out)]);
    let made = files(&out);
    assert_eq!(summary[0]["functions"].as_u64(), Some(made.len() as u64 - 1), "{made:?}");
    assert!(
        made.contains("main.c") && made.contains("weight_of.c") && made.contains("program.h"),
        "{made:?}"
    );
    assert!(!made.contains("printf.c"), "thunks have no text of their own");
    let text = std::fs::read_to_string(out.join("weight_of.c")).expect("a file");
    assert!(
        text.starts_with("/* ram:001011d4 */\n#include \"program.h\"\n\nuint weight_of("),
        "{text}"
    );
    let header = std::fs::read_to_string(out.join("program.h")).expect("a file");
    assert!(
        header.contains("typedef unsigned int undefined4;") && header.contains("uint weight_of("),
        "{header}"
    );
    assert_eq!(files(place.path()), BTreeSet::from(["out".to_owned()]), "nothing else is left");
    // What is there is not mixed with what is new.
    assert!(refused(&["decompile", &file, "--all", "-o", name(&out)]).contains("not empty"));
}

#[test]
fn one_file_has_types_prototypes_and_texts() {
    let place = tempfile::tempdir().expect("a folder");
    let out = place.path().join("all.c");
    let file = fixture("debug/depot.dwarf5");
    printed(&["decompile", &file, "--all", "-o", name(&out)]);
    let text = std::fs::read_to_string(&out).expect("a file");
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    assert!(at("typedef struct Crate Crate;") < at("struct Base {"));
    assert!(at("struct Base {") < at("struct Crate {"), "what a type holds comes before it");
    assert!(at("struct Crate {") < at("\nint main("));
    // Again, in place of the first.
    printed(&["decompile", &file, "--all", "-o", name(&out)]);
    assert_eq!(std::fs::read_to_string(&out).expect("a file"), text);
    printed(&["decompile", &file, "main", "-o", name(&out)]);
    assert!(std::fs::read_to_string(&out).expect("a file").len() < text.len());
    assert!(
        refused(&["decompile", &file, "--all", "-o", "/nonexistent/x.c"])
            .contains("cannot be written")
    );
}

/// Types of a program in C are C that a compiler takes.
#[test]
fn the_types_of_a_c_program_compile() {
    let place = tempfile::tempdir().expect("a folder");
    let out = place.path().join("out");
    printed(&["decompile", &fixture("debug/inventory.dwarf5"), "--all", "-o", name(&out)]);
    let header = std::fs::read_to_string(out.join("program.h")).expect("a file");
    // Behind the types come the prototypes, some with words of the decompiler's own.
    let (types, prototypes) = header.split_once("\nint _init(").expect("a prototype");
    assert!(types.contains("\nstruct item {") && prototypes.contains("add_item("), "{header}");
    let types_only = out.join("types.h");
    std::fs::write(&types_only, types).expect("a file");
    let Ok(compiled) = std::process::Command::new("gcc")
        .args(["-fsyntax-only", "-w", "-x", "c"])
        .arg(&types_only)
        .output()
    else {
        println!("skipped: there is no gcc");
        return;
    };
    let errors = String::from_utf8_lossy(&compiled.stderr).into_owned();
    assert!(compiled.status.success(), "{errors}\n{types}");
}

/// A signal comes while functions are decompiled: the folder beside the new one goes away again.
#[test]
#[cfg(target_os = "linux")]
fn an_interrupted_export_leaves_nothing() {
    use std::time::{Duration, Instant};
    let place = tempfile::tempdir().expect("a folder");
    let project = place.path().join("kept.gbproject");
    let file = Path::new("/usr/bin/bash");
    if !file.is_file() {
        println!("skipped: there is no bash");
        return;
    }
    let words = ["--project", name(&project)];
    printed(&[&["functions", name(file), "main"], &words[..]].concat());
    let out = place.path().join("out");
    let mut child =
        super::verb(&[&["decompile", name(file), "--all", "-o", name(&out)], &words[..]].concat())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("it starts");
    let begun = || files(place.path()).iter().any(|file| file.starts_with(".ghidra-bridge-"));
    let deadline = Instant::now() + Duration::from_secs(60);
    while !begun() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(begun(), "it writes beside its place: {:?}", files(place.path()));
    let pid = child.id().to_string();
    assert!(
        std::process::Command::new("kill").args(["-INT", &pid]).status().expect("kill").success()
    );
    let status = child.wait().expect("it ends");
    let left = files(place.path());
    let done = left.contains("out");
    assert!(!done || status.success(), "{left:?}");
    assert!(!left.iter().any(|file| file.starts_with(".ghidra-bridge-")), "{left:?}");
    assert!(done || status.code() == Some(2), "{status:?}");
}
