//! `mcp-probe`: looks at any MCP server from the outside.

mod active;
mod arguments;
mod argv;
mod change;
mod cli;
mod client;
mod conform;
mod doctor;
mod emit;
mod finding;
mod html;
mod http;
mod installed;
mod json;
mod junit;
mod limits;
mod link;
mod lint;
mod message;
mod mock;
mod place;
mod recorder;
mod risk;
mod run;
mod sarif;
mod schema;
mod screen;
mod stream;
mod surface;
mod survey;
mod target;
mod trail;
mod verbs;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned());
    let cli = cli::Cli::parse_from(argv::normalized(args));
    // Deep but legal JSON is read and dropped by recursion.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(8 << 20).build();
    let outcome = match runtime {
        Ok(runtime) => {
            let outcome = runtime.block_on(start(cli));
            // A blocked read of the standard input must not keep the process alive.
            runtime.shutdown_background();
            outcome
        }
        Err(error) => Err(error.to_string()),
    };
    match outcome {
        Ok(exit) => ExitCode::from(u8::try_from(exit.code()).unwrap_or(1)),
        Err(failure) => {
            eprintln!("mcp-probe: could not run: {}", screen::visible(&failure));
            ExitCode::from(2)
        }
    }
}

async fn start(cli: cli::Cli) -> Result<run::Exit, run::Failure> {
    let run = run::Run::new(cli.common)?;
    let exit = verbs::run(cli.verb, &run).await.map_err(|failure| run.with_cause(failure))?;
    match run.context.trail.failure() {
        Some(error) => Err(format!("the recording could not be written: {error}")),
        None => Ok(exit),
    }
}
