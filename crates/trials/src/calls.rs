//! Calls against an open program: cursors and addresses of any text, and a list
//! of calls beside a model that says what each must answer.

use api::{Bridge, BridgeError, BridgeOptions, CallContext, ErrorCode, Transport};
use engine::{LoadOptions, Session};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Bytes of the program that is open: a few instructions and some text.
const CODE: &[u8] = b"\x55\x48\x89\xe5\x31\xc0\x5d\xc3 some text to look at, and zeros\0\0\0\0";
const BASE: u64 = 0x10_0000;

fn session() -> Session {
    let options = LoadOptions {
        language: Some("x86:LE:64:default".into()),
        compiler_spec: Some("gcc".into()),
        base: Some(BASE),
        format: engine::Format::Raw,
        ..LoadOptions::default()
    };
    let program = loader::load("trial", "trial", CODE.into(), &options).expect("it loads");
    Session::from_program(program).expect("its language is built in")
}

fn bridge() -> Bridge {
    Bridge::new(session(), BridgeOptions { session_id: "trial".into(), ..Default::default() })
}

/// One program for all trials that only read.
fn shared() -> &'static Bridge {
    static BRIDGE: OnceLock<Bridge> = OnceLock::new();
    BRIDGE.get_or_init(bridge)
}

fn call(bridge: &Bridge, method: &str, params: Value) -> Result<Value, BridgeError> {
    let answer = bridge.call(method, params, &CallContext::new(Transport::WebSocket));
    if let Err(error) = &answer {
        assert_ne!(error.code, ErrorCode::InternalError, "{method}");
        assert!((400..500).contains(&error.status()), "{method}: {error:?}");
    }
    answer
}

/// A cursor that was not handed out is refused, whatever it is.
pub fn cursors(text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    for method in ["memory_block.list", "symbol.list", "code_unit.list"] {
        let params = json!({"page": {"cursor": text}});
        assert!(call(shared(), method, params).is_err(), "{method} took {text:?}");
    }
}

/// An address that is understood is printed in a form that means the same.
pub fn addresses(text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    let resolve =
        |text: &str| call(shared(), "address.resolve", json!({"selector": {"address": text}}));
    let Ok(found) = resolve(&text) else { return };
    let printed = found["address"].as_str().expect("an address").to_owned();
    let again = resolve(&printed).unwrap_or_else(|error| panic!("{text:?}: {printed}: {error:?}"));
    assert_eq!(again["address"], found["address"], "{text:?}");
}

/// A list of calls on comments, one for each four bytes, beside a model.
pub fn comments(bytes: &[u8]) {
    const TYPES: [&str; 5] = ["plate", "pre", "eol", "post", "repeatable"];
    // A program of its own, but the same for every list: comments are undone below.
    static BRIDGE: OnceLock<std::sync::Mutex<Bridge>> = OnceLock::new();
    let bridge = BRIDGE.get_or_init(|| bridge().into()).lock();
    let bridge = bridge.unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut model: BTreeMap<(u64, &str), String> = BTreeMap::new();
    for step in bytes.chunks_exact(4).take(200) {
        // Only starts of code units: nothing is decoded here, so every byte is one.
        let at = BASE + u64::from(step[1]) % CODE.len() as u64;
        let kind = TYPES[usize::from(step[2]) % TYPES.len()];
        let text = format!("note {}", step[3]);
        let place = json!({"address": format!("{at:x}"), "type": kind});
        let mut resource = place.clone();
        resource["text"] = text.as_str().into();
        let key = (at, kind);
        match step[0] % 5 {
            0 => match call(&bridge, "comment.create", json!({"resource": resource})) {
                Ok(_) => assert_eq!(model.insert(key, text), None, "{place}"),
                Err(error) => {
                    assert_eq!(error.code, ErrorCode::CommentExists);
                    assert!(model.contains_key(&key), "{place}");
                }
            },
            1 => {
                call(&bridge, "comment.upsert", json!({"resource": resource})).expect("an upsert");
                model.insert(key, text);
            }
            2 => {
                let answer = call(&bridge, "comment.delete", json!({"selector": place}));
                assert_eq!(answer.is_ok(), model.remove(&key).is_some(), "{place}");
            }
            3 => {
                let answer = call(&bridge, "comment.get", json!({"selector": place}));
                let text = answer.ok().and_then(|row| row["text"].as_str().map(str::to_owned));
                assert_eq!(text.as_ref(), model.get(&key), "{place}");
            }
            _ => assert_eq!(listed(&bridge), model.len()),
        }
    }
    assert_eq!(listed(&bridge), model.len());
    for (at, kind) in model.into_keys() {
        let place = json!({"address": format!("{at:x}"), "type": kind});
        call(&bridge, "comment.delete", json!({"selector": place})).expect("it is there");
    }
    assert_eq!(listed(&bridge), 0);
}

/// How many comments there are, by pages.
fn listed(bridge: &Bridge) -> usize {
    let mut count = 0;
    let mut page = json!({"limit": 7});
    loop {
        let answer = call(bridge, "comment.list", json!({"page": page})).expect("a list");
        count += answer["items"].as_array().expect("rows").len();
        match &answer["next_cursor"] {
            Value::String(cursor) => page = json!({"limit": 7, "cursor": cursor}),
            _ => return count,
        }
    }
}
