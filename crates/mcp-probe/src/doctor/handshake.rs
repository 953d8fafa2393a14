//! The second layer: does a session come about, and in which version?

use super::Diagnosis;
use super::outcome::{explain, failed};
use super::transport::{look_around, old_stream, other_headers};
use crate::client::{Attempt, Context, Session, VERSIONS, Wish, clip, open};
use crate::finding::{Finding, Severity};
use crate::http::{HttpFault, Url};
use crate::limits::seconds;
use crate::link::LinkError;
use crate::survey::version_matrix;
use crate::target::Target;
use std::time::Duration;

/// Starting servers again and again for the version matrix is only done when
/// they start fast.
const FAST: Duration = Duration::from_secs(3);

/// A session, or findings that say why there is none.
pub async fn establish(
    target: &Target,
    context: &Context,
    diagnosis: &mut Diagnosis,
) -> Option<Session> {
    let began = std::time::Instant::now();
    match open(target, context).await {
        Ok(session) => {
            for attempt in &session.attempts {
                diagnosis.step("handshake", attempt.describe());
            }
            let how = format!(
                "{}: {} {} over {} in {}",
                session.opening.method,
                session.peer.era.name(),
                session.version(),
                session.peer.link.transport(),
                seconds(session.opening.elapsed)
            );
            diagnosis.step("handshake", how);
            refusals(&session, target, context, began.elapsed(), diagnosis).await;
            Some(session)
        }
        Err(unopened) => {
            for attempt in &unopened.attempts {
                diagnosis.step("handshake", attempt.describe());
            }
            why_not(&unopened.attempts, target, context, diagnosis).await;
            None
        }
    }
}

/// What the way to a working session shows.
async fn refusals(
    session: &Session,
    target: &Target,
    context: &Context,
    took: Duration,
    diagnosis: &mut Diagnosis,
) {
    let refused: Vec<&Attempt> =
        session.attempts.iter().filter(|attempt| attempt.what.starts_with("initialize")).collect();
    if !refused.is_empty() || took < FAST {
        diagnosis.versions = version_matrix(target, context).await;
    }
    if !refused.is_empty() && session.peer.link.transport() != "http+sse" {
        let finding = Finding::new(
            "version-mismatch",
            Severity::Medium,
            "the server refuses versions instead of answering with its own",
        )
        .seen_all(refused.iter().map(|attempt| attempt.describe()))
        .seen_all(diagnosis.versions.iter().map(|(asked, answered)| format!("{asked}: {answered}")))
        .advise(format!(
            "Ask for {} from the start: --protocol {}.",
            session.version(),
            session.version()
        ));
        diagnosis.add(finding);
    }
    let unknown = !VERSIONS.contains(&session.version());
    if unknown {
        let finding = Finding::new(
            "version-mismatch",
            Severity::Medium,
            "the server answers with a version nobody knows",
        );
        diagnosis.add(finding.seen(session.version().to_string()));
    }
    let invented =
        diagnosis.versions.last().filter(|(_, answered)| answered == "1999-01-01").cloned();
    if invented.is_some() {
        let finding = Finding::new(
            "version-mismatch",
            Severity::Low,
            "the server agrees to a version that does not exist",
        );
        diagnosis.add(finding.at("1999-01-01").seen("asked for 1999-01-01, answered 1999-01-01"));
    }
    let Target::Url(url) = target else { return };
    let old = session.peer.link.transport() == "http+sse";
    let asked_old = url.path.ends_with("/sse") || context.wish == Wish::Pin("2024-11-05".into());
    if old {
        let finding = Finding::new(
            "sse-or-http",
            Severity::Low,
            "this is the old HTTP+SSE transport, not Streamable HTTP",
        )
        .seen("POST to this address is refused; GET opens an event stream that names an endpoint");
        diagnosis.add(finding.advise(format!(
            "Use a client that speaks HTTP+SSE (transport \"sse\") and the address {url}."
        )));
    } else if asked_old && !url.scheme.is_ws() {
        let finding = Finding::new(
            "sse-or-http",
            Severity::Low,
            "this is Streamable HTTP, not the old HTTP+SSE transport",
        )
        .seen("POST is answered here; there is no event stream that names an endpoint");
        diagnosis
            .add(finding.advise("Use a client that speaks Streamable HTTP (transport \"http\")."));
    }
}

async fn why_not(
    attempts: &[Attempt],
    target: &Target,
    context: &Context,
    diagnosis: &mut Diagnosis,
) {
    let Some(last) = attempts.last() else { return };
    let exchange = attempts.iter().rev().find_map(|attempt| attempt.exchange.as_ref());
    // A refused event stream matters only if nothing else was found.
    let telling = |error: &&LinkError| {
        exchange.is_none() || !matches!(error, LinkError::Http(HttpFault::NoEndpoint(_)))
    };
    if let Some(error) = last.error.as_ref().filter(telling) {
        return diagnosis.add(failed(error));
    }
    let Some(exchange) = exchange else { return };
    if let Target::Url(url) = target {
        if exchange.status() == Some(404) && !exchange.is_rpc() {
            return diagnosis.add(look_around(url, context).await);
        }
        if matches!(exchange.status(), Some(401 | 403)) {
            return unauthorized(attempts, url, context, diagnosis).await;
        }
        if matches!(exchange.status(), Some(405 | 415))
            && let Some(reply) = old_stream(url, context).await
        {
            let text = format!("GET {}: {} {}", url.path, reply.head.line, reply.head.media_type());
            diagnosis.add(
                Finding::new(
                    "sse-or-http",
                    Severity::High,
                    "neither POST nor GET leads to a session",
                )
                .seen(text),
            );
        }
    }
    if exchange.error().is_some_and(|error| {
        error.message.to_lowercase().contains("version") || error.code == Some(-32022)
    }) {
        diagnosis.versions = version_matrix(target, context).await;
        let matrix =
            diagnosis.versions.iter().map(|(asked, answered)| format!("{asked}: {answered}"));
        let finding =
            Finding::new("version-mismatch", Severity::High, "no version that both sides know")
                .seen_all(matrix);
        return diagnosis.add(finding);
    }
    if attempts.len() > 1 && attempts.iter().all(is_unknown) {
        return diagnosis.add(not_mcp(attempts));
    }
    match explain(exchange, context) {
        Some(finding) => diagnosis.add(with_hints(finding)),
        None => {
            let text = exchange.describe();
            let stderr = context.trail.stderr_since(exchange.seq_before, 12);
            let rule = if stderr.is_empty() { "error-answer" } else { "error-stderr" };
            let finding =
                Finding::new(rule, Severity::High, "the handshake is answered with an error")
                    .seen(text);
            diagnosis.add(
                finding.seen_all(stderr.iter().map(|line| format!("stderr: {}", clip(line, 200)))),
            );
        }
    }
}

/// Whether a JSON-RPC server said that it has no such method, by the code for it or
/// in words that name the method.
fn is_unknown(attempt: &Attempt) -> bool {
    let Some(error) = attempt.exchange.as_ref().and_then(|exchange| exchange.error()) else {
        return false;
    };
    let method = attempt.what.split(' ').next().unwrap_or_default();
    let named = error.message.contains(method) && error.message.to_lowercase().contains("method");
    error.code == Some(-32601) || named
}

fn not_mcp(attempts: &[Attempt]) -> Finding {
    Finding::new("not-mcp", Severity::High, "this speaks JSON-RPC, and knows no handshake of MCP")
        .seen_all(attempts.iter().map(|attempt| attempt.describe()))
        .advise(
            "Is it another service? Its own methods are called with: call --bare --method NAME.",
        )
}

async fn unauthorized(
    attempts: &[Attempt],
    url: &Url,
    context: &Context,
    diagnosis: &mut Diagnosis,
) {
    let denied = |attempt: &&Attempt| {
        attempt
            .exchange
            .as_ref()
            .is_some_and(|exchange| matches!(exchange.status(), Some(401 | 403)))
    };
    let Some(exchange) = attempts.iter().find(denied).and_then(|attempt| attempt.exchange.as_ref())
    else {
        return;
    };
    if exchange.status() == Some(403) {
        if let Some(finding) = explain(exchange, context) {
            diagnosis.add(
                finding.advise("Foreign Origin or Host, or a token without rights: see the body."),
            );
        }
        return;
    }
    let mut finding = super::outcome::unauthorized(exchange);
    let opened = other_headers(url, context).await;
    if !opened.is_empty() {
        finding = finding.seen(format!("the same token opens it as: {}", opened.join(", ")));
        finding = finding.advise(format!("Send it as {}.", opened[0]));
    }
    diagnosis.add(finding);
}

/// Hints that stderr gives at a start that failed.
fn with_hints(finding: Finding) -> Finding {
    let stderr: Vec<String> =
        finding.evidence.iter().filter(|line| line.starts_with("stderr: ")).cloned().collect();
    let lower = |line: &String| line.to_lowercase();
    let said = |words: &[&str]| {
        stderr.iter().find(|line| words.iter().any(|word| lower(line).contains(word))).cloned()
    };
    let variables = variables(&stderr);
    if let Some(line) =
        said(&["missing", "required", "usage:", "expected argument", "no such option"])
    {
        return finding.advise(format!(
            "It seems an argument or setting is missing: {}",
            clip(line.trim_start_matches("stderr: "), 160)
        ));
    }
    if !variables.is_empty() {
        return finding.advise(format!(
            "It speaks of {}; set it with --env NAME=value.",
            variables.join(", ")
        ));
    }
    if said(&["eaddrinuse", "address already in use"]).is_some() {
        return finding.advise("The port it wants is taken.");
    }
    if said(&["cannot find module", "modulenotfound", "no module named"]).is_some() {
        return finding.advise("It is not fully installed.");
    }
    if finding.rule == "no-answer" && stderr.is_empty() && finding.advice.is_none() {
        return finding.advise("It says nothing on stderr either. Does it speak MCP over these streams, or does it want a flag such as --stdio?");
    }
    finding
}

/// Names of environment variables in texts.
pub fn variables(lines: &[String]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in
        lines.iter().flat_map(|line| line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')))
    {
        let shouts = word.len() > 4
            && word.contains('_')
            && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        if shouts && !found.iter().any(|known| known == word) {
            found.push(word.to_string());
        }
    }
    found
}
