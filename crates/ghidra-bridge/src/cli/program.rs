//! One program opened for a verb: from its project when that is up to date, else analysed first
//! and kept. Every answer is a call of the registry, as for the clients of a server.

use crate::{opening, progress};
use anyhow::{Context, bail};
use api::{Bridge, BridgeError, BridgeOptions, CallContext, CancelToken, Surface, Transport};
use clap::Args;
use engine::{AnalysisKind, AnalysisState, OpenError, Session};
use serde_json::{Value, json};
use server::config::{Command, Config, ProjectPlace};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Largest program that is read from standard input.
const MAX_INPUT: u64 = 4 << 30;

/// Rows on one page of a list.
const PAGE: u64 = 1000;

/// Which program, and how it is opened.
#[derive(Args, Debug, Clone)]
pub struct Source {
    /// The program, or its project; - reads the program from standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    #[command(flatten)]
    pub opening: Opening,
}

/// How a program is opened, in the words of the servers' start-up keys.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Opening")]
pub struct Opening {
    /// Language to use in place of the detected one, such as x86:LE:64:default
    #[arg(long, value_name = "ID")]
    pub language: Option<String>,
    /// Image base, hexadecimal
    #[arg(long, value_name = "ADDRESS")]
    pub base: Option<String>,
    /// File format: auto, elf, pe, coff, macho, raw, hex, srec or ar
    #[arg(long, value_name = "FORMAT")]
    pub loader: Option<String>,
    /// Member of an archive
    #[arg(long, value_name = "NAME")]
    pub member: Option<String>,
    /// PDB file of a Windows program
    #[arg(long, value_name = "FILE")]
    pub pdb: Option<String>,
    /// Project file that keeps the analysis, or none (default: one per content, that of the servers)
    #[arg(long, value_name = "FILE|none")]
    pub project: Option<String>,
}

impl Opening {
    /// As start-up keys, to be checked where those are.
    fn words(&self) -> Vec<String> {
        let keys = [
            ("language", &self.language),
            ("base", &self.base),
            ("loader", &self.loader),
            ("member", &self.member),
            ("pdb", &self.pdb),
            ("project", &self.project),
        ];
        let given = keys.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
        given.map(|(key, value)| format!("{key}={value}")).collect()
    }

    fn config(&self, file: &Path) -> anyhow::Result<Config> {
        let mut config = Config::read(Command::Stdio, &self.words(), None)?;
        config.opening.file = Some(file.to_owned());
        Ok(config)
    }
}

/// Whether a verb only looks, or changes the program as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Look,
    Edit,
}

/// An open, analysed program.
pub struct Program {
    bridge: Bridge,
    session: Session,
    /// The space that an address without a space means, with its colon.
    space: String,
    cancel: CancelToken,
    /// Holds what came from standard input, as long as it is open.
    input: Option<tempfile::TempDir>,
}

impl Program {
    /// Opens a program to look at it.
    pub fn open(source: &Source) -> anyhow::Result<Program> {
        Program::open_for(source, Purpose::Look)
    }

    /// Opens a program, and analyses it unless that was done before.
    pub fn open_for(source: &Source, purpose: Purpose) -> anyhow::Result<Program> {
        let input = (source.file == Path::new("-")).then(read_input).transpose()?;
        let file = match &input {
            Some(folder) => folder.path().join("stdin"),
            None => source.file.clone(),
        };
        let config = source.opening.config(&file)?;
        let session = match purpose {
            Purpose::Look => look(config)?,
            Purpose::Edit => edit(config)?,
        };
        let options = BridgeOptions {
            session_id: "command line".to_owned(),
            surface: Surface::Extensions,
            // What is edited while looking is kept nowhere.
            read_only: false,
            no_program: None,
        };
        let bridge = Bridge::new(session.clone(), options);
        let mut program =
            Program { bridge, session, space: String::new(), cancel: CancelToken::new(), input };
        let spaces = program.call("address_space.list", json!({}))?;
        let default = rows_of(&spaces).find(|row| row["default"] == true);
        program.space = format!("{}:", default.map_or("ram", |row| text(row, "name")));
        Ok(program)
    }

    /// One call of a method; what it refuses is told in its own words.
    pub fn call(&self, method: &str, params: Value) -> anyhow::Result<Value> {
        let refused =
            |error: BridgeError| anyhow::Error::msg(text(&error.to_json(), "message").to_owned());
        self.ask(method, params).map_err(refused)
    }

    /// One call of a method, with the whole error.
    pub fn ask(&self, method: &str, params: Value) -> Result<Value, BridgeError> {
        self.bridge.call(
            method,
            params,
            &CallContext::with(Transport::WebSocket, self.cancel.clone()),
        )
    }

    /// The entry point of the function that starts at a place or holds it. Where code was not
    /// found before, whoever names the place says that there is some: a function is made, for
    /// this answer only.
    pub fn function_at(&self, place: &str) -> anyhow::Result<String> {
        let found = self.call("address.resolve", json!({ "selector": { "address": place } }))?;
        if let Some(entry) = found["function"]["entry"].as_str() {
            return Ok(entry.to_owned());
        }
        let entry = json!({ "resource": { "entry": found["address"] } });
        match self.call("function.create", entry) {
            Ok(function) => Ok(text(&function, "entry").to_owned()),
            Err(error) => bail!("no function is at {place}: {error}"),
        }
    }

    /// Every row of a list, page by page; `row` answers false to end early.
    pub fn each(
        &self,
        method: &str,
        mut params: Value,
        mut row: impl FnMut(&Value) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        params["page"] = json!({ "limit": PAGE });
        loop {
            let mut answer = self.call(method, params.clone())?;
            for found in rows_of(&answer) {
                if !row(found)? {
                    return Ok(());
                }
            }
            match answer["next_cursor"].take() {
                Value::String(cursor) => params["page"]["cursor"] = Value::String(cursor),
                _ => return Ok(()),
            }
        }
    }

    /// Every row of a list that is known to be bearable.
    pub fn all(&self, method: &str, params: Value) -> anyhow::Result<Vec<Value>> {
        let mut rows = Vec::new();
        self.each(method, params, |row| {
            rows.push(row.clone());
            Ok(true)
        })?;
        Ok(rows)
    }

    /// An address as people write it: the usual space goes without saying.
    pub fn place<'a>(&self, address: &'a str) -> &'a str {
        match address.strip_prefix(&self.space) {
            Some(digits) => digits,
            None => address,
        }
    }

    /// Where the program came from, for people.
    pub fn shown_path(&self, about: &Value) -> String {
        match self.input {
            Some(_) => "standard input".to_owned(),
            None => text(about, "executable_path").to_owned(),
        }
    }

    /// Ends the calls that run: nobody needs their answers any more.
    pub fn give_up(&self) {
        self.cancel.cancel();
    }

    /// The session behind the calls.
    pub fn session(&self) -> &Session {
        &self.session
    }
}

/// The rows of an answer.
pub fn rows_of(answer: &Value) -> impl Iterator<Item = &Value> {
    answer["items"].as_array().into_iter().flatten()
}

/// A text member, empty when it is absent.
pub fn text<'a>(row: &'a Value, member: &str) -> &'a str {
    row[member].as_str().unwrap_or_default()
}

/// Standard input as a file.
fn read_input() -> anyhow::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir().context("standard input cannot be kept")?;
    let mut file = std::fs::File::create(folder.path().join("stdin"))
        .context("standard input cannot be kept")?;
    let mut input = std::io::stdin().lock().take(MAX_INPUT + 1);
    let length = std::io::copy(&mut input, &mut file).context("standard input")?;
    match length {
        0 => bail!("standard input is empty; send the program's bytes"),
        length if length > MAX_INPUT => bail!("standard input has more than {MAX_INPUT} bytes"),
        _ => Ok(folder),
    }
}

/// Looks without claiming the project, so that whoever wants to edit is not kept out. Only a
/// program that is not analysed yet is claimed, and let go once the analysis is kept.
fn look(mut config: Config) -> anyhow::Result<Session> {
    config.read_only = true;
    let session = match opening::open(&config) {
        Ok(session) => session,
        Err(error) if is_projects_fault(&error, &config) => {
            crate::say(&format!("Goes on without its project: {error}."));
            config.opening.project = ProjectPlace::None;
            opening::open(&config)?
        }
        Err(error) => return Err(error),
    };
    if is_analysed(&session) {
        return Ok(session);
    }
    if config.opening.project == ProjectPlace::None {
        analyse(&session)?;
        return Ok(session);
    }
    drop(session);
    config.read_only = false;
    let session = opening::open(&config)?;
    analyse(&session)?;
    keep(&session);
    session.release_project();
    Ok(session)
}

fn edit(config: Config) -> anyhow::Result<Session> {
    let session = opening::open(&config)?;
    if config.opening.project != ProjectPlace::None && !session.has_claimed_project() {
        let reason = session.project_notices().first().cloned().unwrap_or_default();
        bail!("nothing can be changed: {}", reason.trim_end_matches('.'));
    }
    if !is_analysed(&session) {
        analyse(&session)?;
        keep(&session);
    }
    Ok(session)
}

fn is_analysed(session: &Session) -> bool {
    !session.wants_analysis()
}

/// Whether the project that is chosen by itself is at fault, not the program.
fn is_projects_fault(error: &anyhow::Error, config: &Config) -> bool {
    config.opening.project == ProjectPlace::Default
        && matches!(error.downcast_ref(), Some(OpenError::Project(_)))
}

/// Analyses what was just loaded, and tells what the loader doubts of it.
fn analyse(session: &Session) -> anyhow::Result<()> {
    let doubts = session.project_notices().iter().filter(|notice| notice.starts_with("Warning: "));
    doubts.for_each(|doubt| crate::say(doubt));
    session.start_analysis(AnalysisKind::Ghidra, None).context("the analysis cannot start")?;
    progress::follow_quietly(session);
    let status = session.analysis_status();
    if let (AnalysisState::Failed, Some(message)) = (status.state, status.message) {
        crate::say(&format!("The analysis is not complete: {message}."));
    }
    Ok(())
}

/// Keeps the analysis for the next command. Where that is not possible, this one goes on.
fn keep(session: &Session) {
    if !session.has_claimed_project() {
        return;
    }
    if let Err(error) = session.save_at_end() {
        crate::say(&format!("The analysis is not kept for the next command: {error}."));
    }
}
