//! The workspace keeps its own rules, and each rule can fail.

use xtask::tidy::{self, Package, SourceFile};

#[test]
fn workspace_is_tidy() {
    let findings = tidy::check(&xtask::workspace_root()).expect("the tree can be read");
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "\n{}", lines.join("\n"));
}

fn file(path: &str, text: &str) -> SourceFile {
    SourceFile { path: path.into(), text: text.into() }
}

fn problems(path: &str, text: &str) -> Vec<String> {
    let found = tidy::check_sources(&[file(path, text)]);
    found.into_iter().map(|finding| finding.problem).collect()
}

#[test]
fn a_file_must_say_what_it_is_for() {
    assert_eq!(problems("crates/a/src/lib.rs", "//! A.\n").len(), 0);
    assert_eq!(problems("crates/a/src/lib.rs", "fn a() {}\n").len(), 1);
    assert_eq!(problems("crates/a/src/lib.rs", "//!\nfn a() {}\n").len(), 1);
    assert_eq!(problems("crates/a/src/lib.rs", "").len(), 1);
}

#[test]
fn long_files_and_empty_names_are_found() {
    let long = format!("//! A.\n{}", "\n".repeat(800));
    assert!(problems("crates/a/src/lib.rs", &long)[0].contains("801 lines"));
    assert_eq!(problems("crates/a/src/utils.rs", "//! A.\n").len(), 1);
    assert_eq!(problems("crates/a/src/common/x.rs", "//! A.\n").len(), 1);
}

#[test]
fn unfinished_code_is_found() {
    for word in [concat!("to", "do!()"), concat!("unimple", "mented!()"), concat!("#[ig", "nore]")]
    {
        let text = format!("//! A.\nfn a() {{ {word} }}\n");
        assert_eq!(problems("crates/a/src/lib.rs", &text).len(), 1, "{word}");
    }
}

#[test]
fn a_method_name_stands_once() {
    let row = "//! A.\nMethod::read(\n    \"symbol.get\", \"Text.\", get)\n";
    assert_eq!(problems("crates/api/src/symbol.rs", row).len(), 0);
    let twice = format!("{row}const NAME: &str = \"symbol.get\";\n");
    assert_eq!(problems("crates/api/src/symbol.rs", &twice).len(), 1);
    assert_eq!(problems("crates/server/src/symbol.rs", &twice).len(), 0);
    let typed = twice.replace("read(", "pending_read::<Get<A>, Vec<B>>(");
    assert_eq!(problems("crates/api/src/symbol.rs", &typed).len(), 1);
    assert_eq!(problems("crates/api/src/methods/symbol.rs", "//! A.\n").len(), 1);
    let plain = "//! A.\nMethod::write(\"symbolget\", \"Text.\", get)\n";
    assert_eq!(problems("crates/api/src/symbol.rs", plain).len(), 1);
}

fn layer_problems(package: &str, dependency: &str, kind: Option<&str>, ours: bool) -> usize {
    let package: Package = serde_json::from_value(serde_json::json!({
        "name": package,
        "dependencies": [{
            "name": dependency,
            "kind": kind,
            "path": ours.then_some("crates/x"),
        }],
    }))
    .expect("a package");
    tidy::check_layers(&[package]).len()
}

#[test]
fn layers_point_one_way() {
    assert_eq!(layer_problems("loader", "program", None, true), 0);
    assert_eq!(layer_problems("program", "loader", None, true), 1);
    assert_eq!(layer_problems("program", "loader", Some("dev"), true), 1);
    assert_eq!(layer_problems("program", "testkit", Some("dev"), true), 0);
    assert_eq!(layer_problems("program", "testkit", None, true), 1);
    assert_eq!(layer_problems("analysis", "loader", Some("dev"), true), 0);
    assert_eq!(layer_problems("analysis", "loader", None, true), 1);
    assert_eq!(layer_problems("bench", "engine", None, true), 0);
    assert_eq!(layer_problems("mcp-probe", "mcp", None, true), 1);
    assert_eq!(layer_problems("newcomer", "thiserror", None, false), 1);
}

#[test]
fn foreign_crates_keep_their_layer() {
    assert_eq!(layer_problems("engine", "serde_json", None, false), 1);
    assert_eq!(layer_problems("engine", "serde_json", Some("dev"), false), 0);
    assert_eq!(layer_problems("api", "serde_json", None, false), 0);
    assert_eq!(layer_problems("api", "tokio", None, false), 1);
    assert_eq!(layer_problems("server", "tokio", None, false), 0);
    let engine = "ghidra-decompiler";
    assert_eq!(layer_problems("decompiler", engine, None, false), 0);
    assert_eq!(layer_problems("analysis", engine, None, false), 1);
    assert_eq!(layer_problems("analysis", engine, Some("dev"), false), 1);
    assert_eq!(layer_problems("bench", engine, None, false), 1);
}
