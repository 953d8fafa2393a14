//! Measures the engine and a running bridge on real files, beside Ghidra's cost.
//!
//! ```text
//! cargo build --release -p ghidra-bridge
//! cargo run --release -p bench --bin figures [-- FILE...]
//! cargo run --release -p bench --bin figures -- --sizes FILE...
//! ```

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bench::figures::load::{self, ANALYSIS_CHILD, CHILD, Cost};
use bench::figures::{GhidraCost, TARGETS, edits, latency};
use serde_json::{Value, json};
use testkit::Bridge;
use testkit::client::WebSocketClient;

/// How long a served file may take until it is analysed.
const LIMIT: Duration = Duration::from_secs(600);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("figures: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, file] = arguments.as_slice()
        && [CHILD, ANALYSIS_CHILD].contains(&first.as_str())
    {
        let cost = load::measure_here(Path::new(file), first == CHILD)?;
        println!("{}", serde_json::to_string(&cost)?);
        return Ok(());
    }
    if let [first, files @ ..] = arguments.as_slice()
        && first == "--sizes"
    {
        return sizes(files);
    }
    for (name, path, ghidra) in chosen(&arguments)? {
        println!("== {name} ({})", path.display());
        print_cost(&load::measure(CHILD, &path)?, ghidra);
        serve(&path)?;
        println!();
    }
    Ok(())
}

/// What opening and analysis cost on files of several sizes, and for each million instructions.
fn sizes(files: &[String]) -> Result<()> {
    println!("   MB  instructions  processor s  wall s  peak MB  s/million  MB/million");
    for file in files {
        let cost = load::measure(ANALYSIS_CHILD, Path::new(file))?;
        let size = std::fs::metadata(file)?.len() as f64 / 1e6;
        let millions = cost.instructions as f64 / 1e6;
        println!(
            "{size:5.1}  {:12}  {:11.1}  {:6.1}  {:7.0}  {:9.1}  {:10.0}  {file}",
            cost.instructions,
            cost.processor_seconds,
            cost.wall_seconds,
            cost.peak_megabytes,
            cost.processor_seconds / millions,
            cost.peak_megabytes / millions,
        );
    }
    Ok(())
}

/// The files named, or the usual targets with Ghidra's figures.
fn chosen(arguments: &[String]) -> Result<Vec<(String, PathBuf, Option<GhidraCost>)>> {
    if !arguments.is_empty() {
        return Ok(arguments.iter().map(|a| (a.clone(), PathBuf::from(a), None)).collect());
    }
    let mut found = Vec::new();
    for target in TARGETS {
        match target.file() {
            Some(path) => found.push((target.name.to_owned(), path, Some(target.ghidra))),
            None => println!("== {}: {} is not on this machine", target.name, target.path),
        }
    }
    ensure!(!found.is_empty(), "none of the usual files is here; name some");
    Ok(found)
}

fn print_cost(cost: &Cost, ghidra: Option<GhidraCost>) {
    let ratio = |ours: f64, pick: fn(&GhidraCost) -> f64| match &ghidra {
        Some(ghidra) if ours > 0.0 => format!("  (Ghidra / ours = {:.1})", pick(ghidra) / ours),
        _ => String::new(),
    };
    println!(
        "found            {} functions, {} instructions, {} references",
        cost.functions, cost.instructions, cost.references
    );
    println!(
        "open + analysis  {:.2} s processor, {:.2} s wall{}",
        cost.processor_seconds,
        cost.wall_seconds,
        ratio(cost.processor_seconds, |g| g.analysis_seconds)
    );
    println!(
        "peak memory      {:.0} MB{}",
        cost.peak_megabytes,
        ratio(cost.peak_megabytes, |g| g.peak_megabytes)
    );
    println!(
        "decompile all    {:.2} s wall, {} functions, peak {:.0} MB{}",
        cost.decompile_seconds,
        cost.decompiled,
        cost.decompile_peak_megabytes,
        ratio(cost.decompile_seconds, |g| g.decompile_seconds)
    );
}

/// Serves the file and measures what clients see.
fn serve(path: &Path) -> Result<()> {
    let program = testkit::bridge::built_program()?;
    let bridge = Bridge::serve(&program, path, &[])?;
    println!("ready line       {:.0} ms", bridge.ready_after.as_secs_f64() * 1e3);
    let began = Instant::now();
    let mut client = bridge.websocket()?;
    wait_until_analysed(&mut client)?;
    println!("analysed         {:.2} s after the ready line", began.elapsed().as_secs_f64());
    let entries = entries(&mut client)?;
    for mode in ["per_item", "all_or_none"] {
        let took = edits::comment_batch(&mut client, &entries, mode)?;
        println!("1000 comments    {:.1} ms in one batch, {mode}", took.as_secs_f64() * 1e3);
    }
    drop(client);
    for latency in latency::measure(&bridge, &entries)? {
        println!(
            "{:16} {:>7.0} /s  p50 {:>6.0} us  p99 {:>6.0} us",
            latency.name,
            latency.per_second,
            latency.median.as_secs_f64() * 1e6,
            latency.p99.as_secs_f64() * 1e6
        );
    }
    Ok(())
}

fn wait_until_analysed(client: &mut WebSocketClient) -> Result<()> {
    let began = Instant::now();
    loop {
        let status = client.call("analysis.get", json!({}))?;
        if status["analyzed"] == true || status["status"] == "completed" {
            return Ok(());
        }
        ensure!(began.elapsed() < LIMIT, "not analysed after {LIMIT:?}: {status}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn entries(client: &mut WebSocketClient) -> Result<Vec<String>> {
    let page = client.call("function.list", json!({"page": {"limit": 1000}}))?;
    let items = page["items"].as_array().context("function.list has no items")?;
    let entry = |item: &Value| item["entry"].as_str().map(str::to_owned);
    let mut entries: Vec<String> = items.iter().filter_map(entry).collect();
    // Functions of other libraries and the last ones of a block have less to read.
    entries.retain(|entry| client.call("memory.read", latency::read_of(entry)).is_ok());
    ensure!(!entries.is_empty(), "the program has no functions with bytes to read");
    Ok(entries)
}
