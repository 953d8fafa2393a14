//! `emit`: configurations read back, programs run.

use crate::harness::{PROBE, Served, against, probe, run};
use std::process::Command;

#[test]
fn configurations_name_the_server() {
    for (client, key) in [
        ("claude-desktop", "mcpServers"),
        ("claude-code", "mcpServers"),
        ("cursor", "mcpServers"),
        ("gemini", "mcpServers"),
        ("vscode", "servers"),
    ] {
        let ran = against("good", &["emit", client, "--name", "mine", "--env", "A=b"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let entry = &ran.json()[key]["mine"];
        assert_eq!(entry["command"], PROBE);
        assert_eq!(entry["env"]["A"], "b");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.json");
        std::fs::write(&path, &ran.out).unwrap();
        let again = probe(&["call", "--method", "tools/list", "--config", path.to_str().unwrap()]);
        assert_eq!(again.code, 0, "{client}: {}", again.err);
    }
    let ran = against("good", &["emit", "codex", "--name", "mine"]);
    assert!(ran.out.starts_with("[mcp_servers.mine]\ncommand = "));
    assert_eq!(against("good", &["emit", "nothing"]).code, 2);
}

#[test]
fn secrets_stay_out_of_configurations() {
    let ran = probe(&[
        "emit",
        "cursor",
        "--header",
        "Authorization: Bearer hunter2",
        "http://127.0.0.1:1/mcp",
    ]);
    assert_eq!(ran.code, 0);
    assert!(!ran.out.contains("hunter2") && ran.out.contains("Bearer"));
}

fn runs(language: &str, interpreter: &str, file: &str) {
    if run(Command::new(interpreter).arg("--version")).code != 0 {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{interpreter} is needed");
        println!("skipped: no {interpreter}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(file);
    let check = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let ran = run(Command::new(interpreter).arg(&path));
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        assert!(ran.out.contains("echo") && ran.out.contains("isError"), "{}", ran.out);
    };
    for mock in ["good", "legacy", "paged"] {
        check(&against(mock, &["emit", language]).out);
    }
    for mock in ["good", "events", "sessions"] {
        for version in ["2026-07-28", "2025-11-25"] {
            let served = Served::mock(mock);
            check(&probe(&["emit", language, "--protocol", version, &served.url]).out);
        }
    }
}

#[test]
fn the_python_program_runs() {
    runs("python", "python3", "client.py");
}

#[test]
fn the_typescript_program_runs() {
    runs("typescript", "node", "client.mjs");
}

#[test]
fn programs_end_a_server_that_does_not_end_itself() {
    for (language, interpreter) in [("python", "python3"), ("typescript", "node")] {
        if run(Command::new(interpreter).arg("--version")).code != 0 {
            println!("skipped: no {interpreter}");
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        // It stays when its input ends.
        let server = format!("'{PROBE}' mock good; exec sleep 97531");
        let text = probe(&["emit", language, "stdio", "--", "sh", "-c", &server]).out;
        assert!(!text.contains("Headers that were in use"), "no headers, no line about them");
        let path = dir.path().join("client.mjs");
        std::fs::write(&path, text).unwrap();
        let ran = run(Command::new(interpreter).arg(&path));
        assert_eq!(ran.code, 0, "{language}: {}{}", ran.out, ran.err);
        assert!(ran.took.as_secs() < 60, "{language}: {:?}", ran.took);
        let left = run(Command::new("pgrep").args(["-f", "sleep 97531"]));
        assert!(left.out.trim().is_empty(), "{language} leaves its server behind");
    }
}

#[test]
fn variables_with_secrets_are_named_in_each_clients_form() {
    for (client, form) in [
        ("claude-code", "${API_KEY}"),
        ("gemini", "${API_KEY}"),
        ("cursor", "${env:API_KEY}"),
        ("vscode", "${env:API_KEY}"),
        ("claude-desktop", "[redacted]"),
        ("codex", "env_vars = [\"API_KEY\"]"),
    ] {
        let ran = against("good", &["emit", client, "--env", "API_KEY=hunter2"]);
        assert!(ran.out.contains(form) && !ran.out.contains("hunter2"), "{client}: {}", ran.out);
        let ran = against("good", &["emit", client, "--env", "API_KEY=hunter2", "--keep-secrets"]);
        assert!(ran.out.contains("hunter2"), "{client}: {}", ran.out);
    }
}
