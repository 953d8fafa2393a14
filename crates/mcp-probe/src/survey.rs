//! Looking at a whole server: every era it has, every list, every page.

use crate::client::{
    Attempt, Context, Era, MODERN, NEWEST_LEGACY, Peer, Session, Unopened, VERSIONS, Wish, open_era,
};
use crate::json::Json;
use crate::limits::Limits;
use crate::link::LinkError;
use crate::obj;
use crate::surface::{LISTS, Surface, greet, read};
use crate::target::Target;
use std::time::{Duration, Instant};

/// Longest wait for methods that were not promised.
const UNPROMISED_WAIT: Duration = Duration::from_secs(3);

/// What to look at.
#[derive(Debug, Clone, Copy)]
pub struct Depth {
    /// How often to fetch each list.
    pub repeat: usize,
    /// Whether times are noted, which differ from run to run.
    pub timings: bool,
}

/// Surfaces of a target, live or saved.
pub async fn survey(
    target: &Target,
    context: &Context,
    depth: Depth,
) -> Result<Vec<Surface>, String> {
    if let Target::File(path) = target {
        return read(path).map(|(_, surfaces)| surfaces);
    }
    let wanted: Vec<(Era, String)> = match &context.wish {
        Wish::Pin(version) => vec![(Era::of(version), version.clone())],
        // The handshake first: what it took says how long the other era may keep silent.
        Wish::Auto => vec![(Era::Legacy, NEWEST_LEGACY.into()), (Era::Modern, MODERN.into())],
    };
    let mut attempts = Vec::new();
    let mut surfaces = Vec::new();
    let mut patience = context.limits;
    for (era, version) in wanted {
        let began = Instant::now();
        let limited = context.with_limits(patience);
        if let Some(mut session) = open_era(target, &limited, era, &version, &mut attempts).await {
            patience.idle = patience.idle.min(SECOND_ERA.max(began.elapsed() * 3));
            session.peer.options.limits = context.limits;
            surfaces.push(look(&mut session, context, depth).await);
            session.close().await;
        } else if is_settled(&attempts) {
            break;
        } else {
            patience.idle = patience.idle.min(SECOND_ERA);
        }
    }
    // Reports name the newest era first.
    surfaces.reverse();
    match surfaces.is_empty() {
        true => Err(Unopened { attempts }.explain(context)),
        false => Ok(surfaces),
    }
}

/// How long one era is awaited when the other did not come about.
const SECOND_ERA: Duration = Duration::from_secs(2);

/// Whether the other era cannot do better: there is no connection at all.
fn is_settled(attempts: &[Attempt]) -> bool {
    attempts.last().is_some_and(|attempt| {
        matches!(
            attempt.error,
            Some(LinkError::Spawn(..) | LinkError::Connect(_) | LinkError::WebSocket(_))
        )
    })
}

/// The surface behind one session.
pub async fn look(session: &mut Session, context: &Context, depth: Depth) -> Surface {
    let peer = &mut session.peer;
    let mut surface = Surface::new(peer.era, peer.link.transport(), &peer.version);
    greet(&mut surface, &session.greeting);
    let mut view = View::default();
    view.time(&session.opening.method, session.opening.elapsed);
    for (method, member, capability) in LISTS {
        let promised =
            session.greeting.at("capabilities").and_then(|all| all.get(capability)).is_some();
        let items = view.list(peer, context, method, member, promised, depth.repeat).await;
        if method == "tools/list" {
            peer.mirror(&items);
        }
        surface.set(member, Json::Array(items));
    }
    view.ping(peer, context).await;
    surface.set("methods", view.methods);
    surface.set("advertisedNotImplemented", view.broken_promises);
    surface.set("implementedNotAdvertised", view.secrets);
    surface.set("unstable", view.unstable);
    surface.derive();
    surface.set("oddities", oddities(peer));
    if depth.timings {
        surface.set("timings", Json::Array(view.timings));
    }
    surface
}

#[derive(Default)]
struct View {
    methods: Json,
    broken_promises: Vec<String>,
    secrets: Vec<String>,
    unstable: Vec<String>,
    timings: Vec<Json>,
}

impl View {
    fn time(&mut self, method: &str, elapsed: Duration) {
        self.timings.push(obj! { "method": method, "ms": elapsed.as_secs_f64() * 1000.0 });
    }

    fn method(&mut self, name: &str, outcome: String) {
        if self.methods == Json::Null {
            self.methods = Json::object();
        }
        self.methods.push(name, outcome);
    }

    async fn list(
        &mut self,
        peer: &mut Peer,
        context: &Context,
        method: &str,
        member: &str,
        promised: bool,
        repeat: usize,
    ) -> Vec<Json> {
        if !promised {
            peer.options.limits = brief(context.limits);
        }
        let listing = peer.list(method, member).await;
        peer.options.limits = context.limits;
        if let Some(page) = listing.pages.first() {
            self.time(method, page.elapsed);
        }
        let last = listing.last().map(|page| page.describe()).unwrap_or_default();
        let outcome = match &listing.fault {
            Some(fault) => fault.clone(),
            None if listing.is_complete() => {
                format!("{} on {} page(s)", listing.items.len(), listing.pages.len())
            }
            None => last,
        };
        // Templates are a part of resources that many servers leave out.
        if promised && !listing.is_complete() && method != "resources/templates/list" {
            self.broken_promises.push(format!("{method}: {outcome}"));
        }
        if !promised && listing.is_complete() {
            self.secrets.push(format!("{method}: {outcome}"));
        }
        self.method(method, outcome);
        if listing.is_complete() {
            let first = canonical(&listing.items);
            for round in 1..repeat {
                let again = peer.list(method, member).await;
                if canonical(&again.items) != first {
                    self.unstable
                        .push(format!("{method}: fetch {} differs from the first", round + 1));
                    break;
                }
            }
        }
        listing.items
    }

    async fn ping(&mut self, peer: &mut Peer, context: &Context) {
        peer.options.limits = brief(context.limits);
        let ping = peer.request("ping", Json::Null).await;
        peer.options.limits = context.limits;
        self.time("ping", ping.elapsed);
        self.method("ping", ping.describe());
    }
}

fn brief(limits: Limits) -> Limits {
    Limits {
        idle: limits.idle.min(UNPROMISED_WAIT),
        total: limits.total.min(UNPROMISED_WAIT),
        ..limits
    }
}

fn canonical(items: &[Json]) -> String {
    Json::Array(items.to_vec()).canonical()
}

/// What was odd on the connection, for the report.
fn oddities(peer: &Peer) -> Json {
    let odd = &peer.oddities;
    let mut out = Json::object();
    let mut list = |name: &str, values: Vec<String>| {
        if !values.is_empty() {
            out.push(name, values);
        }
    };
    list("noise", odd.noise.clone());
    list("writing", odd.quirks.names().into_iter().map(Into::into).collect());
    list("strangeIds", odd.strange_ids.clone());
    list("serverRequests", odd.server_requests.clone());
    list("serverNotifications", odd.notifications.clone());
    list("duplicateNames", odd.duplicates.clone());
    list("wideNumbers", odd.wide_numbers.clone());
    out
}

/// Which version the server answers to each known version, and to an invented one.
pub async fn version_matrix(target: &Target, context: &Context) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    for version in VERSIONS.iter().copied().chain(["1999-01-01"]) {
        let mut attempts = Vec::new();
        let era = Era::of(version);
        let session = open_era(
            target,
            &context.with_limits(brief(context.limits)),
            era,
            version,
            &mut attempts,
        )
        .await;
        let outcome = match session {
            Some(mut session) => {
                let agreed = session.version().to_string();
                session.close().await;
                match attempts.iter().any(|attempt| attempt.exchange.is_some()) {
                    true => format!("refused at first, then {agreed}"),
                    false => agreed,
                }
            }
            None => attempts.last().map(|attempt| attempt.describe()).unwrap_or_default(),
        };
        rows.push((version.to_string(), outcome));
    }
    rows
}
