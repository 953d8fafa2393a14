//! One request and everything that came of it.

use crate::conform::Fault;
use crate::json::Json;
use crate::limits::{Limits, seconds};
use crate::link::{Closure, HttpEnd, LinkError};
use crate::message::{Kind, Message};
use crate::stream::Quirks;
use crate::trail::HttpFacts;
use bytes::Bytes;
use std::time::Duration;

/// A JSON-RPC error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RpcError {
    /// Code, when it is a whole number.
    pub code: Option<i64>,
    /// Message.
    pub message: String,
    /// The whole error member.
    pub json: Json,
}

impl RpcError {
    fn read(json: &Json) -> RpcError {
        RpcError {
            code: json.get("code").and_then(Json::as_i64),
            message: json.text_at("message").unwrap_or_default().into(),
            json: json.clone(),
        }
    }
}

/// Which limit ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// Nothing came for too long.
    Idle,
    /// Things came, but not the answer.
    Total,
}

/// How a request ended.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// A result.
    Result(Json),
    /// An error.
    Error(RpcError),
    /// An answer that cannot be read.
    Invalid(Message),
    /// No answer in time.
    Expired(Expiry),
    /// Nothing but an answer with an id that was not asked with.
    Misaddressed(Message),
    /// The connection ended first.
    Closed(Closure),
    /// An HTTP answer without a message.
    Bare(HttpEnd, Option<Bytes>),
    /// Too many other messages.
    Flood(usize),
    /// A message beyond the limit.
    Oversize,
    /// Not sent, or no connection.
    Failed(LinkError),
}

/// The exchange.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// Method.
    pub method: String,
    /// Time from sending to the end.
    pub elapsed: Duration,
    /// How it ended.
    pub outcome: Outcome,
    /// The limits that held.
    pub limits: Limits,
    /// The answer, if one came.
    pub answer: Option<Message>,
    /// Whether the answer had the id of the request.
    pub id_matched: bool,
    /// Status and headers, over HTTP.
    pub http: Option<HttpFacts>,
    /// Trail number before the request.
    pub seq_before: u64,
    /// Other messages that came meanwhile.
    pub unrelated: usize,
    /// Keep-alive comments that came meanwhile.
    pub comments: u64,
    /// Bytes that were no message.
    pub side: Vec<Bytes>,
    /// What had come of the answer when time ran out, over HTTP.
    pub unfinished: Option<Bytes>,
    /// How the answer was written.
    pub quirks: Quirks,
    /// Whether the answer stood in an array of messages.
    pub batched: bool,
    /// Status and target of the redirects on the way, over HTTP.
    pub hops: Vec<(u16, String)>,
    /// Where the answer leaves the specification, and which clients refuse it.
    pub faults: Vec<Fault>,
}

impl Exchange {
    /// The result.
    pub fn result(&self) -> Option<&Json> {
        match &self.outcome {
            Outcome::Result(result) => Some(result),
            _ => None,
        }
    }

    /// The error.
    pub fn error(&self) -> Option<&RpcError> {
        match &self.outcome {
            Outcome::Error(error) => Some(error),
            _ => None,
        }
    }

    /// HTTP status.
    pub fn status(&self) -> Option<u16> {
        self.http.as_ref()?.status
    }

    /// Whether the other side spoke JSON-RPC at all.
    pub fn is_rpc(&self) -> bool {
        matches!(self.outcome, Outcome::Result(_) | Outcome::Error(_))
    }

    /// One line for people.
    pub fn describe(&self) -> String {
        let limits = &self.limits;
        let status = self.status().map(|status| format!("HTTP {status}, ")).unwrap_or_default();
        let text = match &self.outcome {
            Outcome::Result(_) => "result".to_string(),
            Outcome::Error(error) => {
                let code = error.code.map_or("without code".to_string(), |code| code.to_string());
                format!("error {code}: {}", clip(&error.message, 160))
            }
            Outcome::Invalid(message) => {
                format!("an answer that cannot be read: {}", clip_bytes(&message.raw, 120))
            }
            Outcome::Expired(Expiry::Idle) => {
                format!("no answer; silence for {} (idle limit)", seconds(limits.idle))
            }
            Outcome::Expired(Expiry::Total) => format!(
                "no answer after {} (total limit), though the server kept sending",
                seconds(limits.total)
            ),
            Outcome::Misaddressed(message) => {
                let id = message.id().map_or("no id".to_string(), |id| format!("id {id}"));
                format!("an answer came, but with {} and not that of the request", clip(&id, 60))
            }
            Outcome::Closed(closure) => format!("no answer; {}", closure.why),
            Outcome::Bare(end, body) => {
                let fault =
                    end.fault.as_ref().map(|fault| format!("; {fault}")).unwrap_or_default();
                let body = body
                    .as_ref()
                    .map(|body| format!(": {}", clip_bytes(body, 120)))
                    .unwrap_or_default();
                format!("no message in the answer{fault}{body}")
            }
            Outcome::Flood(count) => format!("no answer; {count} other messages came instead"),
            Outcome::Oversize => "a message longer than the limit".into(),
            Outcome::Failed(error) => error.to_string(),
        };
        format!("{status}{text}")
    }

    /// The outcome in a word, for comparing.
    pub fn class(&self) -> &'static str {
        match &self.outcome {
            Outcome::Result(result)
                if result.get("isError").and_then(Json::as_bool) == Some(true) =>
            {
                "tool error"
            }
            Outcome::Result(_) => "result",
            Outcome::Error(_) => "error",
            Outcome::Invalid(_) => "invalid answer",
            Outcome::Expired(_) => "silence",
            Outcome::Misaddressed(_) => "wrong id",
            Outcome::Closed(closure) if closure.code.is_some() || closure.signal.is_some() => {
                "crash"
            }
            Outcome::Closed(_) => "disconnect",
            Outcome::Bare(..) => "http only",
            Outcome::Flood(_) => "flood",
            Outcome::Oversize => "oversize",
            Outcome::Failed(_) => "no connection",
        }
    }
}

/// What an answer says.
pub fn outcome_of(message: &Message) -> Outcome {
    match message.kind {
        Kind::Response => Outcome::Result(message.json.get("result").cloned().unwrap_or_default()),
        // A null beside a result says nothing.
        Kind::Error
            if message.json.get("error") == Some(&Json::Null)
                && message.json.get("result").is_some() =>
        {
            Outcome::Result(message.json.get("result").cloned().unwrap_or_default())
        }
        Kind::Error => {
            Outcome::Error(RpcError::read(message.json.get("error").unwrap_or(&Json::Null)))
        }
        _ => Outcome::Invalid(message.clone()),
    }
}

/// Shortens text for display; control characters are shown, not sent to the terminal.
pub fn clip(text: &str, most: usize) -> String {
    let mut out: String =
        text.chars().take(most).map(|c| if c.is_control() { '·' } else { c }).collect();
    if text.chars().count() > most {
        out.push('…');
    }
    out
}

/// Whether both official clients take `given` for `asked`: the text of a number, or a whole
/// number written with a fraction, stands for the number.
pub fn same_id(given: Option<&Json>, asked: Option<&Json>) -> bool {
    let number = asked.and_then(Json::as_i64);
    match (given, number) {
        (Some(Json::String(text)), Some(number)) => text.as_str().parse() == Ok(number),
        (Some(value @ Json::Number(_)), Some(number)) => value.as_f64() == Some(number as f64),
        _ => false,
    }
}

/// The same for bytes.
pub fn clip_bytes(bytes: &[u8], most: usize) -> String {
    let head = &bytes[..bytes.len().min(most * 4)];
    clip(&String::from_utf8_lossy(head), most)
}
