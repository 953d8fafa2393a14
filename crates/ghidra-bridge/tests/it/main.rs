//! The real program from outside: raw bytes for what must be exact, strangers'
//! clients for agreement.

mod agents;
mod budgets;
mod calls;
mod imports;
mod interrupted;
mod load;
mod long_calls;
mod mcp_eras;
mod mcp_http;
mod mcp_schema;
mod mcp_tools;
mod outbound;
mod pipes;
mod post;
mod project;
mod raw;
mod rmcp_client;
mod security;
mod shutdown;
mod startup;
mod unfinished;
mod verbs;
mod websocket_cases;
mod websocket_frames;
mod websocket_handshake;
mod websocket_messages;
mod world;
