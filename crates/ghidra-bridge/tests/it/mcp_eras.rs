//! Envelopes, versions and metadata of MCP requests.

use crate::post::{NOW, Post, meta};
use crate::world::{bridge, mcp_url};
use serde_json::{Value, json};

#[test]
fn bad_envelopes() {
    let bridge = bridge(&[]);
    let url = mcp_url(&bridge);
    for (body, code, id) in [
        ("{", -32700, None),
        ("", -32700, None),
        ("{} {}", -32700, None),
        (r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}"#, -32700, None),
        ("[]", -32600, None),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, None),
        ("null", -32600, None),
        ("\"x\"", -32600, None),
        (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, -32600, Some(json!("a"))),
        (r#"{"id":5,"method":"ping"}"#, -32600, Some(json!(5))),
        (r#"{"jsonrpc":"2.0","id":5}"#, -32600, Some(json!(5))),
        (r#"{"jsonrpc":"2.0","id":5,"method":1}"#, -32600, Some(json!(5))),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":5,"method":"ping","params":[]}"#, -32602, Some(json!(5))),
        (r#"{"jsonrpc":"2.0","id":5,"method":"ping","params":null}"#, -32602, Some(json!(5))),
    ] {
        let reply =
            Post::raw(body).header("MCP-Protocol-Version", "2025-11-25").fails(url, 400, code);
        assert_eq!(reply.get("id"), id.as_ref(), "{body}");
        let reply = Post::raw(body).fails(url, 400, code);
        assert_eq!(reply.get("id"), id.as_ref(), "{body}");
        // Only one version writes a missing id as null.
        let reply =
            Post::raw(body).header("MCP-Protocol-Version", "2025-06-18").fails(url, 400, code);
        assert_eq!(reply.get("id"), Some(&id.unwrap_or(Value::Null)), "{body}");
    }
    let hello = r#"{"jsonrpc":"2.0","id":null,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
    assert_eq!(Post::raw(hello).fails(url, 400, -32600).get("id"), Some(&Value::Null));
    Post::raw(b"\xff{}".to_vec()).fails(url, 400, -32700);
}

#[test]
fn ids_are_echoed() {
    let bridge = bridge(&[]);
    let url = mcp_url(&bridge);
    for id in ["0", "-1", "9223372036854775807", "\"\"", "\"1\"", "\"\u{e9}\""] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping","extra":1}}"#);
        let reply = Post::raw(body).header("MCP-Protocol-Version", "2025-11-25").send(url);
        assert_eq!(reply.body, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"no/such"}}"#);
        let reply = Post::raw(body).header("MCP-Protocol-Version", "2025-06-18").send(url);
        assert!(reply.body.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":"#)));
    }
}

#[test]
fn handshakes() {
    let bridge = bridge(&[]);
    let url = mcp_url(&bridge);
    let hello = |version: &str| {
        let client = json!({"name": "t", "version": "1"});
        Post::bare(
            "initialize",
            json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client}),
        )
    };
    for (wanted, settled) in [
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
        ("1999", "2025-11-25"),
    ] {
        let result = hello(wanted).works(url);
        assert_eq!(result["protocolVersion"], settled, "{wanted}");
        assert_eq!(result["serverInfo"]["name"], "ghidra-bridge");
        assert!(result["serverInfo"]["version"].is_string());
        let capabilities =
            json!({"tools": {"listChanged": false}, "resources": {"listChanged": false}});
        assert_eq!(result["capabilities"], capabilities);
        assert!(result.get("resultType").is_none() && result.get("_meta").is_none());
    }
    let crossed = hello("2025-11-25").header("MCP-Protocol-Version", "2025-06-18").works(url);
    assert_eq!(crossed["protocolVersion"], "2025-11-25");
    hello("2025-11-25").header("MCP-Protocol-Version", "1999").fails(url, 400, -32022);
    hello("2025-11-25").header("MCP-Protocol-Version", NOW).fails(url, 400, -32602);
    Post::bare("initialize", json!({})).fails(url, 400, -32602);
    Post::bare("initialize", json!({"protocolVersion": 1})).fails(url, 400, -32602);
    Post::modern("initialize", json!({"protocolVersion": "2025-11-25"})).fails(url, 404, -32601);
}

#[test]
fn requests_without_metadata() {
    let bridge = bridge(&[]);
    let url = mcp_url(&bridge);
    Post::bare("tools/list", json!({})).fails(url, 400, -32602);
    Post::bare("ping", json!({})).fails(url, 400, -32602);
    for version in ["2025-11-25", "2025-06-18"] {
        let result = Post::legacy(version, "tools/list", json!({})).works(url);
        assert_eq!(result.as_object().map(|members| members.len()), Some(1), "nothing but tools");
        let token = json!({"_meta": {"progressToken": 1, "traceparent": "x"}});
        Post::legacy(version, "tools/list", token).works(url);
        assert_eq!(Post::legacy(version, "ping", json!({})).works(url), json!({}));
        Post::legacy(version, "server/discover", json!({})).fails(url, 404, -32601);
    }
    Post::legacy(NOW, "tools/list", json!({})).fails(url, 400, -32602);
    for version in ["2025-03-26", "2024-11-05", "1999", ""] {
        let reply = Post::legacy(version, "tools/list", json!({})).fails(url, 400, -32022);
        assert_eq!(
            reply["error"]["data"],
            json!({"supported": ["2026-07-28", "2025-11-25", "2025-06-18"], "requested": version})
        );
    }
    let twice = Post::legacy("2025-11-25", "ping", json!({}));
    twice.header("MCP-Protocol-Version", "2025-11-25").fails(url, 400, -32020);
}

#[test]
fn modern_metadata() {
    let bridge = bridge(&[]);
    let url = mcp_url(&bridge);
    let discover = Post::modern("server/discover", json!({}));
    discover.works(url);
    let with = |params: Value| {
        Post::legacy(NOW, "server/discover", params).header("Mcp-Method", "server/discover")
    };
    let key = |name: &str| format!("io.modelcontextprotocol/{name}");
    let cut = |name: &str| {
        let mut meta = meta(NOW);
        meta.as_object_mut().expect("an object").shift_remove(&key(name));
        with(json!({ "_meta": meta }))
    };
    let set = |name: &str, value: Value| {
        let mut meta = meta(NOW);
        meta[key(name)] = value;
        with(json!({ "_meta": meta }))
    };
    with(json!({})).fails(url, 400, -32602);
    with(json!({"_meta": []})).fails(url, 400, -32602);
    cut("protocolVersion").fails(url, 400, -32602);
    cut("clientCapabilities").fails(url, 400, -32602);
    cut("clientInfo").works(url);
    set("protocolVersion", json!(1)).fails(url, 400, -32602);
    set("clientCapabilities", json!([])).fails(url, 400, -32602);
    set("clientInfo", json!("x")).fails(url, 400, -32602);

    discover.clone().without("MCP-Protocol-Version").fails(url, 400, -32020);
    discover.clone().with("MCP-Protocol-Version", "2025-11-25").fails(url, 400, -32020);
    set("protocolVersion", json!("v999")).fails(url, 400, -32020);
    discover.clone().without("Mcp-Method").fails(url, 400, -32020);
    discover.clone().with("Mcp-Method", "tools/list").fails(url, 400, -32020);
    discover.clone().with("Mcp-Method", "SERVER/DISCOVER").fails(url, 400, -32020);
    discover.clone().header("Mcp-Method", "server/discover").fails(url, 400, -32020);
    discover.clone().header("Mcp-Name", "anything").works(url);
    discover.clone().header("Mcp-Param-X", "anything").works(url);

    for version in ["1900-01-01", "2025-11-25", "2024-11-05"] {
        let both = set("protocolVersion", json!(version)).with("MCP-Protocol-Version", version);
        let reply = both.fails(url, 400, -32022);
        let data = json!({"supported": ["2026-07-28"], "requested": version});
        assert_eq!(reply["error"]["data"], data);
        assert_eq!(reply["id"], 1);
    }
}

#[test]
fn names_are_repeated_in_a_header() {
    let bridge = bridge(&[]);
    let url = mcp_url(&bridge);
    let call = Post::call("ghidra.help", json!({}));
    call.works(url);
    let named = |value: &str| call.clone().with("Mcp-Name", value);
    named("  ghidra.help \t").works(url);
    named("=?base64?Z2hpZHJhLmhlbHA=?=").works(url);
    call.clone().without("Mcp-Name").header("mCP-nAME", "ghidra.help").works(url);
    call.clone().with("Mcp-Method", "=?base64?dG9vbHMvY2FsbA==?=").works(url);

    call.clone().without("Mcp-Name").fails(url, 400, -32020);
    for wrong in [
        "ghidra.memory",
        "GHIDRA.HELP",
        "ghidra_help",
        "",
        "=?base64?Z2hpZHJhLmhlbHA?=",
        "=?BASE64?Z2hpZHJhLmhlbHA=?=",
        "=?base64?Z2hpZHJhLmhlbHA=",
        "=?base64?!?=",
        "gr\u{fc}n",
    ] {
        named(wrong).fails(url, 400, -32020);
    }
    call.clone().header("Mcp-Name", "ghidra.help").fails(url, 400, -32020);
    let mut raw = call.clone().without("Mcp-Name");
    raw.headers.push(("Mcp-Name".into(), b"ghidra.help\xff".to_vec()));
    raw.fails(url, 400, -32020);

    // The name itself is looked at first.
    for name in [json!(1), json!(""), json!(" ")] {
        let post = Post::modern("tools/call", json!({"name": name})).with("Mcp-Name", "x");
        post.fails(url, 400, -32602);
    }
    Post::modern("tools/call", json!({})).fails(url, 400, -32602);

    let uri = "ghidra-bridge://contracts/mcp-tools";
    let read = Post::modern("resources/read", json!({ "uri": uri }));
    read.works(url);
    read.clone().without("Mcp-Name").fails(url, 400, -32020);
    read.with("Mcp-Name", "ghidra-bridge://contracts").fails(url, 400, -32020);
    // Legacy requests have no such duty.
    let help = json!({"name": "ghidra.help", "arguments": {}});
    Post::legacy("2025-11-25", "tools/call", help).works(url);
}
