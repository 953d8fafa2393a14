//! The command line.

use crate::finding::Severity;
use crate::limits::parse_duration;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Looks at any MCP server from the outside: records it, takes its measure,
/// finds what is wrong with it.
#[derive(Debug, Parser)]
#[command(name = "mcp-probe", version, after_help = TARGETS)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub verb: Verb,
}

const TARGETS: &str = "Targets:  COMMAND ARGUMENTS | stdio -- COMMAND ARGUMENTS | http(s)://... | localhost:3000 | ws(s)://... | a saved report or recording
Exit:     0 fine, 1 findings, 2 could not run";

/// Flags that every verb understands.
#[derive(Debug, Args)]
pub struct Common {
    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// Send this header with every HTTP request ("Name: value", may be repeated)
    #[arg(long, global = true, value_name = "HEADER")]
    pub header: Vec<String>,
    /// Send the bearer token that stands in this environment variable
    #[arg(long, global = true, value_name = "VARIABLE")]
    pub bearer_env: Option<String>,
    /// Longest silence while waiting for an answer (5, 500ms, 2m)
    #[arg(long, global = true, value_parser = parse_duration, default_value = "30s")]
    pub timeout_idle: Duration,
    /// Longest time for one answer
    #[arg(long, global = true, value_parser = parse_duration, default_value = "60s")]
    pub timeout_total: Duration,
    /// Version to speak: auto, 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05
    #[arg(long, global = true, default_value = "auto")]
    pub protocol: String,
    /// Write the output to this file
    #[arg(long, global = true, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write everything that crosses the wire to this file
    #[arg(long, global = true, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Set a variable for a command that is started ("NAME=value", may be repeated)
    #[arg(long, global = true, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// Start commands in this folder
    #[arg(long, global = true, value_name = "FOLDER")]
    pub cwd: Option<PathBuf>,
    /// Trust the certificates in this PEM file as well (also: SSL_CERT_FILE, NODE_EXTRA_CA_CERTS)
    #[arg(long, global = true, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Do not check certificates
    #[arg(long, global = true)]
    pub insecure: bool,
    /// Go through this HTTP proxy (else: HTTPS_PROXY, HTTP_PROXY, NO_PROXY)
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub proxy: Option<String>,
    /// Do not replace secrets in what is recorded
    #[arg(long, global = true)]
    pub keep_secrets: bool,
}

/// Where to point at.
#[derive(Debug, Args, Clone)]
pub struct TargetArgs {
    /// stdio (with -- COMMAND), a URL, or a saved report or recording
    #[arg(value_name = "TARGET")]
    pub target: Vec<String>,
    /// Take the servers of a client's configuration file, or of a list with one target a line
    #[arg(long, value_name = "FILE", visible_alias = "targets")]
    pub config: Option<PathBuf>,
    /// Take the servers of every client that is installed here
    #[arg(long, conflicts_with = "config")]
    pub installed: bool,
    /// Only this server of the configuration file
    #[arg(long, value_name = "NAME")]
    pub server: Option<String>,
    /// Command of a stdio server
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Record what a client and a server say to each other
    Record(RecordArgs),
    /// Play a recording against a server, or serve it back
    Replay(ReplayArgs),
    /// Find out why a server does not work
    Doctor(DoctorArgs),
    /// Write down everything a server offers
    Report(ReportArgs),
    /// Compare two reports or recordings
    Diff(DiffArgs),
    /// Write down a hash for each tool
    Lock(LockArgs),
    /// Check a server against a lock
    Verify(VerifyArgs),
    /// Try how tools answer to wrong arguments
    Errors(ErrorsArgs),
    /// Search and sum up recordings
    AuditLog(AuditArgs),
    /// Look for what could do harm
    Scan(ScanArgs),
    /// Check whether a tool list survives a client
    Lint(LintArgs),
    /// Doctor, lint and scan in one page with one exit code
    Check(CheckArgs),
    /// Find out what made a recorded success succeed
    Explain(ExplainArgs),
    /// Write a client configuration or a small client program
    Emit(EmitArgs),
    /// Run a script of steps on one connection
    Session(SessionArgs),
    /// Send one request
    Call(CallArgs),
    /// Be a server to practise on
    Mock(MockArgs),
    /// Be the client that the official conformance suite wants to judge
    #[command(hide = true)]
    ConformanceDriver(DriverArgs),
}

#[derive(Debug, Args)]
pub struct RecordArgs {
    #[command(flatten)]
    pub at: TargetArgs,
    /// Port to listen on in front of an HTTP or web socket server (0: any)
    #[arg(long, default_value_t = 0)]
    pub listen: u16,
    /// Start a new file when this many bytes are written
    #[arg(long, value_name = "BYTES")]
    pub rotate: Option<u64>,
    /// Leave the Host header alone even when the server is on another machine
    #[arg(long)]
    pub keep_host: bool,
}

#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The recording
    pub recording: PathBuf,
    #[command(flatten)]
    pub at: TargetArgs,
    /// Answers must be the same to the last member
    #[arg(long)]
    pub strict: bool,
    /// Be the recorded server instead
    #[arg(long)]
    pub serve: bool,
    /// With --serve: listen on this port instead of the standard streams
    #[arg(long, value_name = "PORT")]
    pub http: Option<u16>,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    pub at: TargetArgs,
    /// Give a command all variables of this shell, not just the few that clients pass on
    #[arg(long)]
    pub inherit_env: bool,
    /// Also send messages of 16 and 64 MiB
    #[arg(long)]
    pub big_messages: bool,
    /// Name the rules, and the mocks that show them
    #[arg(long)]
    pub rules: bool,
}

#[derive(Debug, Args)]
pub struct ReportArgs {
    #[command(flatten)]
    pub at: TargetArgs,
    /// Write one self-contained HTML page
    #[arg(long)]
    pub html: bool,
    /// Fetch every list this often and say whether it changes
    #[arg(long, default_value_t = 1)]
    pub repeat: usize,
    /// Put times into the JSON
    #[arg(long)]
    pub timings: bool,
}

#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The older report or recording
    pub old: PathBuf,
    /// The newer one
    pub new: PathBuf,
}

#[derive(Debug, Args)]
pub struct LockArgs {
    #[command(flatten)]
    pub at: TargetArgs,
}

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The lock file
    #[arg(long, value_name = "FILE", default_value = "mcp.lock.json")]
    pub lock: PathBuf,
    #[command(flatten)]
    pub at: TargetArgs,
}

#[derive(Debug, Args)]
pub struct ErrorsArgs {
    #[command(flatten)]
    pub at: TargetArgs,
    /// Only this tool (may be repeated)
    #[arg(long)]
    pub tool: Vec<String>,
    /// Also call tools that do not say that they only read
    #[arg(long)]
    pub allow_writes: bool,
    /// Arguments with which tools work: JSON {"tool": {arguments}}, or a recording with calls
    #[arg(long, value_name = "FILE")]
    pub args: Option<PathBuf>,
    /// Most calls for one tool
    #[arg(long, default_value_t = 60)]
    pub most: usize,
}

#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Recordings
    #[arg(required = true)]
    pub recordings: Vec<PathBuf>,
    /// Only this method
    #[arg(long)]
    pub method: Option<String>,
    /// Only what one side sent: client or server
    #[arg(long)]
    pub direction: Option<String>,
    /// Only exchanges that failed
    #[arg(long)]
    pub errors: bool,
    /// Only exchanges whose request or answer holds this text
    #[arg(long, value_name = "TEXT")]
    pub grep: Option<String>,
    /// Only the slowest, this many
    #[arg(long, value_name = "COUNT")]
    pub slowest: Option<usize>,
    /// One line a method with p50, p95, p99
    #[arg(long)]
    pub methods: bool,
    /// One line a server
    #[arg(long)]
    pub servers: bool,
}

/// How to print findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs
    Json,
    /// SARIF 2.1.0
    Sarif,
}

#[derive(Debug, Args)]
pub struct ScanArgs {
    #[command(flatten)]
    pub at: TargetArgs,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
    /// Least severity that makes the exit code 1: info, low, medium, high
    #[arg(long, value_parser = Severity::named, default_value = "medium")]
    pub fail_on: Severity,
    /// Instead of a target: labelled tools, one JSON object a line, to measure the rules by
    #[arg(long, value_name = "FILE")]
    pub measure: Vec<PathBuf>,
    /// Also call tools: traversal, absolute path, link and command canaries inside a scratch folder
    #[arg(long)]
    pub active: bool,
    /// With --active: the folder that the server was given; scratch files are put there for the time of the tests
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// With --active: also call tools that do not say that they only read
    #[arg(long)]
    pub allow_writes: bool,
}

/// How to print a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// SARIF 2.1.0, for code hosts
    Sarif,
    /// JUnit XML, for build servers
    Junit,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    pub at: TargetArgs,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    pub format: CheckFormat,
    /// Least severity that makes the exit code 1: info, low, medium, high
    #[arg(long, value_parser = Severity::named, default_value = "medium")]
    pub fail_on: Severity,
    /// The tool list must survive this client (may be repeated); otherwise lint only informs
    #[arg(long, value_name = "NAME")]
    pub client: Vec<String>,
    /// File of the repository at which SARIF shows findings (default: the configuration or the script)
    #[arg(long, value_name = "FILE[:LINE]")]
    pub place: Option<String>,
    /// Leave out the safety scan
    #[arg(long)]
    pub no_scan: bool,
}

#[derive(Debug, Args)]
pub struct LintArgs {
    #[command(flatten)]
    pub at: TargetArgs,
    /// The client (all if not given): --client list names them
    #[arg(long, value_name = "NAME")]
    pub client: Vec<String>,
    /// Name under which the server stands in the client's configuration
    #[arg(long, value_name = "NAME")]
    pub server_name: Option<String>,
}

#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The recording
    pub recording: PathBuf,
    #[command(flatten)]
    pub at: TargetArgs,
    /// Explain the last success of this method (default: the last success of any)
    #[arg(long)]
    pub method: Option<String>,
}

#[derive(Debug, Args)]
pub struct EmitArgs {
    /// claude-desktop, claude-code, cursor, vscode, codex, gemini, python, typescript
    pub what: String,
    #[command(flatten)]
    pub at: TargetArgs,
    /// Name for the server
    #[arg(long, default_value = "server")]
    pub name: String,
}

#[derive(Debug, Args)]
pub struct SessionArgs {
    /// The script: JSON lines, or - for the standard input
    pub script: PathBuf,
    #[command(flatten)]
    pub at: TargetArgs,
    /// No handshake; the script does everything
    #[arg(long)]
    pub bare: bool,
}

#[derive(Debug, Args)]
pub struct CallArgs {
    #[command(flatten)]
    pub at: TargetArgs,
    /// Tool to call
    #[arg(long, conflicts_with = "method")]
    pub tool: Option<String>,
    /// Arguments of the tool, as JSON
    #[arg(long, default_value = "{}")]
    pub args: String,
    /// Method to call instead
    #[arg(long)]
    pub method: Option<String>,
    /// Parameters of the method, as JSON
    #[arg(long)]
    pub params: Option<String>,
    /// No handshake and no metadata: just this request
    #[arg(long)]
    pub bare: bool,
}

#[derive(Debug, Args)]
pub struct MockArgs {
    /// Which mock
    #[arg(default_value = "good")]
    pub name: String,
    /// Name all mocks
    #[arg(long)]
    pub list: bool,
    /// Serve HTTP on this port of 127.0.0.1 (0: any)
    #[arg(long, value_name = "PORT")]
    pub http: Option<u16>,
    /// Serve web sockets on this port of 127.0.0.1 (0: any)
    #[arg(long, value_name = "PORT", conflicts_with = "http")]
    pub ws: Option<u16>,
}

#[derive(Debug, Args)]
pub struct DriverArgs {
    /// Address of the server, given by the suite
    pub url: String,
}
