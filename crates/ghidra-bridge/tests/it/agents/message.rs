//! A message that users see: under which condition does it come?

use super::Task;
use super::agent::{Agent, address, word};
use serde_json::json;

pub const TASK: Task = Task {
    title: "A message",
    asked: "`keysize` (x86-64 ELF, -O2, stripped): when does it say \"Invalid RSA key length: \
            minimum is ... bits\"?",
    calls_before: 18,
    characters_before: 42_946,
    run,
};

fn run() -> Agent {
    let mut agent = Agent::on("keysize");
    let filter = json!({"filter": {"text": "Invalid RSA key length: minimum"}});
    let message = address(&agent.call("memory", "search", filter));
    let users = json!({"filter": {"direction": "to", "to": message}});
    let users = agent.call("reference", "list", users);
    let user = user(&mut agent, &users);
    let c = agent.call("decompilation", "get", json!({"selector": {"entry": user}}));
    let (before, _) = c.split_once("RSA key length: minimum").expect("the message");
    let condition = before.rsplit("if (").next().expect("a condition");
    assert!(condition.contains("< 0x400)"), "{condition}");
    let kind = before.rsplit("== ").next().expect("a kind");
    assert!(kind.starts_with("0)"), "{kind}");
    agent.says("For key type 0, when the length is less than 0x400 (1,024) bits.");
    agent
}

/// The function that uses the message: named in the row, or asked for.
fn user(agent: &mut Agent, users: &str) -> String {
    if let Some(named) = super::agent::words(users, "FUN_").into_iter().next() {
        return named;
    }
    let place = json!({"selector": {"address": address(users)}});
    word(&agent.call("address", "resolve", place), "FUN_")
}
