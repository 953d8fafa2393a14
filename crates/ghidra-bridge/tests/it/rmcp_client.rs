//! A stranger's client in Rust, in every era, over both transports.

use crate::world::{bridge, mcp_url, program, sample};
use rmcp::model::{CallToolRequestParams, ProtocolVersion, ReadResourceRequestParams};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use serde_json::{Value, json};

fn modes() -> [ClientLifecycleMode; 2] {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    [ClientLifecycleMode::Discover { preferred_versions }, ClientLifecycleMode::Initialize]
}

async fn explore(client: RunningService<RoleClient, ()>) {
    let tools = client.list_tools(None).await.expect("tools").tools;
    assert_eq!(tools.len(), 15);
    assert_eq!(tools[0].name, "ghidra.help");

    let call = async |name: &'static str, arguments: Value| {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        client.call_tool(CallToolRequestParams::new(name).with_arguments(arguments)).await
    };
    let help = call("ghidra.help", json!({})).await.expect("help");
    assert_ne!(help.is_error, Some(true));
    let domains = help.structured_content.expect("an object");
    assert_eq!(domains["domains"].as_array().map(Vec::len), Some(14));
    let session = call("ghidra.bridge", json!({"operation": "get"})).await.expect("a session");
    assert_eq!(session.structured_content.expect("an object")["operation"], "get");
    let main = json!({"address": "main", "type": "plate"});
    let note = json!({"address": "main", "type": "plate", "text": "written by rmcp"});
    let write = json!({"operation": "upsert", "params": {"resource": note}});
    let written = call("ghidra.comment", write).await.expect("a write");
    assert_ne!(written.is_error, Some(true), "{written:?}");
    let read = json!({"operation": "get", "params": {"selector": main}});
    let read = call("ghidra.comment", read).await.expect("a read");
    let content = read.structured_content.expect("an object");
    assert_eq!(content["result"]["text"], "written by rmcp");
    let error = call("ghidra.memory", json!({"operation": "nope"})).await.expect("a tool error");
    assert_eq!(error.is_error, Some(true));
    assert_eq!(error.structured_content.expect("an object")["target"], "/operation");
    let unknown = call("ghidra.nope", json!({})).await.expect_err("no such tool");
    assert!(unknown.to_string().contains("-32602") || format!("{unknown:?}").contains("-32602"));

    let resources = client.list_resources(None).await.expect("resources").resources;
    assert_eq!(resources.len(), 1);
    let uri = "ghidra-bridge://contracts/mcp-tools";
    let read = client.read_resource(ReadResourceRequestParams::new(uri)).await.expect("content");
    assert_eq!(read.contents.len(), 1);
    client.cancel().await.expect("it ends");
}

#[tokio::test]
async fn over_http() {
    let bridge = bridge(&["analysis=wait"]);
    for mode in modes() {
        let transport = StreamableHttpClientTransport::from_uri(mcp_url(&bridge));
        explore(().serve_with_lifecycle(transport, mode).await.expect("connected")).await;
    }
}

#[tokio::test]
async fn over_pipes() {
    for mode in modes() {
        let mut command = tokio::process::Command::new(program());
        command.arg("stdio").arg(sample()).args(["project=none", "analysis=wait"]);
        let transport = TokioChildProcess::new(command).expect("it starts");
        explore(().serve_with_lifecycle(transport, mode).await.expect("connected")).await;
    }
}
