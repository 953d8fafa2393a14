//! `check`: doctor, lint and scan in one page with one exit code, for build servers.

use crate::cli::{CheckArgs, CheckFormat};
use crate::doctor::examine;
use crate::finding::{Finding, Severity, sort, worst};
use crate::json::Json;
use crate::junit::{self, Part};
use crate::lint::{Client, lint};
use crate::obj;
use crate::place::Place;
use crate::run::{Exit, Failure, Run};
use crate::sarif;
use crate::screen::{count, progress};
use crate::surface::Surface;
use crate::survey::{Depth, survey};
use crate::target::{Named, Target};

/// One target with everything that was found.
struct Checked {
    name: String,
    about: String,
    parts: Vec<Part>,
    place: Option<Place>,
}

/// Checks one target or many.
pub async fn run(args: &CheckArgs, run: &Run) -> Result<Exit, Failure> {
    let place = args
        .place
        .as_deref()
        .map(|text| Place::parse(text).ok_or(format!("{text:?} is no file below this folder")));
    let place = place.transpose()?;
    let clients = super::lint::chosen(&args.client)?;
    let targets = run.targets(&args.at)?;
    let bar = progress(targets.len() as u64, "servers");
    let mut all = Vec::new();
    for named in &targets {
        run.begin(named);
        let mut checked = examine_all(args, run, named, &clients).await;
        checked.place = place
            .clone()
            .or_else(|| Place::of(args.at.config.as_deref(), &named.name, &named.target));
        all.push(checked);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let failed = all
        .iter()
        .flat_map(|one| &one.parts)
        .any(|part| worst(&part.findings).is_some_and(|worst| worst >= args.fail_on));
    show(args, run, &all)?;
    Ok(Exit::found(failed))
}

async fn examine_all(args: &CheckArgs, run: &Run, named: &Named, clients: &[&Client]) -> Checked {
    let context = run.context_for(named);
    let live = !matches!(named.target, Target::File(_));
    let mut doctor = Part { name: "doctor", findings: Vec::new(), skipped: None };
    match live {
        true => doctor.findings = examine(&named.target, &context, false).await.findings,
        false => doctor.skipped = Some("a saved file has nothing to examine".into()),
    }
    let surfaces = survey(&named.target, &context, Depth { repeat: 1, timings: false }).await;
    let about = match &surfaces {
        Ok(surfaces) => describe(surfaces),
        Err(_) => "no list could be fetched".into(),
    };
    let mut scan = Part { name: "scan", findings: Vec::new(), skipped: None };
    let mut lint = Part { name: "lint", findings: Vec::new(), skipped: None };
    match &surfaces {
        Ok(surfaces) => {
            match args.no_scan {
                true => scan.skipped = Some("left out by --no-scan".into()),
                false => {
                    scan.findings = super::scan::judge(surfaces, &named.target, &context).await
                }
            }
            lint.findings = survives(surfaces, clients, !args.client.is_empty());
        }
        Err(why) => {
            scan.skipped = Some(why.clone());
            lint.skipped = Some(why.clone());
            // Silence of the doctor must not make a server that gave no list pass.
            if doctor.findings.iter().all(|finding| finding.severity < Severity::Medium) {
                doctor.findings.push(Finding::new("no-list", Severity::High, why.clone()));
            }
        }
    }
    [&mut doctor, &mut lint, &mut scan].into_iter().for_each(|part| sort(&mut part.findings));
    Checked { name: named.name.clone(), about, parts: vec![doctor, lint, scan], place: None }
}

fn describe(surfaces: &[Surface]) -> String {
    let server = surfaces.first().map(Surface::server).unwrap_or_default();
    let eras: Vec<String> = surfaces.iter().map(Surface::label).collect();
    let tools = surfaces.iter().map(|surface| surface.list("tools").len()).max().unwrap_or(0);
    format!("{server}: {}; {}", eras.join("; "), count(tools, "tool"))
}

/// What clients would refuse. Rules are told once, with the clients and tools
/// concerned; unless clients were named, nobody has to please them all.
fn survives(surfaces: &[Surface], clients: &[&Client], named: bool) -> Vec<Finding> {
    struct Group {
        rule: &'static str,
        severity: Severity,
        clients: Vec<&'static str>,
        tools: Vec<String>,
        seen: Vec<String>,
    }
    let name =
        surfaces.iter().find_map(|one| one.get("server")?.text_at("name").map(str::to_string));
    let name = name.unwrap_or_else(|| "server".into());
    let mut groups: Vec<Group> = Vec::new();
    for client in clients {
        for finding in surfaces.iter().flat_map(|surface| lint(surface, client, &name)) {
            let at =
                groups.iter().position(|group| group.rule == finding.rule).unwrap_or_else(|| {
                    groups.push(Group {
                        rule: finding.rule,
                        severity: Severity::Info,
                        clients: Vec::new(),
                        tools: Vec::new(),
                        seen: Vec::new(),
                    });
                    groups.len() - 1
                });
            let group = &mut groups[at];
            group.severity = group.severity.max(finding.severity);
            if !group.clients.contains(&client.about) {
                group.clients.push(client.about);
            }
            // Where a list is refused as a whole, the place in it is the news.
            if finding.place.is_none() && group.seen.is_empty() {
                group.seen = finding.evidence.clone();
            }
            if let Some(tool) = finding.place.filter(|tool| !group.tools.contains(tool)) {
                group.tools.push(tool);
            }
        }
    }
    let told = |group: Group| {
        let severity = match group.rule {
            // What the official libraries refuse, no client survives.
            "sdk-python" | "sdk-typescript" => group.severity,
            _ if named => group.severity,
            _ => Severity::Info,
        };
        let title = crate::lint::about(group.rule);
        let shown: Vec<&str> = group.tools.iter().map(String::as_str).take(8).collect();
        let more = group.tools.len().saturating_sub(shown.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let finding = Finding::new(group.rule, severity, title)
            .seen(format!("trouble for {}", group.clients.join(", ")))
            .seen_all(group.seen);
        match shown.is_empty() {
            true => finding,
            false => finding.seen(format!("tools: {}{more}", shown.join(", "))),
        }
    };
    groups.into_iter().map(told).collect()
}

fn show(args: &CheckArgs, run: &Run, all: &[Checked]) -> Result<(), Failure> {
    let format = if run.common.json { CheckFormat::Json } else { args.format };
    match format {
        CheckFormat::Text => run.emit(&page(args, run, all)),
        CheckFormat::Json => {
            let part = |part: &Part| {
                obj! { "part": part.name, "findings": crate::finding::to_json(&part.findings) }
                    .with_some("skipped", part.skipped.as_ref())
            };
            let one = |checked: &Checked| {
                let failed = checked
                    .parts
                    .iter()
                    .any(|part| worst(&part.findings).is_some_and(|worst| worst >= args.fail_on));
                obj! {
                    "target": &checked.name,
                    "about": &checked.about,
                    "passed": !failed,
                    "parts": Json::Array(checked.parts.iter().map(part).collect()),
                }
            };
            run.emit_json(&obj! { "targets": Json::Array(all.iter().map(one).collect()) })
        }
        CheckFormat::Sarif => {
            let found: Vec<sarif::Target> = all
                .iter()
                .map(|checked| sarif::Target {
                    name: checked.name.clone(),
                    place: checked.place.clone(),
                    findings: checked.parts.iter().flat_map(|part| part.findings.clone()).collect(),
                })
                .collect();
            run.emit_json(&sarif::log(&found))
        }
        CheckFormat::Junit => {
            let suites: Vec<(String, Vec<Part>)> = all
                .iter()
                .map(|checked| {
                    let copy = |part: &Part| Part {
                        name: part.name,
                        findings: part.findings.clone(),
                        skipped: part.skipped.clone(),
                    };
                    (checked.name.clone(), checked.parts.iter().map(copy).collect())
                })
                .collect();
            run.emit(&junit::document(&suites, args.fail_on))
        }
    }
}

/// For people: one verdict, then the parts.
fn page(args: &CheckArgs, run: &Run, all: &[Checked]) -> String {
    let mut screen = run.screen();
    for checked in all {
        let findings: Vec<&Finding> =
            checked.parts.iter().flat_map(|part| &part.findings).collect();
        let failing = findings.iter().filter(|one| one.severity >= args.fail_on).count();
        let gravest = findings.iter().map(|one| one.severity).max().filter(|_| failing > 0);
        let gravest = findings.iter().find(|one| Some(one.severity) == gravest);
        let verdict = match gravest {
            None => format!("passed: {}", checked.about),
            Some(finding) => {
                let at = finding.place.as_ref().map(|at| format!("{at}: ")).unwrap_or_default();
                format!("{}: {at}{}", count(failing, "failure"), finding.title)
            }
        };
        let worst = findings.iter().map(|one| one.severity).max();
        screen.verdict(worst.filter(|_| failing > 0), &verdict);
        screen.faint(&checked.name);
        if failing > 0 {
            screen.faint(&checked.about);
        }
        for part in &checked.parts {
            let summary = match (&part.skipped, part.findings.is_empty()) {
                (Some(_), true) => "not done".to_string(),
                (_, true) => "nothing found".into(),
                _ => count(part.findings.len(), "finding"),
            };
            screen.heading(&format!("{}: {summary}", part.name));
            part.findings.iter().for_each(|finding| screen.finding(finding));
        }
        screen.line("");
    }
    screen.finish()
}
