//! The cost of opening, analysing and decompiling one file, measured in a process
//! of its own so that nothing else counts.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::cost::{peak_memory, processor_time};
use crate::subject::{Depth, Opened};

/// The argument that makes a tool measure one file and print the cost.
pub const CHILD: &str = "--measure-one";

/// The same without decompiling.
pub const ANALYSIS_CHILD: &str = "--measure-analysis";

/// What one file costs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cost {
    /// Wall seconds of opening and analysis.
    pub wall_seconds: f64,
    /// Processor seconds of opening and analysis, all threads.
    pub processor_seconds: f64,
    /// Peak memory in megabytes after them.
    pub peak_megabytes: f64,
    /// Functions found.
    pub functions: usize,
    /// Instructions found.
    pub instructions: usize,
    /// References found.
    pub references: usize,
    /// Functions decompiled.
    pub decompiled: usize,
    /// Wall seconds of decompiling them all.
    pub decompile_seconds: f64,
    /// Peak memory in megabytes after that.
    pub decompile_peak_megabytes: f64,
}

/// Measures a file in a child process made of the running program: `what` is one of the
/// arguments above.
pub fn measure(what: &str, file: &Path) -> Result<Cost> {
    let output = Command::new(std::env::current_exe()?)
        .arg(what)
        .arg(file)
        .output()
        .context("the measuring process cannot be started")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "measuring {}: {}", file.display(), complaint.trim());
    serde_json::from_slice(&output.stdout).context("the measuring process printed no cost")
}

/// Measures a file in this process, which must have done nothing else before.
pub fn measure_here(file: &Path, decompile: bool) -> Result<Cost> {
    let began = Instant::now();
    let opened = Opened::open(file, Depth::Analysed)?;
    let wall = began.elapsed();
    let (processor, peak) = (processor_time()?, peak_memory()?);
    let began = Instant::now();
    let decompiled = if decompile { opened.decompile_all(threads())?.len() } else { 0 };
    let decompile = began.elapsed();
    Ok(Cost {
        wall_seconds: seconds(wall),
        processor_seconds: seconds(processor),
        peak_megabytes: megabytes(peak),
        functions: opened.program.functions.len(),
        instructions: opened.program.listing.instructions.len(),
        references: opened.program.references.len(),
        decompiled,
        decompile_seconds: seconds(decompile),
        decompile_peak_megabytes: megabytes(peak_memory()?),
    })
}

/// Both cores, as a batch of the product would use.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
