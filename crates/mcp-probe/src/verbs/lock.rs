//! `lock` and `verify`: everything that a server offers, with a hash for each
//! tool, so that a change is noticed and told in words.

use crate::change::{Change, Class, compare as compare_surfaces};
use crate::cli::{LockArgs, VerifyArgs};
use crate::finding::Severity;
use crate::json::{self, Json};
use crate::obj;
use crate::run::{Exit, Failure, Run};
use crate::screen::{count, visible};
use crate::surface::Surface;
use crate::survey::{Depth, survey};
use crate::target::Target;
use std::collections::{BTreeMap, BTreeSet};

const FORMAT: &str = "mcp-probe/lock/2";
/// The first form: hashes only.
const HASHES_ONLY: &str = "mcp-probe/lock/1";
const DEPTH: Depth = Depth { repeat: 1, timings: false };
/// What a surface has that differs from run to run, or says nothing of the server.
const PASSING: [&str; 5] = ["oddities", "timings", "methods", "unstable", "schemas"];

/// Writes the lock. The server is started twice: what differs between two starts
/// of the same server cannot be held to a lock.
pub async fn lock(args: &LockArgs, run: &Run) -> Result<Exit, Failure> {
    let named = run.target(&args.at)?;
    let context = run.context_for(&named);
    let surfaces = survey(&named.target, &context, DEPTH).await?;
    let mut restless = Vec::new();
    if !matches!(named.target, Target::File(_)) {
        let again = survey(&named.target, &context, DEPTH).await?;
        restless = between(&surfaces, &again);
    }
    for change in &restless {
        let line = format!("{}: {}", change.place, change.what);
        eprintln!("mcp-probe: differs from start to start, not locked: {}", visible(&line));
    }
    run.emit_json(&lock_of(&surfaces, &restless))?;
    Ok(Exit::Fine)
}

fn lock_of(surfaces: &[Surface], restless: &[Change]) -> Json {
    let one = |surface: &Surface| {
        let mut tools = Json::object();
        for (name, hash) in hashes(surface) {
            tools.push(&name, hash);
        }
        obj! {
            "era": surface.text("era"),
            "version": surface.text("version"),
            "tools": tools,
            "surface": surface.without(&PASSING),
        }
    };
    let mut places: Vec<&str> = restless.iter().map(|change| change.place.as_str()).collect();
    places.sort_unstable();
    places.dedup();
    obj! { "format": FORMAT, "changesByItself": places, "surfaces": Json::Array(surfaces.iter().map(one).collect()) }
}

/// Changes between the same eras of two looks, each told once.
fn between(old: &[Surface], new: &[Surface]) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for before in old {
        let after = new.iter().find(|surface| surface.text("era") == before.text("era"));
        for change in after.map(|after| compare_surfaces(before, after)).unwrap_or_default() {
            if !changes.contains(&change) {
                changes.push(change);
            }
        }
    }
    changes
}

/// Hashes by name; a name that occurs twice has the hashes of both.
fn hashes(surface: &Surface) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for tool in surface.tools() {
        let hash = format!("sha256:{}", tool.hash());
        found
            .entry(tool.name().into())
            .and_modify(|all| *all = format!("{all} {hash}"))
            .or_insert(hash);
    }
    found
}

/// Checks against a lock.
pub async fn verify(args: &VerifyArgs, run: &Run) -> Result<Exit, Failure> {
    let bytes =
        std::fs::read(&args.lock).map_err(|error| format!("{}: {error}", args.lock.display()))?;
    let lock = json::parse(&bytes).map_err(|error| format!("{}: {error}", args.lock.display()))?;
    if !matches!(lock.text_at("format"), Some(FORMAT | HASHES_ONLY)) {
        return Err(format!("{} is no lock", args.lock.display()));
    }
    let named = run.target(&args.at)?;
    let surfaces = survey(&named.target, &run.context_for(&named), DEPTH).await?;
    let places = lock.get("changesByItself").map_or(&[][..], Json::items);
    let restless: BTreeSet<&str> = places.iter().filter_map(Json::as_str).collect();
    let (mut drift, mut excused) = (Vec::new(), 0);
    for locked in lock.get("surfaces").map_or(&[][..], Json::items) {
        let era = locked.text_at("era").unwrap_or_default();
        let Some(surface) = surfaces.iter().find(|surface| surface.text("era") == era) else {
            drift.push(Change::new(Class::Breaking, era, "the era is gone"));
            continue;
        };
        for change in differences(locked, surface) {
            // Words that differ at each start anyway, and nothing graver.
            match change.class == Class::Text && restless.contains(change.place.as_str()) {
                true => excused += 1,
                false if drift.contains(&change) => {}
                false => drift.push(change),
            }
        }
    }
    show(run, &drift, excused, &tool_names(&surfaces))?;
    Ok(Exit::found(!drift.is_empty()))
}

/// One server's tools, though it shows them in two eras.
fn tool_names(surfaces: &[Surface]) -> BTreeSet<String> {
    surfaces
        .iter()
        .flat_map(|surface| surface.tools().map(|tool| tool.name().to_string()))
        .collect()
}

fn differences(locked: &Json, surface: &Surface) -> Vec<Change> {
    if let Some(whole) = locked.get("surface") {
        let before = Surface::from_json(whole);
        // Another way to the same server is no change of the server.
        return compare_surfaces(&before, surface);
    }
    let now = hashes(surface);
    let tools = locked.get("tools").map_or(&[][..], Json::members);
    let mut found = Vec::new();
    for (name, hash) in tools {
        match now.get(name.as_str()) {
            None => found.push(Change::new(Class::Breaking, name.as_str(), "the tool is gone")),
            Some(new) if Some(new.as_str()) != hash.as_str() => found.push(Change::new(
                Class::Breaking,
                name.as_str(),
                "changed; this lock keeps hashes only: lock again to be told what",
            )),
            Some(_) => {}
        }
    }
    let known = |name: &&String| tools.iter().any(|(locked, _)| locked.as_str() == name.as_str());
    let fresh = now.keys().filter(|name| !known(name));
    found.extend(fresh.map(|name| Change::new(Class::Security, name, "the tool is new")));
    found
}

fn show(
    run: &Run,
    drift: &[Change],
    excused: usize,
    tools: &BTreeSet<String>,
) -> Result<(), Failure> {
    if run.common.json {
        let drift = drift.iter().map(Change::to_json).collect();
        return run.emit_json(&obj! { "drift": Json::Array(drift), "excused": excused as i64 });
    }
    let mut screen = run.screen();
    match drift.is_empty() {
        true => screen.verdict(None, &format!("{} as locked", count(tools.len(), "tool"))),
        false => screen.verdict(
            Some(Severity::High),
            &format!("{} from the lock", count(drift.len(), "difference")),
        ),
    }
    for change in drift {
        screen.line(&format!("{:<9} {}: {}", change.class.name(), change.place, change.what));
    }
    if excused > 0 {
        screen
            .faint(&format!("excused: {excused} (texts that differ at each start of this server)"));
    }
    run.emit(&screen.finish())
}
