//! Random writes, refusals and rolled back batches against a simple model, the whole program
//! compared: what failed leaves no trace, what succeeded is exactly what was asked for.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{call, good, sample, serve, session_of};
use api::Bridge;

const COMMENTED: [u64; 3] = [0x1000, 0x1001, 0x2003];
const COMMENT_TYPES: [&str; 2] = ["eol", "pre"];
const SLOTS: [u64; 4] = [0x200e, 0x200f, 0x2010, 0x2012];
const WRITTEN: [u64; 4] = [0x1002, 0x2000, 0x200f, 0x201a];
const DATA: std::ops::Range<u64> = 0x2000..0x201c;
const NAMES: [&str; 4] = ["one_name", "two_name", "answer", "not a name"];
const STRUCTS: [&str; 2] = ["Alpha", "Beta"];
const FIELDS: [&str; 2] = ["x", "y"];
const OVERRIDES: [&str; 3] = ["none", "branch", "return"];
const CALL_AT: u64 = 0x1004;

#[derive(Debug, Clone, Copy)]
enum Verb {
    Create,
    Patch,
    Upsert,
    Delete,
}

/// One write, in indices of the lists above.
#[derive(Debug, Clone)]
enum Op {
    Comment(Verb, usize, usize, u8),
    Variable { verb: Verb, slot: usize, name: usize, wide: bool, name_too: bool },
    Bytes { at: usize, data: Vec<u8> },
    Symbol { name: usize },
    Flow { to: usize, expected: Option<usize> },
    Type(Verb, usize),
    AddField { of: usize, field: usize },
    RenameField { of: usize, from: usize, to: usize },
    RemoveField { of: usize, field: usize },
    Malformed,
}

#[derive(Debug, Clone)]
enum Step {
    Single(Op),
    Batch { all_or_none: bool, ops: Vec<Op> },
}

fn verb() -> impl Strategy<Value = Verb> {
    prop_oneof![Just(Verb::Create), Just(Verb::Patch), Just(Verb::Upsert), Just(Verb::Delete)]
}

fn op() -> impl Strategy<Value = Op> {
    let variable = (verb(), 0..SLOTS.len(), 0..NAMES.len(), any::<bool>(), any::<bool>());
    let bytes = (0..WRITTEN.len(), proptest::collection::vec(any::<u8>(), 1..4));
    prop_oneof![
        4 => (verb(), 0..COMMENTED.len(), 0..COMMENT_TYPES.len(), 0..3u8)
            .prop_map(|(verb, at, kind, text)| Op::Comment(verb, at, kind, text)),
        4 => variable.prop_map(|(verb, slot, name, wide, name_too)| Op::Variable {
            verb, slot, name, wide, name_too,
        }),
        2 => bytes.prop_map(|(at, data)| Op::Bytes { at, data }),
        1 => (0..NAMES.len()).prop_map(|name| Op::Symbol { name }),
        1 => (0..OVERRIDES.len(), proptest::option::of(0..OVERRIDES.len()))
            .prop_map(|(to, expected)| Op::Flow { to, expected }),
        2 => (prop_oneof![Just(Verb::Create), Just(Verb::Delete)], 0..STRUCTS.len())
            .prop_map(|(verb, of)| Op::Type(verb, of)),
        3 => (0..STRUCTS.len(), 0..FIELDS.len())
            .prop_map(|(of, field)| Op::AddField { of, field }),
        2 => (0..STRUCTS.len(), 0..FIELDS.len(), 0..FIELDS.len())
            .prop_map(|(of, from, to)| Op::RenameField { of, from, to }),
        1 => (0..STRUCTS.len(), 0..FIELDS.len())
            .prop_map(|(of, field)| Op::RemoveField { of, field }),
        1 => Just(Op::Malformed),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => op().prop_map(Step::Single),
        1 => (any::<bool>(), proptest::collection::vec(op(), 1..6))
            .prop_map(|(all_or_none, ops)| Step::Batch { all_or_none, ops }),
    ]
}

impl Op {
    fn call(&self, answer: &str) -> (&'static str, Value) {
        let hex = |address: u64| format!("{address:x}");
        match self {
            Op::Comment(verb, at, kind, text) => {
                let selector =
                    json!({"address": hex(COMMENTED[*at]), "type": COMMENT_TYPES[*kind]});
                let mut resource = selector.clone();
                resource["text"] = json!(format!("text {text}"));
                let patch = json!({"text": format!("text {text}")});
                match verb {
                    Verb::Create => ("comment.create", json!({"resource": resource})),
                    Verb::Upsert => ("comment.upsert", json!({"resource": resource})),
                    Verb::Patch => ("comment.patch", json!({"selector": selector, "patch": patch})),
                    Verb::Delete => ("comment.delete", json!({"selector": selector})),
                }
            }
            Op::Variable { verb, slot, name, wide, name_too } => {
                let data_type =
                    json!({"kind": "named", "name": if *wide { "int" } else { "byte" }});
                let address = hex(SLOTS[*slot]);
                let selector = json!({"address": address});
                let resource =
                    json!({"address": address, "name": NAMES[*name], "data_type": data_type});
                let mut patch = json!({"data_type": data_type});
                if *name_too {
                    patch["name"] = json!(NAMES[*name]);
                }
                match verb {
                    Verb::Create => ("global_variable.create", json!({"resource": resource})),
                    Verb::Upsert => ("global_variable.upsert", json!({"resource": resource})),
                    Verb::Patch => {
                        ("global_variable.patch", json!({"selector": selector, "patch": patch}))
                    }
                    Verb::Delete => (
                        "global_variable.delete",
                        json!({"selector": selector, "delete_symbol": name_too}),
                    ),
                }
            }
            Op::Bytes { at, data } => {
                let text: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
                let bytes = json!({"encoding": "hex", "data": text, "length": data.len()});
                let selector = json!({"address": hex(WRITTEN[*at])});
                ("memory.write", json!({"selector": selector, "patch": {"bytes": bytes}}))
            }
            Op::Symbol { name } => (
                "symbol.patch",
                json!({"selector": {"id": answer}, "patch": {"name": NAMES[*name]}}),
            ),
            Op::Flow { to, expected } => {
                let mut patch = json!({"flow_override": OVERRIDES[*to]});
                if let Some(expected) = expected {
                    patch["expected_flow_overrides"] = json!([OVERRIDES[*expected]]);
                }
                let selector = json!({"kind": "address", "address": hex(CALL_AT)});
                ("flow_override.patch", json!({"selector": selector, "patch": patch}))
            }
            Op::Type(Verb::Delete, of) => {
                ("data_type.delete", json!({"selector": {"path": format!("/{}", STRUCTS[*of])}}))
            }
            Op::Type(_, of) => {
                ("data_type.create", json!({"resource": {"kind": "struct", "name": STRUCTS[*of]}}))
            }
            Op::AddField { of, field } => {
                let int = json!({"kind": "named", "name": "int"});
                edit(*of, "add_fields", json!({"name": FIELDS[*field], "data_type": int}))
            }
            Op::RenameField { of, from, to } => {
                let names = json!({"name": FIELDS[*from], "new_name": FIELDS[*to]});
                edit(*of, "rename_fields", names)
            }
            Op::RemoveField { of, field } => {
                edit(*of, "remove_fields", json!({"name": FIELDS[*field]}))
            }
            Op::Malformed => ("comment.create", json!({"resource": {"address": "1000"}})),
        }
    }
}

fn edit(of: usize, list: &str, edit: Value) -> (&'static str, Value) {
    let selector = json!({"path": format!("/{}", STRUCTS[of])});
    ("data_type.patch", json!({"selector": selector, "patch": {"kind": "struct", list: [edit]}}))
}

/// Everything that the writes can change, as simple tables.
#[derive(Debug, Clone, PartialEq)]
struct Model {
    comments: BTreeMap<(u64, String), String>,
    /// Length of each variable.
    variables: BTreeMap<u64, u64>,
    /// Names of places that have variables, or had.
    names: BTreeMap<u64, String>,
    bytes: Vec<u8>,
    flow: String,
    /// Names of the members of each structure; each has four bytes.
    types: BTreeMap<String, Vec<String>>,
    /// Whether the symbol that stood at the third slot from the start still does.
    answer_stands: bool,
}

fn address(value: &Value) -> u64 {
    let text = value.as_str().expect("an address");
    u64::from_str_radix(text.rsplit(':').next().expect("digits"), 16).expect("hex")
}

fn rows(reply: &Value) -> &Vec<Value> {
    reply["items"].as_array().expect("rows")
}

impl Model {
    /// What the bridge says of its program.
    fn read(bridge: &Bridge, answer: &str) -> Model {
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let comments = good(bridge, "comment.list", json!({}));
        let comments = rows(&comments)
            .iter()
            .map(|row| ((address(&row["address"]), text(&row["type"])), text(&row["text"])));
        let range = json!({"scan": {"range": {"start": "200e", "end": "2013"}}});
        let variables = good(bridge, "global_variable.list", range.clone());
        let variables = rows(&variables)
            .iter()
            .map(|row| (address(&row["address"]), row["length"].as_u64().expect("a length")));
        let names = good(bridge, "symbol.list", range);
        let names = rows(&names).iter().map(|row| (address(&row["address"]), text(&row["name"])));
        let length = DATA.end - DATA.start;
        let bytes =
            good(bridge, "memory.read", json!({"selector": {"address": "2000"}, "length": length}));
        let digits = text(&bytes["bytes"]["data"]);
        let bytes = (0..digits.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hex"));
        let call_at = json!({"selector": {"address": format!("{CALL_AT:x}")}});
        let flow = good(bridge, "instruction.get", call_at);
        let structs = good(bridge, "data_type.list", json!({"filter": {"kind": "struct"}}));
        let types = rows(&structs).iter().map(|row| {
            let whole = good(bridge, "data_type.get", json!({"selector": {"path": row["path"]}}));
            let fields = whole["fields"].as_array().expect("members");
            for (index, field) in fields.iter().enumerate() {
                assert_eq!((&field["offset"], &field["length"]), (&json!(4 * index), &json!(4)));
            }
            assert_eq!(whole["size"], json!((4 * fields.len()).max(1)));
            (text(&row["name"]), fields.iter().map(|field| text(&field["name"])).collect())
        });
        Model {
            comments: comments.collect(),
            variables: variables.collect(),
            names: names.collect(),
            bytes: bytes.collect(),
            flow: text(&flow["flow_override"]),
            types: types.collect(),
            answer_stands: call(bridge, "symbol.get", json!({"selector": {"id": answer}})).is_ok(),
        }
    }

    /// Does what an operation asks for, or says with which code it is refused.
    fn apply(&mut self, op: &Op) -> Result<(), &'static str> {
        match op {
            Op::Comment(verb, at, kind, text) => {
                let key = (COMMENTED[*at], COMMENT_TYPES[*kind].to_owned());
                let there = self.comments.contains_key(&key);
                match verb {
                    Verb::Create if there => return Err("comment_exists"),
                    Verb::Patch | Verb::Delete if !there => return Err("not_found"),
                    Verb::Delete => self.comments.remove(&key),
                    _ => self.comments.insert(key, format!("text {text}")),
                };
                Ok(())
            }
            Op::Variable { verb, slot, name, wide, name_too } => self.variable(
                *verb,
                SLOTS[*slot],
                NAMES[*name],
                if *wide { 4 } else { 1 },
                *name_too,
            ),
            Op::Bytes { at, data } => {
                let start = WRITTEN[*at];
                let end = start + data.len() as u64;
                if !DATA.contains(&start) || end > DATA.end {
                    return Err("invalid_request");
                }
                let from = (start - DATA.start) as usize;
                self.bytes[from..from + data.len()].copy_from_slice(data);
                Ok(())
            }
            Op::Symbol { name } => match NAMES[*name] {
                _ if !self.answer_stands => Err("not_found"),
                name if name.contains(' ') => Err("invalid_request"),
                name => {
                    self.names.insert(SLOTS[2], name.to_owned());
                    Ok(())
                }
            },
            Op::Flow { to, expected } => {
                if expected.is_some_and(|expected| OVERRIDES[expected] != self.flow) {
                    return Err("flow_override_conflict");
                }
                OVERRIDES[*to].clone_into(&mut self.flow);
                Ok(())
            }
            Op::Type(Verb::Delete, of) => {
                self.types.remove(STRUCTS[*of]).map(|_| ()).ok_or("not_found")
            }
            Op::Type(_, of) => match self.types.entry(STRUCTS[*of].to_owned()) {
                std::collections::btree_map::Entry::Occupied(_) => Err("data_type_exists"),
                std::collections::btree_map::Entry::Vacant(free) => {
                    free.insert(Vec::new());
                    Ok(())
                }
            },
            Op::AddField { of, field } => {
                let fields = self.types.get_mut(STRUCTS[*of]).ok_or("not_found")?;
                fields.push(FIELDS[*field].to_owned());
                Ok(())
            }
            Op::RenameField { of, from, to } => {
                let fields = self.types.get_mut(STRUCTS[*of]).ok_or("not_found")?;
                let mut meant = fields.iter_mut().filter(|name| *name == FIELDS[*from]);
                match (meant.next(), meant.next()) {
                    (None, _) => Err("not_found"),
                    (Some(_), Some(_)) => Err("invalid_request"),
                    (Some(name), None) => {
                        FIELDS[*to].clone_into(name);
                        Ok(())
                    }
                }
            }
            Op::RemoveField { of, field } => {
                let fields = self.types.get_mut(STRUCTS[*of]).ok_or("not_found")?;
                fields.retain(|name| name != FIELDS[*field]);
                Ok(())
            }
            Op::Malformed => Err("missing_field"),
        }
    }

    fn variable(
        &mut self,
        verb: Verb,
        at: u64,
        name: &str,
        length: u64,
        name_too: bool,
    ) -> Result<(), &'static str> {
        let there = self.variables.contains_key(&at);
        // The pointer behind the slots is in the way as well.
        let others = self.variables.iter().map(|(at, length)| (*at, *length)).chain([(0x2014, 8)]);
        let overlaps =
            |(start, size): (u64, u64)| start != at && start < at + length && at < start + size;
        let blocked = others.filter(|other| overlaps(*other)).count() > 0;
        let nameless = name.contains(' ');
        match verb {
            Verb::Create if there => return Err("global_variable_exists"),
            Verb::Create | Verb::Upsert if nameless => return Err("invalid_request"),
            Verb::Create if blocked => return Err("global_variable_exists"),
            Verb::Upsert if blocked => return Err("global_variable_conflict"),
            Verb::Patch | Verb::Delete if !there => return Err("not_found"),
            Verb::Delete => {
                self.variables.remove(&at);
                if name_too && self.names.remove(&at).is_some() && at == SLOTS[2] {
                    self.answer_stands = false;
                }
                return Ok(());
            }
            Verb::Patch if blocked => return Err("global_variable_conflict"),
            Verb::Patch if name_too && nameless => return Err("invalid_request"),
            _ => {}
        }
        self.variables.insert(at, length);
        if name_too || !matches!(verb, Verb::Patch) {
            self.names.insert(at, name.to_owned());
        }
        Ok(())
    }
}

/// A bridge over the sample, with the id of the symbol that the writes rename.
struct World {
    session: engine::Session,
    bridge: Bridge,
    answer: String,
}

impl World {
    fn new() -> World {
        let session = session_of(sample::program());
        let bridge = serve(session.clone());
        let listed = good(&bridge, "symbol.list", json!({"filter": {"address": "answer"}}));
        let answer = listed["items"][0]["id"].as_str().expect("an id").to_owned();
        World { session, bridge, answer }
    }

    /// Runs a step; the operations that succeeded.
    fn run(&self, step: &Step, model: &mut Model) -> Result<Vec<Op>, TestCaseError> {
        match step {
            Step::Single(op) => {
                let before = self.session.snapshot();
                let (method, params) = op.call(&self.answer);
                let expected = model.apply(op);
                let outcome = call(&self.bridge, method, params).map(|_| ());
                let found = outcome.map_err(|error| error.code.as_str());
                prop_assert_eq!(found, expected, "{:?}", op);
                self.unchanged_if(expected.is_err(), &before)?;
                Ok(expected.map_or(Vec::new(), |()| vec![op.clone()]))
            }
            Step::Batch { all_or_none, ops } => self.batch(*all_or_none, ops, model),
        }
    }

    fn batch(
        &self,
        all_or_none: bool,
        ops: &[Op],
        model: &mut Model,
    ) -> Result<Vec<Op>, TestCaseError> {
        let before = self.session.snapshot();
        let items: Vec<Value> = ops
            .iter()
            .enumerate()
            .map(|(index, op)| {
                let (method, arguments) = op.call(&self.answer);
                json!({"id": index.to_string(), "method": method, "arguments": arguments})
            })
            .collect();
        let mode = if all_or_none { "all_or_none" } else { "per_item" };
        let request = json!({"items": items, "transaction_mode": mode});
        let outcome = call(&self.bridge, "batch.execute", request);
        if ops.iter().any(|op| matches!(op, Op::Malformed)) {
            prop_assert_eq!(outcome.expect_err("is refused").code.as_str(), "validation_failed");
            self.unchanged_if(true, &before)?;
            return Ok(Vec::new());
        }
        let mut working = model.clone();
        let mut expected = Vec::new();
        for op in ops {
            expected.push(working.apply(op));
            if all_or_none && expected.last().is_some_and(Result::is_err) {
                break;
            }
        }
        if all_or_none && expected.iter().any(Result::is_err) {
            let error = outcome.expect_err("is rolled back");
            let failed = expected.len() - 1;
            prop_assert_eq!(error.code.as_str(), "batch_rolled_back");
            prop_assert_eq!(&error.details["failed_item"], &json!(failed.to_string()));
            let cause = expected[failed].expect_err("failed");
            prop_assert_eq!(&error.details["cause"]["code"], &json!(cause));
            self.unchanged_if(true, &before)?;
            return Ok(Vec::new());
        }
        let reply = outcome.expect("the batch runs");
        let found = rows(&reply).iter().map(|row| match row["error"]["code"].as_str() {
            Some(code) => Err(code),
            None => Ok(()),
        });
        prop_assert_eq!(found.collect::<Vec<_>>(), expected.clone());
        *model = working;
        let pairs = ops.iter().zip(expected);
        Ok(pairs.filter(|(_, outcome)| outcome.is_ok()).map(|(op, _)| op.clone()).collect())
    }

    /// A failed write publishes nothing at all.
    fn unchanged_if(
        &self,
        failed: bool,
        before: &Arc<program::Program>,
    ) -> Result<(), TestCaseError> {
        let same = Arc::ptr_eq(before, &self.session.snapshot());
        prop_assert!(!failed || same, "a failed write was published");
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn writes_do_what_they_say_or_nothing(steps in proptest::collection::vec(step(), 1..30)) {
        let world = World::new();
        let mut model = Model::read(&world.bridge, &world.answer);
        let mut done = Vec::new();
        for step in &steps {
            done.extend(world.run(step, &mut model)?);
            prop_assert_eq!(&Model::read(&world.bridge, &world.answer), &model, "after {:?}", step);
        }
        // The same program as if only what succeeded had been asked for, down to the last id.
        let other = World::new();
        for op in &done {
            let (method, params) = op.call(&other.answer);
            good(&other.bridge, method, params);
        }
        let dump = |world: &World| format!("{:?}", world.session.snapshot());
        prop_assert_eq!(dump(&world), dump(&other));
    }
}
