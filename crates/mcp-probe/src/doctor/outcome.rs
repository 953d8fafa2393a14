//! From how one request ended to the rule that explains it.

use super::cause::{self, Cause};
use crate::client::{Context, Exchange, Expiry, Outcome, clip, clip_bytes};
use crate::finding::{Finding, Severity};
use crate::http::{ConnectError, HttpFault};
use crate::json::ParseErrorKind;
use crate::limits::seconds;
use crate::link::{Closure, HttpEnd, LinkError};
use crate::message::Message;

/// The finding behind an exchange that did not end with a result.
pub fn explain(exchange: &Exchange, context: &Context) -> Option<Finding> {
    let finding = match &exchange.outcome {
        Outcome::Result(_) => return None,
        Outcome::Error(_) => error(exchange)?,
        Outcome::Invalid(message) => {
            refused_in_words(exchange, message).unwrap_or_else(|| invalid(message))
        }
        Outcome::Expired(Expiry::Idle) => idle(exchange),
        Outcome::Expired(Expiry::Total) => total(exchange),
        Outcome::Misaddressed(message) => misaddressed(message),
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
    let opening = matches!(exchange.method.as_str(), "initialize" | "server/discover" | "raw");
    let finding = match &exchange.outcome {
        Outcome::Closed(closure) if !opening && closure.cut.is_none() && closure.code == Some(0) => {
            Finding { title: format!("it ends in the middle of the session, before it answers {}", exchange.method), ..finding }
                .advise("A server must go on reading until its input is closed: does it serve only one message, or only for a moment?")
        }
        _ => finding,
    };
    let stderr = context.trail.stderr_since(exchange.seq_before, MOST_STDERR);
    let ended =
        matches!(exchange.outcome, Outcome::Closed(_) | Outcome::Expired(_) | Outcome::Failed(_));
    let side: Vec<String> =
        exchange.side.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    let said: Vec<String> = stderr.iter().chain(&side).cloned().collect();
    let gone = matches!(exchange.outcome, Outcome::Closed(_) | Outcome::Failed(_));
    let found = if gone { cause::of_ended(&said) } else { cause::of(&said) };
    let finding = match found.filter(|_| ended && exchange.http.is_none()) {
        Some(cause) => caused(finding, cause),
        None => finding,
    };
    let shown =
        side.iter().take(6).filter(|_| ended).map(|line| format!("stdout: {}", clip(line, 160)));
    Some(finding.seen_all(shown).seen_all(quoted(&stderr)))
}

/// The most lines of an error output that are looked through.
const MOST_STDERR: usize = 2000;

/// The event steps back behind its cause.
pub fn caused(mut finding: Finding, cause: Cause) -> Finding {
    let event = std::mem::replace(&mut finding.title, cause.title);
    finding.evidence.insert(0, event);
    finding.advise(cause.advice)
}

/// Lines of an error output as evidence: some runtimes put the reason first, some last.
pub fn quoted(lines: &[String]) -> Vec<String> {
    const FIRST: usize = 6;
    const LAST: usize = 8;
    let show = |line: &String| format!("stderr: {}", clip(line, 200));
    if lines.len() <= FIRST + LAST + 1 {
        return lines.iter().map(show).collect();
    }
    let left = lines.len() - FIRST - LAST;
    let mut out: Vec<String> = lines[..FIRST].iter().map(show).collect();
    out.push(format!("stderr: ... {left} more lines ..."));
    out.extend(lines[lines.len() - LAST..].iter().map(show));
    out
}

fn misaddressed(message: &Message) -> Finding {
    let id = message.id().map_or("without an id".to_string(), |id| {
        format!("with the id {}", clip(&id.to_string(), 60))
    });
    Finding::new(
        "wrong-id",
        Severity::High,
        format!("it answers {id}, not with that of the request"),
    )
    .seen(format!("answered: {}", clip_bytes(&message.raw, 160)))
    .advise("The id must come back as it was sent, with its type.")
}

/// A status that says no, with JSON that is no message: the status counts.
fn refused_in_words(exchange: &Exchange, message: &Message) -> Option<Finding> {
    let status = exchange.status().filter(|status| *status >= 400)?;
    let body = String::from_utf8_lossy(&message.raw).into_owned();
    let seen = format!("body: {}", clip(&body, 160));
    Some(by_status(exchange, status, &body).seen(seen))
}

fn error(exchange: &Exchange) -> Option<Finding> {
    let status = exchange.status().filter(|status| *status >= 400)?;
    let error = exchange.error()?;
    // A modern 404 with a JSON-RPC body means an unknown method, not an unknown path.
    let finding = match status {
        401 | 407 => unauthorized(exchange),
        403 => forbidden(&error.json.to_string()),
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

/// Who is not let in, and what to send.
fn forbidden(body: &str) -> Finding {
    let lower = body.to_lowercase();
    let key =
        ["x-api-key", "api-key", "apikey", "api_key"].into_iter().find(|name| lower.contains(name));
    let (title, advice) = match key {
        Some(_) => (
            "the server wants an API key (403)",
            "Send it: --header \"X-API-Key: ...\" (\"headers\" in a client's configuration).",
        ),
        None if lower.contains("origin") => (
            "the server refuses the Origin (403)",
            "Leave the Origin header out, or allow it in the server's settings.",
        ),
        None if lower.contains("host") => (
            "the server refuses the Host (403)",
            "Use the name it knows itself by, or allow this one in its settings (allowed hosts).",
        ),
        None => (
            "the server forbids the request (403)",
            "A token without rights, a foreign Origin or Host, or a firewall before it: see the body.",
        ),
    };
    Finding::new("http-status", Severity::High, title).advise(advice)
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
        .seen(format!("HTTP {} came, then {waited}", exchange.status().unwrap_or(0)))
        .advise("Something holds the stream back. A proxy in between must not buffer it (nginx: proxy_buffering off; or the header X-Accel-Buffering: no), and the server must flush each event.");
    }
    let mut finding = Finding::new("no-answer", Severity::High, "no answer").seen(waited);
    let longer = format!(
        "If it needs long, wait longer: --timeout-idle {}s (official clients wait 60 s).",
        exchange.limits.idle.as_secs().max(15) * 3
    );
    finding = match exchange.method.as_str() {
        "initialize" | "server/discover" => finding,
        _ => finding.advise(longer),
    };
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
        None => {
            let title = match (closure.code, closure.signal) {
                (Some(127), _) => "a command inside it is not found (exit code 127)",
                (Some(126), _) => "a command inside it may not be run (exit code 126)",
                (Some(137), _) | (_, Some(9)) => "it was killed, perhaps for using too much memory",
                (Some(134), _) | (_, Some(6)) => "it aborted",
                (Some(139), _) | (_, Some(11)) => "it crashed (segmentation fault)",
                (Some(0), _) => "it ends at once, without an error",
                _ => "the connection ends before an answer",
            };
            Finding::new("no-answer", Severity::High, title).seen(closure.why.clone())
        }
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
    let body = body_of(exchange);
    let seen = Some(&body)
        .filter(|body| !body.is_empty())
        .map(|body| format!("body: {}", clip(body, 160)));
    by_status(exchange, status, &body).seen_all(seen)
}

/// What a status without a message says.
fn by_status(exchange: &Exchange, status: u16, body: &str) -> Finding {
    match status {
        401 | 407 => unauthorized(exchange),
        404 => Finding::new("http-404", Severity::High, "there is nothing at this path (404)"),
        403 => forbidden(body),
        421 => Finding::new("http-status", Severity::High, "the server does not serve this host name (421)")
            .advise("Use the name it knows itself by, or allow this one in its settings (allowed hosts)."),
        502..=504 => Finding::new("http-status", Severity::High, format!("a proxy in between finds no server behind it ({status})"))
            .advise("Is the MCP server itself running, and does the proxy send to its port?"),
        500 => Finding::new("http-status", Severity::High, "the server fails (500)")
            .advise("Its log says why."),
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
        202 => Finding::new("no-answer", Severity::High, "a request is answered with 202 and nothing more")
            .advise("202 is for notifications; a request is answered with 200 and its result. Is this the old HTTP+SSE transport, which answers on a stream of its own?"),
        200..=299 => empty_answer(exchange, status),
        _ => {
            Finding::new("http-status", Severity::High, format!("HTTP {status} without a message"))
        }
    }
}

/// The body of an answer without a message.
fn body_of(exchange: &Exchange) -> String {
    match &exchange.outcome {
        Outcome::Bare(_, Some(body)) => {
            String::from_utf8_lossy(&body[..body.len().min(2000)]).into_owned()
        }
        _ => String::new(),
    }
}

/// Success, but no message: what is there instead?
fn empty_answer(exchange: &Exchange, status: u16) -> Finding {
    let headers = exchange.http.as_ref().map_or(&[][..], |http| &http.headers);
    let kind = crate::http::find_header(headers, "content-type").unwrap_or("no type").to_string();
    let body = body_of(exchange);
    let title = format!("HTTP {status}, but no message in it ({kind})");
    let finding = Finding::new("no-answer", Severity::High, title);
    if kind.starts_with("text/html") || body.trim_start().to_lowercase().starts_with("<!doctype") {
        return Finding { title: format!("a web page is there, not MCP (HTTP {status}, {kind})"), ..finding }
            .advise("The path belongs to a web application; the server's own path is another (often /mcp or /api/mcp).");
    }
    if kind.starts_with("text/event-stream") && body.trim_start().starts_with('{') {
        return Finding { title: "plain JSON is labelled as an event stream".into(), ..finding }
            .advise("Label it Content-Type: application/json, or send it as an event: data: {...} and an empty line.");
    }
    finding
}

/// Faults of HTTP itself.
pub fn http_fault(fault: &HttpFault) -> Finding {
    let text = fault.to_string();
    let (rule, title) = match fault {
        HttpFault::Broken(why) if why.contains("\\u{15}\\u{3}") || why.contains("\\x15\\x03") => {
            return Finding::new("tls", Severity::High, "this port speaks TLS")
                .seen(text)
                .advise("Use https:// in place of http://.");
        }
        HttpFault::Broken(why) if why.contains("not HTTP") => {
            ("not-http", "something else than HTTP speaks there")
        }
        HttpFault::Broken(_) => ("message-cut", "the answer breaks off"),
        HttpFault::RedirectLoop(hops) if hops.iter().any(|hop| is_login(hop)) => {
            return Finding::new("auth-401", Severity::High, "the server redirects to a login page")
                .seen(text)
                .advise("It is meant for browsers: look for another address for programs, or send credentials (--header, --bearer-env).");
        }
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

/// Whether an address asks people to log in.
fn is_login(address: &str) -> bool {
    let lower = address.to_lowercase();
    ["login", "signin", "sign-in", "sign_in", "/sso", "/auth", "oauth"]
        .iter()
        .any(|word| lower.contains(word))
}

/// Why encryption failed, in words that lead somewhere.
fn encryption(why: &str) -> Finding {
    let (title, advice) = if why.contains("UnknownIssuer")
        || why.contains("CaUsedAsEndEntity")
        || why.contains("SelfSigned")
    {
        (
            "the server's certificate comes from an authority that is not known here",
            "Name the authority (or the certificate itself, if it is self-signed): --ca FILE.pem; Node clients take NODE_EXTRA_CA_CERTS, Python clients SSL_CERT_FILE. For a look without the check: --insecure.",
        )
    } else if why.contains("Expired") {
        (
            "the server's certificate has expired",
            "Renew it; check the clock of this machine. For a look without the check: --insecure.",
        )
    } else if why.contains("NotValidForName") {
        (
            "the server's certificate is for another name",
            "Use the name in the certificate, or have it issued for this one.",
        )
    } else if why.contains("corrupt message")
        || why.contains("InvalidContentType")
        || why.contains("InvalidMessage")
    {
        ("this port does not speak TLS", "Use http:// in place of https://.")
    } else {
        ("encryption fails", "See the evidence; --insecure leaves certificates unchecked.")
    };
    Finding::new("tls", Severity::High, title).advise(advice)
}

/// No connection, or it takes no bytes.
pub fn failed(error: &LinkError) -> Finding {
    match error {
        LinkError::Http(fault) => http_fault(fault),
        LinkError::Spawn(program, _) => Finding::new("no-answer", Severity::High, "the command cannot be started")
            .seen(error.to_string())
            .advise(format!("Is {program:?} installed and in PATH? Clients often have another PATH than your shell; give the full path.")),
        LinkError::Connect(ConnectError::Tls(_, why)) => encryption(why).seen(error.to_string()),
        LinkError::Connect(ConnectError::Proxy(..)) => Finding::new("no-answer", Severity::High, error.to_string())
            .advise("Correct or unset HTTPS_PROXY and HTTP_PROXY, or name the host in NO_PROXY; --proxy ADDRESS chooses another."),
        LinkError::Connect(ConnectError::Refused(place)) => Finding::new("no-answer", Severity::High, format!("nothing listens at {place}")).seen(error.to_string()),
        LinkError::Connect(ConnectError::Unknown(place)) => Finding::new("no-answer", Severity::High, format!("the name {place} has no address"))
            .seen(error.to_string())
            .advise("Check the spelling; a name inside a company or a container is known only there."),
        LinkError::WebSocket(_) => Finding::new("no-answer", Severity::High, "no web socket").seen(error.to_string()),
        _ => Finding::new("no-answer", Severity::High, "no connection").seen(error.to_string()),
    }
}
