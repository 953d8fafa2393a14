//! One file per verb.

mod audit_log;
mod call;
mod check;
mod conformance_driver;
mod diff;
mod doctor;
mod emit;
mod errors;
mod explain;
mod lint;
mod lock;
mod mock;
mod record;
mod replay;
mod report;
mod scan;
mod session;

use crate::cli::Verb;
use crate::run::{Exit, Failure, Run};

/// Does what was asked.
pub async fn run(verb: Verb, run: &Run) -> Result<Exit, Failure> {
    match verb {
        Verb::Record(args) => record::run(&args, run).await,
        Verb::Replay(args) => replay::run(&args, run).await,
        Verb::AuditLog(args) => audit_log::run(&args, run),
        Verb::Doctor(args) => doctor::run(&args, run).await,
        Verb::Scan(args) => scan::run(&args, run).await,
        Verb::Check(args) => check::run(&args, run).await,
        Verb::Lint(args) => lint::run(&args, run).await,
        Verb::Errors(args) => errors::run(&args, run).await,
        Verb::Report(args) => report::run(args, run).await,
        Verb::Diff(args) => diff::run(&args, run),
        Verb::Lock(args) => lock::lock(&args, run).await,
        Verb::Verify(args) => lock::verify(&args, run).await,
        Verb::Session(args) => session::run(&args, run).await,
        Verb::Call(args) => call::run(&args, run).await,
        Verb::Mock(args) => mock::run(&args, run).await,
        Verb::Explain(args) => explain::run(&args, run).await,
        Verb::Emit(args) => emit::run(&args, run).await,
        Verb::ConformanceDriver(args) => conformance_driver::run(&args, run).await,
    }
}
