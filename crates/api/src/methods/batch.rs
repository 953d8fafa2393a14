//! Several calls in one: checked as a whole before anything runs.

use std::collections::HashSet;

use program::Program;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::bridge::{Bridge, State, checked, marked};
use crate::context::{CallContext, Transport};
use crate::error::{BridgeError, ErrorCode};
use crate::method::{Answer, Effects, Handler, Method};
use crate::registry::Registry;
use crate::shapes::{Reply, Request};
use crate::unfinished::RunningAnalysis;

const NAME: &str = "batch.execute";
const MAX_ITEMS: usize = 1000;

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::control(
            NAME,
            "Check a list of calls, then run them in order, separately or all or none.",
            Effects { destructive: true, ..Effects::TASK },
            execute,
        )
        .gating_itself()
        .cost("The sum of its calls."),
    ]
}

fn execute(bridge: &Bridge, cx: &CallContext, request: BatchRequest) -> Answer<BatchReply> {
    let (items, mode) = prevalidate(bridge.registry(), request.0, cx.transport)?;
    let writes = items.iter().any(|item| !item.method.effects().read_only);
    for item in &items {
        bridge.admit(item.method)?;
    }
    // Before the snapshots, so that an answer from a partial one always says so.
    let unfinished = RunningAnalysis::of(&bridge.session().analysis_status());
    match mode {
        TransactionMode::PerItem => one_by_one(bridge, cx, items, unfinished.as_ref()),
        TransactionMode::AllOrNone if writes => {
            bridge.write(|program| all(bridge, cx, items, program, None))
        }
        TransactionMode::AllOrNone => {
            let mut program = Program::clone(&bridge.session().snapshot());
            all(bridge, cx, items, &mut program, unfinished.as_ref())
        }
    }
}

/// Each call for itself; a failure is a row like any other.
fn one_by_one(
    bridge: &Bridge,
    cx: &CallContext,
    items: Vec<Item>,
    unfinished: Option<&RunningAnalysis>,
) -> Answer<BatchReply> {
    let run = |item: Item| {
        wanted(cx)?;
        let outcome = match &item.method.handler {
            Handler::Write(_) => bridge.write(|program| {
                bridge.run(item.method, item.arguments, cx, State::Working(program))
            }),
            _ => {
                let state = State::Snapshot(bridge.session().snapshot());
                bridge.run(item.method, item.arguments, cx, state)
            }
        };
        Ok(BatchRow::of(item.id, marked(item.method, outcome, unfinished)))
    };
    Ok(BatchReply { items: items.into_iter().map(run).collect::<Answer<_>>()? })
}

/// A batch whose client is gone goes no further.
fn wanted(cx: &CallContext) -> Answer<()> {
    if !cx.cancel.is_cancelled() {
        return Ok(());
    }
    Err(BridgeError::new(
        ErrorCode::Cancelled,
        "the client gave the batch up; the rest did not run",
    ))
}

/// All calls on one copy of the program; later ones see what earlier ones did.
fn all(
    bridge: &Bridge,
    cx: &CallContext,
    items: Vec<Item>,
    program: &mut Program,
    unfinished: Option<&RunningAnalysis>,
) -> Answer<BatchReply> {
    let mut rows = Vec::with_capacity(items.len());
    for item in items {
        wanted(cx)?;
        let outcome = bridge.run(item.method, item.arguments, cx, State::Working(program));
        match marked(item.method, outcome, unfinished) {
            Ok(result) => rows.push(BatchRow::Done { id: item.id, result }),
            Err(cause) => {
                let message = format!("the item {} failed, so nothing was changed", item.id);
                return Err(BridgeError::new(ErrorCode::BatchRolledBack, message)
                    .at("/items")
                    .with("failed_item", item.id)
                    .with("cause", cause.to_json()));
            }
        }
    }
    Ok(BatchReply { items: rows })
}

/// A call that may run.
struct Item {
    id: String,
    method: &'static Method,
    arguments: Value,
}

/// What is wrong with a batch, all of it.
#[derive(Default)]
struct Violations(Vec<Value>);

impl Violations {
    fn add(&mut self, target: &str, code: ErrorCode, message: impl Into<String>) {
        let target = format!("/params{target}");
        self.0.push(json!({ "target": target, "code": code.as_str(), "message": message.into() }));
    }

    fn named(&mut self, target: &str, code: &str, message: impl Into<String>) {
        let target = format!("/params{target}");
        self.0.push(json!({ "target": target, "code": code, "message": message.into() }));
    }
}

/// Checks the whole list before anything runs, and collects every fault.
fn prevalidate(
    registry: &'static Registry,
    params: Value,
    transport: Transport,
) -> Answer<(Vec<Item>, TransactionMode)> {
    let mut faults = Violations::default();
    let Value::Object(mut members) = params else {
        let message = "this must be an object";
        return Err(BridgeError::new(ErrorCode::InvalidType, message).at(""));
    };
    let items = members.shift_remove("items");
    let mode = mode(members.shift_remove("transaction_mode"), &mut faults);
    for name in members.keys() {
        faults.add(
            &pointer("", name),
            ErrorCode::UnknownField,
            format!("the member {name} is not known"),
        );
    }
    let items = match items {
        Some(Value::Array(items)) => checked_items(registry, items, transport, &mut faults),
        Some(_) => {
            faults.add("/items", ErrorCode::InvalidType, "items must be an array");
            Vec::new()
        }
        None => {
            faults.add("/items", ErrorCode::MissingField, "the member items is required");
            Vec::new()
        }
    };
    if faults.0.is_empty() {
        return Ok((items, mode));
    }
    let message =
        format!("{} faults in the batch, listed in the details; nothing ran", faults.0.len());
    Err(BridgeError::new(ErrorCode::ValidationFailed, message)
        .at("/items")
        .with("violations", faults.0))
}

fn mode(value: Option<Value>, faults: &mut Violations) -> TransactionMode {
    match value.as_ref().map(Value::as_str) {
        None => TransactionMode::default(),
        Some(Some("per_item")) => TransactionMode::PerItem,
        Some(Some("all_or_none")) => TransactionMode::AllOrNone,
        Some(Some(_)) => {
            let message = "transaction_mode must be per_item or all_or_none";
            faults.add("/transaction_mode", ErrorCode::InvalidEnum, message);
            TransactionMode::default()
        }
        Some(None) => {
            faults.add(
                "/transaction_mode",
                ErrorCode::InvalidType,
                "transaction_mode must be a text",
            );
            TransactionMode::default()
        }
    }
}

fn checked_items(
    registry: &'static Registry,
    items: Vec<Value>,
    transport: Transport,
    faults: &mut Violations,
) -> Vec<Item> {
    if items.is_empty() || items.len() > MAX_ITEMS {
        let message = format!("a batch has 1 to {MAX_ITEMS} items, not {}", items.len());
        faults.add("/items", ErrorCode::InvalidCount, message);
    }
    let mut seen = HashSet::new();
    let one = |(index, item)| {
        let at = format!("/items/{index}");
        let Value::Object(members) = item else {
            faults.add(&at, ErrorCode::InvalidType, "an item must be an object");
            return None;
        };
        let found = Found { registry, at: &at, transport };
        checked_item(&found, members, &mut seen, faults)
    };
    items.into_iter().take(MAX_ITEMS).enumerate().filter_map(one).collect()
}

/// Where an item stands, and what may stand there.
struct Found<'a> {
    registry: &'static Registry,
    at: &'a str,
    transport: Transport,
}

fn checked_item(
    found: &Found<'_>,
    mut members: Map<String, Value>,
    seen: &mut HashSet<String>,
    faults: &mut Violations,
) -> Option<Item> {
    let Found { registry, at, transport } = *found;
    let id = item_id(at, members.shift_remove("id"), seen, faults);
    let method = item_method(registry, at, members.shift_remove("method"), faults);
    let arguments = match members.shift_remove("arguments") {
        Some(arguments @ Value::Object(_)) => Some(arguments),
        Some(Value::String(text)) if transport == Transport::Mcp => {
            serde_json::from_str(&text).ok()
        }
        Some(_) => {
            let target = format!("{at}/arguments");
            faults.add(&target, ErrorCode::InvalidType, "arguments must be an object");
            None
        }
        None => {
            let target = format!("{at}/arguments");
            faults.add(&target, ErrorCode::MissingField, "the member arguments is required");
            None
        }
    };
    for name in members.keys() {
        faults.add(
            &pointer(at, name),
            ErrorCode::UnknownField,
            format!("the member {name} is not known"),
        );
    }
    let (method, arguments) = (method?, arguments?);
    match checked(method, arguments, transport) {
        Ok(arguments) => Some(Item { id: id?, method, arguments }),
        Err(fault) => {
            let below = fault.target.strip_prefix("/params").unwrap_or_default();
            faults.add(&format!("{at}/arguments{below}"), fault.code, fault.message);
            None
        }
    }
}

fn item_id(
    at: &str,
    id: Option<Value>,
    seen: &mut HashSet<String>,
    faults: &mut Violations,
) -> Option<String> {
    let target = format!("{at}/id");
    match id {
        Some(Value::String(id)) if !id.trim().is_empty() => {
            if !seen.insert(id.clone()) {
                let message = "another item has this id; give each its own";
                faults.named(&target, "duplicate_id", message);
            }
            Some(id)
        }
        Some(_) => {
            faults.add(&target, ErrorCode::InvalidType, "id must be a text that is not blank");
            None
        }
        None => {
            faults.add(&target, ErrorCode::MissingField, "the member id is required");
            None
        }
    }
}

fn item_method(
    registry: &'static Registry,
    at: &str,
    name: Option<Value>,
    faults: &mut Violations,
) -> Option<&'static Method> {
    let target = format!("{at}/method");
    match name {
        Some(Value::String(name)) => {
            // A tool's operation is as good a name: `listing.instruction.list`.
            let by_operation =
                || name.split_once('.').and_then(|(tool, op)| registry.operation(tool, op));
            let found = registry.find(&name).or_else(by_operation);
            let found = found.filter(|method| method.batchable());
            if found.is_none() {
                let shown: String = name.chars().take(64).collect();
                let message = format!("{shown} is no method, or none that may stand in a batch");
                faults.named(&target, "invalid_method", message);
            }
            found
        }
        Some(_) => {
            faults.add(&target, ErrorCode::InvalidType, "method must be a text");
            None
        }
        None => {
            faults.add(&target, ErrorCode::MissingField, "the member method is required");
            None
        }
    }
}

fn pointer(at: &str, name: &str) -> String {
    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Publishes one alternative per method that a batch may hold.
pub(super) fn describe(methods: &mut Vec<Method>) {
    let mut definitions = Map::new();
    let alternatives: Vec<Value> = methods
        .iter()
        .filter(|method| method.batchable())
        .map(|method| alternative(method, &mut definitions))
        .collect();
    let Some(at) = methods.iter().position(|method| method.name() == NAME) else { return };
    let batch = methods.remove(at);
    let mut input = batch.input_schema().clone();
    if let Some(items) = input.pointer_mut("/properties/items/items") {
        *items = json!({ "oneOf": alternatives });
    }
    if let (Some(root), false) = (input.as_object_mut(), definitions.is_empty()) {
        root.insert("$defs".to_owned(), Value::Object(definitions));
    }
    let output = batch.output_schema().clone();
    methods.insert(at, batch.with_schemas(input, output, true));
}

fn alternative(method: &Method, definitions: &mut Map<String, Value>) -> Value {
    let mut arguments = method.input_schema().clone();
    if let Some(Value::Object(own)) =
        arguments.as_object_mut().and_then(|root| root.shift_remove("$defs"))
    {
        definitions.extend(own);
    }
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "id": { "type": "string", "minLength": 1 },
            "method": { "type": "string", "enum": [method.name()] },
            "arguments": arguments,
        },
        "required": ["id", "method", "arguments"],
    })
}

/// A list of calls, not yet checked: faults are collected rather than reported one by one.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
struct BatchRequest(Value);

impl JsonSchema for BatchRequest {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        BatchShape::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        BatchShape::json_schema(generator)
    }
}

impl Request for BatchRequest {}

/// What a list of calls looks like.
#[derive(JsonSchema)]
#[schemars(rename = "batch")]
struct BatchShape {
    /// The calls, in the order they run.
    #[schemars(length(min = 1, max = 1000))]
    items: Vec<Value>,
    /// Each for itself, or all or none; `per_item` when absent.
    transaction_mode: Option<TransactionMode>,
}

/// How writes of a batch hang together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TransactionMode {
    AllOrNone,
    #[default]
    PerItem,
}

/// What the calls answered.
#[derive(Debug, Serialize, JsonSchema)]
struct BatchReply {
    /// One row per call, in the same order.
    #[schemars(length(min = 1, max = 1000))]
    items: Vec<BatchRow>,
}

impl Reply for BatchReply {
    const IDENTITY: &'static [&'static str] = &[];
}

/// What one call answered.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum BatchRow {
    /// It went well.
    Done {
        /// The call's id.
        #[schemars(length(min = 1))]
        id: String,
        /// What the call alone would have answered.
        result: Value,
    },
    /// It failed.
    Failed {
        /// The call's id.
        #[schemars(length(min = 1))]
        id: String,
        /// Why.
        error: ErrorRow,
    },
}

impl BatchRow {
    fn of(id: String, outcome: Answer<Value>) -> BatchRow {
        match outcome {
            Ok(result) => BatchRow::Done { id, result },
            Err(error) => BatchRow::Failed { id, error: ErrorRow::of(error) },
        }
    }
}

/// A failed call.
#[derive(Debug, Serialize, JsonSchema)]
struct ErrorRow {
    /// HTTP-like status.
    #[schemars(range(min = 400, max = 599))]
    status: u32,
    /// What went wrong, as a stable word.
    #[schemars(regex(pattern = "^[a-z][a-z0-9_]*$"))]
    code: &'static str,
    /// What went wrong, as a sentence.
    #[schemars(length(min = 1))]
    message: String,
    /// Pointer into the request, or empty.
    target: String,
    /// Facts for machines.
    details: Map<String, Value>,
}

impl ErrorRow {
    fn of(error: BridgeError) -> ErrorRow {
        ErrorRow {
            status: u32::from(error.status()),
            code: error.code.as_str(),
            message: error.message,
            target: error.target,
            details: error.details,
        }
    }
}
