//! Lists inside of answers end after a thousand rows, and the answer says so whatever is selected.

use serde_json::{Value, json};

use crate::fixture::{Fixture, open};

const ENTRY: &str = "weight_of";
const LONGEST: usize = 1000;

/// Gives the function so many parameters.
fn declare(f: &Fixture, count: usize) {
    let parameters = numbered(count, |n| format!("int p{n}"), ", ");
    let patch = json!({"prototype": format!("int {ENTRY}({parameters})")});
    f.good("function.patch", json!({"selector": {"entry": ENTRY}, "patch": patch}));
}

fn rows(answer: &Value, member: &str) -> usize {
    answer[member].as_array().unwrap_or_else(|| panic!("no {member}: {answer}")).len()
}

fn numbered(count: usize, row: impl Fn(usize) -> String, between: &str) -> String {
    (0..count).map(row).collect::<Vec<_>>().join(between)
}

#[test]
fn long_member_lists_are_cut_and_the_answer_says_so() {
    let f = open("inventory.x64.O2");
    for (name, count, truncated) in [("fits", LONGEST, None), ("longer", LONGEST + 1, Some(true))] {
        let fields = numbered(count, |n| format!("int f{n};"), " ");
        let source = format!("struct {name} {{ {fields} }};");
        f.good("data_type.create", json!({"resource": {"kind": "c", "source": source}}));
        let get = |fields: Value| {
            let selector = json!({"path": format!("/{name}")});
            f.good("data_type.get", json!({"selector": selector, "projection": {"fields": fields}}))
        };
        for fields in [json!(["fields"]), json!(["fields", "truncated"])] {
            let answer = get(fields);
            assert_eq!(rows(&answer, "fields"), LONGEST, "{name}");
            assert_eq!(answer.get("truncated").and_then(Value::as_bool), truncated, "{name}");
        }
    }
}

/// Six registers and 500 bytes of stack are all that the convention has.
#[test]
fn parameters_without_a_place_are_left_out_and_the_answer_says_so() {
    let f = open("inventory.x64.O2");
    for (count, left_out) in [(68, None), (69, Some("1"))] {
        declare(&f, count);
        let answer = f.good("decompilation.get", json!({"selector": {"entry": ENTRY}}));
        assert_eq!((&answer["completed"], rows(&answer, "parameters")), (&json!(true), 68));
        let warnings = answer["warnings"].as_array().expect("is a list").iter();
        let mut texts = warnings.filter_map(Value::as_str);
        let found = texts.find_map(|text| text.split_once("left out: ").map(|(_, count)| count));
        assert_eq!(found, left_out, "{answer}");
    }
}

#[test]
fn types_made_by_one_text_are_cut_and_the_answer_says_so() {
    for (count, truncated) in [(LONGEST, None), (LONGEST + 1, Some(json!(true)))] {
        let f = open("inventory.x64.O2");
        let source = numbered(count, |n| format!("typedef int t{n};"), "\n");
        let made = f.good("data_type.create", json!({"resource": {"kind": "c", "source": source}}));
        assert_eq!(rows(&made, "items"), LONGEST);
        assert_eq!(made.get("truncated"), truncated.as_ref(), "{count}");
    }
}
