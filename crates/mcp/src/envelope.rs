//! From bytes to a request or notification, or the error that answers them.

use crate::{Failure, Version};
use jsonrpc::Id;
use serde_json::{Map, Value};

/// A message whose envelope is in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Incoming {
    /// The id of a request; `None` for a notification.
    pub id: Option<Id>,
    /// The method; not blank.
    pub method: String,
    /// The parameters; `{}` when none were sent.
    pub params: Map<String, Value>,
}

/// A message that is refused, with the id of its answer where it has one.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The id to echo.
    pub id: Option<Id>,
    /// The error.
    pub failure: Failure,
    /// The version the message itself asks for, when it is an `initialize`.
    pub version: Option<Version>,
}

impl Refusal {
    fn new(id: Option<Id>, failure: Failure) -> Box<Refusal> {
        Box::new(Refusal { id, failure, version: None })
    }
}

/// Reads one message.
pub fn read(text: &[u8]) -> Result<Incoming, Box<Refusal>> {
    let value = jsonrpc::parse(text).map_err(|error| {
        let message = format!("The message is not valid JSON: {error}.");
        Refusal::new(None, Failure::parse_error(message))
    })?;
    let members = match value {
        Value::Object(members) => members,
        Value::Array(_) => {
            let message = "Batches are not supported; send one message at a time.";
            return Err(Refusal::new(None, Failure::invalid_request(message)));
        }
        _ => {
            let message = "A message must be a JSON object.";
            return Err(Refusal::new(None, Failure::invalid_request(message)));
        }
    };
    let version = handshake_version(&members);
    open(members).map_err(|refusal| Box::new(Refusal { version, ..*refusal }))
}

fn open(mut members: Map<String, Value>) -> Result<Incoming, Box<Refusal>> {
    let invalid =
        |id: &Option<Id>, why: &str| Refusal::new(id.clone(), Failure::invalid_request(why));
    if !members.contains_key("method")
        && (members.contains_key("result") || members.contains_key("error"))
    {
        return Err(invalid(&None, "The server asked nothing, so it takes no responses."));
    }
    let id = match members.get("id") {
        None => None,
        Some(value) => match Id::from_value(value) {
            Some(id) => Some(id),
            None => return Err(invalid(&None, "The member id must be text or an integer.")),
        },
    };
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid(&id, "The member jsonrpc must be \"2.0\"."));
    }
    let Some(Value::String(method)) = members.remove("method") else {
        return Err(invalid(&id, "The member method must be text."));
    };
    if method.trim().is_empty() {
        return Err(invalid(&id, "The member method must not be blank."));
    }
    let params = match members.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => {
            let failure = Failure::invalid_params("The member params must be an object.");
            return Err(Refusal::new(id, failure));
        }
    };
    Ok(Incoming { id, method, params })
}

fn handshake_version(members: &Map<String, Value>) -> Option<Version> {
    if members.get("method").and_then(Value::as_str) != Some("initialize") {
        return None;
    }
    let wanted = members.get("params")?.get("protocolVersion")?.as_str()?;
    Version::legacy(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn accepts_requests_and_notifications() {
        let rows: &[(&str, Option<Id>, &str, Value)] = &[
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, Some(Id::Number(1)), "ping", json!({})),
            (
                r#"{"jsonrpc":"2.0","id":"","method":"ping"}"#,
                Some(Id::Text(String::new())),
                "ping",
                json!({}),
            ),
            (r#"{"jsonrpc":"2.0","method":"x/y","params":{"a":1}}"#, None, "x/y", json!({"a": 1})),
            // Extension members pass.
            (
                r#"{"jsonrpc":"2.0","id":-5,"method":"m","result":1,"extra":[]}"#,
                Some(Id::Number(-5)),
                "m",
                json!({}),
            ),
        ];
        for (text, id, method, params) in rows {
            let message = read(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error:?}"));
            assert_eq!((&message.id, message.method.as_str()), (id, *method), "{text}");
            assert_eq!(&Value::Object(message.params), params);
        }
    }

    #[test]
    fn refuses_the_rest_with_its_code_and_id() {
        let number = Some(Id::Number(7));
        let rows: &[(&str, i64, Option<Id>)] = &[
            ("{", -32700, None),
            ("", -32700, None),
            (r#"{"jsonrpc":"2.0","id":7,"id":7,"method":"m"}"#, -32700, None),
            ("[]", -32600, None),
            (r#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#, -32600, None),
            ("1", -32600, None),
            ("null", -32600, None),
            ("\"x\"", -32600, None),
            ("{}", -32600, None),
            (r#"{"jsonrpc":"1.0","id":7,"method":"m"}"#, -32600, number.clone()),
            (r#"{"id":7,"method":"m"}"#, -32600, number.clone()),
            (r#"{"jsonrpc":2,"id":7,"method":"m"}"#, -32600, number.clone()),
            (r#"{"jsonrpc":"2.0","id":7}"#, -32600, number.clone()),
            (r#"{"jsonrpc":"2.0","id":7,"method":3}"#, -32600, number.clone()),
            (r#"{"jsonrpc":"2.0","id":7,"method":" "}"#, -32600, number.clone()),
            (r#"{"jsonrpc":"2.0","id":7,"method":3,"params":1}"#, -32600, number.clone()),
            (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"m"}}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":true,"method":"m"}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"m"}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":7,"method":"m","params":[]}"#, -32602, number.clone()),
            (r#"{"jsonrpc":"2.0","id":7,"method":"m","params":null}"#, -32602, number.clone()),
            (r#"{"jsonrpc":"2.0","method":"m","params":1}"#, -32602, None),
        ];
        for (text, code, id) in rows {
            let refusal = read(text.as_bytes()).expect_err(text);
            assert_eq!((refusal.failure.code, &refusal.id), (*code, id), "{text}");
            assert_eq!(refusal.failure.http_status, 400, "{text}");
        }
    }

    #[test]
    fn remembers_the_version_that_a_bad_handshake_asked_for() {
        let text = r#"{"jsonrpc":"2.0","id":null,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
        let refusal = read(text.as_bytes()).expect_err("a null id");
        assert_eq!(refusal.version, Some(Version::V2025_06_18));
    }
}
