//! Every answer of every version against the schema that the specification
//! publishes for that version, and every tool's answer against its own.

use crate::post::{NOW, Post};
use crate::world::{bridge, mcp_url};
use jsonschema::Validator;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

const LEGACY: [&str; 2] = ["2025-11-25", "2025-06-18"];

/// The published definitions of one version.
struct Published {
    version: &'static str,
    document: Value,
    folder: &'static str,
    /// A check takes long to make and little to run.
    made: RefCell<HashMap<String, Rc<Validator>>>,
}

impl Published {
    fn of(version: &'static str) -> Published {
        let path =
            format!("{}/../../fixtures/mcp-schema/{version}.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let document: Value = serde_json::from_str(&text).expect("JSON");
        let folder = if document.get("$defs").is_some() { "$defs" } else { "definitions" };
        Published { version, document, folder, made: RefCell::default() }
    }

    fn faults(&self, definition: &str, message: &Value) -> Vec<String> {
        let known = self.made.borrow().get(definition).cloned();
        let validator = known.unwrap_or_else(|| {
            assert!(self.document[self.folder].get(definition).is_some(), "no {definition}");
            let mut schema = self.document.clone();
            schema["$ref"] = format!("#/{}/{definition}", self.folder).into();
            let made = Rc::new(jsonschema::validator_for(&schema).expect("a schema"));
            self.made.borrow_mut().insert(definition.to_owned(), Rc::clone(&made));
            made
        });
        let told =
            |fault: jsonschema::ValidationError<'_>| format!("{}: {fault}", fault.instance_path());
        validator.iter_errors(message).map(told).collect()
    }

    fn check(&self, definition: &str, message: &Value) {
        let faults = self.faults(definition, message);
        assert!(faults.is_empty(), "{} {definition}: {faults:?}\n{message}", self.version);
    }

    fn response(&self) -> &'static str {
        if self.version == "2025-06-18" { "JSONRPCResponse" } else { "JSONRPCResultResponse" }
    }

    fn error(&self) -> &'static str {
        if self.version == "2025-06-18" { "JSONRPCError" } else { "JSONRPCErrorResponse" }
    }

    /// A request of this version.
    fn post(&self, method: &str, params: Value) -> Post {
        match self.version {
            NOW => Post::modern(method, params),
            version => Post::legacy(version, method, params),
        }
    }

    /// Asks, and holds envelope and result against their definitions.
    fn ask(&self, url: &str, method: &str, params: Value, definition: &str) -> Value {
        let reply = self.post(method, params).send(url);
        assert_eq!(reply.status, 200, "{method}: {}", reply.body);
        let mut message = reply.json();
        self.check(self.response(), &message);
        let result = message["result"].take();
        self.check(definition, &result);
        result
    }

    fn refused(&self, url: &str, post: &Post, definition: &str) {
        let message = post.send(url).json();
        assert!(message.get("error").is_some(), "{message}");
        self.check(self.error(), &message);
        self.check(definition, &message);
    }
}

fn all() -> [Published; 3] {
    [Published::of(NOW), Published::of(LEGACY[0]), Published::of(LEGACY[1])]
}

/// The listed tools by name, with a check for what each answers.
fn output_checks(tools: &Value) -> Vec<(String, Validator)> {
    let tools = tools["tools"].as_array().expect("tools");
    let check = |tool: &Value| {
        let name = tool["name"].as_str().expect("a name").to_owned();
        for schema in [&tool["inputSchema"], &tool["outputSchema"]] {
            assert!(jsonschema::meta::is_valid(schema), "{name}: {schema}");
        }
        (name, jsonschema::validator_for(&tool["outputSchema"]).expect("a schema"))
    };
    tools.iter().map(check).collect()
}

#[test]
fn the_schemas_tell_right_from_wrong() {
    for published in all() {
        let bad = json!({"tools": [{"name": 1}]});
        assert!(!published.faults("ListToolsResult", &bad).is_empty(), "{}", published.version);
    }
}

#[test]
fn every_method_of_every_version_fits_its_schema() {
    for style in ["tool_schemas=compact", "tool_schemas=full"] {
        let bridge = bridge(&[style]);
        let url = mcp_url(&bridge);
        for published in all() {
            if published.version == NOW {
                published.ask(url, "server/discover", json!({}), "DiscoverResult");
                published.ask(url, "ping", json!({}), "Result");
            } else {
                let hello = json!({"protocolVersion": published.version, "capabilities": {},
                    "clientInfo": {"name": "t", "version": "1"}});
                published.ask(url, "initialize", hello, "InitializeResult");
                published.ask(url, "ping", json!({}), "EmptyResult");
            }
            published.ask(url, "tools/list", json!({}), "ListToolsResult");
            published.ask(url, "resources/list", json!({}), "ListResourcesResult");
            published.ask(
                url,
                "resources/templates/list",
                json!({}),
                "ListResourceTemplatesResult",
            );
            let uri = json!({"uri": "ghidra-bridge://contracts/mcp-tools"});
            published.ask(url, "resources/read", uri, "ReadResourceResult");
        }
    }
}

/// Up to so many characters an answer's text is the JSON of its object.
const SMALL: usize = 1_000;

#[test]
fn every_operation_answers_in_shape() {
    for style in ["tool_schemas=compact", "tool_schemas=full"] {
        let bridge = bridge(&[style, "analysis=wait"]);
        let url = mcp_url(&bridge);
        for published in all() {
            let tools = published.ask(url, "tools/list", json!({}), "ListToolsResult");
            let checks = output_checks(&tools);
            assert_eq!(checks.len(), 15);
            let call = |name: &str, arguments: Value| {
                let params = json!({"name": name, "arguments": arguments});
                let result = published.ask(url, "tools/call", params, "CallToolResult");
                let check = &checks.iter().find(|(known, _)| known == name).expect("listed").1;
                let content = &result["structuredContent"];
                let faults: Vec<String> =
                    check.iter_errors(content).map(|fault| fault.to_string()).collect();
                assert!(faults.is_empty(), "{name} {arguments}: {faults:?}\n{content}");
                let json = content.to_string();
                let text = result["content"][0]["text"].as_str().expect("a text");
                if json.len() <= SMALL || result["isError"] == true {
                    assert_eq!(text, json);
                } else {
                    assert!(!text.is_empty() && text != json, "{name}: nothing is sent twice");
                }
                result
            };
            let domains = call("ghidra.help", json!({}));
            let mut operations = 0;
            for domain in domains["structuredContent"]["domains"].as_array().expect("domains") {
                let name = domain.as_str().expect("a name");
                let help = call("ghidra.help", json!({"domain": name}));
                for operation in help["structuredContent"]["operations"].as_array().expect("names")
                {
                    let operation = operation.as_str().expect("a name");
                    call("ghidra.help", json!({"domain": name, "operation": operation}));
                    operations += 1;
                    // Ending the session would end the test.
                    if operation == "shutdown" {
                        continue;
                    }
                    call(name, json!({"operation": operation}));
                    call(
                        name,
                        json!({"operation": operation, "params": {"selector": {"entry": "main"}}}),
                    );
                    call(
                        name,
                        json!({"operation": operation, "params": {"selector": {"address": "main"}}}),
                    );
                }
                call(name, json!({}));
                call(name, json!({"operation": "nope"}));
            }
            assert_eq!(operations, api::registry().methods().len() - 1, "all but interface.get");
            call("ghidra.help", json!({"domain": "nope"}));
        }
    }
}

#[test]
fn every_refusal_fits_its_schema() {
    let bridge = bridge(&[]);
    let url = mcp_url(&bridge);
    for published in all() {
        let error = published.error();
        for (method, params) in [
            ("no/such", json!({})),
            ("tools/call", json!({"name": "ghidra.nope"})),
            ("tools/call", json!({"name": 5})),
            ("tools/list", json!({"cursor": "x"})),
            ("resources/read", json!({"uri": "ghidra-bridge://nope"})),
        ] {
            published.refused(url, &published.post(method, params), error);
        }
        // The published schema of 2025-06-18 has no message for an unknown id.
        if published.version != "2025-06-18" {
            let version = published.version;
            for body in ["{", "[]", r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#] {
                let post = Post::raw(body).header("MCP-Protocol-Version", version);
                published.refused(url, &post, error);
            }
        }
    }
    let now = Published::of(NOW);
    let list = Post::modern("tools/list", json!({}));
    now.refused(url, &list.clone().with("Mcp-Method", "ping"), "HeaderMismatchError");
    let mut old: Value = serde_json::from_slice(&list.body).expect("JSON");
    old["params"]["_meta"] = crate::post::meta("2025-11-25");
    let old = Post { body: old.to_string().into(), ..list };
    now.refused(
        url,
        &old.with("MCP-Protocol-Version", "2025-11-25"),
        "UnsupportedProtocolVersionError",
    );
}
