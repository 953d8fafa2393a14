//! Recorded calls: files of requests with what must come back, replayed against a bridge.
//!
//! A file is one JSON object: `about` (a sentence), `program` (a fixture), `arguments` (further
//! `key=value` words) and `calls`, which run in order against a fresh bridge; one with
//! `extensions=on` when any of them is an extended method. A call has a `method`, its `params`,
//! and either `result` or `error`:
//!
//! * Members that an expected object does not name may be anything; lists must be as long as
//!   expected. A `*` in an expected text stands for any text.
//! * `keep` names parts of the result (a JSON pointer each); `{name}` as a whole text in later
//!   parameters stands for what was kept.
//! * `over` lists the transports on which the call is made; all, when absent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Map, Value};

/// How a call gets to the bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// JSON-RPC over a WebSocket.
    Websocket,
    /// MCP over HTTP.
    Mcp,
    /// MCP over pipes.
    Stdio,
}

/// One file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// What the calls show.
    pub about: String,
    /// The fixture that is opened, or `the tests themselves`.
    pub program: String,
    /// Further arguments of the bridge.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The calls, in order.
    pub calls: Vec<Call>,
}

/// One call and what must come back.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The dotted method.
    pub method: String,
    /// Its parameters.
    #[serde(default)]
    pub params: Map<String, Value>,
    /// Parts of the result, when it must succeed.
    pub result: Option<Value>,
    /// Parts of the refusal, when it must fail.
    pub error: Option<Refusal>,
    /// Parts of the result to use later: a JSON pointer by name.
    #[serde(default)]
    pub keep: BTreeMap<String, String>,
    /// On which transports it is made.
    pub over: Option<Vec<Transport>>,
}

/// What a failed call must say.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// Status.
    pub status: u16,
    /// Code.
    pub code: String,
    /// Pointer into the request.
    pub target: String,
    /// Parts of the details.
    pub details: Option<Value>,
}

impl Refusal {
    /// The pointer on a transport: a tool's call has an operation where a request has a method.
    pub fn target_on(&self, transport: Transport) -> &str {
        match (transport, self.target.as_str()) {
            (Transport::Mcp | Transport::Stdio, "/method") => "/operation",
            (_, target) => target,
        }
    }
}

impl Call {
    /// Whether it is made on a transport.
    pub fn runs_over(&self, transport: Transport) -> bool {
        self.over.as_ref().is_none_or(|all| all.contains(&transport))
    }
}

/// All files under `calls/`, by domain and case.
pub fn recordings() -> Result<Vec<(String, Recording)>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../calls");
    let mut all = Vec::new();
    for domain in entries(&root)? {
        for path in entries(&domain)? {
            let name = path.strip_prefix(&root)?.with_extension("").display().to_string();
            let text = std::fs::read_to_string(&path)?;
            let recording: Recording =
                serde_json::from_str(&text).with_context(|| format!("calls/{name}"))?;
            ensure!(!recording.calls.is_empty(), "calls/{name} has no calls");
            for (index, call) in recording.calls.iter().enumerate() {
                let one = call.result.is_some() != call.error.is_some();
                ensure!(one, "calls/{name}: call {index} needs either result or error");
            }
            all.push((name, recording));
        }
    }
    Ok(all)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let listed = std::fs::read_dir(folder)
        .with_context(|| format!("{} cannot be listed", folder.display()))?;
    let mut paths: Vec<PathBuf> =
        listed.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
    paths.sort();
    Ok(paths)
}

/// Parts of results that later calls use.
#[derive(Debug, Default)]
pub struct Kept(BTreeMap<String, Value>);

impl Kept {
    /// Takes over what a call keeps of its result.
    pub fn take(&mut self, call: &Call, result: &Value) -> Result<()> {
        for (name, pointer) in &call.keep {
            let part = result.pointer(pointer);
            let part = part.with_context(|| format!("nothing at {pointer} in {result}"))?;
            self.0.insert(name.clone(), part.clone());
        }
        Ok(())
    }

    /// The parameters with what was kept put in.
    pub fn fill(&self, value: &Value) -> Result<Value> {
        Ok(match value {
            Value::String(text) => {
                let name = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
                match name {
                    Some(name) => self.0.get(name).context(format!("{name} was not kept"))?.clone(),
                    None => value.clone(),
                }
            }
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.fill(item)).collect::<Result<_>>()?)
            }
            Value::Object(members) => {
                let filled = members.iter().map(|(name, v)| Ok((name.clone(), self.fill(v)?)));
                Value::Object(filled.collect::<Result<_>>()?)
            }
            other => other.clone(),
        })
    }
}

/// Says the first way in which a value is not what is expected, with its place.
pub fn compare(expected: &Value, found: &Value) -> Result<()> {
    compare_at(expected, found, "")
}

fn compare_at(expected: &Value, found: &Value, at: &str) -> Result<()> {
    match (expected, found) {
        (Value::Object(wanted), Value::Object(members)) => {
            for (name, value) in wanted {
                let place = format!("{at}/{name}");
                let member = members.get(name);
                let member = member.with_context(|| format!("{place} is missing in {found}"))?;
                compare_at(value, member, &place)?;
            }
            Ok(())
        }
        (Value::Array(wanted), Value::Array(items)) => {
            if wanted.len() != items.len() {
                bail!("{at} has {} items, not {}: {found}", items.len(), wanted.len());
            }
            let mut pairs = wanted.iter().zip(items).enumerate();
            pairs.try_for_each(|(i, (wanted, item))| compare_at(wanted, item, &format!("{at}/{i}")))
        }
        (Value::String(pattern), Value::String(text)) if fits(pattern, text) => Ok(()),
        _ if expected == found => Ok(()),
        _ => bail!("{at} is {found}, not {expected}"),
    }
}

/// Whether a text fits a pattern in which `*` stands for any text.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_expected_may_be_anything() {
        let found = json!({"a": 1, "list": [{"x": "one two"}, 2], "more": null});
        assert!(compare(&json!({"a": 1, "list": [{"x": "one*"}, 2]}), &found).is_ok());
        for (expected, place) in [
            (json!({"a": 2}), "/a is 1"),
            (json!({"b": 1}), "/b is missing"),
            (json!({"list": [{}]}), "/list has 2 items"),
            (json!({"list": [{"x": "*one"}, 2]}), "/list/0/x"),
        ] {
            let fault = compare(&expected, &found).unwrap_err().to_string();
            assert!(fault.contains(place), "{fault}");
        }
        for (pattern, text, fit) in [
            ("a*b*c", "a b b c", true),
            ("a*b", "ab b", true),
            ("*b*", "abc", true),
            ("a*a", "a", false),
            ("ab", "abc", false),
            ("*", "", true),
        ] {
            assert_eq!(fits(pattern, text), fit, "{pattern} {text}");
        }
    }

    #[test]
    fn what_was_kept_is_put_in() {
        let call: Call = serde_json::from_value(
            json!({"method": "m", "result": {}, "keep": {"id": "/items/0/id"}}),
        )
        .unwrap();
        let mut kept = Kept::default();
        kept.take(&call, &json!({"items": [{"id": 7}]})).unwrap();
        let filled = kept.fill(&json!({"a": ["{id}"], "b": "x{id}"})).unwrap();
        assert_eq!(filled, json!({"a": [7], "b": "x{id}"}));
        assert!(kept.fill(&json!("{other}")).is_err());
    }
}
