//! Sockets: WebSocket, MCP over HTTP and stdio, authentication, configuration, shutdown.
