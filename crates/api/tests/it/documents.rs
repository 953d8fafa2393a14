//! The documents under `docs/` are what the registry renders today.
//!
//! `cargo xtask codegen` (or `UPDATE_DOCS=1` on this test) writes them again.

use std::path::{Path, PathBuf};

use api::registry;

#[test]
fn api_md_is_up_to_date() {
    hold("api.md", &api::contract::markdown(registry()));
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
