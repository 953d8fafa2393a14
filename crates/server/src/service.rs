//! What every transport shares: the open program, the tools, the rules of
//! admission, the log and the signal that ends it all.

use crate::auth::Token;
use crate::config::{Config, Limits};
use crate::log::RequestLog;
use crate::mcp::tools::Catalog;
use crate::shutdown::Stop;
use api::Bridge;
use std::sync::Arc;

/// One served program.
pub struct Service {
    pub(crate) bridge: Arc<Bridge>,
    pub(crate) catalog: Catalog,
    pub(crate) token: Option<Token>,
    pub(crate) limits: Limits,
    pub(crate) log: RequestLog,
    pub(crate) stop: Stop,
    /// Makes every request hit a fault, to see what clients get then.
    #[cfg(test)]
    pub(crate) faulty: std::sync::atomic::AtomicBool,
}

impl Service {
    /// Puts a program behind the rules of a configuration.
    pub fn new(bridge: Arc<Bridge>, config: &Config, log: RequestLog, stop: Stop) -> Arc<Service> {
        Arc::new(Service {
            catalog: Catalog::new(bridge.registry(), config.tools.clone(), config.read_only),
            bridge,
            token: config.token.clone(),
            limits: config.limits,
            log,
            stop,
            #[cfg(test)]
            faulty: std::sync::atomic::AtomicBool::new(false),
        })
    }

    #[cfg(test)]
    pub(crate) fn fail_if_told(&self) {
        let faulty = self.faulty.load(std::sync::atomic::Ordering::Relaxed);
        assert!(!faulty, "a fault with a secret detail");
    }

    /// The session's id.
    pub fn session_id(&self) -> &str {
        self.bridge.session_id()
    }

    /// Name of the open program.
    pub fn program_name(&self) -> String {
        self.bridge.program_name()
    }

    /// The signal that ends it.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Whether a method may change anything, the session included.
    pub(crate) fn changes_something(&self, method: &str) -> bool {
        self.bridge.registry().find(method).is_some_and(|method| !method.effects().read_only)
    }
}
