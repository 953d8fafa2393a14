//! What changed between two surfaces, and how much it matters.

use crate::finding::Severity;
use crate::json::Json;
use crate::obj;
use crate::schema::Parameter;
use crate::surface::{LISTS, Surface, Tool};
use std::collections::BTreeMap;

/// Classes of change, the gravest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Words only.
    Text,
    /// What worked still works; more is possible.
    Widening,
    /// What worked may fail.
    Breaking,
    /// Somebody could be harmed.
    Security,
}

impl Class {
    /// Name.
    pub fn name(self) -> &'static str {
        match self {
            Class::Text => "text",
            Class::Widening => "widening",
            Class::Breaking => "breaking",
            Class::Security => "security",
        }
    }

    /// Whether it makes a comparison fail.
    pub fn matters(self) -> bool {
        self >= Class::Breaking
    }
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Class.
    pub class: Class,
    /// Where.
    pub place: String,
    /// What.
    pub what: String,
}

impl Change {
    /// A change.
    pub fn new(class: Class, place: &str, what: impl Into<String>) -> Change {
        Change { class, place: place.into(), what: what.into() }
    }

    /// As JSON.
    pub fn to_json(&self) -> Json {
        obj! { "class": self.class.name(), "place": &self.place, "what": &self.what }
    }
}

/// All changes from one surface to another, gravest first.
pub fn compare(old: &Surface, new: &Surface) -> Vec<Change> {
    let mut changes = Vec::new();
    compare_facts(old, new, &mut changes);
    compare_tools(old, new, &mut changes);
    for (_, member, _) in &LISTS[1..] {
        compare_items(member, old.list(member), new.list(member), &mut changes);
    }
    changes.sort_by(|a, b| b.class.cmp(&a.class).then_with(|| a.place.cmp(&b.place)));
    changes
}

fn compare_facts(old: &Surface, new: &Surface, changes: &mut Vec<Change>) {
    compare_versions(old, new, changes);
    if old.server() != new.server() {
        changes.push(Change::new(
            Class::Text,
            "server",
            format!("{} became {}", old.server(), new.server()),
        ));
    }
    let words = |surface: &Surface| surface.text("instructions").to_string();
    if words(old) != words(new) {
        changes.push(text_change("server", "instructions", &words(old), &words(new)));
    }
    let has = |surface: &Surface, name: &str| {
        surface.get("capabilities").and_then(|all| all.get(name)).is_some()
    };
    let names = |surface: &Surface| -> Vec<String> {
        surface
            .get("capabilities")
            .map_or(&[][..], Json::members)
            .iter()
            .map(|(name, _)| name.as_str().to_string())
            .collect()
    };
    for name in names(old).iter().filter(|name| !has(new, name)) {
        changes.push(Change::new(Class::Breaking, "capabilities", format!("{name} is gone")));
    }
    for name in names(new).iter().filter(|name| !has(old, name)) {
        changes.push(Change::new(Class::Widening, "capabilities", format!("{name} is new")));
    }
}

/// What a client can no longer speak breaks it; that there is more to speak does not.
fn compare_versions(old: &Surface, new: &Surface, changes: &mut Vec<Change>) {
    let lists = (old.list("supportedVersions"), new.list("supportedVersions"));
    if !lists.0.is_empty() && !lists.1.is_empty() {
        let lacks = |list: &[Json], version: &Json| !list.contains(version);
        for version in lists.0.iter().filter(|version| lacks(lists.1, version)) {
            let what = format!("protocol version {version} is no longer supported");
            changes.push(Change::new(Class::Breaking, "server", what));
        }
        for version in lists.1.iter().filter(|version| lacks(lists.0, version)) {
            let what = format!("protocol version {version} is supported now");
            changes.push(Change::new(Class::Widening, "server", what));
        }
        return;
    }
    let (was, is) = (old.text("version"), new.text("version"));
    if was == is || was.is_empty() || is.is_empty() {
        return;
    }
    // Versions are dates. A server agrees to what the client offers, if it can:
    // an older answer to the same question is a loss, a newer one is none.
    let (class, what) = match is > was {
        true => (Class::Widening, format!("it agrees to protocol {is}, before to {was}")),
        false => (Class::Breaking, format!("it agrees only to protocol {is}, before to {was}")),
    };
    changes.push(Change::new(class, "server", what));
}

fn compare_tools(old: &Surface, new: &Surface, changes: &mut Vec<Change>) {
    let index = |surface: &Surface| -> BTreeMap<String, Json> {
        surface.tools().map(|tool| (tool.name().to_string(), tool.json.clone())).collect()
    };
    let (before, after) = (index(old), index(new));
    for (name, tool) in &after {
        let tool = Tool { json: tool };
        match before.get(name) {
            Some(old) => compare_tool(Tool { json: old }, tool, changes),
            // A tool nobody has looked at yet can do anything.
            None => changes.push(Change::new(
                Class::Security,
                name,
                format!("the tool is new{}", risk_note(&tool)),
            )),
        }
    }
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        changes.push(Change::new(Class::Breaking, name, "the tool is gone"));
    }
}

fn risk_note(tool: &Tool<'_>) -> String {
    let risks = crate::risk::tool_risks(tool);
    let telling = risks.iter().filter(|finding| finding.severity > Severity::Info);
    let names: Vec<&str> = telling.map(|finding| finding.rule).collect();
    if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) }
}

fn compare_tool(old: Tool<'_>, new: Tool<'_>, changes: &mut Vec<Change>) {
    if old.json.canonical() == new.json.canonical() {
        return;
    }
    let before = changes.len();
    let name = new.name();
    for member in ["description", "title"] {
        let text = |tool: &Tool<'_>| tool.json.text_at(member).unwrap_or_default().to_string();
        if text(&old) != text(&new) {
            changes.push(text_change(name, member, &text(&old), &text(&new)));
        }
    }
    compare_hints(name, old, new, changes);
    compare_parameters(name, old, new, changes);
    compare_output(name, old.json.get("outputSchema"), new.json.get("outputSchema"), changes);
    if changes.len() == before {
        let what = difference(&old.json.canonical(), &new.json.canonical());
        changes.push(Change::new(Class::Text, name, format!("another member changed: {what}")));
    }
}

/// Hints with the value that holds when none is given, and whether the true
/// value is the one that makes clients careful.
const HINTS: [(&str, bool, bool); 4] = [
    ("readOnlyHint", false, false),
    ("destructiveHint", true, true),
    ("idempotentHint", false, false),
    ("openWorldHint", true, true),
];

fn compare_hints(name: &str, old: Tool<'_>, new: Tool<'_>, changes: &mut Vec<Change>) {
    let reads_only = old.is_read_only() && new.is_read_only();
    for (hint, default, careful_if) in HINTS {
        let (was, is) = (old.hint(hint), new.hint(hint));
        if was == is {
            continue;
        }
        let (before, after) = (was.unwrap_or(default), is.unwrap_or(default));
        if before == after {
            let what = match is {
                Some(value) => format!("{hint} is given now as {value}, which is the default"),
                None => format!("{hint} is no longer given; the default is the same"),
            };
            changes.push(Change::new(Class::Text, name, what));
            continue;
        }
        // Whether a tool destroys matters only when it writes.
        let weighty = match hint {
            "readOnlyHint" => true,
            "destructiveHint" => !reads_only,
            _ => false,
        };
        let careful = after == careful_if;
        let class = match (weighty, careful, was) {
            (false, _, _) => Class::Text,
            // Clients must be more careful than they were told to be.
            (true, true, _) => Class::Security,
            // A server that says the opposite of what it said may want fewer questions asked.
            (true, false, Some(_)) => Class::Security,
            (true, false, None) => Class::Text,
        };
        let class = if hint == "readOnlyHint" && !after { Class::Security } else { class };
        let said = |hint: Option<bool>| match hint {
            Some(value) => value.to_string(),
            None => format!("not given ({default})"),
        };
        changes.push(Change::new(
            class,
            name,
            format!("{hint} was {}, is {}", said(was), said(is)),
        ));
    }
}

/// The part of two texts that differs, with a little of what stands before it.
fn difference(old: &str, new: &str) -> String {
    let (old, new): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - same;
    let ends =
        old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(12);
    let part = |text: &[char]| {
        let inner: String = text[from..(text.len() - ends).max(from)].iter().collect();
        let shown = crate::client::clip(&inner, 60);
        format!("{}{shown:?}", if from > 0 { "…" } else { "" })
    };
    match (old.is_empty(), new.is_empty()) {
        (true, _) => format!("new: {}", part(&new)),
        (_, true) => format!("gone: {}", part(&old)),
        _ => format!("{} became {}", part(&old), part(&new)),
    }
}

/// A value in few characters.
fn brief(value: Option<&Json>) -> String {
    value.map_or("none".into(), |value| crate::client::clip(&value.to_string(), 40))
}

/// A change of words is only that, unless the new words hide or command something.
fn text_change(place: &str, member: &str, old: &str, new: &str) -> Change {
    let signs = crate::risk::text_signs(new);
    let before = crate::risk::text_signs(old);
    match signs.iter().find(|sign| !before.contains(sign)) {
        Some(sign) => Change::new(Class::Security, place, format!("the {member} now holds {sign}")),
        None => Change::new(
            Class::Text,
            place,
            format!("the {member} was reworded: {}", difference(old, new)),
        ),
    }
}

fn compare_parameters(name: &str, old: Tool<'_>, new: Tool<'_>, changes: &mut Vec<Change>) {
    let index = |tool: &Tool<'_>| -> BTreeMap<String, Parameter> {
        tool.parameters().into_iter().map(|parameter| (parameter.path.clone(), parameter)).collect()
    };
    let (before, after) = (index(&old), index(&new));
    for (path, parameter) in &after {
        let place = format!("{name}.{path}");
        match before.get(path) {
            Some(old) => compare_parameter(&place, old, parameter, changes),
            None => {
                let risky = crate::risk::risky_parameter(&new, parameter);
                let class = match (risky, parameter.required) {
                    (Some(_), _) => Class::Security,
                    (None, true) => Class::Breaking,
                    (None, false) => Class::Widening,
                };
                let kind = if parameter.required { "required" } else { "optional" };
                let note = risky.map(|risk| format!(", {}", risk.describe())).unwrap_or_default();
                changes.push(Change::new(class, &place, format!("new {kind} parameter{note}")));
            }
        }
    }
    for path in before.keys().filter(|path| !after.contains_key(*path)) {
        changes.push(Change::new(
            Class::Breaking,
            &format!("{name}.{path}"),
            "the parameter is gone",
        ));
    }
    let closed =
        |tool: &Tool<'_>| tool.input().get("additionalProperties") == Some(&Json::Bool(false));
    match (closed(&old), closed(&new)) {
        (false, true) => {
            changes.push(Change::new(Class::Breaking, name, "extra fields are refused now"))
        }
        (true, false) => {
            changes.push(Change::new(Class::Widening, name, "extra fields are allowed now"))
        }
        _ => {}
    }
}

fn compare_parameter(place: &str, old: &Parameter, new: &Parameter, changes: &mut Vec<Change>) {
    match (old.required, new.required) {
        (false, true) => changes.push(Change::new(Class::Breaking, place, "required now")),
        (true, false) => changes.push(Change::new(Class::Widening, place, "optional now")),
        _ => {}
    }
    let narrower = |old: &[String], new: &[String]| {
        let kept = |kind: &String| {
            let wider = kind == "integer" && new.iter().any(|kind| kind == "number");
            wider || new.contains(kind)
        };
        !new.is_empty() && (old.is_empty() || !old.iter().all(kept))
    };
    if old.types != new.types {
        let class =
            if narrower(&old.types, &new.types) { Class::Breaking } else { Class::Widening };
        changes.push(Change::new(
            class,
            place,
            format!("type was {:?}, is {:?}", old.types, new.types),
        ));
    }
    let choices =
        |parameter: &Parameter| parameter.schema.get("enum").map(|list| list.items().to_vec());
    match (choices(old), choices(new)) {
        (None, Some(_)) => {
            changes.push(Change::new(Class::Breaking, place, "only listed values are taken now"))
        }
        (Some(_), None) => {
            changes.push(Change::new(Class::Widening, place, "any value is taken now"))
        }
        (Some(was), Some(is)) if was != is => {
            let lost = was.iter().any(|value| !is.contains(value));
            let class = if lost { Class::Breaking } else { Class::Widening };
            let names = |list: &[Json], than: &[Json]| {
                let other = list.iter().filter(|value| !than.contains(value));
                other.map(Json::to_string).collect::<Vec<_>>().join(", ")
            };
            let (gone, fresh) = (names(&was, &is), names(&is, &was));
            let part =
                |what: &str, list: String| (!list.is_empty()).then(|| format!("{what} {list}"));
            let parts: Vec<String> =
                [part("gone:", gone), part("new:", fresh)].into_iter().flatten().collect();
            let what = match parts.is_empty() {
                true => "the listed values changed places".to_string(),
                false => format!("listed values, {}", crate::client::clip(&parts.join("; "), 120)),
            };
            changes.push(Change::new(class, place, what));
        }
        _ => {}
    }
    if old.description() != new.description() {
        changes.push(text_change(place, "description", old.description(), new.description()));
    }
    compare_bounds(place, old, new, changes);
}

fn compare_bounds(place: &str, old: &Parameter, new: &Parameter, changes: &mut Vec<Change>) {
    let upper = ["maximum", "exclusiveMaximum", "maxLength", "maxItems"];
    let lower = ["minimum", "exclusiveMinimum", "minLength", "minItems"];
    for name in upper.iter().chain(&lower) {
        let bound = |parameter: &Parameter| parameter.schema.get(name).and_then(Json::as_f64);
        let tighter = match (bound(old), bound(new)) {
            (None, Some(_)) => true,
            (Some(_), None) => false,
            (Some(was), Some(is)) if was != is => (is < was) == upper.contains(name),
            _ => continue,
        };
        let class = if tighter { Class::Breaking } else { Class::Widening };
        let (was, is) = (old.schema.get(name), new.schema.get(name));
        let what = format!("{name} was {}, is {}", brief(was), brief(is));
        changes.push(Change::new(class, place, what));
    }
    for name in ["pattern", "format", "const"] {
        let (was, is) = (old.schema.get(name), new.schema.get(name));
        if was != is {
            let class = if is.is_none() { Class::Widening } else { Class::Breaking };
            let what = format!("{name} was {}, is {}", brief(was), brief(is));
            changes.push(Change::new(class, place, what));
        }
    }
    let (was, is) = (old.schema.get("default"), new.schema.get("default"));
    if was != is {
        let what = format!("default was {}, is {}", brief(was), brief(is));
        changes.push(Change::new(Class::Text, place, what));
    }
}

fn compare_output(name: &str, old: Option<&Json>, new: Option<&Json>, changes: &mut Vec<Change>) {
    let same = old.map(Json::canonical) == new.map(Json::canonical);
    match (old, new) {
        _ if same => {}
        (None, Some(_)) => {
            changes.push(Change::new(Class::Widening, name, "has an output schema now"))
        }
        (Some(_), None) => {
            changes.push(Change::new(Class::Breaking, name, "the output schema is gone"))
        }
        _ => changes.push(Change::new(Class::Breaking, name, "the output schema changed")),
    }
}

fn compare_items(member: &str, old: &[Json], new: &[Json], changes: &mut Vec<Change>) {
    let index = |items: &[Json]| -> BTreeMap<String, String> {
        let name = |item: &Json| {
            item.text_at("uri")
                .or(item.text_at("uriTemplate"))
                .or(item.text_at("name"))
                .unwrap_or_default()
                .to_string()
        };
        items.iter().map(|item| (name(item), item.canonical())).collect()
    };
    let (before, after) = (index(old), index(new));
    for (name, text) in &after {
        match before.get(name) {
            None => changes.push(Change::new(Class::Widening, name, format!("new in {member}"))),
            Some(old) if old != text => changes.push(Change::new(
                Class::Text,
                name,
                format!("described differently in {member}: {}", difference(old, text)),
            )),
            _ => {}
        }
    }
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        changes.push(Change::new(Class::Breaking, name, format!("gone from {member}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Era;
    use crate::json::parse;

    fn surface(text: &str) -> Surface {
        let mut surface = Surface::new(Era::Legacy, "stdio", "2025-11-25");
        surface.set("tools", parse(text.as_bytes()).unwrap());
        surface
    }

    fn changes(old: &str, new: &str) -> Vec<(Class, String)> {
        let found = compare(&surface(old), &surface(new));
        found.into_iter().map(|change| (change.class, change.what)).collect()
    }

    fn hinted(hints: &str) -> String {
        format!(r#"[{{"name":"t","annotations":{hints}}}]"#)
    }

    #[test]
    fn a_default_that_is_spelled_out_is_no_news() {
        let plain = r#"[{"name":"t"}]"#;
        for (old, new, class) in [
            (plain.to_string(), hinted(r#"{"readOnlyHint":false}"#), Class::Text),
            (plain.to_string(), hinted(r#"{"readOnlyHint":true}"#), Class::Text),
            (plain.to_string(), hinted(r#"{"destructiveHint":false}"#), Class::Text),
            (hinted(r#"{"readOnlyHint":true}"#), plain.to_string(), Class::Security),
            (
                hinted(r#"{"readOnlyHint":false}"#),
                hinted(r#"{"readOnlyHint":true}"#),
                Class::Security,
            ),
            (hinted(r#"{"destructiveHint":false}"#), plain.to_string(), Class::Security),
            (hinted(r#"{"idempotentHint":true}"#), plain.to_string(), Class::Text),
        ] {
            let found = changes(&old, &new);
            assert_eq!(
                found.iter().map(|change| change.0).max(),
                Some(class),
                "{old} {new} {found:?}"
            );
        }
    }

    #[test]
    fn changes_are_told_in_words() {
        let old = r#"[{"name":"t","description":"Knows formats A, B and C.","inputSchema":{"type":"object","properties":{"n":{"type":"array","minItems":1},"m":{"enum":["a","b"]}}}}]"#;
        let new = r#"[{"name":"t","description":"Knows formats B, A and C.","inputSchema":{"type":"object","properties":{"n":{"type":"array","minItems":2},"m":{"enum":["a","c"]}}}}]"#;
        let text: Vec<String> = changes(old, new).into_iter().map(|change| change.1).collect();
        let text = text.join("\n");
        for part in ["minItems was 1, is 2", r#"gone: "b"; new: "c""#, r#"A, B" became"#] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(difference("abc", "abcd"), "\"abc\" became \"abcd\"");
        assert_eq!(difference("", "x"), "new: \"x\"");
    }

    #[test]
    fn a_newer_protocol_breaks_nobody() {
        let at = |version: &str| Surface::new(Era::Legacy, "stdio", version);
        let class =
            |old: &str, new: &str| compare(&at(old), &at(new)).first().map(|change| change.class);
        assert_eq!(class("2024-11-05", "2025-11-25"), Some(Class::Widening));
        assert_eq!(class("2025-11-25", "2024-11-05"), Some(Class::Breaking));
        assert_eq!(class("2025-11-25", "2025-11-25"), None);
    }
}
