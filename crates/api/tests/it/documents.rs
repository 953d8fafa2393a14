//! The documents under `docs/` are what the registry renders today.
//!
//! `cargo xtask codegen` (or `UPDATE_DOCS=1` on this test) writes them again.

use std::path::{Path, PathBuf};

use api::contract::{Example, Examples};
use api::{Registry, Surface, registry};
use testkit::calls::{Call, recordings};

#[test]
fn api_md_is_up_to_date() {
    hold("api.md", &api::contract::markdown(registry(), &examples()));
}

#[test]
fn extensions_md_is_up_to_date() {
    hold("extensions.md", &api::contract::extensions(&examples()));
}

#[test]
fn every_method_has_an_example_and_no_row_stands_twice() {
    let examples = examples();
    for method in Registry::of(Surface::Extensions).methods() {
        assert!(examples.contains_key(method.name()), "{} has none", method.name());
    }
    let document = api::contract::markdown(registry(), &examples);
    no_row_stands_twice(&document);
    no_row_stands_twice(&api::contract::extensions(&examples));
}

fn no_row_stands_twice(document: &str) {
    for section in document.split("\n### ") {
        // Both tables of a method may have a member of one name.
        for table in section.split("\n\n") {
            let mut rows: Vec<&str> = table.lines().filter(|l| l.starts_with("| `")).collect();
            let all = rows.len();
            rows.sort_unstable();
            rows.dedup();
            assert_eq!(rows.len(), all, "{}", section.lines().next().unwrap_or_default());
        }
    }
}

/// Of the recorded calls of each method that succeed, one of a readable size; one that needs
/// nothing of earlier calls, if there is any.
fn examples() -> Examples {
    let mut found = Examples::new();
    for (_, recording) in recordings().expect("the recorded calls") {
        for call in recording.calls {
            let Some(example) = example(&recording.program, &call) else { continue };
            let rank = |e: &Example| {
                let needs = e.params.values().any(|value| value.to_string().contains("\"{"));
                (needs, e.result.to_string().len().abs_diff(300))
            };
            let kept = found.get(&call.method);
            if kept.is_none_or(|kept| rank(&example) < rank(kept)) {
                found.insert(call.method, example);
            }
        }
    }
    found
}

fn example(program: &str, call: &Call) -> Option<Example> {
    let result = call.result.clone()?;
    let params = call.params.clone();
    Some(Example { program: program.to_owned(), params, result })
}

#[test]
fn asyncapi_yaml_is_up_to_date() {
    hold("asyncapi.yaml", &api::contract::asyncapi(registry()));
}

fn hold(name: &str, rendered: &str) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().expect("has a folder"))
            .expect("the folder can be made");
        std::fs::write(&path, rendered).expect("the document can be written");
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let differences = differences(&kept, rendered);
    assert!(
        differences.is_empty(),
        "docs/{name} is out of date; run `cargo xtask codegen`:\n{}",
        differences.join("\n")
    );
}

/// The first lines that differ, both ways.
fn differences(kept: &str, rendered: &str) -> Vec<String> {
    let (kept, rendered): (Vec<&str>, Vec<&str>) =
        (kept.lines().collect(), rendered.lines().collect());
    let mut found = Vec::new();
    for at in 0..kept.len().max(rendered.len()) {
        let (old, new) = (kept.get(at), rendered.get(at));
        if old == new {
            continue;
        }
        found.extend(old.map(|line| format!("{}- {line}", at + 1)));
        found.extend(new.map(|line| format!("{}+ {line}", at + 1)));
        if found.len() >= 20 {
            found.push("...".to_owned());
            break;
        }
    }
    found
}
