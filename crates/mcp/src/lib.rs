//! Model Context Protocol messages: versions, metadata, headers, results. No sockets.
