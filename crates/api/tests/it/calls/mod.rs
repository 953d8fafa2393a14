//! Calls against a small program made by hand, every reply held against its schema.

mod batch;
mod model;
mod paging;
mod reads;
mod refusals;
mod sample;
mod writes;

use serde_json::Value;

use api::{Bridge, BridgeError, BridgeOptions, CallContext, Transport, registry};

/// A bridge over the sample program.
fn bridge() -> Bridge {
    bridge_over(sample::program())
}

fn bridge_over(program: program::Program) -> Bridge {
    serve(session_of(program))
}

fn session_of(program: program::Program) -> engine::Session {
    engine::Session::from_program(program).expect("the language is built in")
}

fn serve(session: engine::Session) -> Bridge {
    Bridge::new(session, BridgeOptions { session_id: "s1".to_owned(), ..BridgeOptions::default() })
}

/// A call whose reply fits its schema. A projection into nested objects may leave out what
/// the schema requires inside of them; those replies are compared by the tests themselves.
fn call(bridge: &Bridge, method: &str, params: Value) -> Result<Value, BridgeError> {
    let nested = params.pointer("/projection/fields").is_some_and(|f| f.to_string().contains('.'));
    let reply = bridge.call(method, params, &CallContext::new(Transport::WebSocket))?;
    let row = registry().find(method).expect("is a method");
    if nested {
        return Ok(reply);
    }
    row.check_reply(&reply).unwrap_or_else(|fault| panic!("{method}: {fault:?}\n{reply:#}"));
    Ok(reply)
}

/// A call that must succeed.
fn good(bridge: &Bridge, method: &str, params: Value) -> Value {
    call(bridge, method, params.clone())
        .unwrap_or_else(|error| panic!("{method} {params}: {error:?}"))
}

/// Status, code and target of a call that must fail.
fn bad(bridge: &Bridge, method: &str, params: Value) -> (u16, &'static str, String) {
    let outcome = call(bridge, method, params.clone());
    let error = outcome.expect_err(&format!("{method} {params} must fail"));
    assert_eq!(error.to_json().as_object().map(serde_json::Map::len), Some(5));
    (error.status(), error.code.as_str(), error.target)
}
