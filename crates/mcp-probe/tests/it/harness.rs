//! Starting the program and mock servers.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The program under test.
pub const PROBE: &str = env!("CARGO_BIN_EXE_mcp-probe");

/// What a run gave.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
    pub took: Duration,
}

impl Ran {
    /// The output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.out, self.err))
    }

    /// Names of the rules of all findings, at any depth.
    pub fn rules(&self) -> Vec<String> {
        let mut found = Vec::new();
        collect(&self.json(), &mut found);
        found
    }
}

fn collect(value: &Value, found: &mut Vec<String>) {
    if let Some(rule) = value.get("rule").and_then(Value::as_str) {
        found.push(rule.to_string());
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(members) => members.values().for_each(|item| collect(item, found)),
        _ => {}
    }
}

/// Runs the program to its end.
pub fn probe(args: &[&str]) -> Ran {
    run(Command::new(PROBE).args(args))
}

/// Runs any command to its end.
pub fn run(command: &mut Command) -> Ran {
    let start = Instant::now();
    let output = command.stdin(Stdio::null()).output().expect("the command starts");
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
        took: start.elapsed(),
    }
}

/// Runs the program against a mock on its standard streams.
pub fn against(mock: &str, args: &[&str]) -> Ran {
    let tail = ["stdio", "--", PROBE, "mock", mock];
    probe(&[args, &tail].concat())
}

/// A server process with an address; it ends with the value.
pub struct Served {
    pub child: Child,
    pub url: String,
}

impl Served {
    /// A mock over HTTP.
    pub fn mock(name: &str) -> Served {
        Served::start(Command::new(PROBE).args(["mock", name, "--http", "0"]))
    }

    /// Any command that announces an address on its error output.
    pub fn start(command: &mut Command) -> Served {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("stderr")).lines();
        let announced = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let at = ["http://", "ws://"].iter().filter_map(|scheme| line.find(scheme)).min()?;
            Some(line[at..].split_whitespace().next()?.to_string())
        });
        // Its error output must not fill up.
        std::thread::spawn(move || lines.for_each(drop));
        Served { child, url: announced.expect("an address") }
    }

    /// Asks it to end and waits.
    pub fn stop(&mut self) {
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &pid]).status();
        let _ = self.child.wait();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lines of a recording.
pub fn recorded(path: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("the recording is there");
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

/// Verbs that look at a whole server.
pub const HOSTILE_VERBS: [&[&str]; 4] =
    [&["report"], &["scan"], &["lock"], &["errors", "--allow-writes", "--most", "6"]];
