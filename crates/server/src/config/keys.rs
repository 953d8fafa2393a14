//! The start-up keys as a table: who takes which, and what people read about
//! them. The parser and the help text both come from here.

use super::Command;
use Command::{Mcp, Serve, Stdio, Ws};

/// One start-up argument.
#[derive(Debug)]
pub struct Key {
    /// How it is written before the `=`.
    pub name: &'static str,
    /// What stands after the `=`.
    pub value: &'static str,
    /// One sentence, default included.
    pub text: &'static str,
    /// Whether the bare word `--name` means `true`.
    pub flag: bool,
    commands: &'static [Command],
}

impl Key {
    /// Whether a command takes this key.
    pub fn belongs_to(&self, command: Command) -> bool {
        self.commands.contains(&command)
    }
}

const ALL: &[Command] = &[Serve, Ws, Mcp, Stdio];
const SOCKETS: &[Command] = &[Serve, Ws, Mcp];
const TOOLS: &[Command] = &[Serve, Mcp, Stdio];

const fn key(
    name: &'static str,
    value: &'static str,
    commands: &'static [Command],
    text: &'static str,
) -> Key {
    Key { name, value, text, flag: false, commands }
}

const fn flag(name: &'static str, commands: &'static [Command], text: &'static str) -> Key {
    Key { name, value: "true|false", text, flag: true, commands }
}

/// Every key, in the order of the help text.
pub const KEYS: &[Key] = &[
    key(
        "host",
        "NAME",
        SOCKETS,
        "Address to listen on (default 127.0.0.1); any other than loopback needs a token.",
    ),
    key(
        "port",
        "PORT",
        SOCKETS,
        "Port (default 8765 for ws, 8766 for mcp); serve takes it for WebSocket and the next one for MCP; 0 picks free \
         ones.",
    ),
    key(
        "path",
        "PATH",
        SOCKETS,
        "Path, of serve for both (default /ws/agent for ws, /mcp for mcp).",
    ),
    key("ws_port", "PORT", &[Serve, Ws], "WebSocket port (default 8765); 0 picks a free one."),
    key("ws_path", "PATH", &[Serve, Ws], "WebSocket path (default /ws/agent)."),
    key("mcp_port", "PORT", &[Serve, Mcp], "MCP port (default 8766); 0 picks a free one."),
    key("mcp_path", "PATH", &[Serve, Mcp], "MCP path (default /mcp)."),
    key("ws_url", "URL", &[Ws], "Connect out to this WebSocket server in place of listening."),
    key(
        "exit_deadline_sec",
        "SECONDS",
        &[Ws],
        "With ws_url: end the process this long after the session at the latest.",
    ),
    key(
        "token",
        "SECRET",
        SOCKETS,
        "Bearer token that clients must send; GHIDRA_BRIDGE_TOKEN or token_file keep it out of process lists.",
    ),
    key("token_file", "FILE", SOCKETS, "File that holds the token."),
    key("session_id", "TEXT", ALL, "Name of the session (default: the program's name)."),
    key(
        "extensions",
        "off|on",
        ALL,
        "Serve the extended methods as well, which docs/extensions.md describes (default off).",
    ),
    key("tool_prefix", "TEXT", TOOLS, "Prefix of the MCP tool names (default ghidra)."),
    key(
        "tool_names",
        "dotted|underscore",
        TOOLS,
        "How tool names are listed; both are accepted (default dotted).",
    ),
    key(
        "tool_schemas",
        "compact|full",
        TOOLS,
        "Short schemas for any client, or complete ones with an alternative per operation, for programs: AI clients \
         refuse alternatives (default compact).",
    ),
    key(
        "analysis",
        "background|wait|off",
        ALL,
        "When the program is analysed (default background).",
    ),
    key(
        "language",
        "ID",
        ALL,
        "Language to use in place of the detected one, such as x86:LE:64:default; a compiler may follow \
         (x86:LE:64:default:windows), which decides about calling conventions.",
    ),
    key("base", "ADDRESS", ALL, "Image base, hexadecimal."),
    key(
        "pdb",
        "FILE",
        ALL,
        "PDB file of a Windows program (default: the one that the program names, if it lies beside it).",
    ),
    key(
        "loader",
        "auto|elf|pe|coff|macho|raw|hex|srec|ar",
        ALL,
        "File format (default auto: what the first bytes say).",
    ),
    key("member", "NAME", ALL, "Member of an ar or ZIP archive to open (default: the only one)."),
    key(
        "project",
        "FILE|none",
        ALL,
        "Project file that keeps edits and analysis (default: one per file content in the user's data folder).",
    ),
    flag(
        "read_only",
        ALL,
        "Refuse every change, and do not write the project file (default false).",
    ),
    key("log", "FILE|stderr", ALL, "Where requests are logged (default: nowhere)."),
    key(
        "max_body",
        "BYTES",
        ALL,
        "Longest message accepted, with k or m for KiB or MiB (default 16m).",
    ),
    key("max_clients", "COUNT", SOCKETS, "Connections served at once (default 256)."),
];

/// A key as a command calls it: `mcp_port` is the port of `mcp`, and `ws_path` the path of `ws`.
pub fn spelling(command: Command, name: String) -> String {
    let short = match (command, name.as_str()) {
        (Mcp, "mcp_port") | (Ws, "ws_port") => "port",
        (Mcp, "mcp_path") | (Ws, "ws_path") => "path",
        _ => return name,
    };
    short.to_owned()
}

/// What to write in place of a key that other commands take.
pub fn other_spelling(command: Command, name: &str) -> Option<&'static str> {
    match (command, name) {
        (Ws, "mcp_port" | "mcp_path") => Some("it serves no MCP; serve does both"),
        (Mcp, "ws_port" | "ws_path") => Some("it serves no WebSocket; serve does both"),
        (Stdio, "port" | "path" | "host" | "ws_port" | "ws_path" | "mcp_port" | "mcp_path") => {
            Some("it listens nowhere, and speaks over standard input and output")
        }
        _ => None,
    }
}

/// Finds a key by name.
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_well_formed() {
        for (index, key) in KEYS.iter().enumerate() {
            assert!(key.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{}", key.name);
            assert!(key.text.ends_with('.'), "{}", key.name);
            assert!(!key.commands.is_empty(), "{}", key.name);
            assert!(KEYS[..index].iter().all(|other| other.name != key.name), "{} twice", key.name);
        }
    }
}
