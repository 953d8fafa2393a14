//! `connect`: what the documents show is what is printed and written, and nothing that was in a
//! client's file is lost. Man pages and completions come from the same arguments.

use super::name;
use crate::world::{program, run};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const CLIENTS: [&str; 10] = [
    "claude-desktop",
    "claude-code",
    "cursor",
    "vscode",
    "codex",
    "gemini-cli",
    "copilot-cli",
    "zed",
    "cline",
    "windsurf",
];

fn connect(home: &Path, words: &[&str]) -> Output {
    Command::new(program())
        .arg("connect")
        .args(words)
        .env("HOME", home)
        .env_remove("XDG_CONFIG_HOME")
        .current_dir(home)
        .output()
        .expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// The first block of a client's page.
fn documented(client: &str) -> String {
    let page =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/clients/{client}.md"));
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(
        page.contains(&format!("`ghidra-bridge connect {client} /bin/ls --write`")),
        "{client}: {page}"
    );
    let (_, block) = page.split_once("```").expect("a block");
    let (_, block) = block.split_once('\n').expect("its language");
    block.split_once("```").expect("its end").0.to_owned()
}

#[test]
fn the_pages_show_what_is_printed() {
    let home = tempfile::tempdir().expect("a folder");
    let known: std::collections::BTreeSet<&str> = CLIENTS.into();
    let all = text(&connect(home.path(), &["nosuch", "/bin/ls"]).stderr);
    assert!(known.iter().all(|client| all.contains(client)), "{all}");
    for client in CLIENTS {
        let words = [client, "/bin/ls", "--command", "/home/me/.cargo/bin/ghidra-bridge"];
        let output = connect(home.path(), &words);
        assert_eq!(output.status.code(), Some(0), "{client}: {output:?}");
        assert_eq!(text(&output.stdout), documented(client), "{client}");
    }
}

fn config(home: &Path, client: &str) -> PathBuf {
    let output = connect(home, &[client, "/bin/ls", "--json"]);
    let row: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    home.join(row["config"].as_str().expect("a path"))
}

#[test]
fn every_file_is_made_merged_and_kept() {
    let home = tempfile::tempdir().expect("a folder");
    for client in CLIENTS {
        let file = config(home.path(), client);
        assert!(file.starts_with(home.path()), "{}", file.display());
        let made = connect(home.path(), &[client, "/bin/ls", "--write"]);
        assert_eq!(made.status.code(), Some(0), "{client}: {made:?}");
        let first = std::fs::read_to_string(&file).expect("it is there");
        assert!(first.contains(name(program())) && first.contains("/bin/ls"), "{first}");
        // The same again changes nothing, another program only the entry.
        connect(home.path(), &[client, "/bin/ls", "--write"]);
        assert_eq!(std::fs::read_to_string(&file).expect("it is there"), first);
        let comment = if client == "codex" { "# mine\n" } else { "// mine\n" };
        std::fs::write(&file, format!("{comment}{first}")).expect("a file");
        let changed = connect(home.path(), &[client, "/bin/sh", "--write"]);
        let second = std::fs::read_to_string(&file).expect("it is there");
        assert!(second.starts_with(comment) && second.contains("/bin/sh"), "{client}: {second}");
        assert!(!second.contains("/bin/ls"), "{client}: {second}");
        let backup = file
            .with_file_name(format!("{}.bak", file.file_name().expect("a name").to_string_lossy()));
        assert!(text(&changed.stdout).contains(name(&backup)), "{changed:?}");
        assert_eq!(std::fs::read_to_string(backup).expect("a copy"), format!("{comment}{first}"));
    }
}

#[test]
fn what_cannot_be_merged_is_left_as_it_is() {
    let home = tempfile::tempdir().expect("a folder");
    for (client, broken) in [("cursor", "{ \"mcpServers\": "), ("zed", "[1]"), ("codex", "a = = b")]
    {
        let file = config(home.path(), client);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(&file, broken).expect("a file");
        let refused = connect(home.path(), &[client, "/bin/ls", "--write"]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let line = text(&refused.stderr);
        assert!(line.contains("is left as it is") && line.lines().count() == 1, "{line}");
        assert_eq!(std::fs::read_to_string(&file).expect("it is there"), broken);
    }
    for (words, expected) in [
        (&["cursr", "/bin/ls"][..], "did you mean cursor?"),
        (&["cursor", "/nonexistent"], "/nonexistent is not a file"),
        (&["cursor", "/bin/ls", "--name", "a b"], "1 to 30 letters"),
    ] {
        let line = text(&connect(home.path(), words).stderr);
        assert!(line.contains(expected) && line.lines().count() == 1, "{line}");
    }
}

#[test]
fn man_pages_and_completions_know_every_verb() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("man");
    assert!(run(&["generate", "man", name(&place)]).status.success());
    let page = std::fs::read_to_string(place.join("ghidra-bridge-decompile.1")).expect("a page");
    assert!(page.contains(".SH") && page.contains("\\-\\-all"), "{page}");
    let page = std::fs::read_to_string(place.join("ghidra-bridge-serve.1")).expect("a page");
    assert!(page.contains("\\-\\-mcp\\-port"), "{page}");
    assert!(place.join("ghidra-bridge.1").is_file());
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = text(&run(&["generate", "completions", shell]).stdout);
        assert!(script.contains("decompile") && script.contains("mcp-port"), "{shell}");
    }
    assert_eq!(run(&["generate", "completions", "csh"]).status.code(), Some(2));
}
