//! MCP over pipes: one message a line, any era, nothing but protocol.

use crate::world::{program, sample};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

struct Pipes {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Pipes {
    fn start(arguments: &[&str]) -> Pipes {
        let sample = sample();
        let file = sample.to_str().expect("a name");
        Pipes::run(&[&["stdio", file, "project=none"], arguments].concat())
    }

    fn run(arguments: &[&str]) -> Pipes {
        let mut child = Command::new(program())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Pipes { child, input, output }
    }

    fn send(&mut self, line: &str) {
        let input = self.input.as_mut().expect("open");
        input.write_all(line.as_bytes()).and_then(|()| input.write_all(b"\n")).expect("it reads");
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not protocol: {line:?}"))
    }

    fn ask(&mut self, message: Value) -> Value {
        self.send(&message.to_string());
        self.read()
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        let reply =
            self.ask(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}));
        assert_eq!(reply["id"], 1, "{reply}");
        reply
    }

    fn code(&mut self, method: &str, params: Value) -> i64 {
        let reply = self.request(method, params);
        reply["error"]["code"].as_i64().unwrap_or_else(|| panic!("an error, not {reply}"))
    }

    /// Ends the input; gives what is still written and how long it took.
    fn end(mut self) -> (String, Duration) {
        let began = Instant::now();
        drop(self.input.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("text");
        assert!(self.child.wait().expect("a child").success(), "exit 0");
        (rest, began.elapsed())
    }
}

fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

#[test]
fn modern_requests_need_no_handshake() {
    let mut pipes = Pipes::start(&[]);
    let discovery = pipes.request("server/discover", modern(json!({})));
    assert_eq!(discovery["result"]["supportedVersions"], json!(["2026-07-28"]));
    let tools = pipes.request("tools/list", modern(json!({})));
    assert_eq!(tools["result"]["tools"].as_array().map(Vec::len), Some(15));
    assert_eq!(tools["result"]["resultType"], "complete");
    let help = pipes.request("tools/call", modern(json!({"name": "ghidra.help"})));
    assert_eq!(help["result"]["isError"], false);
    assert_eq!(pipes.code("initialize", modern(json!({"protocolVersion": "2025-11-25"}))), -32601);
    let (rest, took) = pipes.end();
    assert_eq!(rest, "");
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[test]
fn the_handshake_is_remembered() {
    let mut pipes = Pipes::start(&[]);
    assert_eq!(pipes.code("tools/list", json!({})), -32602, "no version yet");
    assert_eq!(pipes.code("server/discover", json!({})), -32602);
    assert_eq!(pipes.request("ping", json!({}))["result"], json!({}), "a bare ping is fine");
    let hello = pipes.request("initialize", json!({"protocolVersion": "2025-06-18"}));
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(hello["result"]["serverInfo"]["name"], "ghidra-bridge");
    assert!(hello["result"].get("resultType").is_none());
    pipes.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let tools = pipes.request("tools/list", json!({}));
    assert_eq!(tools["result"].as_object().map(serde_json::Map::len), Some(1), "bare");
    assert_eq!(pipes.request("ping", json!({}))["result"], json!({}));
    assert_eq!(pipes.code("server/discover", json!({})), -32601);
    // The other era still works, and the handshake may be repeated.
    assert_eq!(
        pipes.request("ping", modern(json!({})))["result"],
        json!({"resultType": "complete"})
    );
    let hello = pipes.request("initialize", json!({"protocolVersion": "1999"}));
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
    pipes.end();
}

#[test]
fn codes_are_those_of_http() {
    let mut pipes = Pipes::start(&[]);
    let uri = json!({"uri": "ghidra-bridge://nope"});
    assert_eq!(pipes.code("resources/read", modern(uri.clone())), -32602);
    assert_eq!(pipes.code("tools/call", modern(json!({"name": "ghidra.nope"}))), -32602);
    assert_eq!(pipes.code("prompts/list", modern(json!({}))), -32601);
    let old = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2025-11-25",
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let reply = pipes.request("tools/list", old);
    assert_eq!(reply["error"]["code"], -32022);
    let data = json!({"supported": ["2026-07-28"], "requested": "2025-11-25"});
    assert_eq!(reply["error"]["data"], data);
    pipes.request("initialize", json!({"protocolVersion": "2025-11-25"}));
    assert_eq!(pipes.code("resources/read", uri), -32002);
    pipes.end();
}

#[test]
fn garbage_does_no_harm() {
    let mut pipes = Pipes::start(&["max_body=2k"]);
    for (line, code) in [
        ("{", -32700),
        ("hello", -32700),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, -32600),
        (&"x".repeat(5000), -32600),
    ] {
        pipes.send(line);
        let reply = pipes.read();
        assert_eq!(reply["error"]["code"], code, "{line}");
        assert!(reply.get("id").is_none(), "{reply}");
    }
    pipes.send("");
    pipes.send("  \t ");
    pipes.send(r#"{"jsonrpc":"2.0","method":"no/such"}"#);
    pipes.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#);
    let input = pipes.input.as_mut().expect("open");
    input.write_all(b"\xff\xfe\n").expect("it reads");
    assert_eq!(pipes.read()["error"]["code"], -32700, "not UTF-8");
    assert_eq!(pipes.request("ping", json!({}))["result"], json!({}));
    // For the version that wants it, the missing id is null.
    pipes.request("initialize", json!({"protocolVersion": "2025-06-18"}));
    pipes.send("{");
    assert_eq!(pipes.read().get("id"), Some(&Value::Null));
    pipes.end();
}

#[test]
fn what_was_asked_before_the_end_is_answered() {
    let mut pipes = Pipes::start(&[]);
    for id in 0..50 {
        let params = modern(json!({"name": "ghidra.bridge", "arguments": {"operation": "get"}}));
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        pipes.send(&request.to_string());
    }
    let (rest, _) = pipes.end();
    let mut ids: Vec<i64> = rest
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).expect("protocol")["id"].as_i64().expect("an id")
        })
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..50).collect::<Vec<_>>());
}

#[test]
fn a_client_can_end_the_session() {
    let mut pipes = Pipes::start(&[]);
    let params = modern(json!({"name": "ghidra.bridge", "arguments": {"operation": "shutdown"}}));
    let reply = pipes.request("tools/call", params);
    assert_eq!(reply["result"]["structuredContent"]["result"], json!({"shutdown": true}));
    assert!(pipes.child.wait().expect("a child").success());
}

#[test]
fn without_a_file_every_answer_says_how_to_name_one() {
    for arguments in [&["stdio"][..], &["--stdio"], &["stdio", "tool_schemas=full"]] {
        let mut pipes = Pipes::run(arguments);
        pipes.request("server/discover", modern(json!({})));
        let tools = pipes.request("tools/list", modern(json!({})));
        assert_eq!(tools["result"]["tools"].as_array().map(Vec::len), Some(15));
        let mut call = |tool: &str, operation: &str, params: Value| {
            let arguments = json!({"operation": operation, "params": params});
            let call = modern(json!({"name": tool, "arguments": arguments}));
            pipes.request("tools/call", call)["result"].take()
        };
        let address = json!({"selector": {"address": "main"}});
        for (tool, operation, params) in [
            ("ghidra.program", "get", json!({})),
            ("ghidra.function", "list", json!({})),
            ("ghidra.analysis", "get", json!({})),
            ("ghidra.address", "resolve", json!({"selector": {"address": "main"}})),
            ("ghidra.listing", "instruction.get", address),
        ] {
            let result = call(tool, operation, params);
            let error = &result["structuredContent"];
            if error["code"] == "invalid_enum" || error["code"] == "missing_field" {
                panic!("the test asks wrongly: {error}");
            }
            assert_eq!(result["isError"], true, "{result}");
            assert_eq!(
                (&error["status"], &error["code"]),
                (&json!(409), &json!("program_not_open"))
            );
            assert_eq!(error["target"], "/operation");
            let message = error["message"].as_str().expect("a message");
            assert!(message.contains("ghidra-bridge stdio FILE"), "{message}");
        }
        // What needs no program works, and so does help.
        let session = call("ghidra.bridge", "get", json!({}));
        assert_eq!(session["structuredContent"]["result"]["program_name"], "");
        let help = pipes.request("tools/call", modern(json!({"name": "ghidra.help"})));
        assert_eq!(help["result"]["isError"], false);
        let (rest, took) = pipes.end();
        assert_eq!(rest, "");
        assert!(took < Duration::from_secs(3), "{took:?}");
    }
    // A batch cannot get round it.
    let mut pipes = Pipes::run(&["stdio"]);
    let item = json!({"method": "program.get", "arguments": {}});
    let params = json!({"items": [item]});
    let call = modern(
        json!({"name": "ghidra.batch", "arguments": {"operation": "execute", "params": params}}),
    );
    let reply = pipes.request("tools/call", call);
    assert!(reply.to_string().contains("program_not_open"), "{reply}");
    pipes.end();
}

#[test]
fn a_wrong_path_is_told_by_every_answer() {
    let mut pipes = Pipes::run(&["stdio", "/nonexistent/program", "project=none"]);
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}});
    assert!(pipes.request("initialize", hello)["result"].is_object());
    for (tool, operation) in [("ghidra.function", "list"), ("ghidra.program", "get")] {
        let call = json!({"name": tool, "arguments": {"operation": operation}});
        let answer = pipes.request("tools/call", call);
        let error = &answer["result"]["structuredContent"];
        assert_eq!((&error["status"], &error["code"]), (&json!(409), &json!("program_not_open")));
        let message = error["message"].as_str().expect("a sentence");
        assert!(message.contains("/nonexistent/program"), "{message}");
        assert!(message.contains("start it again"), "{message}");
    }
}
