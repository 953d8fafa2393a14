//! The audit trail under every verb: everything that crosses a wire is noted
//! here, kept in memory for evidence within bounds, and written to a file when
//! one was asked for.

pub mod argv;
mod clock;
mod entry;
mod reader;
pub mod redact;
mod writer;

use crate::json::{self, Json};
use crate::message::{Kind, Message};
use crate::obj;
use bytes::Bytes;
pub use entry::{Channel, Entry, HttpFacts, Side};
pub use reader::{Recording, read_recording};
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use writer::Writer;

/// Format name in the first line of a recording.
pub const FORMAT: &str = "mcp-probe/recording/1";

const KEPT_ENTRIES: usize = 4096;
const KEPT_BYTES: usize = 64 << 20;
const FIRST_WORDS: usize = 200;

/// SHA-256 in hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What else is known about a message when it is noted.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// HTTP facts, unredacted.
    pub http: Option<HttpFacts>,
    /// Connection number.
    pub conn: Option<u64>,
    /// A remark.
    pub note: Option<String>,
    /// The kind, when the bytes alone do not tell.
    pub kind: Option<Kind>,
}

struct Inner {
    start: Instant,
    seq: u64,
    writer: Option<Writer>,
    failed: Option<String>,
    kept: VecDeque<Entry>,
    kept_bytes: usize,
    /// The first lines of stderr, which the others must not push out.
    first_words: Vec<Entry>,
    keep: bool,
    secrets: Vec<String>,
    redact: bool,
}

/// A handle on the trail; cheap to clone.
#[derive(Clone)]
pub struct Trail {
    inner: Arc<Mutex<Inner>>,
}

impl Trail {
    /// A trail in memory only.
    pub fn in_memory() -> Trail {
        let inner = Inner {
            start: Instant::now(),
            seq: 0,
            writer: None,
            failed: None,
            kept: VecDeque::new(),
            kept_bytes: 0,
            first_words: Vec::new(),
            keep: true,
            secrets: Vec::new(),
            redact: true,
        };
        Trail { inner: Arc::new(Mutex::new(inner)) }
    }

    /// Also writes to a file from now on.
    pub fn write_to(&self, path: &Path, rotate_at: Option<u64>) -> std::io::Result<()> {
        self.lock().writer = Some(Writer::open(path, rotate_at)?);
        Ok(())
    }

    /// Keeps nothing in memory: for long recordings.
    pub fn keep_nothing(&self) {
        self.lock().keep = false;
    }

    /// Writes secrets down as they are.
    pub fn keep_secrets(&self) {
        self.lock().redact = false;
    }

    /// A text that must never be written down.
    pub fn add_secret(&self, secret: &str) {
        self.lock().secrets.push(secret.to_string());
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the start of a conversation.
    pub fn start(&self, target: Json) {
        let about = obj! { "format": FORMAT, "program": concat!("mcp-probe ", env!("CARGO_PKG_VERSION")), "target": target };
        let facts =
            Facts { note: Some("start".into()), kind: Some(Kind::SideLog), ..Facts::default() };
        self.note(Side::Client, Channel::Side, about.to_string().into(), facts);
    }

    /// Notes a remark of the probe itself.
    pub fn remark(&self, text: &str) {
        let facts = Facts { kind: Some(Kind::SideLog), ..Facts::default() };
        self.note(Side::Client, Channel::Side, text.to_string().into(), facts);
    }

    /// Notes bytes that went over a wire. Returns their running number.
    pub fn note(&self, side: Side, channel: Channel, raw: Bytes, facts: Facts) -> u64 {
        let skim = json::skim(&raw);
        let kind = facts.kind.unwrap_or_else(|| kind_of(&raw, skim.as_ref()));
        let sha256 = sha256_hex(&raw);
        let bytes = raw.len() as u64;
        let mut inner = self.lock();
        let copy = if inner.redact { redact::body(&raw, &inner.secrets) } else { None };
        let (id, method) = match (facts.kind, skim) {
            (Some(Kind::SideLog), _) | (_, None) => (None, None),
            (_, Some(skim)) => (skim.id, skim.method),
        };
        let redacting = inner.redact;
        inner.seq += 1;
        let entry = Entry {
            seq: inner.seq,
            wall: clock::now(),
            mono_us: inner.start.elapsed().as_micros() as u64,
            side,
            channel,
            kind: kind.name().into(),
            id,
            method,
            bytes,
            sha256,
            redacted: copy.is_some(),
            raw: copy.unwrap_or(raw),
            http: facts.http.map(|http| if redacting { redacted(http) } else { http }),
            conn: facts.conn,
            note: facts.note,
        };
        inner.add(entry)
    }

    /// What was noted after a running number, as far as it is kept.
    pub fn since(&self, seq: u64) -> Vec<Entry> {
        self.lock().kept.iter().filter(|entry| entry.seq > seq).cloned().collect()
    }

    /// The number of the newest entry.
    pub fn newest(&self) -> u64 {
        self.lock().seq
    }

    /// Lines of stderr noted after a running number: the last ones, and of a longer text
    /// the first ones as well, as many.
    pub fn stderr_since(&self, seq: u64, lines: usize) -> Vec<String> {
        let inner = self.lock();
        let oldest = inner.kept.front().map_or(u64::MAX, |entry| entry.seq);
        let lost = inner.first_words.iter().filter(|entry| entry.seq < oldest);
        let kept = inner.kept.iter().filter(|entry| entry.channel == Channel::Stderr);
        let all: Vec<String> = lost
            .chain(kept)
            .filter(|entry| entry.seq > seq)
            .map(|entry| entry.text().into_owned())
            .collect();
        if all.len() <= lines || lines < FIRST_WORDS {
            return all[all.len().saturating_sub(lines)..].to_vec();
        }
        let first = lines / 2;
        [&all[..first], &all[all.len() - (lines - first)..]].concat()
    }

    /// Why the file could not be written, if it could not.
    pub fn failure(&self) -> Option<String> {
        self.lock().failed.clone()
    }
}

impl Inner {
    fn add(&mut self, entry: Entry) -> u64 {
        let seq = entry.seq;
        if let Some(writer) = &mut self.writer
            && let Err(error) = writer.write(&entry)
        {
            self.failed = Some(error.to_string());
            self.writer = None;
        }
        if self.keep {
            if entry.channel == Channel::Stderr && self.first_words.len() < FIRST_WORDS {
                self.first_words.push(entry.clone());
            }
            self.kept_bytes += entry.raw.len();
            self.kept.push_back(entry);
            while self.kept.len() > KEPT_ENTRIES || self.kept_bytes > KEPT_BYTES {
                match self.kept.pop_front() {
                    Some(old) => self.kept_bytes -= old.raw.len(),
                    None => break,
                }
            }
        }
        seq
    }
}

fn redacted(mut http: HttpFacts) -> HttpFacts {
    for (name, value) in &mut http.headers {
        *value = redact::header(name, value);
    }
    if let Some((_, path)) = &mut http.request {
        *path = redact::path(path);
    }
    http
}

/// The kind by outermost members; small messages are read properly, so that
/// broken ones are not mistaken for good ones.
fn kind_of(raw: &Bytes, skim: Option<&json::Skim>) -> Kind {
    if raw.len() <= 65_536 {
        let kind = Message::read(raw.clone()).kind;
        return if skim.is_none() { Kind::SideLog } else { kind };
    }
    match skim {
        None => Kind::SideLog,
        Some(skim) if skim.batch => Kind::Batch,
        Some(skim) => match (&skim.method, &skim.id) {
            (Some(_), Some(_)) => Kind::Request,
            (Some(_), None) => Kind::Notification,
            (None, _) if skim.error => Kind::Error,
            (None, _) if skim.result => Kind::Response,
            _ => Kind::Invalid,
        },
    }
}
