//! The verbs of the command line, from outside: what they print, how they end.

mod bulk;
mod calls;
mod connect;
mod ends;
mod export;
mod formats;
mod keeping;
mod listings;
mod pictures;
mod tutorial;

use crate::world::program;
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A verb that keeps nothing, unless its words say where.
pub(crate) fn verb(words: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(words).env_remove("GHIDRA_BRIDGE_TOKEN").stdin(Stdio::null());
    if !words.contains(&"--project") && !words.contains(&"help") {
        command.args(["--project", "none"]);
    }
    command
}

/// What a verb prints that finds something.
pub(crate) fn printed(words: &[&str]) -> String {
    let output = verb(words).output().expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{words:?}: {errors}");
    assert!(errors.is_empty(), "{words:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// The rows that a verb prints for programs.
pub(crate) fn rows(words: &[&str]) -> Vec<Value> {
    let text = printed(&[words, &["--json"]].concat());
    text.lines().map(|line| serde_json::from_str(line).expect("JSON on each line")).collect()
}

/// The one line of a verb that fails.
pub(crate) fn refused(words: &[&str]) -> String {
    let output = verb(words).output().expect("it runs");
    fault(words, &output)
}

pub(crate) fn fault(words: &[&str], output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{words:?}: {errors}");
    assert_eq!(errors.trim_end().lines().count(), 1, "{words:?}: {errors}");
    assert!(errors.starts_with("ghidra-bridge: "), "{words:?}: {errors}");
    assert!(!errors.contains("panicked"), "{words:?}: {errors}");
    errors
}

/// Runs a verb with bytes on its standard input.
pub(crate) fn fed(words: &[&str], input: &[u8]) -> Output {
    let mut child = verb(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut pipe = child.stdin.take().expect("piped");
    let input = input.to_owned();
    let writer = std::thread::spawn(move || {
        let _ = pipe.write_all(&input);
    });
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("written");
    output
}

pub(crate) fn name(path: &Path) -> &str {
    path.to_str().expect("a name")
}

/// A fixture beside those in `fixtures/bin`.
pub(crate) fn fixture(path: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let path = folder.join(path);
    assert!(path.is_file(), "there is no {}", path.display());
    name(&path).to_owned()
}
