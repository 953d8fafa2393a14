//! Starting the program under test.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use testkit::bridge::Bridge;

pub fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_ghidra-bridge"))
}

pub fn sample() -> PathBuf {
    testkit::fixture("inventory.x64.O0")
}

/// A bridge over the sample, with further arguments.
pub fn bridge(arguments: &[&str]) -> Bridge {
    Bridge::serve(program(), &sample(), arguments).expect("the bridge starts")
}

/// Runs the program to its end.
pub fn run(arguments: &[&str]) -> Output {
    Command::new(program())
        .args(arguments)
        .env_remove("GHIDRA_BRIDGE_TOKEN")
        .stdin(Stdio::null())
        .output()
        .expect("the program runs")
}

pub fn ws_url(bridge: &Bridge) -> &str {
    bridge.ready.ws.as_deref().expect("a WebSocket address")
}

pub fn mcp_url(bridge: &Bridge) -> &str {
    bridge.ready.mcp.as_deref().expect("an MCP address")
}

/// `host:port` and path of an address.
pub fn split(url: &str) -> (&str, &str) {
    let rest = url.split_once("://").expect("a scheme").1;
    rest.split_at(rest.find('/').expect("a path"))
}
