//! Why does a server not work? Three layers, transport first, then handshake,
//! then methods; it stops at the first broken one and shows the evidence.

mod cause;
mod handshake;
mod methods;
mod outcome;
mod recorded;
mod silence;
mod transport;
mod verdict;
mod wording;

/// Plain requests, for other verbs that look at listeners.
pub mod web {
    pub use super::transport::{Reply, ask, hello, post_headers};
}

use crate::client::Context;
use crate::conform::{Clients, Fault};
use crate::finding::{Finding, Severity};
use crate::json::Json;
use crate::obj;
use crate::target::Target;
pub use recorded::examine as examine_recording;
pub use verdict::Verdict;

/// A rule of the doctor.
pub struct Rule {
    /// Name.
    pub name: &'static str,
    /// The symptom it explains.
    pub about: &'static str,
}

/// All rules.
pub const RULES: [Rule; 45] = [
    Rule {
        name: "no-answer",
        about: "nothing answers: nothing listens, the process died, or it is silent",
    },
    Rule {
        name: "refused-shape",
        about: "an answer whose envelope, members, writing or headers official clients refuse",
    },
    Rule { name: "odd-shape", about: "the same, but all clients take it" },
    Rule { name: "wrong-framing", about: "messages framed or encoded as clients do not read them" },
    Rule { name: "unflushed", about: "the answer stays in a buffer until the process ends" },
    Rule { name: "is-http", about: "an HTTP server is spoken to over standard streams" },
    Rule { name: "not-a-server", about: "a program that talks to people" },
    Rule {
        name: "dies-later",
        about: "the process ends, or is silent, in the middle of a session",
    },
    Rule { name: "session-lost", about: "the server forgets the session that it issued" },
    Rule {
        name: "no-handshake",
        about: "only the modern era is there, which older clients do not know",
    },
    Rule { name: "tls", about: "encryption or certificates stand in the way" },
    Rule { name: "slow", about: "answers that take long, or come all at once at the end" },
    Rule { name: "big-list", about: "a list that fills much of a model's context" },
    Rule { name: "not-http", about: "something else than HTTP speaks at the address" },
    Rule { name: "not-mcp", about: "JSON-RPC is spoken, and no handshake of MCP is known" },
    Rule { name: "http-404", about: "nothing at this path; the usual paths are tried" },
    Rule { name: "http-status", about: "an HTTP status that stands in the way" },
    Rule { name: "auth-401", about: "credentials are wanted" },
    Rule { name: "sse-or-http", about: "the old event stream and Streamable HTTP are mixed up" },
    Rule {
        name: "foreign-endpoint",
        about: "the old event stream names an endpoint at another origin",
    },
    Rule { name: "redirect-loop", about: "redirects that do not end, or leave the origin" },
    Rule { name: "strict-accept", about: "refuses unless Accept names both media types" },
    Rule {
        name: "open-stream",
        about: "the answer is there, but its event or stream is never ended",
    },
    Rule { name: "endless-stream", about: "the stream is kept alive and never answers" },
    Rule { name: "version-mismatch", about: "the version is refused, or another one is answered" },
    Rule { name: "notification-answered", about: "notifications are answered" },
    Rule { name: "notification-with-id", about: "the client sent a notification with an id" },
    Rule { name: "empty-tools", about: "the tool list is empty" },
    Rule { name: "error-stderr", about: "an error without a reason; the reason is on stderr" },
    Rule { name: "error-answer", about: "a basic method fails" },
    Rule { name: "message-cut", about: "a message is cut off, or big ones are not read" },
    Rule { name: "long-message", about: "a message longer than many clients take" },
    Rule { name: "flood", about: "other messages without end instead of the answer" },
    Rule { name: "out-of-order", about: "answers leave in another order than the requests came" },
    Rule { name: "wrong-id", about: "answers do not carry the id of the request" },
    Rule { name: "invalid-utf8", about: "text that is not UTF-8" },
    Rule { name: "nested-too-deep", about: "JSON nested so deep that parsers fail" },
    Rule { name: "invalid-message", about: "an answer that is no JSON-RPC message" },
    Rule { name: "endless-pages", about: "a list whose pages lead in a circle" },
    Rule { name: "noise-on-stdout", about: "other text among the messages" },
    Rule { name: "odd-json", about: "duplicate names, or numbers that lose digits" },
    Rule { name: "not-implemented", about: "a capability is claimed and not served" },
    Rule { name: "unadvertised", about: "a method works whose capability is not claimed" },
    Rule { name: "duplicate-names", about: "a list holds a name twice" },
    Rule { name: "unstable-list", about: "a list changes by itself" },
];

/// What was found out.
#[derive(Debug, Default)]
pub struct Diagnosis {
    /// Steps taken, by layer, with what came of each.
    pub steps: Vec<(&'static str, String)>,
    /// Findings.
    pub findings: Vec<Finding>,
    /// Version asked for and what was answered.
    pub versions: Vec<(String, String)>,
    /// What the official clients make of it.
    pub verdict: Verdict,
    /// Where answers leave the specification.
    pub deviations: Vec<Fault>,
    /// Whether it is of a server, not of a recording, which no client judges.
    pub live: bool,
}

impl Diagnosis {
    fn step(&mut self, layer: &'static str, text: impl Into<String>) {
        self.steps.push((layer, text.into()));
    }

    /// Adds a finding; the same rule at the same place counts once.
    fn add(&mut self, finding: Finding) {
        let same = |known: &Finding| known.rule == finding.rule && known.place == finding.place;
        if !self.findings.iter().any(same) {
            self.findings.push(finding);
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> Json {
        let step = |(layer, text): &(&str, String)| obj! { "layer": *layer, "result": text };
        let version =
            |(asked, answered): &(String, String)| obj! { "asked": asked, "answered": answered };
        obj! {
            "findings": crate::finding::to_json(&self.findings),
            "steps": Json::Array(self.steps.iter().map(step).collect()),
            "versions": Json::Array(self.versions.iter().map(version).collect()),
        }
        .with_some("verdict", self.live.then(|| self.verdict.to_json()))
        .with("deviations", Json::Array(self.deviations.iter().map(Fault::to_json).collect()))
    }
}

/// Examines a live server.
pub async fn examine(target: &Target, context: &Context, big_messages: bool) -> Diagnosis {
    let mut diagnosis = Diagnosis { live: true, ..Diagnosis::default() };
    let reached = match target {
        Target::Url(url) => transport::reachable(url, context, &mut diagnosis).await,
        _ => true,
    };
    let session = match reached {
        true => handshake::establish(target, context, &mut diagnosis).await,
        false => None,
    };
    match session {
        Some(mut session) => {
            methods::examine(&mut session, target, context, big_messages, &mut diagnosis).await;
            session.close().await;
            verdict::other_era(&session, target, context, &mut diagnosis).await;
            if let Target::Url(url) = target
                && !url.scheme.is_ws()
                && !diagnosis.is_slow()
            {
                transport::manners(url, context, &mut diagnosis).await;
            }
        }
        None => {
            let why = diagnosis.findings.iter().max_by_key(|finding| finding.severity);
            let why = why.map_or("no session".to_string(), |finding| finding.title.clone());
            diagnosis.verdict.refuse(Clients::BOTH, &why);
        }
    }
    crate::finding::sort(&mut diagnosis.findings);
    diagnosis
}

impl Diagnosis {
    /// Whether answers take so long that nothing is asked but what is needed.
    fn is_slow(&self) -> bool {
        self.findings.iter().any(|finding| finding.rule == "slow")
    }

    /// Adds a finding that stops both official clients.
    fn stops(&mut self, finding: Finding) {
        if finding.severity > Severity::Info {
            self.verdict.refuse(Clients::BOTH, &finding.title);
        }
        self.add(finding);
    }
}

#[cfg(test)]
mod tests {
    use super::RULES;
    use crate::mock::MOCKS;

    #[test]
    fn every_mock_shows_a_rule_that_exists() {
        for mock in MOCKS.iter().filter(|mock| !mock.rule.is_empty()) {
            let verb = matches!(mock.rule, "scan" | "lint" | "errors");
            let known = RULES.iter().any(|rule| rule.name == mock.rule);
            assert!(verb || known, "{}: {}", mock.name, mock.rule);
        }
    }

    #[test]
    fn rules_have_names_of_their_own() {
        for (index, rule) in RULES.iter().enumerate() {
            assert!(!RULES[..index].iter().any(|other| other.name == rule.name), "{}", rule.name);
        }
    }
}
