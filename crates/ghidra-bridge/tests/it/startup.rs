//! The command line: what starts, and the one line that says what is wrong.

use crate::world::{bridge, mcp_url, program, run, sample, ws_url};
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Exit code and the one line on the error stream.
fn mistake(arguments: &[&str]) -> String {
    let output = run(arguments);
    let text = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
    assert!(output.stdout.is_empty(), "{arguments:?}: standard output stays empty");
    assert_eq!(text.trim_end().lines().count(), 1, "{arguments:?}: {text}");
    assert!(text.starts_with("ghidra-bridge: "), "{text}");
    assert!(!text.contains("panicked"), "{text}");
    text
}

#[test]
fn bad_files_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("a file");
        path.to_str().expect("a name").to_owned()
    };
    let elf = std::fs::read(sample()).expect("the sample");
    let mut foreign = elf.clone();
    foreign[18..20].copy_from_slice(&0x1234u16.to_le_bytes());
    let cases = [
        "/nonexistent/file".to_owned(),
        folder.path().to_str().expect("a name").to_owned(),
        path("empty", b""),
        path("text", b"hello, this is no program\n"),
        path("magic-only", &elf[..4]),
        path("header-cut", &elf[..40]),
        path("foreign-machine", &foreign),
    ];
    for file in &cases {
        for command in ["serve", "ws", "mcp"] {
            let text = mistake(&[command, file]);
            assert!(text.contains(file.as_str()), "{text}: names the file");
        }
        // Over pipes nobody reads this: see `pipes::a_wrong_path_is_told_by_every_answer`.
        let text = stays_up(&["stdio", file]);
        assert!(text.contains(file.as_str()), "{text}: names the file");
    }
}

/// What is said by a command that goes on without a program.
fn stays_up(arguments: &[&str]) -> String {
    let output = run(arguments);
    let text = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {text}");
    assert_eq!(text.trim_end().lines().count(), 1, "{arguments:?}: {text}");
    assert!(text.starts_with("No program is open: "), "{text}");
    text
}

/// An archive with the sample in it under two names.
fn archive() -> Vec<u8> {
    let elf = std::fs::read(sample()).expect("the sample");
    let mut archive = b"!<arch>\n".to_vec();
    for name in ["first.o/", "second.o/"] {
        let head = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, elf.len());
        archive.extend(head.as_bytes());
        archive.extend(&elf);
        archive.resize(archive.len().next_multiple_of(2), b'\n');
    }
    archive
}

#[test]
fn of_an_archive_the_named_member_opens() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lib.a");
    std::fs::write(&path, archive()).expect("a file");
    let file = path.to_str().expect("a name");
    let text = mistake(&["serve", file]);
    assert_eq!(text.matches("first.o, second.o").count(), 1, "{text}");
    assert!(text.contains("member="), "{text}");
    let text = mistake(&["serve", file, "member=third.o"]);
    assert!(text.contains("no member `third.o`"), "{text}");
    let output = run(&["stdio", file, "member=second.o", "project=none", "analysis=off"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{text}");
}

#[test]
#[cfg(unix)]
fn unreadable_files_are_named() {
    use std::os::unix::fs::PermissionsExt;
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::set_permissions(file.path(), PermissionsExt::from_mode(0o000)).expect("chmod");
    if std::fs::read(file.path()).is_ok() {
        println!("skipped: this user reads everything");
        return;
    }
    mistake(&["serve", file.path().to_str().expect("a name")]);
}

#[test]
fn bad_arguments_are_one_line() {
    let file = sample();
    let file = file.to_str().expect("a name");
    for (arguments, expected) in [
        (&["serve"][..], "name the file"),
        (&["nonsense"], "is not a command"),
        (&["srve", file], "did you mean serve?"),
        (&["help", "srve"], "did you mean serve?"),
        (&["serve", file, "ws_prt=0"], "did you mean ws_port?"),
        (&["serve", "ws_port=0", file], "the file comes first"),
        (&["serve", file, file], "only one file is opened at a time"),
        (&["serve", file, "member=x"], "leave member out"),
        (&["serve", file, "loader=pe"], "this is ELF, not PE"),
        (&["serve", file, "loader=macho"], "this is ELF, not Mach-O"),
        (&["serve", file, "log=/nonexistent/folder/x"], "log=/nonexistent/folder/x cannot"),
        (&[file], "ghidra-bridge serve"),
        (&["serve", file, "prt=1"], "did you mean port?"),
        (&["stdio", file, "port=1"], "it listens nowhere"),
        (&["ws", file, "port=99999"], "port must be"),
        (&["mcp", file, "jar=x"], "jar is refused"),
        (&["mcp", file, "host=0.0.0.0"], "needs a token"),
        (&["ws", file, "host=0.0.0.0", "token=short"], "at least 16"),
        (&["serve", file, "project=/nonexistent/folder/x"], "cannot be saved"),
        (&["serve", file, "log=/nonexistent/folder/x"], "log"),
    ] {
        let text = mistake(arguments);
        assert!(text.contains(expected), "{text}");
    }
    let text = mistake(&["mcp", file, "token=s3cret s3cret"]);
    assert!(!text.contains("s3cret"), "{text}");
}

#[test]
fn what_was_never_saved_is_not_mourned() {
    let file = sample();
    let text = mistake(&["serve", file.to_str().expect("a name"), "project=/nonexistent/folder/x"]);
    assert!(!text.contains("saved before"), "{text}");
}

#[test]
fn a_language_that_does_not_fit_the_header_is_doubted() {
    let file = sample();
    let file = file.to_str().expect("a name");
    let words = ["stdio", file, "project=none", "analysis=off"];
    let text = |language: &'static str| {
        let output = run(&[&words[..], &[language]].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).expect("text")
    };
    let doubt = text("language=ARM:LE:32:v8");
    assert!(doubt.contains("the header says x86:LE:64:default"), "{doubt}");
    let fits = text("language=x86:LE:64:default:windows");
    assert!(!fits.contains("header"), "{fits}");
}

#[test]
fn a_taken_port_is_named_with_the_way_out() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let file = sample();
    let file = file.to_str().expect("a name");
    let text = mistake(&["mcp", file, &format!("port={port}")]);
    assert!(text.contains(&port.to_string()) && text.contains("port=PORT"), "{text}");
    let text = mistake(&["serve", file, "mcp_port=0", &format!("ws_port={port}")]);
    assert!(text.contains(&port.to_string()) && text.contains("ws_port=PORT"), "{text}");
}

#[test]
fn help_and_version() {
    for arguments in [&["help"][..], &["--help"], &["-h"]] {
        let output = run(arguments);
        assert!(output.status.success());
        assert!(String::from_utf8_lossy(&output.stdout).contains("ghidra-bridge serve FILE"));
    }
    for command in ["serve", "ws", "mcp", "stdio"] {
        for arguments in [&["help", command][..], &[command, "--help"]] {
            let text = String::from_utf8(run(arguments).stdout).expect("text");
            assert!(text.contains(&format!("ghidra-bridge {command} FILE")), "{text}");
            assert!(text.contains("\n  session_id="), "{text}");
        }
    }
    let text = String::from_utf8(run(&["--version"]).stdout).expect("text");
    assert_eq!(text.trim(), format!("ghidra-bridge {}", env!("CARGO_PKG_VERSION")));
    assert_eq!(run(&[]).status.code(), Some(2));
}

#[test]
fn the_ready_line_is_early_and_complete() {
    let bridge = bridge(&["token=sesame", "--session-id", "demo"]);
    // The aim is one second on a machine at rest; here dozens of tests run beside it.
    assert!(bridge.ready_after < Duration::from_secs(5), "{:?}", bridge.ready_after);
    assert!(ws_url(&bridge).starts_with("ws://127.0.0.1:"));
    assert!(mcp_url(&bridge).starts_with("http://127.0.0.1:"));
}

#[test]
fn single_transports() {
    for (command, member) in [("ws", "mcp"), ("mcp", "ws")] {
        let mut child = Command::new(program())
            .arg(command)
            .arg(sample())
            .args(["--port", "0", "--project", "none", "--token-file"])
            .arg(token_file().path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("piped");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line)
            .expect("a line");
        let ready: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert!(ready[member].is_null() && ready[command].is_string(), "{ready}");
        assert!(!line.contains("sesame-sesame"));
        // The hints come in one piece; their first line says that they are there.
        let mut errors = child.stderr.take().expect("piped");
        let mut hints = vec![0; 4096];
        let length = errors.read(&mut hints).expect("hints");
        let hints = String::from_utf8_lossy(&hints[..length]).into_owned();
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        assert!(!hints.contains("sesame-sesame"), "{hints}");
        assert!(hints.contains("Authorization"), "{hints}");
    }
}

fn token_file() -> &'static tempfile::NamedTempFile {
    static FILE: std::sync::OnceLock<tempfile::NamedTempFile> = std::sync::OnceLock::new();
    FILE.get_or_init(|| {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "sesame-sesame\n").expect("a file");
        file
    })
}
