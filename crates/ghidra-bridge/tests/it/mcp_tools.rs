//! The MCP methods and their results in every era.

use crate::post::Post;
use crate::raw::Socket;
use crate::world::{bridge, mcp_url, ws_url};
use serde_json::{Value, json};

const OLD: [&str; 2] = ["2025-11-25", "2025-06-18"];
const CONTRACT: &str = "ghidra-bridge://contracts/mcp-tools";

#[test]
fn results_are_dressed_for_their_era() {
    let bridge = bridge(&[]);
    let url = mcp_url(&bridge);
    let discovery = Post::modern("server/discover", json!({})).works(url);
    assert_eq!(discovery["supportedVersions"], json!(["2026-07-28"]));
    assert!(discovery["instructions"].is_string());
    assert_eq!(Post::modern("ping", json!({})).works(url), json!({"resultType": "complete"}));

    for (method, params, member) in [
        ("tools/list", json!({}), "tools"),
        ("resources/list", json!({}), "resources"),
        ("resources/templates/list", json!({}), "resourceTemplates"),
        ("resources/read", json!({ "uri": CONTRACT }), "contents"),
        ("server/discover", json!({}), "capabilities"),
    ] {
        let modern = Post::modern(method, params.clone()).works(url);
        assert_eq!(modern["resultType"], "complete", "{method}");
        assert_eq!((&modern["ttlMs"], &modern["cacheScope"]), (&json!(0), &json!("private")));
        let server = &modern["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(server["name"], "ghidra-bridge", "{method}");
        assert!(modern.get("nextCursor").is_none());
        for version in OLD.into_iter().filter(|_| method != "server/discover") {
            let legacy = Post::legacy(version, method, params.clone()).works(url);
            assert_eq!(legacy.as_object().map(|members| members.len()), Some(1), "{method}");
            assert_eq!(legacy[member], modern[member]);
        }
    }
    let call = Post::call("ghidra.help", json!({})).works(url);
    let members: Vec<_> = call.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(members, ["content", "structuredContent", "isError", "resultType"]);
}

#[test]
fn lists_have_one_page() {
    let bridge = bridge(&[]);
    let url = mcp_url(&bridge);
    for method in ["tools/list", "resources/list", "resources/templates/list"] {
        Post::modern(method, json!({"cursor": null})).works(url);
        for cursor in [json!(""), json!("x"), json!(1)] {
            Post::modern(method, json!({ "cursor": cursor })).fails(url, 400, -32602);
            Post::legacy(OLD[0], method, json!({ "cursor": cursor })).fails(url, 400, -32602);
        }
    }
}

#[test]
fn unknown_methods_and_resources() {
    let bridge = bridge(&[]);
    let url = mcp_url(&bridge);
    for method in [
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "logging/setLevel",
        "resources/subscribe",
        "subscriptions/listen",
        "tasks/get",
        "memory.read",
        "Ping",
    ] {
        Post::modern(method, json!({})).fails(url, 404, -32601);
        for version in OLD {
            Post::legacy(version, method, json!({})).fails(url, 404, -32601);
        }
    }
    let uri = json!({"uri": "ghidra-bridge://nope"});
    let modern = Post::modern("resources/read", uri.clone()).fails(url, 400, -32602);
    assert_eq!(modern["error"]["data"], uri);
    for version in OLD {
        let legacy = Post::legacy(version, "resources/read", uri.clone()).fails(url, 404, -32002);
        assert_eq!(legacy["error"]["data"], uri);
        Post::legacy(version, "resources/read", json!({})).fails(url, 400, -32602);
    }
}

#[test]
fn the_contract_can_be_read() {
    let bridge = bridge(&[]);
    let url = mcp_url(&bridge);
    let resources = Post::modern("resources/list", json!({})).works(url)["resources"].take();
    assert_eq!(resources.as_array().map(Vec::len), Some(1));
    assert_eq!(
        (&resources[0]["uri"], &resources[0]["name"]),
        (&json!(CONTRACT), &json!("mcp-tools"))
    );
    assert_eq!(resources[0]["mimeType"], "application/json");
    let read = Post::modern("resources/read", json!({ "uri": CONTRACT })).works(url);
    let content = &read["contents"][0];
    assert_eq!(content["uri"], CONTRACT);
    let text: Value = serde_json::from_str(content["text"].as_str().expect("text")).expect("JSON");
    let tools = Post::modern("tools/list", json!({})).works(url)["tools"].take();
    assert_eq!(text["tools"], tools);
    assert_eq!(tools.as_array().map(Vec::len), Some(15));
}

#[test]
fn tool_calls() {
    let bridge = bridge(&[]);
    let url = mcp_url(&bridge);
    let session = |params: Value| {
        let mut arguments = json!({"operation": "get"});
        if !params.is_null() {
            arguments["params"] = params;
        }
        json!({"name": "ghidra.bridge", "arguments": arguments})
    };
    for params in [json!(null), json!({}), json!("{}")] {
        for post in [
            Post::modern("tools/call", session(params.clone())),
            Post::legacy(OLD[0], "tools/call", session(params.clone())),
            Post::legacy(OLD[1], "tools/call", session(params.clone())),
        ] {
            let result = post.works(url);
            assert_eq!(result["isError"], false, "{result}");
            let structured = &result["structuredContent"];
            assert_eq!(structured["operation"], "get");
            assert!(structured["result"].is_object());
            assert_eq!(result["content"].as_array().map(Vec::len), Some(1));
            assert_eq!(result["content"][0]["type"], "text");
            let text = result["content"][0]["text"].as_str().expect("text");
            assert_eq!(&serde_json::from_str::<Value>(text).expect("JSON"), structured);
            assert!(!text.contains('\n'));
        }
    }
    for name in ["ghidra.nope", "nope", "other.bridge", "ghidra.interface"] {
        Post::call(name, json!({})).fails(url, 400, -32602);
        let legacy = json!({"name": name, "arguments": {}});
        Post::legacy(OLD[0], "tools/call", legacy).fails(url, 400, -32602);
    }
    for arguments in [json!([]), json!("{}"), json!(1)] {
        let call = json!({"name": "ghidra.help", "arguments": arguments});
        Post::modern("tools/call", call.clone()).fails(url, 400, -32602);
        Post::legacy(OLD[1], "tools/call", call).fails(url, 400, -32602);
    }
    Post::modern("tools/call", json!({"name": "ghidra.help", "arguments": null})).works(url);
    Post::legacy(OLD[0], "tools/call", json!({"arguments": {}})).fails(url, 400, -32602);
}

#[test]
fn tool_errors_are_results() {
    let bridge = bridge(&[]);
    let url = mcp_url(&bridge);
    for (tool, arguments, status, target) in [
        ("ghidra.memory", json!({}), 400, "/operation"),
        ("ghidra.memory", json!({"operation": "nope"}), 400, "/operation"),
        ("ghidra.memory", json!({"operation": "read", "x": 1}), 400, "/x"),
        ("ghidra.memory", json!({"operation": "read", "params": 1}), 400, "/params"),
        ("ghidra.memory", json!({"operation": "read", "params": {}}), 400, "/params/selector"),
        ("ghidra.help", json!({"operation": "read"}), 400, "/domain"),
    ] {
        let result = Post::call(tool, arguments.clone()).works(url);
        assert_eq!(result["isError"], true, "{arguments}");
        let error = &result["structuredContent"];
        assert_eq!(
            (&error["status"], &error["target"]),
            (&json!(status), &json!(target)),
            "{error}"
        );
        let members: Vec<_> = error.as_object().expect("an object").keys().collect();
        assert_eq!(members, ["status", "code", "message", "target", "details"]);
        let text = result["content"][0]["text"].as_str().expect("text");
        assert_eq!(&serde_json::from_str::<Value>(text).expect("JSON"), error);
    }
}

#[test]
fn tool_names_follow_the_arguments() {
    let bridge = bridge(&["tool_prefix=sample", "tool_names=underscore", "tool_schemas=full"]);
    let url = mcp_url(&bridge);
    let tools = Post::modern("tools/list", json!({})).works(url)["tools"].take();
    assert_eq!(tools[0]["name"], "sample_help");
    assert_eq!(tools[4]["name"], "sample_memory");
    assert!(tools[4]["inputSchema"]["oneOf"].is_array());
    for name in ["sample_help", "sample.help"] {
        let result = Post::call(name, json!({"domain": "sample.memory"})).works(url);
        assert_eq!(result["structuredContent"]["domain"], "sample_memory");
        // The header repeats the body, not the list.
        let other = if name == "sample_help" { "sample.help" } else { "sample_help" };
        Post::call(name, json!({})).with("Mcp-Name", other).fails(url, 400, -32020);
    }
    Post::call("ghidra.help", json!({})).fails(url, 400, -32602);
}

#[test]
fn read_only_cannot_be_talked_round() {
    let bridge = bridge(&["read_only=true", "analysis=wait"]);
    let url = mcp_url(&bridge);
    let tools = Post::modern("tools/list", json!({})).works(url)["tools"].take();
    let names: Vec<&str> =
        tools.as_array().into_iter().flatten().filter_map(|t| t["name"].as_str()).collect();
    assert!(!names.contains(&"ghidra.batch"));
    let rename = json!({"selector": {"entry": "main"}, "patch": {"name": "other"}});
    let item = json!({"id": "a", "method": "function.patch", "arguments": rename});
    for (tool, operation, params) in [
        ("ghidra.function", "patch", rename.clone()),
        ("ghidra.batch", "execute", json!({"items": [item], "transaction_mode": "per_item"})),
        ("ghidra.analysis", "start", json!({})),
    ] {
        let arguments = json!({"operation": operation, "params": params});
        for post in [
            Post::call(tool, arguments.clone()),
            Post::legacy(OLD[0], "tools/call", json!({"name": tool, "arguments": arguments})),
        ] {
            let result = post.works(url);
            assert_eq!(result["isError"], true, "{tool} {operation}");
            let error = &result["structuredContent"];
            assert_eq!(
                (&error["status"], &error["code"]),
                (&json!(403), &json!("read_only")),
                "{error}"
            );
        }
    }
    let mut socket = bridge.websocket().expect("a WebSocket");
    let batch = json!({"items": [{"id": "a", "method": "function.patch", "arguments": rename}]});
    for (method, params) in [("function.patch", rename.clone()), ("batch.execute", batch)] {
        let refused = socket.try_call(method, params).expect("an answer");
        assert_eq!(refused.expect_err("refused").code, "read_only", "{method}");
    }
    drop(socket);
    // A notification is answered by nobody, and must change nothing either.
    let mut socket = Socket::open(ws_url(&bridge));
    let write = json!({"jsonrpc": "2.0", "method": "function.patch", "params": rename});
    socket.send_text(&write.to_string());
    let asked = json!({"selector": {"entry": "main"}});
    let read = json!({"jsonrpc": "2.0", "id": 1, "method": "function.get", "params": asked});
    socket.send_text(&read.to_string());
    let answer = socket.frame().json();
    assert_eq!(answer["result"]["name"], "main", "{answer}");
}
