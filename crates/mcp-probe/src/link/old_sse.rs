//! The transport of 2024-11-05: a GET opens an event stream that names an
//! endpoint; messages are posted there and answered on the stream.

use super::{Closure, Incoming, LEFT_OUT, LinkError, LinkOptions};
use crate::http::{self, HttpFault, Part, Request, Response, SseEvent, SseItem, SseParser, Url};
use crate::message::{Kind, Message};
use crate::stream::Quirks;
use crate::trail::{Channel, Facts, HttpFacts, Side};
use bytes::Bytes;
use std::collections::VecDeque;

/// The connection.
pub struct OldSseLink {
    endpoint: Url,
    options: LinkOptions,
    stream: Box<Response>,
    parser: SseParser,
    facts: Option<HttpFacts>,
    ready: VecDeque<Incoming>,
    closed: bool,
}

impl OldSseLink {
    /// Opens the stream and waits for the endpoint.
    pub async fn connect(url: &Url, options: LinkOptions) -> Result<OldSseLink, LinkError> {
        let mut headers = vec![("Accept".to_string(), "text/event-stream".to_string())];
        headers.extend(options.headers.iter().cloned());
        let facts = HttpFacts {
            request: Some(("GET".into(), url.path.clone())),
            headers: headers.clone(),
            ..HttpFacts::default()
        };
        options.trail.note(
            Side::Client,
            Channel::Http,
            Bytes::new(),
            Facts { http: Some(facts), kind: Some(Kind::SideLog), ..Facts::default() },
        );
        let request = Request { method: "GET", headers, body: None };
        let stream = http::send(url, &request, options.limits.connect()).await?;
        let mut link = OldSseLink {
            endpoint: url.clone(),
            options,
            stream: Box::new(stream),
            parser: SseParser::default(),
            facts: None,
            ready: VecDeque::new(),
            closed: false,
        };
        let within = link.options.limits.idle;
        match tokio::time::timeout(within, link.wait_for_endpoint(url)).await {
            Ok(result) => result.map_err(LinkError::Http)?,
            Err(_) => {
                return Err(LinkError::Http(HttpFault::NoEndpoint(
                    "the event stream names no endpoint within the time".into(),
                )));
            }
        }
        Ok(link)
    }

    /// When bytes last came.
    pub fn activity(&self) -> crate::limits::Activity {
        self.options.activity.clone()
    }

    /// Facts of the stream's head, or of the last POST that was refused.
    pub fn facts(&self) -> Option<&HttpFacts> {
        self.facts.as_ref()
    }

    async fn wait_for_endpoint(&mut self, url: &Url) -> Result<(), HttpFault> {
        loop {
            match self.stream.next().await {
                Part::Head => self.check_head()?,
                Part::Body(bytes) => self.parser.feed(&bytes),
                Part::End => {
                    return Err(HttpFault::NoEndpoint(
                        "the event stream ended before it named an endpoint".into(),
                    ));
                }
                Part::Broken(why) => return Err(HttpFault::Broken(why)),
            }
            while let Some(item) = self.parser.next() {
                if let SseItem::Event(event) = item
                    && event.name.as_deref() == Some("endpoint")
                {
                    return self.set_endpoint(url, &event);
                }
            }
        }
    }

    fn check_head(&mut self) -> Result<(), HttpFault> {
        let head = self.stream.head.clone().unwrap_or_default();
        self.facts = Some(HttpFacts {
            status: head.status(),
            headers: head.headers.clone(),
            ..HttpFacts::default()
        });
        let facts =
            Facts { http: self.facts.clone(), kind: Some(Kind::SideLog), ..Facts::default() };
        self.options.trail.note(Side::Server, Channel::Http, Bytes::new(), facts);
        if head.media_type() != "text/event-stream" {
            let why = format!(
                "GET gives {} with type {:?}, no event stream",
                head.line,
                head.media_type()
            );
            return Err(HttpFault::NoEndpoint(why));
        }
        Ok(())
    }

    fn set_endpoint(&mut self, url: &Url, event: &SseEvent) -> Result<(), HttpFault> {
        let text = String::from_utf8_lossy(event.data.as_deref().unwrap_or_default()).into_owned();
        let Some(endpoint) = url.join(text.trim()) else {
            return Err(HttpFault::NoEndpoint(format!("the endpoint {text:?} is no address")));
        };
        if !endpoint.same_origin(url) {
            return Err(HttpFault::ForeignEndpoint(endpoint.to_string()));
        }
        self.options.trail.remark(&format!("endpoint {}", http_path(&endpoint)));
        self.endpoint = endpoint;
        Ok(())
    }

    /// Posts a message. The answer to the POST matters only when it is a refusal.
    pub async fn send(&mut self, raw: Bytes, extra: &[(String, String)]) -> Result<(), LinkError> {
        let mut headers = vec![("Content-Type".to_string(), "application/json".to_string())];
        headers.extend(self.options.headers.iter().cloned());
        headers.extend(extra.iter().filter(|(_, value)| value != LEFT_OUT).cloned());
        let facts = HttpFacts {
            request: Some(("POST".into(), self.endpoint.path.clone())),
            headers: headers.clone(),
            ..HttpFacts::default()
        };
        self.options.trail.note(
            Side::Client,
            Channel::Http,
            raw.clone(),
            Facts { http: Some(facts), ..Facts::default() },
        );
        let request = Request { method: "POST", headers, body: Some(raw) };
        let within = self.options.limits.connect();
        let mut response = http::send(&self.endpoint, &request, within).await?;
        let (body, fault) = response.read_all(1 << 20, within).await;
        let head = response.head.clone().unwrap_or_default();
        let status = head.status().unwrap_or(0);
        if fault.is_none() && (200..300).contains(&status) {
            return Ok(());
        }
        let facts =
            HttpFacts { status: Some(status), headers: head.headers, ..HttpFacts::default() };
        self.options.trail.note(
            Side::Server,
            Channel::Http,
            body.clone(),
            Facts { http: Some(facts.clone()), ..Facts::default() },
        );
        self.facts = Some(facts);
        Err(LinkError::Write(format!(
            "POST {} gives {}: {}",
            http_path(&self.endpoint),
            head.line,
            String::from_utf8_lossy(&body[..body.len().min(200)])
        )))
    }

    /// What comes next on the stream.
    pub async fn next(&mut self) -> Incoming {
        loop {
            if let Some(incoming) = self.ready.pop_front() {
                return incoming;
            }
            if self.closed {
                return Incoming::Closed(Closure {
                    why: "the event stream ended".into(),
                    ..Closure::default()
                });
            }
            while let Some(item) = self.parser.next() {
                if let SseItem::Event(event) = item {
                    self.event(event);
                }
            }
            if !self.ready.is_empty() {
                continue;
            }
            let part = self.stream.next().await;
            self.options.activity.touch();
            match part {
                Part::Head => {}
                Part::Body(bytes) => self.parser.feed(&bytes),
                Part::End | Part::Broken(_) => {
                    self.closed = true;
                    let cut = self.parser.unfinished().map(Bytes::from);
                    let why = "the event stream ended".into();
                    return Incoming::Closed(Closure { why, cut, ..Closure::default() });
                }
            }
        }
    }

    fn event(&mut self, event: SseEvent) {
        let Some(data) = event.data.filter(|data| !data.is_empty()) else {
            return;
        };
        let raw = Bytes::from(data);
        let facts = HttpFacts { event: true, ..HttpFacts::default() };
        self.options.trail.note(
            Side::Server,
            Channel::Http,
            raw.clone(),
            Facts { http: Some(facts), ..Facts::default() },
        );
        self.ready.push_back(Incoming::Message(Message::read(raw), Quirks::default()));
    }
}

fn http_path(url: &Url) -> String {
    crate::trail::redact::path(&url.path)
}
