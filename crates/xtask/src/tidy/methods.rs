//! Every dotted method name stands literally once in the crate `api`, so that
//! a search for a method finds its row and nothing else.

use std::collections::BTreeMap;

use super::{Finding, SourceFile};

const API: &str = "crates/api/src/";

/// What every method row starts with: `Method::read("a.b"`, perhaps with types
/// between the two.
const ROW: &str = "Method::";

pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let api: Vec<&SourceFile> = files.iter().filter(|f| f.path.starts_with(API)).collect();
    let mut rows = BTreeMap::new();
    for file in &api {
        for name in row_names(product(&file.text)) {
            rows.entry(name).or_insert(file.path.as_str());
        }
    }
    let mut findings = Vec::new();
    if rows.is_empty() && api.iter().any(|file| file.path.contains("/methods/")) {
        findings.push(Finding::new(API, "no method row is recognised: teach tidy their form"));
    }
    for (name, place) in rows {
        if !is_dotted(name) {
            findings.push(Finding::new(place, format!("`{name}` is not a dotted method name")));
        }
        let quoted = format!("\"{name}\"");
        let count: usize = api.iter().map(|f| product(&f.text).matches(&quoted).count()).sum();
        if count != 1 {
            findings.push(Finding::new(
                place,
                format!("{quoted} stands {count} times in {API}, not once"),
            ));
        }
    }
    findings
}

/// A file without the tests at its end, which may name methods as they like.
fn product(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or(text)
}

/// The first string of every method row in `text`.
fn row_names(text: &str) -> Vec<&str> {
    let rows = text.match_indices(ROW).map(|(at, _)| &text[at + ROW.len()..]);
    rows.filter_map(row_name).collect()
}

/// `read::<A<B>, C>("a.b"` has the name `a.b`; other uses of `Method` have none.
fn row_name(rest: &str) -> Option<&str> {
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_lowercase() || c == '_');
    let rest = match rest.strip_prefix("::<") {
        Some(types) => after_types(types)?,
        None => rest,
    };
    let argument = rest.strip_prefix('(')?.trim_start().strip_prefix('"')?;
    argument.split_once('"').map(|(name, _)| name)
}

/// What follows the `>` that closes a list of types.
fn after_types(text: &str) -> Option<&str> {
    let mut open = 1;
    for (at, c) in text.char_indices() {
        match c {
            '<' => open += 1,
            '>' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Some(&text[at + 1..]);
        }
    }
    None
}

/// `noun.verb`, or with the domain before it.
fn is_dotted(name: &str) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    matches!(name.split('.').count(), 2 | 3) && name.split('.').all(is_word)
}
