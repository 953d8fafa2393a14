//! What the verbs share: the context made of the flags, the targets, and where
//! the output goes.

use crate::cli::{Common, TargetArgs};
use crate::client::{Context, VERSIONS, Wish};
use crate::finding::{Finding, Severity};
use crate::http::Network;
use crate::json::Json;
use crate::limits::Limits;
use crate::message::Kind;
use crate::obj;
use crate::screen::Screen;
use crate::target::{Named, Target, read_list};
use crate::trail::{Channel, Trail, argv, redact};
use std::io::Write;

/// How a verb ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Nothing to complain about.
    Fine,
    /// Findings.
    Findings,
    /// Some other code, for a process that stands in for another.
    Code(i32),
}

impl Exit {
    /// By whether something was found.
    pub fn found(any: bool) -> Exit {
        if any { Exit::Findings } else { Exit::Fine }
    }

    /// By findings: what is only worth knowing does not count.
    pub fn of(findings: &[Finding]) -> Exit {
        Exit::found(findings.iter().any(|finding| finding.severity > Severity::Info))
    }

    /// The exit code.
    pub fn code(self) -> i32 {
        match self {
            Exit::Fine => 0,
            Exit::Findings => 1,
            Exit::Code(code) => code,
        }
    }
}

/// Why a verb could not run.
pub type Failure = String;

/// A target as it is given to a verb.
fn hint_words(target: &Target) -> String {
    match target {
        Target::Stdio(command) => format!("stdio -- {}", command.shown().join(" ")),
        other => other.describe(),
    }
}

/// What a process said on its error output, or beside messages: each line once,
/// the beginning and the end where there is much, since causes stand at both.
fn said_aside(trail: &Trail) -> Vec<String> {
    const SHOWN: usize = 6;
    let mut lines: Vec<String> = Vec::new();
    for entry in trail.since(0) {
        let aside = entry.channel == Channel::Stderr
            || (entry.channel == Channel::Stdout && entry.is(Kind::SideLog));
        let text = entry.text().trim_end().to_string();
        if aside && !text.is_empty() && !lines.contains(&text) && lines.len() < 5000 {
            lines.push(text);
        }
    }
    let cut = |line: &String| format!("it said: {}", crate::client::clip(line, 200));
    if lines.len() <= 2 * SHOWN {
        return lines.iter().map(cut).collect();
    }
    let mut shown: Vec<String> = lines[..SHOWN].iter().map(cut).collect();
    shown.push(format!("… {} more lines …", lines.len() - 2 * SHOWN));
    shown.extend(lines[lines.len() - SHOWN..].iter().map(cut));
    shown
}

/// A run of one verb.
pub struct Run {
    /// Flags.
    pub common: Common,
    /// Context for connections.
    pub context: Context,
    /// The last target that was spoken to.
    reached_for: std::sync::Mutex<Option<String>>,
}

impl Run {
    /// From the flags.
    pub fn new(common: Common) -> Result<Run, Failure> {
        let trail = Trail::in_memory();
        let mut headers = Vec::new();
        for header in &common.header {
            let (name, value) = header
                .split_once(':')
                .ok_or(format!("{header:?} is no header; write \"Name: value\""))?;
            let bad = |text: &str| text.contains(['\r', '\n']);
            if name.trim().is_empty() || bad(name) || bad(value) {
                return Err(format!("{header:?} is no header"));
            }
            if crate::trail::redact::is_secret_header(name.trim()) {
                trail.add_secret(value.trim().rsplit(' ').next().unwrap_or_default());
            }
            headers.push((name.trim().to_string(), value.trim().to_string()));
        }
        if let Some(variable) = &common.bearer_env {
            let token = std::env::var(variable)
                .map_err(|_| format!("the environment variable {variable} is not set"))?;
            trail.add_secret(token.trim());
            headers.push(("Authorization".into(), format!("Bearer {}", token.trim())));
        }
        let mut env = Vec::new();
        for pair in &common.env {
            let (name, value) =
                pair.split_once('=').ok_or(format!("{pair:?} is not NAME=value"))?;
            env.push((name.to_string(), value.to_string()));
        }
        let wish = match common.protocol.as_str() {
            "auto" => Wish::Auto,
            version if VERSIONS.contains(&version) => Wish::Pin(version.into()),
            other => {
                return Err(format!(
                    "unknown version {other:?}; known: auto, {}",
                    VERSIONS.join(", ")
                ));
            }
        };
        if common.keep_secrets {
            trail.keep_secrets();
        }
        if let Some(path) = &common.record {
            trail.write_to(path, None).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        let network = Network::new(common.ca.as_deref(), common.insecure, common.proxy.as_deref())?;
        crate::http::choose(network);
        let limits =
            Limits { idle: common.timeout_idle, total: common.timeout_total, ..Limits::default() };
        Ok(Run {
            context: Context {
                limits,
                trail,
                headers,
                env,
                cwd: common.cwd.clone(),
                bare_env: false,
                wish,
            },
            common,
            reached_for: std::sync::Mutex::new(None),
        })
    }

    /// The one target of a verb.
    pub fn target(&self, at: &TargetArgs) -> Result<Named, Failure> {
        let mut all = self.targets(at)?;
        match (all.pop(), all.is_empty()) {
            (Some(named), true) => {
                self.begin(&named);
                Ok(named)
            }
            _ => Err("this verb takes one target; name one with --server".into()),
        }
    }

    /// A failure with what the server said of it, and the way to more.
    pub fn with_cause(&self, failure: Failure) -> Failure {
        let target = self.reached_for.lock().ok().and_then(|last| last.clone());
        let Some(target) = target else { return failure };
        let mut text = failure;
        let said = said_aside(&self.context.trail);
        for line in &said {
            text.push_str(&format!("\n  {line}"));
        }
        // Some failures point there themselves.
        if !text.contains("mcp-probe doctor") {
            text.push_str(&format!("\n  → mcp-probe doctor {target} says why."));
        }
        text
    }

    /// The target of a recording, when it can be reached as it was recorded.
    pub fn recorded_target(&self, target: &Json) -> Result<Named, Failure> {
        let target = Target::from_json(target)
            .ok_or("the recording does not say of which server it is; name a target")?;
        if target.is_redacted() {
            return Err(format!(
                "the recording keeps no secrets, and its target needs one; name the target: {}",
                target.describe()
            ));
        }
        Ok(Named { name: target.describe(), target, headers: Vec::new() })
    }

    /// Notes the start of a conversation, and what of it must not be written down.
    pub fn begin(&self, named: &Named) {
        let trail = &self.context.trail;
        if let Target::Stdio(command) = &named.target {
            let env = command.env.iter().chain(&self.context.env);
            let hidden =
                env.filter(|(name, _)| argv::is_telling(name)).map(|(_, value)| value.clone());
            argv::secrets(&command.words())
                .into_iter()
                .chain(hidden)
                .for_each(|secret| trail.add_secret(&secret));
        }
        for (name, value) in &named.headers {
            if redact::is_secret_header(name) {
                trail.add_secret(value.trim().rsplit(' ').next().unwrap_or_default());
            }
        }
        let live = !matches!(named.target, Target::File(_));
        if let Ok(mut last) = self.reached_for.lock() {
            *last = live.then(|| hint_words(&named.target));
        }
        trail.start(match (&named.target, self.common.keep_secrets) {
            (Target::Stdio(command), true) => {
                obj! { "transport": "stdio", "command": command.words() }
            }
            (target, _) => target.to_json(),
        });
    }

    /// All targets of a verb.
    pub fn targets(&self, at: &TargetArgs) -> Result<Vec<Named>, Failure> {
        let (mut all, place) = match &at.config {
            Some(path) => (read_list(path)?, path.display().to_string()),
            None if at.installed => (crate::installed::servers()?, "no client".to_string()),
            None => {
                let target = Target::from_words(&at.target, &at.command)?;
                return Ok(vec![Named { name: target.describe(), target, headers: Vec::new() }]);
            }
        };
        if let Some(name) = &at.server {
            all.retain(|named| named.name == *name || named.name.ends_with(&format!("/{name}")));
            if all.is_empty() {
                return Err(format!("{place} names no server {name:?}"));
            }
        }
        Ok(all)
    }

    /// The context for a target, with the headers of its configuration.
    pub fn context_for(&self, named: &Named) -> Context {
        let mut context = self.context.clone();
        context.headers.extend(named.headers.iter().cloned());
        context
    }

    /// A screen for the output.
    pub fn screen(&self) -> Screen {
        Screen::new(self.common.out.is_some())
    }

    /// Puts text where it belongs.
    pub fn emit(&self, text: &str) -> Result<(), Failure> {
        match &self.common.out {
            Some(path) => {
                std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
            }
            None => {
                let mut out = std::io::stdout().lock();
                // A closed pipe, as with `head`, is no failure.
                let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
                Ok(())
            }
        }
    }

    /// Puts JSON where it belongs.
    pub fn emit_json(&self, json: &Json) -> Result<(), Failure> {
        self.emit(&format!("{}\n", crate::screen::escape_json(&json.pretty())))
    }
}
