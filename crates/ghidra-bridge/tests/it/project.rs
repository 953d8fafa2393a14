//! The project file from outside: what a client edited is there the next time,
//! however the bridge ended.

use crate::world::{program, run, sample};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testkit::client::McpClient;

const SOON: Duration = Duration::from_secs(30);

pub(crate) struct Served {
    child: Child,
    pub(crate) ready: Value,
}

/// Starts a bridge through `wrapper`, a shell line that ends in `exec "$0" "$@"`.
fn serve_in(wrapper: &str, file: &Path, home: &Path, arguments: &[&str]) -> Served {
    let mut child = Command::new("sh")
        .args(["-c", wrapper])
        .arg(program())
        .arg("mcp")
        .arg(file)
        .arg("port=0")
        .args(arguments)
        .env("XDG_DATA_HOME", home)
        .env_remove("GHIDRA_BRIDGE_TOKEN")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let output = child.stdout.as_mut().expect("piped");
    BufReader::new(output).read_line(&mut line).expect("a line");
    let ready = serde_json::from_str(&line).unwrap_or_default();
    Served { child, ready }
}

pub(crate) fn serve(file: &Path, home: &Path, arguments: &[&str]) -> Served {
    serve_in("exec \"$0\" \"$@\"", file, home, arguments)
}

impl Served {
    fn client(&self) -> McpClient {
        McpClient::connect(self.ready["mcp"].as_str().expect("an address")).expect("it connects")
    }

    pub(crate) fn call(&self, tool: &str, operation: &str, params: Value) -> Value {
        self.client().call(tool, operation, params).expect("it is served")
    }

    /// Asks to save and gives back the refusal.
    fn cannot_save(&self) -> String {
        let result = self.client().call("ghidra.program", "save", json!({}));
        format!("{:#}", result.expect_err("it cannot be saved"))
    }

    fn comment(&self, text: &str) {
        let resource = json!({"address": "main", "type": "plate", "text": text});
        self.call("ghidra.comment", "upsert", json!({"resource": resource}));
    }

    fn comment_is(&self, text: &str) {
        let selector = json!({"selector": {"address": "main", "type": "plate"}});
        assert_eq!(self.call("ghidra.comment", "get", selector)["text"], text);
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()));
    }

    /// Waits for the end: whether it was a good one, and what was said.
    pub(crate) fn ended(self) -> (bool, String) {
        self.ended_within(SOON)
    }

    pub(crate) fn ended_within(mut self, limit: Duration) -> (bool, String) {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            assert!(began.elapsed() < limit, "it still runs");
            std::thread::sleep(Duration::from_millis(10));
        };
        let mut text = String::new();
        let mut errors = self.child.stderr.take().expect("piped");
        errors.read_to_string(&mut text).expect("text");
        (status.success(), text)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn home() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

pub(crate) fn project_of(served: &Served) -> PathBuf {
    PathBuf::from(served.ready["project"].as_str().expect("a project"))
}

/// One way to end a served program.
type End = fn(&Served);

#[test]
#[cfg(unix)]
fn edits_are_there_again_however_it_ended() {
    let home = home();
    let ends: [(&str, End); 4] = [
        ("save and kill", |served| {
            let saved = served.call("ghidra.program", "save", json!({}));
            assert_eq!(saved, json!({"saved": true}));
            served.signal("-KILL");
        }),
        ("TERM", |served| served.signal("-TERM")),
        ("INT", |served| served.signal("-INT")),
        ("shutdown", |served| {
            served.call("ghidra.bridge", "shutdown", json!({}));
        }),
    ];
    let mut expected = None;
    for (name, end) in ends {
        let served = serve(&sample(), home.path(), &["analysis=wait"]);
        assert_eq!(served.ready["restored"], expected.is_some(), "{name}");
        assert_eq!(served.ready["analyzed"], true, "{name}");
        assert!(project_of(&served).starts_with(home.path()), "{name}");
        if let Some(text) = expected {
            served.comment_is(text);
        }
        let unsaved = |served: &Served| {
            served.call("ghidra.program", "get", json!({}))["unsaved_changes"].clone()
        };
        served.comment(name);
        assert_eq!(unsaved(&served), true, "{name}");
        end(&served);
        let (fine, said) = served.ended();
        assert_eq!(fine, name != "save and kill", "{name}: {said}");
        expected = Some(name);
    }
    let served = serve(&sample(), home.path(), &["analysis=off"]);
    served.comment_is("shutdown");
    let got = served.call("ghidra.program", "get", json!({}));
    assert_eq!(got["unsaved_changes"], false);
    assert_eq!(got["project"], served.ready["project"]);
}

#[test]
fn a_project_opens_by_itself_and_the_second_user_is_told() {
    let home = home();
    let file = home.path().join("p");
    let argument = format!("project={}", file.display());
    let first = serve(&sample(), home.path(), &["analysis=off", &argument]);
    first.comment("mine");
    first.call("ghidra.program", "save", json!({}));
    let sample = sample();
    let words = ["mcp", sample.to_str().expect("a name"), "port=0", &argument];
    let output = run(&words);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    let holder = format!("in use by process {}", first.child.id());
    assert!(text.contains(&holder) && text.trim_end().lines().count() == 1, "{text}");
    drop(first);
    let again = serve(&file, home.path(), &["analysis=off"]);
    assert_eq!(again.ready["project"], file.to_str().expect("a name"));
    again.comment_is("mine");
}

#[test]
#[cfg(unix)]
fn a_full_disk_is_told_and_the_session_goes_on() {
    let home = home();
    let wrapper = "trap '' XFSZ; ulimit -f 20; exec \"$0\" \"$@\"";
    let served = serve_in(wrapper, &sample(), home.path(), &["analysis=off"]);
    served.comment("kept in memory");
    let error = served.cannot_save();
    assert!(error.contains("cannot be saved"), "{error}");
    served.comment_is("kept in memory");
    served.signal("-TERM");
    let (fine, said) = served.ended();
    assert!(!fine && said.contains("cannot be saved"), "{said}");
}

#[test]
fn a_folder_that_cannot_be_written_is_told_and_the_session_goes_on() {
    let served = serve(&sample(), Path::new("/proc/self"), &["analysis=off"]);
    assert_eq!(served.ready["event"], "ready");
    assert!(served.ready["project"].is_null(), "edits are not kept: {}", served.ready);
    served.comment("for now");
    let error = served.cannot_save();
    assert!(error.contains("cannot be saved"), "{error}");
    served.comment_is("for now");
}

#[test]
fn damaged_and_newer_projects_are_refused_in_one_line() {
    let home = home();
    let file = home.path().join("p");
    let served =
        serve(&sample(), home.path(), &["analysis=off", "--project", file.to_str().unwrap()]);
    served.call("ghidra.program", "save", json!({}));
    drop(served);
    let sound = std::fs::read(&file).expect("is there");
    let mut newer = sound.clone();
    newer[63] = 9;
    for (bytes, expected) in [
        (&sound[..sound.len() / 2], "damaged"),
        (&newer[..], "newer ghidra-bridge"),
        (b"other", "is not a project file"),
    ] {
        std::fs::write(&file, bytes).expect("it is written");
        let sample = sample();
        let project = format!("project={}", file.display());
        let output = run(&["mcp", sample.to_str().expect("a name"), "port=0", &project]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(expected) && text.trim_end().lines().count() == 1, "{text}");
        assert!(std::fs::read(&file).expect("is there") == bytes, "it is left as it is");
    }
}

#[test]
fn read_only_and_none_leave_nothing_behind() {
    let home = home();
    for argument in ["read_only=true", "project=none"] {
        let served = serve(&sample(), home.path(), &["analysis=wait", argument]);
        assert!(served.ready["project"].is_null(), "{}", served.ready);
        let error = served.cannot_save();
        let code = if argument == "project=none" { "invalid_request" } else { "read_only" };
        assert!(error.contains(code), "{error}");
        drop(served);
        let left: Vec<_> = home.path().read_dir().expect("a folder").flatten().collect();
        assert!(left.is_empty(), "{argument}: {left:?}");
    }
}

/// Other ways to open the same file have projects of their own; the file is still the same.
#[test]
fn another_way_to_open_is_no_change_of_the_file() {
    let home = home();
    let first = serve(&sample(), home.path(), &["analysis=wait"]);
    first.signal("-TERM");
    assert!(first.ended().0);
    let other = serve(&sample(), home.path(), &["analysis=off", "base=0x500000"]);
    other.signal("-TERM");
    let (good, text) = other.ended();
    assert!(good && !text.contains("has changed"), "{text}");
}

#[test]
fn the_lock_is_gone_after_an_end_in_the_middle_of_analysis() {
    let home = home();
    let large = std::env::current_exe().expect("a path");
    let served = serve(&large, home.path(), &[]);
    let lock = PathBuf::from(format!("{}.lock", project_of(&served).display()));
    assert!(lock.exists(), "it is claimed while it is served");
    served.signal("-INT");
    // The pass that runs is asked to end, and may take a while on a busy machine.
    let (good, text) = served.ended_within(4 * SOON);
    assert!(good, "{text}");
    assert!(!lock.exists(), "it is given up");
    assert!(text.contains("The analysis was not at its end"), "{text}");
    assert!(!text.contains("is lost"), "nothing was edited: {text}");
}

#[test]
fn a_finished_analysis_is_kept_at_once_and_read_beside() {
    let home = home();
    let served = serve(&sample(), home.path(), &[]);
    let state = served.call("ghidra.analysis", "get", json!({"wait_ms": 60_000}));
    assert_eq!(state["status"], "completed", "{state}");
    let project = project_of(&served);
    let began = Instant::now();
    while !project.exists() {
        assert!(began.elapsed() < SOON, "it is not saved");
        std::thread::sleep(Duration::from_millis(10));
    }
    let beside = serve(&sample(), home.path(), &["read_only=true"]);
    assert_eq!(beside.ready["analyzed"], true, "the saved state is read");
    served.signal("-KILL");
    let again = serve(&sample(), home.path(), &["analysis=off"]);
    assert_eq!(again.ready["analyzed"], true, "nothing is lost by a crash");
}
