//! Help texts, made from the table of start-up keys.

use server::config::{Command, KEYS};
use std::fmt::Write;

const OVERVIEW: &str = "\
ghidra-bridge opens a binary and answers questions about it: here, or over WebSocket and MCP.

Ask once (each takes a FILE, and --json):
{verbs}
Serve:
  ghidra-bridge serve FILE [key=value ...]   WebSocket and MCP over HTTP
  ghidra-bridge ws FILE [key=value ...]      WebSocket only
  ghidra-bridge mcp FILE [key=value ...]     MCP over HTTP only
  ghidra-bridge stdio FILE [key=value ...]   MCP over standard input and output
  ghidra-bridge help [COMMAND]               this text, or more on a command
  ghidra-bridge --version

Try: ghidra-bridge info /bin/ls";

/// The servers, and what each does.
pub const COMMANDS: [(Command, &str); 4] = [
    (Command::Serve, "Serves a file over WebSocket JSON-RPC and MCP over HTTP."),
    (Command::Ws, "Serves a file over WebSocket JSON-RPC, or connects out with ws_url."),
    (Command::Mcp, "Serves a file over MCP (streamable HTTP)."),
    (Command::Stdio, "Serves a file over MCP on standard input and output."),
];

/// What the program is for and which commands it has.
pub fn overview() -> String {
    OVERVIEW.replace("{verbs}", &crate::cli::overview())
}

/// That a word is no command, with the one that may be meant.
pub fn no_command(word: &str) -> String {
    let verbs = crate::cli::names();
    let servers = COMMANDS.iter().map(|(command, _)| command.name()).chain(["help"]);
    match api::nearest(word, verbs.iter().map(String::as_str).chain(servers)) {
        Some(near) => format!("{word:?} is not a command; did you mean {near}?"),
        None => format!("{word:?} is not a command; ghidra-bridge help lists them"),
    }
}

/// Help on a command, or the overview; an error says that there is no such command.
pub fn about(command: Option<&str>) -> Result<String, String> {
    let Some(name) = command.filter(|name| !matches!(*name, "help" | "--help" | "-h")) else {
        return Ok(overview());
    };
    if let Some(text) = crate::cli::help(name) {
        return Ok(text);
    }
    let found = COMMANDS.iter().find(|(known, _)| known.name() == name);
    let Some((command, text)) = found else { return Err(no_command(name)) };
    let mut out = format!(
        "{text}\n\n  ghidra-bridge {} FILE [key=value ...]\n\n\
         --key value and --key=value mean the same as key=value.\n",
        command.name()
    );
    for key in KEYS.iter().filter(|key| key.belongs_to(*command)) {
        let _ = write!(out, "\n  {}={}\n      {}", key.name, key.value, key.text);
    }
    Ok(out)
}
