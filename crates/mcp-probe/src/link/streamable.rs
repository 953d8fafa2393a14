//! Streamable HTTP: each message is a POST; the answer is JSON or an event
//! stream.

use super::{Closure, HttpEnd, Incoming, LEFT_OUT, LinkError, LinkOptions};
use crate::http::{self, Head, HttpFault, Part, Request, Response, SseItem, SseParser, Url};
use crate::message::{Kind, Message};
use crate::stream::{Piece, Quirks, Splitter};
use crate::trail::{Channel, Facts, HttpFacts, Side};
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;
use std::time::Duration;

const MOST_REDIRECTS: usize = 5;

enum Body {
    /// Nothing is being read.
    None,
    /// The head has not come yet, or the body is read as a whole.
    Whole(Box<Response>, BytesMut),
    /// Events, and the first bytes as they came, should there be none.
    Events(Box<Response>, SseParser),
}

/// The connection: one request at a time.
pub struct HttpLink {
    url: Url,
    options: LinkOptions,
    session: Option<String>,
    facts: Option<HttpFacts>,
    body: Body,
    last_request: Option<Request>,
    redirects: Vec<String>,
    hops: Vec<(u16, String)>,
    /// How an event stream begins that has brought no event yet.
    beginning: Vec<u8>,
    last_event: Option<String>,
    retry: Option<u64>,
    reconnects: u32,
    ready: VecDeque<Incoming>,
    /// Version to name in headers once agreed.
    pub version: Option<String>,
    /// Whether the server was seen to use comments or empty events to keep alive.
    pub comments: u64,
}

impl HttpLink {
    /// Gets ready; nothing is sent yet.
    pub fn new(url: Url, options: LinkOptions) -> HttpLink {
        HttpLink {
            url,
            options,
            session: None,
            facts: None,
            body: Body::None,
            last_request: None,
            redirects: Vec::new(),
            hops: Vec::new(),
            beginning: Vec::new(),
            last_event: None,
            retry: None,
            reconnects: 0,
            ready: VecDeque::new(),
            version: None,
            comments: 0,
        }
    }

    /// When bytes last came.
    pub fn activity(&self) -> crate::limits::Activity {
        self.options.activity.clone()
    }

    /// What has come of an answer that is not complete.
    pub fn unfinished(&self) -> Option<Bytes> {
        match &self.body {
            Body::None => None,
            Body::Whole(_, whole) => (!whole.is_empty()).then(|| whole.clone().freeze()),
            Body::Events(_, parser) => parser.unfinished().map(Bytes::from),
        }
    }

    /// Redirects that were followed for the last message.
    pub fn hops(&self) -> &[(u16, String)] {
        &self.hops
    }

    /// Facts of the answer.
    pub fn facts(&self) -> Option<&HttpFacts> {
        self.facts.as_ref()
    }

    fn base_headers(&self, accept: &str) -> Vec<(String, String)> {
        let own = |name: &str| http::find_header(&self.options.headers, name).is_some();
        let mut headers: Vec<(String, String)> = Vec::new();
        if !own("accept") {
            headers.push(("Accept".into(), accept.into()));
        }
        if !own("user-agent") {
            headers.push((
                "User-Agent".into(),
                concat!("mcp-probe/", env!("CARGO_PKG_VERSION")).into(),
            ));
        }
        headers.extend(self.options.headers.iter().cloned());
        if let Some(session) = &self.session {
            headers.push(("Mcp-Session-Id".into(), session.clone()));
        }
        if let Some(version) = &self.version {
            headers.push(("MCP-Protocol-Version".into(), version.clone()));
        }
        headers
    }

    /// Posts a message. Headers given here replace those of the same name.
    pub async fn send(&mut self, raw: Bytes, extra: &[(String, String)]) -> Result<(), LinkError> {
        let mut headers = self.base_headers("application/json, text/event-stream");
        headers.push(("Content-Type".into(), "application/json".into()));
        headers.retain(|(name, _)| http::find_header(extra, name).is_none());
        headers.extend(extra.iter().filter(|(_, value)| value != LEFT_OUT).cloned());
        self.redirects.clear();
        self.hops.clear();
        self.reconnects = 0;
        self.last_event = None;
        self.ready.clear();
        let request = Request { method: "POST", headers, body: Some(raw) };
        let url = self.url.clone();
        self.perform(&url, request).await
    }

    async fn perform(&mut self, url: &Url, request: Request) -> Result<(), LinkError> {
        let facts = HttpFacts {
            request: Some((request.method.into(), url.path.clone())),
            headers: request.headers.clone(),
            ..HttpFacts::default()
        };
        let raw = request.body.clone().unwrap_or_default();
        let kind = request.body.is_none().then_some(Kind::SideLog);
        self.options.trail.note(
            Side::Client,
            Channel::Http,
            raw,
            Facts { http: Some(facts), kind, ..Facts::default() },
        );
        self.facts = None;
        let response = http::send(url, &request, self.options.limits.connect()).await?;
        self.last_request = Some(request);
        self.body = Body::Whole(Box::new(response), BytesMut::new());
        Ok(())
    }

    /// What comes next.
    pub async fn next(&mut self) -> Incoming {
        loop {
            if let Some(incoming) = self.ready.pop_front() {
                return incoming;
            }
            match &mut self.body {
                Body::None => {
                    return Incoming::Closed(Closure {
                        why: "the answer is complete".into(),
                        ..Closure::default()
                    });
                }
                Body::Whole(response, _) | Body::Events(response, _) => {
                    let part = response.next().await;
                    self.options.activity.touch();
                    self.take(part).await;
                }
            }
        }
    }

    async fn take(&mut self, part: Part) {
        match part {
            Part::Head => self.head().await,
            Part::Body(bytes) => self.bytes(bytes),
            Part::End => self.end(None).await,
            Part::Broken(why) => self.end(Some(HttpFault::Broken(why))).await,
        }
    }

    async fn head(&mut self) {
        let Body::Whole(response, _) = std::mem::replace(&mut self.body, Body::None) else {
            return;
        };
        let head = response.head.clone().unwrap_or_default();
        let status = head.status().unwrap_or(0);
        self.facts = Some(HttpFacts {
            status: Some(status),
            headers: head.headers.clone(),
            ..HttpFacts::default()
        });
        if let Some(session) = head.header("mcp-session-id") {
            self.session = Some(session.to_string());
        }
        if matches!(status, 301 | 302 | 303 | 307 | 308) && head.header("location").is_some() {
            self.note_head();
            return self.redirect(&head).await;
        }
        let packed = head.header("content-encoding").is_some_and(http::is_packed);
        if head.media_type() == "text/event-stream" && !packed {
            self.note_head();
            self.beginning.clear();
            self.body = Body::Events(response, SseParser::default());
        } else {
            self.body = Body::Whole(response, BytesMut::new());
        }
    }

    fn note_head(&self) {
        let facts =
            Facts { http: self.facts.clone(), kind: Some(Kind::SideLog), ..Facts::default() };
        self.options.trail.note(Side::Server, Channel::Http, Bytes::new(), facts);
    }

    /// Follows within the same origin, for a few steps.
    async fn redirect(&mut self, head: &Head) {
        let location = head.header("location").unwrap_or_default();
        let fault = |fault| Incoming::HttpEnd(HttpEnd { fault: Some(fault), unfinished: None });
        let Some(next) = self.url.join(location) else {
            let why = format!("redirected to {location:?}, which is no address");
            return self.ready.push_back(fault(HttpFault::Broken(why)));
        };
        if !next.same_origin(&self.url) {
            return self.ready.push_back(fault(HttpFault::ForeignRedirect(next.to_string())));
        }
        self.redirects.push(next.path.clone());
        self.hops.push((head.status().unwrap_or(0), next.to_string()));
        if self.redirects.len() > MOST_REDIRECTS {
            let seen = std::mem::take(&mut self.redirects);
            return self.ready.push_back(fault(HttpFault::RedirectLoop(seen)));
        }
        let Some(request) = self.last_request.clone() else {
            return;
        };
        if let Err(error) = self.perform(&next, request).await {
            self.ready.push_back(fault(HttpFault::Broken(error.to_string())));
        }
    }

    fn bytes(&mut self, bytes: Bytes) {
        let limit = self.options.limits.max_message;
        match &mut self.body {
            Body::None => {}
            Body::Whole(_, whole) if whole.len() + bytes.len() > limit => {
                self.body = Body::None;
                self.ready.push_back(Incoming::Oversize);
            }
            Body::Whole(_, whole) => whole.extend_from_slice(&bytes),
            Body::Events(_, parser) => {
                parser.feed(&bytes);
                let room = 400usize.saturating_sub(self.beginning.len()).min(bytes.len());
                self.beginning.extend_from_slice(&bytes[..room]);
                let mut found = Vec::new();
                while let Some(item) = parser.next() {
                    found.push(item);
                }
                found.into_iter().for_each(|item| self.event(item));
            }
        }
    }

    fn event(&mut self, item: SseItem) {
        let SseItem::Event(event) = item else {
            self.comments += 1;
            return;
        };
        if let Some(id) = event.id {
            self.last_event = Some(id);
        }
        if event.retry.is_some() {
            self.retry = event.retry;
        }
        let data = event.data.unwrap_or_default();
        if data.is_empty() {
            self.comments += 1;
            return;
        }
        let facts = HttpFacts { event: true, ..HttpFacts::default() };
        self.message(data.into(), facts);
    }

    fn message(&mut self, raw: Bytes, facts: HttpFacts) {
        self.written(raw, facts, Quirks::default());
    }

    fn written(&mut self, raw: Bytes, facts: HttpFacts, quirks: Quirks) {
        let message = Message::read(raw.clone());
        let side = message.json.is_object() || message.json.is_array() || message.fault.is_none();
        let looks = matches!(raw.iter().find(|b| !b.is_ascii_whitespace()), Some(b'{' | b'['));
        let kind = (!side && !looks).then_some(Kind::SideLog);
        self.options.trail.note(
            Side::Server,
            Channel::Http,
            raw.clone(),
            Facts { http: Some(facts), kind, ..Facts::default() },
        );
        self.ready.push_back(match kind {
            None => Incoming::Message(message, quirks),
            Some(_) => Incoming::Side(raw),
        });
    }

    /// A body that is not one message may still hold one among other text.
    fn pieces(&mut self, whole: &Bytes, facts: &HttpFacts) {
        let mut splitter = Splitter::new(self.options.limits.max_message);
        splitter.feed(whole);
        let mut pieces = Vec::new();
        while let Some(piece) = splitter.finish() {
            pieces.push(piece);
        }
        if !pieces.iter().any(|piece| matches!(piece, Piece::Message(..))) {
            return self.message(whole.clone(), facts.clone());
        }
        for piece in pieces {
            match piece {
                Piece::Message(bytes, _) => self.written(bytes, facts.clone(), Quirks::PREFIXED),
                Piece::Side(bytes) | Piece::Oversize(bytes) => {
                    self.ready.push_back(Incoming::Side(bytes));
                }
            }
        }
    }

    async fn end(&mut self, fault: Option<HttpFault>) {
        match std::mem::replace(&mut self.body, Body::None) {
            Body::None => {}
            Body::Whole(_, whole) => {
                let facts = self.facts.clone().unwrap_or_default();
                let (whole, fault) = match (self.unpack(whole.freeze(), &facts), fault) {
                    (Ok(whole), fault) => (whole, fault),
                    (Err(why), _) => (Bytes::new(), Some(HttpFault::Broken(why))),
                };
                let broken = fault.is_some();
                if broken || whole.is_empty() {
                    let note = fault.as_ref().map(ToString::to_string);
                    let kind = Some(if broken { Kind::Invalid } else { Kind::SideLog });
                    self.options.trail.note(
                        Side::Server,
                        Channel::Http,
                        whole.clone(),
                        Facts { http: Some(facts), note, kind, ..Facts::default() },
                    );
                } else if Message::read(whole.clone()).fault.is_some() {
                    self.pieces(&whole, &facts);
                } else {
                    self.message(whole.clone(), facts);
                }
                let unfinished = (broken && !whole.is_empty()).then_some(whole);
                self.ready.push_back(Incoming::HttpEnd(HttpEnd { fault, unfinished }));
            }
            Body::Events(_, parser) => {
                let unfinished = parser.unfinished().map(Bytes::from);
                if self.last_event.is_some() && unfinished.is_none() && self.reconnects < 3 {
                    self.body = Body::None;
                    if self.reconnect().await {
                        return;
                    }
                }
                // JSON that is only called an event stream.
                if self.beginning.trim_ascii_start().starts_with(b"{") {
                    let beginning = std::mem::take(&mut self.beginning);
                    self.ready.push_back(Incoming::Side(beginning.into()));
                }
                self.ready.push_back(Incoming::HttpEnd(HttpEnd { fault, unfinished }));
            }
        }
    }

    /// Undoes the packing of a body, as all clients do. A packed event stream is read as
    /// a whole.
    fn unpack(&mut self, whole: Bytes, facts: &HttpFacts) -> Result<Bytes, String> {
        let Some(name) = http::find_header(&facts.headers, "content-encoding") else {
            return Ok(whole);
        };
        if !http::is_packed(name) {
            return Ok(whole);
        }
        let plain = http::unpack(name, &whole, self.options.limits.max_message)?;
        let kind = http::find_header(&facts.headers, "content-type").unwrap_or_default();
        if !kind.to_ascii_lowercase().starts_with("text/event-stream") {
            return Ok(plain.into());
        }
        let mut parser = SseParser::default();
        parser.feed(&plain);
        let mut found = Vec::new();
        while let Some(item) = parser.next() {
            found.push(item);
        }
        found.into_iter().for_each(|item| self.event(item));
        Ok(Bytes::new())
    }

    /// The stream ended early but can be resumed from its last event.
    async fn reconnect(&mut self) -> bool {
        self.reconnects += 1;
        let wait = Duration::from_millis(self.retry.unwrap_or(1000).min(10_000));
        // A server that says nothing of waiting is asked again soon.
        tokio::time::sleep(wait).await;
        let mut headers = self.base_headers("text/event-stream");
        if let Some(id) = &self.last_event {
            headers.push(("Last-Event-ID".into(), id.clone()));
        }
        let url = self.url.clone();
        self.perform(&url, Request { method: "GET", headers, body: None }).await.is_ok()
    }

    /// Ends the session, if there is one. 405 means the server knows no end.
    pub async fn close(&mut self) {
        self.body = Body::None;
        if self.session.is_none() {
            return;
        }
        let headers = self.base_headers("application/json, text/event-stream");
        let url = self.url.clone();
        let request = Request { method: "DELETE", headers, body: None };
        let within = self.options.limits.connect().min(Duration::from_secs(3));
        let _ = tokio::time::timeout(within, async {
            if self.perform(&url, request).await.is_ok()
                && let Body::Whole(response, _) = &mut self.body
            {
                let _ = response.next().await;
                let status = response.head.as_ref().and_then(Head::status);
                self.options.trail.remark(&format!("DELETE of the session: {status:?}"));
            }
        })
        .await;
        self.session = None;
        self.body = Body::None;
    }
}
