//! What a mock server offers and how a good one answers. Faults are added on
//! top of this, in `faults.rs`.

use crate::client::{MODERN, VERSIONS};
use crate::json::Json;
use crate::obj;

/// The state of one mock server.
#[derive(Debug, Clone)]
pub struct Model {
    /// Tools offered.
    pub tools: Vec<Json>,
    /// Capabilities claimed.
    pub capabilities: Json,
    /// Versions accepted by `initialize`, newest first.
    pub versions: Vec<&'static str>,
    /// Whether the modern era is served.
    pub modern: bool,
    /// Items per page; none means one page.
    pub page: Option<usize>,
    /// Methods that do not exist although they should.
    pub missing: Vec<&'static str>,
    /// Whether `notifications/initialized` has come.
    pub initialized: bool,
    /// How many messages have come.
    pub received: u64,
    /// Answers held back.
    pub held: Vec<Json>,
}

impl Default for Model {
    fn default() -> Self {
        Model {
            tools: good_tools(),
            capabilities: obj! { "tools": obj! {}, "resources": obj! {}, "prompts": obj! {} },
            versions: VERSIONS[1..].to_vec(),
            modern: true,
            page: None,
            missing: Vec::new(),
            initialized: false,
            received: 0,
            held: Vec::new(),
        }
    }
}

/// An input schema that takes exactly these properties.
pub fn schema(properties: &[(&str, Json)], required: &[&str]) -> Json {
    let properties =
        properties.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
    obj! {
        "type": "object",
        "properties": Json::Object(properties),
        "required": required.to_vec(),
        "additionalProperties": false,
    }
}

/// A tool.
pub fn tool(name: &str, description: &str, input: Json, read_only: bool) -> Json {
    obj! {
        "name": name,
        "description": description,
        "inputSchema": input,
        "annotations": obj! { "readOnlyHint": read_only, "destructiveHint": !read_only },
    }
}

/// A property with a type and a description.
pub fn property(kind: &str, description: &str) -> Json {
    obj! { "type": kind, "description": description }
}

fn bounded(kind: &str, description: &str) -> Json {
    let mut property = property(kind, description);
    match kind {
        "string" => property.push("maxLength", 100_000),
        _ => {
            property.push("minimum", -1_000_000_000);
            property.push("maximum", 1_000_000_000);
        }
    }
    property
}

fn good_tools() -> Vec<Json> {
    let units = obj! { "type": "string", "enum": vec!["characters", "words", "lines"], "description": "What to count." };
    vec![
        tool(
            "echo",
            "Gives back the text it was given.",
            schema(&[("text", bounded("string", "The text."))], &["text"]),
            true,
        ),
        tool(
            "add",
            "Adds two whole numbers.",
            schema(
                &[
                    ("a", bounded("integer", "First number.")),
                    ("b", bounded("integer", "Second number.")),
                ],
                &["a", "b"],
            ),
            true,
        ),
        tool(
            "count",
            "Counts the parts of a text.",
            schema(&[("text", bounded("string", "The text.")), ("unit", units)], &["text"]),
            true,
        ),
    ]
}

impl Model {
    /// The answer of a good server; none to a notification.
    pub fn answer(&mut self, message: &Json) -> Option<Json> {
        self.received += 1;
        let id = message.get("id").cloned();
        let Some(method) = message.text_at("method") else {
            return id.is_none().then(|| error(Json::Null, -32600, "Invalid Request", None));
        };
        if method == "notifications/initialized" {
            self.initialized = true;
        }
        let id = id?;
        let params = message.get("params").cloned().unwrap_or_else(Json::object);
        let meta = params
            .get("_meta")
            .and_then(|meta| meta.get("io.modelcontextprotocol/protocolVersion"));
        let modern = meta.is_some() && self.modern;
        if let Some(version) = meta.filter(|_| modern)
            && version.as_str() != Some(MODERN)
        {
            let data = obj! { "supported": vec![MODERN], "requested": version.clone() };
            return Some(error(id, -32022, "Unsupported protocol version", Some(data)));
        }
        Some(match self.result(method, &params, modern) {
            Ok(result) => {
                obj! { "jsonrpc": "2.0", "id": id, "result": decorate(result, method, modern) }
            }
            Err((code, text)) => error(id, code, &text, None),
        })
    }

    fn result(&mut self, method: &str, params: &Json, modern: bool) -> Result<Json, (i32, String)> {
        if self.missing.contains(&method) {
            return Err((-32601, format!("Method not found: {method}")));
        }
        match method {
            "server/discover" if modern => Ok(obj! {
                "supportedVersions": vec![MODERN],
                "capabilities": self.capabilities.clone(),
                "instructions": "Three small tools to try a client with.",
            }),
            "initialize" if !modern => self.initialize(params),
            "ping" if !modern => Ok(Json::object()),
            "tools/list" => self.page("tools", self.tools.clone(), params),
            "tools/call" => self.call(params),
            "resources/list" => Ok(obj! { "resources": vec![resource()] }),
            "resources/templates/list" => Ok(obj! { "resourceTemplates": Json::Array(Vec::new()) }),
            "resources/read" => read(params),
            "prompts/list" => Ok(obj! { "prompts": vec![prompt()] }),
            "prompts/get" => get_prompt(params),
            _ => Err((-32601, format!("Method not found: {method}"))),
        }
    }

    fn initialize(&self, params: &Json) -> Result<Json, (i32, String)> {
        let wanted = params
            .text_at("protocolVersion")
            .ok_or((-32602, "protocolVersion is missing".to_string()))?;
        let newest = self.versions.first().copied().unwrap_or(VERSIONS[1]);
        let version =
            self.versions.iter().find(|version| **version == wanted).copied().unwrap_or(newest);
        Ok(obj! {
            "protocolVersion": version,
            "capabilities": self.capabilities.clone(),
            "serverInfo": server_info(),
            "instructions": "Three small tools to try a client with.",
        })
    }

    fn page(&self, member: &str, items: Vec<Json>, params: &Json) -> Result<Json, (i32, String)> {
        let from = match params.get("cursor") {
            None | Some(Json::Null) => 0,
            Some(cursor) => cursor
                .as_str()
                .and_then(|text| text.parse::<usize>().ok())
                .filter(|from| *from < items.len())
                .ok_or((-32602, "Unknown cursor".to_string()))?,
        };
        let to = items.len().min(from.saturating_add(self.page.unwrap_or(usize::MAX)));
        let mut result = Json::object().with(member, Json::Array(items[from..to].to_vec()));
        if to < items.len() {
            result.push("nextCursor", to.to_string());
        }
        Ok(result)
    }

    fn call(&self, params: &Json) -> Result<Json, (i32, String)> {
        let name = params.text_at("name").ok_or((-32602, "name is missing".to_string()))?;
        let tool = self.tools.iter().find(|tool| tool.text_at("name") == Some(name));
        let tool = tool.ok_or((-32602, format!("Unknown tool: {name}")))?;
        let arguments = params.get("arguments").cloned().unwrap_or_else(Json::object);
        if let Some(fault) = check(tool, &arguments) {
            return Ok(text_result(&fault, true));
        }
        Ok(text_result(&run(name, &arguments), false))
    }
}

/// The plain tools do what they say; all others just confirm.
fn run(name: &str, arguments: &Json) -> String {
    let text = arguments.text_at("text").unwrap_or_default();
    let number = |name: &str| arguments.get(name).and_then(Json::as_i64).unwrap_or(0);
    match name {
        "echo" => text.to_string(),
        "add" => number("a").saturating_add(number("b")).to_string(),
        "count" => match arguments.text_at("unit").unwrap_or("characters") {
            "words" => text.split_whitespace().count().to_string(),
            "lines" => text.lines().count().to_string(),
            _ => text.chars().count().to_string(),
        },
        _ => format!("{name} was called"),
    }
}

/// The checks a careful server makes: required, unknown, types, enums.
fn check(tool: &Json, arguments: &Json) -> Option<String> {
    let schema = tool.get("inputSchema")?;
    let properties = schema.get("properties")?;
    for required in schema.get("required").map_or(&[][..], Json::items) {
        let name = required.as_str()?;
        if arguments.get(name).is_none() {
            return Some(format!("the argument {name} is missing"));
        }
    }
    for (name, value) in arguments.members() {
        let Some(property) = properties.get(name.as_str()) else {
            return Some(format!("unknown argument {}", name.as_str()));
        };
        let fits = match property.text_at("type") {
            Some("integer") => value.as_i64().is_some(),
            Some(kind) => value.type_name() == kind,
            None => true,
        };
        let listed = property.get("enum").is_none_or(|list| list.items().contains(value));
        if !fits || !listed {
            return Some(format!("the argument {} has a wrong value", name.as_str()));
        }
    }
    None
}

/// A tool result with one text.
pub fn text_result(text: &str, is_error: bool) -> Json {
    let block = obj! { "type": "text", "text": text };
    obj! { "content": vec![block], "isError": is_error }
}

/// An error answer.
pub fn error(id: Json, code: i32, text: &str, data: Option<Json>) -> Json {
    let error = obj! { "code": code, "message": text }.with_some("data", data);
    obj! { "jsonrpc": "2.0", "id": id, "error": error }
}

fn server_info() -> Json {
    obj! { "name": "mock", "version": env!("CARGO_PKG_VERSION") }
}

fn decorate(mut result: Json, method: &str, modern: bool) -> Json {
    if !modern {
        return result;
    }
    result.push("resultType", "complete");
    if method.ends_with("/list") || method == "server/discover" || method == "resources/read" {
        result.push("ttlMs", 0);
        result.push("cacheScope", "private");
        result.push("_meta", obj! { "io.modelcontextprotocol/serverInfo": server_info() });
    }
    result
}

fn resource() -> Json {
    obj! { "uri": "mock://greeting", "name": "greeting", "description": "A short text.", "mimeType": "text/plain" }
}

fn read(params: &Json) -> Result<Json, (i32, String)> {
    match params.text_at("uri") {
        Some("mock://greeting") => {
            let contents =
                obj! { "uri": "mock://greeting", "mimeType": "text/plain", "text": "Hello." };
            Ok(obj! { "contents": vec![contents] })
        }
        _ => Err((-32602, "Resource not found".into())),
    }
}

fn prompt() -> Json {
    let argument = obj! { "name": "name", "description": "Whom to greet.", "required": true };
    obj! { "name": "greet", "description": "A greeting.", "arguments": vec![argument] }
}

fn get_prompt(params: &Json) -> Result<Json, (i32, String)> {
    if params.text_at("name") != Some("greet") {
        return Err((-32602, "Unknown prompt".into()));
    }
    let name = params.text_at("arguments/name").unwrap_or("you");
    let content = obj! { "type": "text", "text": format!("Say hello to {name}.") };
    Ok(obj! { "messages": vec![obj! { "role": "user", "content": content }] })
}
