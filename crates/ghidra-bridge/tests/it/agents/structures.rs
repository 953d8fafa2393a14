//! Types from their use: a list of nodes with a callback.

use super::Task;
use super::agent::Agent;
use serde_json::{Value, json};

pub const TASK: Task = Task {
    title: "Structures",
    asked: "`roster` (x86-64 ELF, -O2, stripped): recover the types that its list is made of, and \
            apply them.",
    calls_before: 21,
    characters_before: 57_897,
    run,
};

const SOURCE: &str = "struct node { struct node *next; int id; char name[20]; \
    unsigned long weight; int (*visit)(struct node *); }; \
    struct list { struct node *head; struct node *tail; unsigned count; unsigned long total; };";

fn run() -> Agent {
    let mut agent = Agent::on("roster");
    let functions = agent.call("function", "list", json!({}));
    let names = super::agent::words(&functions, "FUN_");
    let items: Vec<Value> =
        names.iter().filter(|name| is_large(&functions, name)).map(get).collect();
    let c = agent.call("batch", "execute", json!({ "items": items }));
    assert!(c.contains("calloc(1,0x30)"), "{c}");
    agent.says(
        "Nodes of 0x30 bytes: a link, a number, a name, a weight, a callback; a list of them.",
    );
    let made = json!({"resource": {"kind": "c", "source": SOURCE}});
    agent.call("data_type", "create", made);

    let named = |needle: &str| {
        let section = c.split("---").find(|section| section.contains(needle));
        let section = section.unwrap_or_else(|| panic!("no {needle} in {c}"));
        super::agent::word(section, "FUN_")
    };
    let prototypes = [
        (named("calloc("), "struct node *append(struct list *list, int id, char *name)"),
        (named("free("), "void drop(struct list *list, int id)"),
        (named("(code *)param_1[5]"), "int walk(struct list *list)"),
        (named("*(int *)(param_1 + 1) != param_2"), "struct node *find(struct list *list, int id)"),
    ];
    let patch = |(entry, prototype): &(String, &str)| {
        let arguments = json!({"selector": {"entry": entry}, "patch": {"prototype": prototype}});
        json!({"id": entry, "method": "function.patch", "arguments": arguments})
    };
    let items: Vec<Value> = prototypes.iter().map(patch).collect();
    agent.call("batch", "execute", json!({ "items": items }));
    let items: Vec<Value> = prototypes.iter().map(|(entry, _)| get(entry)).collect();
    let c = agent.call("batch", "execute", json!({ "items": items }));
    for expression in ["list->tail", "->weight = ", "->visit", "->id == id", "list->count"] {
        assert!(c.contains(expression), "{expression} is in {c}");
    }
    agent.says("Every offset has become a member.");
    agent
}

/// Whether a function is more than a stub, by the size in its row.
fn is_large(functions: &str, name: &str) -> bool {
    let row = super::agent::row(functions, name);
    let size = row.split('\t').nth(2).and_then(|size| size.trim().parse::<u32>().ok());
    size.is_none_or(|size| size > 12)
}

fn get(name: &String) -> Value {
    let arguments = json!({"selector": {"entry": name}});
    json!({"id": name, "method": "decompilation.get", "arguments": arguments})
}
