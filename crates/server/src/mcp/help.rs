//! The help tool: from the list of domains to one operation's schemas.

use super::tools::Catalog;
use api::{BridgeError, ErrorCode, Method};
use serde_json::{Map, Value, json};

/// Answers a call of the help tool.
pub(super) fn answer(
    catalog: &Catalog,
    arguments: &Map<String, Value>,
) -> Result<Value, BridgeError> {
    if let Some(name) =
        arguments.keys().find(|name| !matches!(name.as_str(), "domain" | "operation"))
    {
        let message = format!("help takes domain and operation, not {name:?}");
        return Err(refuse(message, &pointer(name)));
    }
    let domain = text(arguments, "domain")?;
    let operation = text(arguments, "operation")?;
    match (domain, operation) {
        (None, None) => {
            let names = catalog.domain_names();
            Ok(json!({ "domains": names, "note": api::WHILE_ANALYSIS_RUNS }))
        }
        (None, Some(_)) => Err(refuse("an operation needs its domain beside it".into(), "/domain")),
        (Some(domain), operation) => {
            let Some(domain) = catalog.domain(domain) else {
                let names = catalog.domain_names().join(", ");
                let message = format!("there is no domain {}; use one of {names}", shown(domain));
                return Err(refuse(message, "/domain"));
            };
            match operation {
                None => Ok(operations(catalog, domain)),
                Some(operation) => describe(catalog, domain, operation),
            }
        }
    }
}

fn operations(catalog: &Catalog, domain: &str) -> Value {
    let names: Vec<&str> = catalog.operations(domain).map(Method::operation).collect();
    json!({ "domain": catalog.name(domain), "operations": names })
}

fn describe(catalog: &Catalog, domain: &str, operation: &str) -> Result<Value, BridgeError> {
    let Some(method) = catalog.operations(domain).find(|method| method.operation() == operation)
    else {
        let names: Vec<&str> = catalog.operations(domain).map(Method::operation).collect();
        let message = format!(
            "{} has no operation {}; use one of {}",
            catalog.name(domain),
            shown(operation),
            names.join(", ")
        );
        return Err(refuse(message, "/operation"));
    };
    Ok(Value::Object(entry(catalog, method)))
}

/// Everything about one operation.
pub(super) fn entry(catalog: &Catalog, method: &Method) -> Map<String, Value> {
    let mut entry = Map::new();
    entry.insert("domain".into(), catalog.name(method.domain()).into());
    entry.insert("operation".into(), method.operation().into());
    entry.insert("method".into(), method.name().into());
    entry.insert("description".into(), method.description().into());
    entry.insert("inputSchema".into(), method.input_schema().clone());
    entry.insert("outputSchema".into(), method.output_schema().clone());
    entry.insert("effects".into(), Value::Object(method.effects().to_json()));
    entry
}

fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, BridgeError> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.trim())),
        Some(_) => Err(refuse(format!("{name} must be text"), &pointer(name))),
    }
}

fn refuse(message: String, target: &str) -> BridgeError {
    let mut error = BridgeError::new(ErrorCode::InvalidRequest, message);
    target.clone_into(&mut error.target);
    error
}

/// A JSON pointer to a member of the arguments.
pub(super) fn pointer(name: &str) -> String {
    format!("/{}", shorten(name).replace('~', "~0").replace('/', "~1"))
}

/// What a client sent, quoted and cut, for messages.
pub(super) fn shown(text: &str) -> String {
    format!("{:?}", shorten(text))
}

fn shorten(text: &str) -> String {
    text.chars().take(64).collect()
}
