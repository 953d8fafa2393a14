//! `lock` and `verify`: a hash for each tool, so that a change is noticed.

use crate::cli::{LockArgs, VerifyArgs};
use crate::finding::Severity;
use crate::json::{self, Json};
use crate::obj;
use crate::run::{Exit, Failure, Run};
use crate::screen::count;
use crate::surface::Surface;
use crate::survey::{Depth, survey};
use std::collections::BTreeMap;

const FORMAT: &str = "mcp-probe/lock/1";
const DEPTH: Depth = Depth { repeat: 1, timings: false };

/// Writes the lock.
pub async fn lock(args: &LockArgs, run: &Run) -> Result<Exit, Failure> {
    let named = run.target(&args.at)?;
    let surfaces = survey(&named.target, &run.context_for(&named), DEPTH).await?;
    run.emit_json(&lock_of(&surfaces))?;
    Ok(Exit::Fine)
}

fn lock_of(surfaces: &[Surface]) -> Json {
    let one = |surface: &Surface| {
        let mut tools = Json::object();
        for (name, hash) in hashes(surface) {
            tools.push(&name, hash);
        }
        obj! { "era": surface.text("era"), "version": surface.text("version"), "tools": tools }
    };
    obj! { "format": FORMAT, "surfaces": Json::Array(surfaces.iter().map(one).collect()) }
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
    if lock.text_at("format") != Some(FORMAT) {
        return Err(format!("{} is no lock", args.lock.display()));
    }
    let named = run.target(&args.at)?;
    let surfaces = survey(&named.target, &run.context_for(&named), DEPTH).await?;
    let mut drift = Vec::new();
    for locked in lock.get("surfaces").map_or(&[][..], Json::items) {
        let era = locked.text_at("era").unwrap_or_default();
        match surfaces.iter().find(|surface| surface.text("era") == era) {
            Some(surface) => compare(locked, surface, &mut drift),
            None => drift.push((era.to_string(), "the era is gone".to_string())),
        }
    }
    show(run, &drift, surfaces.iter().map(|surface| surface.list("tools").len()).sum())?;
    Ok(Exit::found(!drift.is_empty()))
}

fn compare(locked: &Json, surface: &Surface, drift: &mut Vec<(String, String)>) {
    let now = hashes(surface);
    let tools = locked.get("tools").map_or(&[][..], Json::members);
    for (name, hash) in tools {
        match now.get(name.as_str()) {
            None => drift.push((name.as_str().into(), "gone".into())),
            Some(new) if Some(new.as_str()) != hash.as_str() => {
                drift.push((name.as_str().into(), "changed".into()))
            }
            Some(_) => {}
        }
    }
    for name in now.keys().filter(|name| !tools.iter().any(|(locked, _)| locked.as_str() == *name))
    {
        drift.push((name.clone(), "new".into()));
    }
}

fn show(run: &Run, drift: &[(String, String)], checked: usize) -> Result<(), Failure> {
    if run.common.json {
        let row = |(tool, what): &(String, String)| obj! { "tool": tool, "what": what };
        return run.emit_json(&obj! { "drift": Json::Array(drift.iter().map(row).collect()) });
    }
    let mut screen = run.screen();
    match drift.is_empty() {
        true => screen.verdict(None, &format!("{} as locked", count(checked, "tool"))),
        false => screen.verdict(
            Some(Severity::High),
            &format!("{} from the lock", count(drift.len(), "difference")),
        ),
    }
    drift.iter().for_each(|(tool, what)| screen.line(&format!("{what:<8} {tool}")));
    run.emit(&screen.finish())
}
