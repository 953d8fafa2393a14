//! Envelope checks of the WebSocket transport: which text is a request, which
//! a notification, which a stray response, and what is wrong with the rest.

use crate::{Id, code, json};
use serde_json::{Map, Value, json};

/// A request or a notification whose envelope is in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// What the client calls the request; `None` for a notification, which is
    /// carried out and never answered.
    pub id: Option<Id>,
    /// The method asked for; not blank.
    pub method: String,
    /// The parameters; `{}` when none were sent.
    pub params: Map<String, Value>,
}

/// What one text message turned out to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// A request or notification to carry out.
    Call(Envelope),
    /// A well-formed response. We never ask clients anything, so it is ignored.
    Response,
    /// Not a valid message: the whole error reply to send back.
    Refused(Value),
}

/// Reads one text message.
pub fn read(text: &[u8]) -> Message {
    match json::parse(text) {
        Err(error) => refuse(
            code::PARSE_ERROR,
            "parse_error",
            format!("The message is not valid JSON: {error}."),
        ),
        Ok(Value::Object(members)) => match envelope(members) {
            Ok(message) => message,
            Err(reason) => refuse(code::INVALID_REQUEST, "invalid_json_rpc", reason.into()),
        },
        Ok(_) => refuse(
            code::INVALID_REQUEST,
            "invalid_request",
            "A message must be one JSON object; batches are not supported.".into(),
        ),
    }
}

fn envelope(mut members: Map<String, Value>) -> Result<Message, &'static str> {
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err("The member jsonrpc must be \"2.0\".");
    }
    if !members.contains_key("method") {
        return response(&members);
    }
    let Some(Value::String(method)) = members.remove("method") else {
        return Err("The member method must be text.");
    };
    let params = match members.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return Err("The member params must be an object."),
    };
    if members.keys().any(|name| name != "jsonrpc" && name != "id") {
        return Err("A request has no members but jsonrpc, id, method and params.");
    }
    let id = match members.get("id") {
        None => None,
        Some(value) => Some(usable_id(value)?),
    };
    if method.trim().is_empty() {
        return Err("The member method must not be blank.");
    }
    Ok(Message::Call(Envelope { id, method, params }))
}

fn usable_id(value: &Value) -> Result<Id, &'static str> {
    match Id::from_value(value) {
        Some(Id::Text(text)) if text.trim().is_empty() => Err("The member id must not be blank."),
        Some(id) => Ok(id),
        None => Err("The member id must be text or an integer."),
    }
}

fn response(members: &Map<String, Value>) -> Result<Message, &'static str> {
    const NEITHER: &str = "The message has no method, and is no response either.";
    let id = members.get("id").ok_or(NEITHER)?;
    usable_id(id)?;
    if members.len() != 3 {
        return Err(NEITHER);
    }
    match (members.get("result"), members.get("error")) {
        (Some(_), None) => Ok(Message::Response),
        (None, Some(Value::Object(error))) if is_error(error) => Ok(Message::Response),
        (None, Some(_)) => Err("The member error must have a number code and a text message."),
        _ => Err(NEITHER),
    }
}

fn is_error(error: &Map<String, Value>) -> bool {
    error.get("code").is_some_and(Value::is_number)
        && error.get("message").is_some_and(Value::is_string)
        && error.get("data").is_none_or(Value::is_object)
        && error.keys().all(|name| matches!(name.as_str(), "code" | "message" | "data"))
}

/// Protocol errors carry no id, and data in the form of a bridge error that
/// blames nothing inside the request.
fn refuse(rpc_code: i64, bridge_code: &str, message: String) -> Message {
    let data = json!({
        "status": 400,
        "code": bridge_code,
        "message": message,
        "target": "",
        "details": {},
    });
    Message::Refused(crate::failure(None, rpc_code, &message, Some(data)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> (i64, String) {
        match read(text.as_bytes()) {
            Message::Refused(reply) => {
                assert_eq!(reply["id"], Value::Null, "{text}");
                assert_eq!(reply["jsonrpc"], "2.0");
                let error = &reply["error"];
                assert_eq!(error["message"], error["data"]["message"]);
                assert_eq!(error["data"]["status"], 400);
                assert_eq!(error["data"]["target"], "");
                assert_eq!(error["data"]["details"], json!({}));
                (
                    error["code"].as_i64().unwrap_or_default(),
                    error["data"]["code"].as_str().unwrap_or_default().to_owned(),
                )
            }
            other => panic!("{text} was taken as {other:?}"),
        }
    }

    #[test]
    fn accepts_requests_and_notifications() {
        let rows: &[(&str, Option<Id>, &str, Value)] = &[
            (
                r#"{"jsonrpc":"2.0","id":"req-1","method":"program.get","params":{}}"#,
                Some(Id::Text("req-1".into())),
                "program.get",
                json!({}),
            ),
            (r#"{"method":"m","id":7,"jsonrpc":"2.0"}"#, Some(Id::Number(7)), "m", json!({})),
            (
                r#"{"jsonrpc":"2.0","id":-9223372036854775808,"method":"m"}"#,
                Some(Id::Number(i64::MIN)),
                "m",
                json!({}),
            ),
            (
                r#"{"jsonrpc":"2.0","id":0,"method":"m","params":{"a":null}}"#,
                Some(Id::Number(0)),
                "m",
                json!({"a": null}),
            ),
            (r#"{"jsonrpc":"2.0","method":"m"}"#, None, "m", json!({})),
            (
                r#"{"jsonrpc":"2.0","id":"\ud800","method":"m"}"#,
                Some(Id::Text("\u{fffd}".into())),
                "m",
                json!({}),
            ),
        ];
        for (text, id, method, params) in rows {
            let Message::Call(call) = read(text.as_bytes()) else { panic!("{text} was refused") };
            assert_eq!(&call.id, id, "{text}");
            assert_eq!(call.method, *method);
            assert_eq!(&Value::Object(call.params), params);
        }
    }

    #[test]
    fn ignores_well_formed_responses() {
        for text in [
            r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
            r#"{"jsonrpc":"2.0","id":"a","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":"a","error":{"code":-1,"message":"m"}}"#,
            r#"{"jsonrpc":"2.0","id":"a","error":{"code":-1,"message":"m","data":{}}}"#,
        ] {
            assert_eq!(read(text.as_bytes()), Message::Response, "{text}");
        }
    }

    #[test]
    fn text_that_is_not_json_is_a_parse_error() {
        for text in [
            "",
            "{",
            "nonsense",
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m"} x"#,
            r#"{"jsonrpc":"2.0","id":9223372036854775808,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1e999}}"#,
        ] {
            assert_eq!(refusal(text), (-32700, "parse_error".into()), "{text}");
        }
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"a":{}{}}}}}"#,
            "[".repeat(499),
            "]".repeat(499)
        );
        assert_eq!(refusal(&deep), (-32700, "parse_error".into()));
    }

    #[test]
    fn json_that_is_no_object_is_an_invalid_request() {
        for text in
            ["1", "null", "\"a\"", "true", "[]", r#"[{"jsonrpc":"2.0","id":1,"method":"m"}]"#]
        {
            assert_eq!(refusal(text), (-32600, "invalid_request".into()), "{text}");
        }
    }

    #[test]
    fn a_bad_envelope_is_an_invalid_request() {
        for text in [
            "{}",
            r#"{"id":1,"method":"m"}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#,
            r#"{"jsonrpc":2.0,"id":1,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":""}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":" \t"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":"{}"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","extra":1}"#,
            r#"{"jsonrpc":"2.0","method":"m","extra":1}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":true,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1.0,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1e0,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":[],"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":"","method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":"  ","method":"m"}"#,
            r#"{"jsonrpc":"2.0","result":1}"#,
            r#"{"jsonrpc":"2.0","id":null,"result":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":"m"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":1,"extra":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"m"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","result":1}"#,
        ] {
            assert_eq!(refusal(text), (-32600, "invalid_json_rpc".into()), "{text}");
        }
    }
}
