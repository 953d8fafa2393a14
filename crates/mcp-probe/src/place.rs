//! The place in a repository to which findings about a server belong, so that code
//! hosts can show them: the line of a client configuration that names the server,
//! or the script that is started.

use crate::target::Target;
use std::path::{Component, Path, PathBuf};

/// A file below the current folder, and a line of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Relative, with slashes.
    pub file: String,
    /// From 1.
    pub line: usize,
}

impl Place {
    /// Reads `FILE` or `FILE:LINE`.
    pub fn parse(text: &str) -> Option<Place> {
        let (file, line) = match text.rsplit_once(':') {
            Some((file, line)) if line.parse::<usize>().is_ok_and(|line| line > 0) => {
                (file, line.parse().ok()?)
            }
            _ => (text, 1),
        };
        Some(Place { file: relative(Path::new(file))?, line })
    }

    /// Where the server stands: in the configuration that named it, or in the
    /// first file that its command line names.
    pub fn of(config: Option<&Path>, name: &str, target: &Target) -> Option<Place> {
        if let Some(config) = config {
            let text = std::fs::read_to_string(config).unwrap_or_default();
            return Some(Place { file: relative(config)?, line: line_of(&text, name) });
        }
        let Target::Stdio(command) = target else { return None };
        let words = command.words();
        let script = words.iter().skip(1).chain(words.first()).find_map(|word| {
            let path = Path::new(word);
            let inside = path.is_file() && !word.starts_with('-');
            if inside { relative(path) } else { None }
        });
        script.map(|file| Place { file, line: 1 })
    }
}

/// A path below the current folder, or none.
fn relative(path: &Path) -> Option<String> {
    let here = std::env::current_dir().ok()?;
    let whole = if path.is_absolute() { path.to_path_buf() } else { here.join(path) };
    let plain: PathBuf =
        whole.components().filter(|part| !matches!(part, Component::CurDir)).collect();
    let inside = plain.strip_prefix(&here).ok()?;
    let parts: Vec<_> = inside.components().map(|part| part.as_os_str().to_str()).collect();
    let parts: Option<Vec<&str>> = parts.into_iter().collect();
    parts.filter(|parts| !parts.is_empty() && !parts.contains(&"..")).map(|parts| parts.join("/"))
}

/// The line that names a server: its name as a member, or else as a word.
fn line_of(text: &str, name: &str) -> usize {
    let own = name.rsplit('/').next().unwrap_or(name);
    let quoted = format!("\"{own}\"");
    let member = |line: &&str| {
        line.find(&quoted).is_some_and(|at| line[at + quoted.len()..].trim_start().starts_with(':'))
    };
    let lines: Vec<&str> = text.lines().collect();
    let found = lines.iter().position(member);
    let found = found.or_else(|| lines.iter().position(|line| line.contains(own)));
    found.map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_names_a_server() {
        let text = "{\n \"mcpServers\": {\n  \"a\": {\"command\": \"b\"},\n  \"b\" : {\"url\": \"x\"}\n }\n}";
        assert_eq!(line_of(text, "b"), 4);
        assert_eq!(line_of(text, "a"), 3);
        assert_eq!(line_of(text, "zzz"), 1);
    }

    #[test]
    fn only_what_lies_below_is_a_place() {
        assert_eq!(
            Place::parse("src/main.rs:7"),
            Some(Place { file: "src/main.rs".into(), line: 7 })
        );
        assert_eq!(Place::parse("./a.json"), Some(Place { file: "a.json".into(), line: 1 }));
        assert_eq!(Place::parse("/etc/passwd"), None);
        assert_eq!(Place::parse("../x"), None);
    }
}
