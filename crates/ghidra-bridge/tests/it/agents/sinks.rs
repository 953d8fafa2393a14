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

/// What careless programs call.
const SINKS: [&str; 3] = ["system", "popen", "strcpy"];

fn run() -> Agent {
    let mut agent = Agent::on("sinks");
    let listed = |name: &&str| {
        let filter = json!({"entry": name, "direction": "callers"});
        json!({"id": name, "method": "function.call.list", "arguments": {"filter": filter, "projection": "name"}})
    };
    let items: Vec<Value> = SINKS.iter().map(listed).collect();
    let calls = agent.call("batch", "execute", json!({ "items": items }));
    for name in SINKS {
        assert!(calls.contains(name), "{name}: {calls}");
    }
    let callers = words(&calls, "FUN_");
    assert_eq!(callers.len(), 6, "{calls}");
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
