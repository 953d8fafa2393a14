//! Man pages and completions, made from the arguments themselves.

use super::output::Output;
use super::{Cli, whole};
use anyhow::{Context, bail};
use clap::{Arg, Args, Command, CommandFactory};
use clap_complete::Shell;
use serde_json::json;
use server::config::KEYS;
use std::path::PathBuf;

/// `generate man DIR`, `generate completions SHELL`
#[derive(Args, Debug)]
pub struct Arguments {
    /// man or completions
    what: String,
    /// For man a new folder, for completions a shell: bash, zsh, fish, elvish or powershell
    #[arg(value_name = "DIR|SHELL")]
    place: String,
}

pub fn run(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    match arguments.what.as_str() {
        "man" => man(&PathBuf::from(&arguments.place), out),
        "completions" => completions(&arguments.place, out),
        other => bail!("{other:?} cannot be generated; man and completions can"),
    }
}

/// The whole command line: the verbs, and the servers with their keys as options.
fn whole_command() -> Command {
    let servers = crate::help::COMMANDS.iter().map(|(command, about)| {
        let keys = KEYS.iter().filter(|key| key.belongs_to(*command)).map(|key| {
            // Few and short, and needed to the end.
            let long: &'static str = key.name.replace('_', "-").leak();
            Arg::new(key.name).long(long).value_name(key.value).help(key.text)
        });
        Command::new(command.name())
            .about(*about)
            .arg(Arg::new("FILE").value_hint(clap::ValueHint::FilePath))
            .args(keys)
    });
    Cli::command().version(env!("CARGO_PKG_VERSION")).subcommands(servers)
}

fn man(folder: &std::path::Path, out: &mut Output) -> anyhow::Result<()> {
    let mut command = whole_command().disable_help_flag(true);
    command.build();
    let mut pages = 0;
    whole::folder(folder, |beside| {
        let mut write = |command: Command, name: String| {
            let mut text = Vec::new();
            clap_mangen::Man::new(command.display_name(name.clone())).render(&mut text)?;
            pages += 1;
            std::fs::write(beside.join(format!("{name}.1")), text)
                .with_context(|| format!("{name}.1 cannot be written"))
        };
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            write(verb.clone(), format!("ghidra-bridge-{}", verb.get_name()))?;
        }
        write(command.clone(), "ghidra-bridge".to_owned())
    })?;
    let row = json!({ "output": folder.to_string_lossy(), "pages": pages });
    out.row(&row, |_| format!("{}: {pages} pages", folder.display()))
}

fn completions(shell: &str, out: &mut Output) -> anyhow::Result<()> {
    let Ok(shell) = shell.parse::<Shell>() else {
        bail!(
            "{shell:?} is no shell that is known here; use bash, zsh, fish, elvish or powershell"
        );
    };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut whole_command(), "ghidra-bridge", &mut text);
    let text = String::from_utf8(text).context("the completions are no text")?;
    out.row(&json!({ "completions": text }), |_| text.trim_end().to_owned())
}
