//! Configurations in the shape each client reads.

use crate::client::Context;
use crate::json::Json;
use crate::obj;
use crate::target::Target;
use crate::trail::redact;

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

/// The text of the configuration. Secrets are left as a mark to fill in.
pub fn config(client: Client, name: &str, target: &Target, context: &Context) -> String {
    let entry = entry(client, target, context);
    let json = match client {
        Client::VsCode => obj! { "servers": Json::object().with(name, entry) },
        Client::Codex => return toml(name, &entry),
        _ => obj! { "mcpServers": Json::object().with(name, entry) },
    };
    format!("{}\n", json.pretty())
}

fn entry(client: Client, target: &Target, context: &Context) -> Json {
    match target {
        Target::Stdio(command) => {
            let mut entry = Json::object();
            if matches!(client, Client::VsCode | Client::ClaudeCode) {
                entry.push("type", "stdio");
            }
            entry.push("command", &command.program);
            entry.push("args", command.args.clone());
            let mut env = Json::object();
            for (name, value) in command.env.iter().chain(&context.env) {
                env.push(name, value);
            }
            if !env.members().is_empty() {
                entry.push("env", env);
            }
            entry
        }
        Target::Url(url) => http_entry(client, &url.to_string(), context),
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
