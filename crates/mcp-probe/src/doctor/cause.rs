//! Root cause out of a log: what a server that died or kept silent wrote on its error
//! output, searched from both ends, since some runtimes put the exception first and others
//! last. Messages in English, Chinese, Japanese and German.

use super::wording::{
    ARGUMENT, CREDENTIALS, NO_FILE, NO_RIGHT, NOT_REACHED, PORT_TAKEN, UNKNOWN_ARGUMENT, UNSET, has,
};
use crate::client::clip;

/// Why, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The cause in one line.
    pub title: String,
    /// The way out.
    pub advice: String,
    /// The line it was read from.
    pub line: String,
}

type Rule = fn(&[String]) -> Option<Cause>;

/// The longest text quoted from a log.
const LONGEST: usize = 160;

/// Looks for the cause in what a process wrote that has ended: where it may have listened
/// matters no more.
pub fn of_ended(lines: &[String]) -> Option<Cause> {
    let address = |line: &&String| announced(std::slice::from_ref(*line)).is_none();
    let quiet: Vec<String> = lines.iter().filter(address).cloned().collect();
    of(&quiet)
}

/// Looks for the cause in what a process wrote. Rules that know more come first.
pub fn of(lines: &[String]) -> Option<Cause> {
    let rules: [Rule; 15] = [
        renamed_sdk,
        missing_package,
        missing_module,
        missing_variable,
        port_taken,
        listens,
        missing_argument,
        unknown_argument,
        too_old,
        missing_file,
        no_right,
        not_reached,
        credentials,
        exception,
        complaint,
    ];
    let lines: Vec<String> =
        lines.iter().map(|line| plain(line)).filter(|line| !line.is_empty()).collect();
    rules.iter().find_map(|rule| rule(&lines))
}

fn cause(title: impl Into<String>, advice: impl Into<String>, line: &str) -> Cause {
    Cause { title: clip(&title.into(), LONGEST + 60), advice: advice.into(), line: line.into() }
}

/// Without terminal colours and surrounding blanks.
fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => {
                if rest.next() == Some('[') {
                    let _ = rest.by_ref().find(char::is_ascii_alphabetic);
                }
            }
            c => out.push(c),
        }
    }
    out.trim().to_string()
}

/// The text between quotes of any kind after `from`.
fn quoted(text: &str) -> Option<&str> {
    let (at, open) = text.char_indices().find(|(_, c)| "'\"`‘“「„".contains(*c))?;
    let close = match open {
        '‘' => '’',
        '“' => '”',
        '「' => '」',
        '„' => '“',
        other => other,
    };
    let rest = &text[at + open.len_utf8()..];
    rest.find(close).map(|end| &rest[..end])
}

/// What follows a phrase on its line.
fn after<'a>(line: &'a str, phrase: &str) -> Option<&'a str> {
    let at = line.find(phrase)?;
    Some(line[at + phrase.len()..].trim())
}

/// A program written for the first Python SDK runs on the second.
fn renamed_sdk(lines: &[String]) -> Option<Cause> {
    let line = lines.iter().rev().find(|line| {
        let import = line.contains("mcp.server") || line.contains("'mcp") || line.contains("mcp.");
        import
            && (line.starts_with("ModuleNotFoundError: No module named 'mcp.")
                || line.starts_with("ImportError: cannot import name")
                || (line.starts_with("AttributeError:") && line.contains("mcp")))
    })?;
    let text = clip(line, LONGEST);
    let advice = "The program was written for another major version of the Python package mcp. Install the one it was written for, for instance: pip install \"mcp<2\" (uvx --with \"mcp<2\" ...), or a newer release of the server.";
    Some(cause(text, advice, line))
}

/// Package managers that know no such package.
fn missing_package(lines: &[String]) -> Option<Cause> {
    let registry = lines.iter().find(|line| {
        (line.contains("404") && line.to_lowercase().contains("npm"))
            || line.contains("is not in this registry")
            || line.contains("is not in the npm registry")
    });
    if let Some(line) = registry {
        let name = lines.iter().find_map(|line| {
            let name = quoted(line).filter(|name| {
                line.contains("404") || line.contains("registry") || name.starts_with('@')
            })?;
            Some(name.split("@*").next().unwrap_or(name).to_string())
        });
        let title = match name {
            Some(name) => format!("the package {name} does not exist in the registry"),
            None => "the package does not exist in the registry".to_string(),
        };
        return Some(cause(
            title,
            "Check the spelling and the scope of the package's name; a private one needs its registry configured.",
            line,
        ));
    }
    let python = [
        "No matching distribution found for",
        "was not found in the package registry",
        "No solution found when resolving",
    ];
    if let Some(line) = lines.iter().rev().find(|line| has(line, &python)) {
        return Some(cause(
            clip(line, LONGEST),
            "Check the package's name and version, and that its index can be reached.",
            line,
        ));
    }
    let line = lines.iter().find(|line| line.contains("could not determine executable to run"))?;
    Some(cause(
        "npx finds no program in the package",
        "Name the program: npx -p PACKAGE PROGRAM; or check that the package is a server.",
        line,
    ))
}

fn missing_module(lines: &[String]) -> Option<Cause> {
    let phrases = [
        "No module named",
        "Cannot find module",
        "Cannot find package",
        "cannot load such file",
        "Could not locate the bindings file",
        "Could not find or load main class",
        "ClassNotFoundException",
        "Could not load file or assembly",
        "cannot open shared object file",
        "no required module provides package",
        "Module not found",
        "cannot import name",
    ];
    let line = lines.iter().find(|line| has(line, &phrases))?;
    let name = phrases.iter().find_map(|phrase| quoted(after(line, phrase)?));
    if let Some(path) =
        name.filter(|name| name.starts_with('/') && line.contains("Cannot find module"))
        && lines.iter().any(|line| line.contains("requireStack: []"))
    {
        let title = format!("the script {path} does not exist");
        return Some(cause(
            title,
            "Check the path; if it is relative, the working directory counts: --cwd FOLDER, or give the full path. Has the program been built?",
            line,
        ));
    }
    let node = line.contains("Cannot find") || line.contains("bindings file");
    let advice = match (node, name) {
        (true, Some(name)) if name.starts_with(['.', '/']) => "A file of the program is missing: install or build it again (npm install, npm run build).".to_string(),
        (true, Some(name)) => format!("Install what is missing where the server runs: npm install {name}."),
        (true, None) => "Its native part is not built: npm rebuild, or install it again with scripts allowed.".to_string(),
        (false, Some(name)) if line.contains("No module named") => format!(
            "Install the package that brings {} into the Python that runs the server; a client may start another Python than your shell (give its full path, or use uvx).",
            name.split('.').next().unwrap_or(name)
        ),
        _ => "It is not fully installed, or started with another runtime than the one it was installed for.".to_string(),
    };
    Some(cause(clip(line, LONGEST), advice, line))
}

fn missing_variable(lines: &[String]) -> Option<Cause> {
    let (line, name) = lines.iter().find_map(|line| {
        let name = variables(line).into_iter().next()?;
        let key = line.contains("KeyError:") || line.contains("key not found");
        (key || has(line, &UNSET)).then_some((line, name))
    })?;
    let ours = std::env::var_os(&name).is_some();
    let advice = match ours {
        true => format!(
            "Your shell has it, but clients do not pass it on: in a client's configuration, \"env\": {{\"{name}\": \"...\"}}; here --env {name}=VALUE or --inherit-env."
        ),
        false => format!(
            "Set it: --env {name}=VALUE; in a client's configuration, \"env\": {{\"{name}\": \"...\"}}. Clients do not pass on the variables of your shell."
        ),
    };
    Some(cause(format!("the environment variable {name} is not set"), advice, line))
}

/// Words that look like names of environment variables: capitals with an underscore,
/// standing alone, not a part of a path, a file name or a time.
pub fn variables(line: &str) -> Vec<String> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found: Vec<String> = Vec::new();
    let mut start = None;
    for (at, c) in line.char_indices().chain([(line.len(), ' ')]) {
        match (part(c), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                start = None;
                let word = &line[from..at];
                let before = line[..from].chars().next_back();
                let alone = !matches!(before, Some('/' | '\\' | '.' | '-' | '@' | ':'))
                    || matches!(before, Some(':' | '.')) && line[..from].ends_with("env.");
                let attached =
                    matches!(c, '/' | '\\' | '@') || (c == '-' && line[at + 1..].starts_with(part));
                if alone && !attached && shouts(word) && !found.iter().any(|known| known == word) {
                    found.push(word.to_string());
                }
            }
            _ => {}
        }
    }
    found
}

fn shouts(word: &str) -> bool {
    let kept = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let code = ["ERR_", "E_", "ENO", "HTTP_", "SSL_", "UV_", "SIG", "STATUS_", "EXIT_"];
    word.len() > 4
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && !word.ends_with('_')
        && word.contains('_')
        && word.chars().all(kept)
        && !(code.iter().any(|code| word.starts_with(code))
            && !word.ends_with("_KEY")
            && !word.ends_with("_TOKEN")
            && !word.ends_with("_FILE"))
}

fn missing_argument(lines: &[String]) -> Option<Cause> {
    // A usage line alone says less than the sentence that may follow it.
    let said = lines.iter().position(|line| has(line, &ARGUMENT));
    let usage_only = || lines.iter().position(|line| line.to_lowercase().starts_with("usage:"));
    let at = said.or_else(|| usage_only().filter(|_| complaint(lines).is_none()))?;
    let line = &lines[at];
    // What is missing may stand on the next line.
    let next =
        lines.get(at + 1).filter(|next| line.ends_with(':') && next.starts_with(['-', '<', '[']));
    let text = next.map_or(line.clone(), |next| format!("{line} {next}"));
    let usage = lines.iter().find(|line| line.to_lowercase().starts_with("usage"));
    let advice = match usage {
        Some(usage) => format!("Add it to the command. {}", clip(usage, LONGEST)),
        None => "Add it to the command; its --help says which arguments there are.".to_string(),
    };
    let shown = clip(&text, LONGEST);
    let title = if shown.to_lowercase().starts_with("usage") {
        format!("it wants arguments: {shown}")
    } else {
        format!("an argument is missing: {shown}")
    };
    Some(cause(title, advice, line))
}

fn unknown_argument(lines: &[String]) -> Option<Cause> {
    let line = lines.iter().find(|line| has(line, &UNKNOWN_ARGUMENT))?;
    Some(cause(
        format!("it does not know an argument: {}", clip(line, LONGEST)),
        "Take it out of the command, or use the version of the server that knows it (its --help).",
        line,
    ))
}

fn port_taken(lines: &[String]) -> Option<Cause> {
    let line = lines.iter().find(|line| has(line, &PORT_TAKEN))?;
    let advice = "Another process, perhaps an earlier start of the same server, holds the port: end it, or choose another port. A server for stdio needs no port: is there a flag such as --stdio?";
    Some(cause(format!("the port it wants is taken: {}", clip(line, LONGEST)), advice, line))
}

/// An address at which a server says that it listens.
pub fn announced(lines: &[String]) -> Option<(String, String)> {
    let words = [
        "running on",
        "listening",
        "serving",
        "started",
        "available at",
        "server on",
        "transport on",
        "running at",
        "ready on",
        "ready at",
        "监听",
        "运行",
        "启动",
        "待ち受け",
        "起動",
        "lauscht",
        "läuft",
        "erreichbar",
    ];
    lines.iter().find_map(|line| {
        let lower = line.to_lowercase();
        if !words.iter().any(|word| lower.contains(word)) {
            return None;
        }
        address(line).map(|address| (address, line.clone()))
    })
}

fn address(line: &str) -> Option<String> {
    for scheme in ["http://", "https://"] {
        if let Some(at) = line.find(scheme) {
            let rest = &line[at..];
            let end = rest
                .find(|c: char| c.is_whitespace() || "()<>\"'`,，。".contains(c))
                .unwrap_or(rest.len());
            return Some(
                rest[..end]
                    .trim_end_matches(['.', ';', '/'])
                    .replace("0.0.0.0", "127.0.0.1")
                    .replace("[::]", "127.0.0.1"),
            );
        }
    }
    let lower = line.to_lowercase();
    let web = ["http", "sse", "web", "server"].iter().any(|word| lower.contains(word));
    let word = line.split(|c: char| c.is_whitespace() || "()<>\"'`,;".contains(c)).find(|word| {
        word.trim_end_matches('.').rsplit_once(':').is_some_and(|(host, port)| {
            port.parse::<u16>().is_ok_and(|port| port > 79)
                && host.chars().all(|c| c.is_ascii_alphanumeric() || ".-[]:*".contains(c))
                && host != "Errno"
        })
    });
    if let Some(word) = word.filter(|_| web) {
        let (host, port) = word.trim_end_matches('.').rsplit_once(':')?;
        let host = if matches!(host, "" | "0.0.0.0" | "*" | "[::]") { "127.0.0.1" } else { host };
        return Some(format!("http://{host}:{port}"));
    }
    let port = lower.find("port").map(|at| lower[at + 4..].trim_start_matches([' ', ':', '=']))?;
    let digits: String = port.chars().take_while(char::is_ascii_digit).collect();
    (digits.parse::<u16>().is_ok_and(|port| port > 79) && web)
        .then(|| format!("http://127.0.0.1:{digits}"))
}

fn listens(lines: &[String]) -> Option<Cause> {
    let (address, line) = announced(lines)?;
    let path = address.splitn(4, '/').nth(3).is_some();
    let url = if path { address.clone() } else { format!("{address}/mcp") };
    let advice = format!(
        "While it runs: mcp-probe doctor {url}. For stdio, start it with the flag or setting that chooses that transport (often --stdio, --transport stdio)."
    );
    Some(cause(
        format!("it is an HTTP server ({address}) and does not speak over stdio"),
        advice,
        &line,
    ))
}

fn missing_file(lines: &[String]) -> Option<Cause> {
    let line = lines.iter().rev().find(|line| has(line, &NO_FILE))?;
    let path = quoted(line).map(str::to_string).or_else(|| {
        let word =
            line.split([' ', ':']).rev().find(|word| word.contains('/') || word.contains('.'))?;
        Some(word.to_string())
    });
    let advice = match &path {
        Some(path) if !path.starts_with(['/', '~']) && !path.contains(":\\") => {
            "The path is relative, so the working directory counts: --cwd FOLDER (\"cwd\" in a client's configuration), or give the full path."
        }
        Some(_) => "Create it, or correct the path.",
        None => "Check its paths and its working directory (--cwd FOLDER).",
    };
    let title = match &path {
        Some(path) => format!("the file {path} does not exist"),
        None => clip(line, LONGEST),
    };
    Some(cause(title, advice, line))
}

fn no_right(lines: &[String]) -> Option<Cause> {
    let line = lines.iter().find(|line| has(line, &NO_RIGHT))?;
    Some(cause(
        clip(line, LONGEST),
        "Give the user that runs the server the right to this file, or another path.",
        line,
    ))
}

fn not_reached(lines: &[String]) -> Option<Cause> {
    let line = lines.iter().find(|line| has(line, &NOT_REACHED))?;
    Some(cause(
        format!("something it needs cannot be reached: {}", clip(line, LONGEST)),
        "Start that service, or correct the address in the server's settings; behind a proxy, set HTTPS_PROXY with --env.",
        line,
    ))
}

fn credentials(lines: &[String]) -> Option<Cause> {
    let line = lines.iter().find(|line| has(line, &CREDENTIALS))?;
    Some(cause(
        format!("its credentials are refused: {}", clip(line, LONGEST)),
        "Give it a valid key or token (--env NAME=VALUE).",
        line,
    ))
}

fn too_old(lines: &[String]) -> Option<Cause> {
    let phrases = [
        "Unsupported engine",
        "requires Node",
        "Node.js version",
        "requires a different Python",
        "Python 3.",
        "GLIBC_",
        "Exec format error",
        "UnsupportedClassVersionError",
        "You must install or update .NET",
        "requires python",
    ];
    let wants = [
        "requir",
        "newer",
        "or higher",
        "not found",
        "unsupported",
        "update",
        "error",
        "at least",
        "需要",
        "必要",
        "benötigt",
    ];
    let line = lines.iter().find(|line| {
        let lower = line.to_lowercase();
        has(line, &phrases)
            && wants.iter().any(|word| lower.contains(word))
            && !line.starts_with("File ")
            && !line.contains("site-packages")
    })?;
    Some(cause(
        format!("it needs another runtime: {}", clip(line, LONGEST)),
        "Start it with the version it asks for; a client may find another one on its PATH than your shell.",
        line,
    ))
}

/// The exception, wherever the runtime puts it.
fn exception(lines: &[String]) -> Option<Cause> {
    let advice = "The trace below says where. It is a fault of the server or of its installation, not of the protocol.";
    // Rust: the message stands below the place.
    if let Some(at) =
        lines.iter().position(|line| line.starts_with("thread '") && line.contains("panicked at"))
    {
        let line = &lines[at];
        let text = match lines.get(at + 1).filter(|_| line.ends_with(':')) {
            Some(next) => format!("panic: {next}"),
            None => line.clone(),
        };
        return Some(cause(clip(&text, LONGEST), advice, line));
    }
    // Go and Node begin with it.
    let first = lines.iter().find(|line| {
        line.starts_with("panic: ")
            || line.starts_with("fatal error: ")
            || line.starts_with("Exception in thread")
            || line.starts_with("Unhandled exception")
            || line.contains("Fatal error: Uncaught")
    });
    if let Some(line) = first {
        return Some(cause(clip(line, LONGEST), advice, line));
    }
    // Python ends with it.
    let traced = lines.iter().rposition(|line| line.contains("Traceback (most recent call last)"));
    if let Some(at) = traced
        && let Some(line) = lines[at..].iter().rev().find(|line| is_exception(line))
    {
        return Some(cause(clip(line.trim_start_matches("| "), LONGEST), advice, line));
    }
    let line = lines.iter().find(|line| is_exception(line))?;
    Some(cause(clip(line, LONGEST), advice, line))
}

/// `SomeError: text`, with the module before and a code behind the name.
fn is_exception(line: &str) -> bool {
    let line = line.trim_start_matches(['|', ' ', '+', '-']).trim_start_matches("Uncaught ");
    let Some((name, _)) = line.split_once(':') else {
        return line.ends_with("Error") && !line.contains(' ');
    };
    let name = name.split(" [").next().unwrap_or(name);
    let last = name.rsplit(['.', ':']).next().unwrap_or(name);
    !name.contains(' ')
        && last.starts_with(|c: char| c.is_ascii_uppercase())
        && (last.ends_with("Error")
            || last.ends_with("Exception")
            || last.ends_with("Exit")
            || last.ends_with("Interrupt"))
}

/// A line that at least begins like a complaint.
fn complaint(lines: &[String]) -> Option<Cause> {
    let starts = [
        "error",
        "fatal",
        "failed",
        "failure",
        "critical",
        "错误",
        "致命",
        "失败",
        "エラー",
        "失敗",
        "fehler",
        "abbruch",
    ];
    let line = lines.iter().find(|line| {
        let lower = line.to_lowercase();
        let lower = lower.trim_start_matches(|c: char| !c.is_alphabetic());
        starts.iter().any(|start| lower.starts_with(start))
            || lower.contains(" error:")
            || lower.contains("[error]")
            || lower.contains("segmentation fault")
    })?;
    Some(cause(clip(line, LONGEST), "What the server says is quoted below.", line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn title(text: &str) -> String {
        let lines: Vec<String> = text.lines().map(Into::into).collect();
        of(&lines).map(|cause| cause.title).unwrap_or_default()
    }

    #[test]
    fn variables_in_four_languages() {
        for text in [
            "Error: WEATHER_API_KEY environment variable is required",
            "Traceback (most recent call last):\n  File \"<frozen os>\", line 679, in __getitem__\nKeyError: 'WEATHER_API_KEY'",
            "Please set WEATHER_API_KEY",
            "错误：未设置环境变量 WEATHER_API_KEY",
            "请设置 WEATHER_API_KEY 后重试",
            "環境変数 WEATHER_API_KEY が設定されていません",
            "WEATHER_API_KEYを設定してください",
            "Fehler: Die Umgebungsvariable WEATHER_API_KEY ist nicht gesetzt",
            "missing required env var: WEATHER_API_KEY",
            "panic: WEATHER_API_KEY must be set",
        ] {
            assert_eq!(
                title(text),
                "the environment variable WEATHER_API_KEY is not set",
                "{text}"
            );
        }
    }

    #[test]
    fn a_complaint_says_more_than_the_usage_below_it() {
        let text = "Error: no current-context is set\nUsage:\n  serve [flags]\nExamples:\n  # server running on port 8080\n  serve --port 8080";
        let lines: Vec<String> = text.lines().map(Into::into).collect();
        assert_eq!(of_ended(&lines).unwrap().title, "Error: no current-context is set");
        assert!(title("usage: serve DIR").contains("it wants arguments"));
    }

    #[test]
    fn what_only_looks_like_a_variable() {
        assert!(
            variables(
                "npm error A complete log: /root/.npm/_logs/2026-01-01T01_10_22_245Z-debug-0.log"
            )
            .is_empty()
        );
        assert!(variables("code: 'ERR_MODULE_NOT_FOUND', _MESSAGE x").is_empty());
        assert_eq!(variables("process.env.API_TOKEN missing"), ["API_TOKEN"]);
    }

    #[test]
    fn modules() {
        assert!(title("Traceback (most recent call last):\n  File \"x\"\nModuleNotFoundError: No module named 'requests'").contains("'requests'"));
        assert!(title("node:internal/modules/cjs/loader:1228\n  throw err;\n  ^\n\nError: Cannot find module 'zod'\nRequire stack:\n- /a.js").contains("'zod'"));
        let many: String = (0..60).map(|n| format!("    at frame{n} (/a/b.js:{n}:1)\n")).collect();
        let text = format!(
            "Error: Could not locate the bindings file. Tried:\n -> /x/better_sqlite3.node\n{many}"
        );
        assert!(title(&text).contains("bindings file"), "the first of many lines");
        assert!(
            title("ImportError: cannot import name 'FastMCP' from 'mcp.server'")
                .contains("FastMCP")
        );
    }

    #[test]
    fn files_ports_arguments() {
        assert_eq!(
            title("FileNotFoundError: [Errno 2] No such file or directory: 'config/settings.json'"),
            "the file config/settings.json does not exist"
        );
        assert_eq!(
            title("cat: /etc/x.json: 没有那个文件或目录"),
            "the file /etc/x.json does not exist"
        );
        assert!(
            title("OSError: [Errno 98] Address already in use: ('0.0.0.0', 8000)")
                .contains("port it wants is taken")
        );
        assert!(
            title("Fehler: Die Adresse wird bereits verwendet").contains("port it wants is taken")
        );
        assert!(
            title("weather-server: error: the following arguments are required: --db")
                .contains("--db")
        );
        assert!(
            title("error: the following required arguments were not provided:\n  --root <DIR>")
                .contains("--root")
        );
        assert!(title("错误：缺少参数 --db").contains("--db"));
        assert!(title("error: unexpected argument '--stdio' found").contains("--stdio"));
    }

    #[test]
    fn servers_of_http() {
        for (text, url) in [
            (
                "INFO:     Uvicorn running on http://127.0.0.1:8000 (Press CTRL+C to quit)",
                "http://127.0.0.1:8000",
            ),
            ("Using Streamable HTTP transport on localhost:8080", "http://localhost:8080"),
            ("MCP HTTP server listening on port 3000", "http://127.0.0.1:3000"),
            ("HTTP 服务器正在监听 http://0.0.0.0:9000/mcp", "http://127.0.0.1:9000/mcp"),
        ] {
            assert!(title(text).contains(url), "{text}: {}", title(text));
        }
        assert!(announced(&["Connected to postgres at db:5432".into()]).is_none());
    }

    #[test]
    fn exceptions_first_and_last() {
        assert_eq!(
            title(
                "panic: no podman implementation available\n\ngoroutine 1 [running]:\nmain.main()"
            ),
            "panic: no podman implementation available"
        );
        assert_eq!(
            title("thread 'main' panicked at src/main.rs:3:5:\nno config\nnote: run with"),
            "panic: no config"
        );
        assert_eq!(
            title(
                "  File \"x\"\nTraceback (most recent call last):\n  File \"y\"\nValueError: bad\n"
            ),
            "ValueError: bad"
        );
        assert_eq!(
            title("file:///a.js:3\nTypeError: x is not a function\n    at a"),
            "TypeError: x is not a function"
        );
        assert!(title("npm error code E404\nnpm error 404 Not Found - GET https://r/@no%2fsuch\nnpm error 404  '@no/such@*' is not in this registry.").contains("@no/such"));
    }
}
