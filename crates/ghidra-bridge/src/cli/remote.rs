//! One call on a running server over WebSocket.

use super::verbs::call::refusal;
use anyhow::{Context, bail};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use server::config::{Limits, Outbound};
use std::path::Path;
use tokio_tungstenite::tungstenite::Message;

/// Longest answer in bytes.
const MAX_ANSWER: usize = 256 << 20;

/// Number of the one request on the connection.
const ID: u64 = 1;

/// Connects, calls, and waits for the answer.
pub fn call(
    url: &str,
    token_file: Option<&Path>,
    method: &str,
    params: Value,
) -> anyhow::Result<Value> {
    let token = match token_file {
        Some(file) => Some(
            std::fs::read_to_string(file)
                .with_context(|| format!("{} cannot be read", file.display()))?
                .trim()
                .to_owned(),
        ),
        None => std::env::var("GHIDRA_BRIDGE_TOKEN").ok(),
    };
    let token = token.filter(|token| !token.is_empty()).map(server::Token::new);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the runtime cannot start")?;
    let request = json!({ "jsonrpc": "2.0", "id": ID, "method": method, "params": params });
    let reply = runtime.block_on(ask(url, token, &request))?;
    if let Some(error) = reply.get("error") {
        return Err(match error.get("data") {
            Some(data) if data.is_object() => refusal(data),
            _ => anyhow::anyhow!("{}", error["message"].as_str().unwrap_or("the server refuses")),
        });
    }
    Ok(reply["result"].clone())
}

async fn ask(url: &str, token: Option<server::Token>, request: &Value) -> anyhow::Result<Value> {
    let outbound = Outbound { url: url.to_owned(), exit_deadline: None };
    let limits = Limits { max_body: MAX_ANSWER, ..Limits::default() };
    let mut stream = server::connect(&outbound, token.as_ref(), limits).await?;
    stream.send(Message::text(request.to_string())).await.context("the connection broke")?;
    while let Some(message) = stream.next().await {
        let Message::Text(text) = message.context("the connection broke")? else { continue };
        let reply: Value = serde_json::from_str(&text).context("the server sends no JSON")?;
        if reply["id"] == ID {
            let _ = stream.close(None).await;
            return Ok(reply);
        }
    }
    bail!("the server closed the connection without an answer")
}
