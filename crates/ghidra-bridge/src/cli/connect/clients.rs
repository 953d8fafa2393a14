//! The AI clients that a bridge is connected to: where each keeps its configuration, and what an
//! entry looks like there. The pages under `docs/clients` show the same; a test compares them.

use serde_json::{Value, json};
use std::path::PathBuf;

/// How a client's file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON, whose comments are kept.
    Json,
    /// TOML.
    Toml,
}

/// One client.
pub struct Client {
    /// How it is called on the command line, and its page.
    pub name: &'static str,
    /// How it calls itself.
    pub title: &'static str,
    pub format: Format,
    /// The member that holds the servers.
    pub servers: &'static str,
    place: fn(&Folders) -> Option<PathBuf>,
    entry: fn(&str, &[String]) -> Value,
    /// What to do afterwards.
    pub then: &'static str,
}

impl Client {
    /// Its configuration file.
    pub fn place(&self) -> Option<PathBuf> {
        (self.place)(&Folders::find()?)
    }

    /// The entry that starts a bridge.
    pub fn entry(&self, command: &str, arguments: &[String]) -> Value {
        (self.entry)(command, arguments)
    }
}

/// Where clients keep what they keep.
pub struct Folders {
    home: PathBuf,
    /// The folder of settings of programs with windows.
    settings: PathBuf,
}

impl Folders {
    fn find() -> Option<Folders> {
        let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty())?;
        let variable =
            |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let settings = if cfg!(windows) {
            variable("APPDATA")?
        } else if cfg!(target_os = "macos") {
            home.join("Library/Application Support")
        } else {
            variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"))
        };
        Some(Folders { home, settings })
    }
}

fn plain(command: &str, arguments: &[String]) -> Value {
    json!({ "command": command, "args": arguments })
}

fn typed(command: &str, arguments: &[String]) -> Value {
    json!({ "type": "stdio", "command": command, "args": arguments })
}

/// All of them, in the order of the documents.
pub const CLIENTS: &[Client] = &[
    Client {
        name: "claude-desktop",
        title: "Claude Desktop",
        format: Format::Json,
        servers: "mcpServers",
        place: |folders| Some(folders.settings.join("Claude").join("claude_desktop_config.json")),
        entry: plain,
        then: "restart Claude Desktop",
    },
    Client {
        name: "claude-code",
        title: "Claude Code",
        format: Format::Json,
        servers: "mcpServers",
        place: |_| Some(PathBuf::from(".mcp.json")),
        entry: typed,
        then: "start claude in this folder and allow the server",
    },
    Client {
        name: "cursor",
        title: "Cursor",
        format: Format::Json,
        servers: "mcpServers",
        place: |folders| Some(folders.home.join(".cursor").join("mcp.json")),
        entry: plain,
        then: "switch the server on in Cursor's settings, under MCP",
    },
    Client {
        name: "vscode",
        title: "VS Code",
        format: Format::Json,
        servers: "servers",
        place: |_| Some(PathBuf::from(".vscode").join("mcp.json")),
        entry: typed,
        then: "open this folder in VS Code and use agent mode",
    },
    Client {
        name: "codex",
        title: "Codex",
        format: Format::Toml,
        servers: "mcp_servers",
        place: |folders| Some(folders.home.join(".codex").join("config.toml")),
        entry: plain,
        then: "start codex",
    },
    Client {
        name: "gemini-cli",
        title: "Gemini CLI",
        format: Format::Json,
        servers: "mcpServers",
        place: |folders| Some(folders.home.join(".gemini").join("settings.json")),
        entry: plain,
        then: "start gemini; /mcp lists the tools",
    },
    Client {
        name: "copilot-cli",
        title: "Copilot CLI",
        format: Format::Json,
        servers: "mcpServers",
        place: |folders| Some(folders.home.join(".copilot").join("mcp-config.json")),
        entry: |command, arguments| json!({ "type": "local", "command": command, "args": arguments, "tools": ["*"] }),
        then: "start copilot",
    },
    Client {
        name: "zed",
        title: "Zed",
        format: Format::Json,
        servers: "context_servers",
        place: |folders| {
            // On macOS Zed keeps to the folder of other systems.
            let settings = if cfg!(windows) {
                folders.settings.join("Zed")
            } else {
                config(folders).join("zed")
            };
            Some(settings.join("settings.json"))
        },
        entry: |command, arguments| json!({ "source": "custom", "command": command, "args": arguments, "env": {} }),
        then: "Zed reads it at once",
    },
    Client {
        name: "cline",
        title: "Cline",
        format: Format::Json,
        servers: "mcpServers",
        place: |folders| {
            let storage = folders.settings.join("Code").join("User").join("globalStorage");
            let storage = storage.join("saoudrizwan.claude-dev").join("settings");
            Some(storage.join("cline_mcp_settings.json"))
        },
        entry: |command, arguments| json!({ "command": command, "args": arguments, "disabled": false, "autoApprove": [] }),
        then: "Cline reads it at once",
    },
    Client {
        name: "windsurf",
        title: "Windsurf",
        format: Format::Json,
        servers: "mcpServers",
        place: |folders| {
            Some(folders.home.join(".codeium").join("windsurf").join("mcp_config.json"))
        },
        entry: plain,
        then: "press the refresh button in Windsurf's MCP panel",
    },
];

fn config(folders: &Folders) -> PathBuf {
    if cfg!(target_os = "macos") { folders.home.join(".config") } else { folders.settings.clone() }
}

/// The client of a name.
pub fn find(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.name == name)
}
