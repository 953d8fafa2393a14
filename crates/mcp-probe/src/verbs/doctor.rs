//! `doctor`: why a server does not work.

use crate::cli::DoctorArgs;
use crate::client::Context;
use crate::doctor::{Diagnosis, RULES, examine, examine_recording};
use crate::finding::{Severity, worst};
use crate::json::Json;
use crate::mock::MOCKS;
use crate::obj;
use crate::run::{Exit, Failure, Run};
use crate::screen::{count, progress};
use crate::target::{Named, Target};
use crate::trail::read_recording;

/// Examines one target or many.
pub async fn run(args: &DoctorArgs, run: &Run) -> Result<Exit, Failure> {
    if args.rules {
        return rules(run);
    }
    let targets = run.targets(&args.at)?;
    let bar = progress(targets.len() as u64, "servers");
    let mut all = Vec::new();
    for named in &targets {
        run.begin(named);
        all.push((named, diagnose(args, run, named).await?));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let mut exit = Exit::Fine;
    for (_, diagnosis) in &all {
        if Exit::of(&diagnosis.findings) == Exit::Findings {
            exit = Exit::Findings;
        }
    }
    show(run, &all)?;
    Ok(exit)
}

fn rules(run: &Run) -> Result<Exit, Failure> {
    let mut screen = run.screen();
    let mut rows = vec![["rule", "mocks", "symptom"].map(String::from).to_vec()];
    for rule in &RULES {
        let mocks = MOCKS.iter().filter(|mock| mock.rule == rule.name);
        let names: Vec<&str> = mocks.map(|mock| mock.name).collect();
        rows.push(vec![rule.name.to_string(), names.join(" "), rule.about.to_string()]);
    }
    screen.table(&rows);
    run.emit(&screen.finish())?;
    Ok(Exit::Fine)
}

async fn diagnose(args: &DoctorArgs, run: &Run, named: &Named) -> Result<Diagnosis, Failure> {
    match &named.target {
        Target::File(path) => {
            let recording = read_recording(path)?;
            let recording = recording.ok_or(format!(
                "{} is no recording; a report says nothing of faults",
                path.display()
            ))?;
            Ok(examine_recording(&recording))
        }
        target => {
            let context = Context { bare_env: !args.inherit_env, ..run.context_for(named) };
            Ok(examine(target, &context, args.big_messages).await)
        }
    }
}

/// The first line: the cause, or that it works and what is worth knowing.
fn headline(diagnosis: &Diagnosis) -> String {
    let alarms =
        diagnosis.findings.iter().filter(|finding| finding.severity > Severity::Info).count();
    let notes = diagnosis.findings.len() - alarms;
    match (diagnosis.findings.first(), alarms) {
        (None, _) => "it works".to_string(),
        (Some(_), 0) => format!("it works ({})", count(notes, "note")),
        (Some(first), 1) => first.title.clone(),
        (Some(first), _) => format!("{} (and {})", first.title, count(alarms - 1, "more finding")),
    }
}

fn show(run: &Run, all: &[(&Named, Diagnosis)]) -> Result<(), Failure> {
    if run.common.json {
        let one = |(named, diagnosis): &(&Named, Diagnosis)| {
            let mut json = obj! { "target": &named.name, "limits": run.context.limits.describe() };
            diagnosis
                .to_json()
                .members()
                .iter()
                .for_each(|(name, value)| json.push(name.as_str(), value.clone()));
            json
        };
        return match all {
            [single] => run.emit_json(&one(single)),
            _ => run.emit_json(&Json::Array(all.iter().map(one).collect())),
        };
    }
    let mut screen = run.screen();
    for (named, diagnosis) in all {
        screen.verdict(worst(&diagnosis.findings), &headline(diagnosis));
        screen.faint(&format!("{} (limits: {})", named.name, run.context.limits.describe()));
        if diagnosis.live {
            screen.faint(&diagnosis.verdict.describe());
        }
        if !diagnosis.findings.is_empty() {
            screen.line("");
        }
        diagnosis.findings.iter().for_each(|finding| screen.finding(finding));
        screen.heading("what was tried");
        for (layer, text) in &diagnosis.steps {
            screen.line(&format!("{layer:<10} {text}"));
        }
        if !diagnosis.versions.is_empty() {
            screen.heading("versions");
            for (asked, answered) in &diagnosis.versions {
                screen.line(&format!("{asked}  {answered}"));
            }
        }
    }
    run.emit(&screen.finish())
}
