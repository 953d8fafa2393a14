//! The one error of the message layer: a JSON-RPC code, the HTTP status that
//! goes with it (stdio has no use for it), a sentence and optional data.

use crate::{Era, Version};
use serde_json::{Value, json};

/// Why a request gets an error reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// JSON-RPC error code.
    pub code: i64,
    /// Status of the HTTP answer.
    pub http_status: u16,
    /// One sentence for people.
    pub message: String,
    /// More for machines.
    pub data: Option<Value>,
}

impl Failure {
    fn new(code: i64, http_status: u16, message: impl Into<String>) -> Failure {
        Failure { code, http_status, message: message.into(), data: None }
    }

    /// The body is not JSON.
    pub fn parse_error(message: impl Into<String>) -> Failure {
        Failure::new(-32700, 400, message)
    }

    /// The message is not a request.
    pub fn invalid_request(message: impl Into<String>) -> Failure {
        Failure::new(-32600, 400, message)
    }

    /// An invalid request with a more telling HTTP status than 400.
    pub fn refused(http_status: u16, message: impl Into<String>) -> Failure {
        Failure::new(-32600, http_status, message)
    }

    /// The parameters do not fit the request.
    pub fn invalid_params(message: impl Into<String>) -> Failure {
        Failure::new(-32602, 400, message)
    }

    /// The method does not exist in the era of the request.
    pub fn unknown_method(method: &str) -> Failure {
        Failure::new(-32601, 404, format!("The method {method:?} is not known here."))
    }

    /// A header is missing or says something else than the body.
    pub fn header_mismatch(message: impl Into<String>) -> Failure {
        Failure::new(-32020, 400, message)
    }

    /// A version that we do not speak on this path.
    pub fn unsupported_version(requested: &str, supported: &[Version]) -> Failure {
        let supported: Vec<&str> = supported.iter().map(|version| version.as_str()).collect();
        Failure {
            data: Some(json!({ "supported": supported, "requested": requested })),
            ..Failure::new(
                -32022,
                400,
                format!(
                    "Protocol version {requested:?} is not supported; use {}.",
                    supported.join(" or ")
                ),
            )
        }
    }

    /// The bearer token is missing or wrong.
    pub fn unauthorized() -> Failure {
        Failure::new(-32001, 401, "Send the bearer token in the Authorization header.")
    }

    /// A resource that we do not have.
    pub fn unknown_resource(era: Era, uri: &str) -> Failure {
        let (code, status) = match era {
            Era::Modern => (-32602, 400),
            Era::Legacy(_) => (-32002, 404),
        };
        Failure {
            data: Some(json!({ "uri": uri })),
            ..Failure::new(
                code,
                status,
                format!("There is no resource {uri:?}; resources/list names them."),
            )
        }
    }

    /// A fault of the server, with nothing about its inside.
    pub fn internal() -> Failure {
        Failure::new(-32603, 500, "The server failed to answer this request.")
    }
}
