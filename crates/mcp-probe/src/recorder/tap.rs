//! The onlooker: takes copies of forwarded bytes, cuts them into messages and
//! writes them down.

use super::talk::Talk;
use crate::message::Kind;
use crate::stream::{Piece, Splitter};
use crate::trail::{Channel, Facts, Side, Trail, hex};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

/// Longest message that is written down whole.
pub(super) const LONGEST: usize = 256 << 20;
/// Chunks that may wait before forwarding has to wait too: bounds the memory.
const WAITING: usize = 512;
/// Longest wait for what is still to be written down at the end.
const LONGEST_FINISH: Duration = Duration::from_secs(60);

/// What is passed to the onlooker.
#[derive(Debug)]
enum Seen {
    Bytes(u64, Side, Channel, Bytes),
    End(u64, Side, Channel),
    Remark(String),
    Finish(SyncSender<Totals>),
}

/// Bytes forwarded, per direction and channel, with their hash.
pub type Totals = BTreeMap<String, (u64, String)>;

/// A handle for those who forward.
#[derive(Debug, Clone)]
pub struct Tap {
    sender: SyncSender<Seen>,
}

impl Tap {
    /// Starts the onlooker.
    pub fn start(trail: Trail) -> Tap {
        let (sender, receiver) = sync_channel(WAITING);
        std::thread::spawn(move || Onlooker::new(trail).run(&receiver));
        Tap { sender }
    }

    /// Waits until everything passed so far is written down, and ends the
    /// onlooker. Blocks.
    pub fn finish(&self) -> Totals {
        let (sender, receiver) = sync_channel(1);
        let _ = self.sender.send(Seen::Finish(sender));
        receiver.recv_timeout(LONGEST_FINISH).unwrap_or_default()
    }

    /// Bytes that were forwarded.
    pub fn bytes(&self, conn: u64, side: Side, channel: Channel, bytes: Bytes) {
        let _ = self.sender.send(Seen::Bytes(conn, side, channel, bytes));
    }

    /// The same on a runtime's thread: only when the onlooker is behind does
    /// forwarding wait, and then off that thread.
    pub fn bytes_async(&self, conn: u64, side: Side, channel: Channel, bytes: Bytes) {
        if let Err(TrySendError::Full(seen)) =
            self.sender.try_send(Seen::Bytes(conn, side, channel, bytes))
        {
            let _ = tokio::task::block_in_place(|| self.sender.send(seen));
        }
    }

    /// One direction is closed.
    pub fn end(&self, conn: u64, side: Side, channel: Channel) {
        let _ = self.sender.send(Seen::End(conn, side, channel));
    }

    /// Something worth noting.
    pub fn remark(&self, text: String) {
        let _ = self.sender.send(Seen::Remark(text));
    }
}

struct Onlooker {
    trail: Trail,
    lines: HashMap<(Channel, bool), Splitter>,
    talks: HashMap<u64, Talk>,
    totals: BTreeMap<String, (u64, Sha256)>,
}

impl Onlooker {
    fn new(trail: Trail) -> Onlooker {
        Onlooker { trail, lines: HashMap::new(), talks: HashMap::new(), totals: BTreeMap::new() }
    }

    fn run(mut self, receiver: &Receiver<Seen>) {
        while let Ok(seen) = receiver.recv() {
            match seen {
                Seen::Bytes(conn, side, channel, bytes) => self.bytes(conn, side, channel, &bytes),
                Seen::End(conn, side, channel) => self.end(conn, side, channel),
                Seen::Remark(text) => self.trail.remark(&text),
                Seen::Finish(sender) => {
                    let _ = sender.send(self.sum_up());
                    return;
                }
            }
        }
    }

    fn sum_up(&mut self) -> Totals {
        let totals: Totals = std::mem::take(&mut self.totals)
            .into_iter()
            .map(|(name, (count, hash))| (name, (count, hex(&hash.finalize()))))
            .collect();
        for (name, (count, hash)) in &totals {
            self.trail.remark(&format!("forwarded {name}: {count} bytes, sha256 {hash}"));
        }
        totals
    }

    fn bytes(&mut self, conn: u64, side: Side, channel: Channel, bytes: &Bytes) {
        let total = self.totals.entry(format!("{} {}", side.name(), channel.name())).or_default();
        total.0 += bytes.len() as u64;
        total.1.update(bytes);
        match channel {
            Channel::Http => {
                let talk = self.talks.entry(conn).or_insert_with(|| Talk::new(conn));
                talk.bytes(side, bytes, &self.trail);
            }
            _ => {
                let key = (channel, side == Side::Client);
                let splitter = self.lines.entry(key).or_insert_with(|| Splitter::new(LONGEST));
                splitter.feed(bytes);
                while let Some(piece) = splitter.next() {
                    note_piece(&self.trail, side, channel, piece);
                }
            }
        }
    }

    fn end(&mut self, conn: u64, side: Side, channel: Channel) {
        if channel == Channel::Http {
            if let Some(talk) = self.talks.get_mut(&conn)
                && talk.end(side, &self.trail)
            {
                self.talks.remove(&conn);
            }
            return;
        }
        if let Some(mut splitter) = self.lines.remove(&(channel, side == Side::Client)) {
            while let Some(piece) = splitter.finish() {
                note_piece(&self.trail, side, channel, piece);
            }
        }
    }
}

fn note_piece(trail: &Trail, side: Side, channel: Channel, piece: Piece) {
    let (raw, note, kind) = match piece {
        _ if channel == Channel::Stderr => match piece {
            Piece::Message(raw, _) | Piece::Side(raw) | Piece::Oversize(raw) => {
                (raw, None, Some(Kind::SideLog))
            }
        },
        Piece::Message(raw, quirks) => {
            let names = quirks.names();
            (raw, (!names.is_empty()).then(|| names.join(", ")), None)
        }
        Piece::Side(raw) => (raw, None, Some(Kind::SideLog)),
        Piece::Oversize(raw) => {
            let note = "longer than the limit; only its beginning is kept".to_string();
            (raw, Some(note), Some(Kind::Invalid))
        }
    };
    trail.note(side, channel, raw, Facts { note, kind, ..Facts::default() });
}
