//! What must not get out: secrets of command lines, and a server's hands on the
//! terminal, under every verb.

use crate::harness::{PROBE, Ran, probe};
use std::os::unix::fs::PermissionsExt;

/// Nothing that steers a terminal is left in a text.
fn plain(what: &str, ran: &Ran) {
    for (name, text) in [("output", &ran.out), ("error output", &ran.err)] {
        let bad = text.chars().find(|c| {
            (c.is_control() && !matches!(c, '\n' | '\t'))
                || matches!(c, '\u{202e}' | '\u{200b}' | '\u{e0041}')
        });
        assert_eq!(bad, None, "{what}: {name}: {text:?}");
    }
    assert!(ran.out.len() + ran.err.len() > 10, "{what} says something");
}

#[test]
fn no_escape_of_a_server_reaches_the_terminal_under_any_verb() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name).display().to_string();
    let (saved, other, trail, lock) =
        (file("r.json"), file("o.json"), file("t.jsonl"), file("l.json"));
    let script = file("s.jsonl");
    std::fs::write(&script, r#"{"request":"tools/list","expect":{"result":{"tools":7}}}"#).unwrap();
    let live = ["--timeout-idle", "5s", "stdio", "--", PROBE, "mock", "escapes"];
    let on = |args: &[&str]| probe(&[args, &live].concat());
    on(&["report", "--json", "--out", &saved, "--record", &trail]);
    probe(&["report", "--json", "--out", &other, "stdio", "--", PROBE, "mock", "good"]);
    on(&["lock", "--out", &lock]);
    for verb in [
        &["call", "--method", "tools/list"][..],
        &["call", "--json", "--method", "tools/list"],
        &["call", "--tool", "echo"],
        &["session", &script],
        &["session", "--json", &script],
        &["doctor"],
        &["doctor", "--json"],
        &["report"],
        &["report", "--json"],
        &["report", "--html"],
        &["scan"],
        &["scan", "--json"],
        &["scan", "--format", "sarif"],
        &["scan", "--active"],
        &["lint"],
        &["lint", "--json"],
        &["errors", "--allow-writes", "--most", "3"],
        &["errors", "--json", "--allow-writes", "--most", "3"],
        &["lock"],
        &["verify", "--lock", &lock],
        &["check"],
        &["check", "--json"],
        &["check", "--format", "sarif"],
        &["check", "--format", "junit"],
        &["emit", "python"],
        &["emit", "typescript"],
        &["emit", "claude-code"],
        &["explain", &trail],
        &["replay", &trail],
    ] {
        plain(&verb.join(" "), &on(verb));
    }
    for verb in [
        &["diff", &saved, &other][..],
        &["diff", "--json", &other, &saved],
        &["audit-log", &trail],
        &["audit-log", "--json", &trail],
        &["audit-log", "--methods", &trail],
        &["audit-log", "--servers", &trail],
        &["doctor", &trail],
        &["report", &saved],
        &["verify", "--lock", &lock, &other],
    ] {
        plain(&verb.join(" "), &probe(verb));
    }
}

#[test]
fn secrets_of_a_command_line_stand_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name).display().to_string();
    let (trail, out) = (file("t.jsonl"), file("o.txt"));
    let secrets =
        ["argv-secret-1", "argv-secret-2", "argv-secret-3", "argv-secret-4", "argv-secret-5"];
    let password = format!("--password={}", secrets[1]);
    let address = format!("postgres://user:{}@host/db", secrets[2]);
    let env = format!("SOME_API_KEY={}", secrets[4]);
    // It shows on its error output what it was given.
    let server = format!("echo $0 $1 $2 $SOME_API_KEY >&2; exec '{PROBE}' mock good");
    let tail = [
        "--env",
        &env,
        "stdio",
        "--",
        "sh",
        "-c",
        &server,
        "--api-key",
        secrets[0],
        &password,
        &address,
        "--header",
        "X-Api-Key: argv-secret-4",
    ];
    for verb in [
        &["report", "--json"][..],
        &["report"],
        &["report", "--html"],
        &["doctor"],
        &["doctor", "--json"],
        &["scan"],
        &["scan", "--format", "sarif"],
        &["lint"],
        &["lock"],
        &["call", "--method", "ping"],
        &["check"],
        &["check", "--format", "junit"],
        &["emit", "claude-desktop"],
        &["emit", "codex"],
        &["emit", "vscode"],
    ] {
        let ran = probe(&[verb, &["--record", &trail], &tail[..]].concat());
        std::fs::write(&out, format!("{}{}", ran.out, ran.err)).unwrap();
        for path in [&trail, &out] {
            let text = std::fs::read_to_string(path).unwrap();
            let found = secrets.iter().find_map(|secret| Some((secret, text.find(secret)?)));
            let around = found.map(|(secret, at)| (secret, &text[at.saturating_sub(80)..at + 9]));
            assert_eq!(around, None, "{verb:?} in {path}");
        }
        std::fs::remove_file(&trail).unwrap();
    }
}

#[test]
fn only_the_owner_reads_a_recording() {
    let dir = tempfile::tempdir().unwrap();
    let trail = dir.path().join("t.jsonl");
    let args = [
        "report",
        "--json",
        "--record",
        trail.to_str().unwrap(),
        "stdio",
        "--",
        PROBE,
        "mock",
        "good",
    ];
    assert_eq!(probe(&args).code, 0);
    let mode = std::fs::metadata(&trail).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_recording_without_its_secret_is_not_started_blindly() {
    let dir = tempfile::tempdir().unwrap();
    let trail = dir.path().join("t.jsonl");
    let trail = trail.to_str().unwrap();
    let server = format!("exec '{PROBE}' mock good");
    let tail = ["stdio", "--", "sh", "-c", &server, "--token", "x"];
    probe(&[&["call", "--method", "ping", "--record", trail][..], &tail].concat());
    let ran = probe(&["explain", trail]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("keeps no secrets"), "{}", ran.err);
}
