//! The project file behind the verbs: made by the first, used by the second, in nobody's way.

use super::{fixture, name};
use crate::project::serve;
use crate::world::program;
use serde_json::json;
use std::path::Path;
use std::process::{Command, Output};

/// A verb with a data folder of its own.
fn at_home(home: &Path, words: &[&str]) -> Output {
    Command::new(program())
        .args(words)
        .env("XDG_DATA_HOME", home)
        .env("HOME", home)
        .env_remove("GHIDRA_BRIDGE_TOKEN")
        .output()
        .expect("it runs")
}

fn projects(home: &Path) -> Vec<std::path::PathBuf> {
    let folder = home.join("ghidra-bridge/projects");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "gbproject"));
    paths
}

#[test]
#[cfg(target_os = "linux")]
fn the_second_verb_takes_the_analysis_of_the_first() {
    let home = tempfile::tempdir().expect("a folder");
    let file = fixture("bin/inventory.x64.O0");
    let first = at_home(home.path(), &["functions", &file]);
    assert_eq!(first.status.code(), Some(0), "{first:?}");
    let kept = projects(home.path());
    assert_eq!(kept.len(), 1, "{kept:?}");
    let made = std::fs::metadata(&kept[0]).and_then(|data| data.modified()).expect("a time");
    let second = at_home(home.path(), &["functions", &file]);
    assert_eq!(second.stdout, first.stdout);
    assert!(second.stderr.is_empty(), "{second:?}");
    let after = std::fs::metadata(&kept[0]).and_then(|data| data.modified()).expect("a time");
    assert_eq!(made, after, "looking writes nothing");
    // By itself, in place of the file.
    let third = at_home(home.path(), &["functions", name(&kept[0])]);
    assert_eq!(third.stdout, first.stdout);
}

#[test]
#[cfg(target_os = "linux")]
fn verbs_see_what_a_bridge_saved_and_do_not_hinder_it() {
    let home = tempfile::tempdir().expect("a folder");
    let file = fixture("bin/inventory.x64.O0");
    let bridge = serve(Path::new(&file), home.path(), &["analysis=wait"]);
    let patch = json!({ "selector": { "entry": "weight_of" }, "patch": { "name": "heaviness" } });
    bridge.call("ghidra.function", "patch", patch);
    bridge.call("ghidra.program", "save", json!({}));
    let found = at_home(home.path(), &["functions", &file, "heavi"]);
    assert_eq!(found.status.code(), Some(0), "{found:?}");
    assert!(found.stderr.is_empty(), "{found:?}");
    // To change something the project must be free; the one that has it is named.
    let params = r#"{"selector": {"entry": "main"}, "patch": {"name": "start"}}"#;
    let refused = at_home(home.path(), &["call", &file, "function.patch", params]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(text.contains("in use by") && text.lines().count() == 1, "{text}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_damaged_project_or_a_folder_that_takes_none_is_no_obstacle() {
    let home = tempfile::tempdir().expect("a folder");
    let file = fixture("bin/inventory.x64.O0");
    let first = at_home(home.path(), &["functions", &file]);
    let kept = projects(home.path());
    std::fs::write(&kept[0], b"SQLite format 3\0 and then nothing").expect("a file");
    let second = at_home(home.path(), &["functions", &file]);
    assert_eq!(second.stdout, first.stdout);
    assert_eq!(second.status.code(), Some(0), "{second:?}");
    assert!(String::from_utf8_lossy(&second.stderr).contains("without its project"), "{second:?}");
    // A file in place of the folder: nothing can be made in it, whoever asks.
    let odd = tempfile::NamedTempFile::new().expect("a file");
    let third = at_home(odd.path(), &["functions", &file]);
    assert_eq!(third.stdout, first.stdout);
    assert_eq!(third.status.code(), Some(0), "{third:?}");
}
