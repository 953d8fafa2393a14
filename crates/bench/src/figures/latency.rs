//! Requests a second and latency of a running bridge.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};
use testkit::Bridge;

/// Calls made for each figure.
const CALLS: usize = 2000;

/// Times of many calls of one method over one transport.
#[derive(Debug, Clone)]
pub struct Latency {
    /// Transport and method.
    pub name: String,
    /// Calls a second, one after the other.
    pub per_second: f64,
    /// Half of the calls take no longer.
    pub median: Duration,
    /// 99 of 100 calls take no longer.
    pub p99: Duration,
}

/// Measures three methods over both transports.
pub fn measure(bridge: &Bridge, entries: &[String]) -> Result<Vec<Latency>> {
    let mut websocket = bridge.websocket()?;
    let mut mcp = bridge.mcp()?;
    let mut results = Vec::new();
    for (tool, operation, method) in [
        ("ghidra.memory", "read", "memory.read"),
        ("ghidra.function", "get", "function.get"),
        ("ghidra.symbol", "list", "symbol.list"),
    ] {
        results.push(time(&format!("ws  {method}"), entries, |entry| {
            websocket.call(method, parameters(method, entry)).map(drop)
        })?);
        results.push(time(&format!("mcp {method}"), entries, |entry| {
            mcp.call(tool, operation, parameters(method, entry)).map(drop)
        })?);
    }
    Ok(results)
}

/// The `memory.read` that is timed.
pub fn read_of(entry: &str) -> Value {
    json!({"selector": {"address": entry}, "length": 64})
}

fn parameters(method: &str, entry: &str) -> Value {
    match method {
        "memory.read" => read_of(entry),
        "function.get" => json!({"selector": {"entry": entry}}),
        _ => json!({"page": {"limit": 100}, "scan": {"range": {"start": entry}}}),
    }
}

fn time(
    name: &str,
    entries: &[String],
    mut call: impl FnMut(&str) -> Result<()>,
) -> Result<Latency> {
    let mut times = Vec::with_capacity(CALLS);
    let began = Instant::now();
    for entry in entries.iter().cycle().take(CALLS) {
        let sent = Instant::now();
        call(entry)?;
        times.push(sent.elapsed());
    }
    let whole = began.elapsed();
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    Ok(Latency {
        name: name.to_owned(),
        per_second: times.len() as f64 / whole.as_secs_f64(),
        median: at(50),
        p99: at(99),
    })
}
