//! Our own bridge, looked at as a stranger: lint, scan, and a lock of its tools.
//! `UPDATE_EXPECT=1` writes the lock anew.

use crate::harness::{PROBE, probe};
use std::path::{Path, PathBuf};

const LOCK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/ghidra-bridge.lock.json");

/// The bridge that was built beside the probe; any program of this machine will
/// do for it to open, and the probe itself is one.
fn bridge() -> Option<PathBuf> {
    let path = Path::new(PROBE).with_file_name("ghidra-bridge");
    if path.exists() {
        return Some(path);
    }
    assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "build ghidra-bridge first");
    println!("skipped: {} is not built", path.display());
    None
}

fn against(bridge: &Path, args: &[&str]) -> crate::harness::Ran {
    let sample = std::env::var("GHIDRA_BRIDGE_SAMPLE").unwrap_or("/bin/true".into());
    let tail = ["stdio", "--", bridge.to_str().unwrap(), "stdio", sample.as_str()];
    probe(&[args, &["--timeout-idle", "60s"], &tail].concat())
}

#[test]
fn the_bridge_answers_in_both_eras_without_faults() {
    let Some(bridge) = bridge() else { return };
    let ran = against(&bridge, &["report", "--json"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let surfaces = ran.json()["surfaces"].clone();
    assert_eq!(surfaces.as_array().unwrap().len(), 2);
    assert_eq!(surfaces[0]["tools"].as_array().unwrap().len(), 15);
}

#[test]
fn its_tools_run_nothing_and_hide_nothing() {
    let Some(bridge) = bridge() else { return };
    let ran = against(&bridge, &["scan", "--json", "--fail-on", "high"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
}

#[test]
fn only_the_dots_in_its_names_trouble_clients() {
    let Some(bridge) = bridge() else { return };
    let ran = against(
        &bridge,
        &[
            "lint",
            "--json",
            "--client",
            "claude-desktop",
            "--client",
            "cursor",
            "--client",
            "vscode",
        ],
    );
    let mut rules = ran.rules();
    rules.sort();
    rules.dedup();
    assert_eq!(rules, ["dot-in-name"], "{}", ran.out);
}

#[test]
fn its_tools_are_as_locked() {
    let Some(bridge) = bridge() else { return };
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        assert_eq!(against(&bridge, &["lock", "--out", LOCK]).code, 0);
    }
    let ran = against(&bridge, &["verify", "--lock", LOCK]);
    assert_eq!(
        ran.code, 0,
        "{}{}\nif this is meant: UPDATE_EXPECT=1 cargo test -p mcp-probe --test it bridge",
        ran.out, ran.err
    );
}
