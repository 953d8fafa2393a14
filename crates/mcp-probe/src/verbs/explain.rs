//! `explain`: takes a recorded success and removes one thing at a time, to show
//! what was decisive.

use crate::cli::ExplainArgs;
use crate::client::{Context, Exchange, VERSIONS};
use crate::finding::Severity;
use crate::json::{self, Json};
use crate::link::LEFT_OUT;
use crate::message::Kind;
use crate::obj;
use crate::run::{Exit, Failure, Run};
use crate::screen::{count, progress};
use crate::target::{Named, Target};
use crate::trail::{Channel, Entry, Recording, Side, read_recording, redact};

/// One message of the way to the success.
#[derive(Debug, Clone)]
struct Step {
    method: String,
    id: Option<Json>,
    raw: String,
    /// Replacements for headers.
    headers: Vec<(String, String)>,
}

struct Variant {
    what: String,
    group: &'static str,
    steps: Vec<Step>,
}

struct Verdict {
    what: String,
    group: &'static str,
    works: bool,
    said: String,
}

/// Explains.
pub async fn run(args: &ExplainArgs, run: &Run) -> Result<Exit, Failure> {
    let recording = read_recording(&args.recording)?
        .ok_or(format!("{} is no recording", args.recording.display()))?;
    let named = if args.at.target.is_empty() && args.at.config.is_none() {
        run.recorded_target(&recording.target)?
    } else {
        run.target(&args.at)?
    };
    let context = run.context_for(&named);
    let steps = way_to_success(&recording, args.method.as_deref())?;
    let http = matches!(&named.target, Target::Url(url) if !url.scheme.is_ws());
    let goal = steps.last().map(|step| step.method.clone()).unwrap_or_default();
    let baseline = play(&named, &context, &steps).await?;
    if baseline.result().is_none() {
        return Err(format!(
            "the recorded success cannot be repeated: {goal}: {}",
            baseline.describe()
        ));
    }
    let variants = variants(&steps, http);
    let bar = progress(variants.len() as u64, "variants");
    let mut verdicts = Vec::new();
    for variant in variants {
        let exchange = play(&named, &context, &variant.steps).await;
        let (works, said) = match &exchange {
            Ok(exchange) => (exchange.result().is_some(), exchange.describe()),
            Err(error) => (false, error.clone()),
        };
        verdicts.push(Verdict { what: variant.what, group: variant.group, works, said });
        bar.inc(1);
    }
    bar.finish_and_clear();
    show(run, &goal, &verdicts)?;
    Ok(Exit::Fine)
}

/// What the client sent in the same run up to the success.
fn way_to_success(recording: &Recording, method: Option<&str>) -> Result<Vec<Step>, Failure> {
    let pairs = recording.pairs();
    let good = |entry: &Entry| entry.is(Kind::Response);
    let fits = |entry: &Entry| match method {
        Some(method) => entry.method.as_deref() == Some(method),
        None => true,
    };
    let success = pairs
        .iter()
        .rev()
        .filter(|pair| pair.request.side == Side::Client && fits(pair.request))
        .find(|pair| pair.answer.is_some_and(good))
        .ok_or(format!(
            "the recording holds no success{}",
            method.map(|method| format!(" of {method}")).unwrap_or_default()
        ))?;
    let end = success.request.seq as usize;
    let start = recording.starts.iter().rev().find(|start| **start < end).copied().unwrap_or(0);
    let steps = recording.entries[start..end].iter().filter(|entry| {
        let needed = entry.is(Kind::Notification)
            || matches!(entry.method.as_deref(), Some("initialize" | "server/discover"));
        let sent = entry.side == Side::Client && entry.channel != Channel::Side;
        sent && (needed || entry.seq == success.request.seq)
    });
    Ok(steps.map(step).collect())
}

const OWN: [&str; 7] = [
    "host",
    "content-length",
    "connection",
    "mcp-session-id",
    "accept-encoding",
    "transfer-encoding",
    "keep-alive",
];

fn step(entry: &Entry) -> Step {
    let headers = entry.http.as_ref().map_or(&[][..], |http| &http.headers);
    let kept = headers.iter().filter(|(name, value)| {
        !OWN.contains(&name.to_ascii_lowercase().as_str()) && !value.contains(redact::MARK)
    });
    Step {
        method: entry.method.clone().unwrap_or_default(),
        id: entry.id.clone(),
        raw: entry.text().into_owned(),
        headers: kept.cloned().collect(),
    }
}

async fn play(named: &Named, context: &Context, steps: &[Step]) -> Result<Exchange, Failure> {
    let mut peer = super::call::bare_peer(named, context).await?;
    let mut last = None;
    for step in steps {
        let raw = step.raw.clone().into();
        if step.id.is_some() {
            last = Some(peer.exchange(&step.method, step.id.clone(), raw, &step.headers).await);
        } else {
            let _ = peer.notify_raw(raw, &step.headers).await;
        }
    }
    peer.link.close().await;
    last.ok_or("nothing was asked".into())
}

fn variants(steps: &[Step], http: bool) -> Vec<Variant> {
    let mut all = Vec::new();
    order(steps, &mut all);
    for (index, step) in steps.iter().enumerate() {
        let Ok(message) = json::parse(step.raw.as_bytes()) else { continue };
        let mut with = |group, what: String, message: Json, headers: &[(&str, &str)]| {
            let mut changed = steps.to_vec();
            changed[index].raw = message.to_string();
            for (name, value) in headers {
                set_header(&mut changed[index].headers, name, value);
            }
            all.push(Variant { what, group, steps: changed });
        };
        versions(&message, step, http, &mut with);
        capabilities(&message, step, &mut with);
        metadata(&message, step, &mut with);
    }
    if http {
        headers(steps, &mut all);
    }
    all
}

fn set_header(headers: &mut Vec<(String, String)>, name: &str, value: &str) {
    headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    headers.push((name.into(), value.into()));
}

fn order(steps: &[Step], all: &mut Vec<Variant>) {
    let last = steps.len().saturating_sub(1);
    for (index, step) in steps.iter().enumerate().take(last) {
        let mut fewer = steps.to_vec();
        fewer.remove(index);
        all.push(Variant {
            what: format!("without {}", step.method),
            group: "order",
            steps: fewer,
        });
    }
    if last > 1 {
        let only = vec![steps[last].clone()];
        all.push(Variant { what: "nothing before it".into(), group: "order", steps: only });
    }
}

type With<'a> = dyn FnMut(&'static str, String, Json, &[(&str, &str)]) + 'a;

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

fn versions(message: &Json, step: &Step, http: bool, with: &mut With<'_>) {
    let legacy = message.text_at("params/protocolVersion").filter(|_| step.method == "initialize");
    let modern =
        message.at("params/_meta").and_then(|meta| meta.get(META_VERSION)).and_then(Json::as_str);
    let Some(used) = legacy.or(modern) else { return };
    for version in VERSIONS.iter().copied().chain(["1999-01-01"]).filter(|version| *version != used)
    {
        let mut changed = message.clone();
        let Some(params) = changed.get_mut("params") else { continue };
        if legacy.is_some() {
            params.set("protocolVersion", version);
        } else if let Some(meta) = params.get_mut("_meta") {
            meta.set(META_VERSION, version);
        }
        let header = [("MCP-Protocol-Version", version)];
        let headers: &[(&str, &str)] = if http && modern.is_some() { &header } else { &[] };
        with(
            "version",
            format!("{version} instead of {used} in {}", step.method),
            changed,
            headers,
        );
    }
}

fn capabilities(message: &Json, step: &Step, with: &mut With<'_>) {
    let Some(all) = message.at("params/capabilities").filter(|_| step.method == "initialize")
    else {
        return;
    };
    for (name, _) in all.members() {
        let mut changed = message.clone();
        if let Some(all) =
            changed.get_mut("params").and_then(|params| params.get_mut("capabilities"))
        {
            all.remove(name.as_str());
        }
        with("capability", format!("without the capability {}", name.as_str()), changed, &[]);
    }
    for member in ["capabilities", "clientInfo"] {
        let mut changed = message.clone();
        if changed.get_mut("params").is_some_and(|params| params.remove(member)) {
            with("capability", format!("without {member} in initialize"), changed, &[]);
        }
    }
}

fn metadata(message: &Json, step: &Step, with: &mut With<'_>) {
    let Some(meta) = message.at("params/_meta") else { return };
    for (name, _) in meta.members() {
        let mut changed = message.clone();
        if let Some(meta) = changed.get_mut("params").and_then(|params| params.get_mut("_meta")) {
            meta.remove(name.as_str());
        }
        with("metadata", format!("without {} in {}", name.as_str(), step.method), changed, &[]);
    }
    let mut changed = message.clone();
    if let Some(params) = changed.get_mut("params") {
        params.remove("_meta");
    }
    with("metadata", format!("without _meta in {}", step.method), changed, &[]);
}

/// Each header taken out of all messages at once; an intermediary would do so.
fn headers(steps: &[Step], all: &mut Vec<Variant>) {
    let mut names: Vec<String> = Vec::new();
    let recorded = steps.iter().flat_map(|step| &step.headers).map(|(name, _)| name.clone());
    for name in recorded.chain(["Mcp-Session-Id".to_string()]) {
        if !names.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
            names.push(name);
        }
    }
    for name in names {
        let mut changed = steps.to_vec();
        changed.iter_mut().for_each(|step| set_header(&mut step.headers, &name, LEFT_OUT));
        all.push(Variant {
            what: format!("without the header {name}"),
            group: "header",
            steps: changed,
        });
    }
    for accept in ["application/json", "text/event-stream"] {
        let mut changed = steps.to_vec();
        changed.iter_mut().for_each(|step| set_header(&mut step.headers, "Accept", accept));
        all.push(Variant {
            what: format!("only {accept} in Accept"),
            group: "header",
            steps: changed,
        });
    }
}

fn show(run: &Run, goal: &str, verdicts: &[Verdict]) -> Result<(), Failure> {
    if run.common.json {
        let row = |verdict: &Verdict| obj! { "group": verdict.group, "change": &verdict.what, "decisive": !verdict.works, "said": &verdict.said };
        return run.emit_json(
            &obj! { "goal": goal, "variants": Json::Array(verdicts.iter().map(row).collect()) },
        );
    }
    let mut screen = run.screen();
    let decisive: Vec<&Verdict> = verdicts.iter().filter(|verdict| !verdict.works).collect();
    let indifferent: Vec<&Verdict> = verdicts.iter().filter(|verdict| verdict.works).collect();
    screen.verdict(
        None::<Severity>,
        &format!(
            "{goal} works; of {} tried, {} were decisive",
            count(verdicts.len(), "change"),
            decisive.len()
        ),
    );
    for (title, list) in
        [("decisive: it fails", decisive), ("not decisive: it still works", indifferent)]
    {
        if list.is_empty() {
            continue;
        }
        screen.heading(title);
        for verdict in list {
            screen.line(&format!("{:<11}{}", verdict.group, verdict.what));
            if !verdict.works {
                screen.faint(&format!("           {}", verdict.said));
            }
        }
    }
    run.emit(&screen.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_at_a_time() {
        let step = |method: &str, raw: &str| Step {
            method: method.into(),
            id: None,
            raw: raw.into(),
            headers: Vec::new(),
        };
        let steps = [
            step(
                "initialize",
                r#"{"params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}}}}"#,
            ),
            step("tools/list", r#"{"params":{"_meta":{"a":1}}}"#),
        ];
        let all = variants(&steps, true);
        let whats: Vec<&str> = all.iter().map(|variant| variant.what.as_str()).collect();
        for expected in [
            "without initialize",
            "1999-01-01 instead of 2025-11-25 in initialize",
            "without the capability roots",
            "without a in tools/list",
            "without the header Mcp-Session-Id",
        ] {
            assert!(whats.contains(&expected), "{expected} not in {whats:?}");
        }
    }
}
