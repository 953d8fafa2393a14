//! Start-up arguments: reading, defaults and checks. Nothing here opens a
//! file other than the token's, and nothing prints.

mod check;
mod keys;
mod words;

use crate::auth::Token;
use std::path::PathBuf;
use std::time::Duration;

pub use keys::{KEYS, Key};

/// The commands that start a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// WebSocket and MCP over HTTP.
    Serve,
    /// WebSocket only.
    Ws,
    /// MCP over HTTP only.
    Mcp,
    /// MCP over the standard streams.
    Stdio,
}

impl Command {
    /// How it is written.
    pub fn name(self) -> &'static str {
        match self {
            Command::Serve => "serve",
            Command::Ws => "ws",
            Command::Mcp => "mcp",
            Command::Stdio => "stdio",
        }
    }
}

/// What is wrong with the arguments, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl ConfigError {
    fn new(message: impl Into<String>) -> ConfigError {
        ConfigError(message.into())
    }
}

/// Where one transport listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Host name or address, as it was given.
    pub host: String,
    /// Port; 0 lets the system choose.
    pub port: u16,
    /// Path, with a leading slash.
    pub path: String,
}

/// A server to connect out to.
#[derive(Clone, Debug)]
pub struct Outbound {
    /// Its `ws:` or `wss:` address.
    pub url: String,
    /// How long the process may live on after the session.
    pub exit_deadline: Option<Duration>,
}

/// When the program is analysed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnalysisMode {
    /// While it is served.
    Background,
    /// Before it is served.
    Wait,
    /// Only when a client asks.
    Off,
}

/// Which loader reads the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoaderChoice {
    /// The one that knows the format.
    Auto,
    /// ELF.
    Elf,
    /// PE.
    Pe,
    /// An object file of Windows' compilers.
    Coff,
    /// Mach-O.
    Macho,
    /// The bytes as they are.
    Raw,
    /// Intel HEX.
    IntelHex,
    /// Motorola S-record.
    SRecord,
    /// An `ar` archive.
    Archive,
}

/// How tool names are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolNames {
    /// `ghidra.memory`
    Dotted,
    /// `ghidra_memory`
    Underscore,
}

/// How much the listed schemas say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolSchemas {
    /// Short, without combinators, for any client.
    Compact,
    /// One alternative per operation, complete.
    Full,
}

/// How the tools are presented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolStyle {
    /// First part of every name.
    pub prefix: String,
    /// How names are listed.
    pub names: ToolNames,
    /// How much schemas say.
    pub schemas: ToolSchemas,
}

/// Where requests are logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogTarget {
    /// Nowhere.
    Off,
    /// The error stream.
    Stderr,
    /// A file that is appended to.
    File(PathBuf),
}

/// Limits that keep memory bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest message in bytes.
    pub max_body: usize,
    /// Connections served at once.
    pub max_clients: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { max_body: 16 << 20, max_clients: 256 }
    }
}

/// Where edits and analysis are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProjectPlace {
    /// In the user's data folder, one file per content.
    Default,
    /// Nowhere.
    None,
    /// In this file.
    File(PathBuf),
}

/// How the file is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The file; only stdio may do without.
    pub file: Option<PathBuf>,
    /// When it is analysed.
    pub analysis: AnalysisMode,
    /// Language to use in place of the detected one; a compiler specification may follow it.
    pub language: Option<String>,
    /// Image base.
    pub base: Option<u64>,
    /// PDB file of a Windows program.
    pub pdb: Option<PathBuf>,
    /// Which loader reads it.
    pub loader: LoaderChoice,
    /// Which member of an archive is opened.
    pub member: Option<String>,
    /// Where edits and analysis are kept.
    pub project: ProjectPlace,
}

/// Everything the arguments say.
#[derive(Clone, Debug)]
pub struct Config {
    /// The command.
    pub command: Command,
    /// How the file is opened.
    pub opening: Opening,
    /// Where WebSocket clients are served.
    pub websocket: Option<Endpoint>,
    /// Where MCP clients are served.
    pub mcp: Option<Endpoint>,
    /// The server to connect out to, in place of listening.
    pub outbound: Option<Outbound>,
    /// The secret clients must know.
    pub token: Option<Token>,
    /// Name of the session; by default the program's.
    pub session_id: Option<String>,
    /// Which methods are served.
    pub surface: api::Surface,
    /// How the tools are presented.
    pub tools: ToolStyle,
    /// Refuse every change.
    pub read_only: bool,
    /// Where requests are logged.
    pub log: LogTarget,
    /// Limits.
    pub limits: Limits,
}

impl Config {
    /// Reads and checks the words after a command. `secret` is the token from
    /// the environment, used when no argument gives one.
    pub fn read(
        command: Command,
        words: &[String],
        secret: Option<String>,
    ) -> Result<Config, ConfigError> {
        let words = words::Words::read(command, words)?;
        check::config(command, &words, secret)
    }
}
