//! Findings as SARIF 2.1.0, the format that code hosts display.

use crate::finding::{Finding, Severity};
use crate::json::Json;
use crate::obj;
use crate::place::Place;
use crate::trail::sha256_hex;
use crate::{doctor, lint, risk};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// A server with what was found, and where it stands in a repository.
pub struct Target {
    /// Its name.
    pub name: String,
    /// Where findings are shown.
    pub place: Option<Place>,
    /// What was found.
    pub findings: Vec<Finding>,
}

/// Every rule that a finding may name, with what it looks for.
fn rules() -> Vec<(&'static str, &'static str)> {
    let mut all: Vec<(&'static str, &'static str)> =
        risk::RULES.iter().map(|rule| (rule.name, rule.about)).collect();
    let further = doctor::RULES.iter().map(|rule| (rule.name, rule.about)).chain(lint::rules());
    for (name, about) in further {
        if !all.iter().any(|(known, _)| *known == name) {
            all.push((name, about));
        }
    }
    all
}

/// One run with all findings of all targets.
pub fn log(targets: &[Target]) -> Json {
    let known = rules();
    let rules: Vec<Json> = known
        .iter()
        .map(|(name, about)| obj! { "id": *name, "shortDescription": obj! { "text": *about } })
        .collect();
    let driver = obj! { "name": "mcp-probe", "version": env!("CARGO_PKG_VERSION"), "rules": Json::Array(rules) };
    let results = targets
        .iter()
        .flat_map(|target| target.findings.iter().map(|finding| result(target, finding, &known)));
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

fn result(target: &Target, finding: &Finding, known: &[(&'static str, &'static str)]) -> Json {
    let mut text = finding.title.clone();
    for evidence in &finding.evidence {
        text.push_str(&format!("\n{evidence}"));
    }
    if let Some(advice) = &finding.advice {
        text.push_str(&format!("\n{advice}"));
    }
    let subject = finding.place.as_deref().unwrap_or("server");
    let logical = obj! { "name": subject, "fullyQualifiedName": format!("{}#{subject}", target.name), "kind": "function" };
    // A file of the repository, where there is one: nothing else is shown.
    let physical = match &target.place {
        Some(place) => obj! {
            "artifactLocation": obj! { "uri": encode(&place.file), "uriBaseId": "%SRCROOT%" },
            "region": obj! { "startLine": place.line as i64 },
        },
        None => obj! { "artifactLocation": obj! { "uri": encode(&target.name) } },
    };
    let location =
        obj! { "physicalLocation": physical, "logicalLocations": Json::Array(vec![logical]) };
    let print = sha256_hex(
        format!("{}\0{}\0{subject}\0{}", finding.rule, target.name, finding.title).as_bytes(),
    );
    let mut result = obj! { "ruleId": finding.rule };
    if let Some(index) = known.iter().position(|(name, _)| *name == finding.rule) {
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
