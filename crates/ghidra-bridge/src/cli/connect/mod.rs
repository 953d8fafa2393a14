//! `connect`: the configuration that makes an AI client start a bridge, printed or merged into the
//! client's own file.

mod clients;
mod merge;

use super::output::Output;
use super::whole;
use anyhow::{Context, bail};
use clap::Args;
use clients::{CLIENTS, Client, Format};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// `connect CLIENT [FILE]`
#[derive(Args, Debug)]
pub struct Arguments {
    /// claude-desktop, claude-code, cursor, vscode, codex, gemini-cli, copilot-cli, zed, cline or windsurf
    client: String,
    /// The program that the client asks about
    file: PathBuf,
    /// Merge it into the client's configuration file; what was there is kept beside it
    #[arg(long)]
    write: bool,
    /// The configuration file (default: where the client looks)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Name of the server in the client
    #[arg(long, value_name = "NAME", default_value = "ghidra", value_parser = server_name)]
    name: String,
    /// The bridge to start (default: this one)
    #[arg(long, value_name = "PROGRAM")]
    command: Option<String>,
}

/// Clients count the server's and the tool's name together, and know few characters.
fn server_name(word: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !word.is_empty() && word.len() <= 30 && word.chars().all(fits) {
        true => Ok(word.to_owned()),
        false => Err("a name has 1 to 30 letters, digits, - or _".to_owned()),
    }
}

pub fn run(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let client = client(&arguments.client)?;
    let entry = client.entry(&command(arguments)?, &words(&arguments.file)?);
    let place = match &arguments.config {
        Some(file) => file.clone(),
        None => client.place().context("no home folder is known; name the file with --config")?,
    };
    if !arguments.write {
        crate::say(&format!(
            "For {}, in {} (--write puts it there):",
            client.title,
            place.display()
        ));
        let text = merge::alone(client, &arguments.name, &entry)?;
        let row =
            json!({ "client": client.name, "config": place.to_string_lossy(), "entry": entry });
        return out.row(&row, |_| text.trim_end().to_owned());
    }
    let backup = write(client, &place, &arguments.name, &entry)?;
    let row = json!({
        "client": client.name, "config": place.to_string_lossy(),
        "backup": backup.as_ref().map(|backup| backup.to_string_lossy()), "entry": entry,
    });
    out.row(&row, |_| {
        let kept = match &backup {
            Some(backup) => format!(" (before: {})", backup.display()),
            None => String::new(),
        };
        format!("{}: {}{kept}; now {}", client.title, place.display(), client.then)
    })
}

fn client(name: &str) -> anyhow::Result<&'static Client> {
    if let Some(client) = clients::find(name) {
        return Ok(client);
    }
    let names = || CLIENTS.iter().map(|client| client.name);
    match api::nearest(name, names()) {
        Some(near) => bail!("{name:?} is no client that is known here; did you mean {near}?"),
        None => bail!(
            "{name:?} is no client that is known here; there are {}",
            names().collect::<Vec<_>>().join(", ")
        ),
    }
}

/// The bridge that the client starts: clients do not have a shell's PATH.
fn command(arguments: &Arguments) -> anyhow::Result<String> {
    if let Some(command) = &arguments.command {
        return Ok(command.clone());
    }
    let program = std::env::current_exe().context("this program does not know where it is")?;
    utf8(&program)
}

/// What the bridge is started with. No client takes dots in names of tools everywhere.
fn words(file: &Path) -> anyhow::Result<Vec<String>> {
    if !file.is_file() {
        bail!("{} is not a file; name the program that the client asks about", file.display());
    }
    let file =
        std::path::absolute(file).with_context(|| format!("{} has no path", file.display()))?;
    Ok(vec!["stdio".to_owned(), utf8(&file)?, "tool_names=underscore".to_owned()])
}

fn utf8(path: &Path) -> anyhow::Result<String> {
    let text = path
        .to_str()
        .with_context(|| format!("{} cannot be written in a configuration", path.display()))?;
    Ok(text.to_owned())
}

/// Merges the entry into the file; answers where its old content is, if it had any.
fn write(
    client: &Client,
    place: &Path,
    name: &str,
    entry: &Value,
) -> anyhow::Result<Option<PathBuf>> {
    // What a link leads to is written, not the link.
    let place = &place.canonicalize().unwrap_or_else(|_| place.to_owned());
    let old = match std::fs::read_to_string(place) {
        Ok(old) => Some(old),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => {
            return Err(error).with_context(|| format!("{} cannot be read", place.display()));
        }
    };
    let merged = match client.format {
        Format::Json => {
            merge::json(old.as_deref().unwrap_or_default(), client.servers, name, entry)
        }
        Format::Toml => {
            merge::toml(old.as_deref().unwrap_or_default(), client.servers, name, entry)
        }
    };
    let merged = merged.with_context(|| format!("{} is left as it is", place.display()))?;
    if old.as_deref() == Some(merged.as_str()) {
        return Ok(None);
    }
    if let Some(folder) = place.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("{} cannot be made", folder.display()))?;
    }
    let backup = old.map(|_| keep(place)).transpose()?;
    whole::file(place, |out| out.write_all(merged.as_bytes()).map_err(Into::into))?;
    Ok(backup)
}

/// Copies a file to the first free name beside it.
fn keep(place: &Path) -> anyhow::Result<PathBuf> {
    let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let beside = |number: u32| match number {
        0 => place.with_file_name(format!("{name}.bak")),
        number => place.with_file_name(format!("{name}.bak{number}")),
    };
    let failed = || format!("{} cannot be kept, so it is left as it is", place.display());
    for number in 0..1000 {
        let backup = beside(number);
        let made = std::fs::File::options().write(true).create_new(true).open(&backup);
        match made {
            Ok(_) => {
                std::fs::copy(place, &backup).with_context(failed)?;
                return Ok(backup);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(failed),
        }
    }
    bail!("{}: there are 1000 copies of it already", failed())
}
