//! The methods: which exist in which era, and the parameters each one takes.

use crate::{Era, Failure, Version};
use serde_json::{Map, Value};

/// A request for one of the methods we have.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// The handshake, with the version it settled on.
    Initialize(Version),
    /// Who the server is and what it can do.
    Discover,
    /// A health check.
    Ping,
    /// The tools.
    ListTools,
    /// Run a tool.
    CallTool {
        /// Its name.
        name: String,
        /// Its arguments.
        arguments: Map<String, Value>,
    },
    /// The resources.
    ListResources,
    /// The content of a resource.
    ReadResource {
        /// Its address.
        uri: String,
    },
    /// The resource templates.
    ListResourceTemplates,
}

/// How the result of a call is dressed in the modern era.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Only marked as complete.
    Plain,
    /// Also says how long it may be kept, and by whom it was made.
    Cacheable,
}

impl Call {
    /// How its result is dressed.
    pub fn shape(&self) -> Shape {
        match self {
            Call::Initialize(_) | Call::Ping | Call::CallTool { .. } => Shape::Plain,
            Call::Discover
            | Call::ListTools
            | Call::ListResources
            | Call::ReadResource { .. }
            | Call::ListResourceTemplates => Shape::Cacheable,
        }
    }
}

/// Finds the method and takes its parameters.
pub fn route(era: Era, method: &str, mut params: Map<String, Value>) -> Result<Call, Failure> {
    match (method, era) {
        ("initialize", Era::Legacy(version)) => Ok(Call::Initialize(version)),
        ("server/discover", Era::Modern) => Ok(Call::Discover),
        ("ping", _) => Ok(Call::Ping),
        ("tools/list", _) => first_page(&params).map(|()| Call::ListTools),
        ("resources/list", _) => first_page(&params).map(|()| Call::ListResources),
        ("resources/templates/list", _) => {
            first_page(&params).map(|()| Call::ListResourceTemplates)
        }
        ("tools/call", _) => {
            let name = text(&mut params, "name")?;
            let arguments = match params.remove("arguments") {
                None | Some(Value::Null) => Map::new(),
                Some(Value::Object(arguments)) => arguments,
                Some(_) => {
                    return Err(Failure::invalid_params("params.arguments must be an object."));
                }
            };
            Ok(Call::CallTool { name, arguments })
        }
        ("resources/read", _) => Ok(Call::ReadResource { uri: text(&mut params, "uri")? }),
        _ => Err(Failure::unknown_method(method)),
    }
}

fn text(params: &mut Map<String, Value>, member: &str) -> Result<String, Failure> {
    match params.remove(member) {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(text),
        _ => Err(Failure::invalid_params(format!("params.{member} must be text, not blank."))),
    }
}

/// Every list fits on one page, so no cursor was ever handed out.
fn first_page(params: &Map<String, Value>) -> Result<(), Failure> {
    match params.get("cursor") {
        None | Some(Value::Null) => Ok(()),
        Some(_) => Err(Failure::invalid_params("params.cursor was not handed out by this server.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const LEGACY: Era = Era::Legacy(Version::V2025_06_18);

    fn both(method: &str, params: Value) -> [Result<Call, (i64, u16)>; 2] {
        [Era::Modern, LEGACY].map(|era| {
            let params = params.as_object().cloned().unwrap_or_default();
            route(era, method, params).map_err(|failure| (failure.code, failure.http_status))
        })
    }

    #[test]
    fn the_method_table() {
        let unknown = || Err((-32601, 404));
        let rows = [
            ("initialize", [unknown(), Ok(Call::Initialize(Version::V2025_06_18))]),
            ("server/discover", [Ok(Call::Discover), unknown()]),
            ("ping", [Ok(Call::Ping), Ok(Call::Ping)]),
            ("tools/list", [Ok(Call::ListTools), Ok(Call::ListTools)]),
            ("resources/list", [Ok(Call::ListResources), Ok(Call::ListResources)]),
            (
                "resources/templates/list",
                [Ok(Call::ListResourceTemplates), Ok(Call::ListResourceTemplates)],
            ),
            ("prompts/list", [unknown(), unknown()]),
            ("prompts/get", [unknown(), unknown()]),
            ("completion/complete", [unknown(), unknown()]),
            ("logging/setLevel", [unknown(), unknown()]),
            ("resources/subscribe", [unknown(), unknown()]),
            ("subscriptions/listen", [unknown(), unknown()]),
            ("tasks/get", [unknown(), unknown()]),
            ("PING", [unknown(), unknown()]),
            ("notifications/initialized", [unknown(), unknown()]),
        ];
        for (method, expected) in rows {
            assert_eq!(both(method, json!({})), expected, "{method}");
        }
    }

    #[test]
    fn cursors_were_never_handed_out() {
        for method in ["tools/list", "resources/list", "resources/templates/list"] {
            assert!(both(method, json!({"cursor": null})).iter().all(Result::is_ok));
            for cursor in [json!(""), json!("x"), json!(1), json!({})] {
                let refused = Err((-32602, 400));
                assert_eq!(both(method, json!({ "cursor": cursor })), [refused.clone(), refused]);
            }
        }
    }

    #[test]
    fn tool_calls() {
        let call = |arguments: Value| Call::CallTool {
            name: "t".into(),
            arguments: arguments.as_object().cloned().unwrap_or_default(),
        };
        let refused = || Err((-32602, 400));
        let rows = [
            (json!({"name": "t"}), Ok(call(json!({})))),
            (json!({"name": "t", "arguments": null}), Ok(call(json!({})))),
            (json!({"name": "t", "arguments": {"a": 1}}), Ok(call(json!({"a": 1})))),
            (json!({"name": "t", "arguments": []}), refused()),
            (json!({"name": "t", "arguments": "{}"}), refused()),
            (json!({"name": " "}), refused()),
            (json!({"name": 1}), refused()),
            (json!({}), refused()),
        ];
        for (params, expected) in rows {
            assert_eq!(
                both("tools/call", params.clone()),
                [expected.clone(), expected],
                "{params}"
            );
        }
    }

    #[test]
    fn resource_reads() {
        let read = || Ok(Call::ReadResource { uri: "u".into() });
        assert_eq!(both("resources/read", json!({"uri": "u"})), [read(), read()]);
        for params in [json!({}), json!({"uri": ""}), json!({"uri": null})] {
            assert_eq!(both("resources/read", params), [Err((-32602, 400)), Err((-32602, 400))]);
        }
    }
}
