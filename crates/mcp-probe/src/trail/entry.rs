//! One line of a recording.

use crate::json::{self, Json};
use crate::message::Kind;
use crate::obj;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

/// Who sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The client.
    Client,
    /// The server.
    Server,
}

impl Side {
    /// The name used in recordings.
    pub fn name(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Server => "server",
        }
    }
}

/// What it was sent over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channel {
    /// The input of a child process.
    Stdin,
    /// Its output.
    Stdout,
    /// Its error output.
    Stderr,
    /// HTTP bodies and event streams.
    Http,
    /// A web socket.
    Ws,
    /// Remarks of the recorder itself.
    Side,
}

const CHANNELS: [(Channel, &str); 6] = [
    (Channel::Stdin, "stdin"),
    (Channel::Stdout, "stdout"),
    (Channel::Stderr, "stderr"),
    (Channel::Http, "http"),
    (Channel::Ws, "ws"),
    (Channel::Side, "side"),
];

impl Channel {
    /// The name used in recordings.
    pub fn name(self) -> &'static str {
        CHANNELS.iter().find(|(channel, _)| *channel == self).map_or("side", |(_, name)| name)
    }

    fn named(name: &str) -> Option<Channel> {
        CHANNELS.iter().find(|(_, known)| *known == name).map(|(channel, _)| *channel)
    }
}

/// The HTTP side of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttpFacts {
    /// Method and path of a request.
    pub request: Option<(String, String)>,
    /// Status of a response.
    pub status: Option<u16>,
    /// Headers in their order, secrets replaced.
    pub headers: Vec<(String, String)>,
    /// Whether this is one event of an event stream.
    pub event: bool,
}

impl HttpFacts {
    fn to_json(&self) -> Json {
        let mut out = Json::object();
        if let Some((method, path)) = &self.request {
            out.push("method", method);
            out.push("path", path);
        }
        if let Some(status) = self.status {
            out.push("status", status);
        }
        if self.event {
            out.push("event", true);
        }
        if !self.headers.is_empty() {
            let pair =
                |(name, value): &(String, String)| Json::Array(vec![name.into(), value.into()]);
            out.push("headers", Json::Array(self.headers.iter().map(pair).collect()));
        }
        out
    }

    fn from_json(value: &Json) -> HttpFacts {
        let text = |name: &str| value.text_at(name).map(str::to_string);
        let pair = |item: &Json| {
            Some((item.items().first()?.as_str()?.into(), item.items().get(1)?.as_str()?.into()))
        };
        HttpFacts {
            request: text("method").zip(text("path")),
            status: value.get("status").and_then(Json::as_i64).and_then(|s| s.try_into().ok()),
            headers: value
                .get("headers")
                .map_or(&[][..], Json::items)
                .iter()
                .filter_map(pair)
                .collect(),
            event: value.get("event").and_then(Json::as_bool).unwrap_or(false),
        }
    }
}

/// One thing that was seen.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Running number.
    pub seq: u64,
    /// Wall clock, RFC 3339.
    pub wall: String,
    /// Microseconds since the recording began.
    pub mono_us: u64,
    /// Who sent it.
    pub side: Side,
    /// Over what.
    pub channel: Channel,
    /// Name of the kind.
    pub kind: String,
    /// The id, as spelled.
    pub id: Option<Json>,
    /// The method.
    pub method: Option<String>,
    /// Length of the bytes as they went over the wire.
    pub bytes: u64,
    /// SHA-256 of the bytes as they went over the wire.
    pub sha256: String,
    /// The bytes, secrets replaced.
    pub raw: Bytes,
    /// Whether `raw` differs from what went over the wire.
    pub redacted: bool,
    /// HTTP facts.
    pub http: Option<HttpFacts>,
    /// Number of the connection, where there are several.
    pub conn: Option<u64>,
    /// A remark.
    pub note: Option<String>,
}

impl Entry {
    /// The kind, when it is a message.
    pub fn is(&self, kind: Kind) -> bool {
        self.kind == kind.name()
    }

    /// The bytes as text.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.raw)
    }

    /// The line for the file, with its end. Bodies may be long: the text is spelled
    /// into the line at once, without copies on the way.
    pub fn line(&self) -> String {
        let mut line = self.about().to_string();
        line.pop();
        line.reserve(self.raw.len() + self.raw.len() / 16 + 16);
        match std::str::from_utf8(&self.raw) {
            Ok(text) => {
                line.push_str(",\"text\":");
                json::quote(text, &mut line);
            }
            Err(_) => {
                line.push_str(",\"base64\":\"");
                STANDARD.encode_string(&self.raw, &mut line);
                line.push('"');
            }
        }
        line.push_str("}\n");
        line
    }

    /// Everything but the body.
    fn about(&self) -> Json {
        let mut out = obj! {
            "seq": self.seq, "wall": &self.wall, "mono_us": self.mono_us,
            "dir": self.side.name(), "channel": self.channel.name(), "kind": &self.kind,
        };
        if let Some(conn) = self.conn {
            out.push("conn", conn);
        }
        if let Some(id) = &self.id {
            out.push("id", id.clone());
        }
        if let Some(method) = &self.method {
            out.push("method", method);
        }
        out.push("bytes", self.bytes);
        out.push("sha256", &self.sha256);
        if self.redacted {
            out.push("redacted", true);
        }
        if let Some(http) = &self.http {
            out.push("http", http.to_json());
        }
        if let Some(note) = &self.note {
            out.push("note", note);
        }
        out
    }

    /// Reads a line of a recording.
    pub fn from_json(value: &Json) -> Option<Entry> {
        let number =
            |name: &str| value.get(name).and_then(Json::as_i64).and_then(|n| u64::try_from(n).ok());
        let raw = match (value.text_at("text"), value.text_at("base64")) {
            (Some(text), _) => Bytes::copy_from_slice(text.as_bytes()),
            (None, Some(code)) => STANDARD.decode(code).ok()?.into(),
            (None, None) => Bytes::new(),
        };
        Some(Entry {
            seq: number("seq")?,
            wall: value.text_at("wall").unwrap_or_default().into(),
            mono_us: number("mono_us").unwrap_or(0),
            side: if value.text_at("dir")? == "client" { Side::Client } else { Side::Server },
            channel: Channel::named(value.text_at("channel")?)?,
            kind: value.text_at("kind")?.into(),
            id: value.get("id").cloned(),
            method: value.text_at("method").map(Into::into),
            bytes: number("bytes").unwrap_or(raw.len() as u64),
            sha256: value.text_at("sha256").unwrap_or_default().into(),
            raw,
            redacted: value.get("redacted").and_then(Json::as_bool).unwrap_or(false),
            http: value.get("http").map(HttpFacts::from_json),
            conn: number("conn"),
            note: value.text_at("note").map(Into::into),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_back() {
        let entry = Entry {
            seq: 3,
            wall: "2026-01-01T00:00:00.000Z".into(),
            mono_us: 17,
            side: Side::Server,
            channel: Channel::Http,
            kind: "response".into(),
            id: Some(Json::Number("12345678901234567890".into())),
            method: None,
            bytes: 4,
            sha256: "ab".into(),
            raw: Bytes::from_static(b"\xff\x00{}"),
            redacted: false,
            http: Some(HttpFacts {
                status: Some(200),
                headers: vec![("A".into(), "b".into())],
                ..HttpFacts::default()
            }),
            conn: Some(2),
            note: None,
        };
        for raw in [&b"\xff\x00{}"[..], b"say \"\\\n\x7f\xc3\xa9"] {
            let entry = Entry { raw: Bytes::from_static(raw), ..entry.clone() };
            let read = json::parse(entry.line().as_bytes()).unwrap();
            let again = Entry::from_json(&read).unwrap();
            assert_eq!(again.raw, entry.raw);
            assert_eq!(again.http, entry.http);
            assert_eq!(again.line(), entry.line());
        }
    }
}
