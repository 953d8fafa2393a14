//! A served program: the bound listeners, and the tasks behind them.

use crate::config::{Command, Config};
use crate::listen::{self, BindError};
use crate::service::Service;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long open connections may take to end.
const FAREWELL: Duration = Duration::from_secs(15);

/// The transports at work.
pub struct Running {
    /// URL of the WebSocket, when it is served.
    pub websocket: Option<String>,
    /// URL of MCP, when it is served.
    pub mcp: Option<String>,
    tasks: JoinSet<()>,
}

/// Listeners that are bound but do not answer yet.
pub struct Bound {
    websocket: Option<TcpListener>,
    mcp: Option<TcpListener>,
}

impl Bound {
    /// Takes the ports of a configuration.
    pub async fn take(config: &Config) -> Result<Bound, BindError> {
        let (ws_key, mcp_key) = match config.command {
            Command::Serve => ("ws_port", "mcp_port"),
            _ => ("port", "port"),
        };
        let websocket = match &config.websocket {
            Some(endpoint) => Some(listen::bind(endpoint, ws_key).await?),
            None => None,
        };
        let mcp = match &config.mcp {
            Some(endpoint) => Some(listen::bind(endpoint, mcp_key).await?),
            None => None,
        };
        Ok(Bound { websocket, mcp })
    }

    /// Starts to answer.
    pub fn serve(self, config: &Config, service: &Arc<Service>) -> Running {
        let mut running = Running { websocket: None, mcp: None, tasks: JoinSet::new() };
        if let (Some(listener), Some(endpoint)) = (self.websocket, &config.websocket) {
            running.websocket = url("ws", &listener, &endpoint.path);
            let (host, path) = (endpoint.host.clone(), endpoint.path.clone());
            running.tasks.spawn(crate::websocket::serve(listener, host, path, Arc::clone(service)));
        }
        if let (Some(listener), Some(endpoint)) = (self.mcp, &config.mcp) {
            running.mcp = url("http", &listener, &endpoint.path);
            let (host, path) = (endpoint.host.clone(), endpoint.path.clone());
            let task = crate::mcp::listener::serve(listener, host, path, Arc::clone(service));
            running.tasks.spawn(task);
        }
        running
    }
}

fn url(scheme: &str, listener: &TcpListener, path: &str) -> Option<String> {
    let address: SocketAddr = listener.local_addr().ok()?;
    Some(format!("{scheme}://{address}{path}"))
}

impl Running {
    /// Waits until the service stops and its connections have ended.
    pub async fn finish(mut self, service: &Service) {
        service.stop.stopped().await;
        let all = async { while self.tasks.join_next().await.is_some() {} };
        let _ = timeout(FAREWELL, all).await;
    }
}
