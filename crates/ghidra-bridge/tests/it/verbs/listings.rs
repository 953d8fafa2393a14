//! The listings on a program whose source is known.

use super::{fixture, printed, refused, rows, verb};

fn inventory() -> String {
    fixture("bin/inventory.x64.O0")
}

#[test]
fn info_fits_on_a_screen_and_says_what_it_is() {
    let text = printed(&["info", &inventory()]);
    for part in [
        "Executable and Linking Format",
        "x86:LE:64:default",
        "_start",
        ".text",
        "qsort",
        "strings",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.lines().count() < 60, "{text}");
    let facts = rows(&["info", &inventory()]);
    assert_eq!(facts.len(), 1);
    assert_eq!(facts[0]["program"]["name"], "inventory.x64.O0");
}

#[test]
fn functions_are_filtered_and_sorted() {
    let all = rows(&["functions", &inventory()]);
    assert!(all.iter().any(|row| row["name"] == "weight_of" && row["entry"] == "ram:001011d4"));
    assert!(all.windows(2).all(|pair| pair[0]["entry"].as_str() < pair[1]["entry"].as_str()));
    let named = printed(&["functions", &inventory(), "WEIGHT"]);
    assert_eq!(named.lines().count(), 2, "{named}");
    assert!(named.contains("001011d4     209 weight_of"), "{named}");
    let sizes = rows(&["functions", &inventory(), "--sort", "size"]);
    let size = |at: usize| sizes[at]["body"]["num_addresses"].as_u64();
    assert!((1..sizes.len()).all(|at| size(at - 1) >= size(at)), "the largest comes first");
    assert_eq!(sizes.len(), all.len());
    let names = printed(&["functions", &inventory(), "--sort", "name", "--prototypes"]);
    assert!(names.contains("main("), "{names}");
}

#[test]
fn strings_tell_their_users() {
    let text = printed(&["strings", &inventory(), "washer", "-x"]);
    assert!(text.contains("washer"), "{text}");
    let text = printed(&["strings", &inventory(), "unknown kind", "-x"]);
    assert!(text.contains("<- weight_of"), "{text}");
    let long = rows(&["strings", &inventory(), "-n", "12"]);
    assert!(!long.is_empty());
    assert!(
        long.iter().all(|row| row["value"].as_str().is_some_and(|text| text.chars().count() >= 12))
    );
}

#[test]
fn names_and_linkage() {
    assert!(
        printed(&["symbols", &inventory(), "weight_of"]).contains("001011d4 function  weight_of")
    );
    let labels = rows(&["symbols", &inventory(), "--type", "label"]);
    assert!(labels.iter().all(|row| row["type"] == "Label"));
    let imports = printed(&["imports", &inventory()]);
    assert!(imports.lines().any(|line| line == "qsort"), "{imports}");
    assert!(printed(&["exports", &fixture("bin/libchecksum.x64.O2.so")]).contains("checksum"));
}

#[test]
fn references_come_through_thunks_and_go_both_ways() {
    let to = printed(&["xrefs", &inventory(), "weight_of"]);
    assert!(to.contains("in add_item unconditional_call weight_of"), "{to}");
    let to = printed(&["xrefs", &inventory(), "printf"]);
    assert!(to.contains("in print_shelf"), "{to}");
    let from = rows(&["xrefs", &inventory(), "--from", "main"]);
    assert!(from.iter().any(|row| row["to_symbol"] == "print_shelf"));
    assert!(from.iter().all(|row| row["from_function"]["name"] == "main"));
}

#[test]
fn a_listing_names_what_it_refers_to() {
    let text = printed(&["disasm", &inventory(), "main"]);
    assert!(text.starts_with("main:\n00101542  55 "), "{text}");
    assert!(text.contains("; strlen") && text.contains("\nLAB_001015d8:\n"), "{text}");
    // Any address in it means the function.
    assert_eq!(printed(&["disasm", &inventory(), "main+1"]), text);
    let range = printed(&["disasm", &inventory(), "main..main+4", "--no-bytes"]);
    assert_eq!(range.lines().count(), 4, "{range}");
    assert!(range.ends_with("00101546  PUSH RBX\n"), "{range}");
    let data = printed(&["disasm", &inventory(), "shelf"]);
    assert!(data.starts_with("shelf:\n") && data.lines().count() <= 40, "{data}");
}

#[test]
fn c_text_is_coloured_when_asked_and_the_same_otherwise() {
    let plain = printed(&["decompile", &inventory(), "weight_of"]);
    assert!(
        plain.starts_with("uint weight_of(") && plain.contains("give_up(\"unknown kind\""),
        "{plain}"
    );
    let painted = printed(&["decompile", &inventory(), "weight_of", "--color", "always"]);
    assert!(painted.contains("\u{1b}["), "{painted}");
    assert_eq!(console::strip_ansi_codes(&painted), plain);
    let two = printed(&["decompile", &inventory(), "weight_of", "depth_of"]);
    assert!(
        two.contains("weight_of(") && two.contains("\n\n") && two.contains("depth_of("),
        "{two}"
    );
    assert!(printed(&["decompile", &inventory()]).contains("main("));
    assert!(refused(&["decompile", &inventory(), "main", "nosuch"]).contains("nosuch"));
}

#[test]
fn grep_finds_lines_of_c_and_instructions() {
    let text = printed(&["grep", "unknown .ind", &inventory()]);
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.starts_with("weight_of:"), "{text}");
    assert!(printed(&["grep", "-l", "GIVE_UP", "-i", &inventory()]).contains("weight_of"));
    assert!(printed(&["grep", "-F", "+ 1;", &inventory()]).contains("weight_of"));
    let calls = rows(&["grep", "--asm", "^CALL 0x", &inventory()]);
    assert!(calls.iter().any(|row| row["function"]["name"] == "main"));
    assert!(
        calls
            .iter()
            .all(|row| row["text"].as_str().is_some_and(|text| text.starts_with("CALL 0x")))
    );
    let wrong = refused(&["grep", "(", &inventory()]);
    assert!(wrong.contains("no regular expression") && wrong.contains("-F"), "{wrong}");
}

#[test]
fn types_are_listed_and_printed_as_c() {
    let depot = fixture("debug/depot.dwarf5");
    let list = printed(&["types", &depot, "crate", "--kind", "struct"]);
    assert!(list.starts_with("struct       64 /DWARF/depot.cc/depot/Crate\n"), "{list}");
    let c = printed(&["types", &depot, "crate", "--kind", "struct", "-c"]);
    assert!(c.contains("struct Crate {\n    Base super_Base; /* 0x0 */"), "{c}");
    assert!(c.contains("    Crate *next; /* 0x38 */\n}; /* 64 bytes */"), "{c}");
}

#[test]
fn help_tells_of_every_verb() {
    let overview =
        String::from_utf8(verb(&["help"]).output().expect("it runs").stdout).expect("text");
    for verb_name in ["info", "functions", "decompile", "grep", "call"] {
        assert!(overview.contains(&format!("  {verb_name} ")), "{overview}");
        let text = verb(&["help", verb_name]).output().expect("it runs");
        let text = String::from_utf8(text.stdout).expect("text");
        assert!(text.contains(&format!("Usage: ghidra-bridge {verb_name}")), "{text}");
    }
}
