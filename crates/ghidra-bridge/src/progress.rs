//! The progress of an analysis as a bar on one line of a terminal, for people.
//!
//! The line is never filled to its end: what a terminal writes behind it by itself (`^C`) must not
//! wrap, or the line could not be taken away again.

use crate::checkpoints::Checkpoints;
use console::Term;
use engine::Session;
use parking_lot::Mutex;
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(100);

/// What the line has beside the bar and the name of the pass: the word before, blanks, percent,
/// and room for what a terminal writes behind it.
const BESIDE: usize = 10 + 1 + 5 + 1 + 3;

/// Longest bar, in columns.
const LONGEST_BAR: usize = 32;

/// The line on the screen, if there is one.
static SHOWN: Mutex<Option<String>> = Mutex::new(None);

/// Prints something else in place of the line, which comes back below it.
pub fn aside(print: impl FnOnce()) {
    let mut shown = SHOWN.lock();
    if shown.take().is_some() {
        let _ = Term::stderr().clear_line();
    }
    print();
}

/// Follows an analysis to its end, and keeps what it found so far. Blocks; draws only on a terminal.
pub fn follow(session: &Session) {
    if !watch(session) {
        return;
    }
    let status = session.analysis_status();
    crate::say(&match (status.analyzed, status.message) {
        (_, Some(message)) => format!("Analysis: {message}."),
        (true, None) => "Analysis is complete.".to_owned(),
        (false, None) => "Analysis ended early.".to_owned(),
    });
}

/// Follows an analysis to its end like [`follow`], and says nothing then.
pub fn follow_quietly(session: &Session) {
    watch(session);
    aside(|| ());
}

/// Draws until the analysis is over; true when it drew.
fn watch(session: &Session) -> bool {
    let term = Term::stderr();
    let draws = term.is_term();
    let mut checkpoints = Checkpoints::new();
    loop {
        let status = session.analysis_status();
        if draws && status.is_running() {
            let columns = term.size().1.into();
            draw(&term, line(columns, status.progress.unwrap_or_default(), status.phase));
        }
        if session.wait_for_analysis(PAUSE) {
            break;
        }
        checkpoints.look(session);
    }
    draws
}

fn draw(term: &Term, line: String) {
    let mut shown = SHOWN.lock();
    if shown.as_ref() != Some(&line) {
        // A terminal that takes nothing any more is no reason to stop.
        let _ = term.clear_line().and_then(|()| term.write_str(&line));
        *shown = Some(line);
    }
}

/// The line for a terminal of some width: a narrow one keeps columns for the name of the pass.
fn line(columns: usize, percent: f32, phase: Option<&str>) -> String {
    let room = columns.saturating_sub(BESIDE);
    let bar = (room / 2).clamp(4, LONGEST_BAR);
    let percent = percent.clamp(0.0, 100.0);
    let done = (percent / 100.0 * bar as f32) as usize;
    let phase: String = phase.unwrap_or_default().chars().take(room.saturating_sub(bar)).collect();
    format!("Analysing {}{} {percent:>3.0} % {phase}", "█".repeat(done), "░".repeat(bar - done))
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn the_line_leaves_room_at_its_end() {
        for columns in 28..200 {
            let phase = "A pass with quite a long name, longer than anything";
            for percent in [0.0, 33.3, 100.0] {
                let line = line(columns, percent, Some(phase));
                assert!(line.chars().count() + 2 <= columns, "{columns}: {line}");
            }
        }
        assert_eq!(line(80, 50.0, Some("Stack")).matches('█').count(), 15);
    }
}
