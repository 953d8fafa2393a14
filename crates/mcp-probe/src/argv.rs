//! Command-line normalisation: a server's own command line may stand where a target does,
//! as one writes it in a shell, and all that follows belongs to it.

use crate::cli::Cli;
use clap::{ArgAction, Command, CommandFactory};
use std::path::Path;

/// Interpreters of scripts by the ending of their names.
const INTERPRETERS: [(&str, &str); 6] = [
    ("py", "python3"),
    ("js", "node"),
    ("mjs", "node"),
    ("cjs", "node"),
    ("rb", "ruby"),
    ("sh", "sh"),
];

/// The arguments with `stdio --` put in front of a command line that stands in the place
/// of a target: `doctor node x.js --port 1`, `doctor "node x.js"`, `doctor x.py`.
pub fn normalized(args: impl Iterator<Item = String>) -> Vec<String> {
    let mut args: Vec<String> = args.collect();
    let Some((at, verb)) = first_target(&args) else { return args };
    let _ = verb;
    let word = args[at].clone();
    let own = match words_of(&word) {
        Some(words) => words,
        None => return args,
    };
    // What follows is the command's: in any case if it was split, and if it is a program.
    let mut tail = args.split_off(at + 1);
    if let Some(dashes) = tail.iter().position(|arg| arg == "--") {
        tail.remove(dashes);
    }
    args.truncate(at);
    args.extend(["stdio".to_string(), "--".to_string()]);
    args.extend(own);
    args.extend(tail);
    args
}

/// The words of a command line, if `word` is the beginning of one or a whole one.
fn words_of(word: &str) -> Option<Vec<String>> {
    if word == "stdio" || word.contains("://") {
        return None;
    }
    if word.contains(char::is_whitespace) && !Path::new(word).exists() {
        return shlex::split(word).filter(|words| words.len() > 1);
    }
    let path = Path::new(word);
    if path.is_file() {
        if is_executable(path) {
            return Some(vec![if word.contains('/') {
                word.to_string()
            } else {
                format!("./{word}")
            }]);
        }
        let ending = path.extension()?.to_str()?;
        let (_, program) = INTERPRETERS.iter().find(|(known, _)| *known == ending)?;
        return Some(vec![program.to_string(), word.to_string()]);
    }
    on_path(word).then(|| vec![word.to_string()])
}

/// Whether a shell would find a program of that name.
fn on_path(word: &str) -> bool {
    if word.contains('/') || word.is_empty() {
        return false;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| is_executable(&folder.join(word)))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// The place of the first word of a target, and the verb.
fn first_target(args: &[String]) -> Option<(usize, String)> {
    let cli = Cli::command();
    let mut verb: Option<&Command> = None;
    let mut before = 0;
    let mut at = 1;
    while at < args.len() {
        let arg = &args[at];
        if arg == "--" {
            return None;
        }
        if let Some(flag) = arg.strip_prefix("--") {
            let (name, attached) =
                flag.split_once('=').map_or((flag, false), |(name, _)| (name, true));
            at += if !attached && takes_value(&cli, verb, name) { 2 } else { 1 };
            continue;
        }
        if arg.starts_with('-') && arg.len() > 1 {
            at += 1;
            continue;
        }
        match verb {
            None => {
                verb = cli.find_subcommand(arg);
                verb?;
                before = positionals_before_target(verb?)?;
            }
            Some(verb) if before == 0 => return Some((at, verb.get_name().to_string())),
            Some(_) => before -= 1,
        }
        at += 1;
    }
    None
}

/// How many words come before the target; none if the verb takes no target.
fn positionals_before_target(verb: &Command) -> Option<usize> {
    verb.get_positionals().position(|arg| arg.get_id() == "target")
}

fn takes_value(cli: &Command, verb: Option<&Command>, name: &str) -> bool {
    let known = |command: &Command| {
        command
            .get_arguments()
            .find(|arg| {
                arg.get_long() == Some(name)
                    || arg.get_all_aliases().unwrap_or_default().contains(&name)
            })
            .map(|arg| matches!(arg.get_action(), ArgAction::Set | ArgAction::Append))
    };
    verb.and_then(known).or_else(|| known(cli)).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_of(line: &[&str]) -> Vec<String> {
        normalized(std::iter::once("mcp-probe").chain(line.iter().copied()).map(String::from))[1..]
            .to_vec()
    }

    #[test]
    fn command_lines_stand_for_themselves() {
        assert_eq!(
            made_of(&["doctor", "sh", "-c", "exit 1"]),
            ["doctor", "stdio", "--", "sh", "-c", "exit 1"]
        );
        assert_eq!(
            made_of(&["doctor", "--timeout-idle", "2s", "sh", "x.sh", "--json"])[3..],
            ["stdio", "--", "sh", "x.sh", "--json"]
        );
        assert_eq!(
            made_of(&["--json", "doctor", "sh -c 'exit 1'"]),
            ["--json", "doctor", "stdio", "--", "sh", "-c", "exit 1"]
        );
        assert_eq!(
            made_of(&["emit", "python", "sh", "x"]),
            ["emit", "python", "stdio", "--", "sh", "x"]
        );
    }

    #[test]
    fn other_targets_are_left_alone() {
        for line in [
            &["doctor", "http://localhost/mcp", "--json"][..],
            &["doctor", "stdio", "--", "sh", "-c", "x"],
            &["doctor", "--", "sh"],
            &["doctor", "localhost:3000"],
            &["doctor", "no-such-program-here", "x"],
            &["audit-log", "sh"],
            &["mock", "good"],
            &["doctor"],
            &[],
        ] {
            assert_eq!(made_of(line), line.iter().map(|word| word.to_string()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn scripts_get_their_interpreter() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("server.py");
        std::fs::write(&script, "").unwrap();
        let script = script.to_str().unwrap();
        assert_eq!(
            made_of(&["doctor", script, "--x"]),
            ["doctor", "stdio", "--", "python3", script, "--x"]
        );
    }
}
