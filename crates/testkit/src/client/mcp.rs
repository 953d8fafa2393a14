//! An MCP client over HTTP in the stateless revision 2026-07-28.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{BridgeError, HttpConnection};

/// The protocol revision spoken.
const VERSION: &str = "2026-07-28";

/// A connection to the MCP endpoint.
#[derive(Debug)]
pub struct McpClient {
    connection: HttpConnection,
    next_id: u64,
}

impl McpClient {
    /// Connects to `http://host:port/path`.
    pub fn connect(url: &str) -> Result<Self> {
        Ok(Self { connection: HttpConnection::connect(url)?, next_id: 0 })
    }

    /// Sends one MCP request and gives its result.
    pub fn request(&mut self, method: &str, params: Value) -> Result<Value> {
        self.next_id += 1;
        let name = params.get("name").or(params.get("uri")).and_then(Value::as_str);
        let mut headers = vec![
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", VERSION),
            ("Mcp-Method", method),
        ];
        let name = name.map(str::to_owned);
        headers.extend(name.as_deref().map(|name| ("Mcp-Name", name)));
        let body = message(self.next_id, method, params);
        let reply = self.connection.request("POST", &headers, body.to_string().as_bytes())?;
        let mut answer: Value = serde_json::from_slice(&reply.body)
            .with_context(|| format!("status {} without JSON", reply.status))?;
        ensure!(answer["id"] == self.next_id, "asked as {}, answered {answer}", self.next_id);
        ensure!(reply.status == 200, "{method}: status {}: {answer}", reply.status);
        Ok(answer["result"].take())
    }

    /// Calls a tool's operation; a refusal is an `Ok(Err(..))`.
    pub fn try_call(
        &mut self,
        tool: &str,
        operation: &str,
        params: Value,
    ) -> Result<Result<Value, BridgeError>> {
        let result = self.request("tools/call", tool_call(tool, operation, params))?;
        tool_outcome(result, operation)
    }

    /// Calls a tool's operation that must succeed.
    pub fn call(&mut self, tool: &str, operation: &str, params: Value) -> Result<Value> {
        self.try_call(tool, operation, params)?
            .with_context(|| format!("calling {operation} of {tool}"))
    }
}

/// A request with what the revision wants to know of each.
pub(super) fn message(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": "testkit", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// The parameters of a call of a tool's operation.
pub(super) fn tool_call(tool: &str, operation: &str, params: Value) -> Value {
    json!({"name": tool, "arguments": {"operation": operation, "params": params}})
}

/// What a tool answered: the operation's result, or its refusal.
pub(super) fn tool_outcome(
    mut result: Value,
    operation: &str,
) -> Result<Result<Value, BridgeError>> {
    let mut content = result["structuredContent"].take();
    if result["isError"] == true {
        return Ok(Err(serde_json::from_value(content).context("not a bridge error")?));
    }
    ensure!(content["operation"] == operation, "the reply is of another operation");
    Ok(Ok(content["result"].take()))
}
