//! Functions: names, prototypes, flags, comments, and functions that nobody had found.

use serde_json::{Value, json};

use crate::fixture::{Fixture, open, renamed, words};

fn patch(entry: &str, patch: Value) -> Value {
    json!({"selector": {"entry": entry}, "patch": patch})
}

/// The texts that an edit changed.
fn changed(f: &Fixture, before: &[(String, String)]) -> Vec<String> {
    let differs = |(entry, text): &&(String, String)| f.text(entry) != **text;
    before.iter().filter(differs).map(|(entry, _)| entry.clone()).collect()
}

fn entry_of(f: &Fixture, name: &str) -> String {
    let found = f.good("function.list", json!({"filter": {"name": name}}));
    let rows = found["items"].as_array().expect("is a list").clone();
    let code = rows.iter().filter(|row| row["thunk"] == false && row["name"] == name);
    let rows: Vec<&Value> = code.collect();
    assert_eq!(rows.len(), 1, "{name}: {rows:?}");
    rows[0]["entry"].as_str().expect("is text").to_owned()
}

fn callers(f: &Fixture, entry: &str) -> Vec<String> {
    let calls = json!({"filter": {"entry": entry, "direction": "callers"}});
    let calls = f.good("function_call.list", calls);
    let rows = calls["items"].as_array().expect("is a list").clone();
    rows.iter().map(|row| row["entry"].as_str().expect("is text").to_owned()).collect()
}

#[test]
fn a_new_name_shows_in_the_function_and_its_callers_and_nowhere_else() {
    let f = open("inventory.x64.O2");
    let before = f.texts();
    let entry = entry_of(&f, "weight_of");
    let symbol = json!({"filter": {"address": entry}});
    let id = f.good("symbol.list", symbol.clone())["items"][0]["id"].clone();
    let row = f.good("function.patch", patch(&entry, json!({"name": "grams"})));
    assert_eq!(row["name"], "grams");
    let mut concerned = callers(&f, &entry);
    assert!(!concerned.is_empty());
    concerned.push(entry.clone());
    for (at, text) in &before {
        let expected =
            if concerned.contains(at) { renamed(text, "weight_of", "grams") } else { words(text) };
        assert_eq!(words(&f.text(at)), expected, "{at}");
    }
    let symbols = f.good("symbol.list", symbol);
    let symbols = symbols["items"].as_array().expect("is a list");
    let now = symbols.iter().find(|row| row["id"] == id).expect("keeps its id");
    assert_eq!((&now["name"], &now["primary"]), (&json!("grams"), &json!(true)));
    let old = symbols.iter().find(|row| row["name"] == "weight_of").expect("stays as a label");
    assert_eq!((&old["type"], &old["primary"]), (&json!("Label"), &json!(false)));
}

#[test]
fn declarations_in_programs_for_windows_know_its_types() {
    let f = open("../windows/errand.x64.exe");
    let text = "DWORD WINAPI take(LPCWSTR path, PEXCEPTION_POINTERS faults);";
    let row = f.good("function.patch", patch("140001000", json!({"prototype": text})));
    assert_eq!(row["signature"], "DWORD __stdcall take(LPCWSTR path, PEXCEPTION_POINTERS faults)");
    let f = open("inventory.x64.O2.stripped");
    let refused = f.bad("function.patch", patch("entry", json!({"prototype": text})));
    assert_eq!(refused.1, "validation_failed", "elsewhere nothing is called DWORD");
}

#[test]
fn a_prototype_shows_in_the_function_and_in_its_callers() {
    let f = open("inventory.x64.O2.stripped");
    let full = open("inventory.x64.O2");
    let entry = entry_of(&full, "add_item");
    let ids = |reply: &Value| -> Vec<Value> {
        let rows = reply["parameters"].as_array().expect("is a list").clone();
        rows.iter().map(|row| row["id"].clone()).collect()
    };
    let shown = ids(&f.decompiled(&entry));
    let before = f.texts();
    let text = "struct item *add_item(int code, int kind, unsigned int count);";
    let row = f.good("function.patch", patch(&entry, json!({"prototype": text})));
    assert_eq!(row["signature"], "item * add_item(int code, int kind, uint count)");
    assert_eq!(ids(&row), shown, "what the decompiler showed keeps its identity");
    let storage: Vec<&Value> = row["parameters"]
        .as_array()
        .expect("is a list")
        .iter()
        .map(|row| &row["storage"]["serialization"])
        .collect();
    assert_eq!(storage, ["register:00000038:4", "register:00000030:4", "register:00000010:4"]);
    assert_eq!(row["return_storage"]["serialization"], "register:00000000:8");
    let now = f.text(&entry);
    assert!(now.starts_with("item * add_item(int code,int kind,uint count)"), "{now}");
    let mut concerned = callers(&f, &entry);
    for caller in &concerned {
        assert!(f.text(caller).contains("add_item("), "{caller}");
    }
    concerned.push(entry.clone());
    let unexpected: Vec<String> =
        changed(&f, &before).into_iter().filter(|at| !concerned.contains(at)).collect();
    assert_eq!(unexpected, Vec::<String>::new());
    let placeholder = "int _(int code, int amount, unsigned count)";
    let row = f.good("function.patch", patch(&entry, json!({"prototype": placeholder})));
    assert_eq!(row["name"], "add_item", "a placeholder is no name");
    assert_eq!(ids(&row), shown, "identities stay when a parameter is renamed");
}

#[test]
fn a_struct_pointer_makes_fields_of_offsets() {
    let f = open("inventory.x64.O2");
    let entry = entry_of(&f, "by_weight");
    f.session
        .write(|program| {
            let text = "struct item { int code; int kind; unsigned count; const char *label; };";
            engine::declarations::parse_places(text, &mut program.types, "/").map(|_| ())
        })
        .expect("the types can be read");
    let prototype = "int by_weight(struct item *left, struct item *right)";
    f.good("function.patch", patch(&entry, json!({"prototype": prototype})));
    let text = f.text(&entry);
    assert!(text.contains("left->kind") && text.contains("right->count"), "{text}");
}

#[test]
fn flags_comments_and_conventions_show() {
    let f = open("inventory.x64.O2");
    let entry = entry_of(&f, "depth_of");
    let row = f.good(
        "function.patch",
        patch(&entry, json!({"comment": "counts\0 levels", "return_type": {"kind": "named", "name": "short"}})),
    );
    assert_eq!(row["comment"], "counts levels");
    assert_eq!(row["return_storage"]["serialization"], "register:00000000:2");
    let text = f.text(&entry);
    assert!(text.starts_with("/* counts levels */"), "{text}");
    assert!(words(&text).contains(&"short".to_owned()), "{text}");
    let row = f.good("function.patch", patch(&entry, json!({"comment": null})));
    assert!(row.get("comment").is_none());
    assert!(!f.text(&entry).contains("counts levels"));
    let row = f.good("function.patch", patch(&entry, json!({"calling_convention": "MSABI"})));
    assert_eq!(row["calling_convention"], "MSABI");
    let row = f.good("function.patch", patch(&entry, json!({"calling_convention": "unknown"})));
    assert_eq!(row["calling_convention"], "unknown");
    let row = f.good("function.patch", patch(&entry, json!({"stack_purge_size": 8})));
    assert_eq!(row["stack_purge_size"], 8);
    let unknown = f.good("function.patch", patch(&entry, json!({"stack_purge_size": 2147483647})));
    assert!(unknown.get("stack_purge_size").is_none());
    for flag in ["is_inline", "has_var_args", "has_no_return"] {
        for value in [true, false] {
            let row = f.good("function.patch", patch(&entry, json!({ flag: value })));
            assert_eq!(row[flag], value, "{flag}");
        }
    }
}

#[test]
fn callers_stop_where_a_function_does_not_come_back_and_go_on_where_it_does() {
    let f = open("inventory.x64.O2");
    let entry = entry_of(&f, "print_shelf");
    let caller = entry_of(&f, "main");
    let before = f.text(&caller);
    assert!(before.contains("total %lu"), "{before}");
    let row = f.good("function.patch", patch(&entry, json!({"has_no_return": true})));
    assert!(row["signature"].as_str().expect("is text").starts_with("noreturn "));
    let stopped = f.text(&caller);
    assert!(!stopped.contains("total %lu"), "{stopped}");
    f.good("function.patch", patch(&entry, json!({"has_no_return": false})));
    assert_eq!(f.text(&caller), before);
    let never = entry_of(&f, "give_up");
    f.good("function.patch", patch(&never, json!({"has_no_return": false})));
    assert_ne!(f.text(&caller), before, "calls that ended their path go on");
}

#[test]
fn storage_set_by_hand_stays_until_it_is_given_up() {
    let f = open("inventory.x64.O2");
    let entry = entry_of(&f, "depth_of");
    f.good("function.patch", patch(&entry, json!({"prototype": "int depth_of(int code)"})));
    let by_hand = json!({"return_storage": {"kind": "register", "register": "EDX"}});
    let row = f.good("function.patch", patch(&entry, by_hand));
    assert_eq!(row["has_custom_variable_storage"], true);
    assert_eq!(row["return_storage"]["serialization"], "register:00000010:4");
    assert_eq!(row["parameters"][0]["storage"]["serialization"], "register:00000038:4");
    let given_up = json!({"has_custom_variable_storage": false});
    let row = f.good("function.patch", patch(&entry, given_up));
    assert_eq!(row["return_storage"]["serialization"], "register:00000000:4");
}

#[test]
fn refused_patches_say_where_and_why() {
    let f = open("inventory.x64.O2");
    let entry = entry_of(&f, "depth_of");
    let request = "invalid_request";
    for (body, code, target) in [
        (json!({}), "invalid_count", "/params/patch"),
        (json!({"name": "two words"}), request, "/params/patch/name"),
        (json!({"calling_convention": "__nix"}), request, "/params/patch/calling_convention"),
        (
            json!({"return_type": {"kind": "named", "name": "nix"}}),
            "invalid_data_type",
            "/params/patch/return_type/name",
        ),
        (
            json!({"return_type": {"kind": "named", "name": "string"}}),
            "invalid_data_type",
            "/params/patch/return_type",
        ),
        (
            json!({"return_storage": {"kind": "register", "register": "EAX"},
                "has_custom_variable_storage": false}),
            request,
            "/params/patch/has_custom_variable_storage",
        ),
        (
            json!({"return_type": {"kind": "named", "name": "int"},
                "return_storage": {"kind": "register", "register": "RAX"}}),
            request,
            "/params/patch/return_storage/register",
        ),
        (
            json!({"return_type": {"kind": "named", "name": "int"},
                "return_storage": {"kind": "register", "register": "NIX"}}),
            request,
            "/params/patch/return_storage/register",
        ),
        (
            json!({"return_type": {"kind": "named", "name": "int"},
                "return_storage": {"kind": "serialization", "serialization": "<VOID>"}}),
            request,
            "/params/patch/return_storage/serialization",
        ),
        (json!({"prototype": "int ("}), "validation_failed", "/params/patch/prototype"),
        (json!({"prototype": "int x"}), "validation_failed", "/params/patch/prototype"),
        (json!({"prototype": "int f(nix a)"}), "validation_failed", "/params/patch/prototype"),
        (
            json!({"prototype": "int f(int a, int a)"}),
            "validation_failed",
            "/params/patch/prototype",
        ),
    ] {
        let shown = body.to_string();
        let fault = f.bad("function.patch", patch(&entry, body));
        assert_eq!(fault, (400, code, target.to_owned()), "{shown}");
    }
    let fault = f.fault("function.patch", patch(&entry, json!({"calling_convention": "__nix"})));
    assert!(fault.details["candidates"].as_array().expect("a list").contains(&json!("__stdcall")));
    let fault = f.fault("function.patch", patch(&entry, json!({"prototype": "int f(\n nix a)"})));
    assert_eq!(fault.details["line"], 2);
    let inside = format!("{entry}+1");
    let fault = f.bad("function.patch", patch(&inside, json!({"name": "x"})));
    assert_eq!(fault, (404, "not_found", "/params/selector/entry".to_owned()));
    let fault = f.bad("function.patch", patch("nowhere", json!({"name": "x"})));
    assert_eq!(fault, (400, "invalid_address", "/params/selector/entry".to_owned()));
}

#[test]
fn a_deleted_function_can_be_made_again() {
    for name in ["inventory.x64.O2", "inventory.aarch64.O2", "tiny.x64.O2.static"] {
        let f = open(name);
        let before = f.texts();
        let mut made = 0;
        for (entry, text) in &before {
            let was = f.good("function.get", json!({"selector": {"entry": entry}}));
            if was["thunk"] == true {
                continue;
            }
            f.good("function.delete", json!({"selector": {"entry": entry}}));
            let again = f.good("function.create", json!({"resource": {"entry": entry}}));
            for member in ["name", "body", "has_no_return", "parameter_count"] {
                assert_eq!(again[member], was[member], "{name} {entry}: {member}");
            }
            assert_eq!(&f.text(entry), text, "{name} {entry}");
            made += 1;
        }
        assert!(made >= 3, "{name}: {made}");
    }
}

#[test]
fn functions_are_made_where_they_may_be_and_nowhere_else() {
    let f = open("inventory.x64.O2");
    let create = |resource: Value| json!({"resource": resource});
    let entry = entry_of(&f, "depth_of");
    let fault = f.fault("function.create", create(json!({"entry": entry})));
    assert_eq!((fault.status(), fault.code.as_str()), (409, "function_exists"));
    assert_eq!(fault.target, "/params/resource/entry");
    assert_eq!(fault.details["name"], "depth_of");
    let inside = f.good(
        "instruction.list",
        json!({"scan": {"range": {"start": entry}}, "page": {"limit": 3}}),
    );
    let second = inside["items"][1]["address"].as_str().expect("is text").to_owned();
    let third = inside["items"][2]["address"].as_str().expect("is text").to_owned();
    let body = json!({"start": second, "end": third});
    let fault = f.fault("function.create", create(json!({"entry": second, "body": body})));
    assert_eq!((fault.status(), fault.code.as_str()), (409, "body_conflict"));
    assert_eq!(fault.target, "/params/resource/body");
    assert_eq!(fault.details["name"], "depth_of");
    let shelf = "shelf_used";
    for (resource, code, target) in [
        (json!({"entry": format!("{entry}+1")}), "not_code", "/params/resource/entry"),
        (json!({"entry": shelf}), "not_code", "/params/resource/entry"),
        (json!({"entry": "9999999999"}), "not_code", "/params/resource/entry"),
        (json!({"entry": "nowhere"}), "invalid_address", "/params/resource/entry"),
        (json!({"entry": second, "name": "two words"}), "invalid_request", "/params/resource/name"),
        (
            json!({"entry": second, "body": {"start": third, "end": second}}),
            "invalid_request",
            "/params/resource/body",
        ),
        (
            json!({"entry": second, "body": {"start": third, "end": third}}),
            "invalid_request",
            "/params/resource/body",
        ),
        (
            json!({"entry": second, "body": {"start": "nix", "end": third}}),
            "invalid_address",
            "/params/resource/body/start",
        ),
    ] {
        let shown = resource.to_string();
        let fault = f.bad("function.create", create(resource));
        assert_eq!(fault, (400, code, target.to_owned()), "{shown}");
    }
    f.good("function.delete", json!({"selector": {"entry": entry}}));
    let body = json!({"start": entry, "end": third});
    let row =
        f.good("function.create", create(json!({"entry": entry, "name": "part", "body": body})));
    assert_eq!(row["name"], "part");
    assert_eq!((&row["body"]["start"], &row["body"]["end"]), (&json!(entry), &json!(third)));
}
