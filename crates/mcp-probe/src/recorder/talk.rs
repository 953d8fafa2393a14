//! One HTTP connection as the onlooker sees it: requests one way, responses the
//! other, until the two sides agree on a web socket.

use super::frames::{Frames, Seen};
use super::tap::LONGEST;
use crate::http::{Event, Head, Parser, Role, SseItem, SseParser};
use crate::message::Kind;
use crate::trail::{Channel, Facts, HttpFacts, Side, Trail};
use bytes::{Bytes, BytesMut};

/// One HTTP connection.
pub struct Talk {
    conn: u64,
    client: Half,
    server: Half,
}

struct Half {
    parser: Parser,
    facts: Option<HttpFacts>,
    body: BytesMut,
    events: Option<SseParser>,
    frames: Option<Frames>,
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
            frames: None,
            lost: false,
            ended: false,
        }
    }
}

impl Talk {
    /// A connection that was just made.
    pub fn new(conn: u64) -> Talk {
        Talk { conn, client: Half::new(Role::Request), server: Half::new(Role::Response) }
    }

    fn half(&mut self, side: Side) -> &mut Half {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Bytes that one side sent.
    pub fn bytes(&mut self, side: Side, bytes: &Bytes, trail: &Trail) {
        let conn = self.conn;
        let half = self.half(side);
        if half.lost {
            let facts = Facts { conn: Some(conn), kind: Some(Kind::Invalid), ..Facts::default() };
            trail.note(side, Channel::Http, bytes.clone(), facts);
            return;
        }
        if half.frames.is_some() {
            self.frames(side, bytes, trail);
            return;
        }
        half.parser.feed(bytes);
        loop {
            match self.half(side).parser.next() {
                Ok(Some(event)) => self.event(side, event, trail),
                Ok(None) => return,
                Err(why) => {
                    let rest = Bytes::copy_from_slice(self.half(side).parser.pending());
                    self.lose(side, Channel::Http, rest, why, trail);
                    return;
                }
            }
        }
    }

    /// From here on the bytes mean nothing.
    fn lose(&mut self, side: Side, channel: Channel, rest: Bytes, why: String, trail: &Trail) {
        self.half(side).lost = true;
        let (conn, note, kind) = (Some(self.conn), Some(why), Some(Kind::Invalid));
        trail.note(side, channel, rest, Facts { conn, note, kind, http: None });
    }

    fn frames(&mut self, side: Side, bytes: &[u8], trail: &Trail) {
        let conn = Some(self.conn);
        let Some(frames) = &mut self.half(side).frames else { return };
        frames.feed(bytes);
        loop {
            match frames.next() {
                Ok(Some(Seen::Message(raw, note))) => {
                    trail.note(side, Channel::Ws, raw, Facts { conn, note, ..Facts::default() });
                }
                Ok(Some(Seen::Control(raw, name))) => {
                    let (note, kind) = (Some(name), Some(Kind::SideLog));
                    trail.note(side, Channel::Ws, raw, Facts { conn, note, kind, http: None });
                }
                Ok(None) => return,
                Err(why) => {
                    let rest = Bytes::copy_from_slice(frames.pending());
                    self.lose(side, Channel::Ws, rest, why, trail);
                    return;
                }
            }
        }
    }

    /// Both sides leave HTTP; what they have already sent after it is read anew.
    fn upgrade(&mut self, trail: &Trail) {
        let http = self.server.facts.take();
        let (conn, kind) = (Some(self.conn), Some(Kind::SideLog));
        trail.note(
            Side::Server,
            Channel::Http,
            Bytes::new(),
            Facts { http, conn, note: None, kind },
        );
        for side in [Side::Client, Side::Server] {
            let half = self.half(side);
            if !half.lost {
                half.frames = Some(Frames::new());
                let rest = half.parser.take_pending();
                self.frames(side, &rest, trail);
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
            }
            Side::Server => {
                facts.status = head.status();
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
        if side == Side::Server && head.status() == Some(101) && head.upgrades_to_web_socket() {
            self.upgrade(trail);
        }
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
    pub fn end(&mut self, side: Side, trail: &Trail) -> bool {
        let half = self.half(side);
        half.ended = true;
        if let Some(rest) = half.frames.as_mut().and_then(Frames::unfinished)
            && !half.lost
        {
            self.lose(side, Channel::Ws, rest, "cut off".into(), trail);
        }
        let half = self.half(side);
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
