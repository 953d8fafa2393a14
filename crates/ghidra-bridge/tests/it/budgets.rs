//! What default answers over MCP may weigh, on a real program: every model pays for each of
//! them, and nobody chose the defaults but us.

use crate::world::program;
use serde_json::{Value, json};
use std::path::PathBuf;
use testkit::bridge::Bridge;
use testkit::client::McpClient;

/// Characters, by what is answered: as text, and as an object.
const LIST: (usize, usize) = (8_000, 14_000);
const CODE: (usize, usize) = (13_000, 15_000);
const TOKENS: (usize, usize) = (9_000, 20_000);
const ONE: (usize, usize) = (3_000, 3_000);
const TOOLS: usize = 20_000;

/// The largest program that is at hand everywhere; elsewhere, these tests themselves.
fn large() -> PathBuf {
    let bash = PathBuf::from("/bin/bash");
    if bash.exists() { bash } else { std::env::current_exe().expect("a path") }
}

struct Weigher {
    client: McpClient,
    faults: Vec<String>,
}

impl Weigher {
    fn call(&mut self, method: &str, params: Value, budget: (usize, usize)) -> Value {
        let row = api::registry().find(method).expect("a method");
        let tool = format!("ghidra.{}", row.domain());
        let arguments = json!({"operation": row.operation(), "params": params});
        let request = json!({"name": tool, "arguments": arguments});
        let mut result = self.client.request("tools/call", request).expect("an answer");
        assert_eq!(result["isError"], false, "{method}: {result}");
        let text = result["content"][0]["text"].as_str().expect("a text").chars().count();
        let object = result["structuredContent"].to_string().chars().count();
        println!("{method}: {text} as text, {object} as an object");
        if text > budget.0 || object > budget.1 {
            self.faults.push(format!("{method}: {text} and {object}, more than {budget:?}"));
        }
        result["structuredContent"]["result"].take()
    }
}

/// What a list needs to be told before it lists anything.
fn needed(method: &str, entry: &str) -> Value {
    match method {
        "reference.list" => json!({"filter": {"direction": "to", "to": entry}}),
        "function_call.list" => json!({"filter": {"entry": entry}}),
        "memory.search" => json!({"filter": {"text": "e"}}),
        "flow_override.list" => {
            json!({"filter": {"selector": {"kind": "function", "entry": entry}}})
        }
        _ => json!({}),
    }
}

#[test]
fn default_answers_cost_little() {
    let bridge = Bridge::serve(program(), &large(), &["analysis=wait"]).expect("the bridge starts");
    let mut client = bridge.mcp().expect("a client");
    let tools = client.request("tools/list", json!({})).expect("tools")["tools"].to_string();
    assert!(tools.len() <= TOOLS, "tools/list: {}", tools.len());
    let mut weigher = Weigher { client, faults: Vec::new() };
    let entry = long(&mut weigher);

    let lists = api::registry().methods().iter().filter(|method| method.paged());
    for method in lists.filter(|method| !method.websocket_only()) {
        weigher.call(method.name(), needed(method.name(), &entry), LIST);
    }
    let selector = json!({"selector": {"entry": entry}, "scan": {"timeout_ms": 300_000}});
    weigher.call("function.get", json!({"selector": {"entry": entry}}), ONE);
    weigher.call("program.get", json!({}), ONE);
    let whole = weigher.call("decompilation.get", selector.clone(), CODE);
    let lines = whole["lines"]["count"].as_u64().expect("it was cut");
    assert!(lines < whole["line_count"].as_u64().expect("a number"), "and says so");
    let mut params = selector;
    params["format"] = "tokens".into();
    let tokens = weigher.call("decompilation.get", params, TOKENS);
    assert!(tokens["lines"]["count"].as_u64().is_some(), "tokens can be paged by lines");
    assert!(weigher.faults.is_empty(), "{}", weigher.faults.join("\n"));
}

/// The entry of a long function: the longest below 8,000 addresses, which a busy machine can
/// still decompile.
fn long(weigher: &mut Weigher) -> String {
    let mut best = (0, String::new());
    let mut params = json!({"page": {"limit": 1000}, "projection": {"fields": ["body"]}});
    loop {
        let page = weigher.call("function.list", params.clone(), (usize::MAX, usize::MAX));
        for row in page["items"].as_array().expect("rows") {
            let size = row["body"]["num_addresses"].as_u64().unwrap_or_default();
            let entry = row["entry"].as_str().expect("an entry");
            if size < 8_000 {
                best = best.max((size, entry.to_owned()));
            }
        }
        match page.get("next_cursor") {
            Some(cursor) => params["page"]["cursor"] = cursor.clone(),
            None => return best.1,
        }
    }
}

#[test]
fn more_is_answered_when_it_is_asked_for() {
    let bridge = crate::world::bridge(&["analysis=wait"]);
    let mut client = bridge.mcp().expect("a client");
    let mut socket = bridge.websocket().expect("a WebSocket");
    let mut list = |params: Value| client.call("ghidra.function", "list", params).expect("a list");
    let brief = list(json!({}));
    let members: Vec<&String> = brief["items"][0].as_object().expect("a row").keys().collect();
    assert_eq!(members, ["entry", "name", "body"]);
    let all = list(json!({"projection": {}}));
    let plain = socket.call("function.list", json!({})).expect("a list");
    assert_eq!(all["items"], plain["items"], "the same facts as over a WebSocket");
    let some = list(json!({"projection": {"fields": ["signature"]}}));
    assert!(some["items"][0]["signature"].is_string() && some["items"][0].get("name").is_none());
    // As models write what the tools' texts call a number of rows and names of members.
    let short = list(json!({"page": 2, "projection": ["signature"]}));
    assert_eq!(short["items"].as_array().map(Vec::len), Some(2));
    assert_eq!(short["items"][0], some["items"][0]);

    let main = json!({"selector": {"entry": "main"}});
    let c = client.call("ghidra.decompilation", "get", main.clone()).expect("C text");
    assert!(c.get("local_variables").is_none() && c["c"].as_str().is_some());
    let whole = socket.call("decompilation.get", main).expect("C text");
    assert_eq!(c["c"], whole["c"]);
    assert!(whole["local_variables"].as_array().is_some_and(|rows| !rows.is_empty()));
    let cut = json!({
        "selector": {"entry": "main"}, "lines": {"start": 1, "count": 2},
        "projection": {"fields": ["c", "local_variables", "parameters"]},
    });
    let head = client.call("ghidra.decompilation", "get", cut).expect("two lines");
    assert_eq!(head["local_variables"], json!([]), "none stands on the first two lines");
}
