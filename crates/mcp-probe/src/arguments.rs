//! Arguments with which a tool does its work: given by the user, taken from the
//! calls of a recording, or found by trying values that fit the parameters' roles.

use crate::json::{self, Json};
use crate::message::{Kind, Message};
use crate::risk::{Role, roles_of};
use crate::schema::sample;
use crate::surface::Tool;
use crate::trail::{Side, read_recording};
use std::path::Path;

/// Examples for tools by name.
#[derive(Debug, Clone, Default)]
pub struct Examples {
    by_tool: Vec<(String, Json)>,
}

/// Where arguments came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The user.
    Given,
    /// The schema, or a value tried.
    Tried,
}

impl Examples {
    /// Reads `{"tool": {arguments}}`, with a list of several arguments where one
    /// likes, or a recording, of which the calls that worked are taken.
    pub fn read(path: &Path) -> Result<Examples, String> {
        if let Some(recording) = read_recording(path)? {
            let mut by_tool = Vec::new();
            for pair in recording.pairs() {
                let method = pair.request.method.as_deref();
                if pair.request.side != Side::Client || method != Some("tools/call") {
                    continue;
                }
                let Some(answer) = pair.answer else { continue };
                let answer = Message::read(answer.raw.clone());
                let failed = answer.json.at("result/isError").and_then(Json::as_bool) == Some(true);
                if answer.kind != Kind::Response || failed {
                    continue;
                }
                let request = Message::read(pair.request.raw.clone()).json;
                if let Some(name) = request.text_at("params/name") {
                    let arguments = request.at("params/arguments").cloned();
                    by_tool.push((name.to_string(), arguments.unwrap_or_else(Json::object)));
                }
            }
            return Ok(Examples { by_tool });
        }
        let wrong = |why: String| format!("{}: {why}", path.display());
        let bytes = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
        let json = json::parse(&bytes).map_err(|error| wrong(error.to_string()))?;
        if !json.is_object() {
            return Err(wrong("write {\"tool\": {arguments}}".into()));
        }
        let mut by_tool = Vec::new();
        for (name, value) in json.members() {
            let list = if value.is_array() { value.items() } else { std::slice::from_ref(value) };
            if let Some(odd) = list.iter().find(|one| !one.is_object()) {
                return Err(wrong(format!("{}: {odd} are no arguments", name.as_str())));
            }
            by_tool.extend(list.iter().map(|one| (name.as_str().to_string(), one.clone())));
        }
        Ok(Examples { by_tool })
    }

    /// Names for which there are examples.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_tool.iter().map(|(name, _)| name.as_str())
    }

    /// Arguments to try for a tool, the most promising first. Values are made up
    /// only for tools that say that they read.
    pub fn candidates(&self, tool: &Tool<'_>) -> Vec<(Json, Origin)> {
        let mut found: Vec<(Json, Origin)> = self
            .by_tool
            .iter()
            .filter(|(name, _)| name == tool.name())
            .map(|(_, arguments)| (arguments.clone(), Origin::Given))
            .collect();
        let plain = sample(tool.input(), tool.input());
        let mut add = |arguments: Json| {
            if !found.iter().any(|(known, _)| *known == arguments) {
                found.push((arguments, Origin::Tried));
            }
        };
        add(plain.clone());
        if tool.is_read_only() {
            (0..ROUNDS).for_each(|round| add(varied(tool, &plain, round)));
        }
        found
    }
}

const ROUNDS: usize = 4;

/// The sample with values that more often exist: this folder, a number as text.
fn varied(tool: &Tool<'_>, plain: &Json, round: usize) -> Json {
    let here = std::env::current_dir().map(|path| path.display().to_string()).unwrap_or(".".into());
    let paths = [here.as_str(), ".", "/tmp", "README.md"];
    let texts = ["1", "test", "main", "a"];
    let mut arguments = plain.clone();
    for parameter in tool.parameters().iter().filter(|one| !one.path.contains(['.', '['])) {
        let made_up = arguments.get(&parameter.name) == Some(&Json::from("x"));
        if !made_up {
            continue;
        }
        let path = roles_of(tool, parameter).into_iter().any(Role::is_path);
        let values = if path { &paths } else { &texts };
        arguments.set(&parameter.name, values[round % values.len()]);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(text: &str) -> Json {
        json::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn given_arguments_come_first_and_paths_are_tried() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        std::fs::write(&path, r#"{"t":{"repo_path":"/r"},"u":[{"a":1},{"a":2}]}"#).unwrap();
        let examples = Examples::read(&path).unwrap();
        assert_eq!(examples.names().collect::<Vec<_>>(), ["t", "u", "u"]);
        let json = tool(
            r#"{"name":"t","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","required":["repo_path"],"properties":{"repo_path":{"type":"string"}}}}"#,
        );
        let tool = Tool { json: &json };
        let found = examples.candidates(&tool);
        assert_eq!(found[0], (crate::obj! { "repo_path": "/r" }, Origin::Given));
        assert_eq!(found[1].0.to_string(), r#"{"repo_path":"x"}"#);
        assert!(
            found.len() >= 5 && found.iter().any(|(one, _)| one.text_at("repo_path") == Some("."))
        );
        std::fs::write(&path, "[1]").unwrap();
        assert!(Examples::read(&path).is_err());
    }

    #[test]
    fn nothing_is_made_up_for_tools_that_may_write() {
        let json = tool(
            r#"{"name":"w","inputSchema":{"type":"object","required":["path"],"properties":{"path":{"type":"string"}}}}"#,
        );
        assert_eq!(Examples::default().candidates(&Tool { json: &json }).len(), 1);
    }
}
