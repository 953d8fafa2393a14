//! JSON-RPC 2.0 envelopes: strict parsing, printing, error codes. No sockets.
