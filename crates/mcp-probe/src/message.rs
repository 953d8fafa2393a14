//! One message as it came over the wire: its bytes, and what they mean.

use crate::json::{self, Json, ParseErrorKind};
use bytes::Bytes;

/// The kinds of thing seen on a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Has a method and an id.
    Request,
    /// Has a method and no id.
    Notification,
    /// Has a result.
    Response,
    /// Has an error.
    Error,
    /// An array of messages.
    Batch,
    /// Text that is not JSON, on a channel of messages, or stderr.
    SideLog,
    /// JSON, or nearly, that is none of the above.
    Invalid,
}

impl Kind {
    /// The name used in recordings.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Request => "request",
            Kind::Notification => "notification",
            Kind::Response => "response",
            Kind::Error => "error",
            Kind::Batch => "batch",
            Kind::SideLog => "side log",
            Kind::Invalid => "invalid",
        }
    }
}

/// A message with its exact bytes.
#[derive(Debug, Clone)]
pub struct Message {
    /// The bytes.
    pub raw: Bytes,
    /// Their meaning; null when they cannot be read.
    pub json: Json,
    /// The kind.
    pub kind: Kind,
    /// Why the bytes cannot be read, if so.
    pub fault: Option<ParseErrorKind>,
}

impl Message {
    /// Reads bytes.
    pub fn read(raw: Bytes) -> Message {
        match json::parse(&raw) {
            Ok(value) => Message { kind: classify(&value), json: value, raw, fault: None },
            Err(error) => {
                let json = json::parse_lossy(&raw).unwrap_or_default();
                let kind = match error.kind {
                    ParseErrorKind::NotUtf8 if json.is_object() => classify(&json),
                    _ => Kind::Invalid,
                };
                Message { raw, json, kind, fault: Some(error.kind) }
            }
        }
    }

    /// Whether bytes that cannot be read were meant as a message: they begin like one.
    pub fn was_meant(raw: &[u8]) -> bool {
        let head = &raw[..raw.len().min(64)];
        head.starts_with(b"{") && memchr::memmem::find(head, b"\"jsonrpc\"").is_some()
    }

    /// The id member.
    pub fn id(&self) -> Option<&Json> {
        self.json.get("id")
    }

    /// The method name.
    pub fn method(&self) -> Option<&str> {
        self.json.text_at("method")
    }
}

fn classify(value: &Json) -> Kind {
    if value.is_array() {
        return match value.items().iter().all(Json::is_object) && !value.items().is_empty() {
            true => Kind::Batch,
            false => Kind::Invalid,
        };
    }
    let has = |name| value.get(name).is_some();
    match (has("method"), has("id")) {
        (true, true) => Kind::Request,
        (true, false) => Kind::Notification,
        (false, _) if has("error") => Kind::Error,
        (false, _) if has("result") => Kind::Response,
        _ => Kind::Invalid,
    }
}
