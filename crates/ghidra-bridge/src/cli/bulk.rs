//! Many functions as C at once: on all cores, in address order, going on past those that fail.

use super::c_header;
use super::cores::in_order;
use super::output::{Output, plain};
use super::program::{Program, text};
use super::verbs::decompile::{params, why_not};
use super::{c_text, interrupted, whole};
use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{IsTerminal, Seek, Write};
use std::path::Path;

/// Longest name of a file, without its ending.
const LONGEST_NAME: usize = 100;

/// Failures that are named; the rest is counted.
const NAMED_FAILURES: usize = 20;

/// The entry points of all functions with a body of their own.
pub fn all_entries(program: &Program) -> anyhow::Result<Vec<String>> {
    let filter = json!({ "external": false, "thunk": false });
    let params = json!({ "filter": filter, "projection": { "fields": ["entry"] } });
    let mut entries = Vec::new();
    program.each("function.list", params, |row| {
        entries.push(text(row, "entry").to_owned());
        Ok(true)
    })?;
    Ok(entries)
}

/// Decompiles functions on all cores. `take` sees the answers in order and ends it by false;
/// the failures are answered.
pub fn decompile(
    program: &Program,
    entries: &[String],
    timeout: u32,
    mut take: impl FnMut(&Value) -> anyhow::Result<bool>,
) -> anyhow::Result<Vec<String>> {
    let bar = bar(entries.len());
    let mut failed = Vec::new();
    let work = |item: usize| program.call("decompilation.get", params(&entries[item], timeout));
    let done = in_order(
        entries.len(),
        work,
        || program.give_up(),
        |item, answer| {
            bar.inc(1);
            if interrupted::is_interrupted() {
                bail!("interrupted; nothing was written");
            }
            let answer = match answer {
                Ok(answer) => answer,
                Err(error) => {
                    failed.push(format!("{} ({error})", program.place(&entries[item])));
                    return Ok(true);
                }
            };
            if answer["completed"] != true {
                failed.push(why_not(program, &answer));
            }
            bar.suspend(|| take(&answer))
        },
    );
    bar.finish_and_clear();
    done.map(|()| failed)
}

/// A bar on the error stream, when people look at that and not at the results.
fn bar(count: usize) -> ProgressBar {
    if std::io::stdout().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(count as u64);
    let style = ProgressStyle::with_template("Decompiling {wide_bar} {pos}/{len}, {eta} left ");
    style.map_or_else(|_| ProgressBar::hidden(), |style| bar.with_style(style))
}

/// The error for functions that could not be decompiled.
pub fn complain(failed: &[String], of: usize) -> anyhow::Result<()> {
    if failed.is_empty() {
        return Ok(());
    }
    let named = failed.iter().take(NAMED_FAILURES).map(|name| plain(name)).collect::<Vec<_>>();
    let more = match failed.len().saturating_sub(NAMED_FAILURES) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    bail!("{} of {of} functions are not complete: {}{more}", failed.len(), named.join("; "))
}

/// Prints all functions.
pub fn print(program: &Program, timeout: u32, out: &mut Output) -> anyhow::Result<()> {
    let entries = all_entries(program)?;
    let failed = decompile(program, &entries, timeout, |answer| {
        out.row(answer, |_| format!("{}\n", c_text::lines(text(answer, "c"))))?;
        Ok(true)
    })?;
    complain(&failed, entries.len())
}

/// Writes functions to a file, or all of them to the files of a folder.
pub fn write(
    program: &Program,
    entries: Option<Vec<String>>,
    place: &Path,
    timeout: u32,
    out: &mut Output,
) -> anyhow::Result<()> {
    interrupted::watch();
    let is_file = place.extension().is_some_and(|ending| ending == "c") || entries.is_some();
    let entries = entries.map_or_else(|| all_entries(program), Ok)?;
    let failed = match is_file {
        true => one_file(program, &entries, place, timeout)?,
        false => a_folder(program, &entries, place, timeout)?,
    };
    let summary = json!({
        "output": place.to_string_lossy(), "functions": entries.len(), "incomplete": failed,
    });
    if !entries.is_empty() {
        out.row(&summary, |_| format!("{}: {} functions", place.display(), entries.len()))?;
    }
    complain(&failed, entries.len())
}

/// Writes all functions to one file.
pub fn write_file(
    program: &Program,
    place: &Path,
    timeout: u32,
    out: &mut Output,
) -> anyhow::Result<()> {
    write(program, Some(all_entries(program)?), place, timeout, out)
}

/// One file: the types, the prototypes, then the functions.
fn one_file(
    program: &Program,
    entries: &[String],
    place: &Path,
    timeout: u32,
) -> anyhow::Result<Vec<String>> {
    let mut failed = Vec::new();
    whole::file(place, |out| {
        let mut bodies = tempfile::tempfile().context("no temporary file can be made")?;
        let mut prototypes = String::new();
        failed = decompile(program, entries, timeout, |answer| {
            let c = c_text::lines(text(answer, "c"));
            prototypes.push_str(&c_header::prototype(&c));
            writeln!(bodies, "\n/* {} */\n{c}", text(answer, "entry"))?;
            Ok(true)
        })?;
        write!(out, "{}\n{prototypes}", c_header::types(program)?)?;
        bodies.rewind()?;
        std::io::copy(&mut bodies, out)?;
        Ok(())
    })?;
    Ok(failed)
}

/// A folder: a header with types and prototypes, and a file for each function.
fn a_folder(
    program: &Program,
    entries: &[String],
    place: &Path,
    timeout: u32,
) -> anyhow::Result<Vec<String>> {
    let mut failed = Vec::new();
    whole::folder(place, |folder| {
        let mut names = HashSet::new();
        let mut prototypes = String::new();
        failed = decompile(program, entries, timeout, |answer| {
            let c = c_text::lines(text(answer, "c"));
            prototypes.push_str(&c_header::prototype(&c));
            let name =
                file_name(text(answer, "name"), program.place(text(answer, "entry")), &mut names);
            let path = folder.join(&name);
            let content =
                format!("/* {} */\n#include \"program.h\"\n\n{c}\n", text(answer, "entry"));
            std::fs::write(path, content).with_context(|| format!("{name} cannot be written"))?;
            Ok(true)
        })?;
        let header = format!("#pragma once\n{}\n{prototypes}", c_header::types(program)?);
        std::fs::write(folder.join("program.h"), header).context("program.h cannot be written")
    })?;
    Ok(failed)
}

/// A name that every file system takes and no other function has, in any case.
fn file_name(function: &str, place: &str, taken: &mut HashSet<String>) -> String {
    const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "program", ""];
    let fits = |c: char| if c.is_ascii_alphanumeric() || "_$".contains(c) { c } else { '_' };
    let stem: String = function.chars().take(LONGEST_NAME).map(fits).collect();
    let lower = stem.to_lowercase();
    let is_device = DEVICES.contains(&lower.as_str())
        || (lower.len() == 4 && (lower.starts_with("com") || lower.starts_with("lpt")));
    if !is_device && taken.insert(lower) {
        return format!("{stem}.c");
    }
    // An address is no other function's.
    format!("{stem}@{}.c", place.replace(':', "_"))
}

#[cfg(test)]
mod tests {
    use super::file_name;
    use std::collections::HashSet;

    #[test]
    fn names_are_plain_and_differ_in_any_case() {
        let mut taken = HashSet::new();
        let mut of = |name: &str| file_name(name, "ram:401000", &mut taken);
        assert_eq!(of("main"), "main.c");
        assert_eq!(of("Main"), "Main@ram_401000.c");
        assert_eq!(of("../../etc/passwd"), "______etc_passwd.c");
        assert_eq!(of("NUL"), "NUL@ram_401000.c");
        assert!(of(&"x".repeat(5000)).len() < 120);
    }
}
