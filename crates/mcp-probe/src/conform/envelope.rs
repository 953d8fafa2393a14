//! JSON-RPC envelopes, HTTP answers and the framing of lines, as the official clients
//! demand them.

use super::published::brief;
use super::{Clients, Fault};
use crate::http::find_header;
use crate::json::Json;
use crate::stream::Quirks;
use crate::trail::HttpFacts;

/// Deviations of the envelope of an answer. Paths point into the message.
pub fn check_envelope(method: &str, message: &Json) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut add = |path: &str, what: String, refused_by: Clients| {
        faults.push(Fault { method: method.into(), path: path.into(), what, refused_by });
    };
    if !message.is_object() {
        add("", format!("is {}, must be one JSON-RPC object", brief(message)), Clients::BOTH);
        return faults;
    }
    match message.get("jsonrpc") {
        None => add("/jsonrpc", "is missing, must be \"2.0\"".into(), Clients::BOTH),
        Some(Json::String(text)) if text.as_str() == "2.0" => {}
        Some(other) => {
            add("/jsonrpc", format!("is {}, must be \"2.0\"", brief(other)), Clients::BOTH)
        }
    }
    let failed = message.get("result").is_none() && message.get("error").is_some();
    if let Some((what, refused_by)) = id_fault(message.get("id"), failed) {
        add("/id", what, refused_by);
    }
    match message.get("result") {
        Some(result) if !result.is_object() => {
            add("/result", format!("is {}, must be an object", brief(result)), Clients::BOTH);
        }
        _ => {}
    }
    for (name, value) in message.members() {
        match name.as_str() {
            "jsonrpc" | "id" | "result" => {}
            "error" if failed => {}
            "error" => add(
                "/error",
                format!("stands beside a result ({})", brief(value)),
                if message.get("result").is_some_and(Json::is_object) {
                    Clients::TYPESCRIPT
                } else {
                    Clients::BOTH
                },
            ),
            other => add(
                &format!("/{}", super::published::escape(other)),
                "does not belong into an answer".into(),
                Clients::TYPESCRIPT,
            ),
        }
    }
    if failed && let Some(error) = message.get("error") {
        for (path, what, refused_by) in error_faults(error) {
            add(path, what, refused_by);
        }
    }
    faults
}

/// Both clients take a whole number or a text, and the text of a number for the number.
fn id_fault(id: Option<&Json>, failed: bool) -> Option<(String, Clients)> {
    let wrong = |what: &str, who: Clients| Some((what.to_string(), who));
    match id {
        None => wrong("is missing", if failed { Clients::PYTHON } else { Clients::BOTH }),
        Some(Json::Null) => wrong(
            "is null, must be that of the request",
            if failed { Clients::TYPESCRIPT } else { Clients::BOTH },
        ),
        Some(Json::String(text)) if text.as_str().parse::<i64>().is_ok() => {
            wrong("is a text, was sent as a number", Clients::NONE)
        }
        Some(Json::String(_)) => None,
        Some(number @ Json::Number(digits)) => match (number.as_i64(), number.as_f64()) {
            (Some(_), _) => None,
            (None, Some(value)) if value.fract() == 0.0 => {
                Some((format!("is {digits}, must be written as a whole number"), Clients::PYTHON))
            }
            _ => Some((format!("is {digits}, must be that of the request"), Clients::BOTH)),
        },
        Some(other) => {
            Some((format!("is {}, must be that of the request", brief(other)), Clients::BOTH))
        }
    }
}

fn error_faults(error: &Json) -> Vec<(&'static str, String, Clients)> {
    if !error.is_object() {
        return vec![(
            "/error",
            format!("is {}, must be an object with code and message", brief(error)),
            Clients::BOTH,
        )];
    }
    let mut found = Vec::new();
    match error.get("code") {
        Some(code) if code.as_i64().is_some() => {}
        Some(Json::String(text)) if text.as_str().parse::<i64>().is_ok() => {
            found.push((
                "/error/code",
                "is a text, must be a whole number".into(),
                Clients::TYPESCRIPT,
            ));
        }
        Some(other) => found.push((
            "/error/code",
            format!("is {}, must be a whole number", brief(other)),
            Clients::BOTH,
        )),
        None => found.push(("/error/code", "is missing".into(), Clients::BOTH)),
    }
    match error.get("message") {
        Some(Json::String(_)) => {}
        Some(other) => found.push((
            "/error/message",
            format!("is {}, must be text", brief(other)),
            Clients::BOTH,
        )),
        None => found.push(("/error/message", "is missing".into(), Clients::BOTH)),
    }
    found
}

/// Deviations of the HTTP answer to a request that carried a JSON-RPC message back.
/// `batch` says that the body is an array of messages.
/// `quirks` says what stood around it.
pub fn check_http(method: &str, facts: &HttpFacts, batch: bool, quirks: Quirks) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut add = |path: &str, what: String, refused_by: Clients| {
        faults.push(Fault { method: method.into(), path: path.into(), what, refused_by });
    };
    let status = facts.status.unwrap_or(200);
    let given = find_header(&facts.headers, "content-type");
    let kind = given.unwrap_or_default().to_ascii_lowercase();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if (200..300).contains(&status) {
        let shown = given.map_or("is missing".to_string(), |given| format!("is {given:?}"));
        let must = "must be application/json or text/event-stream";
        match essence {
            "application/json" | "text/event-stream" => {}
            // One client looks at the beginning only.
            _ if kind.starts_with("application/json") || kind.starts_with("text/event-stream") => {
                add("Content-Type", format!("{shown}, {must}"), Clients::TYPESCRIPT);
            }
            _ => add("Content-Type", format!("{shown}, {must}"), Clients::BOTH),
        }
    }
    if quirks.has(Quirks::PREFIXED) {
        let what = match essence {
            "application/json" => {
                "is not one JSON message, as its type says; is it an event stream, or has it other text in it?"
            }
            _ => "has other text beside the message",
        };
        add("body", what.into(), Clients::BOTH);
    }
    if status == 202 {
        add("status", "is 202, which says that no answer follows".into(), Clients::BOTH);
    }
    if batch {
        add(
            "",
            "is an array of messages; batches are gone since 2025-06-18".into(),
            Clients::PYTHON,
        );
    }
    faults
}

/// Redirects on the way to an answer. Clients repeat a POST only where the status says so,
/// and only at the same origin.
pub fn check_redirects(method: &str, hops: &[(u16, String)]) -> Vec<Fault> {
    let fault = |(status, target): &(u16, String)| {
        let kept = matches!(status, 307 | 308);
        let what = match kept {
            true => format!("is {status} to {target}; use that address"),
            false => format!(
                "is {status} to {target}; clients do not repeat a POST there, use that address"
            ),
        };
        let refused_by = if kept { Clients::NONE } else { Clients::BOTH };
        Fault { method: method.into(), path: "status".into(), what, refused_by }
    };
    hops.iter().map(fault).collect()
}

/// Deviations in how an answer was written on a stream of lines.
pub fn check_writing(method: &str, quirks: Quirks, batch: bool) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (quirk, what, refused_by) in [
        (Quirks::BOM, "begins with a byte order mark", Clients::BOTH),
        (Quirks::CRLF, "ends its line with CR LF", Clients::NONE),
        (Quirks::ANSI, "stands among terminal colours", Clients::BOTH),
        (Quirks::SHARED_LINE, "shares its line with another message", Clients::BOTH),
        (Quirks::MANY_LINES, "runs over several lines", Clients::BOTH),
        (Quirks::PREFIXED, "stands behind other text on its line", Clients::BOTH),
        (Quirks::FRAMED, "is framed by Content-Length headers, as LSP does", Clients::BOTH),
        (Quirks::UNENDED, "is not ended by a line feed", Clients::BOTH),
    ] {
        if quirks.has(quirk) {
            faults.push(Fault {
                method: method.into(),
                path: "line".into(),
                what: what.into(),
                refused_by,
            });
        }
    }
    if batch {
        faults.push(Fault {
            method: method.into(),
            path: "line".into(),
            what: "is an array of messages; batches are gone since 2025-06-18".into(),
            refused_by: Clients::BOTH,
        });
    }
    faults
}
