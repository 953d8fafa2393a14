//! Analyses a program without its symbols and compares with the symbols that it had.
//!
//! ```text
//! strip -o ls.bare ls && cargo run --release -p bench --bin stripped -- ls ls.bare
//! cargo run --release -p bench --bin stripped -- --only missed,holes ls ls.bare
//! ```

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use bench::subject::{Depth, Opened};
use bench::symbol_table::{Differences, differences, known_functions};
use clap::Parser;

/// Compares what is found in a program without symbols with the symbols that it had.
#[derive(Debug, Parser)]
struct Arguments {
    /// The program with its symbols.
    original: PathBuf,
    /// The program without them; without it the original is analysed, symbols and all.
    stripped: Option<PathBuf>,
    /// Most lines of each list to print; 0 = all.
    #[arg(long, default_value_t = 0)]
    lines: usize,
    /// Print these lists: missed, invented, swallowing, no-return, holes, jumps.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stripped: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let began = Instant::now();
    let subject = arguments.stripped.as_ref().unwrap_or(&arguments.original);
    let opened = Opened::open(subject, Depth::Analysed)?;
    let elapsed = began.elapsed();
    let program = &*opened.program;
    let known = known_functions(&arguments.original, program)?;
    let found = differences(program, &known)?;
    println!(
        "{} ours {} {:.1}s {}",
        summary(&found),
        program.functions.iter().filter(|f| !f.is_external()).count(),
        elapsed.as_secs_f64(),
        arguments.original.display(),
    );
    let lists = [
        ("missed", &found.missed),
        ("invented", &found.invented),
        ("swallowing", &found.swallowing),
        ("no-return", &found.no_return),
        ("holes", &found.holes),
        ("jumps", &found.jumps.1),
    ];
    for (title, rows) in lists.iter().filter(|(title, _)| arguments.only.iter().any(|o| o == title))
    {
        let count = if arguments.lines == 0 { rows.len() } else { arguments.lines };
        for (at, text) in rows.iter().take(count) {
            println!("{title} {at:x} {text}");
        }
    }
    Ok(())
}

fn summary(found: &Differences) -> String {
    format!(
        "known {} found {} missed {} invented {} swallowing {} noreturn {} unknown {}/{} jumps {}/{}",
        found.known,
        found.found,
        found.missed.len(),
        found.invented.len(),
        found.swallowing.len(),
        found.no_return.len(),
        found.bytes.1,
        found.bytes.0,
        found.jumps.1.len(),
        found.jumps.0,
    )
}
