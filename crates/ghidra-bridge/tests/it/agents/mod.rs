//! Five tasks that agents are given, solved with the tools alone: how many calls and characters
//! they take, held against what the same tasks took before answers were made brief.
//!
//! `docs/agents.md` is written from these runs.

mod agent;
mod crackme;
mod hashing;
mod message;
mod sinks;
mod structures;

use agent::Agent;
use std::fmt::Write as _;

/// A task: how it is called, what is asked, and what it took with version 0.1.0 (commit e34d738).
/// That was measured by solving it on the same program with the same kind of calls: the tool
/// list, the help that its one-line texts made necessary, default answers read whole.
struct Task {
    title: &'static str,
    asked: &'static str,
    calls_before: usize,
    characters_before: usize,
    run: fn() -> Agent,
}

const TASKS: [Task; 5] =
    [crackme::TASK, message::TASK, structures::TASK, sinks::TASK, hashing::TASK];

/// Half of what it took before, the tool list included.
fn holds(task: &Task) {
    let agent = (task.run)();
    let (calls, characters) = (agent.calls, agent.characters);
    println!("{}: {calls} calls, {characters} characters\n{}", task.title, agent.transcript);
    assert!(characters * 2 <= task.characters_before, "{}: {characters}", task.title);
    assert!(calls <= task.calls_before, "{}: {calls} calls", task.title);
}

#[test]
fn a_password_is_found() {
    holds(&crackme::TASK);
}

#[test]
fn a_message_leads_to_its_condition() {
    holds(&message::TASK);
}

#[test]
fn structures_are_recovered() {
    holds(&structures::TASK);
}

#[test]
fn dangerous_calls_are_listed_with_their_arguments() {
    holds(&sinks::TASK);
}

#[test]
fn hashed_imports_and_hidden_texts_are_read() {
    holds(&hashing::TASK);
}

const INTRODUCTION: &str = "\
# Tasks for agents

Five tasks as an AI agent solves them over MCP, with nothing but the tool list and the texts of
answers. A test runs each, counts what the agent reads, and holds it to half of what it was before
answers were brief; `cargo xtask codegen` writes this page from the same runs.

| task | calls | characters | before |
| --- | --- | --- | --- |
";

fn document() -> String {
    let runs: Vec<(Task, Agent)> = TASKS
        .into_iter()
        .map(|task| {
            let agent = (task.run)();
            (task, agent)
        })
        .collect();
    let mut out = INTRODUCTION.to_owned();
    for (task, agent) in &runs {
        // To hundreds: times differ in their digits from run to run.
        let _ = writeln!(
            out,
            "| {} | {} | about {} | {} in {} calls |",
            task.title,
            agent.calls,
            (agent.characters + 50) / 100 * 100,
            task.characters_before,
            task.calls_before
        );
    }
    out.push_str("\nThe tool list, which every host reads first, is among both.\n");
    for (task, agent) in &runs {
        let _ = write!(out, "\n## {}\n\n{}\n{}", task.title, task.asked, agent.transcript);
    }
    out
}

/// `docs/agents.md` shows these runs; `cargo xtask codegen` writes it again. What analysis finds
/// may change an answer's text; which tasks there are may not.
#[test]
fn the_document_shows_the_runs() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agents.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, document()).expect("the document can be written");
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    for task in TASKS {
        let head = format!("\n## {}\n\n{}\n", task.title, task.asked);
        let hint = "docs/agents.md is out of date; run `cargo xtask codegen`";
        assert!(kept.contains(&head), "{hint}: {}", task.title);
    }
}
