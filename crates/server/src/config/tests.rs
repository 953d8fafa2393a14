//! Start-up arguments as tables.

use super::super::*;

fn read(command: Command, words: &[&str]) -> Result<Config, String> {
    read_with(command, words, None)
}

fn read_with(command: Command, words: &[&str], secret: Option<&str>) -> Result<Config, String> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    Config::read(command, &words, secret.map(str::to_owned)).map_err(|error| error.to_string())
}

fn endpoint(host: &str, port: u16, path: &str) -> Option<Endpoint> {
    Some(Endpoint { host: host.into(), port, path: path.into() })
}

#[test]
fn defaults() {
    let config = read(Command::Serve, &["/bin/ls"]).expect("defaults");
    assert_eq!(config.websocket, endpoint("127.0.0.1", 8765, "/ws/agent"));
    assert_eq!(config.mcp, endpoint("127.0.0.1", 8766, "/mcp"));
    assert_eq!(config.opening.file, Some("/bin/ls".into()));
    assert_eq!(config.opening.analysis, AnalysisMode::Background);
    assert_eq!(config.opening.loader, LoaderChoice::Auto);
    assert_eq!(config.tools.prefix, "ghidra");
    assert_eq!(config.tools.schemas, ToolSchemas::Compact);
    assert!(config.token.is_none() && config.session_id.is_none() && !config.read_only);
    assert_eq!((config.log, config.limits), (LogTarget::Off, Limits::default()));

    assert_eq!(config.surface, api::Surface::Document);

    let config = read(Command::Ws, &["f"]).expect("ws");
    assert_eq!(config.websocket, endpoint("127.0.0.1", 8765, "/ws/agent"));
    assert!(config.mcp.is_none());
    let config = read(Command::Mcp, &["f"]).expect("mcp");
    assert_eq!(config.mcp, endpoint("127.0.0.1", 8766, "/mcp"));
    assert!(config.websocket.is_none());
    let config = read(Command::Stdio, &[]).expect("stdio");
    assert!(config.mcp.is_none() && config.websocket.is_none() && config.opening.file.is_none());
}

#[test]
fn the_three_spellings_mean_the_same() {
    for words in [
        &["f", "tool_prefix=sample", "ws_port=0", "read_only=true"][..],
        &["f", "--tool-prefix", "sample", "--ws-port", "0", "--read-only"],
        &["f", "--tool_prefix=sample", "--ws-port=0", "--read-only", "true"],
        &["--read-only", "--tool-prefix", "sample", "ws_port = 0", "", " "][..],
    ] {
        // Without a file the command fails, so the last row adds one by key order.
        let words: Vec<&str> =
            if words[0] == "f" { words.to_vec() } else { [&["f"], words].concat() };
        let config = read(Command::Serve, &words).unwrap_or_else(|e| panic!("{words:?}: {e}"));
        assert_eq!(config.tools.prefix, "sample");
        assert_eq!(config.websocket.map(|endpoint| endpoint.port), Some(0));
        assert!(config.read_only);
    }
}

#[test]
fn each_command_takes_its_keys_in_both_spellings() {
    for (command, words) in [
        (Command::Mcp, ["f", "mcp_port=0", "mcp_path=/x"]),
        (Command::Mcp, ["f", "port=0", "path=/x"]),
        (Command::Ws, ["f", "ws_port=0", "--ws-path=/x"]),
    ] {
        let config = read(command, &words).expect("both spellings");
        assert_eq!(config.mcp.or(config.websocket), endpoint("127.0.0.1", 0, "/x"));
    }
    for (words, ws, mcp) in [
        (&["f", "port=9000"][..], (9000, "/ws/agent"), (9001, "/mcp")),
        (&["f", "port=0", "path=/x"], (0, "/x"), (0, "/x")),
        (&["f", "--port=9000", "mcp_port=80"], (9000, "/ws/agent"), (80, "/mcp")),
        (&["f", "port=65535", "mcp_port=0", "ws_path=y"], (65535, "/y"), (0, "/mcp")),
        (&["f", "path=x", "mcp_path=/y"], (8765, "/x"), (8766, "/y")),
    ] {
        let config = read(Command::Serve, words).expect("serve takes both");
        assert_eq!(config.websocket, endpoint("127.0.0.1", ws.0, ws.1), "{words:?}");
        assert_eq!(config.mcp, endpoint("127.0.0.1", mcp.0, mcp.1), "{words:?}");
    }
}

#[test]
fn values_are_read() {
    let config = read(
        Command::Mcp,
        &[
            "a=b.elf",
            "port=0",
            "path=x/y",
            "session_id=s",
            "tool_names=underscore",
            "tool_schemas=full",
            "extensions=on",
            "analysis=off",
            "language=x86:LE:64:default",
            "base=0x400000",
            "loader=raw",
            "member=a b.o",
            "project=none",
            "read_only=false",
            "log=stderr",
            "max_body=64k",
            "max_clients=3",
            "token= ",
        ],
    )
    .expect("values");
    assert_eq!(config.opening.file, Some("a=b.elf".into()));
    assert_eq!(config.mcp, endpoint("127.0.0.1", 0, "/x/y"));
    assert_eq!(config.session_id.as_deref(), Some("s"));
    assert_eq!(config.tools.names, ToolNames::Underscore);
    assert_eq!(config.tools.schemas, ToolSchemas::Full);
    assert_eq!(config.surface, api::Surface::Extensions);
    assert_eq!(config.opening.analysis, AnalysisMode::Off);
    assert_eq!(config.opening.base, Some(0x40_0000));
    assert_eq!(config.opening.loader, LoaderChoice::Raw);
    assert_eq!(config.opening.member.as_deref(), Some("a b.o"));
    assert_eq!(config.log, LogTarget::Stderr);
    assert_eq!(config.limits, Limits { max_body: 64 << 10, max_clients: 3 });
    assert!(config.token.is_none(), "a blank value counts as absent");

    let config =
        read(Command::Ws, &["f", "ws_url=ws://h/x", "exit_deadline_sec=5", "session_id=s"])
            .expect("outbound");
    let outbound = config.outbound.expect("outbound");
    assert_eq!(outbound.url, "ws://h/x");
    assert_eq!(outbound.exit_deadline, Some(std::time::Duration::from_secs(5)));
    assert!(config.websocket.is_none());
}

#[test]
fn mistakes_are_named() {
    use Command::{Mcp, Serve, Stdio, Ws};
    let long = format!("tool_prefix=a{}", "b".repeat(64));
    let rows: &[(Command, &[&str], &str)] = &[
        (Serve, &[], "name the file"),
        (Serve, &["--read-only"], "name the file"),
        (Ws, &["f", "word"], "write key=value"),
        (Ws, &["f", "=x"], "write key=value"),
        (Serve, &["f", "g"], "only one file is opened at a time, and f is named already"),
        (Serve, &["ws_port=0", "/bin/ls"], "the file comes first"),
        (Serve, &["f", "ws_prt=0"], "did you mean ws_port?"),
        (Serve, &["f", "prt=1"], "did you mean port?"),
        (Serve, &["f", "port=65535"], "takes the next one for MCP"),
        (Mcp, &["f", "ws_port=0"], "it serves no WebSocket"),
        (Mcp, &["f", "port=1", "mcp_port=2"], "port is given twice"),
        (Stdio, &["f", "port=1"], "it listens nowhere"),
        (Ws, &["f", "port=1", "port=1"], "port is given twice"),
        (Ws, &["f", "port=1", "--port", "2"], "port is given twice"),
        (Ws, &["f", "--port"], "needs a value"),
        (Ws, &["f", "--port", "--path"], "needs a value"),
        (Ws, &["f", "--"], "needs a name"),
        (Ws, &["f", "tool_prefix=x"], "tool_prefix is not an argument of ws"),
        (Ws, &["f", "PORT=1"], "PORT is not an argument"),
        (Mcp, &["f", "ws_url=ws://h"], "ws_url is not an argument of mcp"),
        (Mcp, &["f", "exit_deadline_sec=1"], "exit_deadline_sec is not an argument of mcp"),
        (Serve, &["f", "ws_url=ws://h"], "ws_url is not an argument of serve"),
        (Stdio, &["f", "port=1"], "port is not an argument of stdio"),
        (Stdio, &["f", "token=1"], "token is not an argument of stdio"),
        (Serve, &["f", "jar=x.jar"], "jar is refused"),
        (Serve, &["jar=x.jar"], "jar is refused"),
        // Unknown keys come before bad numbers, numbers before what they mean.
        (Ws, &["f", "port=x", "nope=1"], "nope is not an argument"),
        (Ws, &["f", "port=x", "exit_deadline_sec=y"], "port must be a whole number"),
        (Ws, &["f", "port=70000", "exit_deadline_sec=y"], "exit_deadline_sec must be a whole"),
        (Ws, &["f", "port=70000", "ws_url=ws://h"], "cannot be combined with port"),
        (Ws, &["f", "exit_deadline_sec=y"], "exit_deadline_sec must be a whole number"),
        (Ws, &["f", "port=2147483648"], "port must be a whole number"),
        (Ws, &["f", "port=-1"], "port must be 0"),
        (Ws, &["f", "port=1.0"], "port must be a whole number"),
        (Ws, &["f", "exit_deadline_sec=1"], "exit_deadline_sec is only for ws_url"),
        (Ws, &["f", "ws_url=ws://h", "exit_deadline_sec=0"], "at least 1"),
        (Ws, &["f", "ws_url=ws://h", "port=1"], "ws_url cannot be combined with port"),
        (Ws, &["f", "ws_url=ws://h", "host=h"], "ws_url cannot be combined with host"),
        (Ws, &["f", "ws_url=ws://h", "path=/p"], "ws_url cannot be combined with path"),
        (Ws, &["f", "ws_url=http://h"], "ws_url must begin"),
        (Ws, &["f", "ws_url=wss://h"], "ws_url cannot be wss"),
        (Ws, &["f", "path=/a b"], "path must be a plain path"),
        (Ws, &["f", "path=/a?b"], "path must be a plain path"),
        (Ws, &["f", "session_id=a\nb"], "session_id"),
        (Ws, &["f", "host=0.0.0.0"], "needs a token"),
        (Mcp, &["f", "host=0.0.0.0"], "needs a token"),
        (Serve, &["f", "host=::"], "needs a token"),
        (Serve, &["f", "host=0.0.0.0", "token=short"], "at least 16 characters"),
        (Serve, &["f", "host=no.such.host.invalid"], "cannot be resolved"),
        (Serve, &["f", "token=a", "token_file=b"], "not both"),
        (Serve, &["f", "token_file=/nonexistent/file"], "cannot be read"),
        (Serve, &["f", "token=a b"], "printable ASCII"),
        (Serve, &["f", "ws_port=9", "mcp_port=9"], "both 9"),
        (Mcp, &["f", "tool_prefix=1a"], "tool_prefix must be"),
        (Mcp, &["f", "tool_prefix=a.b"], "tool_prefix must be"),
        (Mcp, &["f", &long], "tool_prefix must be"),
        (Mcp, &["f", "tool_names=x"], "tool_names must be dotted or underscore"),
        (Mcp, &["f", "tool_schemas=x"], "tool_schemas must be compact or full"),
        (Mcp, &["f", "extensions=x"], "extensions must be off or on"),
        (Mcp, &["f", "analysis=x"], "analysis must be background or wait or off"),
        (Mcp, &["f", "loader=x"], "loader must be auto"),
        (Mcp, &["f", "base=xyz"], "base must be a hexadecimal"),
        (Mcp, &["f", "base=+1"], "base must be a hexadecimal"),
        (Mcp, &["f", "base=12345678123456781"], "base must be a hexadecimal"),
        (Mcp, &["f", "read_only=yes"], "read_only must be false or true"),
        (Mcp, &["f", "max_body=1"], "max_body must be"),
        (Mcp, &["f", "max_body=2000m"], "max_body must be"),
        (Mcp, &["f", "max_body=m"], "max_body must be"),
        (Mcp, &["f", "max_clients=0"], "max_clients must be"),
    ];
    for (command, words, expected) in rows {
        match read(*command, words) {
            Ok(_) => panic!("{command:?} {words:?} was accepted"),
            Err(error) => {
                assert!(error.contains(expected), "{words:?}: {error}");
                assert!(!error.contains('\n'), "{words:?}: one line, not {error:?}");
            }
        }
    }
}

#[test]
fn open_hosts_with_a_long_token_are_fine() {
    let words = ["f", "host=0.0.0.0", "token=0123456789abcdef"];
    assert!(read(Command::Serve, &words).is_ok());
    assert!(read_with(Command::Serve, &["f", "host=0.0.0.0"], Some("0123456789abcdef")).is_ok());
    assert!(read(Command::Serve, &["f", "host=localhost"]).is_ok());
    assert!(read(Command::Serve, &["f", "host=[::1]"]).is_ok());
}

#[test]
fn tokens_come_from_words_files_and_the_environment() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "from-file\n").expect("write");
    let word = format!("token_file={}", file.path().display());
    let len = |config: Result<Config, String>| config.expect("config").token.map(|t| t.len());
    assert_eq!(len(read(Command::Mcp, &["f", &word])), Some("from-file".len()));
    assert_eq!(len(read_with(Command::Mcp, &["f", &word], Some("x"))), Some("from-file".len()));
    assert_eq!(len(read_with(Command::Mcp, &["f"], Some(" env "))), Some(3));
    assert_eq!(len(read_with(Command::Mcp, &["f"], Some(" "))), None);
    assert_eq!(len(read_with(Command::Mcp, &["f", "token=word"], Some("x"))), Some(4));
    assert_eq!(len(read_with(Command::Stdio, &["f"], Some("x"))), None);
    std::fs::write(file.path(), " \n").expect("write");
    assert!(read(Command::Mcp, &["f", &word]).is_err_and(|e| e.contains("holds no token")));
}

#[test]
fn errors_never_show_a_token() {
    for words in [
        &["f", "token=s3cret-value", "token=s3cret-value"][..],
        &["f", "host=0.0.0.0", "token=s3cret-value"],
        &["f", "token=s3cret-value x"],
    ] {
        let error = read(Command::Mcp, words).expect_err("a mistake");
        assert!(!error.contains("s3cret"), "{error}");
    }
    let config = read(Command::Mcp, &["f", "token=s3cret-value"]).expect("config");
    assert!(!format!("{config:?}").contains("s3cret"));
}
