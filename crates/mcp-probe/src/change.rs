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
    fn new(class: Class, place: &str, what: impl Into<String>) -> Change {
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
    if old.text("version") != new.text("version") {
        let what = format!("protocol {} became {}", old.text("version"), new.text("version"));
        changes.push(Change::new(Class::Breaking, "server", what));
    }
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
    for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
        let (was, is) = (old.hint(hint), new.hint(hint));
        if was != is {
            let class = if hint == "readOnlyHint" || hint == "destructiveHint" {
                Class::Security
            } else {
                Class::Text
            };
            changes.push(Change::new(
                class,
                name,
                format!("{hint} was {}, is {}", show(was), show(is)),
            ));
        }
    }
    compare_parameters(name, old, new, changes);
    compare_output(name, old.json.get("outputSchema"), new.json.get("outputSchema"), changes);
    if changes.len() == before {
        changes.push(Change::new(Class::Text, name, "something else about the tool changed"));
    }
}

fn show(hint: Option<bool>) -> &'static str {
    match hint {
        Some(true) => "true",
        Some(false) => "false",
        None => "not given",
    }
}

/// A change of words is only that, unless the new words hide or command something.
fn text_change(place: &str, member: &str, old: &str, new: &str) -> Change {
    let signs = crate::risk::text_signs(new);
    let before = crate::risk::text_signs(old);
    match signs.iter().find(|sign| !before.contains(sign)) {
        Some(sign) => Change::new(Class::Security, place, format!("the {member} now holds {sign}")),
        None => Change::new(Class::Text, place, format!("the {member} was reworded")),
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
            changes.push(Change::new(class, place, "the listed values changed"));
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
        changes.push(Change::new(class, place, format!("{name} changed")));
    }
    for name in ["pattern", "format", "const"] {
        let (was, is) = (old.schema.get(name), new.schema.get(name));
        if was != is {
            let class = if is.is_none() { Class::Widening } else { Class::Breaking };
            changes.push(Change::new(class, place, format!("{name} changed")));
        }
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
                format!("described differently in {member}"),
            )),
            _ => {}
        }
    }
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        changes.push(Change::new(Class::Breaking, name, format!("gone from {member}")));
    }
}
