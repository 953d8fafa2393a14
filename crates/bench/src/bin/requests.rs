//! Requests per second over both transports, and how long a read takes while the
//! decompiler works.
//!
//! `requests FILE` starts the bridge that was built beside it, and measures it.
//! `requests NAME URL TOOL [ARGUMENTS]` measures one tool of any MCP server, to compare.

use anyhow::{Context, Result, bail};
use bench::requests::{http, latency, websocket};
use serde_json::{Value, json};
use std::path::Path;
use testkit::bridge::{Bridge, built_program};

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [file] => measure_bridge(Path::new(file)),
        [name, url, tool] => measure_tool(name, url, tool, &json!({})),
        [name, url, tool, arguments] => {
            let arguments = serde_json::from_str(arguments).context("ARGUMENTS must be JSON")?;
            measure_tool(name, url, tool, &arguments)
        }
        _ => bail!("usage: requests FILE | requests NAME URL TOOL [ARGUMENTS]"),
    }
}

fn measure_bridge(file: &Path) -> Result<()> {
    let bridge = Bridge::serve(&built_program()?, file, &["analysis=wait"])?;
    let (ws, mcp) = (bridge.ready.ws.as_deref(), bridge.ready.mcp.as_deref());
    let (ws, mcp) = (ws.context("no WebSocket")?, mcp.context("no MCP")?);
    for (method, params) in [
        ("session.get", json!({})),
        ("memory.read", json!({"selector": {"address": "main"}, "length": 16})),
    ] {
        let rate = websocket::pipelined(ws, method, &params)?;
        println!("ghidra-bridge, WebSocket, {method}: {rate:.0} requests a second");
    }
    let arguments = json!({"operation": "get"});
    measure_tool("ghidra-bridge", mcp, "ghidra.bridge", &arguments)?;
    let spread = latency::beside_decompilation(&bridge)?;
    println!("{spread}");
    Ok(())
}

fn measure_tool(name: &str, url: &str, tool: &str, arguments: &Value) -> Result<()> {
    for clients in [1, 4, 16] {
        let rate = http::keep_alive(url, tool, arguments, clients)?;
        println!("{name}, MCP, {tool}, {clients} connections: {rate:.0} requests a second");
    }
    Ok(())
}
