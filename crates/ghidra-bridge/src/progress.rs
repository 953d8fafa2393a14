//! The progress of an analysis, for people at a terminal.

use engine::Session;
use indicatif::{ProgressBar, ProgressStyle};
use parking_lot::Mutex;
use std::io::IsTerminal;
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(100);

/// What a line has beside the bar and the name of the pass: words, blanks, percent, and room for
/// the `^C` that a terminal writes behind it.
const BESIDE: usize = 10 + 1 + 5 + 1 + 3;

/// Longest bar, in columns.
const LONGEST_BAR: usize = 32;

/// The bar on the screen, if there is one.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Prints something else without tearing the bar.
pub fn aside(print: impl FnOnce()) {
    let bar = SHOWN.lock().clone();
    match bar {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

/// Follows an analysis to its end. Blocks; draws only on a terminal.
pub fn follow(session: &Session) {
    let bar = std::io::stderr().is_terminal().then(bar);
    SHOWN.lock().clone_from(&bar);
    loop {
        let status = session.analysis_status();
        if let Some(bar) = &bar {
            bar.set_position(status.progress.unwrap_or_default().clamp(0.0, 100.0) as u64);
            bar.set_message(fitting(status.phase.unwrap_or_default()));
        }
        if session.wait_for_analysis(PAUSE) {
            break;
        }
    }
    SHOWN.lock().take();
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

/// Columns of the terminal.
fn columns() -> usize {
    console::Term::stderr().size().1.into()
}

/// Columns of the bar: a narrow terminal keeps some for the name of the pass.
fn bar_columns() -> usize {
    (columns().saturating_sub(BESIDE) / 2).clamp(4, LONGEST_BAR)
}

/// The name of a pass as far as it fits on the line.
fn fitting(phase: &str) -> String {
    let left = columns().saturating_sub(BESIDE + bar_columns());
    phase.chars().take(left).collect()
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::new(100);
    let template = format!("Analysing {{bar:{}}} {{pos:>3}} % {{msg}}", bar_columns());
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar
}
