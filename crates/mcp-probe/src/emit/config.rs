//! Configurations in the shape each client reads.

use crate::client::Context;
use crate::json::Json;
use crate::obj;
use crate::target::Target;
use crate::trail::{argv, redact};

/// A client with a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// `claude_desktop_config.json`
    ClaudeDesktop,
    /// `.mcp.json`
    ClaudeCode,
    /// `.cursor/mcp.json`
    Cursor,
    /// `.vscode/mcp.json`
    VsCode,
    /// `.codex/config.toml`
    Codex,
    /// `.gemini/settings.json`
    Gemini,
}

impl Client {
    /// By name.
    pub fn named(name: &str) -> Option<Client> {
        Some(match name {
            "claude-desktop" => Client::ClaudeDesktop,
            "claude-code" => Client::ClaudeCode,
            "cursor" => Client::Cursor,
            "vscode" => Client::VsCode,
            "codex" => Client::Codex,
            "gemini" => Client::Gemini,
            _ => return None,
        })
    }
}

/// The text of the configuration. Secrets are left out unless they are to be kept:
/// variables are named in the form that the client fills in, other secrets are a
/// mark to fill in by hand.
pub fn config(
    client: Client,
    name: &str,
    target: &Target,
    context: &Context,
    keep_secrets: bool,
) -> String {
    let entry = entry(client, target, context, keep_secrets);
    let json = match client {
        Client::VsCode => obj! { "servers": Json::object().with(name, entry) },
        Client::Codex => return toml(name, &entry),
        _ => obj! { "mcpServers": Json::object().with(name, entry) },
    };
    format!("{}\n", json.pretty())
}

/// How a client refers to a variable of its own environment, if it can.
fn reference(client: Client, name: &str) -> Option<String> {
    match client {
        Client::ClaudeCode | Client::Gemini => Some(format!("${{{name}}}")),
        Client::Cursor | Client::VsCode => Some(format!("${{env:{name}}}")),
        Client::ClaudeDesktop | Client::Codex => None,
    }
}

fn entry(client: Client, target: &Target, context: &Context, keep_secrets: bool) -> Json {
    match target {
        Target::Stdio(command) => {
            let mut entry = Json::object();
            if matches!(client, Client::VsCode | Client::ClaudeCode) {
                entry.push("type", "stdio");
            }
            entry.push("command", &command.program);
            let args = if keep_secrets { command.words() } else { command.shown() };
            entry.push("args", args[1..].to_vec());
            let mut env = Json::object();
            let mut passed_on = Vec::new();
            for (name, value) in command.env.iter().chain(&context.env) {
                if keep_secrets || !argv::is_telling(name) {
                    env.push(name, value);
                } else if client == Client::Codex {
                    passed_on.push(name.as_str());
                } else {
                    let value = reference(client, name).unwrap_or_else(|| redact::MARK.into());
                    env.push(name, value);
                }
            }
            if !passed_on.is_empty() {
                // Variables that Codex hands on from its own environment.
                entry.push("env_vars", passed_on);
            }
            if !env.members().is_empty() {
                entry.push("env", env);
            }
            entry
        }
        Target::Url(url) => http_entry(client, &argv::address(&url.to_string()), context),
        Target::File(_) => Json::object(),
    }
}

fn http_entry(client: Client, url: &str, context: &Context) -> Json {
    let headers = context
        .headers
        .iter()
        .map(|(name, value)| (name.as_str().into(), redact::header(name, value).into()));
    let headers = Json::Object(headers.collect());
    // Claude Desktop starts commands only; a bridge is needed in between.
    if client == Client::ClaudeDesktop {
        let mut args = vec!["-y".to_string(), "mcp-remote".into(), url.into()];
        for (name, value) in headers.members() {
            args.push("--header".into());
            args.push(format!("{}: {}", name.as_str(), value.as_str().unwrap_or_default()));
        }
        return obj! { "command": "npx", "args": args };
    }
    let mut entry = match client {
        Client::Gemini => obj! { "httpUrl": url },
        Client::Codex | Client::Cursor => obj! { "url": url },
        _ => obj! { "type": "http", "url": url },
    };
    if !headers.members().is_empty() {
        entry.push(if client == Client::Codex { "http_headers" } else { "headers" }, headers);
    }
    entry
}

/// The few shapes that are needed; JSON strings and lists are TOML as well.
fn toml(name: &str, entry: &Json) -> String {
    let key = |name: &str| {
        let bare =
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        if bare { name.to_string() } else { Json::from(name).to_string() }
    };
    let mut out = format!("[mcp_servers.{}]\n", key(name));
    for (member, value) in entry.members().iter().filter(|(_, value)| !value.is_object()) {
        out.push_str(&format!("{} = {value}\n", member.as_str()));
    }
    for (member, value) in entry.members().iter().filter(|(_, value)| value.is_object()) {
        out.push_str(&format!("\n[mcp_servers.{}.{}]\n", key(name), member.as_str()));
        for (name, value) in value.members() {
            out.push_str(&format!("{} = {value}\n", key(name.as_str())));
        }
    }
    out
}
