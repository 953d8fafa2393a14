//! The checks on start-up arguments, in their fixed order, so that the first
//! mistake is the one that is reported.

use super::words::Words;
use super::{
    AnalysisMode, Command, Config, ConfigError, Endpoint, Limits, LoaderChoice, LogTarget, Opening,
    Outbound, ProjectPlace, ToolNames, ToolSchemas, ToolStyle,
};
use crate::auth::Token;
use std::io::Read;
use std::net::ToSocketAddrs;
use std::path::PathBuf;
use std::time::Duration;

const LOOPBACK: &str = "127.0.0.1";
const SHORTEST_OPEN_TOKEN: usize = 16;
const LONGEST_TOKEN: u64 = 4096;
const BODY_RANGE: std::ops::RangeInclusive<usize> = 1024..=1 << 30;
const CLIENT_RANGE: std::ops::RangeInclusive<usize> = 1..=10_000;

type Checked<T> = Result<T, ConfigError>;

pub(super) fn config(command: Command, words: &Words, secret: Option<String>) -> Checked<Config> {
    for name in ["port", "ws_port", "mcp_port"] {
        integer(words, name)?;
    }
    let deadline = integer(words, "exit_deadline_sec")?;
    let session_id = session_id(words)?;
    let outbound = outbound(words, deadline)?;
    let ports = Ports::read(command, words)?;
    let host = words.get("host").unwrap_or(LOOPBACK).to_owned();
    let websocket = match command {
        Command::Ws if outbound.is_none() => {
            Some(endpoint(words, &host, ports.ws, "path", "/ws/agent")?)
        }
        Command::Serve => {
            Some(endpoint(words, &host, ports.ws, either(words, "ws_path", "path"), "/ws/agent")?)
        }
        _ => None,
    };
    let mcp = match command {
        Command::Mcp => Some(endpoint(words, &host, ports.mcp, "path", "/mcp")?),
        Command::Serve => {
            Some(endpoint(words, &host, ports.mcp, either(words, "mcp_path", "path"), "/mcp")?)
        }
        _ => None,
    };
    if command == Command::Serve && ports.ws == ports.mcp && ports.ws != 0 {
        return Err(ConfigError::new(format!(
            "ws_port and mcp_port are both {}; give each its own",
            ports.ws
        )));
    }
    let token = token(command, words, secret)?;
    if websocket.is_some() || mcp.is_some() {
        check_host(&host, token.as_ref())?;
    }
    Ok(Config {
        command,
        opening: opening(command, words)?,
        websocket,
        mcp,
        outbound,
        token,
        session_id,
        surface: choice(
            words,
            "extensions",
            &[("off", api::Surface::Document), ("on", api::Surface::Extensions)],
        )?,
        tools: tools(words)?,
        read_only: choice(words, "read_only", &[("false", false), ("true", true)])?,
        log: match words.get("log") {
            None => LogTarget::Off,
            Some("stderr") => LogTarget::Stderr,
            Some(file) => LogTarget::File(PathBuf::from(file)),
        },
        limits: limits(words)?,
    })
}

struct Ports {
    ws: u16,
    mcp: u16,
}

impl Ports {
    fn read(command: Command, words: &Words) -> Checked<Ports> {
        if command != Command::Serve {
            return Ok(Ports { ws: port(words, "port", 8765)?, mcp: port(words, "port", 8766)? });
        }
        let first = port(words, "port", 8765)?;
        let next = match first {
            0 => 0,
            u16::MAX if words.get("mcp_port").is_none() => {
                return Err(ConfigError::new(
                    "port must be 0 (any free ports) to 65534 for serve, which takes the next one for MCP; or give mcp_port",
                ));
            }
            first => first.saturating_add(1),
        };
        Ok(Ports { ws: port(words, "ws_port", first)?, mcp: port(words, "mcp_port", next)? })
    }
}

/// The name that is given, the first when neither is.
fn either(words: &Words, first: &'static str, second: &'static str) -> &'static str {
    if words.get(first).is_none() && words.get(second).is_some() { second } else { first }
}

fn integer(words: &Words, name: &str) -> Checked<Option<i32>> {
    let Some(text) = words.get(name) else { return Ok(None) };
    match text.parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(ConfigError::new(format!("{name} must be a whole number, not {text:?}"))),
    }
}

fn port(words: &Words, name: &str, default: u16) -> Checked<u16> {
    let Some(number) = integer(words, name)? else { return Ok(default) };
    u16::try_from(number).map_err(|_| {
        ConfigError::new(format!("{name} must be 0 (any free port) to 65535, not {number}"))
    })
}

fn session_id(words: &Words) -> Checked<Option<String>> {
    let Some(text) = words.get("session_id") else { return Ok(None) };
    if text.chars().any(char::is_control) || text.chars().count() > 200 {
        return Err(ConfigError::new(
            "session_id must be at most 200 characters without control characters",
        ));
    }
    Ok(Some(text.to_owned()))
}

fn outbound(words: &Words, deadline: Option<i32>) -> Checked<Option<Outbound>> {
    let Some(url) = words.get("ws_url") else {
        return match deadline {
            None => Ok(None),
            Some(_) => Err(ConfigError::new("exit_deadline_sec is only for ws_url")),
        };
    };
    for name in ["host", "port", "path"] {
        if words.get(name).is_some() {
            return Err(ConfigError::new(format!(
                "ws_url cannot be combined with {name}: it connects out and listens nowhere"
            )));
        }
    }
    if url.starts_with("wss://") {
        return Err(ConfigError::new(
            "ws_url cannot be wss:// yet: put a tunnel that speaks TLS between, and use ws://",
        ));
    }
    if !url.starts_with("ws://") {
        return Err(ConfigError::new("ws_url must begin with ws://"));
    }
    let exit_deadline = match deadline {
        None => None,
        Some(seconds @ 1..) => Some(Duration::from_secs(seconds.unsigned_abs().into())),
        Some(_) => return Err(ConfigError::new("exit_deadline_sec must be at least 1")),
    };
    Ok(Some(Outbound { url: url.to_owned(), exit_deadline }))
}

fn endpoint(words: &Words, host: &str, port: u16, name: &str, default: &str) -> Checked<Endpoint> {
    let path = words.get(name).unwrap_or(default);
    if path.contains(['?', '#']) || path.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(ConfigError::new(format!(
            "{name} must be a plain path such as {default}, without blanks, ? or #"
        )));
    }
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Ok(Endpoint { host: host.to_owned(), port, path })
}

fn token(command: Command, words: &Words, secret: Option<String>) -> Checked<Option<Token>> {
    if command == Command::Stdio {
        return Ok(None);
    }
    let text = match (words.get("token"), words.get("token_file")) {
        (Some(_), Some(_)) => {
            return Err(ConfigError::new("give token or token_file, not both"));
        }
        (Some(token), None) => Some(token.to_owned()),
        (None, Some(file)) => Some(token_from_file(file)?),
        (None, None) => secret.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()),
    };
    let Some(text) = text else { return Ok(None) };
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ConfigError::new(
            "the token must be printable ASCII without blanks, or no header can carry it",
        ));
    }
    Ok(Some(Token::new(text)))
}

fn token_from_file(path: &str) -> Checked<String> {
    let unreadable =
        |error| ConfigError::new(format!("token_file {path:?} cannot be read: {error}"));
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    file.take(LONGEST_TOKEN).read_to_string(&mut text).map_err(unreadable)?;
    let text = text.trim();
    if text.is_empty() {
        return Err(ConfigError::new(format!("token_file {path:?} holds no token")));
    }
    Ok(text.to_owned())
}

/// Anything but loopback is reachable by others, so it needs a real secret.
fn check_host(host: &str, token: Option<&Token>) -> Checked<()> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let addresses: Vec<_> = (bare, 0)
        .to_socket_addrs()
        .map_err(|error| ConfigError::new(format!("host {host:?} cannot be resolved: {error}")))?
        .collect();
    if addresses.is_empty() {
        return Err(ConfigError::new(format!("host {host:?} has no address")));
    }
    if addresses.iter().all(|address| address.ip().is_loopback()) {
        return Ok(());
    }
    match token {
        None => Err(ConfigError::new(format!(
            "host {host:?} can be reached from other machines, so it needs a token \
             (token_file=FILE or GHIDRA_BRIDGE_TOKEN)"
        ))),
        Some(token) if token.len() < SHORTEST_OPEN_TOKEN => Err(ConfigError::new(format!(
            "host {host:?} can be reached from other machines, so its token needs at least \
             {SHORTEST_OPEN_TOKEN} characters"
        ))),
        Some(_) => Ok(()),
    }
}

fn choice<T: Copy>(words: &Words, name: &str, choices: &[(&str, T)]) -> Checked<T> {
    let text = words.get(name).unwrap_or(choices[0].0);
    match choices.iter().find(|(choice, _)| *choice == text) {
        Some((_, value)) => Ok(*value),
        None => {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            Err(ConfigError::new(format!("{name} must be {}, not {text:?}", names.join(" or "))))
        }
    }
}

fn tools(words: &Words) -> Checked<ToolStyle> {
    let prefix = words.get("tool_prefix").unwrap_or("ghidra");
    let fits = prefix.starts_with(|c: char| c.is_ascii_alphabetic())
        && prefix.len() <= 64
        && prefix.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if !fits {
        return Err(ConfigError::new(format!(
            "tool_prefix must be a letter and up to 63 more letters, digits, _ or -, not {prefix:?}"
        )));
    }
    Ok(ToolStyle {
        prefix: prefix.to_owned(),
        names: choice(
            words,
            "tool_names",
            &[("dotted", ToolNames::Dotted), ("underscore", ToolNames::Underscore)],
        )?,
        schemas: choice(
            words,
            "tool_schemas",
            &[("compact", ToolSchemas::Compact), ("full", ToolSchemas::Full)],
        )?,
    })
}

fn opening(command: Command, words: &Words) -> Checked<Opening> {
    if words.file.is_none() && command != Command::Stdio {
        return Err(ConfigError::new(format!(
            "name the file to open: ghidra-bridge {} FILE",
            command.name()
        )));
    }
    let base = match words.get("base") {
        None => None,
        Some(text) => {
            let digits = text.strip_prefix("0x").or(text.strip_prefix("0X")).unwrap_or(text);
            let parsed = u64::from_str_radix(digits, 16).ok();
            Some(parsed.filter(|_| !digits.starts_with('+')).ok_or_else(|| {
                ConfigError::new(format!("base must be a hexadecimal address, not {text:?}"))
            })?)
        }
    };
    Ok(Opening {
        file: words.file.clone(),
        analysis: choice(
            words,
            "analysis",
            &[
                ("background", AnalysisMode::Background),
                ("wait", AnalysisMode::Wait),
                ("off", AnalysisMode::Off),
            ],
        )?,
        language: words.get("language").map(str::to_owned),
        base,
        pdb: words.get("pdb").map(PathBuf::from),
        loader: choice(
            words,
            "loader",
            &[
                ("auto", LoaderChoice::Auto),
                ("elf", LoaderChoice::Elf),
                ("pe", LoaderChoice::Pe),
                ("coff", LoaderChoice::Coff),
                ("macho", LoaderChoice::Macho),
                ("raw", LoaderChoice::Raw),
                ("hex", LoaderChoice::IntelHex),
                ("srec", LoaderChoice::SRecord),
                ("ar", LoaderChoice::Archive),
            ],
        )?,
        member: words.get("member").map(str::to_owned),
        project: match words.get("project") {
            None => ProjectPlace::Default,
            Some("none") => ProjectPlace::None,
            Some(file) => ProjectPlace::File(PathBuf::from(file)),
        },
    })
}

fn limits(words: &Words) -> Checked<Limits> {
    let mut limits = Limits::default();
    if let Some(text) = words.get("max_body") {
        let bytes = size(text).filter(|bytes| BODY_RANGE.contains(bytes));
        limits.max_body = bytes.ok_or_else(|| {
            ConfigError::new(format!("max_body must be 1k to 1024m, not {text:?}"))
        })?;
    }
    if let Some(text) = words.get("max_clients") {
        let count = text.parse().ok().filter(|count| CLIENT_RANGE.contains(count));
        limits.max_clients = count.ok_or_else(|| {
            ConfigError::new(format!("max_clients must be 1 to 10000, not {text:?}"))
        })?;
    }
    Ok(limits)
}

fn size(text: &str) -> Option<usize> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1 << 10),
        b'm' | b'M' => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
