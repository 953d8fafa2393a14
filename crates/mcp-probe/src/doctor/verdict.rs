//! The verdict of the official clients: what each would make of the server, out of the same
//! requests that they send.

use super::Diagnosis;
use super::methods::promises;
use crate::client::{Context, Era, Exchange, NEWEST_LEGACY, Outcome, Session, Wish, open_era};
use crate::conform::{self, Clients, Fault};
use crate::finding::{Finding, Severity};
use crate::json::Json;
use crate::obj;
use crate::surface::LISTS;
use crate::target::Target;

/// Why each client refuses the server; nothing when it works.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The Python SDK.
    pub python: Option<String>,
    /// The TypeScript SDK.
    pub typescript: Option<String>,
}

impl Verdict {
    /// Whether both clients work.
    pub fn works(&self) -> bool {
        self.python.is_none() && self.typescript.is_none()
    }

    /// Notes a refusal; the first reason of a client stays.
    pub fn refuse(&mut self, who: Clients, why: &str) {
        if who.python {
            self.python.get_or_insert(why.to_string());
        }
        if who.typescript {
            self.typescript.get_or_insert(why.to_string());
        }
    }

    /// In one line.
    pub fn describe(&self) -> String {
        let one = |name: &str, why: &Option<String>| match why {
            None => format!("{name} works"),
            Some(_) => format!("{name} refuses"),
        };
        format!(
            "official clients: {}, {}",
            one("Python mcp", &self.python),
            one("TypeScript SDK", &self.typescript)
        )
    }

    /// As JSON.
    pub fn to_json(&self) -> Json {
        let one = |why: &Option<String>| match why {
            None => obj! { "works": true },
            Some(why) => obj! { "works": false, "why": why },
        };
        obj! { "works": self.works(), "python": one(&self.python), "typescript": one(&self.typescript) }
    }
}

/// Takes the deviations of an answer that the clients need. In the modern era only the
/// Python client reads it.
pub fn judge(faults: &[Fault], era: Era, diagnosis: &mut Diagnosis) {
    let reads = |who: Clients| Clients { typescript: who.typescript && era == Era::Legacy, ..who };
    let faults: Vec<Fault> = faults
        .iter()
        .map(|fault| Fault { refused_by: reads(fault.refused_by), ..fault.clone() })
        .collect();
    if let Some(finding) = conform::finding(&faults) {
        let who = faults.iter().fold(Clients::NONE, |all, fault| all.and(fault.refused_by));
        diagnosis.verdict.refuse(who, &finding.title);
        diagnosis.add(finding);
    }
    let new = faults.into_iter().filter(|fault| !diagnosis.deviations.contains(fault));
    let new: Vec<Fault> = new.take(MOST_KEPT).collect();
    diagnosis.deviations.extend(new);
}

/// The most deviations of one answer that are kept.
const MOST_KEPT: usize = 40;

/// What opened a session, and the notification after it.
pub fn judge_opening(session: &Session, diagnosis: &mut Diagnosis) {
    judge(&session.opening.faults, session.peer.era, diagnosis);
    if let Some(status) = session.initialized.filter(|status| *status >= 400) {
        let title =
            format!("notifications/initialized gets HTTP {status}; the TypeScript SDK stops there");
        diagnosis.verdict.refuse(Clients::TYPESCRIPT, &title);
        let finding =
            Finding::new("http-status", Severity::High, title).at("notifications/initialized");
        diagnosis.add(finding.advise("Answer notifications with 202 and no body."));
    }
}

/// With a modern session at hand: does the handshake work as well, with which clients of
/// before that era begin?
pub async fn other_era(
    session: &Session,
    target: &Target,
    context: &Context,
    diagnosis: &mut Diagnosis,
) {
    if session.peer.era == Era::Legacy {
        return after_discover(session, target, context, diagnosis).await;
    }
    if context.wish != Wish::Auto {
        return;
    }
    let mut attempts = Vec::new();
    let legacy = open_era(target, context, Era::Legacy, NEWEST_LEGACY, &mut attempts).await;
    let refused = attempts.iter().any(|attempt| attempt.exchange.is_some());
    let Some(mut legacy) = legacy.filter(|_| !refused) else {
        let title =
            "only the era of 2026-07-28 is there; clients that begin with initialize do not work";
        diagnosis.verdict.refuse(Clients::TYPESCRIPT, title);
        let finding = Finding::new("no-handshake", Severity::Low, title)
            .seen_all(attempts.iter().map(|attempt| attempt.describe()))
            .advise("Serve initialize as well for as long as older clients are in use.");
        return diagnosis.add(finding);
    };
    judge_opening(&legacy, diagnosis);
    for (method, member, _) in needed(&legacy) {
        let listing = legacy.peer.list(method, member).await;
        diagnosis.step(
            "methods",
            format!(
                "in the older era, {method}: {} on {} page(s)",
                listing.items.len(),
                listing.pages.len()
            ),
        );
        let faults: Vec<Fault> =
            listing.pages.iter().flat_map(|page| page.faults.clone()).collect();
        judge(&faults, Era::Legacy, diagnosis);
        if let Some(last) =
            listing.last().filter(|last| !listing.is_complete() && last.result().is_none())
        {
            let title = format!("in the older era {method} fails: {}", last.describe());
            diagnosis.verdict.refuse(Clients::TYPESCRIPT, &title);
            diagnosis.add(Finding::new("error-answer", Severity::High, title).at(method));
        }
    }
    legacy.close().await;
}

/// The lists that clients fetch: those whose capability is claimed.
pub fn needed(session: &Session) -> Vec<(&'static str, &'static str, &'static str)> {
    let wanted = |method: &str, capability: &str| {
        method != "resources/templates/list" && promises(session, capability)
    };
    LISTS.into_iter().filter(|(method, _, capability)| wanted(method, capability)).collect()
}

/// New clients ask `server/discover` first, on the connection that they keep. Does the
/// handshake still work behind it?
async fn after_discover(
    session: &Session,
    target: &Target,
    context: &Context,
    diagnosis: &mut Diagnosis,
) {
    let hurt = |exchange: &Exchange| {
        matches!(exchange.outcome, Outcome::Closed(_) | Outcome::Expired(_) | Outcome::Failed(_))
    };
    let asked = session.attempts.iter().find(|attempt| attempt.what == "server/discover");
    let suspicious = asked.is_some_and(|attempt| attempt.exchange.as_ref().is_none_or(hurt));
    let Target::Stdio(command) = target else { return };
    if !suspicious || context.wish != Wish::Auto || !diagnosis.verdict.works() {
        return;
    }
    let Ok(link) =
        crate::link::Link::stdio(&context.command(command), context.link_options()).await
    else {
        return;
    };
    let since = context.trail.newest();
    let mut peer = crate::client::Peer::new(link, context.link_options());
    peer.options.activity = peer.link.activity();
    let patience = session.opening.elapsed * 3 + std::time::Duration::from_secs(2);
    peer.options.limits.idle = context.limits.idle.min(patience);
    peer.era = Era::Modern;
    peer.version = crate::client::MODERN.into();
    let first = peer.request("server/discover", Json::object()).await;
    peer.era = Era::Legacy;
    let params = obj! { "protocolVersion": NEWEST_LEGACY, "capabilities": Json::object(), "clientInfo": crate::client::client_info() };
    let second = peer.request("initialize", params).await;
    diagnosis.step(
        "handshake",
        format!("initialize after server/discover ({}): {}", first.describe(), second.describe()),
    );
    if second.result().is_none() {
        let stderr = context.trail.stderr_since(since, 200);
        let title = "it does not survive server/discover, with which new clients begin";
        let mut finding = Finding::new("dies-later", Severity::High, title)
            .at("server/discover")
            .seen(second.describe());
        finding = finding.seen_all(super::outcome::quoted(&stderr));
        diagnosis.verdict.refuse(Clients::PYTHON, title);
        diagnosis.add(finding.advise("Answer unknown methods with error -32601 also before initialize. Until then set such clients to the older era (Python: Client(..., mode=\"legacy\"))."));
    }
    peer.link.close().await;
}
