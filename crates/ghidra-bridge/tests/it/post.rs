//! One POST to the MCP endpoint, with exactly the headers a test wants.

use crate::raw::{Reply, Socket};
use crate::world::split;
use serde_json::{Value, json};

pub const NOW: &str = "2026-07-28";

/// A request in the making.
#[derive(Clone)]
pub struct Post {
    pub method: &'static str,
    pub query: &'static str,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
}

impl Post {
    /// Any body as JSON, with no header of the protocol.
    pub fn raw(body: impl Into<Vec<u8>>) -> Post {
        let headers = vec![("Content-Type".to_owned(), b"application/json".to_vec())];
        Post { method: "POST", query: "", headers, body: body.into() }
    }

    /// A request without metadata.
    pub fn bare(method: &str, params: Value) -> Post {
        Post::raw(
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string(),
        )
    }

    /// A request of a version that begins with `initialize`.
    pub fn legacy(version: &str, method: &str, params: Value) -> Post {
        Post::bare(method, params).header("MCP-Protocol-Version", version)
    }

    /// A modern request in order.
    pub fn modern(method: &str, mut params: Value) -> Post {
        params["_meta"] = meta(NOW);
        let name = params.get("name").or(params.get("uri")).and_then(Value::as_str);
        let name = name.map(str::to_owned);
        let post = Post::legacy(NOW, method, params).header("Mcp-Method", method);
        match name {
            Some(name) => post.header("Mcp-Name", &name),
            None => post,
        }
    }

    pub fn call(tool: &str, arguments: Value) -> Post {
        Post::modern("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    pub fn header(mut self, name: &str, value: &str) -> Post {
        self.headers.push((name.to_owned(), value.as_bytes().to_vec()));
        self
    }

    pub fn without(mut self, name: &str) -> Post {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// Replaces a header.
    pub fn with(self, name: &str, value: &str) -> Post {
        self.without(name).header(name, value)
    }

    pub fn method(mut self, method: &'static str) -> Post {
        self.method = method;
        self
    }

    pub fn query(mut self, query: &'static str) -> Post {
        self.query = query;
        self
    }

    pub fn bytes(&self, url: &str) -> Vec<u8> {
        let (host, path) = split(url);
        let mut out = format!("{} {path}{} HTTP/1.1\r\nHost: {host}\r\n", self.method, self.query)
            .into_bytes();
        for (name, value) in &self.headers {
            out.extend_from_slice(format!("{name}: ").as_bytes());
            out.extend_from_slice(value);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(format!("Content-Length: {}\r\n\r\n", self.body.len()).as_bytes());
        out.extend_from_slice(&self.body);
        out
    }

    pub fn send(&self, url: &str) -> Reply {
        let mut socket = Socket::connect(url);
        socket.send(&self.bytes(url));
        if self.method == "HEAD" { socket.head_reply() } else { socket.reply() }
    }

    /// Sends and expects an error of the protocol.
    pub fn fails(&self, url: &str, status: u16, code: i64) -> Value {
        let reply = self.send(url);
        let shown = String::from_utf8_lossy(&self.bytes(url)).into_owned();
        assert_eq!(reply.status, status, "{shown}\n{}", reply.body);
        assert_eq!(reply.header("content-type"), Some("application/json"), "{shown}");
        let message = reply.json();
        assert_eq!(message["error"]["code"], code, "{shown}\n{message}");
        assert_eq!(message["jsonrpc"], "2.0");
        assert!(message["error"]["message"].as_str().is_some_and(|text| !text.is_empty()));
        message
    }

    /// Sends and expects a result.
    pub fn works(&self, url: &str) -> Value {
        let reply = self.send(url);
        assert_eq!(
            reply.status,
            200,
            "{}\n{}",
            String::from_utf8_lossy(&self.bytes(url)),
            reply.body
        );
        assert_eq!(reply.header("content-type"), Some("application/json"));
        assert!(reply.header("content-length").is_some());
        assert!(reply.header("mcp-session-id").is_none());
        let mut message = reply.json();
        assert_eq!(message["id"], 1);
        message["result"].take()
    }
}

pub fn meta(version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}
