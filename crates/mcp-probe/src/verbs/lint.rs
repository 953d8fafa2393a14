//! `lint`: will this tool list survive that client?

use crate::cli::LintArgs;
use crate::finding::{Finding, worst};
use crate::json::Json;
use crate::lint::{CLIENTS, Client, lint};
use crate::obj;
use crate::run::{Exit, Failure, Run};
use crate::screen::count;
use crate::survey::{Depth, survey};

/// Checks for the clients named, or for all.
pub async fn run(args: &LintArgs, run: &Run) -> Result<Exit, Failure> {
    if args.client.iter().any(|name| name == "list") {
        let mut screen = run.screen();
        CLIENTS
            .iter()
            .for_each(|client| screen.line(&format!("{:<16}{}", client.name, client.about)));
        run.emit(&screen.finish())?;
        return Ok(Exit::Fine);
    }
    let clients = chosen(&args.client)?;
    let named = run.target(&args.at)?;
    let surfaces =
        survey(&named.target, &run.context_for(&named), Depth { repeat: 1, timings: false })
            .await?;
    let server_name = args.server_name.clone().unwrap_or_else(|| default_name(&surfaces));
    let mut all: Vec<(&Client, Vec<Finding>)> = Vec::new();
    for client in clients {
        let mut findings: Vec<Finding> = Vec::new();
        for finding in surfaces.iter().flat_map(|surface| lint(surface, client, &server_name)) {
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
        all.push((client, findings));
    }
    show(run, &all)?;
    Ok(Exit::found(all.iter().any(|(_, findings)| Exit::of(findings) == Exit::Findings)))
}

/// The clients of those names, all if none is named.
pub fn chosen(names: &[String]) -> Result<Vec<&'static Client>, Failure> {
    if names.is_empty() {
        return Ok(CLIENTS.iter().collect());
    }
    let find = |name: &String| {
        CLIENTS
            .iter()
            .find(|client| client.name == *name)
            .ok_or(format!("unknown client {name:?}; see --client list"))
    };
    names.iter().map(find).collect()
}

/// As people would call it in a configuration.
fn default_name(surfaces: &[crate::surface::Surface]) -> String {
    let name = surfaces
        .iter()
        .find_map(|surface| surface.get("server")?.text_at("name").map(str::to_string));
    name.unwrap_or_else(|| "server".into())
}

fn show(run: &Run, all: &[(&Client, Vec<Finding>)]) -> Result<(), Failure> {
    if run.common.json {
        let one = |(client, findings): &(&Client, Vec<Finding>)| obj! { "client": client.name, "findings": crate::finding::to_json(findings) };
        return run.emit_json(&Json::Array(all.iter().map(one).collect()));
    }
    let mut screen = run.screen();
    for (client, findings) in all {
        let verdict = match findings.is_empty() {
            true => format!("{}: the list survives", client.about),
            false => format!("{}: {}", client.about, count(findings.len(), "finding")),
        };
        screen.verdict(worst(findings), &verdict);
        findings.iter().for_each(|finding| screen.finding(finding));
    }
    run.emit(&screen.finish())
}
