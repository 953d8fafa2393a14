//! `diff`: two reports or recordings, change by change.

use crate::change::{Change, compare};
use crate::cli::DiffArgs;
use crate::finding::Severity;
use crate::json::Json;
use crate::obj;
use crate::run::{Exit, Failure, Run};
use crate::screen::count;
use crate::surface::{Surface, read};

/// Compares; fails only when something matters.
pub fn run(args: &DiffArgs, run: &Run) -> Result<Exit, Failure> {
    let (_, old) = read(&args.old)?;
    let (_, new) = read(&args.new)?;
    let mut sections = Vec::new();
    for (before, after) in pair(&old, &new)? {
        sections.push((after.label(), compare(before, after)));
    }
    let all: Vec<&Change> = sections.iter().flat_map(|(_, changes)| changes).collect();
    let matters = all.iter().any(|change| change.class.matters());
    show(run, &sections, &all)?;
    Ok(Exit::found(matters))
}

/// Surfaces of the same era; if the eras differ altogether, the first of each.
fn pair<'a>(
    old: &'a [Surface],
    new: &'a [Surface],
) -> Result<Vec<(&'a Surface, &'a Surface)>, Failure> {
    let twin =
        |surface: &Surface| old.iter().find(|other| other.text("era") == surface.text("era"));
    let pairs: Vec<_> = new.iter().filter_map(|surface| Some((twin(surface)?, surface))).collect();
    match (pairs.is_empty(), old.first(), new.first()) {
        (false, _, _) => Ok(pairs),
        (true, Some(old), Some(new)) => Ok(vec![(old, new)]),
        _ => Err("there is nothing to compare".into()),
    }
}

/// Prints changes.
pub fn show(run: &Run, sections: &[(String, Vec<Change>)], all: &[&Change]) -> Result<(), Failure> {
    let mattering = all.iter().filter(|change| change.class.matters()).count();
    if run.common.json {
        let section = |(label, changes): &(String, Vec<Change>)| {
            obj! { "surface": label, "changes": Json::Array(changes.iter().map(Change::to_json).collect()) }
        };
        let sections = Json::Array(sections.iter().map(section).collect());
        return run.emit_json(&obj! { "matters": mattering > 0, "sections": sections });
    }
    let mut screen = run.screen();
    let worst = match (mattering, all.len()) {
        (0, _) => None,
        _ => Some(Severity::High),
    };
    screen.verdict(worst, &format!("{}, {mattering} that matter", count(all.len(), "change")));
    for (label, changes) in sections.iter().filter(|(_, changes)| !changes.is_empty()) {
        screen.heading(label);
        for change in changes {
            screen.line(&format!("{:<9} {}: {}", change.class.name(), change.place, change.what));
        }
    }
    run.emit(&screen.finish())
}
