//! Real servers: one on the Rust SDK, which is built with the tests, and published
//! ones from the registries, which `.ci/servers/fetch` puts into a folder that
//! MCP_PROBE_REAL names. Their versions are pinned there, hence the exact answers.

use crate::harness::{PROBE, Ran, Served, probe};
use serde_json::Value;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";
const OLD: &[&str] = &[LEGACY];
/// A tool without arguments, its properties an empty list.
const NO_ARGUMENTS: &[&str] = &["empty-properties"];
const BOTH: &[&str] = &[MODERN, LEGACY];

/// What a server is expected to answer.
struct Real {
    name: &'static str,
    target: Vec<String>,
    eras: &'static [&'static str],
    tools: usize,
    doctor: &'static [&'static str],
    lint: &'static [&'static str],
}

impl Real {
    fn new(
        name: &'static str,
        target: &[&str],
        eras: &'static [&'static str],
        tools: usize,
    ) -> Real {
        let target = target.iter().map(|word| word.to_string()).collect();
        Real { name, target, eras, tools, doctor: &[], lint: &[] }
    }

    fn ask(&self, args: &[&str]) -> Ran {
        // Servers may take their time to start on a busy machine.
        let patient = ["--json", "--timeout-idle", "60s", "--timeout-total", "90s"];
        let target: Vec<&str> = self.target.iter().map(String::as_str).collect();
        probe(&[args, &patient, &target].concat())
    }

    /// Looks at it with the verbs that read only, and gives its row of the field notes.
    fn look(&self, dir: &Path) -> String {
        let saved = dir.join(format!("{}.json", self.name.replace([' ', '/'], "-")));
        let saved = saved.to_str().unwrap();
        let ran = self.ask(&["report", "--out", saved]);
        assert!(ran.code < 2, "{}: {}", self.name, ran.err);
        let report: Value = serde_json::from_str(&std::fs::read_to_string(saved).unwrap()).unwrap();
        let surfaces = report["surfaces"].as_array().unwrap();
        let eras: Vec<&str> = surfaces.iter().filter_map(|one| one["version"].as_str()).collect();
        assert_eq!(eras, self.eras, "{}", self.name);
        for surface in surfaces {
            assert_eq!(surface["tools"].as_array().unwrap().len(), self.tools, "{}", self.name);
        }
        let ran = self.ask(&["doctor"]);
        assert!(ran.code < 2, "{}: {}", self.name, ran.err);
        // Some notes are chance: the order of answers, how long a busy machine takes.
        let said = ran.json();
        let chance = ["out-of-order", "slow"];
        let found: Vec<&str> = said["findings"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|finding| finding["rule"].as_str())
            .filter(|rule| !chance.contains(rule))
            .collect();
        assert_eq!(found, self.doctor, "{}: {}", self.name, ran.out);
        assert_eq!((ran.code, &said["verdict"]["works"]), (0, &Value::Bool(true)), "{}", ran.out);
        let scan = probe(&["scan", "--json", saved]);
        let lint = probe(&["lint", "--json", saved]);
        assert!(scan.code < 2 && lint.code < 2, "{}: {}{}", self.name, scan.err, lint.err);
        assert_eq!(rules(&lint), self.lint, "{}: {}", self.name, lint.out);
        let count = |list: &str| surfaces[0][list].as_array().map_or(0, Vec::len);
        format!(
            "| {} | {} | {} / {} / {} | {} | {} |",
            self.name,
            eras.join(" and "),
            count("tools"),
            count("resources"),
            count("prompts"),
            self.doctor.join(", "),
            self.lint.join(", "),
        )
    }
}

fn rules(ran: &Ran) -> Vec<String> {
    let mut rules = ran.rules();
    rules.sort();
    rules.dedup();
    rules
}

/// Built with the tests of this package.
fn rust_server() -> Option<PathBuf> {
    let path = Path::new(PROBE).with_file_name("examples").join("rust_sdk_server");
    if path.exists() {
        return Some(path);
    }
    assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "build the examples first");
    println!("skipped: {} is not built", path.display());
    None
}

#[test]
fn the_rust_sdk() {
    let Some(server) = rust_server() else { return };
    let server = server.to_str().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let piped = Real::new("rmcp", &["stdio", "--", server], BOTH, 1);
    println!("{}", piped.look(dir.path()));
    let ran = piped.ask(&["call", "--tool", "double", "--args", r#"{"n":21}"#]);
    assert_eq!(ran.json()["answer"]["result"]["content"][0]["text"], "42", "{}", ran.out);
    let listening = Served::start(Command::new(server).arg("--http"));
    let http = Real {
        doctor: &["strict-accept"],
        ..Real::new("rmcp over HTTP", &[&listening.url], BOTH, 1)
    };
    println!("{}", http.look(dir.path()));
}

/// A server that is started with a port and does not say when it is ready.
struct Listening(Child);

impl Listening {
    fn start(command: &[&str], port: u16) -> Listening {
        let quiet = Command::new(command[0])
            .args(&command[1..])
            .env("PORT", port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let listening = Listening(quiet.expect("it starts"));
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(began.elapsed() < Duration::from_secs(120), "{command:?} does not listen");
            std::thread::sleep(Duration::from_millis(100));
        }
        listening
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Those over pipes; `python` and `node` come from the search path.
fn piped(folder: &str) -> Vec<Real> {
    let published =
        |name: &str| format!("{folder}/node_modules/@modelcontextprotocol/{name}/dist/index.js");
    let here = |name: &str| format!("{folder}/{name}");
    let node = |name, script: String, rest: &[&str], eras, tools| {
        let words = [&["stdio", "--", "node", script.as_str()][..], rest].concat();
        Real::new(name, &words, eras, tools)
    };
    let python = |name, words: &[&str], tools| {
        let words = [&["stdio", "--", "python"][..], words].concat();
        Real::new(name, &words, BOTH, tools)
    };
    vec![
        Real {
            lint: NO_ARGUMENTS,
            ..node("server-everything", published("server-everything"), &["stdio"], OLD, 13)
        },
        Real {
            lint: NO_ARGUMENTS,
            ..node("server-filesystem", published("server-filesystem"), &[folder], OLD, 14)
        },
        Real {
            lint: NO_ARGUMENTS,
            ..node("server-memory", published("server-memory"), &[], OLD, 9)
        },
        Real {
            lint: &["type-lists"],
            ..node(
                "server-sequential-thinking",
                published("server-sequential-thinking"),
                &[],
                OLD,
                1,
            )
        },
        node("TypeScript SDK 2, served", here("one_tool.mjs"), &[], BOTH, 1),
        node("TypeScript SDK 2, connected", here("one_tool.mjs"), &["connect"], OLD, 1),
        python("Python mcp", &[&here("one_tool.py")], 1),
        python("fastmcp", &[&here("one_tool_fast.py")], 1),
        python("mcp-server-time", &["-m", "mcp_server_time"], 2),
        python("mcp-server-fetch", &["-m", "mcp_server_fetch"], 1),
    ]
}

#[test]
fn published_servers() {
    let Ok(folder) = std::env::var("MCP_PROBE_REAL") else {
        println!("skipped: .ci/servers/fetch FOLDER, then MCP_PROBE_REAL=FOLDER");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let (everything, fast) = (free_port(), free_port());
    let script =
        format!("{folder}/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let _everything = Listening::start(&["node", &script, "streamableHttp"], everything);
    let script = format!("{folder}/one_tool_fast.py");
    let _fast = Listening::start(&["python", &script, &fast.to_string()], fast);
    let url = |port: u16| format!("http://127.0.0.1:{port}/mcp");
    let mut servers = piped(&folder);
    for (name, port, eras, tools, lint) in [
        ("server-everything over HTTP", everything, OLD, 13, NO_ARGUMENTS),
        ("fastmcp over HTTP", fast, BOTH, 1, &[]),
    ] {
        let real = Real::new(name, &[&url(port)], eras, tools);
        servers.push(Real { doctor: &["strict-accept"], lint, ..real });
    }
    // Two at a time: starting them is most of the work.
    let waiting = Mutex::new(servers.into_iter());
    let next = || waiting.lock().unwrap().next();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(real) = next() {
                    let began = Instant::now();
                    println!("{} ({:.1} s)", real.look(dir.path()), began.elapsed().as_secs_f64());
                }
            });
        }
    });
}
