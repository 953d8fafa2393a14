//! The outer surface of a server: all it offers, in one era over one transport.
//! It is plain JSON with accessors, so that what was saved reads back as is.

use crate::client::{Era, header_rules};
use crate::json::{self, Json};
use crate::message::{Kind, Message};
use crate::obj;
use crate::schema;
use crate::target::Target;
use crate::trail::{Recording, Side, read_recording, sha256_hex};
use std::collections::BTreeMap;
use std::path::Path;

/// Format name of saved reports.
pub const FORMAT: &str = "mcp-probe/report/1";

/// Method, member of the result, capability it belongs to.
pub const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "tools"),
    ("resources/list", "resources", "resources"),
    ("resources/templates/list", "resourceTemplates", "resources"),
    ("prompts/list", "prompts", "prompts"),
];

/// A surface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surface {
    json: Json,
}

/// One tool of a surface.
#[derive(Debug, Clone, Copy)]
pub struct Tool<'a> {
    /// As listed.
    pub json: &'a Json,
}

impl<'a> Tool<'a> {
    /// Name.
    pub fn name(&self) -> &'a str {
        self.json.text_at("name").unwrap_or("(without name)")
    }

    /// Description.
    pub fn description(&self) -> &'a str {
        self.json.text_at("description").unwrap_or_default()
    }

    /// Input schema, null when there is none.
    pub fn input(&self) -> &'a Json {
        self.json.get("inputSchema").unwrap_or(&Json::Null)
    }

    /// An annotation, when given.
    pub fn hint(&self, name: &str) -> Option<bool> {
        self.json.get("annotations")?.get(name)?.as_bool()
    }

    /// Whether the server says that it changes nothing.
    pub fn is_read_only(&self) -> bool {
        self.hint("readOnlyHint") == Some(true)
    }

    /// Parameters at every depth.
    pub fn parameters(&self) -> Vec<schema::Parameter> {
        schema::parameters(self.input())
    }

    /// Hash of its canonical form.
    pub fn hash(&self) -> String {
        sha256_hex(self.json.canonical().as_bytes())
    }
}

impl Surface {
    /// An empty surface.
    pub fn new(era: Era, transport: &str, version: &str) -> Surface {
        Surface { json: obj! { "era": era.name(), "transport": transport, "version": version } }
    }

    /// From a saved report.
    pub fn from_json(json: &Json) -> Surface {
        Surface { json: json.clone() }
    }

    /// As JSON, without some members.
    pub fn without(&self, names: &[&str]) -> Json {
        let mut json = self.json.clone();
        names.iter().for_each(|name| {
            json.remove(name);
        });
        json
    }

    /// Sets a member.
    pub fn set(&mut self, name: &str, value: impl Into<Json>) {
        self.json.set(name, value);
    }

    /// A text member.
    pub fn text(&self, name: &str) -> &str {
        self.json.text_at(name).unwrap_or_default()
    }

    /// A list member.
    pub fn list(&self, name: &str) -> &[Json] {
        self.json.get(name).map_or(&[], Json::items)
    }

    /// Any member.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.json.get(name)
    }

    /// The tools.
    pub fn tools(&self) -> impl Iterator<Item = Tool<'_>> {
        self.list("tools").iter().map(|json| Tool { json })
    }

    /// Name and version of the server.
    pub fn server(&self) -> String {
        let name = self.json.text_at("server/name").unwrap_or("(unnamed)");
        format!("{name} {}", self.json.text_at("server/version").unwrap_or_default())
            .trim_end()
            .to_string()
    }

    /// Era, version and transport in a few words.
    pub fn label(&self) -> String {
        format!("{} {} over {}", self.text("era"), self.text("version"), self.text("transport"))
    }

    /// Adds what follows from the lists: parameters, duplicates, hashes.
    pub fn derive(&mut self) {
        let mut duplicates = Vec::new();
        for (_, member, _) in LISTS {
            let key = if member.starts_with("resource") { "uri" } else { "name" };
            let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
            for item in self.list(member) {
                let name = item.text_at(key).or(item.text_at("uriTemplate")).unwrap_or_default();
                *seen.entry(name).or_default() += 1;
            }
            let twice = seen.into_iter().filter(|(_, count)| *count > 1);
            duplicates
                .extend(twice.map(|(name, count)| format!("{member}: {name} ({count} times)")));
        }
        let schemas: Vec<Json> = self.tools().map(|tool| describe_tool(&tool)).collect();
        self.set("duplicates", duplicates);
        self.set("schemas", Json::Array(schemas));
    }
}

fn describe_tool(tool: &Tool<'_>) -> Json {
    let parameters: Vec<_> = tool.parameters();
    let top = parameters.iter().filter(|parameter| !parameter.path.contains(['.', '[']));
    let required = top.clone().filter(|parameter| parameter.required).count();
    let optional = top.count() - required;
    let closed = tool.input().get("additionalProperties") == Some(&Json::Bool(false));
    obj! {
        "tool": tool.name(),
        "sha256": tool.hash(),
        "required": required,
        "optional": optional,
        "extraFields": if closed { "refused" } else { "allowed" },
    }
    .with("parameters", Json::Array(parameters.iter().map(schema::Parameter::to_json).collect()))
    .with_some(
        "foreignReferences",
        Some(schema::foreign_references(tool.json)).filter(|list| !list.is_empty()),
    )
    .with_some("badHeaders", header_rules(tool.json).err())
}

/// A report: what was looked at, and its surfaces.
pub fn report(target: &Target, surfaces: &[Surface]) -> Json {
    let surfaces = surfaces.iter().map(|surface| surface.json.clone()).collect();
    obj! { "format": FORMAT, "target": target.to_json(), "surfaces": Json::Array(surfaces) }
}

/// Reads surfaces back from a saved report or recording.
pub fn read(path: &Path) -> Result<(Target, Vec<Surface>), String> {
    if let Some(recording) = read_recording(path)? {
        let target = Target::from_json(&recording.target).unwrap_or(Target::File(path.into()));
        let surfaces = from_recording(&recording);
        return match surfaces.is_empty() {
            true => {
                Err(format!("{} holds no answered initialize, discover or list", path.display()))
            }
            false => Ok((target, surfaces)),
        };
    }
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let json = json::parse(&bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    if json.text_at("format") != Some(FORMAT) {
        return Err(format!(
            "{} is neither a report nor a recording of this program",
            path.display()
        ));
    }
    let target =
        json.get("target").and_then(Target::from_json).unwrap_or(Target::File(path.into()));
    let surfaces =
        json.get("surfaces").map_or(&[][..], Json::items).iter().map(Surface::from_json).collect();
    Ok((target, surfaces))
}

/// What a recording shows of the surface. Pages of a list are joined; a list
/// that starts again replaces the one before.
pub fn from_recording(recording: &Recording) -> Vec<Surface> {
    let mut surfaces: Vec<Surface> = Vec::new();
    for pair in recording.pairs() {
        if pair.request.side != Side::Client {
            continue;
        }
        let Some(answer) = pair.answer else { continue };
        let method = pair.request.method.as_deref().unwrap_or_default();
        let request = Message::read(pair.request.raw.clone()).json;
        let meta = request
            .at("params/_meta")
            .and_then(|meta| meta.get("io.modelcontextprotocol/protocolVersion"));
        let era = if meta.is_some() { Era::Modern } else { Era::Legacy };
        let answer = Message::read(answer.raw.clone());
        let result = answer.json.get("result").filter(|_| answer.kind == Kind::Response);
        let at = surfaces.iter().position(|surface| surface.text("era") == era.name());
        let list = LISTS.iter().find(|(name, _, _)| *name == method);
        if result.is_none()
            || (list.is_none() && method != "initialize" && method != "server/discover")
        {
            continue;
        }
        let index = at.unwrap_or_else(|| {
            let version = meta.and_then(Json::as_str).unwrap_or_default();
            surfaces.push(Surface::new(era, pair.request.channel.name(), version));
            surfaces.len() - 1
        });
        let surface = &mut surfaces[index];
        match (list, result) {
            (Some((_, member, _)), Some(result)) => {
                let fresh = request.at("params/cursor").is_none();
                let mut items = if fresh { Vec::new() } else { surface.list(member).to_vec() };
                items.extend(result.get(member).map_or(&[][..], Json::items).iter().cloned());
                surface.set(member, Json::Array(items));
            }
            (None, Some(result)) => greet(surface, result),
            _ => {}
        }
    }
    surfaces.iter_mut().for_each(Surface::derive);
    surfaces
}

/// Takes over what a server says of itself.
pub fn greet(surface: &mut Surface, greeting: &Json) {
    let meta =
        greeting.get("_meta").and_then(|meta| meta.get("io.modelcontextprotocol/serverInfo"));
    if let Some(version) = greeting.get("protocolVersion") {
        surface.set("version", version.clone());
    }
    if let Some(info) = greeting.get("serverInfo").or(meta) {
        surface.set("server", info.clone());
    }
    for name in ["supportedVersions", "capabilities", "instructions"] {
        if let Some(value) = greeting.get(name) {
            surface.set(name, value.clone());
        }
    }
}
