//! Checks on single source files: header, length, name and unfinished code.

use super::{Finding, SourceFile};

/// Longest allowed file. What outgrows it is split by noun.
const MAX_LINES: usize = 800;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &["util", "utils", "helper", "helpers", "common", "misc"];

/// Code that promises instead of doing. Split, so that this file passes itself.
const UNFINISHED: &[&str] =
    &[concat!("to", "do!("), concat!("unimple", "mented!("), concat!("#[", "ignore")];

pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        let mut report = |problem: String| findings.push(Finding::new(file.path.clone(), problem));
        if !opens_with_doc(&file.text) {
            report("must open with a `//!` line that says what the file is for".into());
        }
        let lines = file.text.lines().count();
        if lines > MAX_LINES {
            report(format!("has {lines} lines, more than {MAX_LINES}"));
        }
        if let Some(name) = empty_name(&file.path) {
            report(format!("`{name}` names no noun: move the code to its type"));
        }
        for (number, line) in file.text.lines().enumerate() {
            if let Some(word) = UNFINISHED.iter().find(|word| line.contains(**word)) {
                report(format!("line {}: `{word}` left in the code", number + 1));
            }
        }
    }
    findings
}

fn opens_with_doc(text: &str) -> bool {
    // A script line may come first, for `-Zscript` files.
    let mut lines = text.lines().skip_while(|line| line.starts_with("#!/"));
    lines
        .next()
        .and_then(|line| line.strip_prefix("//!"))
        .is_some_and(|words| !words.trim().is_empty())
}

fn empty_name(path: &str) -> Option<&str> {
    path.split('/')
        .map(|part| part.strip_suffix(".rs").unwrap_or(part))
        .find(|part| EMPTY_NAMES.contains(part))
}
