//! The third layer: do the methods do what they promise?

use super::cause::variables;
use super::outcome::{explain, quoted};
use super::{Diagnosis, verdict};
use crate::client::{Context, Era, Exchange, Listing, Outcome, Session, clip, clip_bytes, open};
use crate::conform::{Clients, Fault};
use crate::finding::{Finding, Severity};
use crate::json::{Json, ParseErrorKind};
use crate::limits::seconds;
use crate::link::Incoming;
use crate::message::{Kind, Message};
use crate::obj;
use crate::surface::LISTS;
use crate::target::Target;
use crate::trail::sha256_hex;
use std::time::Duration;

/// Longest message that goes without remark.
const LONG: usize = 8 << 20;

/// The longest line that the TypeScript SDK keeps.
const LONGEST_LINE: usize = 10 << 20;

/// An answer that takes longer is slow.
const SLOW: Duration = Duration::from_secs(5);

/// A tool list longer than this, in bytes, is worth a word.
const BIG_LIST: usize = 200_000;

/// Whether a capability is claimed.
pub fn promises(session: &Session, capability: &str) -> bool {
    let claims = session.greeting.get("capabilities").and_then(|all| all.get(capability));
    claims.is_some_and(|claim| *claim != Json::Null)
}

/// Looks at all methods; a broken connection ends it.
pub async fn examine(
    session: &mut Session,
    target: &Target,
    context: &Context,
    big: bool,
    diagnosis: &mut Diagnosis,
) {
    pace(&session.opening, diagnosis);
    if lists(session, target, context, diagnosis).await {
        let since = context.trail.newest();
        notifications(session, diagnosis).await;
        let alive = survives(session, context, since, diagnosis).await;
        if alive && !diagnosis.is_slow() {
            order(session, diagnosis).await;
            sizes(session, big, diagnosis).await;
        }
    }
    unended(session, diagnosis).await;
    oddities(session, diagnosis);
}

/// Clients wait, but people do not like to.
fn pace(exchange: &Exchange, diagnosis: &mut Diagnosis) {
    if exchange.elapsed < SLOW || !exchange.is_rpc() {
        return;
    }
    let title = format!("{} takes {}", exchange.method, seconds(exchange.elapsed));
    let finding = Finding::new("slow", Severity::Info, title).at(&exchange.method);
    let streamed = exchange.http.as_ref().is_some_and(|facts| {
        crate::http::find_header(&facts.headers, "content-type")
            .is_some_and(|kind| kind.starts_with("text/event-stream"))
    });
    diagnosis.add(match streamed {
        true => finding.advise("It comes as an event stream: does a proxy hold it back (nginx: proxy_buffering off, or X-Accel-Buffering: no)? Official clients give up after 60 s."),
        false => finding.advise("Official clients give up after 60 s; start faster, or load what is slow later."),
    });
}

/// A server that ends, or falls silent, over a notification or between requests is of no
/// use, however well it began.
async fn survives(
    session: &mut Session,
    context: &Context,
    since: u64,
    diagnosis: &mut Diagnosis,
) -> bool {
    let (method, params) = match promises(session, "tools") || session.peer.era == Era::Modern {
        true => ("tools/list", Json::object()),
        false => ("ping", Json::Null),
    };
    let exchange = session.peer.request(method, params).await;
    forgets_session(&exchange, diagnosis);
    let lost = matches!(
        exchange.outcome,
        Outcome::Closed(_) | Outcome::Expired(_) | Outcome::Failed(_) | Outcome::Bare(..)
    );
    if !lost {
        return true;
    }
    diagnosis.step("methods", format!("{method} once more: {}", exchange.describe()));
    let stderr = context.trail.stderr_since(since, 400);
    let dead = !matches!(exchange.outcome, Outcome::Expired(_));
    let title = match dead {
        true => {
            "it ends after notifications/cancelled, which clients send for every request they give up"
        }
        false => {
            "it is silent after notifications/cancelled, which clients send for every request they give up"
        }
    };
    let mut finding =
        Finding::new("dies-later", Severity::High, title).at(method).seen(exchange.describe());
    finding = finding.seen_all(quoted(&stderr));
    diagnosis
        .stops(finding.advise("A notification that means nothing to the server must be ignored."));
    false
}

/// Answers of another worker, which knows nothing of the session.
fn forgets_session(exchange: &Exchange, diagnosis: &mut Diagnosis) {
    let Some(status) = exchange.status().filter(|status| matches!(status, 400 | 404)) else {
        return;
    };
    let said = match &exchange.outcome {
        Outcome::Error(error) => error.message.clone(),
        Outcome::Bare(_, Some(body)) => String::from_utf8_lossy(body).into_owned(),
        _ => return,
    };
    if !said.to_lowercase().contains("session") {
        return;
    }
    let title = "the server forgets the session that it issued";
    let finding = Finding::new("session-lost", Severity::High, title).seen(format!(
        "{}: HTTP {status}: {}",
        exchange.method,
        clip(&said, 160)
    ));
    diagnosis.stops(finding.advise("Do several workers or machines answer, each with sessions of its own? Use one worker, sticky sessions by Mcp-Session-Id, or a stateless server."));
}

/// A message that no line feed follows is never seen by a client that reads lines.
async fn unended(session: &mut Session, diagnosis: &mut Diagnosis) {
    if session.peer.link.transport() != "stdio" || !session.peer.link.is_unended() {
        return;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    if session.peer.link.is_unended() {
        let mut quirks = crate::stream::Quirks::default();
        quirks.add(crate::stream::Quirks::UNENDED);
        let faults = crate::conform::check_writing("any request", quirks, false);
        verdict::judge(&faults, Era::Legacy, diagnosis);
    }
}

/// False when the connection is of no more use.
async fn lists(
    session: &mut Session,
    target: &Target,
    context: &Context,
    diagnosis: &mut Diagnosis,
) -> bool {
    for (method, member, capability) in LISTS {
        let promised = promises(session, capability);
        let limits = session.peer.options.limits;
        if !promised {
            let short = Duration::from_secs(2);
            session.peer.options.limits.idle = limits.idle.min(short);
            session.peer.options.limits.total = limits.total.min(short);
        }
        let listing = session.peer.list(method, member).await;
        session.peer.options.limits = limits;
        listing.pages.iter().for_each(|page| forgets_session(page, diagnosis));
        if let Some(page) = listing.pages.first() {
            pace(page, diagnosis);
        }
        if listing.items.is_empty() {
            // What stderr says about it often comes a moment later.
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let Some(last) = listing.last() else { continue };
        let said = match &last.outcome {
            Outcome::Result(_) => {
                format!("{} on {} page(s)", listing.items.len(), listing.pages.len())
            }
            _ => last.describe(),
        };
        diagnosis.step("methods", format!("{method}: {said}"));
        judge_list(&listing, method, promised, context, diagnosis);
        if promised && method != "resources/templates/list" {
            let faults: Vec<Fault> =
                listing.pages.iter().flat_map(|page| page.faults.clone()).collect();
            verdict::judge(&faults, session.peer.era, diagnosis);
        }
        if method == "tools/list" {
            weigh(&listing, diagnosis);
        }
        if method == "tools/list" && listing.is_complete() && listing.items.is_empty() {
            diagnosis.add(empty(session, &listing, promised, target, context).await);
        }
        // Pages that come twice are no second tools.
        if method == "tools/list" && listing.fault.is_none() {
            repeated(&listing, diagnosis);
        }
        let last = listing.last().map(|exchange| &exchange.outcome);
        let gone = matches!(
            last,
            Some(Outcome::Closed(_) | Outcome::Flood(_) | Outcome::Oversize | Outcome::Failed(_))
        );
        let silent = promised && matches!(last, Some(Outcome::Expired(_)));
        if method == "tools/list" {
            unstable(session, listing, diagnosis).await;
        }
        if (gone && session.peer.link.transport() != "streamable-http") || silent {
            return false;
        }
    }
    true
}

/// What a tool list takes of a model's context.
fn weigh(listing: &Listing, diagnosis: &mut Diagnosis) {
    let bytes: usize = listing.items.iter().map(|tool| tool.to_string().len()).sum();
    if bytes > BIG_LIST {
        let title = format!(
            "the tool list has {} tools and {} kB, about {} tokens",
            listing.items.len(),
            bytes / 1000,
            bytes / 4
        );
        let finding = Finding::new("big-list", Severity::Info, title).at("tools/list");
        diagnosis.add(finding.advise("Models have room for some ten thousand tokens of tools: offer fewer, or shorter texts (mcp-probe lint says what each client takes)."));
    }
}

fn wrong_ids(session: &Session, diagnosis: &mut Diagnosis) {
    let strange = &session.peer.oddities.strange_ids;
    if !strange.is_empty() {
        let finding = Finding::new(
            "wrong-id",
            Severity::Info,
            "further answers carry ids that nobody asked with",
        );
        diagnosis.add(
            finding
                .seen(format!("ids: {}", strange.join(", ")))
                .advise("The id must come back as it was sent, with its type."),
        );
    }
}

fn judge_list(
    listing: &Listing,
    method: &str,
    promised: bool,
    context: &Context,
    diagnosis: &mut Diagnosis,
) {
    if let Some(fault) = &listing.fault {
        let rule = if fault.contains("cursor") || fault.contains("pages") {
            "endless-pages"
        } else {
            "invalid-message"
        };
        let finding =
            Finding::new(rule, Severity::High, fault.clone()).at(method).advise(match rule {
                "endless-pages" => {
                    "Leave nextCursor out on the last page, and give each page another cursor."
                }
                _ => {
                    "The result of a list is an object with the list in it, and perhaps nextCursor."
                }
            });
        if promised && method != "resources/templates/list" {
            diagnosis.stops(finding);
        } else {
            diagnosis.add(Finding { severity: Severity::Info, ..finding });
        }
    }
    let Some(last) = listing.last() else { return };
    if last.result().is_some() {
        if !promised {
            let finding = Finding::new(
                "not-implemented",
                Severity::Info,
                format!("{method} works, but the capability is not claimed"),
            );
            diagnosis.add(
                Finding { rule: "unadvertised", ..finding }
                    .at(method)
                    .advise("Clients that go by capabilities never ask for it."),
            );
        }
        return;
    }
    if !promised || method == "resources/templates/list" {
        return;
    }
    if let Some(finding) = explain(last, context) {
        return diagnosis.stops(finding);
    }
    let stderr = context.trail.stderr_since(last.seq_before, 400);
    let said = last.describe();
    let unknown = last.error().is_some_and(|error| error.code == Some(-32601));
    let finding = if unknown {
        Finding::new(
            "not-implemented",
            Severity::Medium,
            "the capability is claimed, the method does not exist",
        )
    } else if stderr.is_empty() {
        Finding::new("error-answer", Severity::High, "the method fails")
    } else {
        Finding::new(
            "error-stderr",
            Severity::High,
            "the method fails without saying why; stderr says it",
        )
    };
    diagnosis.stops(finding.at(method).seen(said).seen_all(quoted(&stderr)));
}

/// Why might there be no tools? Settings that stderr speaks of, and whether the
/// list depends on credentials.
async fn empty(
    session: &Session,
    listing: &Listing,
    promised: bool,
    target: &Target,
    context: &Context,
) -> Finding {
    let claim =
        if promised { "the capability is claimed" } else { "the capability is not claimed" };
    let mut finding =
        Finding::new("empty-tools", Severity::Medium, format!("tools/list is empty ({claim})"));
    let since = session.opening.seq_before.min(listing.last().map_or(0, |page| page.seq_before));
    let stderr = context.trail.stderr_since(since, 50);
    let mut names: Vec<String> = stderr.iter().flat_map(|line| variables(line)).collect();
    names.dedup();
    if !names.is_empty() {
        let telling =
            stderr.iter().filter(|line| names.iter().any(|name| line.contains(name.as_str())));
        finding =
            finding.seen_all(telling.take(5).map(|line| format!("stderr: {}", clip(line, 200))));
        finding = finding
            .advise(format!("Set {} with --env NAME=value and try again.", names.join(", ")));
    }
    if matches!(target, Target::Url(_)) && !context.headers.is_empty() {
        let plain = Context { headers: Vec::new(), ..context.clone() };
        let text = match open(target, &plain).await {
            Ok(mut other) => {
                let count = other.peer.list("tools/list", "tools").await.items.len();
                other.close().await;
                format!("without your headers: {count} tools")
            }
            Err(_) => "without your headers: no session".into(),
        };
        finding = finding.seen(text);
    } else if matches!(target, Target::Url(_)) {
        finding = finding.seen("no credentials were sent; the list may depend on them");
    }
    finding
}

fn repeated(listing: &Listing, diagnosis: &mut Diagnosis) {
    let mut names: Vec<&str> =
        listing.items.iter().filter_map(|tool| tool.text_at("name")).collect();
    names.sort_unstable();
    let twice: Vec<&str> =
        names.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    if !twice.is_empty() {
        // Both clients take the list; models' interfaces often do not.
        let finding = Finding::new("duplicate-names", Severity::Info, "tools with the same name");
        diagnosis.add(
            finding
                .seen_all(twice.into_iter().take(10))
                .advise("Several model interfaces refuse two tools of one name."),
        );
    }
}

async fn unstable(session: &mut Session, first: Listing, diagnosis: &mut Diagnosis) {
    if !first.is_complete() || first.items.is_empty() {
        return;
    }
    // Lists may be long: not two of them at a time.
    let fingerprint =
        |items: Vec<Json>| (items.len(), sha256_hex(Json::Array(items).canonical().as_bytes()));
    let first = fingerprint(first.items);
    let again = session.peer.list("tools/list", "tools").await;
    let complete = again.is_complete();
    let again = fingerprint(again.items);
    if complete && again != first {
        let finding = Finding::new("unstable-list", Severity::Info, "tools/list changes by itself");
        diagnosis.add(finding.seen(format!("{} tools, then {}", first.0, again.0)));
    }
}

/// Nothing may come back after a notification.
async fn notifications(session: &mut Session, diagnosis: &mut Diagnosis) {
    let before = session.peer.oddities.strange_ids.len();
    let params = obj! { "requestId": "mcp-probe-none", "reason": "a test" };
    let status = session.peer.notify("notifications/cancelled", Some(params)).await.ok().flatten();
    let mut answers = Vec::new();
    if !matches!(session.peer.link.transport(), "streamable-http") {
        let heard = session.peer.listen(Duration::from_millis(300)).await;
        answers.extend(
            heard
                .into_iter()
                .filter(|message| matches!(message.kind, Kind::Response | Kind::Error))
                .map(|m| clip_bytes(&m.raw, 120)),
        );
    }
    let strange = &session.peer.oddities.strange_ids;
    // Over HTTP a refusal has a status of its own.
    let accepted = status.is_none_or(|status| status < 300);
    if answers.is_empty() && accepted && strange.len() > before {
        answers.push(format!("an answer with id {}", strange[before..].join(", ")));
    }
    let said = status.map_or("nothing came back".to_string(), |status| format!("HTTP {status}"));
    diagnosis.step("methods", format!("a notification: {}", answers.first().unwrap_or(&said)));
    if !answers.is_empty() {
        let finding = Finding::new(
            "notification-answered",
            Severity::Info,
            "the server answers notifications",
        );
        diagnosis.add(
            finding
                .seen_all(answers)
                .advise("A message without id gets no answer; over HTTP it gets 202 and no body."),
        );
    } else if let Some(status) = status.filter(|status| !matches!(status, 200 | 202 | 204)) {
        // A refusal is an error to one client, another status nothing to either.
        let title = format!("a notification gets HTTP {status} instead of 202");
        let refused = status >= 400 && session.peer.era == Era::Legacy;
        if refused {
            diagnosis.verdict.refuse(Clients::TYPESCRIPT, &title);
        }
        let severity = if refused { Severity::Medium } else { Severity::Info };
        diagnosis.add(Finding::new("http-status", severity, title).at("notifications/cancelled"));
    }
}

/// Two requests at once: legal in any order, but some clients trip over it.
async fn order(session: &mut Session, diagnosis: &mut Diagnosis) {
    if session.peer.link.transport() == "streamable-http" {
        return;
    }
    let peer = &mut session.peer;
    let (first, second) = (peer.take_id(), peer.take_id());
    for (id, method) in [(first, "ping"), (second, "tools/list")] {
        let mut message = obj! { "jsonrpc": "2.0", "id": id, "method": method };
        if peer.era == Era::Modern {
            message.push("params", crate::client::with_metadata(Json::object(), &peer.version));
        }
        if peer.link.send(message.to_string().into(), &[]).await.is_err() {
            return;
        }
    }
    let mut seen = Vec::new();
    let until = tokio::time::Instant::now() + Duration::from_secs(2).min(peer.options.limits.idle);
    while seen.len() < 2 {
        match tokio::time::timeout_at(until, peer.link.next()).await {
            Ok(Incoming::Message(message, _)) => seen.extend(message.id().and_then(Json::as_i64)),
            Ok(Incoming::Closed(_)) | Err(_) => break,
            Ok(_) => {}
        }
    }
    for id in [first, second] {
        if !seen.contains(&id) {
            peer.give_up(id.into());
        }
    }
    diagnosis.step(
        "methods",
        format!("two requests at once, ids {first} and {second}: answers {seen:?}"),
    );
    if seen == [second, first] {
        let finding = Finding::new(
            "out-of-order",
            Severity::Info,
            "answers leave in another order than the requests came",
        );
        diagnosis.add(
            finding
                .seen(format!("asked {first}, {second}; answered {second}, {first}"))
                .advise("This is allowed; match answers by id, never by order."),
        );
    }
}

/// Are big messages read as a whole?
async fn sizes(session: &mut Session, big: bool, diagnosis: &mut Diagnosis) {
    if session.peer.request("tools/list", Json::object()).await.result().is_none() {
        return;
    }
    let sizes: &[usize] = if big { &[1, 16, 64] } else { &[1] };
    for size in sizes {
        let params = obj! { "_meta": obj! { "mcp-probe/padding": "x".repeat(size << 20) } };
        let exchange = session.peer.request("tools/list", params).await;
        diagnosis.step("methods", format!("a request of {size} MiB: {}", exchange.describe()));
        let fine = match &exchange.outcome {
            Outcome::Result(_) => true,
            // A clear refusal is an answer.
            Outcome::Error(error) => {
                exchange.id_matched || exchange.status() == Some(413) || error.code != Some(-32700)
            }
            Outcome::Bare(..) => exchange.status() == Some(413),
            _ => false,
        };
        if !fine {
            let finding = Finding::new(
                "message-cut",
                Severity::Medium,
                format!("a request of {size} MiB is not read as a whole"),
            );
            diagnosis.add(finding.seen(exchange.describe()).advise("Read until the line or the announced length ends, not into a buffer of fixed size."));
            return;
        }
    }
}

/// What was odd on the connection as a whole.
fn oddities(session: &Session, diagnosis: &mut Diagnosis) {
    let odd = &session.peer.oddities;
    let quirks = odd.quirks.names();
    if odd.noise_count > 0 || !quirks.is_empty() {
        // What spoils an answer is a fault of that answer; the rest is skipped by clients.
        let title = match (odd.noise_count, quirks.as_slice()) {
            (0, quirks) => format!("messages are written in an unusual way: {}", quirks.join(", ")),
            (count, _) => format!(
                "{} among the messages, which clients skip",
                crate::screen::count(count, "line of other text")
            ),
        };
        let finding = Finding::new("noise-on-stdout", Severity::Info, title);
        let finding = finding
            .seen_all(odd.noise.iter().take(5).cloned())
            .seen_all(quirks.iter().map(|quirk| format!("also: {quirk}")));
        diagnosis.add(
            finding.advise("Only messages may go to stdout, one a line; logs belong on stderr."),
        );
    }
    for message in &odd.invalid {
        broken(message, diagnosis);
    }
    if odd.longest > LONG {
        let line = session.peer.link.transport() == "stdio" && odd.longest > LONGEST_LINE;
        let severity = if line { Severity::High } else { Severity::Info };
        let title = format!("the longest message has {} MiB", odd.longest >> 20);
        if line {
            diagnosis.verdict.refuse(Clients::TYPESCRIPT, &title);
        }
        let finding = Finding::new("long-message", severity, title);
        diagnosis.add(
            finding.advise(
                "The TypeScript SDK stops at lines of 10 MiB, other clients at 1 to 10 MiB.",
            ),
        );
    }
    if !odd.duplicates.is_empty() || !odd.wide_numbers.is_empty() {
        let finding =
            Finding::new("odd-json", Severity::Info, "JSON that parsers read differently");
        let twice = odd.duplicates.iter().map(|path| format!("twice: {path}"));
        let wide = odd.wide_numbers.iter().map(|path| format!("beyond 2^53: {path}"));
        diagnosis.add(finding.seen_all(twice.chain(wide).take(10)));
    }
    if !diagnosis.findings.iter().any(|finding| finding.rule == "notification-answered") {
        wrong_ids(session, diagnosis);
    }
}

/// A message beyond repair; one that is JSON but no message is skipped by clients.
fn broken(message: &Message, diagnosis: &mut Diagnosis) {
    let (rule, severity, title, refused_by) = match message.fault {
        Some(ParseErrorKind::NotUtf8) => {
            ("invalid-utf8", Severity::Medium, "a message is not UTF-8", Clients::PYTHON)
        }
        Some(ParseErrorKind::TooDeep | ParseErrorKind::TooMany) => {
            ("nested-too-deep", Severity::High, "a message is nested too deep", Clients::BOTH)
        }
        Some(ParseErrorKind::Truncated) => {
            ("message-cut", Severity::High, "a message is cut off", Clients::BOTH)
        }
        Some(_) => ("invalid-message", Severity::Medium, "a message is no JSON", Clients::BOTH),
        None => (
            "invalid-message",
            Severity::Info,
            "JSON that is no JSON-RPC stands among the messages; clients skip it",
            Clients::NONE,
        ),
    };
    diagnosis.verdict.refuse(refused_by, title);
    let finding = Finding::new(rule, severity, title).seen(clip_bytes(&message.raw, 120));
    diagnosis.add(if rule == "message-cut" { finding.at("stream") } else { finding });
}
