//! The progress of an analysis, for people at a terminal.

use engine::Session;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(100);

/// Follows an analysis to its end. Blocks; draws only on a terminal.
pub fn follow(session: &Session) {
    let bar = std::io::stderr().is_terminal().then(bar);
    loop {
        let status = session.analysis_status();
        if let Some(bar) = &bar {
            bar.set_position(status.progress.unwrap_or_default().clamp(0.0, 100.0) as u64);
            bar.set_message(status.phase.unwrap_or_default());
        }
        if session.wait_for_analysis(PAUSE) {
            break;
        }
    }
    let Some(bar) = bar else { return };
    bar.finish_and_clear();
    let status = session.analysis_status();
    let text = match (status.analyzed, status.message) {
        (_, Some(message)) => format!("Analysis: {message}."),
        (true, None) => "Analysis is complete.".to_owned(),
        (false, None) => "Analysis ended early.".to_owned(),
    };
    crate::say(&text);
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::new(100);
    if let Ok(style) = ProgressStyle::with_template("Analysing {bar:32} {pos:>3} % {msg}") {
        bar.set_style(style);
    }
    bar
}
