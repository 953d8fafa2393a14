//! Deferred calls: those that wait for the end of analysis, without a thread.

use crate::lane::Held;
use crate::service::Service;
use api::CallContext;
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a held call looks for the end of analysis, and for its client.
const LOOK: Duration = Duration::from_millis(25);

/// What a call waits for, if it asked to wait and analysis runs.
pub(crate) fn held(
    service: &Arc<Service>,
    method: &str,
    params: &Value,
    context: &CallContext,
) -> Option<Held> {
    let until = service.bridge.held_until(method, params, context)?;
    let (service, cancel) = (Arc::clone(service), context.cancel.clone());
    Some(Box::pin(async move {
        while service.bridge.analysis_runs() && !cancel.is_cancelled() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(LOOK)).await;
        }
    }))
}
