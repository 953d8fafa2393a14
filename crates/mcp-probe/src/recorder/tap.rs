//! The onlooker: takes copies of forwarded bytes, cuts them into messages and
//! writes them down.

use crate::http::{Event, Head, Parser, Role, SseItem, SseParser};
use crate::message::Kind;
use crate::stream::{Piece, Splitter};
use crate::trail::{Channel, Facts, HttpFacts, Side, Trail, hex};
use bytes::{Bytes, BytesMut};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

/// Longest message that is written down whole.
const LONGEST: usize = 256 << 20;
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

/// One HTTP connection: requests one way, responses the other.
struct Talk {
    conn: u64,
    client: Half,
    server: Half,
    asked: VecDeque<String>,
}

struct Half {
    parser: Parser,
    facts: Option<HttpFacts>,
    body: BytesMut,
    events: Option<SseParser>,
    lost: bool,
    ended: bool,
}

impl Half {
    fn new(role: Role) -> Half {
        Half {
            parser: Parser::new(role),
            facts: None,
            body: BytesMut::new(),
            events: None,
            lost: false,
            ended: false,
        }
    }
}

impl Talk {
    fn new(conn: u64) -> Talk {
        Talk {
            conn,
            client: Half::new(Role::Request),
            server: Half::new(Role::Response),
            asked: VecDeque::new(),
        }
    }

    fn half(&mut self, side: Side) -> &mut Half {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    fn bytes(&mut self, side: Side, bytes: &Bytes, trail: &Trail) {
        let conn = self.conn;
        let half = self.half(side);
        if half.lost {
            let facts = Facts { conn: Some(conn), kind: Some(Kind::Invalid), ..Facts::default() };
            trail.note(side, Channel::Http, bytes.clone(), facts);
            return;
        }
        half.parser.feed(bytes);
        loop {
            match self.half(side).parser.next() {
                Ok(Some(event)) => self.event(side, event, trail),
                Ok(None) => return,
                Err(why) => {
                    let half = self.half(side);
                    half.lost = true;
                    let rest = Bytes::copy_from_slice(half.parser.pending());
                    let facts = Facts {
                        conn: Some(conn),
                        note: Some(why),
                        kind: Some(Kind::Invalid),
                        ..Facts::default()
                    };
                    trail.note(side, Channel::Http, rest, facts);
                    return;
                }
            }
        }
    }

    fn event(&mut self, side: Side, event: Event, trail: &Trail) {
        match event {
            Event::Head(head) => self.head(side, &head, trail),
            Event::Body(part) => {
                let conn = self.conn;
                let half = self.half(side);
                match &mut half.events {
                    Some(events) => {
                        events.feed(&part);
                        note_events(events, conn, trail);
                    }
                    None if half.body.len() + part.len() <= LONGEST => {
                        half.body.extend_from_slice(&part);
                    }
                    None => {}
                }
            }
            Event::End => self.whole(side, None, trail),
        }
    }

    fn head(&mut self, side: Side, head: &Head, trail: &Trail) {
        let mut facts = HttpFacts { headers: head.headers.clone(), ..HttpFacts::default() };
        match side {
            Side::Client => {
                facts.request = head.request().map(|(m, p)| (m.to_string(), p.to_string()));
                let method = head.request().map_or("", |(method, _)| method).to_string();
                if method == "HEAD" {
                    self.server.parser.next_is_bodiless();
                }
                self.asked.push_back(method);
            }
            Side::Server => {
                facts.status = head.status();
                self.asked.pop_front();
                if head.media_type() == "text/event-stream" {
                    self.server.events = Some(SseParser::default());
                    let about = Facts {
                        http: Some(facts.clone()),
                        conn: Some(self.conn),
                        kind: Some(Kind::SideLog),
                        ..Facts::default()
                    };
                    trail.note(side, Channel::Http, Bytes::new(), about);
                }
            }
        }
        self.half(side).facts = Some(facts);
    }

    /// A message is complete, or was cut off.
    fn whole(&mut self, side: Side, note: Option<String>, trail: &Trail) {
        let conn = Some(self.conn);
        let half = self.half(side);
        let http = half.facts.take();
        let body = half.body.split().freeze();
        if let Some(events) = half.events.take() {
            let unfinished = events.unfinished().map(Bytes::from).unwrap_or_default();
            if !unfinished.is_empty() {
                let note = Some("an event that was never finished".into());
                let kind = Some(Kind::Invalid);
                trail.note(side, Channel::Http, unfinished, Facts { conn, note, kind, http: None });
            }
            return;
        }
        let kind = match (body.is_empty(), &note) {
            (true, _) => Some(Kind::SideLog),
            (false, Some(_)) => Some(Kind::Invalid),
            _ => None,
        };
        trail.note(side, Channel::Http, body, Facts { http, conn, note, kind });
    }

    /// One direction has ended; true when both have.
    fn end(&mut self, side: Side, trail: &Trail) -> bool {
        let half = self.half(side);
        half.ended = true;
        if half.facts.is_some() {
            let cut = !half.parser.may_end();
            self.whole(side, cut.then(|| "cut off".to_string()), trail);
        }
        self.client.ended && self.server.ended
    }
}

fn note_events(events: &mut SseParser, conn: u64, trail: &Trail) {
    while let Some(item) = events.next() {
        let SseItem::Event(event) = item else { continue };
        let data = event.data.unwrap_or_default();
        let http = HttpFacts { event: true, ..HttpFacts::default() };
        let named = event.name.filter(|name| name != "message");
        let kind = (data.is_empty() || named.is_some()).then_some(Kind::SideLog);
        let note = named.map(|name| format!("event {name}"));
        let facts = Facts { http: Some(http), conn: Some(conn), note, kind };
        trail.note(Side::Server, Channel::Http, data.into(), facts);
    }
}
