//! An agent as a host runs it: it sees the tool list and the texts of answers, nothing else, and
//! everything that it sees is counted.

use crate::world::program;
use serde_json::{Value, json};
use std::fmt::Write as _;
use testkit::bridge::Bridge;
use testkit::client::McpClient;

/// One run of a task.
pub struct Agent {
    client: McpClient,
    _bridge: Bridge,
    pub calls: usize,
    pub characters: usize,
    /// The run as Markdown.
    pub transcript: String,
}

impl Agent {
    /// Opens a fixture and reads the tool list, as every host does.
    pub fn on(fixture: &str) -> Agent {
        let file = testkit::fixture(&format!("../agents/{fixture}"));
        let bridge = Bridge::serve(program(), &file, &["analysis=wait"]).expect("it starts");
        let client = bridge.mcp().expect("a client");
        let mut agent =
            Agent { client, _bridge: bridge, calls: 0, characters: 0, transcript: String::new() };
        let tools = agent.client.request("tools/list", json!({})).expect("tools");
        let size = tools["tools"].to_string().chars().count();
        agent.count(size);
        agent
    }

    /// Calls a tool's operation, which must not be refused.
    pub fn call(&mut self, tool: &str, operation: &str, params: Value) -> String {
        let (failed, text) = self.try_call(tool, operation, params);
        assert!(!failed, "{tool} {operation} is a dead end: {text}\n{}", self.transcript);
        text
    }

    /// Calls a tool's operation; true when it was refused.
    pub fn try_call(&mut self, tool: &str, operation: &str, params: Value) -> (bool, String) {
        let arguments = json!({"operation": operation, "params": params});
        let request = json!({"name": format!("ghidra.{tool}"), "arguments": arguments});
        let result = self.client.request("tools/call", request).expect("an answer");
        let text = result["content"][0]["text"].as_str().expect("a text").to_owned();
        self.count(text.chars().count());
        let _ = write!(
            self.transcript,
            "\n`ghidra.{tool}` {arguments}\n\n```text\n{}\n```\n",
            steady(&text)
        );
        (result["isError"] == true, text)
    }

    /// What the agent makes of it.
    pub fn says(&mut self, thought: &str) {
        let _ = write!(self.transcript, "\n> {thought}\n");
    }

    fn count(&mut self, characters: usize) {
        self.calls += 1;
        self.characters += characters;
    }
}

/// A text without what differs from run to run.
fn steady(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let name = "\"elapsed_ms\":";
    while let Some((before, after)) = rest.split_once(name) {
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        out.push_str(before);
        out.push_str(name);
        out.push('0');
        rest = &after[digits..];
    }
    out.push_str(rest);
    out
}

/// The part of an answer that speaks of something: a line of a table, or an object of a list.
pub fn row<'a>(text: &'a str, about: &str) -> &'a str {
    let mut rows = text.split(['\n', '{']);
    rows.find(|row| row.contains(about)).unwrap_or_else(|| panic!("no {about} in {text}"))
}

/// C text as its lines, also where it came as JSON.
pub fn c(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\\"", "\"")
}

/// The first address in a part of an answer.
pub fn address(text: &str) -> String {
    addresses(text).into_iter().next().unwrap_or_else(|| panic!("no address in {text}"))
}

/// Every address in a part of an answer.
pub fn addresses(text: &str) -> Vec<String> {
    let starts = text.match_indices("ram:").map(|(at, _)| at);
    let hex = |at: usize| {
        let digits = text[at + 4..].bytes().take_while(u8::is_ascii_hexdigit).count();
        text[at..at + 4 + digits].to_owned()
    };
    starts.map(hex).collect()
}

/// The first word that begins with something, such as `FUN_`.
pub fn word(text: &str, start: &str) -> String {
    words(text, start).into_iter().next().unwrap_or_else(|| panic!("no {start} in {text}"))
}

/// Every different word that begins with something, in order.
pub fn words(text: &str, start: &str) -> Vec<String> {
    let parts = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let mut found: Vec<String> = Vec::new();
    for part in parts.filter(|part| part.starts_with(start)) {
        if !found.iter().any(|known| known == part) {
            found.push(part.to_owned());
        }
    }
    found
}

/// The number behind a text, in C's spelling.
pub fn number(text: &str, behind: &str) -> u32 {
    let (_, rest) = text.split_once(behind).unwrap_or_else(|| panic!("no {behind} in {text}"));
    let word: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
    let number = match word.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => word.parse(),
    };
    number.unwrap_or_else(|_| panic!("{word} is no number"))
}

/// The bytes in an answer of `memory.read`.
pub fn bytes(text: &str) -> Vec<u8> {
    let (_, rest) = text.split_once("\"data\":\"").unwrap_or_else(|| panic!("no bytes in {text}"));
    let digits: Vec<u32> = rest.chars().map_while(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}
