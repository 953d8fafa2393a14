//! `cargo xtask TASK`: the command line over the tasks of the library.

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask TASK

tasks:
  tidy       check layers, file headers, sizes and names of the source tree
  codegen    write the documents under docs/ that are made from the registry
  fixtures   rebuild fixtures/bin from fixtures/src (needs gcc, g++ and their aarch64 cross versions)";

fn main() -> ExitCode {
    let task = std::env::args().nth(1);
    let outcome = match task.as_deref() {
        Some("tidy") => tidy(),
        Some("codegen") => xtask::codegen::write(&xtask::workspace_root()),
        Some("fixtures") => xtask::fixtures::build(&xtask::workspace_root()),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn tidy() -> anyhow::Result<()> {
    let findings = xtask::tidy::check(&xtask::workspace_root())?;
    for finding in &findings {
        eprintln!("{finding}");
    }
    anyhow::ensure!(findings.is_empty(), "{} finding(s)", findings.len());
    println!("tidy: nothing to report");
    Ok(())
}
