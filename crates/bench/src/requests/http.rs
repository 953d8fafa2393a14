//! Keep-alive HTTP: a few connections, each with one request at a time.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const VERSION: &str = "2026-07-28";
const WARM_UP: Duration = Duration::from_secs(1);
const TIME: Duration = Duration::from_secs(4);

/// Calls of one tool a second, over so many connections.
pub fn keep_alive(url: &str, tool: &str, arguments: &Value, clients: usize) -> Result<f64> {
    let request = call(url, tool, arguments)?;
    let count = AtomicU64::new(0);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let work = || -> Result<()> {
            let mut connection = Connection::open(url)?;
            while !over.load(Ordering::Relaxed) {
                connection.exchange(&request)?;
                count.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        };
        let threads: Vec<_> = (0..clients).map(|_| scope.spawn(work)).collect();
        std::thread::sleep(WARM_UP);
        let (before, began) = (count.load(Ordering::Relaxed), Instant::now());
        std::thread::sleep(TIME);
        let done = count.load(Ordering::Relaxed) - before;
        let rate = done as f64 / began.elapsed().as_secs_f64();
        over.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().map_err(|_| anyhow::anyhow!("a client panicked"))??;
        }
        Ok(rate)
    })
}

fn place(url: &str) -> Result<(&str, &str)> {
    let rest = url.strip_prefix("http://").context("no http address")?;
    Ok(rest.split_at(rest.find('/').context("no path")?))
}

/// The bytes of one tool call.
fn call(url: &str, tool: &str, arguments: &Value) -> Result<Vec<u8>> {
    let (host, path) = place(url)?;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {VERSION}\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    Ok((head + &body).into_bytes())
}

struct Connection {
    stream: BufReader<TcpStream>,
    line: String,
    body: Vec<u8>,
}

impl Connection {
    fn open(url: &str) -> Result<Connection> {
        let stream = TcpStream::connect(place(url)?.0)?;
        stream.set_nodelay(true)?;
        let stream = BufReader::with_capacity(64 << 10, stream);
        Ok(Connection { stream, line: String::new(), body: Vec::new() })
    }

    /// Sends a request and reads its answer, which must be a success.
    fn exchange(&mut self, request: &[u8]) -> Result<()> {
        self.stream.get_mut().write_all(request)?;
        self.read_line()?;
        ensure!(self.line.starts_with("HTTP/1.1 200"), "answered {}", self.line.trim());
        let mut length = None;
        loop {
            self.read_line()?;
            let line = self.line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = Some(value.trim().parse::<usize>()?);
            }
        }
        self.body.clear();
        match length {
            Some(length) => self.take(length)?,
            None => self.chunks()?,
        }
        let body = String::from_utf8_lossy(&self.body);
        ensure!(!body.contains("\"error\"") && !body.contains("\"isError\":true"), "{body}");
        Ok(())
    }

    fn chunks(&mut self) -> Result<()> {
        loop {
            self.read_line()?;
            let size = usize::from_str_radix(self.line.trim(), 16).context("no chunk")?;
            self.take(size)?;
            self.read_line()?;
            if size == 0 {
                return Ok(());
            }
        }
    }

    fn take(&mut self, length: usize) -> Result<()> {
        let at = self.body.len();
        self.body.resize(at + length, 0);
        Ok(self.stream.read_exact(&mut self.body[at..])?)
    }

    fn read_line(&mut self) -> Result<()> {
        self.line.clear();
        if self.stream.read_line(&mut self.line)? == 0 {
            bail!("the server closed the connection");
        }
        Ok(())
    }
}
