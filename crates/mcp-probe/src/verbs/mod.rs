//! One file per verb.

mod call;
mod diff;
mod lock;
mod mock;
mod report;
mod session;

use crate::cli::Verb;
use crate::run::{Exit, Failure, Run};

/// Does what was asked.
pub async fn run(verb: Verb, run: &Run) -> Result<Exit, Failure> {
    match verb {
        Verb::Report(args) => report::run(args, run).await,
        Verb::Diff(args) => diff::run(&args, run),
        Verb::Lock(args) => lock::lock(&args, run).await,
        Verb::Verify(args) => lock::verify(&args, run).await,
        Verb::Session(args) => session::run(&args, run).await,
        Verb::Call(args) => call::run(&args, run).await,
        Verb::Mock(args) => mock::run(&args, run).await,
        _ => Err("not built yet".into()),
    }
}
