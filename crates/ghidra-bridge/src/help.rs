//! Help texts, made from the table of start-up keys.

use server::config::{Command, KEYS};
use std::fmt::Write;

const OVERVIEW: &str = "\
ghidra-bridge opens a binary and answers questions about it over WebSocket and MCP.

  ghidra-bridge serve FILE [key=value ...]   WebSocket and MCP over HTTP
  ghidra-bridge ws FILE [key=value ...]      WebSocket only
  ghidra-bridge mcp FILE [key=value ...]     MCP over HTTP only
  ghidra-bridge stdio FILE [key=value ...]   MCP over standard input and output
  ghidra-bridge help [COMMAND]               this text, or the keys of a command
  ghidra-bridge --version

Try: ghidra-bridge serve /bin/ls";

const COMMANDS: [(Command, &str); 4] = [
    (Command::Serve, "Serves a file over WebSocket JSON-RPC and MCP over HTTP."),
    (Command::Ws, "Serves a file over WebSocket JSON-RPC, or connects out with ws_url."),
    (Command::Mcp, "Serves a file over MCP (streamable HTTP)."),
    (Command::Stdio, "Serves a file over MCP on standard input and output."),
];

/// What the program is for and which commands it has.
pub fn overview() -> String {
    OVERVIEW.to_owned()
}

/// That a word is no command, with the one that may be meant.
pub fn no_command(word: &str) -> String {
    let names = COMMANDS.iter().map(|(command, _)| command.name()).chain(["help"]);
    match api::nearest(word, names) {
        Some(near) => format!("{word:?} is not a command; did you mean {near}?"),
        None => format!("{word:?} is not a command; use serve, ws, mcp, stdio or help"),
    }
}

/// Help on a command, or the overview; an error says that there is no such command.
pub fn about(command: Option<&str>) -> Result<String, String> {
    let Some(name) = command.filter(|name| !matches!(*name, "help" | "--help" | "-h")) else {
        return Ok(overview());
    };
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
