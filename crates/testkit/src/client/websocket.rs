//! A WebSocket client that sends one request at a time.

use std::collections::HashMap;
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};

use super::BridgeError;
use crate::schema;

/// How long a reply may take.
const REPLY_LIMIT: Duration = Duration::from_secs(120);

/// A connection to the WebSocket endpoint.
#[derive(Debug)]
pub struct WebSocketClient {
    socket: WebSocket<TcpStream>,
    next_id: u64,
    /// What each method's result must look like, once learnt.
    schemas: HashMap<String, Value>,
    /// Parameters of the ready notification.
    pub ready: Value,
}

impl WebSocketClient {
    /// Connects to `ws://host:port/path` and waits for the ready notification.
    pub fn connect(url: &str) -> Result<Self> {
        let rest = url.strip_prefix("ws://").with_context(|| format!("no ws address: {url}"))?;
        let host = rest.split('/').next().unwrap_or(rest);
        let stream = TcpStream::connect(host).with_context(|| format!("connecting to {host}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(REPLY_LIMIT))?;
        let (socket, _) = client(url, stream).map_err(|error| anyhow!("{error}"))?;
        let mut connected =
            Self { socket, next_id: 0, schemas: HashMap::new(), ready: Value::Null };
        let first = connected.receive()?;
        ensure!(first["method"] == "ghidra.ready", "the first message was {first}");
        connected.ready = first["params"].clone();
        Ok(connected)
    }

    /// Calls a method; a refusal is an `Ok(Err(..))`.
    pub fn try_call(&mut self, method: &str, params: Value) -> Result<Result<Value, BridgeError>> {
        self.next_id += 1;
        let id = self.next_id;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send_text(&request.to_string())?;
        let mut reply = self.receive()?;
        ensure!(reply["id"] == id, "asked as {id}, answered {reply}");
        ensure!(reply["jsonrpc"] == "2.0", "no JSON-RPC: {reply}");
        match (reply.get("result").is_some(), reply.get("error").is_some()) {
            (true, false) => {
                let result = reply["result"].take();
                self.check(method, &result)?;
                Ok(Ok(result))
            }
            (false, true) => Ok(Err(serde_json::from_value(reply["error"]["data"].take())
                .with_context(|| format!("not a bridge error: {reply}"))?)),
            _ => bail!("neither result nor error alone: {reply}"),
        }
    }

    /// Calls a method that must succeed.
    pub fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        self.try_call(method, params)?.with_context(|| format!("calling {method}"))
    }

    /// Asks the bridge for its schemas; from here on every result must fit its own.
    pub fn learn_schemas(&mut self) -> Result<()> {
        let interface = self.call("interface.get", json!({}))?;
        let methods = interface["methods"].as_array().context("no methods")?;
        for method in methods {
            let name = method["name"].as_str().context("a method without a name")?;
            self.schemas.insert(name.to_owned(), method["output_schema"].clone());
        }
        self.check("interface.get", &interface)
    }

    fn check(&self, method: &str, result: &Value) -> Result<()> {
        let Some(schema) = self.schemas.get(method) else { return Ok(()) };
        schema::check(schema, result)
            .map_err(|reason| anyhow!("the result of {method} breaks its schema: {reason}"))
    }

    /// Sends any text, well formed or not.
    pub fn send_text(&mut self, text: &str) -> Result<()> {
        Ok(self.socket.send(Message::text(text))?)
    }

    /// Receives the next text message.
    pub fn receive(&mut self) -> Result<Value> {
        loop {
            match self.socket.read()? {
                Message::Text(text) => return Ok(serde_json::from_str(&text)?),
                Message::Close(frame) => bail!("the bridge closed the socket: {frame:?}"),
                _ => {}
            }
        }
    }
}
