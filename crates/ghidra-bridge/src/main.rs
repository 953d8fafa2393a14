//! The program: reads the command line, opens the file, and serves it.

mod checkpoints;
mod cli;
mod help;
mod hints;
mod opening;
mod progress;
mod serve;

use server::config::{Command, Config, ConfigError};
use std::io::Write;
use std::process::ExitCode;

/// Exit code for mistakes in the arguments or in what they name.
const BAD_INPUT: u8 = 2;

fn main() -> ExitCode {
    // Lossy: a file name that is not UTF-8 fails when it is opened, with its name.
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    match run(&words) {
        Ok(code) => code,
        Err(error) => {
            say(&format!("ghidra-bridge: {}", one_line(&with_causes(&error))));
            ExitCode::from(BAD_INPUT)
        }
    }
}

/// An error and its causes, as far as what comes before does not tell them.
fn with_causes(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    let (first, rest) = match words.split_first() {
        Some((first, rest)) => (first.as_str(), rest),
        None => {
            say(&help::overview());
            return Ok(ExitCode::from(BAD_INPUT));
        }
    };
    let asks_for_help = rest.iter().any(|word| word == "--help" || word == "-h");
    let command = match first {
        "serve" => Command::Serve,
        "ws" => Command::Ws,
        "mcp" => Command::Mcp,
        "stdio" | "--stdio" => Command::Stdio,
        "help" | "--help" | "-h" => {
            let text = help::about(rest.first().map(String::as_str));
            print(&text.map_err(anyhow::Error::msg)?);
            return Ok(ExitCode::SUCCESS);
        }
        "version" | "--version" | "-V" => {
            print(&format!("ghidra-bridge {}", env!("CARGO_PKG_VERSION")));
            return Ok(ExitCode::SUCCESS);
        }
        _ if words.iter().any(|word| cli::is_verb(word))
            && (cli::is_verb(first) || first.starts_with("--")) =>
        {
            return cli::run(words);
        }
        other => anyhow::bail!("{}", unknown_command(other)),
    };
    if asks_for_help {
        print(&help::about(Some(command.name())).map_err(anyhow::Error::msg)?);
        return Ok(ExitCode::SUCCESS);
    }
    let secret = std::env::var("GHIDRA_BRIDGE_TOKEN").ok();
    let config = Config::read(command, rest, secret).map_err(|error| advise(error, command))?;
    serve::run(&config)
}

fn unknown_command(word: &str) -> String {
    if std::path::Path::new(word).is_file() {
        return format!("to open a file, write: ghidra-bridge serve {word}");
    }
    help::no_command(word)
}

fn advise(error: ConfigError, command: Command) -> anyhow::Error {
    anyhow::anyhow!("{error} (see ghidra-bridge help {})", command.name())
}

/// Prints for people who asked for text. A closed pipe is no reason to panic.
fn print(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Prints beside the protocol.
fn say(text: &str) {
    progress::aside(|| {
        let _ = writeln!(std::io::stderr(), "{text}");
    });
}

/// Errors are one line, whatever a file or a system call put into them.
fn one_line(text: &str) -> String {
    let escape =
        |c: char| if c.is_control() { c.escape_default().collect() } else { c.to_string() };
    text.trim().chars().map(escape).collect()
}
