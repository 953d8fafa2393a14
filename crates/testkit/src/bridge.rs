//! A real `ghidra-bridge` process on free ports, ended when the value is dropped.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use serde::Deserialize;

use crate::client::{McpClient, WebSocketClient};

/// How long a bridge may take to say that it is ready.
const START_LIMIT: Duration = Duration::from_secs(60);

/// A running bridge.
#[derive(Debug)]
pub struct Bridge {
    child: Child,
    /// What it said when it was ready.
    pub ready: ReadyLine,
    /// Time from the start of the process to that line.
    pub ready_after: Duration,
}

/// The line on standard output that says where the bridge listens.
#[derive(Debug, Clone, Deserialize)]
pub struct ReadyLine {
    /// Always `ready`.
    pub event: String,
    /// Address of the WebSocket endpoint.
    pub ws: Option<String>,
    /// Address of the MCP endpoint.
    pub mcp: Option<String>,
}

impl Bridge {
    /// Starts `program serve FILE` with free ports and further `key=value`
    /// arguments; without a project file unless they name one.
    pub fn serve(program: &Path, file: &Path, arguments: &[&str]) -> Result<Self> {
        let began = Instant::now();
        let mut child = Command::new(program)
            .arg("serve")
            .arg(file)
            .args(["ws_port=0", "mcp_port=0"])
            .args(no_project(arguments))
            .args(arguments)
            .env_remove("GHIDRA_BRIDGE_TOKEN")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .with_context(|| format!("{} cannot be started", program.display()))?;
        match wait_for_ready(&mut child) {
            Ok(ready) => Ok(Self { child, ready, ready_after: began.elapsed() }),
            Err(error) => {
                let _ = child.kill();
                let status = child.wait()?;
                Err(error.context(format!("the bridge ended with {status}")))
            }
        }
    }

    /// The bridge's process id.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// A WebSocket client that has seen the ready notification.
    pub fn websocket(&self) -> Result<WebSocketClient> {
        let url = self.ready.ws.as_deref().context("the bridge serves no WebSocket")?;
        WebSocketClient::connect(url)
    }

    /// An MCP client over HTTP.
    pub fn mcp(&self) -> Result<McpClient> {
        let url = self.ready.mcp.as_deref().context("the bridge serves no MCP")?;
        McpClient::connect(url)
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What keeps a bridge from writing to the data folder of whoever runs the tests.
pub(crate) fn no_project(arguments: &[&str]) -> Option<&'static str> {
    let named = arguments.iter().any(|argument| argument.starts_with("project="));
    (!named).then_some("project=none")
}

/// Waits for the first line of a child's standard output, however it ends.
fn wait_for_ready(child: &mut Child) -> Result<ReadyLine> {
    let output = child.stdout.take().context("standard output is not piped")?;
    let (sender, receiver) = mpsc::channel();
    // The thread goes on reading, so that a chatty child never blocks.
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            let _ = sender.send(line);
        }
    });
    let line = receiver
        .recv_timeout(START_LIMIT)
        .map_err(|_| anyhow!("no ready line within {START_LIMIT:?}"))?
        .context("standard output cannot be read")?;
    let ready: ReadyLine =
        serde_json::from_str(&line).with_context(|| format!("not a ready line: {line}"))?;
    ensure!(ready.event == "ready", "not a ready line: {line}");
    Ok(ready)
}

/// The `ghidra-bridge` program that was built beside the running one.
pub fn built_program() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    // Tests run from target/PROFILE/deps, tools from target/PROFILE.
    let name = format!("ghidra-bridge{}", std::env::consts::EXE_SUFFIX);
    own.ancestors()
        .skip(1)
        .take(2)
        .map(|folder| folder.join(&name))
        .find(|path| path.is_file())
        .context("ghidra-bridge is not built: run `cargo build -p ghidra-bridge` in this profile")
}
