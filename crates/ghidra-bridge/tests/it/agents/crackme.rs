//! A stripped puzzle: which password does it want?

use super::Task;
use super::agent::{Agent, address, bytes, c as lines, number, row, word, words};
use serde_json::json;

pub const TASK: Task = Task {
    title: "A password",
    asked: "`crackme` (x86-64 ELF, -O2, stripped): which password does it want?",
    calls_before: 23,
    characters_before: 74_409,
    run,
};

fn run() -> Agent {
    let mut agent = Agent::on("crackme");
    let texts = agent.call("listing", "data_unit.list", json!({"filter": {"string": true}}));
    let granted = address(row(&texts, "Access granted"));
    agent.says("Who prints that access is granted, and who calls that?");
    let to = |place: &str| json!({"filter": {"direction": "to", "to": place}});
    let users = agent.call("reference", "list", to(&granted));
    let printer = match words(&users, "FUN_").into_iter().next() {
        Some(named) => named,
        None => {
            let place = json!({"selector": {"address": address(&users)}});
            word(&agent.call("address", "resolve", place), "FUN_")
        }
    };
    let callers = agent.call("reference", "list", to(&printer));
    let caller = caller(&mut agent, &callers, &printer);
    let main = agent.call("decompilation", "get", json!({"selector": {"entry": caller}}));
    assert!(main.contains("Password: ") && main.contains("Wrong password."), "{main}");
    let (_, behind) = main.split_once("strcspn").expect("the line is cut first");
    let check = word(behind.split_once(';').expect("more").1, "FUN_");
    agent.says("The line that was read goes through one more function before the printer.");
    let c = agent.call("decompilation", "get", json!({"selector": {"entry": check}}));
    let c = lines(&c);
    let data = word(&c, "DAT_");
    let length = number(&c, "== ");
    let secret = json!({"selector": {"address": data}, "length": length});
    let secret = bytes(&agent.call("memory", "read", secret));
    let (_, start) = c.split_once(" = 0x").expect("the key starts somewhere");
    let (first, step) = (number(&format!("=0x{start}"), "=") as u8, 7);
    assert!(c.contains("+ 7") && c.contains('^'), "{c}");
    let key = |at: usize| first.wrapping_add(step * at as u8);
    let password: String =
        secret.iter().enumerate().map(|(at, byte)| char::from(byte ^ key(at))).collect();
    assert_eq!(password, "gh1dra_bridge");
    agent.says(&format!(
        "Each character is xored with 0x5a, 0x61, 0x68 ... and compared with these bytes: the \
         password is `{password}`."
    ));
    agent
}

/// The function that calls; made first where analysis found code but no function.
fn caller(agent: &mut Agent, callers: &str, printer: &str) -> String {
    let named = words(callers, "FUN_").into_iter().find(|name| name != printer);
    if let Some(named) = named {
        return named;
    }
    if !words(callers, "main").is_empty() {
        return "main".to_owned();
    }
    agent.says("The call is outside of every function; the entry point names main.");
    let entry = agent.call("decompilation", "get", json!({"selector": {"entry": "entry"}}));
    let (_, start) = entry.split_once("__libc_start_main(").expect("the C library is started");
    let label = words(start, "LAB_").into_iter().next();
    let Some(label) = label else { return word(start, "FUN_") };
    agent.call("function", "create", json!({"resource": {"entry": label, "name": "main"}}));
    "main".to_owned()
}
