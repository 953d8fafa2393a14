//! The client that the official conformance suite judges: it is told the
//! scenario by environment variables and must behave accordingly.

use crate::cli::DriverArgs;
use crate::client::{Context, Era, Session, Wish, header_rules, open};
use crate::http::Url;
use crate::json::{self, Json};
use crate::obj;
use crate::run::{Exit, Failure, Run};
use crate::schema::sample;
use crate::target::Target;

/// Plays the scenario.
pub async fn run(args: &DriverArgs, run: &Run) -> Result<Exit, Failure> {
    let url = Url::parse(&args.url).ok_or(format!("{:?} is no address", args.url))?;
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let version = std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").ok();
    let wish = version.map_or(run.context.wish.clone(), Wish::Pin);
    let context = Context { wish, ..run.context.clone() };
    let mut session =
        open(&Target::Url(url), &context).await.map_err(|unopened| unopened.explain(&context))?;
    let listing = session.peer.list("tools/list", "tools").await;
    // Tools with wrong header declarations are left out, as a client must.
    let (tools, bad): (Vec<Json>, Vec<Json>) = listing
        .items
        .into_iter()
        .partition(|tool| session.peer.era == Era::Legacy || header_rules(tool).is_ok());
    bad.iter().for_each(|tool| {
        eprintln!("left out: {}", crate::screen::visible(tool.text_at("name").unwrap_or_default()))
    });
    session.peer.mirror(&tools);
    for (name, arguments) in calls(&scenario, &tools)? {
        let exchange = session
            .peer
            .request("tools/call", obj! { "name": &name, "arguments": arguments })
            .await;
        eprintln!("{name}: {}", crate::screen::visible(&exchange.describe()));
    }
    others(&mut session, &scenario).await;
    session.close().await;
    Ok(Exit::Fine)
}

/// The calls that the suite asks for, or a plain call of each tool.
fn calls(scenario: &str, tools: &[Json]) -> Result<Vec<(String, Json)>, Failure> {
    if let Ok(text) = std::env::var("MCP_CONFORMANCE_CONTEXT") {
        let context = json::parse(text.as_bytes())
            .map_err(|error| format!("MCP_CONFORMANCE_CONTEXT: {error}"))?;
        let wanted = context.get("toolCalls").map_or(&[][..], Json::items);
        if !wanted.is_empty() {
            let call = |call: &Json| {
                Some((
                    call.text_at("name")?.to_string(),
                    call.get("arguments").cloned().unwrap_or_else(Json::object),
                ))
            };
            return Ok(wanted.iter().filter_map(call).collect());
        }
    }
    if matches!(scenario, "initialize" | "json-schema-ref-no-deref") {
        return Ok(Vec::new());
    }
    let call = |tool: &Json| {
        let name = tool.text_at("name")?.to_string();
        let schema = tool.get("inputSchema").cloned().unwrap_or_default();
        let arguments = if name == "add_numbers" {
            obj! { "a": 5, "b": 3 }
        } else {
            sample(&schema, &schema)
        };
        Some((name, arguments))
    };
    Ok(tools.iter().filter_map(call).collect())
}

/// Header scenarios look at the other named requests as well.
async fn others(session: &mut Session, scenario: &str) {
    if !scenario.starts_with("http-") && scenario != "request-metadata" {
        return;
    }
    let resources = session.peer.list("resources/list", "resources").await;
    if let Some(uri) = resources.items.first().and_then(|resource| resource.text_at("uri")) {
        session.peer.request("resources/read", obj! { "uri": uri }).await;
    }
    let prompts = session.peer.list("prompts/list", "prompts").await;
    if let Some(name) = prompts.items.first().and_then(|prompt| prompt.text_at("name")) {
        session.peer.request("prompts/get", obj! { "name": name }).await;
    }
}
