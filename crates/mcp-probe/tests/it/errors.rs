//! `errors`: wrong arguments and what comes of them.

use crate::harness::{against, probe};

#[test]
fn a_careful_server_passes() {
    let ran = against("good", &["errors", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    let calls = ran.json()["calls"].as_array().unwrap().clone();
    assert!(calls.len() > 20);
    assert!(
        calls.iter().any(|call| call["case"] == "text missing" && call["class"] == "tool error")
    );
}

#[test]
fn traces_and_crashes_are_told() {
    let ran = against("stack-trace", &["errors", "--json", "--tool", "echo"]);
    assert_eq!(ran.code, 1);
    assert!(ran.rules().contains(&"stack-trace".to_string()));
    let ran = against("crash-on-null", &["errors", "--json"]);
    assert_eq!(ran.code, 1);
    assert!(ran.rules().contains(&"crash".to_string()));
    assert!(ran.out.contains("exit code 134"));
    let calls = ran.json()["calls"].as_array().unwrap().len();
    assert!(calls > 20, "it goes on after a crash: {calls}");
}

#[test]
fn writers_are_left_alone() {
    let ran = against("risky", &["errors", "--json"]);
    assert!(ran.json()["leftOut"].to_string().contains("run_shell"));
    assert!(!ran.json()["calls"].to_string().contains("run_shell"));
    let ran = against("risky", &["errors", "--json", "--allow-writes", "--tool", "query"]);
    assert!(ran.json()["calls"].to_string().contains("query"));
    assert_eq!(probe(&["errors", "Cargo.toml"]).code, 2);
}
