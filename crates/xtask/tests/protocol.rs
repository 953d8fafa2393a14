//! `docs/protocol.md` states nothing without a test, and names no test that is not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Names of the tests of every file, by the file's name.
fn tests(folder: &Path, found: &mut BTreeMap<String, BTreeSet<String>>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            tests(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("text");
            let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
            found.entry(stem).or_default().extend(names(&text));
        }
    }
}

/// The functions right behind a test attribute; inside `proptest!` the same.
fn names(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if let Some((_, rest)) = line.split_once("fn ").filter(|_| is_test) {
            found.extend(rest.split('(').next().map(str::to_owned));
            is_test = false;
        }
    }
    found
}

/// A statement and the names behind it.
fn statements(document: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<String> = Vec::new();
    let mut open = false;
    for line in document.lines() {
        if let Some(text) = line.strip_prefix("- ") {
            found.push(text.to_owned());
            open = true;
        } else if let Some(last) = found.last_mut().filter(|_| open && line.starts_with("  ")) {
            last.push_str(line);
        } else {
            open = false;
        }
    }
    let names = |text: &str| -> Vec<String> {
        let quoted = text.split('`').skip(1).step_by(2);
        quoted
            .filter(|name| name.contains("::") || name.starts_with(".ci/"))
            .map(str::to_owned)
            .collect()
    };
    found.into_iter().map(|text| (text.clone(), names(&text))).collect()
}

fn missing(document: &str) -> Vec<String> {
    let root = xtask::workspace_root();
    let mut known = BTreeMap::new();
    tests(&root.join("crates"), &mut known);
    let exists = |name: &str| match name.split_once("::") {
        Some((file, test)) => known.get(file).is_some_and(|tests| tests.contains(test)),
        None => root.join(name).is_file(),
    };
    let mut missing = Vec::new();
    for (text, names) in statements(document) {
        if names.is_empty() {
            missing.push(format!("no test: {text}"));
        }
        missing.extend(names.into_iter().filter(|name| !exists(name)));
    }
    missing
}

#[test]
fn every_statement_has_its_tests() {
    let path = xtask::workspace_root().join("docs/protocol.md");
    let document = std::fs::read_to_string(path).expect("the document");
    assert!(statements(&document).len() > 50);
    let missing = missing(&document);
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn a_statement_without_a_test_is_found() {
    assert_eq!(missing("- nothing behind it\n").len(), 1);
    assert_eq!(missing("- a lie `protocol::no_such_test`\n"), ["protocol::no_such_test"]);
    assert_eq!(missing("- a lie `.ci/no-such-file`\n"), [".ci/no-such-file"]);
    assert!(missing("- true\n  `protocol::a_statement_without_a_test_is_found`\n").is_empty());
    assert!(missing("no statement\n").is_empty());
}
