//! `scan`: what could this server be made to do?

use crate::active;
use crate::cli::{Format, ScanArgs};
use crate::client::Context;
use crate::doctor::web::{Reply, ask, hello, post_headers};
use crate::finding::{Finding, Severity, sort, worst};
use crate::http::{Scheme, Url};
use crate::json::Json;
use crate::obj;
use crate::place::Place;
use crate::risk::measure::{Score, measure};
use crate::risk::surface_risks;
use crate::run::{Exit, Failure, Run};
use crate::sarif;
use crate::screen::{count, progress, visible};
use crate::surface::Surface;
use crate::survey::{Depth, survey};
use crate::target::{Named, Target};

/// Scans one target or many.
pub async fn run(args: &ScanArgs, run: &Run) -> Result<Exit, Failure> {
    if !args.measure.is_empty() {
        return measured(args, run);
    }
    let targets = run.targets(&args.at)?;
    let bar = progress(targets.len() as u64, "servers");
    let mut all = Vec::new();
    let mut unreached = Vec::new();
    for named in &targets {
        run.begin(named);
        match examine(args, run, named).await {
            Ok(findings) => all.push((named.name.clone(), findings)),
            Err(error) => unreached.push(format!("{}: {error}", named.name)),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if all.is_empty() {
        return Err(unreached.join("; "));
    }
    unreached.iter().for_each(|line| eprintln!("mcp-probe: not scanned: {}", visible(line)));
    let failed =
        all.iter().any(|(_, findings)| worst(findings).is_some_and(|worst| worst >= args.fail_on));
    let place = |named: &Named| {
        (named.name.clone(), Place::of(args.at.config.as_deref(), &named.name, &named.target))
    };
    let places: Vec<_> = targets.iter().map(place).collect();
    show(args, run, &all, &places)?;
    Ok(Exit::found(failed || !unreached.is_empty()))
}

async fn examine(args: &ScanArgs, run: &Run, named: &Named) -> Result<Vec<Finding>, Failure> {
    let context = run.context_for(named);
    let surfaces = survey(&named.target, &context, Depth { repeat: 1, timings: false }).await?;
    let mut findings = judge(&surfaces, &named.target, &context).await;
    if args.active {
        let surface: &Surface = surfaces.last().ok_or("nothing to test")?;
        let options = active::Options { allow_writes: args.allow_writes, root: args.root.clone() };
        findings.extend(active::test(&named.target, &context, surface, &options).await?);
    }
    sort(&mut findings);
    Ok(findings)
}

/// What the surfaces of a target show, and what its listener lets in.
pub async fn judge(surfaces: &[Surface], target: &Target, context: &Context) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for finding in surfaces.iter().flat_map(surface_risks) {
        // Two eras of one server mostly show the same.
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    if let Target::Url(url) = target
        && !url.scheme.is_ws()
        && surfaces.iter().any(|surface| surface.text("transport") == "streamable-http")
    {
        findings.extend(listener(url, context).await);
    }
    findings
}

/// Precision and recall of the rules on tools that were labelled by hand.
fn measured(args: &ScanArgs, run: &Run) -> Result<Exit, Failure> {
    let mut text = String::new();
    for path in &args.measure {
        let part = std::fs::read_to_string(path);
        text.push_str(&part.map_err(|error| format!("{}: {error}", path.display()))?);
        text.push('\n');
    }
    let (scores, tools) = measure(&text)?;
    let judged: Vec<&Score> = scores
        .iter()
        .filter(|score| score.precision().is_some() || score.recall().is_some())
        .collect();
    if run.common.json {
        let scores = judged.iter().map(|score| score.to_json()).collect();
        run.emit_json(&obj! { "tools": tools as i64, "rules": Json::Array(scores) })?;
        return Ok(Exit::Fine);
    }
    let mut screen = run.screen();
    screen.line(&count(tools, "labelled tool"));
    let percent = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value} %"));
    let head = ["rule", "precision", "recall", "right", "false alarms", "missed"];
    let mut rows = vec![head.map(String::from).to_vec()];
    rows.extend(judged.iter().map(|score| {
        vec![
            score.rule.to_string(),
            percent(score.precision()),
            percent(score.recall()),
            score.right.to_string(),
            score.false_alarms.len().to_string(),
            score.missed.len().to_string(),
        ]
    }));
    screen.table(&rows);
    for score in judged {
        score
            .false_alarms
            .iter()
            .for_each(|at| screen.line(&format!("false {}: {at}", score.rule)));
        score.missed.iter().for_each(|at| screen.line(&format!("missed {}: {at}", score.rule)));
    }
    run.emit(&screen.finish())?;
    Ok(Exit::Fine)
}

/// What a listener lets in.
async fn listener(url: &Url, context: &Context) -> Vec<Finding> {
    let mut findings = Vec::new();
    let both = Some("application/json, text/event-stream");
    let served = |reply: Option<Reply>| {
        reply.and_then(|reply| reply.head.status()).is_some_and(|status| status < 400)
    };
    let mut try_with = Vec::new();
    for (name, value) in [("Origin", "http://attacker.example"), ("Host", "attacker.example")] {
        let mut headers = post_headers(context, both);
        headers.push((name.into(), value.into()));
        try_with.push((name, served(ask(url, "POST", headers, Some(hello())).await)));
    }
    for (name, taken) in try_with.into_iter().filter(|(_, taken)| *taken) {
        findings.push(match name {
            "Origin" => Finding::new("origin-unchecked", Severity::Medium, "requests of foreign web pages are served")
                .seen("Origin: http://attacker.example was answered")
                .advise("A page in the user's browser can reach it; refuse foreign origins with 403."),
            _ => Finding::new("host-unchecked", Severity::Low, "requests for any host are served")
                .seen(format!("{name}: attacker.example was answered, {taken}"))
                .advise("With DNS rebinding a page can reach it; check the Host header, or at least Origin."),
        });
    }
    let keyless = Context { headers: Vec::new(), ..context.clone() };
    if served(ask(url, "POST", post_headers(&keyless, both), Some(hello())).await) {
        let severity = if url.is_loopback() { Severity::Info } else { Severity::Medium };
        findings.push(Finding::new("no-auth", severity, "it is served without credentials"));
    }
    if url.scheme == Scheme::Http && !url.is_loopback() {
        findings.push(Finding::new(
            "plain-http",
            Severity::Medium,
            "the connection is not encrypted",
        ));
    }
    findings
}

fn show(
    args: &ScanArgs,
    run: &Run,
    all: &[(String, Vec<Finding>)],
    places: &[(String, Option<Place>)],
) -> Result<(), Failure> {
    let format = if run.common.json { Format::Json } else { args.format };
    match format {
        Format::Sarif => {
            let target = |(name, findings): &(String, Vec<Finding>)| sarif::Target {
                name: name.clone(),
                place: places
                    .iter()
                    .find(|(known, _)| known == name)
                    .and_then(|(_, at)| at.clone()),
                findings: findings.clone(),
            };
            run.emit_json(&sarif::log(&all.iter().map(target).collect::<Vec<_>>()))
        }
        Format::Json => {
            let one = |(name, findings): &(String, Vec<Finding>)| {
                obj! { "target": name, "findings": crate::finding::to_json(findings) }
            };
            run.emit_json(&obj! { "targets": Json::Array(all.iter().map(one).collect()) })
        }
        Format::Text => {
            let mut screen = run.screen();
            for (name, findings) in all {
                let of = |severity| {
                    findings.iter().filter(|finding| finding.severity == severity).count()
                };
                let (high, medium, low) =
                    (of(Severity::High), of(Severity::Medium), of(Severity::Low));
                let verdict = match findings.is_empty() {
                    true => "nothing to worry about".to_string(),
                    false => format!(
                        "{}: {high} high, {medium} medium, {low} low",
                        count(findings.len(), "finding")
                    ),
                };
                screen.verdict(worst(findings), &verdict);
                screen.faint(name);
                screen.line("");
                findings.iter().for_each(|finding| screen.finding(finding));
            }
            run.emit(&screen.finish())
        }
    }
}
