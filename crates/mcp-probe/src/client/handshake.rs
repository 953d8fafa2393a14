//! Getting from a target to a session in which requests can be made, and
//! keeping what was tried on the way.

use super::{
    Context, Era, Exchange, MODERN, NEWEST_LEGACY, Outcome, Peer, VERSIONS, Wish, client_info,
};
use crate::http::Url;
use crate::json::Json;
use crate::link::{Link, LinkError, LinkOptions};
use crate::obj;
use crate::target::Target;
use std::time::Duration;
use tokio::sync::Notify;

/// One thing that was tried.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// What.
    pub what: String,
    /// What came of it.
    pub exchange: Option<Exchange>,
    /// Or why there was not even that.
    pub error: Option<LinkError>,
}

/// A session.
pub struct Session {
    /// The client.
    pub peer: Peer,
    /// The result of `initialize` or `server/discover`.
    pub greeting: Json,
    /// The exchange that opened it.
    pub opening: Exchange,
    /// What was tried before.
    pub attempts: Vec<Attempt>,
    /// The status that `notifications/initialized` got, over HTTP.
    pub initialized: Option<u16>,
}

/// No session came about.
#[derive(Debug, Clone)]
pub struct Unopened {
    /// What was tried.
    pub attempts: Vec<Attempt>,
}

impl Unopened {
    /// The most telling attempt in one line.
    pub fn describe(&self) -> String {
        let lines: Vec<String> = self.attempts.iter().map(|attempt| attempt.describe()).collect();
        lines.join("; ")
    }

    /// The same for verbs that cannot say more: with the last words of the process, and
    /// where to ask for the cause.
    pub fn explain(&self, context: &Context) -> String {
        let stderr = context.trail.stderr_since(0, 3);
        let said = match stderr.is_empty() {
            true => String::new(),
            false => format!("; stderr: {}", super::clip(&stderr.join(" | "), 300)),
        };
        format!("{}{said} (mcp-probe doctor finds the cause)", self.describe())
    }
}

impl Attempt {
    /// One line for people.
    pub fn describe(&self) -> String {
        match (&self.exchange, &self.error) {
            (Some(exchange), _) if exchange.result().is_some() => {
                let versions = exchange.result().and_then(|result| result.get("supportedVersions"));
                let offered =
                    versions.map_or("nothing of the modern era".to_string(), Json::to_string);
                format!("{}: answered, and offers {offered}", self.what)
            }
            (Some(exchange), _) => format!("{}: {}", self.what, exchange.describe()),
            (None, None) => format!("{}: no answer yet when the handshake worked", self.what),
            (_, Some(error)) => format!("{}: {error}", self.what),
        }
    }

    fn failed(what: &str, error: LinkError) -> Attempt {
        Attempt { what: what.into(), exchange: None, error: Some(error) }
    }

    fn made(what: &str, exchange: Exchange) -> Attempt {
        Attempt { what: what.into(), exchange: Some(exchange), error: None }
    }
}

impl Session {
    /// Version in use.
    pub fn version(&self) -> &str {
        &self.peer.version
    }

    /// Ends it in good order.
    pub async fn close(&mut self) {
        self.peer.link.close().await;
    }
}

/// Opens a session in whatever era the server offers, the newest first.
pub async fn open(target: &Target, context: &Context) -> Result<Session, Unopened> {
    let mut attempts = Vec::new();
    match &context.wish {
        Wish::Pin(version) => {
            open_era(target, context, Era::of(version), version, &mut attempts).await
        }
        Wish::Auto => open_either(target, context, &mut attempts).await,
    }
    .map(|mut session| {
        session.attempts = attempts.clone();
        session
    })
    .ok_or(Unopened { attempts })
}

/// The modern era first. Servers that know only a handshake may keep silent, or die, when
/// they are asked for it; so, after a moment of silence, the handshake is tried beside it.
async fn open_either(
    target: &Target,
    context: &Context,
    attempts: &mut Vec<Attempt>,
) -> Option<Session> {
    let go = Notify::new();
    let modern = async {
        let mut tried = Vec::new();
        let session = open_era(target, context, Era::Modern, MODERN, &mut tried).await;
        (session, tried)
    };
    let legacy = async {
        tokio::select! {
            () = tokio::time::sleep(PATIENCE) => {}
            () = go.notified() => {}
        }
        let mut tried = Vec::new();
        let session = open_era(target, context, Era::Legacy, NEWEST_LEGACY, &mut tried).await;
        (session, tried)
    };
    tokio::pin!(modern, legacy);
    tokio::select! {
        (session, mut tried) = &mut modern => {
            attempts.append(&mut tried);
            if session.is_some() || is_final(attempts) {
                return session;
            }
            go.notify_one();
            let (session, mut tried) = legacy.await;
            attempts.append(&mut tried);
            session
        }
        (session, mut tried) = &mut legacy => {
            if session.is_some() {
                attempts.push(Attempt { what: "server/discover".into(), exchange: None, error: None });
                attempts.append(&mut tried);
                return session;
            }
            let (session, mut newer) = modern.await;
            attempts.append(&mut newer);
            attempts.append(&mut tried);
            session
        }
    }
}

/// How long the modern era is awaited alone.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether a second try cannot do better than the first.
fn is_final(attempts: &[Attempt]) -> bool {
    attempts.last().is_some_and(|attempt| match (&attempt.exchange, &attempt.error) {
        (_, Some(LinkError::Spawn(..) | LinkError::Connect(_) | LinkError::WebSocket(_))) => true,
        (Some(exchange), _) => match &exchange.outcome {
            Outcome::Failed(LinkError::Connect(_)) => true,
            _ => matches!(exchange.status(), Some(401 | 403)),
        },
        _ => false,
    })
}

/// Opens a session of one era on a fresh connection.
pub async fn open_era(
    target: &Target,
    context: &Context,
    era: Era,
    version: &str,
    attempts: &mut Vec<Attempt>,
) -> Option<Session> {
    match target {
        Target::Stdio(command) => {
            let command = context.command(command);
            let born = context.trail.newest();
            let link = Link::stdio(&command, context.link_options());
            greet(link.await.map(|link| (link, born)), "start", context, era, version, attempts)
                .await
        }
        Target::Url(url) => open_url(url, context, era, version, attempts).await,
        Target::File(_) => None,
    }
}

async fn open_url(
    url: &Url,
    context: &Context,
    era: Era,
    version: &str,
    attempts: &mut Vec<Attempt>,
) -> Option<Session> {
    let options = context.link_options();
    let born = context.trail.newest();
    let link = Link::url(url, options).await.map(|link| (link, born));
    let session = greet(link, "connect", context, era, version, attempts).await;
    if session.is_some() || era == Era::Modern || url.scheme.is_ws() || !may_be_old(attempts) {
        return session;
    }
    let born = context.trail.newest();
    let link = Link::old_sse(url, context.link_options()).await.map(|link| (link, born));
    greet(link, "GET as old HTTP+SSE", context, era, version, attempts).await
}

/// A POST that was refused as such hints at the old transport.
fn may_be_old(attempts: &[Attempt]) -> bool {
    let exchange = attempts.last().and_then(|attempt| attempt.exchange.as_ref());
    exchange.is_some_and(|exchange| {
        !exchange.is_rpc() && matches!(exchange.status(), Some(400 | 404 | 405 | 406 | 415 | 501))
    })
}

async fn greet(
    link: Result<(Link, u64), LinkError>,
    what: &str,
    context: &Context,
    era: Era,
    version: &str,
    attempts: &mut Vec<Attempt>,
) -> Option<Session> {
    let (link, born) = match link {
        Ok(made) => made,
        Err(error) => {
            attempts.push(Attempt::failed(what, error));
            return None;
        }
    };
    let mut peer = Peer::new(link, LinkOptions { born, ..context.link_options() });
    peer.era = era;
    peer.version = version.into();
    peer.share_activity();
    match era {
        Era::Modern => discover(peer, attempts).await,
        Era::Legacy => initialize(peer, version, attempts).await,
    }
}

async fn discover(mut peer: Peer, attempts: &mut Vec<Attempt>) -> Option<Session> {
    let mut exchange = peer.request("server/discover", Json::object()).await;
    if let Some(version) = other_version(&exchange) {
        attempts.push(Attempt::made("server/discover", exchange.clone()));
        peer.version = version;
        exchange = peer.request("server/discover", Json::object()).await;
    }
    // A server may know the question and say that it has only older versions.
    let greeting = exchange.result().filter(|result| offers_modern(result)).cloned();
    match greeting {
        Some(greeting) => {
            peer.agree();
            Some(Session {
                peer,
                greeting,
                opening: exchange,
                attempts: Vec::new(),
                initialized: None,
            })
        }
        None => {
            attempts.push(Attempt::made("server/discover", exchange));
            peer.link.close().await;
            None
        }
    }
}

/// Whether a version of the modern era is among those supported.
fn offers_modern(result: &Json) -> bool {
    let versions = result.get("supportedVersions").map_or(&[][..], Json::items);
    versions.iter().filter_map(Json::as_str).any(|version| version == MODERN)
}

/// A modern server that refuses our version names those it has. Ours may be
/// among them: a first refusal can be a passing one, so it is asked once more.
fn other_version(exchange: &Exchange) -> Option<String> {
    let error = exchange.error().filter(|error| error.code == Some(-32022))?;
    let supported = error.json.at("data/supported")?.items();
    let known = |version: &&Json| version.as_str().is_some_and(|text| text >= MODERN);
    supported.iter().find(known)?.as_str().map(Into::into)
}

async fn initialize(mut peer: Peer, version: &str, attempts: &mut Vec<Attempt>) -> Option<Session> {
    let params = obj! { "protocolVersion": version, "capabilities": Json::object(), "clientInfo": client_info() };
    let exchange = peer.request("initialize", params).await;
    let greeting = exchange.result().filter(|result| result.is_object()).cloned();
    let Some(greeting) = greeting else {
        attempts.push(Attempt::made(&format!("initialize with {version}"), exchange.clone()));
        if let Some(accepted) = refused_version(&exchange, version) {
            return Box::pin(initialize(peer, &accepted, attempts)).await;
        }
        peer.link.close().await;
        return None;
    };
    if let Some(agreed) = greeting.text_at("protocolVersion") {
        peer.version = agreed.into();
    }
    peer.agree();
    let initialized = peer.notify("notifications/initialized", None).await.ok().flatten();
    Some(Session { peer, greeting, opening: exchange, attempts: Vec::new(), initialized })
}

/// The version to try after a refusal: the newest older one that the answer
/// names, or the next older one if the answer only speaks of versions.
fn refused_version(exchange: &Exchange, tried: &str) -> Option<String> {
    let text = exchange.error()?.json.to_string();
    let mut older = VERSIONS.iter().filter(|version| **version < tried);
    let named = older.clone().find(|version| text.contains(**version));
    let hinted = text.to_lowercase().contains("version").then(|| older.next()).flatten();
    named.or(hinted).map(|version| version.to_string())
}

impl Peer {
    /// From now on the agreed version is named in headers.
    fn agree(&mut self) {
        let version = (self.era == Era::Legacy && self.version.as_str() >= "2025-06-18")
            .then(|| self.version.clone());
        if let Link::Http(link) = &mut self.link {
            link.version = version;
        }
    }

    /// Watches the same clock as the connection.
    fn share_activity(&mut self) {
        self.options.activity = self.link.activity();
    }
}
