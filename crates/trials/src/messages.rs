//! Messages before anything knows the program: JSON-RPC text, MCP requests with
//! their headers, WebSocket frames.

use jsonrpc::Message;
use mcp::{Header, Headers, Source, Version};

/// A WebSocket message. What we print we read again, and what we answer is JSON.
pub fn json_rpc(text: &[u8]) {
    if let Ok(value) = jsonrpc::parse(text) {
        let again = jsonrpc::parse(value.to_string().as_bytes()).expect("what we print, we read");
        assert_eq!(again, value);
    }
    match jsonrpc::read(text) {
        Message::Call(call) => {
            if let Some(id) = &call.id {
                let reply = jsonrpc::success(id, serde_json::Value::Null).to_string();
                assert!(jsonrpc::parse(reply.as_bytes()).is_ok(), "{reply}");
            }
        }
        Message::Response => {}
        Message::Refused(reply) => {
            assert!(jsonrpc::parse(reply.to_string().as_bytes()).is_ok());
        }
    }
}

/// An MCP request: three header values on lines of their own, then the body.
pub fn mcp_request(bytes: &[u8]) {
    let mut parts = bytes.splitn(4, |byte| *byte == b'\n');
    let mut header = || match parts.next().unwrap_or_default() {
        b"" => Header::from_values(std::iter::empty()),
        value => Header::from_values(value.split(|byte| *byte == b'\r')),
    };
    let headers = Headers { version: header(), method: header(), name: header() };
    let body = parts.next().unwrap_or_default();
    let _ = mcp::gate_notification(&headers);
    let Ok(message) = mcp::read(body) else { return };
    for source in
        [Source::Http(&headers), Source::Stdio(None), Source::Stdio(Some(Version::V2025_06_18))]
    {
        let routed = mcp::choose(&message.method, &message.params, source)
            .and_then(|era| mcp::route(era, &message.method, message.params.clone()));
        if let Err(failure) = routed {
            let known = [-32_700, -32_600, -32_601, -32_602, -32_603, -32_020, -32_022];
            assert!(known.contains(&failure.code), "{failure:?}");
            assert!((400..=404).contains(&failure.http_status), "{failure:?}");
        }
    }
}

/// A client's bytes as WebSocket frames. However they are cut, the same is read.
pub fn frames(bytes: &[u8]) {
    const LIMIT: usize = 1 << 16;
    let whole = server::whole_frames(bytes, LIMIT);
    let half = server::whole_frames(&bytes[..bytes.len() / 2], LIMIT);
    if let (Some(whole), Some(half)) = (whole, half) {
        assert!(half.0 <= whole.0, "{half:?} {whole:?}");
        assert!(whole.1 <= bytes.len());
    }
    assert!(half.is_some() || whole.is_none(), "more bytes mend nothing");
}
