//! What official clients demand beyond the published schema: versions they know, output
//! schemas that their validators can compile, dates they can read.

use super::published::{Reader, brief, escape, violations};
use super::{Clients, LEGACY_MODELS};
use crate::json::Json;

/// Versions that a handshake may agree to: of both clients, and one that only TypeScript knows.
const HANDSHAKE: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const TYPESCRIPT_ONLY: &str = "2024-10-07";

/// The words of JSON Schema for kinds of values.
const KINDS: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// The depth at which a schema is no longer followed.
const DEEPEST: usize = 64;

/// Place, fault, who refuses.
pub type Deviation = (String, String, Clients);

/// Deviations of a result that no schema shows.
pub fn beyond_schema(method: &str, modern: bool, result: &Json) -> Vec<Deviation> {
    let mut found = Vec::new();
    match method {
        "initialize" => found.extend(version(result)),
        "tools/list" if !modern => {
            for (index, tool) in result.get("tools").map_or(&[][..], Json::items).iter().enumerate()
            {
                if let Some(schema) = tool.get("outputSchema") {
                    compile(schema, schema, &format!("/tools/{index}/outputSchema"), 0, &mut found);
                }
            }
        }
        "tools/list" => {
            for (index, tool) in result.get("tools").map_or(&[][..], Json::items).iter().enumerate()
            {
                executions(tool, &format!("/tools/{index}/execution"), &mut found);
            }
        }
        "resources/list" => dates(result, "resources", &mut found),
        "resources/templates/list" => dates(result, "resourceTemplates", &mut found),
        _ => {}
    }
    found.truncate(20);
    found
}

/// The modern era knows this member no more; Python's models check it still.
fn executions(tool: &Json, path: &str, found: &mut Vec<Deviation>) {
    if let Some(execution) = tool.get("execution").filter(|given| **given != Json::Null) {
        let wrong = violations(LEGACY_MODELS, "ToolExecution", execution, path, Reader::Python);
        found.extend(wrong.into_iter().map(|one| (one.path, one.what, Clients::PYTHON)));
    }
}

fn version(result: &Json) -> Option<Deviation> {
    let agreed = result.text_at("protocolVersion")?;
    if HANDSHAKE.contains(&agreed) {
        return None;
    }
    let who = if agreed == TYPESCRIPT_ONLY { Clients::PYTHON } else { Clients::BOTH };
    let what = format!("is {agreed:?}; clients know {}", HANDSHAKE.join(", "));
    Some(("/protocolVersion".into(), what, who))
}

/// The TypeScript SDK compiles every output schema when it fetches the list; one that does
/// not compile fails the list.
fn compile(root: &Json, schema: &Json, path: &str, depth: usize, found: &mut Vec<Deviation>) {
    if depth > DEEPEST || found.len() > 20 || !schema.is_object() {
        return;
    }
    if let Some(target) = schema.text_at("$ref")
        && !resolves(root, target)
    {
        found.push((
            format!("{path}/$ref"),
            format!("{target:?} leads nowhere"),
            Clients::TYPESCRIPT,
        ));
    }
    if let Some(kind) = schema.get("type") {
        let kinds = match kind {
            Json::Array(all) => all.iter().collect(),
            one => vec![one],
        };
        if let Some(odd) =
            kinds.iter().find(|kind| !kind.as_str().is_some_and(|kind| KINDS.contains(&kind)))
        {
            found.push((
                format!("{path}/type"),
                format!("is {}, no kind of value", brief(odd)),
                Clients::TYPESCRIPT,
            ));
        }
    }
    for (key, value) in schema.members() {
        let key = key.as_str();
        let here = format!("{path}/{}", escape(key));
        match key {
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
                for (name, inner) in value.members() {
                    compile(
                        root,
                        inner,
                        &format!("{here}/{}", escape(name.as_str())),
                        depth + 1,
                        found,
                    );
                }
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                for (index, inner) in value.items().iter().enumerate() {
                    compile(root, inner, &format!("{here}/{index}"), depth + 1, found);
                }
            }
            "items" | "additionalProperties" | "not" | "if" | "then" | "else" | "contains" => {
                compile(root, value, &here, depth + 1, found);
            }
            _ => {}
        }
    }
}

/// Whether a reference inside a schema finds its target there.
fn resolves(root: &Json, target: &str) -> bool {
    match target.strip_prefix('#') {
        Some("") => true,
        Some(pointer) if pointer.starts_with('/') => pointer[1..]
            .split('/')
            .try_fold(root, |here, part| {
                let part = part.replace("~1", "/").replace("~0", "~");
                match here {
                    Json::Array(items) => items.get(part.parse::<usize>().ok()?),
                    _ => here.get(&part),
                }
            })
            .is_some(),
        // Names are found by their anchors.
        Some(name) => root.to_string().contains(&format!("\"{name}\"")),
        None => root.text_at("$id") == Some(target),
    }
}

/// The TypeScript SDK reads the time of the last change.
fn dates(result: &Json, member: &str, found: &mut Vec<Deviation>) {
    for (index, item) in result.get(member).map_or(&[][..], Json::items).iter().enumerate() {
        if let Some(date) = item.text_at("annotations/lastModified")
            && !is_date_time(date)
        {
            let place = format!("/{member}/{index}/annotations/lastModified");
            found.push((
                place,
                format!("is {date:?}, must be a date and time of ISO 8601 with its offset"),
                Clients::TYPESCRIPT,
            ));
        }
    }
}

/// `2026-01-31T12:30:00Z`, fractions optional, with `Z` or an offset.
fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once('T') else { return false };
    let digits = |text: &str, parts: &[usize], by: char| {
        let pieces: Vec<&str> = text.split(by).collect();
        pieces.len() == parts.len()
            && pieces.iter().zip(parts).all(|(piece, length)| {
                piece.len() == *length && piece.bytes().all(|b| b.is_ascii_digit())
            })
    };
    let (clock, zone_fits) = match time.strip_suffix('Z') {
        Some(clock) => (clock, true),
        None => match time.rfind(['+', '-']) {
            Some(at) => (&time[..at], digits(&time[at + 1..], &[2, 2], ':')),
            None => return false,
        },
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let fraction_fits = !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit());
    let clock_fits = digits(clock, &[2, 2, 2], ':');
    digits(date, &[4, 2, 2], '-') && clock_fits && zone_fits && fraction_fits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_with_an_offset() {
        for good in ["2026-01-31T12:30:00Z", "2026-01-31T12:30:00.5+02:00"] {
            assert!(is_date_time(good), "{good}");
        }
        for bad in [
            "2026-01-31",
            "yesterday",
            "2026-01-31T12:30:00",
            "2026-1-31T12:30:00Z",
            "2026-01-31T12:30Z",
            "T",
            "",
        ] {
            assert!(!is_date_time(bad), "{bad}");
        }
    }

    #[test]
    fn references_that_lead_nowhere() {
        let text = r##"{"tools":[{"outputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/no"},"b":{"type":"text"}}}}]}"##;
        let result = crate::json::parse(text.as_bytes()).unwrap();
        let found = beyond_schema("tools/list", false, &result);
        assert_eq!(found.len(), 2, "{found:?}");
    }
}
