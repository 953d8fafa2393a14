//! The smallest server of the official Rust SDK, for trying the probe on it: over its
//! standard streams, or with `--http [PORT]` over HTTP, on a free port when none is named.

use axum::serve::ListenerExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use std::error::Error;

#[derive(Clone)]
struct Doubler;

impl ServerHandler for Doubler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = serde_json::json!({
            "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
        });
        let schema = schema.as_object().cloned().unwrap_or_default();
        let tools = vec![Tool::new("double", "Doubles.", std::sync::Arc::new(schema))];
        Ok(ListToolsResult { tools, ..Default::default() })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != "double" {
            return Err(ErrorData::invalid_params("no such tool", None));
        }
        let n = request.arguments.as_ref().and_then(|arguments| arguments.get("n")?.as_i64());
        let n = n.ok_or(ErrorData::invalid_params("n must be a whole number", None))?;
        let text = n.saturating_mul(2).to_string();
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() != Some("--http") {
        Doubler.serve(rmcp::transport::stdio()).await?.waiting().await?;
        return Ok(());
    }
    let port: u16 = std::env::args().nth(2).map_or(Ok(0), |port| port.parse())?;
    let service = StreamableHttpService::new(
        || Ok(Doubler),
        LocalSessionManager::default().into(),
        StreamableHttpServerConfig::default().with_json_response(true),
    );
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    let listener = listener.tap_io(|stream| {
        // An answer in two parts would wait for the client's acknowledgement.
        let _ = stream.set_nodelay(true);
    });
    Ok(axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?)
}
