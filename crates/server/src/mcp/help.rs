//! The help tool: from the list of domains to one operation's schemas.

use super::tools::{Answered, Catalog};
use super::{compact, text};
use api::{BridgeError, ErrorCode, Method};
use serde_json::{Map, Value, json};

/// What the description of one operation may weigh, unless all of it is asked for.
const BUDGET: usize = 4_000;

/// Answers a call of the help tool.
pub(super) fn answer(
    catalog: &Catalog,
    arguments: &Map<String, Value>,
) -> Result<Answered, BridgeError> {
    if let Some(name) =
        arguments.keys().find(|name| !matches!(name.as_str(), "domain" | "operation" | "full"))
    {
        let message = format!("help takes domain, operation and full, not {}", shown(name));
        return Err(refuse(message, &pointer(name)));
    }
    let domain = word(arguments, "domain")?;
    let operation = word(arguments, "operation")?;
    let full = match arguments.get("full") {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Bool(true)) => true,
        Some(_) => return Err(refuse("full must be true or false".into(), "/full")),
    };
    match (domain, operation) {
        (None, None) => {
            let names = catalog.domain_names();
            Ok(Answered::json(json!({ "domains": names, "note": api::WHILE_ANALYSIS_RUNS })))
        }
        (None, Some(_)) => Err(refuse("an operation needs its domain beside it".into(), "/domain")),
        (Some(domain), operation) => {
            let Some(domain) = catalog.domain(domain) else {
                let names = catalog.domain_names().join(", ");
                let message = format!("there is no domain {}; use one of {names}", shown(domain));
                return Err(refuse(message, "/domain"));
            };
            match operation {
                None => Ok(Answered::json(operations(catalog, domain))),
                Some(operation) => describe(catalog, domain, operation, full),
            }
        }
    }
}

fn operations(catalog: &Catalog, domain: &str) -> Value {
    let names: Vec<&str> = catalog.operations(domain).map(Method::operation).collect();
    json!({ "domain": catalog.name(domain), "operations": names })
}

fn describe(
    catalog: &Catalog,
    domain: &str,
    operation: &str,
    full: bool,
) -> Result<Answered, BridgeError> {
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
    let structured = if full { entry(catalog, method) } else { short_entry(catalog, method) };
    let most = if full { usize::MAX } else { BUDGET };
    let structured = Value::Object(structured);
    let text = match text::is_small(&structured.to_string()) {
        true => None,
        false => Some(text::outline(&catalog.name(domain), method, most)),
    };
    Ok(Answered { structured, text })
}

/// One operation within the budget: its schemas as they are, or flattened as far as it takes.
fn short_entry(catalog: &Catalog, method: &Method) -> Map<String, Value> {
    let whole = entry(catalog, method);
    let mut short = whole.clone();
    let mut steps = (0..=2)
        .rev()
        .map(|depth| ("outputSchema", depth))
        .chain((0..=3).rev().map(|depth| ("inputSchema", depth)));
    while Value::Object(short.clone()).to_string().chars().count() > BUDGET {
        let Some((name, depth)) = steps.next() else { break };
        let flat = compact::flat(&whole[name], depth);
        short.insert(name.into(), flat.unwrap_or_else(|| json!({ "type": "object" })));
        short.insert("note".into(), "The schemas are shortened; full: true gives all.".into());
    }
    short
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
    if let Some(since) = method.since_version() {
        entry.insert("since".into(), since.into());
    }
    if let Some(brief) = method.brief_members() {
        let identity = method.identity().iter().filter(|name| !brief.contains(*name));
        let fields: Vec<&str> = identity.chain(brief).copied().collect();
        entry.insert("default_fields".into(), fields.into());
    }
    entry
}

fn word<'a>(arguments: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, BridgeError> {
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
