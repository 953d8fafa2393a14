//! The messages we send: results, errors and notifications.

use crate::Id;
use serde_json::{Map, Value};

fn message() -> Map<String, Value> {
    let mut members = Map::with_capacity(3);
    members.insert("jsonrpc".into(), Value::from("2.0"));
    members
}

/// The reply to a request that succeeded.
pub fn success(id: &Id, result: Value) -> Value {
    let mut reply = message();
    reply.insert("id".into(), id.to_value());
    reply.insert("result".into(), result);
    Value::Object(reply)
}

/// The reply to a request that failed. Without an id it is null.
pub fn failure(id: Option<&Id>, code: i64, text: &str, data: Option<Value>) -> Value {
    let mut error = Map::with_capacity(3);
    error.insert("code".into(), Value::from(code));
    error.insert("message".into(), Value::from(text));
    if let Some(data) = data {
        error.insert("data".into(), data);
    }
    let mut reply = message();
    reply.insert("id".into(), id.map_or(Value::Null, Id::to_value));
    reply.insert("error".into(), Value::Object(error));
    Value::Object(reply)
}

/// A message that expects no answer.
pub fn notification(method: &str, params: Map<String, Value>) -> Value {
    let mut members = message();
    members.insert("method".into(), Value::from(method));
    members.insert("params".into(), Value::Object(params));
    Value::Object(members)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn prints_the_members_in_order() {
        let id = Id::Text("req-1".into());
        assert_eq!(
            success(&id, json!({"a": 1})).to_string(),
            r#"{"jsonrpc":"2.0","id":"req-1","result":{"a":1}}"#
        );
        assert_eq!(
            failure(Some(&Id::Number(-3)), -32000, "no", Some(json!({"status": 404}))).to_string(),
            r#"{"jsonrpc":"2.0","id":-3,"error":{"code":-32000,"message":"no","data":{"status":404}}}"#
        );
        assert_eq!(
            failure(None, -32700, "bad", None).to_string(),
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad"}}"#
        );
        assert_eq!(
            notification("ghidra.ready", Map::new()).to_string(),
            r#"{"jsonrpc":"2.0","method":"ghidra.ready","params":{}}"#
        );
    }

    #[test]
    fn escapes_as_little_as_json_allows() {
        let id = Id::Text("/\u{e9}\u{1}\u{7f}".into());
        assert_eq!(
            success(&id, Value::Null).to_string(),
            "{\"jsonrpc\":\"2.0\",\"id\":\"/\u{e9}\\u0001\u{7f}\",\"result\":null}"
        );
    }
}
