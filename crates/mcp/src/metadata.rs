//! The metadata of a modern request and the headers that repeat it, checked
//! in the order the protocol lays down.

use crate::{Failure, Headers, Version};
use serde_json::{Map, Value};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";

/// Whether a request speaks for itself. Other keys of `_meta`, such as a
/// progress token, are shared by all eras and decide nothing.
pub fn is_modern(params: &Map<String, Value>) -> bool {
    let meta = params.get("_meta").and_then(Value::as_object);
    meta.is_some_and(|meta| meta.contains_key(VERSION) || meta.contains_key(CAPABILITIES))
}

/// Checks a modern request. Without headers (stdio) only the body counts.
pub(crate) fn check(
    method: &str,
    params: &Map<String, Value>,
    headers: Option<&Headers<'_>>,
) -> Result<(), Failure> {
    let version = read_meta(params)?;
    if headers.is_some_and(|headers| !headers.version.says(version)) {
        return Err(Failure::header_mismatch(format!(
            "The header MCP-Protocol-Version must be sent once and say {version:?}, as the \
             metadata does."
        )));
    }
    if !Version::MODERN.iter().any(|known| known.as_str() == version) {
        return Err(Failure::unsupported_version(version, &Version::MODERN));
    }
    if headers.is_some_and(|headers| !headers.method.says(method)) {
        return Err(Failure::header_mismatch(format!(
            "The header Mcp-Method must be sent once and say {method:?}, as the body does."
        )));
    }
    let Some(name) = named(method, params)? else {
        return Ok(());
    };
    if headers.is_some_and(|headers| !headers.name.says(name)) {
        return Err(Failure::header_mismatch(format!(
            "The header Mcp-Name must be sent once and say {name:?}, as the body does."
        )));
    }
    Ok(())
}

fn read_meta(params: &Map<String, Value>) -> Result<&str, Failure> {
    let Some(meta) = params.get("_meta").and_then(Value::as_object) else {
        return Err(Failure::invalid_params(format!(
            "The member params._meta must be an object with {VERSION} and {CAPABILITIES}, or \
             initialize must come first and MCP-Protocol-Version name what it settled on."
        )));
    };
    let Some(version) = meta.get(VERSION).and_then(Value::as_str) else {
        return Err(Failure::invalid_params(format!("params._meta needs {VERSION} as text.")));
    };
    if !meta.get(CAPABILITIES).is_some_and(Value::is_object) {
        return Err(Failure::invalid_params(format!(
            "params._meta needs {CAPABILITIES} as an object."
        )));
    }
    if !meta.get(CLIENT).is_none_or(Value::is_object) {
        return Err(Failure::invalid_params(format!("params._meta {CLIENT} must be an object.")));
    }
    Ok(version)
}

/// The tool or resource that `Mcp-Name` must repeat, for the methods that
/// have one.
fn named<'a>(method: &str, params: &'a Map<String, Value>) -> Result<Option<&'a str>, Failure> {
    let member = match method {
        "tools/call" => "name",
        "resources/read" => "uri",
        _ => return Ok(None),
    };
    match params.get(member).and_then(Value::as_str) {
        Some(name) if !name.trim().is_empty() => Ok(Some(name)),
        _ => Err(Failure::invalid_params(format!("params.{member} must be text, not blank."))),
    }
}
