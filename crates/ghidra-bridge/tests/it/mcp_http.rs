//! The HTTP side of MCP: the tests on every request, in their order.

use crate::post::{NOW, Post};
use crate::raw::Socket;
use crate::world::{bridge, mcp_url, split};
use serde_json::json;
use std::time::Duration;

fn ping() -> Post {
    Post::modern("ping", json!({}))
}

#[test]
fn other_paths_have_no_mcp() {
    let bridge = bridge(&["token=sesame"]);
    let host = mcp_url(&bridge).trim_end_matches("/mcp");
    for path in ["/", "/mcp/", "/mcpx", "/mcp%2f", "/MCP", "/x/mcp"] {
        for method in ["POST", "GET", "OPTIONS", "DELETE"] {
            let reply = ping().method(method).query("?token=x").send(&format!("{host}{path}"));
            assert_eq!(reply.status, 404, "{method} {path}");
            assert!(!reply.body.contains("jsonrpc"), "a JSON-RPC body would mean: MCP is here");
        }
    }
}

#[test]
fn tokens_in_queries_are_refused_first() {
    let with_token = bridge(&["token=sesame"]);
    let without = bridge(&[]);
    for url in [mcp_url(&with_token), mcp_url(&without)] {
        for query in ["?token=sesame", "?token", "?a=1&token=", "?access_token=x", "?%74oken=x"] {
            for method in ["POST", "GET", "OPTIONS"] {
                let post =
                    ping().method(method).query(query).header("Origin", "http://evil.example");
                post.fails(url, 400, -32600);
            }
        }
        let other = ping().query("?a=token").header("Authorization", "Bearer sesame");
        other.works(url);
    }
}

#[test]
fn foreign_origins_are_refused() {
    let bridge = bridge(&["token=sesame"]);
    let url = mcp_url(&bridge);
    for origin in
        ["http://evil.example", "null", "file://", "https://localhost.evil.example", "nonsense"]
    {
        for method in ["POST", "OPTIONS", "GET", "DELETE"] {
            let reply = ping().method(method).header("Origin", origin).send(url);
            assert_eq!(reply.status, 403, "{method} {origin}");
            assert!(reply.header("access-control-allow-origin").is_none());
        }
    }
    let two = ping().header("Origin", "http://localhost").header("Origin", "http://evil.example");
    assert_eq!(two.send(url).status, 403);
    for origin in
        ["http://localhost:3000", "https://127.8.9.1", "http://[::1]:5173", "http://LOCALHOST"]
    {
        let reply =
            ping().header("Origin", origin).header("Authorization", "Bearer sesame").send(url);
        assert_eq!(reply.status, 200, "{origin}");
        assert_eq!(reply.header("access-control-allow-origin"), Some(origin));
        assert_eq!(reply.header("vary"), Some("Origin"));
        let refused = ping().header("Origin", origin).send(url);
        assert_eq!(refused.status, 401);
        assert_eq!(refused.header("access-control-allow-origin"), Some(origin), "errors too");
    }
    let blank = ping().header("Origin", " ").header("Authorization", "Bearer sesame").send(url);
    assert_eq!(blank.status, 200);
    assert!(blank.header("access-control-allow-origin").is_none());
}

#[test]
fn preflights_need_no_token() {
    let bridge = bridge(&["token=sesame"]);
    let url = mcp_url(&bridge);
    let preflight = Post::raw("").without("Content-Type").method("OPTIONS");
    let reply = preflight.clone().header("Origin", "http://localhost:1").send(url);
    assert_eq!((reply.status, reply.body.as_str()), (204, ""));
    assert_eq!(reply.header("access-control-allow-origin"), Some("http://localhost:1"));
    assert_eq!(reply.header("access-control-allow-methods"), Some("POST, OPTIONS"));
    let allowed = reply.header("access-control-allow-headers").expect("headers").to_lowercase();
    for name in [
        "authorization",
        "content-type",
        "accept",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
    ] {
        assert!(allowed.split(", ").any(|known| known == name), "{name}");
    }
    assert!(reply.header("access-control-max-age").is_some());
    assert_eq!(preflight.send(url).status, 204, "also without an origin");
}

#[test]
fn other_methods_are_not_allowed() {
    let bridge = bridge(&["token=sesame"]);
    let url = mcp_url(&bridge);
    for method in ["GET", "HEAD", "DELETE", "PUT", "PATCH", "TRACE", "PURGE", "post"] {
        let reply = ping().method(method).send(url);
        assert_eq!(reply.status, 405, "{method}");
        assert_eq!(reply.header("allow"), Some("POST, OPTIONS"), "{method}");
    }
    ping().method("DELETE").fails(url, 405, -32600);
}

#[test]
fn the_bearer_token_is_needed() {
    let bridge = bridge(&["token=sesame"]);
    let url = mcp_url(&bridge);
    for value in ["", "Bearer", "Bearer sesam", "Bearer sesame2", "Basic sesame", "sesame"] {
        let post = ping().header("Authorization", value);
        post.fails(url, 401, -32001);
        assert_eq!(post.send(url).header("www-authenticate"), Some("Bearer"));
    }
    ping().without("Content-Type").fails(url, 401, -32001);
    for value in ["Bearer sesame", "bearer sesame", "BEARER sesame"] {
        ping().header("Authorization", value).works(url);
    }
}

#[test]
fn only_json_is_taken() {
    let bridge = bridge(&[]);
    let url = mcp_url(&bridge);
    ping().without("Content-Type").fails(url, 415, -32600);
    for value in
        ["text/plain", "application/jsonx", "application/json-rpc", "", "json", "text/json"]
    {
        ping().with("Content-Type", value).fails(url, 415, -32600);
    }
    for value in ["application/json; charset=utf-8", "Application/JSON", "application/json ;x=y"] {
        ping().with("Content-Type", value).works(url);
    }
    // The body is not read before.
    Post::raw("{").with("Content-Type", "text/plain").fails(url, 415, -32600);
}

#[test]
fn bodies_are_bounded() {
    let bridge = bridge(&["max_body=100k"]);
    let url = mcp_url(&bridge);
    let long = Post::raw(vec![b' '; 110 << 10]);
    long.fails(url, 413, -32600);
    // Also when the length is not told.
    let (host, path) = split(url);
    let mut socket = Socket::connect(url);
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n"
    );
    socket.send(head.as_bytes());
    let chunk = [b"10000\r\n".to_vec(), vec![b' '; 0x10000], b"\r\n".to_vec()].concat();
    for _ in 0..3 {
        let _ = socket.try_send(&chunk);
    }
    assert_eq!(socket.reply().status, 413);
    ping().works(url);
}

#[test]
fn a_refusal_survives_a_body_that_nobody_read() {
    let bridge = bridge(&[]);
    let url = mcp_url(&bridge);
    for _ in 0..10 {
        let post = Post::raw(vec![b'x'; 3 << 20]).with("Content-Type", "text/plain");
        post.fails(url, 415, -32600);
    }
}

#[test]
fn accept_is_not_looked_at() {
    let bridge = bridge(&[]);
    let url = mcp_url(&bridge);
    ping().works(url);
    for value in ["application/json", "text/event-stream", "*/*", "text/html", ""] {
        let result = ping().header("Accept", value).works(url);
        assert_eq!(result, json!({"resultType": "complete"}), "{value}");
    }
    ping().header("Mcp-Session-Id", "x").header("Last-Event-ID", "5").works(url);
}

#[test]
fn connections_are_kept_and_requests_may_be_queued() {
    let bridge = bridge(&[]);
    let url = mcp_url(&bridge);
    let mut socket = Socket::connect(url);
    for _ in 0..50 {
        socket.send(&ping().bytes(url));
        assert_eq!(socket.reply().status, 200);
    }
    socket.send(&[ping().bytes(url), ping().bytes(url)].concat());
    assert_eq!((socket.reply().status, socket.reply().status), (200, 200));
    // In pieces.
    for part in ping().bytes(url).chunks(7) {
        socket.send(part);
    }
    assert_eq!(socket.reply().status, 200);
}

#[test]
fn too_many_clients_are_turned_away() {
    let bridge = bridge(&["max_clients=4"]);
    let url = mcp_url(&bridge);
    let request = ping().bytes(url);
    let (all_but_the_end, end) = request.split_at(request.len() - 1);
    let mut held: Vec<Socket> = (0..4)
        .map(|_| {
            let mut socket = Socket::connect(url);
            socket.send(all_but_the_end);
            socket
        })
        .collect();
    // Longer than a connection is left alone that does nothing.
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(Socket::connect(url).reply().status, 503);
    for socket in &mut held {
        socket.send(end);
        assert_eq!(socket.reply().status, 200, "who is heard keeps the place");
    }
    drop(held);
    std::thread::sleep(Duration::from_millis(200));
    ping().works(url);
}

#[test]
fn silent_connections_give_way_to_those_that_speak() {
    let bridge = bridge(&["max_clients=4"]);
    let url = mcp_url(&bridge);
    let silent: Vec<Socket> = (0..4).map(|_| Socket::connect(url)).collect();
    let mut half_a_head = Socket::connect(url);
    let _ = half_a_head.try_send(b"POST /mcp HTTP/1.1\r\nHost: ");
    let mut refused = 0;
    for _ in 0..40 {
        let mut socket = Socket::connect(url);
        let _ = socket.try_send(&ping().bytes(url));
        match socket.reply().status {
            200 => break,
            503 => refused += 1,
            other => panic!("answered {other}"),
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(refused < 40, "nobody got a place");
    drop(silent);
    ping().works(url);
}

#[test]
fn broken_heads_and_floods_harm_nobody() {
    let bridge = bridge(&[]);
    let url = mcp_url(&bridge);
    for bytes in [
        &b"\r\n\r\n\r\n"[..],
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"GET\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\n",
    ] {
        let mut socket = Socket::connect(url);
        let _ = socket.try_send(bytes);
        socket.end_sending();
        while !socket.is_closed() {
            let _ = socket.reply();
        }
    }
    let mut flood = ping();
    for index in 0..5000 {
        flood = flood.header(&format!("X-{index}"), "y");
    }
    let mut socket = Socket::connect(url);
    let _ = socket.try_send(&flood.bytes(url));
    let status = socket.reply().status;
    assert!((400..500).contains(&status), "{status}");
    ping().works(url);
}

#[test]
fn half_closed_sockets_still_get_their_answer_or_an_end() {
    let bridge = bridge(&[]);
    let url = mcp_url(&bridge);
    for _ in 0..20 {
        let mut socket = Socket::connect(url);
        socket.send(&ping().bytes(url));
        socket.end_sending();
        if !socket.is_closed() {
            assert_eq!(socket.reply().status, 200);
        }
    }
    ping().works(url);
}

#[test]
fn notifications_are_accepted_and_not_run() {
    let bridge = bridge(&[]);
    let url = mcp_url(&bridge);
    for body in [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
        json!({"jsonrpc": "2.0", "method": "no/such"}),
        json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "ghidra.bridge", "arguments": {"operation": "shutdown"}}}),
    ] {
        for post in [
            Post::raw(body.to_string()),
            Post::raw(body.to_string())
                .header("MCP-Protocol-Version", NOW)
                .header("Mcp-Method", "x"),
            Post::raw(body.to_string()).header("MCP-Protocol-Version", "2025-06-18"),
        ] {
            let reply = post.send(url);
            assert_eq!((reply.status, reply.body.as_str()), (202, ""), "{body}");
        }
        let unknown = Post::raw(body.to_string()).header("MCP-Protocol-Version", "1999");
        assert!(unknown.fails(url, 400, -32022).get("id").is_none());
    }
    std::thread::sleep(Duration::from_millis(300));
    ping().works(url);
}
