//! Real servers from the registries. They are downloaded, so this runs only
//! when asked for: MCP_PROBE_REAL=1.

use crate::harness::{Ran, probe, run};
use std::path::Path;
use std::process::Command;

struct Real {
    name: &'static str,
    command: Vec<String>,
    tools: usize,
}

fn install(dir: &Path) -> Vec<Real> {
    let path = |part: &str| dir.join(part).to_str().unwrap().to_string();
    let done = run(Command::new("python3").args(["-m", "venv", &path("py")]));
    assert_eq!(done.code, 0, "{}", done.err);
    let done = run(Command::new(path("py/bin/pip")).args([
        "-q",
        "install",
        "mcp",
        "fastmcp",
        "mcp-server-time",
        "mcp-server-fetch",
    ]));
    assert_eq!(done.code, 0, "{}", done.err);
    let packages =
        ["server-everything", "server-filesystem", "server-memory", "server-sequential-thinking"];
    let names: Vec<String> =
        packages.iter().map(|name| format!("@modelcontextprotocol/{name}")).collect();
    let done = run(Command::new("npm")
        .args(["install", "--silent", "--no-audit", "--no-fund", "--prefix", &path("js")])
        .args(&names));
    assert_eq!(done.code, 0, "{}", done.err);
    std::fs::write(dir.join("fast.py"), "from fastmcp import FastMCP\nmcp = FastMCP('fast')\n@mcp.tool\ndef double(n: int) -> int:\n    'Doubles.'\n    return 2 * n\nmcp.run(show_banner=False)\n").unwrap();
    let node = |name: &str, rest: &[&str]| {
        let mut command = vec![path(&format!("js/node_modules/.bin/{name}"))];
        command.extend(rest.iter().map(|part| part.to_string()));
        command
    };
    vec![
        Real {
            name: "server-everything",
            command: node("mcp-server-everything", &["stdio"]),
            tools: 5,
        },
        Real {
            name: "server-filesystem",
            command: node("mcp-server-filesystem", &[&path("js")]),
            tools: 5,
        },
        Real { name: "server-memory", command: node("mcp-server-memory", &[]), tools: 5 },
        Real {
            name: "server-sequential-thinking",
            command: node("mcp-server-sequential-thinking", &[]),
            tools: 1,
        },
        Real { name: "mcp-server-time", command: vec![path("py/bin/mcp-server-time")], tools: 2 },
        Real { name: "mcp-server-fetch", command: vec![path("py/bin/mcp-server-fetch")], tools: 1 },
        Real { name: "fastmcp", command: vec![path("py/bin/python"), path("fast.py")], tools: 1 },
    ]
}

fn against(real: &Real, args: &[&str]) -> Ran {
    let command: Vec<&str> = real.command.iter().map(String::as_str).collect();
    probe(&[args, &["stdio", "--"], &command].concat())
}

#[test]
fn published_servers_are_understood() {
    if std::env::var("MCP_PROBE_REAL").as_deref() != Ok("1") {
        println!("skipped: set MCP_PROBE_REAL=1 to download and try real servers");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for real in install(dir.path()) {
        let ran = against(&real, &["report", "--json"]);
        assert!(ran.code < 2, "{}: {}", real.name, ran.err);
        let report = ran.json();
        let tools = report["surfaces"][0]["tools"].as_array().unwrap().len();
        assert!(tools >= real.tools, "{}: {tools} tools", real.name);
        let ran = against(&real, &["doctor", "--json"]);
        assert!(ran.code < 2, "{}: {}", real.name, ran.err);
        assert!(!ran.rules().contains(&"no-answer".to_string()), "{}: {}", real.name, ran.out);
        for verb in ["scan", "lint"] {
            assert!(against(&real, &[verb, "--json"]).code < 2, "{}: {verb}", real.name);
        }
        println!(
            "{}: {}",
            real.name,
            report["surfaces"]
                .as_array()
                .unwrap()
                .iter()
                .map(|s| s["version"].to_string())
                .collect::<Vec<_>>()
                .join(", ")
        );
    }
}
