//! A Windows program that hides which functions it calls and which texts it uses.

use super::Task;
use super::agent::{Agent, bytes, c as lines, number, word, words};
use serde_json::{Value, json};

pub const TASK: Task = Task {
    title: "Hidden imports",
    asked: "`beacon.exe` (x86-64 PE, -O2, stripped): which functions does it find by hash, and \
            what do its hidden texts say?",
    calls_before: 18,
    characters_before: 50_583,
    run,
};

fn run() -> Agent {
    let mut agent = Agent::on("beacon.exe");
    agent.says("Whoever hides imports still has to load libraries: who calls LoadLibraryA?");
    let filter = json!({"filter": {"entry": "LoadLibraryA", "direction": "callers"}});
    let loader = agent.call("function", "call.list", filter);
    let loader = word(&loader, "FUN_");
    let user = agent.call("decompilation", "get", json!({"selector": {"entry": loader}}));
    let user = lines(&user);
    let get = |name: &String| {
        let arguments = json!({"selector": {"entry": name}});
        json!({"id": name, "method": "decompilation.get", "arguments": arguments})
    };
    let callees: Vec<String> =
        words(&user, "FUN_").into_iter().filter(|name| *name != loader).collect();
    let items: Vec<Value> = callees.iter().map(get).collect();
    let c = agent.call("batch", "execute", json!({ "items": items }));
    let hash = words(&c, "FUN_").into_iter().find(|name| !callees.contains(name));
    let hash = hash.expect("the function that hashes");
    let hash = agent.call("decompilation", "get", json!({"selector": {"entry": hash}}));
    assert!(hash.contains("0x1505") && hash.contains("* 0x21"), "{hash}");
    agent.says("djb2: sum = sum * 33 + character, from 5381.");

    let hashes: Vec<u32> = user
        .lines()
        .filter(|line| line.contains("(code *)FUN_"))
        .map(|line| number(line, ","))
        .collect();
    let names = ["RegOpenKeyExA", "RegCloseKey"].map(djb2);
    assert_eq!(hashes, names, "{user}");

    for line in user.lines().filter(|line| line.trim().starts_with("FUN_")) {
        let arguments: Vec<&str> = line.split(',').collect();
        let at = |index: usize| number(&format!("={}", arguments[index]), "=");
        let place = arguments[1].rsplit("0x").next().expect("an address");
        let params = json!({"selector": {"address": place}, "length": at(2)});
        let hidden = bytes(&agent.call("memory", "read", params));
        let key = at(3) as u8;
        let text: String = hidden
            .iter()
            .enumerate()
            .map(|(at, byte)| char::from(byte ^ key.wrapping_add(3 * at as u8)))
            .collect();
        agent.says(&format!("`{text}`"));
        assert!(
            ["advapi32.dll", r"Software\Microsoft\Windows\CurrentVersion\Run"].contains(&&*text)
        );
    }
    agent
        .says("It waits until RegOpenKeyExA opens the current user's Run key, asking each minute.");
    agent
}

fn djb2(name: &str) -> u32 {
    name.bytes().fold(5381, |sum: u32, byte| sum.wrapping_mul(33).wrapping_add(byte.into()))
}
