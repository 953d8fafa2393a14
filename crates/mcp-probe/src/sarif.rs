//! Findings as SARIF 2.1.0, the format that code hosts display.

use crate::finding::{Finding, Severity};
use crate::json::Json;
use crate::obj;
use crate::risk::RULES;
use crate::trail::sha256_hex;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// One run with all findings of all targets.
pub fn log(targets: &[(String, Vec<Finding>)]) -> Json {
    let rules: Vec<Json> = RULES
        .iter()
        .map(|rule| obj! { "id": rule.name, "shortDescription": obj! { "text": rule.about } })
        .collect();
    let driver = obj! { "name": "mcp-probe", "version": env!("CARGO_PKG_VERSION"), "rules": Json::Array(rules) };
    let results = targets
        .iter()
        .flat_map(|(target, findings)| findings.iter().map(move |finding| result(target, finding)));
    let run = obj! {
        "tool": obj! { "driver": driver },
        "results": Json::Array(results.collect()),
        "columnKind": "utf16CodeUnits",
    };
    obj! { "$schema": SCHEMA, "version": "2.1.0", "runs": Json::Array(vec![run]) }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Info => "note",
    }
}

fn result(target: &str, finding: &Finding) -> Json {
    let mut text = finding.title.clone();
    for evidence in &finding.evidence {
        text.push_str(&format!("\n{evidence}"));
    }
    if let Some(advice) = &finding.advice {
        text.push_str(&format!("\n{advice}"));
    }
    let place = finding.place.as_deref().unwrap_or("server");
    let logical = obj! { "name": place, "fullyQualifiedName": format!("{target}#{place}"), "kind": "function" };
    let artifact = obj! { "artifactLocation": obj! { "uri": encode(target) } };
    let location =
        obj! { "physicalLocation": artifact, "logicalLocations": Json::Array(vec![logical]) };
    let print = sha256_hex(format!("{}\0{place}\0{}", finding.rule, finding.title).as_bytes());
    let mut result = obj! { "ruleId": finding.rule };
    if let Some(index) = RULES.iter().position(|rule| rule.name == finding.rule) {
        result.push("ruleIndex", index);
    }
    result
        .with("level", level(finding.severity))
        .with("message", obj! { "text": text })
        .with("locations", Json::Array(vec![location]))
        .with("partialFingerprints", obj! { "finding/v1": print })
        .with("properties", obj! { "severity": finding.severity.name() })
}

/// A target as a URI: what may not stand in one is escaped.
fn encode(target: &str) -> String {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=".contains(&byte);
    target
        .bytes()
        .map(|byte| if fine(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
