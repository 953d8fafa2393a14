//! The tools: one per domain, made from the registry, and help before them.

use super::{compact, help, schema, signature, text};
use crate::config::{ToolNames, ToolSchemas, ToolStyle};
use api::{Bridge, BridgeError, CallContext, Domain, ErrorCode, Method, Registry};
use mcp::Failure;
use serde_json::{Map, Value, json};
use std::sync::{Arc, OnceLock};

/// Address of the resource that holds the whole contract.
pub(crate) const CONTRACT_URI: &str = "ghidra-bridge://contracts/mcp-tools";

const HELP: &str = "help";

/// What a tool answers: an object for machines, and a text for models. Without a text the
/// object's JSON stands for it.
#[derive(Debug)]
pub(crate) struct Answered {
    pub structured: Value,
    pub text: Option<String>,
}

impl Answered {
    /// An answer whose text is its JSON.
    pub(super) fn json(structured: Value) -> Answered {
        Answered { structured, text: None }
    }
}

/// The tools as they are presented to clients.
pub struct Catalog {
    registry: &'static Registry,
    style: ToolStyle,
    read_only: bool,
    domains: Vec<Domain>,
    list: Value,
    contract: OnceLock<Arc<str>>,
    instructions: String,
}

impl Catalog {
    /// Builds the list from a registry.
    pub(crate) fn new(registry: &'static Registry, style: ToolStyle, read_only: bool) -> Catalog {
        let mut catalog = Catalog {
            registry,
            style,
            read_only,
            domains: registry.domains(),
            list: Value::Null,
            contract: OnceLock::new(),
            instructions: String::new(),
        };
        catalog.domains.retain(|domain| served(registry, domain.name, read_only).next().is_some());
        let mut tools = vec![catalog.help_tool()];
        tools.extend(catalog.domains.iter().map(|domain| catalog.domain_tool(domain)));
        catalog.list = Value::Array(tools);
        catalog.instructions = format!(
            "One program is open for analysis. Call {help} without arguments for the domain tools, \
             with a domain for its operations, and with a domain and an operation for its schemas. \
             Then call the domain tool with operation and params. Places are given as addresses \
             (ram:00101000, 0x101000) or as names (main). {while_analysis_runs}",
            help = catalog.name(HELP),
            while_analysis_runs = api::WHILE_ANALYSIS_RUNS,
        );
        catalog
    }

    /// The tools, as `tools/list` shows them.
    pub fn list(&self) -> &Value {
        &self.list
    }

    pub(super) fn instructions(&self) -> &str {
        &self.instructions
    }

    /// The full name of a domain's tool.
    pub(super) fn name(&self, domain: &str) -> String {
        let separator = match self.style.names {
            ToolNames::Dotted => '.',
            ToolNames::Underscore => '_',
        };
        format!("{}{separator}{domain}", self.style.prefix)
    }

    pub(super) fn domain_names(&self) -> Vec<String> {
        self.domains.iter().map(|domain| self.name(domain.name)).collect()
    }

    /// The operations of a domain that are listed.
    pub(super) fn operations(&self, domain: &str) -> impl Iterator<Item = &'static Method> {
        served(self.registry, domain, self.read_only)
    }

    /// Finds a domain by its tool's full name, in either spelling, or by itself.
    pub(super) fn domain(&self, name: &str) -> Option<&'static str> {
        let bare = self.without_prefix(name).unwrap_or(name);
        self.domains.iter().map(|domain| domain.name).find(|domain| *domain == bare)
    }

    fn without_prefix<'a>(&self, name: &'a str) -> Option<&'a str> {
        name.strip_prefix(self.style.prefix.as_str())?.strip_prefix(['.', '_'])
    }

    /// Whether a call may change anything, the session included.
    pub(crate) fn changes_something(&self, name: &str, arguments: &Map<String, Value>) -> bool {
        let operation = arguments.get("operation").and_then(Value::as_str);
        let method = self
            .without_prefix(name)
            .zip(operation)
            .and_then(|(domain, operation)| self.registry.operation(domain, operation));
        method.is_some_and(|method| !method.effects().read_only)
    }

    /// The method that a call runs and its parameters, if those may ask it to wait.
    pub(crate) fn waiting(
        &self,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Option<(&'static str, Value)> {
        let operation = arguments.get("operation")?.as_str()?;
        let method = self.registry.operation(self.without_prefix(name)?, operation)?;
        let params = object(arguments.get("params").cloned()).ok()?;
        let asks = params.contains_key("scan") || params.contains_key("wait_ms");
        asks.then(|| (method.name(), Value::Object(params)))
    }

    /// Runs a tool. The inner error is a bridge error, for the model to read.
    pub(crate) fn call(
        &self,
        bridge: &Bridge,
        name: &str,
        arguments: Map<String, Value>,
        context: &CallContext,
    ) -> Result<Result<Answered, Value>, Failure> {
        let tool = self.without_prefix(name);
        if tool == Some(HELP) {
            return Ok(help::answer(self, &arguments).map_err(|error| error.to_json()));
        }
        let known =
            tool.and_then(|tool| self.registry.domains().into_iter().find(|d| d.name == tool));
        let Some(domain) = known else {
            return Err(Failure::invalid_params(format!(
                "There is no tool {}; tools/list names them.",
                help::shown(name)
            )));
        };
        Ok(self.run(bridge, domain.name, arguments, context).map_err(|error| error.to_json()))
    }

    fn run(
        &self,
        bridge: &Bridge,
        domain: &str,
        mut arguments: Map<String, Value>,
        context: &CallContext,
    ) -> Result<Answered, BridgeError> {
        if let Some(name) =
            arguments.keys().find(|name| !matches!(name.as_str(), "operation" | "params"))
        {
            let message = format!("the tool takes operation and params, not {}", help::shown(name));
            return Err(at(ErrorCode::InvalidRequest, message, &help::pointer(name)));
        }
        let method = self.method(domain, arguments.get("operation"))?;
        let params = object(arguments.remove("params"))?;
        let chosen = params.contains_key("projection");
        let result =
            bridge.call(method.name(), Value::Object(params), context).map_err(|mut error| {
                // Here the method is named by the operation.
                if error.target == "/method" {
                    "/operation".clone_into(&mut error.target);
                }
                error
            })?;
        let structured = json!({ "operation": method.operation(), "result": result });
        let text = text::of(&structured, method, chosen);
        Ok(Answered { structured, text: Some(text) })
    }

    fn method(
        &self,
        domain: &str,
        operation: Option<&Value>,
    ) -> Result<&'static Method, BridgeError> {
        let names = || {
            let names: Vec<&str> = self.operations(domain).map(Method::operation).collect();
            names.join(", ")
        };
        match operation {
            None | Some(Value::Null) => {
                let message = format!("operation is missing; use one of {}", names());
                Err(at(ErrorCode::MissingField, message, "/operation"))
            }
            // A hidden write is still found, so that the bridge says why it refuses.
            Some(Value::String(text)) => self.registry.operation(domain, text).ok_or_else(|| {
                let message =
                    format!("there is no operation {}; use one of {}", help::shown(text), names());
                at(ErrorCode::InvalidEnum, message, "/operation")
            }),
            Some(_) => {
                let message = format!("operation must be text, one of {}", names());
                Err(at(ErrorCode::InvalidType, message, "/operation"))
            }
        }
    }

    fn help_tool(&self) -> Value {
        let mut properties = json!({
            "domain": {
                "type": "string",
                "description": "Such as memory.",
            },
            "operation": {
                "type": "string",
                "description": "Such as read.",
            },
            "full": { "type": "boolean", "description": "The complete schemas." },
        });
        if self.style.schemas == ToolSchemas::Full {
            let names: Vec<&str> = self.domains.iter().map(|domain| domain.name).collect();
            properties["domain"]["examples"] = names.into();
        }
        json!({
            "name": self.name(HELP),
            "description": "Domain tools; with domain, its operations; with an operation, what it \
                            takes and answers. Everywhere, projection names the members to \
                            answer (name, body.start; * for all), page is a number of rows or the \
                            next_cursor before, scan is START..END.",
            "inputSchema": { "type": "object", "properties": properties, "additionalProperties": false },
            "outputSchema": schema::help_output(),
            "annotations": annotations(true, false, true),
        })
    }

    fn domain_tool(&self, domain: &Domain) -> Value {
        let methods: Vec<&Method> = self.operations(domain.name).collect();
        let (input, output) = match self.style.schemas {
            ToolSchemas::Compact => (compact::input(&methods), compact::output()),
            ToolSchemas::Full => (schema::full_input(&methods), schema::full_output(&methods)),
        };
        let effects: Vec<_> = methods.iter().map(|method| method.effects()).collect();
        json!({
            "name": self.name(domain.name),
            "description": signature::description(domain, &methods),
            "inputSchema": input,
            "outputSchema": output,
            "annotations": annotations(
                effects.iter().all(|effects| effects.read_only),
                effects.iter().any(|effects| effects.destructive),
                effects.iter().all(|effects| effects.idempotent),
            ),
        })
    }

    pub(super) fn contract_entry(&self) -> Value {
        json!({
            "uri": CONTRACT_URI,
            "name": "mcp-tools",
            "title": "Tools and operations",
            "description": "Every tool as listed, and every operation with its full schemas.",
            "mimeType": "application/json",
        })
    }

    /// The text of the contract resource; made when it is first read.
    pub(super) fn contract(&self) -> Arc<str> {
        let text = self.contract.get_or_init(|| {
            let domains = self.domains.iter().map(|domain| domain.name);
            let operations: Vec<Value> = domains
                .flat_map(|domain| self.operations(domain))
                .map(|method| Value::Object(help::entry(self, method)))
                .collect();
            let contract = json!({
                "protocol_version": mcp::Version::V2026_07_28.as_str(),
                "interface_version": self.registry.interface_version(),
                "tools": self.list,
                "operations": operations,
            });
            contract.to_string().into()
        });
        Arc::clone(text)
    }
}

fn served(
    registry: &'static Registry,
    domain: &str,
    read_only: bool,
) -> impl Iterator<Item = &'static Method> {
    registry
        .methods()
        .iter()
        .filter(move |method| method.domain() == domain && !method.websocket_only())
        .filter(move |method| !read_only || !method.effects().mutates_program)
}

/// Missing params are `{}`. Some clients send an object as text.
fn object(params: Option<Value>) -> Result<Map<String, Value>, BridgeError> {
    let params = match params {
        Some(Value::String(text)) => jsonrpc::parse(text.as_bytes()).unwrap_or(Value::Bool(false)),
        params => params.unwrap_or(Value::Null),
    };
    match params {
        Value::Null => Ok(Map::new()),
        Value::Object(params) => Ok(params),
        _ => Err(at(ErrorCode::InvalidType, "params must be an object".into(), "/params")),
    }
}

fn at(code: ErrorCode, message: String, target: &str) -> BridgeError {
    let mut error = BridgeError::new(code, message);
    target.clone_into(&mut error.target);
    error
}

/// Hints on a tool, told from the effects of its operations.
fn annotations(read_only: bool, destructive: bool, idempotent: bool) -> Value {
    json!({
        "readOnlyHint": read_only,
        "destructiveHint": destructive,
        "idempotentHint": idempotent,
        "openWorldHint": false,
    })
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
