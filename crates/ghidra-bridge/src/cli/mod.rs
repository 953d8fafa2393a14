//! The command line beside the servers: verbs that ask one program, print what they found, and end.
//!
//! A verb exits with 0 when it found something, with 1 when there was nothing, and with 2 after an
//! error, which is one line on the error stream.

mod bulk;
mod c_header;
mod c_text;
mod c_types;
mod connect;
mod cores;
mod export;
mod faults;
mod generated;
mod interrupted;
mod output;
mod picture;
mod program;
mod remote;
mod verbs;
mod whole;

use clap::{CommandFactory, Parser, Subcommand};
use output::{Colour, Output};
use std::process::ExitCode;

/// Exit code of a verb that found nothing.
const NOTHING_FOUND: u8 = 1;

/// Decompilation recurses over expressions and blocks.
pub const STACK: usize = 16 << 20;

/// Opens a binary and answers questions about it.
#[derive(Debug, Parser)]
#[command(name = "ghidra-bridge", disable_help_subcommand = true, max_term_width = 100)]
struct Cli {
    /// Print JSON, one row on each line, as the methods answer it
    #[arg(long, global = true)]
    json: bool,
    /// When to colour text
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true
    )]
    color: Colour,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Tell what a program is: format, memory, entry, imports, what was found in it
    Info(verbs::info::Arguments),
    /// List functions
    Functions(verbs::functions::Arguments),
    /// List strings
    Strings(verbs::strings::Arguments),
    /// List symbols
    Symbols(verbs::symbols::Arguments),
    /// List what a program takes from other files
    Imports(verbs::linkage::Imports),
    /// List what a program offers to other files
    Exports(verbs::linkage::Exports),
    /// List references to a place
    Xrefs(verbs::xrefs::Arguments),
    /// Print instructions and data
    Disasm(verbs::disasm::Arguments),
    /// Print functions as C
    Decompile(verbs::decompile::Arguments),
    /// Search C text or instructions
    Grep(verbs::grep::Arguments),
    /// List data types, or print some as C
    Types(verbs::types::Arguments),
    /// Draw the control flow of a function, or the calls around it
    Graph(verbs::graph::Arguments),
    /// Draw the memory of a program: what is in it, and its entropy
    Map(verbs::map::Arguments),
    /// Write a whole program as JSON, SQLite, C or a graph
    Export(export::Arguments),
    /// Run one method once, on a file or on a running server
    Call(verbs::call::Arguments),
    /// Configure an AI client to ask about a program
    Connect(connect::Arguments),
    /// Generate man pages or completions
    #[command(hide = true)]
    Generate(generated::Arguments),
}

/// The names of the verbs.
pub fn names() -> Vec<String> {
    let command = Cli::command();
    command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect()
}

/// Whether a word is one of the verbs.
pub fn is_verb(word: &str) -> bool {
    Cli::command().find_subcommand(word).is_some()
}

/// What the verbs are for, one a line.
pub fn overview() -> String {
    let command = Cli::command();
    let line = |verb: &clap::Command| {
        let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
        format!("  {:<12} {about}\n", verb.get_name())
    };
    command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(line).collect()
}

/// The help text of a verb.
pub fn help(verb: &str) -> Option<String> {
    let mut command = Cli::command();
    command.build();
    let verb = command.find_subcommand_mut(verb)?;
    Some(verb.render_long_help().to_string().trim_end().to_owned())
}

/// Runs one verb to its end.
pub fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    let program = std::iter::once("ghidra-bridge".to_owned());
    let cli = match Cli::try_parse_from(program.chain(words.iter().cloned())) {
        Ok(cli) => cli,
        Err(fault) => return faults::answer(&fault, words),
    };
    // A thread of its own, for its stack.
    let verb = std::thread::Builder::new().stack_size(STACK).spawn(move || perform(&cli))?.join();
    match verb {
        Ok(ended) => ended,
        Err(_) => anyhow::bail!("an internal fault ended the command"),
    }
}

fn perform(cli: &Cli) -> anyhow::Result<ExitCode> {
    let mut out = Output::new(cli.json, cli.color);
    let done = dispatch(&cli.verb, &mut out).and_then(|()| out.finish());
    match done {
        // Whoever reads had enough, as `head` does.
        Err(error) if output::is_closed_pipe(&error) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            let _ = out.finish();
            Err(error)
        }
        Ok(()) if out.has_found() => Ok(ExitCode::SUCCESS),
        Ok(()) => Ok(ExitCode::from(NOTHING_FOUND)),
    }
}

fn dispatch(verb: &Verb, out: &mut Output) -> anyhow::Result<()> {
    match verb {
        Verb::Info(arguments) => verbs::info::run(arguments, out),
        Verb::Functions(arguments) => verbs::functions::run(arguments, out),
        Verb::Strings(arguments) => verbs::strings::run(arguments, out),
        Verb::Symbols(arguments) => verbs::symbols::run(arguments, out),
        Verb::Imports(arguments) => verbs::linkage::imports(arguments, out),
        Verb::Exports(arguments) => verbs::linkage::exports(arguments, out),
        Verb::Xrefs(arguments) => verbs::xrefs::run(arguments, out),
        Verb::Disasm(arguments) => verbs::disasm::run(arguments, out),
        Verb::Decompile(arguments) => verbs::decompile::run(arguments, out),
        Verb::Grep(arguments) => verbs::grep::run(arguments, out),
        Verb::Types(arguments) => verbs::types::run(arguments, out),
        Verb::Graph(arguments) => verbs::graph::run(arguments, out),
        Verb::Map(arguments) => verbs::map::run(arguments, out),
        Verb::Export(arguments) => export::run(arguments, out),
        Verb::Call(arguments) => verbs::call::run(arguments, out),
        Verb::Connect(arguments) => connect::run(arguments, out),
        Verb::Generate(arguments) => generated::run(arguments, out),
    }
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_well_formed() {
        Cli::command().debug_assert();
    }
}
