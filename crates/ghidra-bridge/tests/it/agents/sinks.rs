//! Calls that careless code makes: who calls `system`, `popen` and `strcpy`, and with what?

use super::Task;
use super::agent::{Agent, words};
use serde_json::{Value, json};

pub const TASK: Task = Task {
    title: "Dangerous calls",
    asked: "`sinks` (x86-64 ELF, -O2, stripped): who calls `system`, `popen` and `strcpy`, and \
            with which arguments?",
    calls_before: 23,
    characters_before: 38_632,
    run,
};

fn run() -> Agent {
    let mut agent = Agent::on("sinks");
    let mut callers: Vec<String> = Vec::new();
    for name in ["system", "popen", "strcpy"] {
        let filter = json!({"filter": {"entry": name, "direction": "callers"}});
        let answer = agent.call("function", "call.list", filter);
        let found = words(&answer, "FUN_");
        assert!(found.len() >= 2, "{name}: {answer}");
        for caller in found {
            if !callers.contains(&caller) {
                callers.push(caller);
            }
        }
    }
    assert_eq!(callers.len(), 6, "{callers:?}");
    let item = |name: &String| {
        let arguments = json!({"selector": {"entry": name}, "projection": "c"});
        json!({"id": name, "method": "decompilation.get", "arguments": arguments})
    };
    let items: Vec<Value> = callers.iter().map(item).collect();
    let c = agent.call("batch", "execute", json!({ "items": items }));
    for call in [
        "system(\"/etc/init.d/network restart\")",
        "popen(\"cat /proc/cpuinfo | grep processor\",\"r\")",
        "\"ping -c 1 %s\"",
        "\"cp %s /var/backup\"",
        "strcpy(",
    ] {
        assert!(c.contains(call), "{call} is in {c}");
    }
    agent.says(
        "`system` runs a constant once, and twice a text into which a parameter was printed; \
         `popen` runs a constant and a parameter; `strcpy` copies parameters into 32 and 64 bytes.",
    );
    agent
}
