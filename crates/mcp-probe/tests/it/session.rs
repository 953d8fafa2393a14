//! `call` and `session`.

use crate::harness::{Served, against, probe};

#[test]
fn an_error_that_nobody_expects_is_a_fault() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("s.jsonl");
    for (step, code) in
        [(r#"{"request":"nope"}"#, 1), (r#"{"request":"nope","expect":{"error":{}}}"#, 0)]
    {
        std::fs::write(&script, step).unwrap();
        let ran = against("good", &["session", script.to_str().unwrap()]);
        assert_eq!(ran.code, code, "{}{}", ran.out, ran.err);
    }
}

#[test]
fn one_call() {
    let ran = against("good", &["call", "--json", "--tool", "add", "--args", r#"{"a":40,"b":2}"#]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.json()["answer"]["result"]["content"][0]["text"], "42");
    let ran = against("good", &["call", "--tool", "add", "--args", r#"{"a":40}"#]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    let ran = against("good", &["call", "--tool", "add", "--args", "nonsense"]);
    assert_eq!(ran.code, 2);
    assert_eq!(probe(&["call", "--tool", "x", "stdio", "--", "/no/such/program"]).code, 2);
}

#[test]
fn every_version_and_transport() {
    let served = Served::mock("events");
    for version in ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] {
        let args = [
            "call",
            "--json",
            "--protocol",
            version,
            "--tool",
            "echo",
            "--args",
            r#"{"text":"x"}"#,
        ];
        for ran in [against("good", &args), probe(&[&args[..], &[served.url.as_str()]].concat())] {
            assert_eq!(ran.code, 0, "{version}: {}", ran.err);
            let how = ran.json()["how"].as_str().unwrap().to_string();
            assert!(how.contains(version), "{how}");
        }
    }
    assert_eq!(against("good", &["call", "--protocol", "2023-01-01", "--method", "ping"]).code, 2);
}

#[test]
fn the_old_transport_is_found_by_itself() {
    let served = Served::mock("old-sse");
    let ran =
        probe(&["call", "--json", "--tool", "echo", "--args", r#"{"text":"x"}"#, &served.url]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.json()["how"].as_str().unwrap().contains("http+sse"));
}

#[test]
fn sessions_are_kept_and_ended() {
    let served = Served::mock("sessions");
    let dir = tempfile::tempdir().unwrap();
    let trail = dir.path().join("trail.jsonl");
    let args = ["call", "--protocol", "2025-11-25", "--tool", "echo", "--args", r#"{"text":"x"}"#];
    let record = ["--record", trail.to_str().unwrap(), served.url.as_str()];
    assert_eq!(probe(&[&args[..], &record].concat()).code, 0);
    let text = std::fs::read_to_string(&trail).unwrap();
    assert!(text.contains("\"method\":\"DELETE\""), "the session is ended");
    assert!(text.contains("mock-session-1"));
}

#[test]
fn progress_keeps_a_slow_answer_alive() {
    let args = [
        "call",
        "--json",
        "--timeout-idle",
        "1500ms",
        "--timeout-total",
        "20s",
        "--method",
        "tools/list",
    ];
    let ran = against("slow", &args);
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    assert!(ran.took.as_millis() >= 3000);
    let args = ["call", "--json", "--timeout-idle", "200ms", "--method", "tools/list"];
    let ran = against("slow", &args);
    assert_eq!(ran.code, 1, "{} {}", ran.out, ran.err);
    assert_eq!(ran.json()["outcome"], "silence");
}

#[test]
fn a_script_of_steps() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("steps.jsonl");
    let steps = r##"# a comment
{"request":"tools/list","expect":{"result":{"tools":[{"name":"echo"}]}}}
{"request":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}},"expect":{"result":{"content":[{"text":"3"}]}}}
{"notify":"notifications/cancelled","params":{"requestId":1}}
{"raw":"{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"nope\"}","id":"q","expect":{"error":{"code":-32601}}}
{"wait":50}
"##;
    std::fs::write(&script, steps).unwrap();
    let path = script.to_str().unwrap();
    let ran = against("good", &["session", "--json", path]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert_eq!(ran.json().as_array().unwrap().len(), 5);
    std::fs::write(
        &script,
        r#"{"request":"tools/list","expect":{"result":{"tools":[{"name":"other"}]}}}"#,
    )
    .unwrap();
    let ran = against("good", &["session", "--json", path]);
    assert_eq!(ran.code, 1);
    assert!(ran.json()[0]["fault"].as_str().unwrap().contains("/result/tools/0/name"));
    std::fs::write(&script, "{\"jump\":1}").unwrap();
    assert_eq!(against("good", &["session", path]).code, 2);
}

#[test]
fn secrets_are_not_written_down() {
    let served = Served::mock("auth");
    let dir = tempfile::tempdir().unwrap();
    let trail = dir.path().join("trail.jsonl");
    let ran = crate::harness::run(
        std::process::Command::new(crate::harness::PROBE)
            .args([
                "call",
                "--bearer-env",
                "THE_TOKEN",
                "--tool",
                "echo",
                "--args",
                r#"{"text":"open-sesame"}"#,
            ])
            .args(["--record", trail.to_str().unwrap(), &served.url])
            .env("THE_TOKEN", "open-sesame"),
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    let text = std::fs::read_to_string(&trail).unwrap();
    assert!(!text.contains("open-sesame"));
    assert!(text.contains("Bearer [redacted]"));
}

#[test]
fn servers_of_a_configuration_file() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("mcp.json");
    let probe_path = serde_json::to_string(crate::harness::PROBE).unwrap();
    std::fs::write(
        &config,
        format!(r#"{{"mcpServers":{{"one":{{"command":{probe_path},"args":["mock","good"]}},"two":{{"command":{probe_path},"args":["mock","legacy"]}}}}}}"#),
    )
    .unwrap();
    let path = config.to_str().unwrap();
    let ran = probe(&["report", "--json", "--config", path]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.json().as_array().unwrap().len(), 2);
    let ran =
        probe(&["call", "--json", "--config", path, "--server", "two", "--method", "tools/list"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.json()["how"].as_str().unwrap().contains("legacy"));
}
