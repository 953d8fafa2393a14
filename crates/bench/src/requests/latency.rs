//! How long a read takes over the WebSocket while an MCP client keeps the
//! decompiler busy.

use anyhow::{Context, Result};
use serde_json::json;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use testkit::bridge::Bridge;

const READS: usize = 5_000;
const PAUSE: Duration = Duration::from_micros(500);

/// Times of many reads.
#[derive(Debug)]
pub struct Spread {
    times: Vec<Duration>,
    decompilations: u64,
}

impl Spread {
    /// The time that so many in a thousand reads stay below.
    pub fn below(&self, per_mille: usize) -> Duration {
        let at = (self.times.len() * per_mille / 1000).min(self.times.len().saturating_sub(1));
        self.times.get(at).copied().unwrap_or_default()
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a read beside {} decompilations: p50 {:?}, p99 {:?}, p99.9 {:?}",
            self.decompilations,
            self.below(500),
            self.below(990),
            self.below(999)
        )
    }
}

/// Measures reads while every function is decompiled, over and over.
pub fn beside_decompilation(bridge: &Bridge) -> Result<Spread> {
    let mut reader = bridge.websocket()?;
    let list = reader.call("function.list", json!({"page": {"limit": 1000}}))?;
    let entries: Vec<String> = list["items"]
        .as_array()
        .context("no functions")?
        .iter()
        .filter_map(|row| row["entry"].as_str().map(str::to_owned))
        .collect();
    let first = entries.first().context("no functions")?.clone();
    let over = AtomicBool::new(false);
    let decompilations = AtomicU64::new(0);
    let times = std::thread::scope(|scope| {
        let busy = scope.spawn(|| -> Result<()> {
            let mut client = bridge.mcp()?;
            for entry in entries.iter().cycle() {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                let params = json!({"selector": {"entry": entry}});
                client.try_call("ghidra.decompilation", "get", params)?.ok();
                decompilations.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        });
        let mut times = Vec::with_capacity(READS);
        let read = json!({"selector": {"address": first}, "length": 16});
        let measured = (0..READS).try_for_each(|_| {
            std::thread::sleep(PAUSE);
            let began = Instant::now();
            reader.call("memory.read", read.clone())?;
            times.push(began.elapsed());
            anyhow::Ok(())
        });
        over.store(true, Ordering::Relaxed);
        busy.join().map_err(|_| anyhow::anyhow!("the client panicked"))??;
        measured.map(|()| times)
    });
    let mut times = times?;
    times.sort_unstable();
    Ok(Spread { times, decompilations: decompilations.into_inner() })
}
