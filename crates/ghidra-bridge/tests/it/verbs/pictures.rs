//! `graph` and `map`: what is drawn is the program, and text in it is never markup.

use super::{fixture, name, printed, refused, verb};

fn inventory() -> String {
    fixture("bin/inventory.x64.O0")
}

#[test]
fn control_flow_shows_every_block_and_way() {
    let svg = printed(&["graph", "cfg", &inventory(), "weight_of"]);
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    assert!(svg.contains("prefers-color-scheme:dark"), "{svg}");
    // A comparison, a jump through a table with six ways, a default and an end.
    assert_eq!(svg.matches("<rect class=\"box").count(), 10, "{svg}");
    for (kind, count) in [("taken", 1), ("not", 1), ("computed", 6), ("always", 6)] {
        assert_eq!(
            svg.matches(&format!("<path class=\"edge {kind}\"")).count(),
            count,
            "{kind}: {svg}"
        );
    }
    assert!(svg.contains("&quot;unknown kind&quot;") && svg.contains("JMP RAX"), "{svg}");
    let dark = printed(&["graph", "cfg", &inventory(), "weight_of", "--theme", "dark"]);
    assert!(!dark.contains("prefers-color-scheme") && dark.contains("#0d1117"), "{dark}");
    let cut = printed(&["graph", "cfg", &inventory(), "add_item", "--lines", "2"]);
    assert!(cut.contains("... 7 more"), "{cut}");
}

#[test]
fn calls_go_as_deep_as_asked_in_both_directions() {
    let folder = tempfile::tempdir().expect("a folder");
    let dot = |words: &[&str]| {
        let place = folder.path().join("calls.dot");
        printed(&[&["graph", "calls", &inventory()], words, &["-o", name(&place)]].concat());
        std::fs::read_to_string(place).expect("a file")
    };
    let one = dot(&["main", "--depth", "1"]);
    assert!(
        one.contains("\"main\\l") && one.contains("\"add_item\\l") && !one.contains("weight_of"),
        "{one}"
    );
    let two = dot(&["main"]);
    assert!(two.contains("\"weight_of\\l"), "{two}");
    let up = dot(&["weight_of", "--direction", "callers", "--depth", "9"]);
    assert!(up.contains("\"main\\l") && up.contains("\"by_weight\\l"), "{up}");
    let few = dot(&["main", "--functions", "3"]);
    assert_eq!(few.matches("[label=").count(), 3, "{few}");
    assert!(few.contains("left out"), "{few}");
}

#[test]
fn the_map_shows_every_block_of_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("map.svg");
    printed(&["map", &inventory(), "-o", name(&place)]);
    let svg = std::fs::read_to_string(place).expect("a file");
    for part in
        [".text  001010b0 .. 00101667  1464 bytes  r-x", ".rodata", "var(--code)", "var(--string)"]
    {
        assert!(svg.contains(part), "{part}: {svg}");
    }
    assert!(!svg.contains("_elfSectionHeaders"), "what lies beside memory is left out");
}

#[test]
fn names_of_a_program_are_text_in_pictures() {
    let mut bytes = std::fs::read(inventory()).expect("the sample");
    for (old, new) in [(&b"weight_of\0"[..], &b"</svg><a>\0"[..]), (b"add_item\0", b"a\"];x->b\0")]
    {
        let at = bytes.windows(old.len()).position(|window| window == old).expect("it is there");
        bytes[at..at + new.len()].copy_from_slice(new);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("hostile");
    std::fs::write(&file, bytes).expect("a file");
    let svg = printed(&["graph", "calls", name(&file), "main"]);
    assert_eq!(svg.matches("</svg>").count(), 1, "{svg}");
    assert!(svg.contains("&lt;/svg&gt;&lt;a&gt;"), "{svg}");
    let dot = folder.path().join("calls.dot");
    printed(&["graph", "calls", name(&file), "main", "-o", name(&dot)]);
    let dot = std::fs::read_to_string(dot).expect("a file");
    assert!(dot.contains("a\\\"];x->b"), "{dot}");
}

#[test]
fn other_pictures_are_refused() {
    assert!(
        refused(&["graph", "cfg", &inventory(), "main", "-o", "x.jpg"]).contains(".svg or .dot")
    );
    assert!(refused(&["map", &inventory(), "-o", "x.png"]).contains(".svg"));
    assert!(refused(&["graph", "cfg", &inventory(), "nosuch"]).contains("nosuch"));
    assert_eq!(verb(&["graph", "cfg"]).output().expect("it runs").status.code(), Some(2));
}
