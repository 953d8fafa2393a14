//! `explain`: what was decisive?

use crate::harness::{Served, against, probe};

fn decisive(out: &serde_json::Value) -> Vec<String> {
    let variants = out["variants"].as_array().unwrap();
    let failing = variants.iter().filter(|variant| variant["decisive"] == true);
    failing.map(|variant| variant["change"].as_str().unwrap().to_string()).collect()
}

#[test]
fn headers_decide_in_the_modern_era() {
    let served = Served::mock("good");
    let dir = tempfile::tempdir().unwrap();
    let trail = dir.path().join("t.jsonl");
    let trail = trail.to_str().unwrap();
    assert_eq!(probe(&["call", "--record", trail, "--method", "tools/list", &served.url]).code, 0);
    let ran = probe(&["explain", "--json", trail]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let found = decisive(&ran.json());
    assert!(found.contains(&"without the header MCP-Protocol-Version".to_string()), "{found:?}");
    assert!(found.contains(&"without the header Mcp-Method".to_string()));
    assert!(!found.contains(&"without the header User-Agent".to_string()));
}

#[test]
fn order_decides_where_the_handshake_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let trail = dir.path().join("t.jsonl");
    let trail = trail.to_str().unwrap();
    against(
        "needs-initialized",
        &["call", "--record", trail, "--protocol", "2025-11-25", "--method", "tools/list"],
    );
    let found = decisive(&probe(&["explain", "--json", trail]).json());
    assert!(found.contains(&"without notifications/initialized".to_string()), "{found:?}");
    assert_eq!(probe(&["explain", "--method", "no/such", trail]).code, 2);
}
