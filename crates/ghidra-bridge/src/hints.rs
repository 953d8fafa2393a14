//! What people read when the server is up: how to connect to it.

use server::Running;
use server::config::{Config, ToolNames};

/// Lines for the error stream: where we listen, and what to paste where.
pub fn connect_lines(program: &str, running: &Running, config: &Config) -> String {
    let has_token = config.token.is_some();
    let mut lines = vec![format!("Serving {program}. Press Ctrl-C to end.")];
    if let Some(url) = &running.websocket {
        lines.push(format!("  WebSocket    {url}"));
    }
    if let Some(url) = &running.mcp {
        lines.push(format!("  MCP          {url}"));
        lines.extend(mcp_lines(url, has_token, config.tools.names));
    }
    if let Some(url) = &running.websocket {
        let header = if has_token { " -H 'Authorization: Bearer TOKEN'" } else { "" };
        lines.push(format!("  Script       websocat{header} {url}"));
    }
    lines.join("\n")
}

fn mcp_lines(url: &str, has_token: bool, names: ToolNames) -> Vec<String> {
    let (flag, member) = if has_token {
        (
            " --header 'Authorization: Bearer TOKEN'",
            r#","headers":{"Authorization":"Bearer TOKEN"}"#,
        )
    } else {
        ("", "")
    };
    let mut lines = vec![
        format!("  Claude Code  claude mcp add --transport http ghidra {url}{flag}"),
        format!(
            "  Cursor       .cursor/mcp.json: {{\"mcpServers\":{{\"ghidra\":{{\"url\":\"{url}\"{member}}}}}}}"
        ),
    ];
    if names == ToolNames::Dotted {
        lines.push(
            "               (it refuses dots in tool names: start with tool_names=underscore)"
                .into(),
        );
    }
    lines.push(format!(
            "  VS Code      code --add-mcp '{{\"name\":\"ghidra\",\"type\":\"http\",\"url\":\"{url}\"{member}}}'"
        ));
    lines
}
