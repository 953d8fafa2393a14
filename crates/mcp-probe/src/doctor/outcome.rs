//! From how one request ended to the rule that explains it.

use crate::client::{Context, Exchange, Expiry, Outcome, clip, clip_bytes};
use crate::finding::{Finding, Severity};
use crate::http::HttpFault;
use crate::json::ParseErrorKind;
use crate::limits::seconds;
use crate::link::{Closure, HttpEnd, LinkError};
use crate::message::Message;

/// The finding behind an exchange that did not end with a result.
pub fn explain(exchange: &Exchange, context: &Context) -> Option<Finding> {
    let finding = match &exchange.outcome {
        Outcome::Result(_) => return None,
        Outcome::Error(_) => error(exchange)?,
        Outcome::Invalid(message) => invalid(message),
        Outcome::Expired(Expiry::Idle) => idle(exchange),
        Outcome::Expired(Expiry::Total) => total(exchange),
        Outcome::Closed(closure) => closed(closure),
        Outcome::Bare(end, _) => bare(exchange, end),
        Outcome::Flood(count) => {
            Finding::new("flood", Severity::High, "the server sends other messages without end")
                .seen(format!("{count} messages came, none of them the answer"))
        }
        Outcome::Oversize => {
            Finding::new("long-message", Severity::High, "a message is longer than the limit")
                .seen(format!("limit {} MiB", context.limits.max_message >> 20))
        }
        Outcome::Failed(error) => failed(error),
    };
    let finding = finding.at(&exchange.method);
    let stderr = context.trail.stderr_since(exchange.seq_before, 8);
    Some(finding.seen_all(stderr.iter().map(|line| format!("stderr: {}", clip(line, 200)))))
}

fn error(exchange: &Exchange) -> Option<Finding> {
    let status = exchange.status().filter(|status| *status >= 400)?;
    let error = exchange.error()?;
    // A modern 404 with a JSON-RPC body means an unknown method, not an unknown path.
    let finding = match status {
        401 | 407 => unauthorized(exchange),
        403 => Finding::new("http-status", Severity::High, "the server forbids the request (403)"),
        406 => Finding::new(
            "strict-accept",
            Severity::Medium,
            "the server refuses what the client accepts (406)",
        ),
        _ => return None,
    };
    Some(finding.seen(format!("body: {}", clip(&error.json.to_string(), 200))))
}

/// Which scheme is wanted, word for word.
pub fn unauthorized(exchange: &Exchange) -> Finding {
    let headers = exchange.http.as_ref().map_or(&[][..], |http| &http.headers);
    let challenge = crate::http::find_header(headers, "www-authenticate");
    let finding = Finding::new("auth-401", Severity::High, "the server wants credentials (401)");
    let finding = match challenge {
        Some(challenge) => finding.seen(format!("WWW-Authenticate: {challenge}")),
        None => finding.seen("there is no WWW-Authenticate header to say which"),
    };
    let scheme = challenge.and_then(|text| text.split(' ').next()).unwrap_or("Bearer");
    match scheme.to_ascii_lowercase().as_str() {
        "bearer" => {
            finding.advise("Put the token into a variable and name it: --bearer-env VARIABLE.")
        }
        _ => finding
            .advise(format!("Send the credentials: --header \"Authorization: {scheme} ...\".")),
    }
}

fn invalid(message: &Message) -> Finding {
    let seen = format!("{} bytes, beginning {}", message.raw.len(), clip_bytes(&message.raw, 100));
    match message.fault {
        Some(ParseErrorKind::TooDeep | ParseErrorKind::TooMany) => Finding::new(
            "nested-too-deep",
            Severity::High,
            "the answer is nested deeper, or holds more values, than a parser should take",
        ),
        Some(ParseErrorKind::NotUtf8) => {
            Finding::new("invalid-utf8", Severity::High, "the answer is not UTF-8")
        }
        Some(ParseErrorKind::Truncated) => {
            Finding::new("message-cut", Severity::High, "the answer is cut off")
        }
        // The stream's cutter stops at the depth it can follow.
        Some(ParseErrorKind::Unexpected)
            if message.raw.windows(64).any(|part| part.iter().all(|byte| *byte == b'[')) =>
        {
            Finding::new(
                "nested-too-deep",
                Severity::High,
                "the answer is nested deeper than a parser should take",
            )
        }
        _ => Finding::new("invalid-message", Severity::High, "the answer is no JSON-RPC message"),
    }
    .seen(seen)
}

fn idle(exchange: &Exchange) -> Finding {
    let waited = format!("silence for {} (idle limit)", seconds(exchange.limits.idle));
    if let Some(unfinished) = &exchange.unfinished {
        return Finding::new("open-stream", Severity::High, "the answer is there, but its event or body is never ended")
            .seen(format!("held back: {}", clip_bytes(unfinished, 120)))
            .seen(waited)
            .advise("The server must end each event with an empty line, or the body by its length, and flush.");
    }
    if exchange.status().is_some() {
        return Finding::new(
            "open-stream",
            Severity::High,
            "the server opens an answer and sends nothing in it",
        )
        .seen(format!("HTTP {} came, then {waited}", exchange.status().unwrap_or(0)));
    }
    let mut finding = Finding::new("no-answer", Severity::High, "no answer").seen(waited);
    if !exchange.side.is_empty() {
        finding = finding.seen_all(
            exchange.side.iter().take(4).map(|line| format!("instead: {}", clip_bytes(line, 120))),
        );
    }
    finding
}

fn total(exchange: &Exchange) -> Finding {
    let limit = format!("nothing within {} (total limit)", seconds(exchange.limits.total));
    if exchange.comments as usize > exchange.unrelated {
        return Finding::new(
            "endless-stream",
            Severity::High,
            "the stream is kept alive and never answers",
        )
        .seen(format!("{} keep-alive comments or empty events", exchange.comments))
        .seen(limit);
    }
    if exchange.unrelated > 0 {
        return Finding::new(
            "flood",
            Severity::High,
            "the server sends other messages and not the answer",
        )
        .seen(format!("{} messages", exchange.unrelated))
        .seen(limit);
    }
    Finding::new("no-answer", Severity::High, "bytes came, but no answer").seen(limit)
}

fn closed(closure: &Closure) -> Finding {
    match &closure.cut {
        Some(cut) => Finding::new(
            "message-cut",
            Severity::High,
            "the connection ends in the middle of a message",
        )
        .seen(format!("last bytes: {}", clip_bytes(cut, 120)))
        .seen(closure.why.clone()),
        None => Finding::new("no-answer", Severity::High, "the connection ends before an answer")
            .seen(closure.why.clone()),
    }
}

fn bare(exchange: &Exchange, end: &HttpEnd) -> Finding {
    if let Some(fault) = &end.fault {
        return http_fault(fault);
    }
    if let Some(unfinished) = &end.unfinished {
        return Finding::new(
            "open-stream",
            Severity::High,
            "the stream ends before its last event is finished",
        )
        .seen(format!("unfinished: {}", clip_bytes(unfinished, 120)));
    }
    let status = exchange.status().unwrap_or(0);
    match status {
        401 | 407 => unauthorized(exchange),
        404 => Finding::new("http-404", Severity::High, "there is nothing at this path (404)"),
        405 | 415 | 501 => Finding::new(
            "http-status",
            Severity::High,
            format!("the address does not take POST with JSON ({status})"),
        ),
        406 => Finding::new(
            "strict-accept",
            Severity::Medium,
            "the server refuses what the client accepts (406)",
        ),
        200..=299 => Finding::new(
            "no-answer",
            Severity::High,
            format!("HTTP {status}, but no message in it"),
        ),
        _ => {
            Finding::new("http-status", Severity::High, format!("HTTP {status} without a message"))
        }
    }
}

/// Faults of HTTP itself.
pub fn http_fault(fault: &HttpFault) -> Finding {
    let text = fault.to_string();
    let (rule, title) = match fault {
        HttpFault::Broken(why) if why.contains("not HTTP") => {
            ("not-http", "something else than HTTP speaks there")
        }
        HttpFault::Broken(_) => ("message-cut", "the answer breaks off"),
        HttpFault::RedirectLoop(_) => ("redirect-loop", "the server redirects in a circle"),
        HttpFault::ForeignRedirect(_) => {
            ("redirect-loop", "the server redirects to another origin; this is not followed")
        }
        HttpFault::ForeignEndpoint(_) => (
            "foreign-endpoint",
            "the event stream names an endpoint at another origin; it is refused",
        ),
        HttpFault::NoEndpoint(_) => ("sse-or-http", "no event stream of the old transport"),
    };
    Finding::new(rule, Severity::High, title).seen(text)
}

/// No connection, or it takes no bytes.
pub fn failed(error: &LinkError) -> Finding {
    match error {
        LinkError::Http(fault) => http_fault(fault),
        LinkError::Spawn(program, _) => Finding::new("no-answer", Severity::High, "the command cannot be started")
            .seen(error.to_string())
            .advise(format!("Is {program:?} installed and in PATH? Clients often have another PATH than your shell; give the full path.")),
        LinkError::WebSocket(_) => Finding::new("no-answer", Severity::High, "no web socket").seen(error.to_string()),
        _ => Finding::new("no-answer", Severity::High, "no connection").seen(error.to_string()),
    }
}
