//! The second layer: does a session come about, and in which version?

use super::outcome::{explain, failed, quoted};
use super::transport::{look_around, old_stream, other_headers, speaks_tls};
use super::{Diagnosis, silence, verdict};
use crate::client::{Attempt, Context, Outcome, Session, Wish, open};
use crate::conform::Clients;
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
    let opened = match target {
        Target::Stdio(command) => {
            tokio::select! {
                opened = open(target, context) => opened,
                finding = silence::explain(command, context) => {
                    diagnosis.step("handshake", format!("silence for {}", seconds(began.elapsed())));
                    diagnosis.add(finding);
                    return None;
                }
            }
        }
        _ => open(target, context).await,
    };
    match opened {
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
            verdict::judge_opening(&session, diagnosis);
            refusals(&session, target, context, session.opening.elapsed, diagnosis).await;
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
        // Official clients begin with the newest version and take the refusal for the end.
        let title = "the server refuses versions instead of answering with its own";
        diagnosis.verdict.refuse(Clients::BOTH, title);
        let finding = Finding::new("version-mismatch", Severity::Medium, title)
            .seen_all(refused.iter().map(|attempt| attempt.describe()))
            .seen_all(
                diagnosis.versions.iter().map(|(asked, answered)| format!("{asked}: {answered}")),
            )
            .advise(format!(
                "Ask for {} from the start: --protocol {}.",
                session.version(),
                session.version()
            ));
        diagnosis.add(finding);
    }
    let invented =
        diagnosis.versions.last().filter(|(_, answered)| answered == "1999-01-01").cloned();
    if invented.is_some() {
        let finding = Finding::new(
            "version-mismatch",
            Severity::Info,
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
        if matches!(exchange.outcome, Outcome::Bare(..))
            && exchange.status().is_none()
            && speaks_tls(url, context).await
        {
            let finding = Finding::new("tls", Severity::High, "this port speaks TLS")
                .seen(exchange.describe());
            return diagnosis.add(finding.advise("Use https:// in place of http://."));
        }
        if exchange.status() == Some(404) && !exchange.is_rpc() {
            return diagnosis.add(look_around(url, context).await);
        }
        if matches!(exchange.status(), Some(401 | 403)) {
            return unauthorized(attempts, url, context, diagnosis).await;
        }
        if matches!(exchange.status(), Some(405 | 415))
            && let Some(reply) =
                old_stream(url, context).await.filter(crate::doctor::web::Reply::is_old_sse)
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
        Some(finding) => diagnosis.add(with_hint(finding, target)),
        None => {
            let text = exchange.describe();
            let stderr = context.trail.stderr_since(exchange.seq_before, 400);
            let rule = if stderr.is_empty() { "error-answer" } else { "error-stderr" };
            let finding =
                Finding::new(rule, Severity::High, "the handshake is answered with an error")
                    .seen(text);
            diagnosis.add(finding.seen_all(quoted(&stderr)));
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
            diagnosis.add(finding);
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

/// A silent start has nothing to go by but a guess.
fn with_hint(finding: Finding, target: &Target) -> Finding {
    let silent = finding.rule == "no-answer" && finding.advice.is_none();
    let said = finding
        .evidence
        .iter()
        .any(|line| line.starts_with("stderr: ") || line.starts_with("stdout: "));
    match (silent, target) {
        (true, Target::Stdio(_)) if !said => finding.advise("It says nothing on stderr either. Does it speak MCP over these streams, or does it want a flag such as --stdio? If it only starts slowly: --timeout-idle 60s."),
        (true, Target::Stdio(_)) => finding.advise("What it says stands above. If it only starts slowly: --timeout-idle 60s."),
        (true, _) => finding.advise("The address takes connections and does not answer. Is it the right port and path? If it only answers slowly: --timeout-idle 60s."),
        _ => finding,
    }
}
