//! The recorded calls under `calls/`, replayed over every transport: each reply is what the file
//! says and fits the schema that its method publishes.

use crate::world::program;
use api::{ErrorCode, Registry, Surface};
use serde_json::{Map, Value, json};
use std::collections::{BTreeSet, HashMap};
use testkit::bridge::Bridge;
use testkit::calls::{Call, Kept, Recording, Transport, compare, recordings};
use testkit::client::{BridgeError, McpClient, StdioClient, WebSocketClient};
use testkit::schema;

/// Codes that no client can be shown on purpose, with the reason.
const OUT_OF_REACH: &[(&str, &str)] = &[
    ("cancelled", "the client that it is for is gone"),
    ("internal_error", "a fault of the bridge that nobody knows how to provoke"),
    ("program_not_open", "only a bridge without a file answers it; tested over pipes"),
    ("missing_method", "the envelope of each transport refuses a blank name before"),
];

#[test]
fn over_a_websocket() {
    replay(Transport::Websocket);
}

#[test]
fn over_http() {
    replay(Transport::Mcp);
}

#[test]
fn over_pipes() {
    replay(Transport::Stdio);
}

#[test]
fn every_method_has_a_good_call_and_every_code_a_bad_one() {
    let recordings = recordings().expect("the files can be read");
    let calls: Vec<&Call> = recordings.iter().flat_map(|(_, recording)| &recording.calls).collect();
    let good = calls.iter().filter(|call| call.result.is_some()).map(|call| call.method.as_str());
    let bad = calls.iter().filter_map(|call| Some(call.error.as_ref()?.code.as_str()));
    let (good, bad): (BTreeSet<&str>, BTreeSet<&str>) = (good.collect(), bad.collect());
    let registry = Registry::of(Surface::Extensions);
    let methods: BTreeSet<&str> = registry.methods().iter().map(|method| method.name()).collect();
    let without: Vec<&&str> = methods.difference(&good).collect();
    assert!(without.is_empty(), "methods without a good call: {without:?}");
    let codes: BTreeSet<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    let without: Vec<&&str> = codes.difference(&bad).collect();
    let out_of_reach: BTreeSet<&str> = OUT_OF_REACH.iter().map(|(code, _)| *code).collect();
    assert_eq!(without, out_of_reach.iter().collect::<Vec<_>>(), "codes without a bad call");
}

/// Replays every file, each against a fresh bridge, and tells all that went wrong.
fn replay(transport: Transport) {
    let mut faults = Vec::new();
    for (name, recording) in recordings().expect("the files can be read") {
        if !recording.calls.iter().any(|call| call.runs_over(transport)) {
            continue;
        }
        if let Err(fault) = replay_one(&recording, transport) {
            faults.push(format!("calls/{name}: {fault:#}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn replay_one(recording: &Recording, transport: Transport) -> anyhow::Result<()> {
    let mut peer = Peer::start(recording, transport)?;
    let mut kept = Kept::default();
    for (index, call) in recording.calls.iter().enumerate() {
        if !call.runs_over(transport) {
            continue;
        }
        let params = kept.fill(&Value::Object(call.params.clone()))?;
        let outcome = peer.call(&call.method, params)?;
        let mut call = call.clone();
        if let Some(expected) = &mut call.result {
            peer.shorten(&call.method, &call.params, expected);
        }
        judge(&call, transport, &outcome, &mut kept)
            .map_err(|fault| fault.context(format!("call {index}, {}", call.method)))?;
    }
    Ok(())
}

fn judge(
    call: &Call,
    transport: Transport,
    outcome: &Result<Value, BridgeError>,
    kept: &mut Kept,
) -> anyhow::Result<()> {
    match (outcome, &call.result, &call.error) {
        (Ok(result), Some(expected), _) => {
            compare(expected, result)?;
            kept.take(call, result)
        }
        (Err(error), _, Some(expected)) => {
            let found = (error.status, error.code.as_str(), error.target.as_str());
            let wanted = (expected.status, expected.code.as_str(), expected.target_on(transport));
            anyhow::ensure!(found == wanted, "{error}, not {wanted:?}");
            anyhow::ensure!(!error.message.trim().is_empty(), "a refusal without a sentence");
            let details = Value::Object(error.details.clone());
            expected.details.as_ref().map_or(Ok(()), |wanted| compare(wanted, &details))
        }
        (Ok(result), ..) => anyhow::bail!("it must fail, but answered {result}"),
        (Err(error), ..) => anyhow::bail!("it must succeed, but: {error}"),
    }
}

/// A client, and the bridge that it speaks to where that is a process of its own.
struct Peer {
    client: Client,
    _bridge: Option<Bridge>,
    _folder: tempfile::TempDir,
}

enum Client {
    Websocket(Box<WebSocketClient>),
    Mcp(McpClient, Operations),
    Stdio(StdioClient, Operations),
}

/// What the published contract says of each method.
type Operations = HashMap<String, Operation>;

struct Operation {
    tool: String,
    name: String,
    result: Value,
    /// Whether a request may choose the members of the answer.
    selects: bool,
    /// The members that are answered when it does not, where that is not all.
    brief: Option<Vec<String>>,
}

impl Peer {
    fn start(recording: &Recording, transport: Transport) -> anyhow::Result<Peer> {
        let file = file_of(recording);
        let mut arguments: Vec<&str> = recording.arguments.iter().map(String::as_str).collect();
        if !arguments.iter().any(|argument| argument.starts_with("analysis=")) {
            arguments.push("analysis=wait");
        }
        // Files about extended methods need not ask for them.
        let extended = recording.calls.iter().any(|call| is_extended(&call.method));
        if extended && !arguments.iter().any(|argument| argument.starts_with("extensions=")) {
            arguments.push("extensions=on");
        }
        let folder = tempfile::tempdir()?;
        let project = format!("project={}", folder.path().join("project").display());
        if !arguments.iter().any(|argument| argument.starts_with("project=")) {
            arguments.push(&project);
        }
        if transport == Transport::Stdio {
            let mut client = StdioClient::start(program(), &file, &arguments)?;
            let operations = operations(client.request("resources/read", contract())?)?;
            let client = Client::Stdio(client, operations);
            return Ok(Peer { client, _bridge: None, _folder: folder });
        }
        let bridge = Bridge::serve(program(), &file, &arguments)?;
        let client = if transport == Transport::Websocket {
            let mut client = bridge.websocket()?;
            client.learn_schemas()?;
            Client::Websocket(Box::new(client))
        } else {
            let mut client = bridge.mcp()?;
            let operations = operations(client.request("resources/read", contract())?)?;
            Client::Mcp(client, operations)
        };
        Ok(Peer { client, _bridge: Some(bridge), _folder: folder })
    }

    /// Leaves of an expected result what this transport answers: over MCP a write tells little.
    fn shorten(&self, method: &str, params: &Map<String, Value>, expected: &mut Value) {
        let (Client::Mcp(_, operations) | Client::Stdio(_, operations)) = &self.client else {
            return;
        };
        let named = operations.get(method).filter(|operation| !operation.selects);
        if let (Some(brief), Some(members)) =
            (named.and_then(|operation| operation.brief.as_ref()), expected.as_object_mut())
        {
            members.retain(|name, _| brief.contains(name));
        }
        if method == "batch.execute" {
            let items = params["items"].as_array().into_iter().flatten();
            let rows = expected["items"].as_array_mut().into_iter().flatten();
            for (item, row) in items.zip(rows) {
                let method = item["method"].as_str().unwrap_or_default();
                if let Some(result) = row.get_mut("result") {
                    self.shorten(method, &Map::new(), result);
                }
            }
        }
    }

    fn call(&mut self, method: &str, params: Value) -> anyhow::Result<Result<Value, BridgeError>> {
        match &mut self.client {
            Client::Websocket(client) => client.try_call(method, params),
            Client::Mcp(client, operations) => {
                let operation = find(operations, method)?;
                let params = operation.asking_for_all(params, operations);
                checked(client.try_call(&operation.tool, &operation.name, params)?, operation)
            }
            Client::Stdio(client, operations) => {
                let operation = find(operations, method)?;
                let params = operation.asking_for_all(params, operations);
                checked(client.try_call(&operation.tool, &operation.name, params)?, operation)
            }
        }
    }
}

fn contract() -> Value {
    json!({"uri": "ghidra-bridge://contracts/mcp-tools"})
}

fn operations(read: Value) -> anyhow::Result<Operations> {
    let text = read["contents"][0]["text"].as_str().unwrap_or_default();
    let contract: Value = serde_json::from_str(text)?;
    let rows = contract["operations"].as_array().into_iter().flatten();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let entry = |row: &Value| {
        let brief = row["default_fields"].as_array();
        let operation = Operation {
            tool: word(&row["domain"]),
            name: word(&row["operation"]),
            result: row["outputSchema"].clone(),
            selects: row.pointer("/inputSchema/properties/projection").is_some(),
            brief: brief.map(|names| names.iter().map(word).collect()),
        };
        (word(&row["method"]), operation)
    };
    Ok(rows.map(entry).collect())
}

impl Operation {
    /// Over MCP a request that chooses nothing is answered briefly; an empty choice is all.
    fn asking_for_all(&self, mut params: Value, operations: &Operations) -> Value {
        if let Some(members) = params.as_object_mut().filter(|_| self.selects) {
            members.entry("projection").or_insert_with(|| json!({}));
        }
        for item in params.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten() {
            let method = item["method"].as_str().and_then(|method| operations.get(method));
            if let (Some(method), Some(arguments)) = (method, item.get_mut("arguments")) {
                *arguments = method.asking_for_all(arguments.take(), operations);
            }
        }
        params
    }
}

fn find<'a>(operations: &'a Operations, method: &str) -> anyhow::Result<&'a Operation> {
    operations.get(method).ok_or_else(|| anyhow::anyhow!("the contract has no {method}"))
}

fn checked(
    outcome: Result<Value, BridgeError>,
    operation: &Operation,
) -> anyhow::Result<Result<Value, BridgeError>> {
    if let Ok(result) = &outcome {
        schema::check(&operation.result, result)
            .map_err(|fault| anyhow::anyhow!("{fault}: {result}"))?;
    }
    Ok(outcome)
}

fn is_extended(method: &str) -> bool {
    let found = Registry::of(Surface::Extensions).find(method);
    found.is_some_and(|method| method.since_version().is_some())
}

/// The file that a recording is about. These tests themselves are the largest program at hand:
/// one whose analysis outlasts a few calls.
fn file_of(recording: &Recording) -> std::path::PathBuf {
    match recording.program.as_str() {
        "the tests themselves" => std::env::current_exe().expect("a path"),
        fixture => testkit::fixture(fixture),
    }
}
