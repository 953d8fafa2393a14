//! Mistakes in the arguments of a verb as one line; help and version, which come the same way, as
//! they are.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::process::ExitCode;

/// Prints what was asked for, or says in one line what is wrong.
pub fn answer(fault: &clap::Error, words: &[String]) -> anyhow::Result<ExitCode> {
    if matches!(fault.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        crate::print(fault.to_string().trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    anyhow::bail!("{}", line(fault, words))
}

fn line(fault: &clap::Error, words: &[String]) -> String {
    let verb = words.iter().find(|word| !word.starts_with('-')).map_or("", String::as_str);
    let text = fault.to_string();
    // What is missing stands on lines of its own, each further in.
    let what = text.lines().take_while(|line| !line.trim().is_empty());
    let mut what = what.map(str::trim).collect::<Vec<_>>().join(" ");
    if let Some(rest) = what.strip_prefix("error: ") {
        what = rest.to_owned();
    }
    for kind in
        [ContextKind::SuggestedArg, ContextKind::SuggestedValue, ContextKind::SuggestedSubcommand]
    {
        match fault.get(kind) {
            Some(ContextValue::String(near)) => what.push_str(&format!("; did you mean {near}?")),
            Some(ContextValue::Strings(near)) if !near.is_empty() => {
                what.push_str(&format!("; did you mean {}?", near.join(" or ")));
            }
            _ => {}
        }
    }
    format!("{what} (see ghidra-bridge help {verb})")
}
