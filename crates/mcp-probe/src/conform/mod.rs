//! Strict conformance check: where answers leave the published schema of their protocol
//! version, and which of the official clients refuse them for it. The checks follow what
//! the clients do, so that a verdict made of them is the clients' verdict.

mod envelope;
mod lists;
mod published;

use crate::client::MODERN;
use crate::finding::{Finding, Severity};
use crate::json::Json;
use crate::obj;
pub use envelope::{check_envelope, check_http, check_redirects, check_writing};
use published::{Reader, Violation, violations};

/// The version whose models both clients apply to every answer before the modern era.
const LEGACY_MODELS: &str = "2025-11-25";

/// The official clients, as a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Clients {
    /// The Python SDK, `mcp` 2.
    pub python: bool,
    /// The TypeScript SDK, `@modelcontextprotocol/sdk` 1.
    pub typescript: bool,
}

impl Clients {
    /// None of them.
    pub const NONE: Clients = Clients { python: false, typescript: false };
    /// Both.
    pub const BOTH: Clients = Clients { python: true, typescript: true };
    /// Only the Python SDK.
    pub const PYTHON: Clients = Clients { python: true, typescript: false };
    /// Only the TypeScript SDK.
    pub const TYPESCRIPT: Clients = Clients { python: false, typescript: true };

    /// Whether there is any.
    pub fn any(self) -> bool {
        self.python || self.typescript
    }

    /// Either's.
    pub fn and(self, other: Clients) -> Clients {
        Clients {
            python: self.python || other.python,
            typescript: self.typescript || other.typescript,
        }
    }

    /// Their names.
    pub fn names(self) -> Vec<&'static str> {
        [(self.python, "Python mcp"), (self.typescript, "TypeScript SDK")]
            .into_iter()
            .filter_map(|(is, name)| is.then_some(name))
            .collect()
    }
}

/// One deviation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The request whose answer has it.
    pub method: String,
    /// JSON pointer into the answer, its result, headers or writing.
    pub path: String,
    /// What is wrong there.
    pub what: String,
    /// Who refuses the answer for it.
    pub refused_by: Clients,
}

impl Fault {
    /// In one line: place, fault, who refuses.
    pub fn describe(&self) -> String {
        let names = self.refused_by.names();
        let who = match names.is_empty() {
            true => "both official clients take it".to_string(),
            false => format!("refused by {}", names.join(" and ")),
        };
        format!("{} {} {} ({who})", self.method, self.path, self.what)
    }

    /// As JSON.
    pub fn to_json(&self) -> Json {
        obj! {
            "method": &self.method,
            "path": &self.path,
            "what": &self.what,
            "refusedBy": self.refused_by.names(),
        }
    }
}

/// The definition of the result of a method.
fn definition(method: &str) -> Option<&'static str> {
    Some(match method {
        "initialize" => "InitializeResult",
        "server/discover" => "DiscoverResult",
        "tools/list" => "ListToolsResult",
        "resources/list" => "ListResourcesResult",
        "resources/templates/list" => "ListResourceTemplatesResult",
        "prompts/list" => "ListPromptsResult",
        _ => return None,
    })
}

/// Deviations of the result of a method, as it was answered in a session of `version`.
/// Paths point into the result.
pub fn check_result(method: &str, version: &str, result: &Json) -> Vec<Fault> {
    let Some(name) = definition(method) else { return Vec::new() };
    let modern = version == MODERN;
    let mut faults = Vec::new();
    for (reader, models, who) in [
        (Reader::Specification, version, Clients::NONE),
        (Reader::Python, if modern { MODERN } else { LEGACY_MODELS }, Clients::PYTHON),
        // This client has no modern era.
        (Reader::TypeScript, LEGACY_MODELS, Clients::TYPESCRIPT),
    ] {
        if modern && reader == Reader::TypeScript {
            continue;
        }
        for violation in violations(models, name, result, "", reader) {
            merge(&mut faults, method, violation, who);
        }
    }
    for (path, what, who) in lists::beyond_schema(method, modern, result) {
        merge(&mut faults, method, Violation { path, what }, who);
    }
    faults
}

/// Two readers at one place make one fault.
fn merge(faults: &mut Vec<Fault>, method: &str, violation: Violation, who: Clients) {
    match faults.iter_mut().find(|fault| fault.path == violation.path) {
        Some(fault) => fault.refused_by = fault.refused_by.and(who),
        None => faults.push(Fault {
            method: method.into(),
            path: violation.path,
            what: violation.what,
            refused_by: who,
        }),
    }
}

/// Deviations of a whole message that answers a method: its envelope and its result.
/// Paths point into the message.
pub fn check_answer(method: &str, version: &str, message: &Json) -> Vec<Fault> {
    let mut faults = check_envelope(method, message);
    if let Some(result) = message.get("result") {
        let inner = check_result(method, version, result);
        faults.extend(
            inner
                .into_iter()
                .map(|fault| Fault { path: format!("/result{}", fault.path), ..fault }),
        );
    }
    faults
}

/// The finding made of deviations: one that fails a run if a client refuses, else a note.
pub fn finding(faults: &[Fault]) -> Option<Finding> {
    let refused = faults.iter().fold(Clients::NONE, |all, fault| all.and(fault.refused_by));
    let first = faults.iter().find(|fault| fault.refused_by.any()).or(faults.first())?;
    let more =
        if faults.len() > 1 { format!(" (and {} more)", faults.len() - 1) } else { String::new() };
    let what = format!("{} {}{more}", place_of(first), first.what);
    let finding = match refused.any() {
        true => Finding::new(
            "refused-shape",
            Severity::High,
            format!(
                "{} refuse{} this: {what}",
                refused.names().join(" and "),
                if refused == Clients::BOTH { "" } else { "s" }
            ),
        ),
        false => Finding::new(
            "odd-shape",
            Severity::Info,
            format!("not as the specification says: {what}"),
        ),
    };
    let finding = finding.at(&first.method).seen_all(faults.iter().take(12).map(Fault::describe));
    Some(finding.advise(advice(first)))
}

fn place_of(fault: &Fault) -> String {
    match fault.path.as_str() {
        "" => format!("the answer to {}", fault.method),
        "line" => "the answer".into(),
        "body" => "the body of the answer".into(),
        "status" => "the HTTP status".into(),
        path => path.to_string(),
    }
}

fn advice(fault: &Fault) -> &'static str {
    let last = fault.path.rsplit('/').next().unwrap_or_default();
    match last {
        "line" => {
            "Write each message as one JSON object on one line, in UTF-8 without a byte order mark, ended by a line feed and flushed; all else goes to stderr."
        }
        "Content-Type" => {
            "Answer requests with Content-Type: application/json (one message) or text/event-stream (events)."
        }
        "body" => {
            "Send one JSON message and nothing else, or label an event stream as text/event-stream."
        }
        "status" if fault.what.contains(" to ") => "Give clients the address that it leads to.",
        "id" => "Send the id back as it came, with its type.",
        "" => "Answer each request with one JSON-RPC object.",
        "inputSchema" | "type" if fault.path.contains("inputSchema") => {
            "Every tool needs inputSchema with \"type\": \"object\" at its root; a tool without parameters has {\"type\": \"object\", \"properties\": {}}. If a library makes the schema, its version does not match that of the SDK."
        }
        "serverInfo" => "Answer initialize with serverInfo: {\"name\": ..., \"version\": ...}.",
        "protocolVersion" => {
            "Answer initialize with the protocolVersion that was asked for, or with the newest that you know."
        }
        "capabilities" => {
            "Answer initialize with capabilities, at least {\"tools\": {}} if there are tools."
        }
        "jsonrpc" => "Every message must carry \"jsonrpc\": \"2.0\".",
        "nextCursor" => "Leave nextCursor out on the last page; null is no cursor.",
        _ => "Mend it at the place named; a list is refused as a whole for one bad entry.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(method: &str, text: &str) -> Vec<(String, Clients)> {
        let result = crate::json::parse(text.as_bytes()).unwrap();
        let faults = check_result(method, "2025-11-25", &result);
        faults.into_iter().map(|fault| (fault.path, fault.refused_by)).collect()
    }

    #[test]
    fn a_good_list_has_no_faults() {
        let text = r#"{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}}]}"#;
        assert_eq!(faults("tools/list", text), []);
    }

    #[test]
    fn schemas_without_a_type_are_refused_by_both() {
        let text = r#"{"tools":[{"name":"a","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#"}}]}"#;
        assert_eq!(
            faults("tools/list", text),
            [("/tools/0/inputSchema/type".into(), Clients::BOTH)]
        );
        let text = r#"{"tools":[{"name":"a","parameters":{}}]}"#;
        assert_eq!(faults("tools/list", text), [("/tools/0/inputSchema".into(), Clients::BOTH)]);
    }

    #[test]
    fn null_stands_for_absent_in_one_client_only() {
        let text = r#"{"tools":[],"nextCursor":null}"#;
        assert_eq!(faults("tools/list", text), [("/nextCursor".into(), Clients::TYPESCRIPT)]);
    }

    #[test]
    fn a_greeting_without_its_parts() {
        let all = faults("initialize", "{}");
        let paths: Vec<&str> = all.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, ["/capabilities", "/protocolVersion", "/serverInfo"]);
    }

    #[test]
    fn hostile_results_end() {
        let deep = format!("{{\"tools\":{}{}}}", "[".repeat(200), "]".repeat(200));
        assert!(!faults("tools/list", &deep).is_empty());
        let many = format!("{{\"tools\":[{}]}}", vec!["1"; 100_000].join(","));
        assert!(faults("tools/list", &many).len() <= 41);
    }
}

#[cfg(test)]
#[path = "oracle.rs"]
mod oracle;
