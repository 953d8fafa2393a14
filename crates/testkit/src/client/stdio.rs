//! An MCP client over the pipes of a process it starts, in the stateless revision 2026-07-28.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{BridgeError, mcp};

/// A process that is spoken to over its pipes, ended when the value is dropped.
#[derive(Debug)]
pub struct StdioClient {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next_id: u64,
}

impl StdioClient {
    /// Starts `program stdio FILE` without a project file, with further `key=value` arguments.
    pub fn start(program: &Path, file: &Path, arguments: &[&str]) -> Result<Self> {
        let mut child = Command::new(program)
            .arg("stdio")
            .arg(file)
            .args(crate::bridge::no_project(arguments))
            .args(arguments)
            .env_remove("GHIDRA_BRIDGE_TOKEN")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .with_context(|| format!("{} cannot be started", program.display()))?;
        let input = child.stdin.take().context("standard input is not piped")?;
        let output = child.stdout.take().context("standard output is not piped")?;
        Ok(Self { child, input, output: BufReader::new(output), next_id: 0 })
    }

    /// Sends one MCP request and gives its result.
    pub fn request(&mut self, method: &str, params: Value) -> Result<Value> {
        self.next_id += 1;
        let message = mcp::message(self.next_id, method, params);
        self.input.write_all(format!("{message}\n").as_bytes())?;
        let mut line = String::new();
        ensure!(self.output.read_line(&mut line)? > 0, "the bridge closed its output");
        let mut answer: Value =
            serde_json::from_str(&line).with_context(|| format!("not JSON: {line}"))?;
        ensure!(answer["id"] == self.next_id, "asked as {}, answered {answer}", self.next_id);
        ensure!(answer.get("error").is_none(), "{method}: {answer}");
        Ok(answer["result"].take())
    }

    /// Calls a tool's operation; a refusal is an `Ok(Err(..))`.
    pub fn try_call(
        &mut self,
        tool: &str,
        operation: &str,
        params: Value,
    ) -> Result<Result<Value, BridgeError>> {
        let result = self.request("tools/call", mcp::tool_call(tool, operation, params))?;
        mcp::tool_outcome(result, operation)
    }
}

impl Drop for StdioClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
