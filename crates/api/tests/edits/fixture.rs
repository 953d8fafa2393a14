//! A bridge over an analysed program, and texts to compare.

use std::time::Duration;

use api::{Bridge, BridgeError, BridgeOptions, CallContext, Transport, registry};
use engine::{AnalysisKind, OpenOptions, Session};
use serde_json::{Value, json};

/// An open program behind the contract.
pub struct Fixture {
    /// The bridge.
    pub bridge: Bridge,
    /// Its session.
    pub session: Session,
}

/// A fixture, analysed.
pub fn open(name: &str) -> Fixture {
    let session = Session::open(&testkit::fixture(name), &OpenOptions::default()).expect(name);
    session.start_analysis(AnalysisKind::Ghidra, None).expect("nothing runs yet");
    assert!(session.wait_for_analysis(Duration::from_secs(120)), "{name} is analysed");
    let options = BridgeOptions { session_id: "s1".to_owned(), ..BridgeOptions::default() };
    Fixture { bridge: Bridge::new(session.clone(), options), session }
}

impl Fixture {
    fn call(&self, method: &str, params: Value) -> Result<Value, BridgeError> {
        let reply = self.bridge.call(method, params, &CallContext::new(Transport::WebSocket))?;
        let row = registry().find(method).expect("is a method");
        row.check_reply(&reply).unwrap_or_else(|fault| panic!("{method}: {fault:?}\n{reply:#}"));
        Ok(reply)
    }

    /// A call that must succeed.
    pub fn good(&self, method: &str, params: Value) -> Value {
        let shown = params.to_string();
        self.call(method, params).unwrap_or_else(|error| panic!("{method} {shown}: {error:?}"))
    }

    /// Status, code and target of a call that must fail and change nothing.
    pub fn bad(&self, method: &str, params: Value) -> (u16, &'static str, String) {
        let error = self.fault(method, params);
        (error.status(), error.code.as_str(), error.target)
    }

    /// The error of a call that must fail and change nothing.
    pub fn fault(&self, method: &str, params: Value) -> BridgeError {
        let before = self.session.snapshot();
        let shown = params.to_string();
        let outcome = self.call(method, params);
        let error = outcome.expect_err(&format!("{method} {shown} must fail"));
        let unchanged = std::sync::Arc::ptr_eq(&before, &self.session.snapshot());
        assert!(unchanged, "{method} {shown} failed but changed the program");
        error
    }

    /// The decompilation of a function.
    pub fn decompiled(&self, entry: &str) -> Value {
        let reply = self.good("decompilation.get", json!({"selector": {"entry": entry}}));
        assert_eq!(reply["completed"], true, "{entry}: {}", reply["warnings"]);
        reply
    }

    /// The C text of a function.
    pub fn text(&self, entry: &str) -> String {
        self.decompiled(entry)["c"].as_str().expect("is text").to_owned()
    }

    /// The entries of all functions with code of their own.
    pub fn entries(&self) -> Vec<String> {
        let program = self.session.snapshot();
        let own = program.functions.iter().filter(|function| {
            let block = program.memory.block_at(function.entry);
            block.is_some_and(|block| block.permissions.execute && !block.permissions.artificial)
        });
        own.map(|function| program.spaces.print(function.entry).to_string()).collect()
    }

    /// The texts of all functions.
    pub fn texts(&self) -> Vec<(String, String)> {
        self.entries().into_iter().map(|entry| (entry.clone(), self.text(&entry))).collect()
    }
}

/// A text as words and signs: line breaks fall elsewhere when names are longer.
pub fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for character in text.chars() {
        let in_word = |c: char| c.is_alphanumeric() || c == '_';
        let joins = in_word(character)
            && words.last().and_then(|word| word.chars().last()).is_some_and(in_word);
        if character.is_whitespace() {
            words.push(String::new());
        } else if joins {
            words.last_mut().expect("never empty").push(character);
        } else {
            words.push(character.to_string());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The words of a text with one name in place of another.
pub fn renamed(text: &str, old: &str, new: &str) -> Vec<String> {
    words(text).into_iter().map(|word| if word == old { new.to_owned() } else { word }).collect()
}
