//! Each mock with a fault leads to its rule; good ones lead to none.

use crate::harness::{PROBE, Ran, Served, against, probe};
use std::process::Command;

const QUICK: [&str; 6] = ["doctor", "--json", "--timeout-idle", "4s", "--timeout-total", "8s"];

fn stdio(mock: &str) -> Ran {
    against(mock, &QUICK)
}

fn http(mock: &str) -> Ran {
    let served = Served::mock(mock);
    probe(&[&QUICK[..], &[served.url.as_str()]].concat())
}

/// The rule is among the findings, and the exit code says whether any of them is more than a
/// note: what official clients take does not fail a run.
pub fn shows(ran: &Ran, rule: &str) {
    let json = ran.json();
    let findings = json["findings"].as_array().unwrap_or_else(|| panic!("{}", ran.out));
    let alarm = findings.iter().any(|finding| finding["severity"] != "info");
    assert_eq!(ran.code, i32::from(alarm), "{}{}", ran.out, ran.err);
    assert!(alarm || json["verdict"]["works"] != false, "{}", ran.out);
    assert!(ran.rules().iter().any(|found| found == rule), "{rule}: {}", ran.out);
}

/// Works for official clients, and is told about.
fn notes(ran: &Ran, rule: &str) {
    shows(ran, rule);
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert_eq!(ran.json()["verdict"]["works"], true, "{}", ran.out);
}

/// Stops both official clients, or the one that is named.
fn refused(ran: &Ran, rule: &str) {
    shows(ran, rule);
    assert_eq!(ran.json()["verdict"]["works"], false, "{}", ran.out);
}

#[test]
fn good_servers_have_no_findings() {
    for mock in [
        "good",
        "paged",
        "legacy",
        "needs-initialized",
        "chatty-stderr",
        "older-only",
        "empty-cursor",
    ] {
        let ran = stdio(mock);
        assert_eq!(ran.code, 0, "{mock}: {}", ran.out);
    }
    for mock in ["good", "paged", "events", "sessions", "legacy", "older-only", "packed"] {
        let ran = http(mock);
        assert_eq!(ran.code, 0, "{mock}: {}", ran.out);
    }
}

#[test]
fn a_late_answer_is_no_strange_one() {
    let ran = against("late", &["doctor", "--json", "--timeout-idle", "10s"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(ran.out.contains("no answer; silence for 2.0 s"), "{}", ran.out);
}

/// Mocks and the rule that each shows over pipes.
const PIPED: &[(&str, &str)] = &[
    ("dies", "no-answer"),
    ("silent", "no-answer"),
    ("no-mcp", "not-mcp"),
    ("version-strict", "version-mismatch"),
    ("answers-notifications", "notification-answered"),
    ("empty-tools", "empty-tools"),
    ("error-stderr", "error-stderr"),
    ("cut", "message-cut"),
    ("close-mid-message", "message-cut"),
    ("out-of-order", "out-of-order"),
    ("wrong-ids", "wrong-id"),
    ("endless-pages", "endless-pages"),
    ("noisy", "noise-on-stdout"),
    ("odd-json", "odd-json"),
    ("unadvertised", "unadvertised"),
    ("overpromise", "not-implemented"),
    ("duplicate-tools", "duplicate-names"),
    ("flapping", "unstable-list"),
    ("no-schema", "refused-shape"),
    ("nameless", "refused-shape"),
    ("versionless", "refused-shape"),
    ("null-cursor", "refused-shape"),
    ("text-ids", "odd-shape"),
    ("null-ids", "wrong-id"),
    ("batches", "refused-shape"),
    ("pretty", "refused-shape"),
    ("windows-lines", "odd-shape"),
    ("json-logs", "invalid-message"),
    ("dies-of-discover", "dies-later"),
    ("dies-of-cancel", "dies-later"),
    ("modern-only", "no-handshake"),
    ("web-server", "is-http"),
    ("prompt", "not-a-server"),
    ("python-text", "wrong-framing"),
    ("wide-text", "wrong-framing"),
    ("framed", "wrong-framing"),
    ("held-back", "unflushed"),
    ("many-tools", "big-list"),
];

/// The same over HTTP.
const SERVED: &[(&str, &str)] = &[
    ("silent", "no-answer"),
    ("mute", "no-answer"),
    ("not-http", "not-http"),
    ("no-mcp", "not-mcp"),
    ("version-strict", "version-mismatch"),
    ("answers-notifications", "notification-answered"),
    ("wrong-path", "http-404"),
    ("short-body", "message-cut"),
    ("held-open", "open-stream"),
    ("strict-accept", "strict-accept"),
    ("auth", "auth-401"),
    ("old-sse", "sse-or-http"),
    ("foreign-endpoint", "foreign-endpoint"),
    ("noisy", "noise-on-stdout"),
    ("no-schema", "refused-shape"),
    ("text-ids", "odd-shape"),
    ("no-type", "refused-shape"),
    ("moved", "refused-shape"),
    ("login", "auth-401"),
    ("web-page", "no-answer"),
    ("called-events", "no-answer"),
    ("workers", "session-lost"),
];

#[test]
fn faults_over_pipes() {
    for (mock, rule) in PIPED {
        shows(&stdio(mock), rule);
    }
}

#[test]
fn faults_over_http() {
    for (mock, rule) in SERVED {
        shows(&http(mock), rule);
    }
}

/// Whoever adds a mock with a fault adds the proof that it is found.
#[test]
fn every_faulty_mock_is_tried() {
    let tried: Vec<&(&str, &str)> =
        PIPED.iter().chain(SERVED).chain(crate::hostile::HOSTILE).collect();
    let mocks = probe(&["mock", "--list", "--json"]).json();
    let mut count = 0;
    for mock in mocks.as_array().unwrap() {
        let (name, rule) = (mock["name"].as_str().unwrap(), mock["rule"].as_str().unwrap());
        // Mocks of other verbs stand in the tests of those.
        if !matches!(rule, "" | "scan" | "lint" | "errors") {
            assert!(tried.iter().any(|row| **row == (name, rule)), "{name}: {rule}");
            count += 1;
        }
    }
    assert!(count > 30, "{count}");
}

#[test]
fn evidence_and_advice() {
    let ran = stdio("dies");
    assert!(ran.out.contains("missing required argument: --root"), "{}", ran.out);
    assert!(ran.out.contains("exit code 2"));
    let ran = stdio("empty-tools");
    assert!(ran.out.contains("MOCK_API_KEY"));
    let ran = against("empty-tools", &[&QUICK[..], &["--env", "MOCK_API_KEY=x"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(stdio("error-stderr").out.contains("KeyError: 'TOOLS_DIR'"));
    assert!(http("wrong-path").out.contains("/api/mcp: 200"));
    assert!(http("auth").out.contains("Bearer realm="));
    let ran = stdio("version-strict");
    assert_eq!(ran.json()["versions"].as_array().unwrap().len(), 6);
}

#[test]
fn the_same_token_in_another_header() {
    let served = Served::mock("auth");
    let ran = probe(
        &[&QUICK[..], &["--header", "Authorization: Token open-sesame", &served.url]].concat(),
    );
    shows(&ran, "auth-401");
    assert!(ran.out.contains("Authorization: Bearer ..."), "{}", ran.out);
    assert!(!ran.out.contains("open-sesame"));
    let ran = probe(
        &[&QUICK[..], &["--header", "Authorization: Bearer open-sesame", &served.url]].concat(),
    );
    assert_eq!(ran.code, 0, "{}", ran.out);
}

#[test]
fn streamable_http_taken_for_the_old_transport() {
    let served = Served::mock("good");
    let ran = probe(&[&QUICK[..], &["--protocol", "2024-11-05", &served.url]].concat());
    shows(&ran, "sse-or-http");
}

#[test]
fn nothing_there() {
    let ran = probe(&[&QUICK[..], &["http://127.0.0.1:1/mcp"]].concat());
    shows(&ran, "no-answer");
    let ran = probe(&[&QUICK[..], &["stdio", "--", "/no/such/program"]].concat());
    shows(&ran, "no-answer");
    assert_eq!(probe(&["doctor", "/no/such/file"]).code, 2);
}

#[test]
fn a_client_that_numbers_its_notifications() {
    let dir = tempfile::tempdir().unwrap();
    let trail = dir.path().join("t.jsonl");
    let script = dir.path().join("s.jsonl");
    std::fs::write(&script, r#"{"raw":"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"notifications/initialized\"}","id":9}"#).unwrap();
    let args = ["session", "--bare", "--record", trail.to_str().unwrap(), script.to_str().unwrap()];
    against("good", &args);
    let ran = probe(&["doctor", "--json", trail.to_str().unwrap()]);
    shows(&ran, "notification-with-id");
}

#[test]
fn stderr_stands_beside_the_error_in_a_recording() {
    let dir = tempfile::tempdir().unwrap();
    let trail = dir.path().join("t.jsonl");
    against("error-stderr", &["report", "--record", trail.to_str().unwrap()]);
    let ran = probe(&["doctor", "--json", trail.to_str().unwrap()]);
    shows(&ran, "error-stderr");
    assert!(ran.out.contains("KeyError"), "{}", ran.out);
}

#[test]
fn rules_are_listed_with_their_mocks() {
    let ran = crate::harness::run(Command::new(PROBE).args(["doctor", "--rules"]));
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains("held-open"));
}

/// A command of the shell that ends as given.
fn shell(script: &str) -> Ran {
    probe(
        &[&["doctor", "--json", "--timeout-idle", "3s", "stdio", "--", "sh", "-c"][..], &[script]]
            .concat(),
    )
}

/// The first finding is the first line.
fn first(ran: &Ran) -> String {
    ran.json()["findings"][0]["title"].as_str().unwrap_or_default().to_string()
}

#[test]
fn what_clients_take_is_a_note() {
    for (mock, rule) in [
        ("text-ids", "odd-shape"),
        ("windows-lines", "odd-shape"),
        ("json-logs", "invalid-message"),
        ("duplicate-tools", "duplicate-names"),
        ("answers-notifications", "notification-answered"),
        ("many-tools", "big-list"),
    ] {
        notes(&stdio(mock), rule);
    }
}

#[test]
fn refusals_name_the_member_and_the_client() {
    for (mock, path, python) in [
        ("no-schema", "/result/tools/0/inputSchema/type is missing", false),
        ("nameless", "/result/serverInfo is missing", false),
        ("null-cursor", "/result/nextCursor is null", true),
    ] {
        let ran = stdio(mock);
        refused(&ran, "refused-shape");
        assert!(ran.out.contains(path), "{mock}: {}", ran.out);
        assert_eq!(
            ran.json()["verdict"]["python"]["works"],
            python && mock != "no-schema",
            "{mock}: {}",
            ran.out
        );
        assert_eq!(ran.json()["verdict"]["typescript"]["works"], false, "{mock}: {}", ran.out);
    }
}

#[test]
fn the_first_line_is_the_cause() {
    for (script, cause) in [
        (
            "printf \"KeyError: 'WEATHER_API_KEY'\\n\" >&2; exit 1",
            "the environment variable WEATHER_API_KEY is not set",
        ),
        (
            "echo '请设置 WEATHER_API_KEY'; exit 0",
            "the environment variable WEATHER_API_KEY is not set",
        ),
        (
            "echo 'Error: listen EADDRINUSE: address already in use :::3000' >&2; exit 1",
            "the port it wants is taken",
        ),
        ("cat config/none.json", "the file config/none.json does not exist"),
        (
            "echo 'panic: no container runtime' >&2; seq 1 100 | sed 's/^/goroutine /' >&2; exit 2",
            "panic: no container runtime",
        ),
        ("no-such-command-anywhere", "not found"),
        ("sleep 0; kill -SEGV $$", "segmentation fault"),
    ] {
        let ran = shell(script);
        refused(&ran, "no-answer");
        assert!(first(&ran).contains(cause), "{script}: {}", first(&ran));
    }
}

#[test]
fn the_working_directory_counts() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("here.txt"), "").unwrap();
    let script = format!("cat here.txt && exec '{PROBE}' mock good");
    assert!(first(&shell(&script)).contains("here.txt does not exist"));
    let place = folder.path().to_str().unwrap();
    let tail = ["stdio", "--", "sh", "-c", script.as_str()];
    let ran = probe(&[&QUICK[..], &["--cwd", place], &tail].concat());
    assert_eq!(ran.code, 0, "{}", ran.out);
    let missing = probe(&[&QUICK[..], &["--cwd", "/no/such/folder"], &tail].concat());
    assert!(
        missing.out.contains("the working directory /no/such/folder does not exist"),
        "{}",
        missing.out
    );
}

#[test]
fn clients_pass_few_variables_on() {
    let script = format!(
        "test -n \"$ONLY_OURS\" || {{ echo 'ONLY_OURS is not set' >&2; exit 1; }}; exec '{PROBE}' mock good"
    );
    let run = |flags: &[&str]| {
        let args = [&QUICK[..], flags, &["stdio", "--", "sh", "-c", script.as_str()]].concat();
        crate::harness::run(Command::new(PROBE).args(args).env("ONLY_OURS", "1"))
    };
    let ran = run(&[]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.out.contains("clients do not pass it on"), "{}", ran.out);
    assert_eq!(run(&["--inherit-env"]).code, 0);
    assert_eq!(run(&["--env", "ONLY_OURS=2"]).code, 0);
}

#[test]
fn silence_at_discover_costs_no_time() {
    for verb in ["report", "lint", "scan", "errors", "lock"] {
        let ran = against("deaf", &[verb, "--json"]);
        assert!(ran.code < 2, "{verb}: {}{}", ran.out, ran.err);
        assert!(ran.took.as_secs() < 12, "{verb}: {:?}", ran.took);
    }
    let ran = against("deaf", &["doctor", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
}

#[test]
fn versions_that_are_offered_are_used() {
    let served = Served::mock("older-only");
    for target in [vec![served.url.as_str()], vec!["stdio", "--", PROBE, "mock", "older-only"]] {
        let ran = probe(&[&["call", "--json", "--method", "tools/list"][..], &target].concat());
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        assert!(ran.out.contains("legacy 2025-11-25"), "{}", ran.out);
    }
}

#[test]
fn targets_as_one_writes_them() {
    let line = format!("'{PROBE}' mock good");
    let served = Served::mock("good");
    let bare = served.url.strip_prefix("http://").unwrap();
    for target in [
        vec![PROBE, "mock", "good"],
        vec![line.as_str()],
        vec!["--", PROBE, "mock", "good"],
        vec![bare],
        vec![bare.strip_suffix("/mcp").unwrap()],
    ] {
        let ran = probe(&[&QUICK[..], &target].concat());
        assert_eq!(ran.code, 0, "{target:?}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn the_servers_of_installed_clients() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(home.path().join(".cursor")).unwrap();
    let config = format!(
        "{{\"mcpServers\": {{\"mine\": {{\"command\": \"{PROBE}\", \"args\": [\"mock\", \"good\"]}}, \"off\": {{\"command\": \"x\", \"disabled\": true}}}} /* end */ }}"
    );
    std::fs::write(home.path().join(".cursor/mcp.json"), config).unwrap();
    let args = [&QUICK[..], &["--installed"]].concat();
    let ran = crate::harness::run(
        Command::new(PROBE).args(args).env("HOME", home.path()).current_dir(home.path()),
    );
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert_eq!(ran.json()["target"], "cursor/mine");
}
