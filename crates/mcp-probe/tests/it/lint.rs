//! `lint --client`: one rule for each real restriction.

use crate::harness::{against, probe};

#[test]
fn each_client_has_its_restrictions() {
    for (client, rules) in [
        (
            "claude-desktop",
            &["dot-in-name", "name-characters", "name-64", "root-union", "output-object"][..],
        ),
        ("claude-code", &["name-64-prefixed"]),
        ("copilot-cli", &["dot-in-name"]),
        ("codex", &["dot-in-name"]),
        ("cursor", &["dot-in-name", "name-60-with-server"]),
        ("openai", &["name-64", "root-union"]),
        ("anthropic", &["root-union"]),
        ("bedrock", &["root-union"]),
        ("vertex", &["root-union", "references"]),
        ("gemini", &["references", "type-lists", "missing-type", "array-items"]),
        ("windsurf", &["dot-in-name", "name-64"]),
        ("cline", &["root-union"]),
        ("continue", &["root-union"]),
        ("zed", &["name-64"]),
        ("vscode", &["array-items"]),
    ] {
        let ran = against("odd-names", &["lint", "--json", "--client", client]);
        assert_eq!(ran.code, 1, "{client}");
        let found = ran.rules();
        for rule in rules {
            assert!(found.iter().any(|name| name == rule), "{client}: {rule}: {found:?}");
        }
    }
}

#[test]
fn a_plain_list_survives_everywhere() {
    let ran = against("good", &["lint", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert_eq!(against("good", &["lint", "--client", "nobody"]).code, 2);
    assert!(probe(&["lint", "--client", "list"]).out.contains("Cursor"));
    let long = "n".repeat(58);
    assert_eq!(against("good", &["lint", "--client", "cursor", "--server-name", &long]).code, 1);
}

#[test]
fn empty_properties_are_refused_by_gemini() {
    let ran = against("risky", &["lint", "--json", "--client", "gemini"]);
    assert!(ran.rules().contains(&"empty-properties".to_string()), "{}", ran.out);
    let ran = against("risky", &["lint", "--json", "--client", "openai"]);
    assert!(!ran.rules().contains(&"empty-properties".to_string()), "{}", ran.out);
}
