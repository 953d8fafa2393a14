//! What the probe is pointed at.

use crate::http::Url;
use crate::json::{self, Json};
use crate::obj;
use std::path::{Path, PathBuf};

/// A server, or something saved about one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A command to start, speaking over its standard streams.
    Stdio(Command),
    /// A server that is already running.
    Url(Url),
    /// A saved report or recording.
    File(PathBuf),
}

/// A command with arguments and additions to its environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// Program.
    pub program: String,
    /// Arguments.
    pub args: Vec<String>,
    /// Environment variables to set.
    pub env: Vec<(String, String)>,
}

/// A target with the name under which it was found.
#[derive(Debug, Clone)]
pub struct Named {
    /// Name in a configuration file, or the target itself.
    pub name: String,
    /// The target.
    pub target: Target,
    /// Headers the configuration file asks for.
    pub headers: Vec<(String, String)>,
}

impl Target {
    /// Reads the words of a command line.
    pub fn from_words(words: &[String], command: &[String]) -> Result<Target, String> {
        match words {
            [word] if word == "stdio" => match command {
                [] => Err("stdio needs a command: stdio -- COMMAND ARGUMENTS".into()),
                [program, args @ ..] => Ok(Target::Stdio(Command {
                    program: program.clone(),
                    args: args.to_vec(),
                    env: Vec::new(),
                })),
            },
            [_] if !command.is_empty() => Err("only stdio takes a command after --".into()),
            [word] => Target::from_word(word),
            [] if !command.is_empty() => Err("put the word stdio before --".into()),
            [] => Err("a target is missing: stdio -- COMMAND, a URL, or a file".into()),
            _ => Err(format!("too many targets: {}", words.join(" "))),
        }
    }

    fn from_word(word: &str) -> Result<Target, String> {
        if word.contains("://") {
            return Url::parse(word)
                .map(Target::Url)
                .ok_or(format!("{word:?} is no http, https, ws or wss address"));
        }
        let path = PathBuf::from(word);
        match path.exists() {
            true => Ok(Target::File(path)),
            false => Err(format!("{word:?} is neither stdio, nor a URL, nor a file that exists")),
        }
    }

    /// The target in one line.
    pub fn describe(&self) -> String {
        match self {
            Target::Stdio(command) => {
                format!("stdio: {} {}", command.program, command.args.join(" ")).trim_end().into()
            }
            Target::Url(url) => url.to_string(),
            Target::File(path) => path.display().to_string(),
        }
    }

    /// For the first line of a recording.
    pub fn to_json(&self) -> Json {
        match self {
            Target::Stdio(command) => {
                let mut words = vec![command.program.clone()];
                words.extend(command.args.iter().cloned());
                obj! { "transport": "stdio", "command": words }
            }
            Target::Url(url) => {
                obj! { "transport": if url.scheme.is_ws() { "ws" } else { "http" }, "url": crate::trail::redact::path(&url.to_string()) }
            }
            Target::File(path) => obj! { "file": path.display().to_string() },
        }
    }

    /// Back from the first line of a recording.
    pub fn from_json(value: &Json) -> Option<Target> {
        if let Some(url) = value.text_at("url") {
            return Url::parse(url).map(Target::Url);
        }
        let words: Vec<String> =
            value.get("command")?.items().iter().filter_map(Json::as_str).map(Into::into).collect();
        Target::from_words(&["stdio".to_string()], &words).ok()
    }
}

/// Reads the servers named in a configuration file of a known client, or in a
/// list with one target a line.
pub fn read_list(path: &Path) -> Result<Vec<Named>, String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let found = match json::parse(text.as_bytes()) {
        Ok(value) if value.is_object() => from_config(&value)?,
        _ => from_lines(&text, path)?,
    };
    match found.is_empty() {
        true => Err(format!("{} names no servers", path.display())),
        false => Ok(found),
    }
}

/// `mcpServers` (most clients), `servers` (VS Code), also inside `mcp` or below `projects`.
fn from_config(value: &Json) -> Result<Vec<Named>, String> {
    let mut found = Vec::new();
    let projects =
        value.get("projects").map_or(&[][..], Json::members).iter().map(|(_, project)| project);
    let places = [Some(value), value.get("mcp")].into_iter().flatten().chain(projects);
    for place in places {
        for key in ["mcpServers", "servers", "context_servers"] {
            for (name, server) in place.get(key).map_or(&[][..], Json::members) {
                found.push(from_entry(name.as_str(), server)?);
            }
        }
    }
    Ok(found)
}

fn from_entry(name: &str, server: &Json) -> Result<Named, String> {
    let texts = |list: Option<&Json>| -> Vec<String> {
        list.map_or(&[][..], Json::items).iter().filter_map(Json::as_str).map(Into::into).collect()
    };
    let pairs = |list: Option<&Json>| -> Vec<(String, String)> {
        let pair = |(key, value): &(json::Text, Json)| {
            Some((key.as_str().to_string(), value.as_str()?.to_string()))
        };
        list.map_or(&[][..], Json::members).iter().filter_map(pair).collect()
    };
    let url = ["url", "serverUrl", "httpUrl"].iter().find_map(|key| server.text_at(key));
    let target = match (url, server.text_at("command")) {
        (Some(url), _) => {
            Url::parse(url).map(Target::Url).ok_or(format!("{name}: {url:?} is no address"))?
        }
        (None, Some(program)) => Target::Stdio(Command {
            program: program.into(),
            args: texts(server.get("args")),
            env: pairs(server.get("env")),
        }),
        (None, None) => return Err(format!("{name}: neither url nor command")),
    };
    Ok(Named { name: name.into(), target, headers: pairs(server.get("headers")) })
}

fn from_lines(text: &str, path: &Path) -> Result<Vec<Named>, String> {
    let mut found = Vec::new();
    let lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines {
        let words: Vec<String> = line.split_whitespace().map(Into::into).collect();
        let target = match words.as_slice() {
            [first, rest @ ..] if first == "stdio" => {
                let rest = rest.strip_prefix(&["--".to_string()]).unwrap_or(rest);
                Target::from_words(&words[..1], rest)?
            }
            _ if line.contains("://") => Target::from_word(line)?,
            _ => Target::File(path.parent().unwrap_or(Path::new(".")).join(line)),
        };
        found.push(Named { name: target.describe(), target, headers: Vec::new() });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_files_name_servers() {
        let text = br#"{"mcpServers":{"a":{"command":"x","args":["-y","b"],"env":{"K":"v"}},"u":{"type":"http","url":"http://h/mcp","headers":{"A":"b"}}},
            "mcp":{"servers":{"s":{"command":"z"}}}}"#;
        let found = from_config(&json::parse(text).unwrap()).unwrap();
        let names: Vec<_> = found.iter().map(|named| named.name.as_str()).collect();
        assert_eq!(names, ["a", "u", "s"]);
        assert_eq!(found[0].target.describe(), "stdio: x -y b");
        assert_eq!(found[1].headers, [("A".to_string(), "b".to_string())]);
    }

    #[test]
    fn words_name_targets() {
        let words = |list: &[&str]| list.iter().map(|word| word.to_string()).collect::<Vec<_>>();
        assert!(Target::from_words(&words(&["stdio"]), &[]).is_err());
        assert!(Target::from_words(&words(&["http://h"]), &words(&["x"])).is_err());
        assert!(Target::from_words(&words(&["no such thing"]), &[]).is_err());
        let target = Target::from_words(&words(&["stdio"]), &words(&["a", "b"])).unwrap();
        assert_eq!(Target::from_json(&target.to_json()), Some(target));
    }
}
