//! Precision and recall of the rules of the scan, measured on tools that people
//! have labelled.

use super::tool_risks;
use crate::json::{self, Json};
use crate::obj;
use crate::surface::Tool;

/// Rules that a person can judge by reading a tool.
pub const JUDGED: [&str; 10] = [
    "runs-commands",
    "runs-code",
    "any-path-write",
    "any-path-read",
    "any-url",
    "any-query",
    "takes-secrets",
    "injected-instructions",
    "hidden-text",
    "odd-name",
];

/// How a rule did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Score {
    /// Name of the rule.
    pub rule: &'static str,
    /// Said and so.
    pub right: usize,
    /// Said and not so: the tools.
    pub false_alarms: Vec<String>,
    /// Not said and so: the tools.
    pub missed: Vec<String>,
}

impl Score {
    /// Share of what was said that is so, in percent.
    pub fn precision(&self) -> Option<f64> {
        share(self.right, self.false_alarms.len())
    }

    /// Share of what is so that was said, in percent.
    pub fn recall(&self) -> Option<f64> {
        share(self.right, self.missed.len())
    }

    /// As JSON.
    pub fn to_json(&self) -> Json {
        obj! { "rule": self.rule, "right": self.right as i64 }
            .with_some("precision", self.precision())
            .with_some("recall", self.recall())
            .with("falseAlarms", self.false_alarms.clone())
            .with("missed", self.missed.clone())
    }
}

fn share(right: usize, wrong: usize) -> Option<f64> {
    let all = right + wrong;
    (all > 0).then(|| (1000.0 * right as f64 / all as f64).round() / 10.0)
}

/// Scores of all judged rules, and how many tools there were. A line of the text
/// is `{"server": …, "labels": [rules], "tool": {…}}`.
pub fn measure(text: &str) -> Result<(Vec<Score>, usize), String> {
    let mut scores: Vec<Score> =
        JUDGED.iter().map(|rule| Score { rule, ..Score::default() }).collect();
    let mut tools = 0;
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |why: &str| format!("line {}: {why}", number + 1);
        let entry = json::parse(line.as_bytes()).map_err(|error| wrong(&error.to_string()))?;
        let tool = entry.get("tool").ok_or_else(|| wrong("no tool"))?;
        let labels: Vec<&str> = entry
            .get("labels")
            .ok_or_else(|| wrong("no labels"))?
            .items()
            .iter()
            .filter_map(Json::as_str)
            .collect();
        if let Some(unknown) = labels.iter().find(|label| !JUDGED.contains(label)) {
            return Err(wrong(&format!("{unknown:?} is no rule that is judged")));
        }
        let tool = Tool { json: tool };
        let said: Vec<&str> = tool_risks(&tool).iter().map(|finding| finding.rule).collect();
        let place = format!("{}: {}", entry.text_at("server").unwrap_or("?"), tool.name());
        for score in &mut scores {
            match (said.contains(&score.rule), labels.contains(&score.rule)) {
                (true, true) => score.right += 1,
                (true, false) => score.false_alarms.push(place.clone()),
                (false, true) => score.missed.push(place.clone()),
                (false, false) => {}
            }
        }
        tools += 1;
    }
    Ok((scores, tools))
}
