//! Where the known clients keep the list of their servers: per user, and in the folder of
//! a project.

use crate::target::{Named, read_list};
use std::path::{Path, PathBuf};

/// Client and the places below the user's home folder (Linux, macOS, Windows).
const OF_USER: [(&str, &[&str]); 15] = [
    (
        "claude-desktop",
        &[
            ".config/Claude/claude_desktop_config.json",
            "Library/Application Support/Claude/claude_desktop_config.json",
            "AppData/Roaming/Claude/claude_desktop_config.json",
        ],
    ),
    ("claude-code", &[".claude.json", ".claude/settings.json"]),
    ("cursor", &[".cursor/mcp.json"]),
    (
        "vscode",
        &[
            ".config/Code/User/mcp.json",
            ".config/Code/User/settings.json",
            "Library/Application Support/Code/User/mcp.json",
            "Library/Application Support/Code/User/settings.json",
            "AppData/Roaming/Code/User/mcp.json",
        ],
    ),
    ("windsurf", &[".codeium/windsurf/mcp_config.json"]),
    ("gemini", &[".gemini/settings.json"]),
    ("codex", &[".codex/config.toml"]),
    ("zed", &[".config/zed/settings.json", "Library/Application Support/Zed/settings.json"]),
    (
        "cline",
        &[
            ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            "Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        ],
    ),
    (
        "roo",
        &[
            ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            "Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
        ],
    ),
    ("lm-studio", &[".lmstudio/mcp.json"]),
    ("amazon-q", &[".aws/amazonq/mcp.json"]),
    ("kiro", &[".kiro/settings/mcp.json"]),
    ("copilot-cli", &[".copilot/mcp-config.json"]),
    ("opencode", &[".config/opencode/opencode.json"]),
];

/// Client and the places below the folder of a project.
const OF_PROJECT: [(&str, &str); 6] = [
    ("project", ".mcp.json"),
    ("cursor", ".cursor/mcp.json"),
    ("vscode", ".vscode/mcp.json"),
    ("gemini", ".gemini/settings.json"),
    ("kiro", ".kiro/settings/mcp.json"),
    ("roo", ".roo/mcp.json"),
];

/// The files that are there, with their clients.
pub fn files(home: Option<&Path>, project: &Path) -> Vec<(&'static str, PathBuf)> {
    let mut found: Vec<(&'static str, PathBuf)> = Vec::new();
    let own = home.into_iter().flat_map(|home| {
        OF_USER.iter().flat_map(move |(client, places)| {
            places.iter().map(move |place| (*client, home.join(place)))
        })
    });
    let here = OF_PROJECT.iter().map(|(client, place)| (*client, project.join(place)));
    for (client, path) in own.chain(here) {
        if path.is_file() && !found.iter().any(|(_, known)| *known == path) {
            found.push((client, path));
        }
    }
    found
}

/// The servers of all clients of this user and of the working directory, named
/// `client/server`; files that cannot be read are told, not fatal.
pub fn servers() -> Result<Vec<Named>, String> {
    let home =
        std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE")).map(PathBuf::from);
    let project = std::env::current_dir().unwrap_or_default();
    let files = files(home.as_deref(), &project);
    let mut all = Vec::new();
    for (client, path) in &files {
        match read_list(path) {
            Ok(found) => all.extend(
                found
                    .into_iter()
                    .map(|named| Named { name: format!("{client}/{}", named.name), ..named }),
            ),
            // Settings of a client that names no servers.
            Err(error) if error.contains("names no servers") => {}
            Err(error) => eprintln!("mcp-probe: not read: {error}"),
        }
    }
    match all.is_empty() {
        true => Err(format!(
            "no client of this machine names a server ({} looked into)",
            crate::screen::count(files.len(), "file")
        )),
        false => Ok(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_user_and_project() {
        let (home, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir_all(home.path().join(".cursor")).unwrap();
        std::fs::write(home.path().join(".cursor/mcp.json"), "{}").unwrap();
        std::fs::write(project.path().join(".mcp.json"), "{}").unwrap();
        let found = files(Some(home.path()), project.path());
        let clients: Vec<&str> = found.iter().map(|(client, _)| *client).collect();
        assert_eq!(clients, ["cursor", "project"]);
    }
}
