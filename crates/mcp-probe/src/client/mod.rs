//! The raw client: one connection, one request at a time, nothing hidden.

mod exchange;
mod handshake;
mod headers;
mod lists;

use crate::conform::{self, Fault};
use crate::json::Json;
use crate::limits::{Activity, Limits};
use crate::link::{HttpEnd, Incoming, Link, LinkError, LinkOptions};
use crate::message::{Kind, Message};
use crate::obj;
use crate::stream::Quirks;
use crate::target::Command;
use crate::trail::Trail;
use bytes::Bytes;
pub use exchange::{Exchange, Expiry, Outcome, clip, clip_bytes, outcome_of, same_id};
pub use handshake::{Attempt, Session, Unopened, open, open_era};
pub use headers::{HeaderRule, header_rules, param_headers};
pub use lists::Listing;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Instant;

/// Known versions, newest first.
pub const VERSIONS: [&str; 5] =
    ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The version with metadata in each request.
pub const MODERN: &str = VERSIONS[0];
/// The newest version with a handshake.
pub const NEWEST_LEGACY: &str = VERSIONS[1];

/// Whether state lives in a handshake or in each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// 2026-07-28 and later.
    Modern,
    /// `initialize` first.
    Legacy,
}

impl Era {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Era::Modern => "modern",
            Era::Legacy => "legacy",
        }
    }

    /// The era of a version.
    pub fn of(version: &str) -> Era {
        if version == MODERN { Era::Modern } else { Era::Legacy }
    }
}

/// Which version the user wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// Find out.
    Auto,
    /// This one.
    Pin(String),
}

/// What every verb needs.
#[derive(Clone)]
pub struct Context {
    /// Limits.
    pub limits: Limits,
    /// Trail.
    pub trail: Trail,
    /// Extra headers.
    pub headers: Vec<(String, String)>,
    /// Additions to the environment of commands.
    pub env: Vec<(String, String)>,
    /// Working directory of commands, when it is not ours.
    pub cwd: Option<PathBuf>,
    /// Whether commands get only the variables that clients pass on.
    pub bare_env: bool,
    /// Wanted version.
    pub wish: Wish,
}

impl Context {
    /// Options for a new connection.
    pub fn link_options(&self) -> LinkOptions {
        LinkOptions {
            limits: self.limits,
            trail: self.trail.clone(),
            headers: self.headers.clone(),
            activity: Activity::default(),
            born: self.trail.newest(),
        }
    }

    /// A command with what the flags add to it.
    pub fn command(&self, command: &Command) -> Command {
        Command {
            env: [command.env.clone(), self.env.clone()].concat(),
            cwd: self.cwd.clone().or_else(|| command.cwd.clone()),
            bare_env: self.bare_env,
            ..command.clone()
        }
    }

    /// The same with other limits.
    pub fn with_limits(&self, limits: Limits) -> Context {
        Context { limits, ..self.clone() }
    }
}

/// Oddities seen on a connection, beyond single requests.
#[derive(Debug, Clone, Default)]
pub struct Oddities {
    /// Lines on the message channel that were no messages.
    pub noise: Vec<String>,
    /// How many such lines.
    pub noise_count: usize,
    /// Oddities of writing.
    pub quirks: Quirks,
    /// Answers whose id belongs to no open request.
    pub strange_ids: Vec<String>,
    /// Answers to requests that were given up before.
    pub late: usize,
    /// Requests from the server.
    pub server_requests: Vec<String>,
    /// Notifications from the server, by method.
    pub notifications: Vec<String>,
    /// Longest message.
    pub longest: usize,
    /// Messages that are JSON but nothing else.
    pub invalid: Vec<Message>,
    /// Member names that occurred twice in one object.
    pub duplicates: Vec<String>,
    /// Numbers that lose digits in a double.
    pub wide_numbers: Vec<String>,
}

/// A client on one connection.
pub struct Peer {
    /// The connection.
    pub link: Link,
    /// Limits and trail.
    pub options: LinkOptions,
    /// Era of the requests sent.
    pub era: Era,
    /// Version in use.
    pub version: String,
    /// What was odd.
    pub oddities: Oddities,
    next_id: i64,
    is_fresh: bool,
    given_up: VecDeque<Json>,
    mirrored: Vec<(String, Vec<HeaderRule>)>,
}

const KEPT: usize = 20;

/// How long a right answer is still awaited after a wrong one.
const AFTER_STRAY: std::time::Duration = std::time::Duration::from_secs(2);
const MOST_GIVEN_UP: usize = 1000;

impl Peer {
    /// A client on a fresh connection.
    pub fn new(link: Link, options: LinkOptions) -> Peer {
        Peer {
            link,
            options,
            era: Era::Legacy,
            version: NEWEST_LEGACY.into(),
            oddities: Oddities::default(),
            next_id: 1,
            is_fresh: true,
            given_up: VecDeque::new(),
            mirrored: Vec::new(),
        }
    }

    /// A fresh id.
    pub fn take_id(&mut self) -> i64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Which arguments of which tools are mirrored into headers.
    pub fn mirror(&mut self, tools: &[Json]) {
        self.mirrored = tools
            .iter()
            .filter_map(|tool| Some((tool.text_at("name")?.to_string(), header_rules(tool).ok()?)))
            .collect();
    }

    /// Sends a request of the era in use and waits for its answer.
    pub async fn request(&mut self, method: &str, params: Json) -> Exchange {
        let id = self.take_id();
        let params = match self.era {
            Era::Modern => with_metadata(params, &self.version),
            Era::Legacy => params,
        };
        let headers = self.request_headers(method, &params);
        let mut message = obj! { "jsonrpc": "2.0", "id": id, "method": method };
        if params.is_object() {
            message.push("params", params);
        }
        self.exchange(method, Some(Json::from(id)), message.to_string().into(), &headers).await
    }

    /// The headers that mirror a request of the era in use.
    pub fn request_headers(&self, method: &str, params: &Json) -> Vec<(String, String)> {
        if self.era == Era::Legacy {
            return Vec::new();
        }
        let mut headers = headers::standard(method, params, &self.version);
        if method == "tools/call"
            && let Some(name) = params.text_at("name")
            && let Some((_, rules)) = self.mirrored.iter().find(|(tool, _)| tool == name)
        {
            headers.extend(param_headers(rules, params.get("arguments").unwrap_or(&Json::Null)));
        }
        headers
    }

    /// Sends a notification. Nothing is waited for but the HTTP status.
    pub async fn notify(
        &mut self,
        method: &str,
        params: Option<Json>,
    ) -> Result<Option<u16>, LinkError> {
        let params = match self.era {
            Era::Modern => Some(with_metadata(params.unwrap_or_default(), &self.version)),
            Era::Legacy => params,
        };
        let headers = self.request_headers(method, params.as_ref().unwrap_or(&Json::Null));
        let message = obj! { "jsonrpc": "2.0", "method": method }.with_some("params", params);
        self.notify_raw(message.to_string().into(), &headers).await
    }

    /// The same with bytes of one's own.
    pub async fn notify_raw(
        &mut self,
        raw: Bytes,
        headers: &[(String, String)],
    ) -> Result<Option<u16>, LinkError> {
        self.link.send(raw, headers).await?;
        if !matches!(self.link, Link::Http(_)) {
            return Ok(None);
        }
        let until = tokio::time::Instant::now()
            + self.options.limits.idle.min(std::time::Duration::from_secs(5));
        while let Ok(incoming) = tokio::time::timeout_at(until, self.link.next()).await {
            match incoming {
                // A refusal belongs to this message, whatever id it carries.
                Incoming::Message(message, quirks) if message.kind == Kind::Error => {
                    self.look(&message, quirks);
                }
                Incoming::Message(message, quirks) => self.unasked(&message, quirks).await,
                Incoming::HttpEnd(_) | Incoming::Closed(_) | Incoming::Oversize => break,
                Incoming::Side(bytes) => self.noise(&bytes),
            }
        }
        Ok(self.link.http().and_then(|http| http.status))
    }

    /// Sends bytes and waits for the answer with that id.
    pub async fn exchange(
        &mut self,
        method: &str,
        id: Option<Json>,
        raw: Bytes,
        headers: &[(String, String)],
    ) -> Exchange {
        let start = Instant::now();
        // What a process says at its start belongs to the first request, even if it came before.
        let seq_before = match std::mem::replace(&mut self.is_fresh, false) {
            true => self.options.born,
            false => self.options.trail.newest(),
        };
        let comments = self.comments();
        let mut exchange = Exchange {
            method: method.into(),
            elapsed: Default::default(),
            outcome: Outcome::Expired(Expiry::Idle),
            limits: self.options.limits,
            answer: None,
            id_matched: false,
            http: None,
            seq_before,
            unrelated: 0,
            comments: 0,
            side: Vec::new(),
            unfinished: None,
            quirks: Quirks::default(),
            batched: false,
            hops: Vec::new(),
            faults: Vec::new(),
        };
        self.options.activity.touch();
        exchange.outcome = match self.link.send(raw, headers).await {
            Ok(()) => self.wait(&mut exchange, id.as_ref(), start).await,
            // A dead process is better described by its end than by a broken pipe.
            Err(error @ LinkError::Write(_)) if matches!(self.link, Link::Stdio(_)) => {
                self.why_not_written(&mut exchange, error).await
            }
            Err(error) => Outcome::Failed(error),
        };
        if let (Outcome::Expired(_) | Outcome::Flood(_), Some(id)) = (&exchange.outcome, id) {
            self.give_up(id);
        }
        exchange.elapsed = start.elapsed();
        exchange.http = self.link.http().cloned();
        exchange.unfinished = match &self.link {
            Link::Http(link) => link.unfinished(),
            _ => None,
        };
        exchange.comments = self.comments() - comments;
        if let Link::Http(link) = &self.link {
            exchange.hops = link.hops().to_vec();
        }
        exchange.faults = self.faults(&exchange);
        exchange
    }

    /// Where the answer leaves what the specification and the official clients demand.
    fn faults(&self, exchange: &Exchange) -> Vec<Fault> {
        let Some(answer) = &exchange.answer else { return Vec::new() };
        let agreed = answer
            .json
            .text_at("result/protocolVersion")
            .filter(|_| exchange.method == "initialize");
        let version =
            agreed.filter(|version| VERSIONS[1..].contains(version)).unwrap_or(&self.version);
        let mut faults = conform::check_answer(&exchange.method, version, &answer.json);
        match (&self.link, &exchange.http) {
            (Link::Http(_), Some(facts)) => {
                faults.extend(conform::check_http(
                    &exchange.method,
                    facts,
                    exchange.batched,
                    exchange.quirks,
                ));
                faults.extend(conform::check_redirects(&exchange.method, &exchange.hops));
            }
            (Link::Stdio(_), _) => {
                faults.extend(conform::check_writing(
                    &exchange.method,
                    exchange.quirks,
                    exchange.batched,
                ));
            }
            _ => {}
        }
        faults
    }

    /// No answer is awaited any more; should one come after all, it is late, not strange.
    pub fn give_up(&mut self, id: Json) {
        if self.given_up.len() >= MOST_GIVEN_UP {
            self.given_up.pop_front();
        }
        self.given_up.push_back(id);
    }

    /// Whether this answers a request that was given up; each is answered once.
    fn is_late(&mut self, message: &Message) -> bool {
        let answer = matches!(message.kind, Kind::Response | Kind::Error);
        let asked = self.given_up.iter().position(|id| answer && message.id() == Some(id));
        asked.is_some_and(|at| self.given_up.remove(at).is_some())
    }

    fn was_given_up(&self, message: &Message) -> bool {
        self.given_up.iter().any(|id| message.id() == Some(id))
    }

    async fn why_not_written(&mut self, exchange: &mut Exchange, error: LinkError) -> Outcome {
        let until = tokio::time::Instant::now() + std::time::Duration::from_secs(2);
        while let Ok(incoming) = tokio::time::timeout_at(until, self.link.next()).await {
            match incoming {
                Incoming::Closed(closure) => return Outcome::Closed(closure),
                Incoming::Side(bytes) => {
                    self.noise(&bytes);
                    if exchange.side.len() < KEPT {
                        exchange.side.push(bytes);
                    }
                }
                _ => {}
            }
        }
        Outcome::Failed(error)
    }

    fn comments(&self) -> u64 {
        match &self.link {
            Link::Http(link) => link.comments,
            _ => 0,
        }
    }

    async fn wait(
        &mut self,
        exchange: &mut Exchange,
        id: Option<&Json>,
        start: Instant,
    ) -> Outcome {
        let limits = self.options.limits;
        let mut bare_body = None;
        let mut stray: Option<Message> = None;
        loop {
            // With a wrong answer at hand the right one is hardly to be expected.
            let idle = if stray.is_some() { limits.idle.min(AFTER_STRAY) } else { limits.idle };
            let incoming = match self.next_within(start, idle).await {
                Ok(incoming) => incoming,
                Err(expiry) => {
                    return stray.map_or(Outcome::Expired(expiry), Outcome::Misaddressed);
                }
            };
            match incoming {
                Incoming::Message(message, quirks) => {
                    let batched = message.kind == Kind::Batch;
                    let message = if batched { unpacked(message, id) } else { message };
                    self.look(&message, quirks);
                    if let Some(matched) = self.answers(&message, id) {
                        exchange.id_matched = matched;
                        exchange.quirks = quirks;
                        exchange.batched = batched;
                        let outcome = outcome_of(&message);
                        exchange.answer = Some(message);
                        return outcome;
                    }
                    let answer = matches!(message.kind, Kind::Response | Kind::Error);
                    if answer && stray.is_none() && !self.was_given_up(&message) {
                        stray = Some(message.clone());
                    }
                    exchange.unrelated += 1;
                    if exchange.unrelated > limits.max_unrelated {
                        return Outcome::Flood(exchange.unrelated);
                    }
                    self.unrelated(&message).await;
                }
                Incoming::Side(bytes) => {
                    self.noise(&bytes);
                    if matches!(self.link, Link::Http(_)) {
                        bare_body = Some(bytes);
                    } else {
                        exchange.unrelated += 1;
                        if exchange.side.len() < KEPT {
                            exchange.side.push(bytes);
                        }
                        if exchange.unrelated > limits.max_unrelated {
                            return Outcome::Flood(exchange.unrelated);
                        }
                    }
                }
                Incoming::Oversize => return Outcome::Oversize,
                Incoming::HttpEnd(end) => return Outcome::Bare(end, bare_body),
                Incoming::Closed(closure) => return Outcome::Closed(closure),
            }
        }
    }

    /// The next thing, while both limits hold. Any bytes reset the idle limit.
    async fn next_within(
        &mut self,
        start: Instant,
        longest_silence: std::time::Duration,
    ) -> Result<Incoming, Expiry> {
        let limits = Limits { idle: longest_silence, ..self.options.limits };
        let activity = self.options.activity.clone();
        let next = self.link.next();
        tokio::pin!(next);
        let total = start + limits.total;
        loop {
            let idle = activity.last().max(start) + limits.idle;
            let until = tokio::time::Instant::from_std(idle.min(total));
            if let Ok(incoming) = tokio::time::timeout_at(until, &mut next).await {
                // A server that always has something to send must not outrun the limit.
                return if Instant::now() >= total { Err(Expiry::Total) } else { Ok(incoming) };
            }
            // Silence is the more telling of the two, should both have run out.
            if activity.last().max(start) + limits.idle <= Instant::now() {
                return Err(Expiry::Idle);
            }
            if Instant::now() >= total {
                return Err(Expiry::Total);
            }
        }
    }

    /// Whether a message answers the request, and whether by its id. An error
    /// with a null, absent or invented id answers whatever is open.
    fn answers(&self, message: &Message, id: Option<&Json>) -> Option<bool> {
        let http = matches!(self.link, Link::Http(_));
        match message.kind {
            Kind::Response | Kind::Error if message.id() == id => Some(true),
            Kind::Response | Kind::Error if same_id(message.id(), id) => Some(true),
            Kind::Error if matches!(message.id(), None | Some(Json::Null)) => Some(false),
            Kind::Error if http => Some(false),
            Kind::Error if message.id().and_then(Json::as_str).is_some() => Some(false),
            Kind::Invalid | Kind::Batch if message.kind == Kind::Batch && !http => None,
            Kind::Invalid | Kind::Batch
                if http && self.link.http().is_some_and(|facts| !is_events(facts)) =>
            {
                Some(false)
            }
            Kind::Invalid if message.fault.is_some() => Some(false),
            _ => None,
        }
    }

    fn look(&mut self, message: &Message, quirks: Quirks) {
        let odd = &mut self.oddities;
        odd.quirks.add(quirks);
        odd.longest = odd.longest.max(message.raw.len());
        let broken = message.kind == Kind::Invalid || message.fault.is_some();
        if broken && odd.invalid.len() < KEPT {
            odd.invalid.push(message.clone());
        }
        if odd.duplicates.len() < KEPT && message.raw.len() < (1 << 20) {
            odd.duplicates.extend(message.json.duplicate_names());
            odd.wide_numbers.extend(message.json.wide_numbers());
        }
    }

    async fn unasked(&mut self, message: &Message, quirks: Quirks) {
        self.look(message, quirks);
        self.unrelated(message).await;
    }

    /// A message that answers nothing: requests of the server get a refusal, so
    /// that it does not wait for us.
    async fn unrelated(&mut self, message: &Message) {
        if self.is_late(message) {
            self.oddities.late += 1;
            return;
        }
        let name = message.method().unwrap_or_default().to_string();
        let odd = &mut self.oddities;
        match message.kind {
            Kind::Request => {
                if odd.server_requests.len() < KEPT {
                    odd.server_requests.push(name.clone());
                }
                let answer = answer_to_server(message, &name);
                if matches!(self.link, Link::Stdio(_) | Link::Ws(_)) {
                    let _ = self.link.send(answer.to_string().into(), &[]).await;
                }
            }
            Kind::Notification if odd.notifications.len() < KEPT => odd.notifications.push(name),
            Kind::Response | Kind::Error if odd.strange_ids.len() < KEPT => {
                odd.strange_ids.push(message.id().map_or("none".into(), Json::to_string));
            }
            _ => {}
        }
    }

    fn noise(&mut self, bytes: &[u8]) {
        self.oddities.noise_count += 1;
        if self.oddities.noise.len() < KEPT {
            self.oddities.noise.push(clip_bytes(bytes, 200));
        }
    }

    /// Takes what comes for a while, expecting nothing but late answers.
    pub async fn listen(&mut self, time: std::time::Duration) -> Vec<Message> {
        let until = tokio::time::Instant::now() + time;
        let mut heard = Vec::new();
        while let Ok(incoming) = tokio::time::timeout_at(until, self.link.next()).await {
            match incoming {
                Incoming::Message(message, quirks) => {
                    let late = self.oddities.late;
                    self.unasked(&message, quirks).await;
                    if heard.len() < 1000 && self.oddities.late == late {
                        heard.push(message);
                    }
                }
                Incoming::Side(bytes) => self.noise(&bytes),
                Incoming::Oversize => {}
                Incoming::HttpEnd(HttpEnd { .. }) | Incoming::Closed(_) => break,
            }
        }
        heard
    }
}

/// The message in a batch that answers the request; the batch itself if there is none.
fn unpacked(batch: Message, id: Option<&Json>) -> Message {
    let answers = |item: &&Json| item.get("id") == id || same_id(item.get("id"), id);
    match batch.json.items().iter().find(answers) {
        Some(item) => Message::read(item.to_string().into()),
        None => batch,
    }
}

fn is_events(facts: &crate::trail::HttpFacts) -> bool {
    crate::http::find_header(&facts.headers, "content-type")
        .is_some_and(|value| value.to_ascii_lowercase().starts_with("text/event-stream"))
}

fn answer_to_server(message: &Message, method: &str) -> Json {
    let id = message.id().cloned().unwrap_or_default();
    if method == "ping" {
        return obj! { "jsonrpc": "2.0", "id": id, "result": Json::object() };
    }
    let error = obj! { "code": -32601, "message": "this client offers nothing" };
    obj! { "jsonrpc": "2.0", "id": id, "error": error }
}

/// The client as it introduces itself.
pub fn client_info() -> Json {
    obj! { "name": "mcp-probe", "version": env!("CARGO_PKG_VERSION") }
}

/// Adds the metadata of the modern era to the parameters of a request.
pub fn with_metadata(params: Json, version: &str) -> Json {
    let mut params = if params.is_object() { params } else { Json::object() };
    let mut meta = match params.get("_meta") {
        Some(meta) if meta.is_object() => meta.clone(),
        _ => Json::object(),
    };
    for (name, value) in [
        ("io.modelcontextprotocol/protocolVersion", Json::from(version)),
        ("io.modelcontextprotocol/clientInfo", client_info()),
        ("io.modelcontextprotocol/clientCapabilities", Json::object()),
    ] {
        if meta.get(name).is_none() {
            meta.push(name, value);
        }
    }
    params.set("_meta", meta);
    params
}
