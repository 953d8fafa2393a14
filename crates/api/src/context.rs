//! What comes with a call besides its parameters: the transport and a way to give it up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Where a call came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A WebSocket client, by dotted method name.
    WebSocket,
    /// An MCP client, through a domain tool.
    Mcp,
}

/// Lets a transport give up a running call; all clones share one state.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that is not cancelled.
    #[must_use]
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Asks the call to stop; it may still finish.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True once [`CancelToken::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The shared flag, for layers that know no token.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

/// What comes with one call.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// Where the call came from.
    pub transport: Transport,
    /// Cancelled when the client is gone.
    pub cancel: CancelToken,
    /// When the call came in; what it waits for counts from here.
    pub arrived: Instant,
}

impl CallContext {
    /// A context with a fresh token.
    #[must_use]
    pub fn new(transport: Transport) -> CallContext {
        CallContext::with(transport, CancelToken::new())
    }

    /// A context of a call that came in now.
    #[must_use]
    pub fn with(transport: Transport, cancel: CancelToken) -> CallContext {
        CallContext { transport, cancel, arrived: Instant::now() }
    }
}
