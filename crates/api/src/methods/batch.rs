//! Several calls in one: checked as a whole before anything runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::method::Method;
use crate::shapes::{Reply, Request};

const NAME: &str = "batch.execute";

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::pending_write::<BatchRequest, BatchReply>(
            NAME,
            "Check a list of calls, then run them in order, separately or all or none.",
        )
        .destructive()
        .outside_transactions(),
    ]
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

/// A list of calls.
#[derive(Debug, Deserialize, JsonSchema)]
struct BatchRequest {
    /// The calls, in the order they run.
    #[schemars(length(min = 1, max = 1000))]
    items: Vec<BatchItem>,
    /// Each for itself, or all or none; `per_item` when absent.
    transaction_mode: Option<TransactionMode>,
}

impl Request for BatchRequest {}

/// How writes of a batch hang together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TransactionMode {
    AllOrNone,
    #[default]
    PerItem,
}

/// One call.
#[derive(Debug, Deserialize, JsonSchema)]
struct BatchItem {
    /// Names its row in the reply.
    #[schemars(length(min = 1))]
    id: String,
    /// The method.
    method: String,
    /// The method's parameters.
    arguments: Map<String, Value>,
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

/// A failed call.
#[derive(Debug, Serialize, JsonSchema)]
struct ErrorRow {
    /// HTTP-like status.
    #[schemars(range(min = 400, max = 599))]
    status: u32,
    /// What went wrong, as a stable word.
    #[schemars(regex(pattern = "^[a-z][a-z0-9_]*$"))]
    code: String,
    /// What went wrong, as a sentence.
    #[schemars(length(min = 1))]
    message: String,
    /// Pointer into the request, or empty.
    target: String,
    /// Facts for machines.
    details: Map<String, Value>,
}
