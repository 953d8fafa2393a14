//! Every dotted method name stands literally once in the crate `api`, so that
//! a search for a method finds its row and nothing else.

use std::collections::BTreeMap;

use super::{Finding, SourceFile};

const API: &str = "crates/api/src/";

/// The calls a method row can start with.
const ROWS: &[&str] = &["Method::read(", "Method::write(", "Method::control("];

pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let api: Vec<&SourceFile> = files.iter().filter(|f| f.path.starts_with(API)).collect();
    let mut rows = BTreeMap::new();
    for file in &api {
        for name in row_names(&file.text) {
            rows.entry(name).or_insert(file.path.as_str());
        }
    }
    let mut findings = Vec::new();
    for (name, place) in rows {
        if !is_dotted(name) {
            findings.push(Finding::new(place, format!("`{name}` is not a dotted method name")));
        }
        let quoted = format!("\"{name}\"");
        let count: usize = api.iter().map(|f| f.text.matches(&quoted).count()).sum();
        if count != 1 {
            findings.push(Finding::new(
                place,
                format!("{quoted} stands {count} times in {API}, not once"),
            ));
        }
    }
    findings
}

/// The first string of every method row in `text`.
fn row_names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for start in ROWS {
        for (at, _) in text.match_indices(start) {
            let rest = text[at + start.len()..].trim_start();
            if let Some(rest) = rest.strip_prefix('"')
                && let Some(end) = rest.find('"')
            {
                names.push(&rest[..end]);
            }
        }
    }
    names
}

fn is_dotted(name: &str) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    name.split_once('.').is_some_and(|(noun, verb)| is_word(noun) && is_word(verb))
}
