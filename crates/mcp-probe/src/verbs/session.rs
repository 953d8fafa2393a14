//! `session`: a script of steps on one connection. One JSON object a line:
//!
//! ```text
//! {"request": "tools/list"}
//! {"request": "tools/call", "params": {...}, "expect": {"result": {"isError": false}}}
//! {"notify": "notifications/cancelled", "params": {...}}
//! {"raw": "{\"jsonrpc\":...}", "id": 7}
//! {"wait": 500}
//! ```
//!
//! `expect` holds members that the answer must have, at any depth.

use super::call::{bare_peer, bare_request};
use crate::cli::SessionArgs;
use crate::client::{Exchange, Peer, open};
use crate::json::{self, Json};
use crate::limits::seconds;
use crate::obj;
use crate::run::{Exit, Failure, Run};
use std::io::Read;
use std::time::Duration;

/// Runs the script.
pub async fn run(args: &SessionArgs, run: &Run) -> Result<Exit, Failure> {
    let steps = read_script(args)?;
    let named = run.target(&args.at)?;
    let context = run.context_for(&named);
    let mut peer = if args.bare {
        bare_peer(&named, &context).await?
    } else {
        open(&named.target, &context).await.map_err(|unopened| unopened.explain(&context))?.peer
    };
    let mut rows = Vec::new();
    let mut failed = false;
    for (number, step) in steps.iter().enumerate() {
        let outcome = perform(&mut peer, step, args.bare).await?;
        failed |= outcome.fault.is_some();
        rows.push((number + 1, outcome));
    }
    peer.link.close().await;
    show(run, &context.limits.describe(), &rows, failed)?;
    Ok(Exit::found(failed))
}

struct StepOutcome {
    what: String,
    said: String,
    elapsed: Duration,
    answer: Option<Json>,
    fault: Option<String>,
}

fn read_script(args: &SessionArgs) -> Result<Vec<Json>, Failure> {
    let mut text = String::new();
    if args.script.as_os_str() == "-" {
        std::io::stdin().read_to_string(&mut text).map_err(|error| error.to_string())?;
    } else {
        text = std::fs::read_to_string(&args.script)
            .map_err(|error| format!("{}: {error}", args.script.display()))?;
    }
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    lines
        .map(|(number, line)| {
            json::parse(line.as_bytes()).map_err(|error| format!("line {}: {error}", number + 1))
        })
        .collect()
}

async fn perform(peer: &mut Peer, step: &Json, bare: bool) -> Result<StepOutcome, Failure> {
    let params = step.get("params").cloned().unwrap_or_default();
    if let Some(method) = step.text_at("request") {
        let exchange = match bare {
            true => bare_request(peer, method, params).await,
            false => peer.request(method, params).await,
        };
        return Ok(judge(step, method, &exchange));
    }
    if let Some(text) = step.text_at("raw") {
        let id = step.get("id").cloned();
        if id.is_none() {
            let _ = peer.notify_raw(text.to_string().into(), &[]).await;
            return Ok(plain("raw, no answer expected", None));
        }
        let exchange = peer.exchange("raw", id, text.to_string().into(), &[]).await;
        return Ok(judge(step, "raw", &exchange));
    }
    if let Some(method) = step.text_at("notify") {
        let sent = peer.notify(method, step.get("params").cloned()).await;
        return Ok(plain(method, sent.err().map(|error| error.to_string())));
    }
    if let Some(millis) = step.get("wait").and_then(Json::as_i64) {
        let heard = peer.listen(Duration::from_millis(millis.clamp(0, 600_000) as u64)).await;
        let mut outcome = plain("wait", None);
        outcome.said = format!("{} message(s) came", heard.len());
        return Ok(outcome);
    }
    Err(format!("a step must have request, notify, raw or wait: {step}"))
}

fn plain(what: &str, fault: Option<String>) -> StepOutcome {
    StepOutcome {
        what: what.into(),
        said: fault.clone().unwrap_or("sent".into()),
        elapsed: Duration::ZERO,
        answer: None,
        fault,
    }
}

fn judge(step: &Json, what: &str, exchange: &Exchange) -> StepOutcome {
    let answer = exchange.answer.as_ref().map(|message| message.json.clone());
    let fault = match (step.get("expect"), &answer) {
        (Some(expected), Some(answer)) => missing(expected, answer, ""),
        (Some(_), None) => Some("no answer".into()),
        (None, None) => Some("no answer".into()),
        // An error that nobody expected is not how it should go.
        (None, Some(answer)) => {
            answer.get("error").filter(|error| **error != Json::Null).map(|_| {
                "answered with an error; a step that wants one has \"expect\": {\"error\": {}}"
                    .to_string()
            })
        }
    };
    StepOutcome {
        what: what.into(),
        said: exchange.describe(),
        elapsed: exchange.elapsed,
        answer,
        fault,
    }
}

/// The first thing that was expected and is not there.
pub fn missing(expected: &Json, found: &Json, path: &str) -> Option<String> {
    match expected {
        Json::Object(members) => members.iter().find_map(|(name, value)| {
            let path = format!("{path}/{}", name.as_str());
            match found.get(name.as_str()) {
                Some(inner) => missing(value, inner, &path),
                None => Some(format!("{path} is missing")),
            }
        }),
        Json::Array(items) => items.iter().enumerate().find_map(|(index, value)| {
            let path = format!("{path}/{index}");
            match found.items().get(index) {
                Some(inner) => missing(value, inner, &path),
                None => Some(format!("{path} is missing")),
            }
        }),
        value if value == found => None,
        value => Some(format!("{path} is {found}, expected {value}")),
    }
}

fn show(
    run: &Run,
    limits: &str,
    rows: &[(usize, StepOutcome)],
    failed: bool,
) -> Result<(), Failure> {
    if run.common.json {
        let row = |(number, step): &(usize, StepOutcome)| {
            obj! { "step": *number, "what": &step.what, "outcome": &step.said, "ms": step.elapsed.as_secs_f64() * 1000.0 }
                .with("answer", step.answer.clone())
                .with_some("fault", step.fault.as_ref())
        };
        return run.emit_json(&Json::Array(rows.iter().map(row).collect()));
    }
    let mut screen = run.screen();
    let bad = rows.iter().filter(|(_, step)| step.fault.is_some()).count();
    let worst = failed.then_some(crate::finding::Severity::High);
    screen.verdict(
        worst,
        &format!(
            "{} of {} went as expected (limits: {limits})",
            rows.len() - bad,
            crate::screen::count(rows.len(), "step")
        ),
    );
    for (number, step) in rows {
        screen.line(&format!(
            "{number:>3}  {}: {} ({})",
            step.what,
            step.said,
            seconds(step.elapsed)
        ));
        if let Some(fault) = &step.fault {
            screen.line(&format!("     ✖ {fault}"));
        }
    }
    run.emit(&screen.finish())
}
