//! An analysis that is interrupted is kept, and resumed at the next start: after a signal from what
//! was over then, after a kill from the last checkpoint.

use crate::project::{Served, home, project_of, serve};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Far longer than what is waited for takes.
const LATE: Duration = Duration::from_secs(240);

/// The largest program at hand: its analysis takes longer than the time between two checkpoints.
fn large() -> PathBuf {
    std::env::current_exe().expect("a path")
}

/// A program whose analysis takes a moment.
fn moderate() -> PathBuf {
    let bash = PathBuf::from("/bin/bash");
    if bash.exists() { bash } else { large() }
}

fn state(served: &Served) -> Value {
    served.call("ghidra.analysis", "get", json!({}))
}

fn over(state: &Value) -> Vec<&str> {
    let done = state["interrupted"]["done"].as_array();
    done.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Waits for something while analysis runs; false when analysis ends first.
fn waits(served: &Served, until: impl Fn(&Value) -> bool) -> bool {
    let began = Instant::now();
    loop {
        let state = state(served);
        if until(&state) {
            return true;
        }
        if state["status"] != "running" {
            return false;
        }
        assert!(began.elapsed() < LATE, "{state}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What the next start says of an analysis of which so much was over.
fn goes_on(served: &Served, least: usize) {
    assert_eq!(served.ready["restored"], true);
    assert_eq!(served.ready["analyzed"], false);
    let state = state(served);
    assert_eq!(state["status"], "cancelled", "{state}");
    assert!(over(&state).len() >= least, "{state}");
    let left = state["interrupted"]["left"].as_array().expect("a list").len();
    assert_eq!(over(&state).len() + left, engine::PASSES.len());
    let message = state["message"].as_str().expect("a text");
    assert!(message.contains("was interrupted") && message.contains("goes on with"), "{message}");
    let progress = state["progress"].as_f64().expect("a number");
    assert!(progress > 0.0 && progress < 100.0, "{progress}");
}

#[test]
#[cfg(unix)]
fn a_signal_in_the_middle_keeps_what_was_found() {
    let (home, file) = (home(), moderate());
    let served = serve(&file, home.path(), &[]);
    if !waits(&served, |state| over(state).contains(&"Disassemble Entry Points")) {
        println!("skipped: the analysis was done before it could be ended");
        return;
    }
    served.signal("-TERM");
    let (good, text) = served.ended_within(LATE);
    assert!(good, "{text}");
    if !text.contains("The analysis was not at its end") {
        println!("skipped: the analysis was done before it could be ended");
        return;
    }
    assert!(text.contains("analyzers are over and kept"), "{text}");
    let served = serve(&file, home.path(), &["analysis=off"]);
    goes_on(&served, 9);
    let functions = served.call("ghidra.function", "list", json!({"page": {"limit": 1000}}));
    assert!(functions["items"].as_array().expect("rows").len() > 100, "they are there");
    assert!(functions["analysis"].is_null(), "nothing runs");
    drop(served);
    let served = serve(&file, home.path(), &[]);
    let state = served.call("ghidra.analysis", "get", json!({"wait_ms": 60_000}));
    assert_eq!(state["status"], "completed", "{state}");
    assert!(state["interrupted"].is_null() && state["analyzed"] == true, "{state}");
    served.signal("-TERM");
    let (good, text) = served.ended_within(LATE);
    assert!(good && text.contains("its analysis was interrupted and goes on"), "{text}");
}

#[test]
#[cfg(unix)]
fn a_kill_in_the_middle_keeps_the_last_checkpoint() {
    let (home, file) = (home(), large());
    let served = serve(&file, home.path(), &[]);
    let project = project_of(&served);
    if !waits(&served, |_| project.exists()) {
        println!("skipped: the analysis was done before it could be killed");
        return;
    }
    served.signal("-KILL");
    let (good, _) = served.ended();
    assert!(!good, "it was killed");
    let served = serve(&file, home.path(), &["analysis=off"]);
    goes_on(&served, 1);
    // Without a restart, a call resumes it.
    let state = served.call("ghidra.analysis", "start", json!({}));
    assert_eq!(state["status"], "running", "{state}");
    assert!(!over(&state).is_empty() && state["progress"].as_f64() > Some(0.0), "{state}");
}
