//! The first layer: is anything there, and how does it want to be spoken to?

use super::Diagnosis;
use super::outcome::failed;
use crate::client::{Context, clip_bytes};
use crate::finding::{Finding, Severity};
use crate::http::{ConnectError, Head, Request, Scheme, Url, connect, find_header, send};
use crate::json::{self, Json};
use crate::link::LinkError;
use crate::obj;
use bytes::Bytes;
use std::time::Duration;

/// Where servers usually are.
const PATHS: [&str; 8] =
    ["/", "/mcp", "/api/mcp", "/v1/mcp", "/sse", "/message", "/messages", "/mcp/message"];

const PROBE_WAIT: Duration = Duration::from_secs(5);

/// Whether a connection can be opened at all.
pub async fn reachable(url: &Url, context: &Context, diagnosis: &mut Diagnosis) -> bool {
    match connect(url, context.limits.connect()).await {
        Ok(_) => {
            diagnosis.step("transport", format!("connected to {}", url.authority()));
            true
        }
        Err(error) => {
            diagnosis.step("transport", error.to_string());
            let link_error = LinkError::Connect(error);
            let advice = "Is the server running, and on this port? In a container the port must be published.";
            let finding = failed(&link_error);
            diagnosis.add(if finding.advice.is_none() { finding.advise(advice) } else { finding });
            false
        }
    }
}

/// Whether a port that breaks off plain HTTP answers to encryption, trusted or not.
pub async fn speaks_tls(url: &Url, context: &Context) -> bool {
    let encrypted = Url { scheme: Scheme::Https, ..url.clone() };
    if url.scheme != Scheme::Http {
        return false;
    }
    match connect(&encrypted, context.limits.connect().min(PROBE_WAIT)).await {
        Ok(_) => true,
        Err(ConnectError::Tls(_, why)) => why.contains("certificate"),
        Err(_) => false,
    }
}

/// What an address says to a plain request.
#[derive(Debug)]
pub struct Reply {
    /// The head.
    pub head: Head,
    /// The first bytes of the body.
    pub body: Bytes,
}

impl Reply {
    fn status(&self) -> u16 {
        self.head.status().unwrap_or(0)
    }

    fn is_mcp(&self) -> bool {
        let rpc = |bytes: &[u8]| json::parse(bytes).is_ok_and(|body| body.get("jsonrpc").is_some());
        let event = memchr::memmem::find(&self.body, b"\"jsonrpc\"").is_some();
        rpc(&self.body)
            || (event && self.head.media_type() == "text/event-stream")
            || self.is_old_sse()
    }

    /// Whether this is the beginning of the old event stream.
    pub fn is_old_sse(&self) -> bool {
        self.head.media_type() == "text/event-stream"
            && memchr::memmem::find(&self.body, b"event: endpoint").is_some()
    }

    fn describe(&self) -> String {
        let kind = self.head.media_type();
        let mcp = if self.is_old_sse() {
            ", the old event stream"
        } else if self.is_mcp() {
            ", speaks JSON-RPC"
        } else {
            ""
        };
        format!("{} {kind}{mcp}", self.status())
    }
}

/// One request, and as much of the answer as comes within a moment.
pub async fn ask(
    url: &Url,
    method: &'static str,
    headers: Vec<(String, String)>,
    body: Option<Bytes>,
) -> Option<Reply> {
    let request = Request { method, headers, body };
    let mut response = send(url, &request, PROBE_WAIT).await.ok()?;
    let wait = if method == "GET" { Duration::from_millis(1500) } else { PROBE_WAIT };
    let (body, _) = match method {
        "GET" => read_a_little(&mut response, wait).await,
        _ => response.read_all(1 << 20, wait).await,
    };
    Some(Reply { head: response.head.clone()?, body })
}

async fn read_a_little(
    response: &mut crate::http::Response,
    within: Duration,
) -> (Bytes, Option<String>) {
    let mut seen = Vec::new();
    let reading = async {
        loop {
            match response.next().await {
                crate::http::Part::Head => {}
                crate::http::Part::Body(part) => {
                    seen.extend_from_slice(&part);
                    if seen.len() > 4096 || memchr::memmem::find(&seen, b"\n\n").is_some() {
                        return;
                    }
                }
                _ => return,
            }
        }
    };
    let _ = tokio::time::timeout(within, reading).await;
    (seen.into(), None)
}

/// The body of a first contact.
pub fn hello() -> Bytes {
    let params = obj! { "protocolVersion": crate::client::NEWEST_LEGACY, "capabilities": Json::object(), "clientInfo": crate::client::client_info() };
    obj! { "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }.to_string().into()
}

/// Headers of a plain POST.
pub fn post_headers(context: &Context, accept: Option<&str>) -> Vec<(String, String)> {
    let mut headers = vec![("Content-Type".to_string(), "application/json".to_string())];
    headers.extend(accept.map(|accept| ("Accept".to_string(), accept.to_string())));
    headers.extend(
        context.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("accept")).cloned(),
    );
    headers
}

const BOTH: &str = "application/json, text/event-stream";

/// Tries the usual paths after a 404.
pub async fn look_around(url: &Url, context: &Context) -> Finding {
    let mut finding =
        Finding::new("http-404", Severity::High, format!("there is nothing at {} (404)", url.path));
    let mut found = Vec::new();
    for path in PATHS.iter().filter(|path| **path != url.path) {
        let there = url.with_path(path);
        let post = ask(&there, "POST", post_headers(context, Some(BOTH)), Some(hello())).await;
        let mut said = post.as_ref().map_or("no answer".into(), Reply::describe);
        let mut mcp = post.as_ref().is_some_and(Reply::is_mcp);
        if !mcp && matches!(*path, "/" | "/sse" | "/mcp") {
            let mut headers = context.headers.clone();
            headers.push(("Accept".into(), "text/event-stream".into()));
            if let Some(get) = ask(&there, "GET", headers, None).await {
                said = format!("POST {said}; GET {}", get.describe());
                mcp = get.is_old_sse();
            }
        }
        if mcp {
            found.push(there.to_string());
        }
        finding = finding.seen(format!("{path}: {said}"));
    }
    match found.is_empty() {
        true => finding.advise(
            "None of the usual paths speaks MCP; look for the path in the server's configuration.",
        ),
        false => finding.advise(format!("Use {}.", found.join(" or "))),
    }
}

/// With a token in hand and still 401: does it go in another header?
pub async fn other_headers(url: &Url, context: &Context) -> Vec<String> {
    let Some(value) = find_header(&context.headers, "authorization") else { return Vec::new() };
    let token = value.split_once(' ').map_or(value, |(_, token)| token).to_string();
    let mut opened = Vec::new();
    for (name, value) in [
        ("Authorization", token.clone()),
        ("Authorization", format!("Bearer {token}")),
        ("Authorization", format!("token {token}")),
        ("X-API-Key", token.clone()),
        ("Api-Key", token.clone()),
    ] {
        let mut headers = post_headers(context, Some(BOTH));
        headers.retain(|(known, _)| !known.eq_ignore_ascii_case("authorization"));
        headers.push((name.into(), value.clone()));
        let reply = ask(url, "POST", headers, Some(hello())).await;
        if reply.is_some_and(|reply| !matches!(reply.status(), 401 | 403)) {
            let scheme = value.strip_suffix(&token).unwrap_or_default().trim();
            opened.push(format!("{name}: {scheme} ...").replace(":  ", ": "));
        }
    }
    opened
}

/// Does GET open the old stream here?
pub async fn old_stream(url: &Url, context: &Context) -> Option<Reply> {
    let mut headers = context.headers.clone();
    headers.push(("Accept".into(), "text/event-stream".into()));
    ask(url, "GET", headers, None).await
}

/// Things that work now, but stop other clients.
pub async fn manners(url: &Url, context: &Context, diagnosis: &mut Diagnosis) {
    let mut refused = Vec::new();
    for accept in [None, Some("application/json"), Some("*/*")] {
        let reply = ask(url, "POST", post_headers(context, accept), Some(hello())).await;
        let Some(reply) = reply else { continue };
        let name =
            accept.map_or("no Accept header".to_string(), |accept| format!("Accept: {accept}"));
        diagnosis.step("transport", format!("{name}: {}", reply.describe()));
        if reply.status() == 406 {
            refused.push(format!("{name}: 406 {}", clip_bytes(&reply.body, 120)));
        }
    }
    if !refused.is_empty() {
        let finding = Finding::new(
            "strict-accept",
            Severity::Info,
            "simple clients are refused for their Accept header",
        );
        diagnosis.add(
            finding
                .seen_all(refused)
                .advise("Clients must send Accept: application/json, text/event-stream."),
        );
    }
}
