//! What the probe is pointed at.

use crate::http::Url;
use crate::json::{self, Json};
use crate::obj;
use crate::trail::argv;
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
    /// Working directory, when it is not ours.
    pub cwd: Option<PathBuf>,
    /// Whether it gets only the few variables that clients pass on, not all of ours.
    pub bare_env: bool,
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

impl Command {
    /// Program and arguments, secrets replaced.
    pub fn shown(&self) -> Vec<String> {
        argv::words(&self.words())
    }

    /// Program and arguments.
    pub fn words(&self) -> Vec<String> {
        let mut words = vec![self.program.clone()];
        words.extend(self.args.iter().cloned());
        words
    }
}

impl Target {
    /// Whether secrets were replaced in it, so that it cannot be started as it is.
    pub fn is_redacted(&self) -> bool {
        let marked = |text: &str| text.contains(crate::trail::redact::MARK);
        match self {
            Target::Stdio(command) => command.words().iter().any(|word| marked(word)),
            Target::Url(url) => marked(&url.path) || marked(&url.host),
            Target::File(_) => false,
        }
    }

    /// Reads the words of a command line.
    pub fn from_words(words: &[String], command: &[String]) -> Result<Target, String> {
        match words {
            [word] if word == "stdio" => match command {
                [] => Err("stdio needs a command: stdio -- COMMAND ARGUMENTS".into()),
                words => Ok(Target::of_command(words)),
            },
            [] if !command.is_empty() => Ok(Target::of_command(command)),
            [word, rest @ ..] if word == "stdio" => {
                Ok(Target::of_command(&[rest, command].concat()))
            }
            [_] if !command.is_empty() => Err("only stdio takes a command after --".into()),
            [word] => Target::from_word(word),
            [] => Err("a target is missing: stdio -- COMMAND, a URL, or a file".into()),
            [first, ..] => Err(format!(
                "too many targets: {}; for a command write: stdio -- {} (there is no program {first:?} on the search path)",
                words.join(" "),
                words.join(" ")
            )),
        }
    }

    /// A command line. One quoted text is split as a shell would do it.
    fn of_command(words: &[String]) -> Target {
        let split = match words {
            [line] if line.contains(char::is_whitespace) && !Path::new(line).exists() => {
                shlex::split(line)
            }
            _ => None,
        };
        let words = split.filter(|split| !split.is_empty()).unwrap_or(words.to_vec());
        let program = words.first().cloned().unwrap_or_default();
        Target::Stdio(Command {
            program,
            args: words.get(1..).unwrap_or_default().to_vec(),
            ..Command::default()
        })
    }

    fn from_word(word: &str) -> Result<Target, String> {
        if word.contains("://") {
            return Url::parse(word)
                .map(Target::Url)
                .ok_or(format!("{word:?} is no http, https, ws or wss address"));
        }
        let path = PathBuf::from(word);
        if path.exists() {
            return Ok(Target::File(path));
        }
        schemeless(word).map(Target::Url).ok_or(format!(
            "{word:?} is neither a URL, nor a file that exists, nor a program on the search path; a command is given as: stdio -- COMMAND ARGUMENTS"
        ))
    }

    /// The target in one line.
    pub fn describe(&self) -> String {
        match self {
            Target::Stdio(command) => {
                format!("stdio: {}", command.shown().join(" "))
            }
            Target::Url(url) => argv::address(&url.to_string()),
            Target::File(path) => path.display().to_string(),
        }
    }

    /// For the first line of a recording.
    pub fn to_json(&self) -> Json {
        match self {
            Target::Stdio(command) => {
                obj! { "transport": "stdio", "command": command.shown() }
            }
            Target::Url(url) => {
                obj! { "transport": if url.scheme.is_ws() { "ws" } else { "http" }, "url": argv::address(&url.to_string()) }
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

/// `localhost:3000`, `:3000`, `example.com/mcp`: an address as people say it. Without a
/// path it means the usual one.
fn schemeless(word: &str) -> Option<Url> {
    let word = if word.starts_with(':') { format!("localhost{word}") } else { word.to_string() };
    let (authority, path) = word.split_at(word.find('/').unwrap_or(word.len()));
    let name = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    let (host, port) = authority.rsplit_once(':').unwrap_or((authority, ""));
    let numbered = !port.is_empty() && port.parse::<u16>().is_ok();
    let known = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok();
    let dotted = host.contains('.') && !path.is_empty();
    if host.is_empty() || !authority.chars().all(name) || !(numbered || known || dotted) {
        return None;
    }
    let local = known || port != "443" && !dotted;
    let scheme = if local { "http" } else { "https" };
    let path = if path.is_empty() || path == "/" { "/mcp" } else { path };
    Url::parse(&format!("{scheme}://{authority}{path}"))
}

/// JSON as settings files have it: with remarks, and commas before closing brackets.
fn plain_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.char_indices().peekable();
    let mut inside = false;
    while let Some((at, c)) = rest.next() {
        let next = rest.peek().map(|(_, c)| *c);
        match (inside, c) {
            (true, '\\') => {
                out.push(c);
                out.extend(rest.next().map(|(_, c)| c));
            }
            (_, '"') => {
                inside = !inside;
                out.push(c);
            }
            (false, '/') if next == Some('/') => {
                while rest.next_if(|(_, c)| *c != '\n').is_some() {}
            }
            (false, '/') if next == Some('*') => {
                let end = text[at + 2..].find("*/").map_or(text.len(), |end| at + 2 + end + 2);
                while rest.next_if(|(at, _)| *at < end).is_some() {}
            }
            (false, '}' | ']') => {
                let kept = out.trim_end();
                if kept.ends_with(',') {
                    out.truncate(kept.len() - 1);
                }
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

/// Reads the servers named in a configuration file of a known client, or in a
/// list with one target a line.
pub fn read_list(path: &Path) -> Result<Vec<Named>, String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let parsed =
        json::parse(text.as_bytes()).or_else(|_| json::parse(plain_json(&text).as_bytes()));
    let found = match parsed {
        Ok(value) if value.is_object() => from_config(&value)?,
        _ if path.extension().is_some_and(|ending| ending == "json") => {
            return Err(format!("{} is no JSON, not even with remarks", path.display()));
        }
        _ if path.extension().is_some_and(|ending| ending == "toml") => from_toml(&text),
        _ => from_lines(&text, path)?,
    };
    match found.is_empty() {
        true => Err(format!("{} names no servers", path.display())),
        false => Ok(found),
    }
}

/// The tables `[mcp_servers.NAME]` of a TOML file with plain values, as Codex has them.
fn from_toml(text: &str) -> Vec<Named> {
    let mut entries: Vec<(String, Json)> = Vec::new();
    let mut part = None;
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        if let Some(header) = line.strip_prefix('[').and_then(|line| line.split(']').next()) {
            part = header.trim().strip_prefix("mcp_servers.").map(|name| {
                let (name, inner) = name.split_once('.').unwrap_or((name, ""));
                let name = name.trim_matches(['"', '\'']).to_string();
                if !entries.iter().any(|(known, _)| *known == name) {
                    entries.push((name.clone(), Json::object()));
                }
                (name, inner.to_string())
            });
            continue;
        }
        let (Some((name, inner)), Some((key, value))) = (&part, line.split_once('=')) else {
            continue;
        };
        let Some(value) = toml_value(value.trim()) else { continue };
        let Some((_, entry)) = entries.iter_mut().find(|(known, _)| known == name) else {
            continue;
        };
        let key = key.trim().trim_matches(['"', '\'']);
        if inner.is_empty() {
            entry.set(key, value);
        } else {
            let mut table = entry.get(inner).cloned().unwrap_or_else(Json::object);
            table.set(key, value);
            entry.set(inner, table);
        }
    }
    entries.iter().filter_map(|(name, entry)| from_entry(name, entry).ok().flatten()).collect()
}

/// Texts, lists of texts, inline tables and booleans: JSON but for the quotes and `=`.
fn toml_value(text: &str) -> Option<Json> {
    let text = text.strip_suffix(',').unwrap_or(text);
    let text = match text.strip_prefix('{') {
        Some(table) => format!(
            "{{{}",
            table
                .replace(" = ", ":")
                .replace('=', ":")
                .split(',')
                .map(quote_key)
                .collect::<Vec<_>>()
                .join(",")
        ),
        None if text.starts_with('\'') => format!("\"{}\"", text.trim_matches('\'')),
        None => text.to_string(),
    };
    json::parse(plain_json(&text).as_bytes()).ok()
}

fn quote_key(pair: &str) -> String {
    match pair.split_once(':') {
        Some((key, value)) if !key.trim().starts_with('"') => format!("\"{}\":{value}", key.trim()),
        _ => pair.to_string(),
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
                found.extend(from_entry(name.as_str(), server)?);
            }
        }
    }
    Ok(found)
}

/// One server; none if the client was told not to start it.
fn from_entry(name: &str, server: &Json) -> Result<Option<Named>, String> {
    let switch = |key: &str| server.get(key).and_then(Json::as_bool);
    if switch("disabled") == Some(true) || switch("enabled") == Some(false) {
        return Ok(None);
    }
    let texts = |list: Option<&Json>| -> Vec<String> {
        list.map_or(&[][..], Json::items).iter().filter_map(Json::as_str).map(filled).collect()
    };
    let pairs = |list: Option<&Json>| -> Vec<(String, String)> {
        let pair = |(key, value): &(json::Text, Json)| {
            Some((key.as_str().to_string(), filled(value.as_str()?)))
        };
        list.map_or(&[][..], Json::members).iter().filter_map(pair).collect()
    };
    let url = ["url", "serverUrl", "httpUrl"].iter().find_map(|key| server.text_at(key));
    let target = match (url, server.text_at("command")) {
        (Some(url), _) => Url::parse(&filled(url))
            .map(Target::Url)
            .ok_or(format!("{name}: {url:?} is no address"))?,
        (None, Some(program)) => Target::Stdio(Command {
            program: filled(program),
            args: texts(server.get("args")),
            env: pairs(server.get("env")),
            cwd: server.text_at("cwd").map(|folder| PathBuf::from(filled(folder))),
            bare_env: false,
        }),
        // Some clients write program and arguments as one list.
        (None, None) if server.get("command").is_some_and(Json::is_array) => {
            Target::Stdio(Command {
                env: pairs(server.get("environment").or(server.get("env"))),
                cwd: server.text_at("cwd").map(PathBuf::from),
                ..command_of(texts(server.get("command")))
            })
        }
        (None, None) => return Err(format!("{name}: neither url nor command")),
    };
    let headers = ["headers", "http_headers"].iter().find_map(|key| server.get(key));
    Ok(Some(Named { name: name.into(), target, headers: pairs(headers) }))
}

fn command_of(words: Vec<String>) -> Command {
    let mut words = words.into_iter();
    Command {
        program: words.next().unwrap_or_default(),
        args: words.collect(),
        ..Command::default()
    }
}

/// A text with `${NAME}`, `${env:NAME}` and `${NAME:-default}` filled in from our own
/// variables, as clients do; what is not set stays as it is.
fn filled(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once("${") {
        out.push_str(before);
        let Some((name, after)) = inside.split_once('}') else {
            out.push_str("${");
            out.push_str(inside);
            return out;
        };
        let (key, default) = match name.split_once(":-") {
            Some((key, default)) => (key, Some(default)),
            None => (name.strip_prefix("env:").unwrap_or(name), None),
        };
        let home = (key == "userHome").then(|| std::env::var("HOME").ok()).flatten();
        let folder = (key == "workspaceFolder")
            .then(|| std::env::current_dir().ok().map(|at| at.display().to_string()))
            .flatten();
        let value = home.or(folder).or_else(|| std::env::var(key).ok()).or(default.map(Into::into));
        out.push_str(&value.unwrap_or(format!("${{{name}}}")));
        rest = after;
    }
    out.push_str(rest);
    out
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
        assert_eq!(Target::from_json(&target.to_json()), Some(target.clone()));
        assert_eq!(Target::from_words(&[], &words(&["a", "b"])).unwrap(), target);
        assert_eq!(Target::from_words(&words(&["stdio"]), &words(&["a b"])).unwrap(), target);
    }

    #[test]
    fn addresses_without_a_scheme() {
        for (word, address) in [
            ("localhost:3000", "http://localhost:3000/mcp"),
            (":3000", "http://localhost:3000/mcp"),
            ("127.0.0.1:8931/x", "http://127.0.0.1:8931/x"),
            ("localhost/mcp", "http://localhost/mcp"),
            ("example.com/mcp", "https://example.com/mcp"),
        ] {
            assert_eq!(schemeless(word).unwrap().to_string(), address);
        }
        for word in ["report.json", "no such thing", "a:b", "", "x"] {
            assert_eq!(schemeless(word), None, "{word}");
        }
    }

    #[test]
    fn settings_with_remarks_and_switches() {
        let text = "{ // remark\n\"servers\": { /* two */ \"a\": {\"command\": [\"x\", \"//y\"], \"cwd\": \"/tmp\", \"environment\": {\"K\": \"${NO_SUCH_VARIABLE:-v}\"}},\n\"off\": {\"command\": \"z\", \"disabled\": true,},},}";
        let found = from_config(&json::parse(plain_json(text).as_bytes()).unwrap()).unwrap();
        assert_eq!(found.len(), 1);
        let Target::Stdio(command) = &found[0].target else { panic!("a command") };
        assert_eq!(command.args, ["//y"]);
        assert_eq!(command.cwd.as_deref(), Some(Path::new("/tmp")));
        assert_eq!(command.env, [("K".to_string(), "v".to_string())]);
    }

    #[test]
    fn tables_of_toml() {
        let text = "model = \"x\"\n[mcp_servers.docs]\ncommand = \"npx\"\nargs = [\"-y\", \"docs\"]\n[mcp_servers.docs.env]\nK = 'v'\n[mcp_servers.web]\nurl = \"https://a/mcp\"\nhttp_headers = { \"A\" = \"b\" }\n[other]\ncommand = \"no\"\n";
        let found = from_toml(text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].target.describe(), "stdio: npx -y docs");
        assert_eq!(found[1].headers, [("A".to_string(), "b".to_string())]);
    }
}
