//! Just enough HTTP/1.1 to talk to a server on this machine: one connection that
//! stays open, bodies with a length.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

/// How long a reply may take.
const REPLY_LIMIT: Duration = Duration::from_secs(120);

/// Largest body that is read.
const MAX_BODY: usize = 256 << 20;

/// An open connection.
#[derive(Debug)]
pub struct HttpConnection {
    stream: BufReader<TcpStream>,
    host: String,
    path: String,
}

/// One answer.
#[derive(Debug, Clone)]
pub struct HttpReply {
    /// Status code.
    pub status: u16,
    /// Headers in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl HttpReply {
    /// The first header of that (lower-case) name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl HttpConnection {
    /// Connects to `http://host:port/path`.
    pub fn connect(url: &str) -> Result<Self> {
        let rest =
            url.strip_prefix("http://").with_context(|| format!("no http address: {url}"))?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let stream = TcpStream::connect(host).with_context(|| format!("connecting to {host}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(REPLY_LIMIT))?;
        Ok(Self { stream: BufReader::new(stream), host: host.to_owned(), path: format!("/{path}") })
    }

    /// Sends one request to the address connected to and reads its answer.
    pub fn request(
        &mut self,
        method: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<HttpReply> {
        let mut head = format!("{method} {} HTTP/1.1\r\nHost: {}\r\n", self.path, self.host);
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        // One write: a head and a body in two packets would wait for each other.
        let mut message = head.into_bytes();
        message.extend_from_slice(body);
        self.stream.get_mut().write_all(&message)?;
        self.read_reply()
    }

    fn read_reply(&mut self) -> Result<HttpReply> {
        let status_line = self.read_line()?;
        let status = status_line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.with_context(|| format!("no HTTP answer: {status_line}"))?;
        let mut headers = Vec::new();
        loop {
            let line = self.read_line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').context("a header without a colon")?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut reply = HttpReply { status, headers, body: Vec::new() };
        let length = reply.header("content-length").map_or(Ok(0), str::parse::<usize>)?;
        ensure!(length <= MAX_BODY, "a body of {length} bytes");
        reply.body.resize(length, 0);
        self.stream.read_exact(&mut reply.body)?;
        Ok(reply)
    }

    fn read_line(&mut self) -> Result<String> {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line)?;
        ensure!(read > 0, "the server closed the connection");
        Ok(line.trim_end_matches(['\r', '\n']).to_owned())
    }
}
