//! What the probe has to say about a server: rule, weight, evidence, advice.

use crate::json::Json;
use crate::obj;

/// How much it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; never fails a run.
    Info,
    /// A small fault.
    Low,
    /// A fault.
    Medium,
    /// Breaks things, or is dangerous.
    High,
}

impl Severity {
    /// All, lightest first.
    pub const ALL: [Severity; 4] =
        [Severity::Info, Severity::Low, Severity::Medium, Severity::High];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
        }
    }

    /// By name.
    pub fn named(name: &str) -> Result<Severity, String> {
        let found = Severity::ALL.into_iter().find(|severity| severity.name() == name);
        found.ok_or(format!("{name:?} is none of info, low, medium, high"))
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Name of the rule.
    pub rule: &'static str,
    /// Weight.
    pub severity: Severity,
    /// What is the matter, in one sentence.
    pub title: String,
    /// Where, such as the name of a tool.
    pub place: Option<String>,
    /// What was seen.
    pub evidence: Vec<String>,
    /// What to do.
    pub advice: Option<String>,
}

impl Finding {
    /// A finding without evidence yet.
    pub fn new(rule: &'static str, severity: Severity, title: impl Into<String>) -> Finding {
        Finding {
            rule,
            severity,
            title: title.into(),
            place: None,
            evidence: Vec::new(),
            advice: None,
        }
    }

    /// Says where.
    pub fn at(mut self, place: &str) -> Finding {
        self.place = Some(place.into());
        self
    }

    /// Adds a piece of evidence.
    pub fn seen(mut self, evidence: impl Into<String>) -> Finding {
        self.evidence.push(evidence.into());
        self
    }

    /// Adds several.
    pub fn seen_all<T: Into<String>>(mut self, evidence: impl IntoIterator<Item = T>) -> Finding {
        self.evidence.extend(evidence.into_iter().map(Into::into));
        self
    }

    /// Says what to do.
    pub fn advise(mut self, advice: impl Into<String>) -> Finding {
        self.advice = Some(advice.into());
        self
    }

    /// As JSON.
    pub fn to_json(&self) -> Json {
        obj! { "rule": self.rule, "severity": self.severity.name(), "title": &self.title }
            .with_some("place", self.place.as_ref())
            .with("evidence", self.evidence.clone())
            .with_some("advice", self.advice.as_ref())
    }
}

/// The heaviest severity among findings.
pub fn worst(findings: &[Finding]) -> Option<Severity> {
    findings.iter().map(|finding| finding.severity).max()
}

/// Findings as JSON, heaviest first.
pub fn to_json(findings: &[Finding]) -> Json {
    Json::Array(findings.iter().map(Finding::to_json).collect())
}

/// Heaviest first, the order of rules kept.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
}
