//! `report`: everything a server offers, as canonical JSON, text or HTML.

use crate::cli::ReportArgs;
use crate::json::Json;
use crate::obj;
use crate::run::{Exit, Failure, Run};
use crate::screen::{Screen, count, progress};
use crate::surface::{self, Surface};
use crate::survey::{Depth, survey};
use crate::target::Named;

/// Writes the report of one target, or one line each of many.
pub async fn run(args: ReportArgs, run: &Run) -> Result<Exit, Failure> {
    let depth = Depth {
        repeat: args.repeat.clamp(1, 100),
        timings: args.timings || args.html || !run.common.json,
    };
    if args.at.config.is_some() && args.at.server.is_none() {
        return many(&args, run, depth).await;
    }
    let named = run.target(&args.at)?;
    let context = run.context_for(&named);
    let surfaces = survey(&named.target, &context, depth).await?;
    let findings = faults(&surfaces) > 0;
    if args.html {
        run.emit(&crate::html::page(&named.name, &surfaces))?;
    } else if run.common.json {
        run.emit_json(&surface::report(&named.target, &surfaces))?;
    } else {
        let mut screen = run.screen();
        show(&mut screen, &named, &surfaces);
        run.emit(&screen.finish())?;
    }
    Ok(Exit::found(findings))
}

async fn many(args: &ReportArgs, run: &Run, depth: Depth) -> Result<Exit, Failure> {
    let targets = run.targets(&args.at)?;
    let bar = progress(targets.len() as u64, "servers");
    let mut rows = Vec::new();
    let (mut bad, mut reached) = (0, 0);
    for named in &targets {
        run.begin(named);
        let outcome = survey(&named.target, &run.context_for(named), depth).await;
        reached += usize::from(outcome.is_ok());
        bad += outcome.as_ref().map_or(1, |surfaces| usize::from(faults(surfaces) > 0));
        rows.push((named, outcome));
        bar.inc(1);
    }
    bar.finish_and_clear();
    if run.common.json {
        let row = |(named, outcome): &(&Named, Result<Vec<Surface>, String>)| match outcome {
            Ok(surfaces) => surface::report(&named.target, surfaces).with("name", &named.name),
            Err(error) => {
                obj! { "name": &named.name, "target": named.target.to_json(), "error": error }
            }
        };
        run.emit_json(&Json::Array(rows.iter().map(row).collect()))?;
    } else {
        let mut screen = run.screen();
        let worst = (bad > 0).then_some(crate::finding::Severity::Medium);
        screen.verdict(
            worst,
            &format!("{reached} of {} answered, {bad} with faults", count(targets.len(), "server")),
        );
        let head = ["server", "what answered", "tools", "resources", "prompts", "faults"];
        let mut table = vec![head.map(String::from).to_vec()];
        table.extend(rows.iter().flat_map(|(named, outcome)| summary(named, outcome)));
        screen.table(&table);
        run.emit(&screen.finish())?;
    }
    if reached == 0 {
        return Err("no server answered".into());
    }
    Ok(Exit::found(bad > 0))
}

fn summary(named: &Named, outcome: &Result<Vec<Surface>, String>) -> Vec<Vec<String>> {
    match outcome {
        Err(error) => vec![vec![named.name.clone(), crate::client::clip(error, 80)]],
        Ok(surfaces) => surfaces
            .iter()
            .map(|surface| {
                let size = |name: &str| surface.list(name).len().to_string();
                let faults = faults(std::slice::from_ref(surface)).to_string();
                let what = format!("{}, {}", surface.server(), surface.label());
                vec![
                    crate::client::clip(&named.name, 40),
                    what,
                    size("tools"),
                    size("resources"),
                    size("prompts"),
                    faults,
                ]
            })
            .collect(),
    }
}

const FAULTS: [&str; 4] =
    ["advertisedNotImplemented", "implementedNotAdvertised", "duplicates", "unstable"];

fn faults(surfaces: &[Surface]) -> usize {
    surfaces
        .iter()
        .map(|surface| FAULTS.iter().map(|name| surface.list(name).len()).sum::<usize>())
        .sum()
}

fn show(screen: &mut Screen, named: &Named, surfaces: &[Surface]) {
    let faults = faults(surfaces);
    let worst = (faults > 0).then_some(crate::finding::Severity::Medium);
    let server = surfaces.first().map(Surface::server).unwrap_or_default();
    let eras: Vec<String> = surfaces.iter().map(Surface::label).collect();
    screen.verdict(worst, &format!("{server}: {} ({})", eras.join("; "), count(faults, "fault")));
    screen.faint(&named.name);
    for surface in surfaces {
        screen.heading(&surface.label());
        show_surface(screen, surface);
    }
}

fn show_surface(screen: &mut Screen, surface: &Surface) {
    if let Some(capabilities) = surface.get("capabilities") {
        screen.line(&format!("capabilities  {capabilities}"));
    }
    for (name, member) in surface.get("methods").map_or(&[][..], Json::members) {
        screen.line(&format!("{:<26}{}", name.as_str(), member.as_str().unwrap_or_default()));
    }
    for (name, title) in FAULTS.iter().zip([
        "promised, not there",
        "there, not promised",
        "listed twice",
        "changes by itself",
    ]) {
        for item in surface.list(name) {
            screen.line(&format!("✖ {title}: {}", item.as_str().unwrap_or_default()));
        }
    }
    let mut rows = vec![
        ["tool", "required", "optional", "loose parameters", "description"]
            .map(String::from)
            .to_vec(),
    ];
    for (tool, facts) in surface.tools().zip(surface.list("schemas")) {
        let number = |name: &str| facts.get(name).map(Json::to_string).unwrap_or_default();
        let loose =
            tool.parameters().iter().filter(|parameter| !parameter.looseness().is_empty()).count();
        let about = tool.description().lines().next().unwrap_or_default();
        let name = crate::client::clip(tool.name(), 48);
        rows.push(vec![
            name,
            number("required"),
            number("optional"),
            loose.to_string(),
            crate::client::clip(about, 60),
        ]);
    }
    if rows.len() > 1 {
        screen.line("");
        screen.table(&rows);
    }
    let times: Vec<String> = surface
        .list("timings")
        .iter()
        .map(|time| {
            format!(
                "{} {} ms",
                time.text_at("method").unwrap_or_default(),
                time.get("ms").map(Json::to_string).unwrap_or_default()
            )
        })
        .collect();
    if !times.is_empty() {
        screen.faint(&format!("times: {}", times.join(", ")));
    }
}
