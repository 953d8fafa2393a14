//! Differential probing of a silent process: is it framed as LSP, unflushed, an HTTP
//! server, or a program for people?

use super::cause::{self, announced};
use super::outcome::quoted;
use super::transport::hello;
use crate::client::{Context, clip, clip_bytes};
use crate::finding::{Finding, Severity};
use crate::link::{Incoming, Link};
use crate::target::Command;
use crate::trail::{Channel, Side};
use bytes::Bytes;
use std::time::Duration;

/// How long a server is left alone before it is suspected.
const GRACE: Duration = Duration::from_secs(4);

/// How long one experiment takes at most.
const EXPERIMENT: Duration = Duration::from_secs(3);

/// Waits for a while, then tries to find out why a command is silent. Ends only with a
/// finding; a server that is merely slow is waited for by whoever calls this.
pub async fn explain(command: &Command, context: &Context) -> Finding {
    let grace = GRACE.min(context.limits.idle / 2);
    tokio::time::sleep(grace).await;
    if let Some(finding) = overheard(context) {
        return finding;
    }
    for _ in 0..2 {
        if let Some(finding) = framed(command, context).await {
            return finding;
        }
        if let Some(finding) = unflushed(command, context).await {
            return finding;
        }
        if let Some(finding) = overheard(context) {
            return finding;
        }
        // A slow start may have eaten the time of the first round.
        tokio::time::sleep(Duration::from_secs(8)).await;
    }
    loop {
        if let Some(finding) = overheard(context) {
            return finding;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Lines on the output that are no messages, since the start of the run.
fn side_lines(context: &Context) -> Vec<String> {
    let side = |entry: &crate::trail::Entry| {
        entry.side == Side::Server && entry.channel == Channel::Stdout && entry.kind == "side log"
    };
    let lines = context.trail.since(0).into_iter().filter(side);
    lines.map(|entry| entry.text().into_owned()).take(200).collect()
}

/// What the process says gives it away.
fn overheard(context: &Context) -> Option<Finding> {
    let lines = side_lines(context);
    let stderr = context.trail.stderr_since(0, 400);
    let all: Vec<String> = stderr.iter().chain(&lines).cloned().collect();
    if let Some((address, line)) = announced(&all) {
        let cause = cause::of(&[line])?;
        let _ = address;
        return Some(
            Finding::new("is-http", Severity::High, cause.title)
                .seen_all(quoted(&all))
                .advise(cause.advice),
        );
    }
    written_otherwise(&lines).or_else(|| for_people(&lines))
}

/// An answer, but not in JSON, or not in UTF-8.
fn written_otherwise(lines: &[String]) -> Option<Finding> {
    let python =
        lines.iter().find(|line| line.starts_with('{') && line.contains("'jsonrpc': '2.0'"));
    if let Some(line) = python {
        let title = "it answers with the text of a Python dict, not with JSON";
        return Some(
            Finding::new("wrong-framing", Severity::High, title)
                .seen(format!("stdout: {}", clip(line, 120)))
                .advise("Write json.dumps(message), not str(message): JSON has double quotes, true, false and null."),
        );
    }
    let wide = lines.iter().find(|line| {
        let zeros = line.chars().filter(|c| *c == '\0').count();
        zeros > 8 && zeros * 3 > line.chars().count()
    })?;
    let plain: String = wide.chars().filter(|c| *c != '\0').collect();
    Some(
        Finding::new("wrong-framing", Severity::High, "it writes UTF-16; messages must be UTF-8")
            .seen(format!("stdout, without the zeros: {}", clip(&plain, 120)))
            .advise("Set the encoding of standard output to UTF-8 (in PowerShell: [Console]::OutputEncoding = [Text.Encoding]::UTF8)."),
    )
}

/// Answers in words to what was meant as a message.
fn for_people(lines: &[String]) -> Option<Finding> {
    let echo = lines.iter().find(|line| {
        let lower = line.to_lowercase();
        let words = [
            "unknown command",
            "command not found",
            "invalid command",
            "unrecognized command",
            "syntax error",
            "未知命令",
            "unbekannter befehl",
            "不明なコマンド",
        ];
        words.iter().any(|word| lower.contains(word))
            || (lower.contains("jsonrpc") && !line.trim_start().starts_with(['{', '[']))
    })?;
    Some(
        Finding::new("not-a-server", Severity::High, "it is an interactive program, and takes messages for commands")
            .seen_all(lines.iter().take(4).map(|line| format!("stdout: {}", clip(line, 120))))
            .seen(format!("answer to a message: {}", clip(echo, 120)))
            .advise("Is there a flag or a subcommand that serves MCP over standard streams (--stdio, serve, mcp)?"),
    )
}

/// Sends one request with the headers of LSP.
async fn framed(command: &Command, context: &Context) -> Option<Finding> {
    let body = hello();
    let mut raw = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    raw.extend_from_slice(&body);
    let seen = converse(command, context, raw.into(), false).await;
    let answered = seen.iter().any(|piece| {
        let text = String::from_utf8_lossy(piece);
        text.to_lowercase().contains("content-length")
    });
    let refused = seen.iter().any(|piece| String::from_utf8_lossy(piece).contains("-32700"));
    (answered && !refused).then(|| {
        Finding::new("wrong-framing", Severity::High, "it frames messages with Content-Length headers, as language servers (LSP) do")
            .seen("silent to a line of JSON; a request behind Content-Length headers is answered")
            .seen_all(seen.iter().take(3).map(|piece| format!("stdout: {}", clip_bytes(piece, 120))))
            .advise("MCP over standard streams has one message a line, ended by a line feed, and no headers.")
    })
}

/// Closes the input and sees whether the answer drops out.
async fn unflushed(command: &Command, context: &Context) -> Option<Finding> {
    let seen = converse(command, context, hello(), true).await;
    let answer = seen.iter().find(|piece| {
        crate::json::parse(piece)
            .is_ok_and(|json| json.get("result").is_some() || json.get("error").is_some())
    })?;
    Some(
        Finding::new("unflushed", Severity::High, "its output is not flushed: the answer comes only when its input is closed")
            .seen(format!("then: {}", clip_bytes(answer, 120)))
            .advise("Flush after each message (Python: print(..., flush=True), sys.stdout.flush(), or python -u; C: fflush or setvbuf; Ruby: $stdout.sync = true)."),
    )
}

/// One fresh process, one message, and what it writes within a while.
async fn converse(command: &Command, context: &Context, raw: Bytes, close: bool) -> Vec<Bytes> {
    let Ok(Link::Stdio(mut link)) =
        Link::stdio(&context.command(command), context.link_options()).await
    else {
        return Vec::new();
    };
    if link.send(raw).await.is_err() {
        return Vec::new();
    }
    let mut seen = Vec::new();
    let within = EXPERIMENT.min(context.limits.idle);
    if close {
        // What comes at once was not held back.
        if tokio::time::timeout(within / 4, link.next()).await.is_ok() {
            return Vec::new();
        }
        link.close_input();
    }
    let reading = async {
        while seen.len() < 20 {
            match link.next().await {
                Incoming::Message(message, _) => seen.push(message.raw),
                Incoming::Side(bytes) => seen.push(bytes),
                Incoming::Closed(_) => return,
                _ => {}
            }
            if !close && seen.len() > 1 {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(within, reading).await;
    seen
}
