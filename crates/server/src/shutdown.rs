//! How everything ends: one signal that every transport watches, raised by a
//! termination signal, by an accepted `session.shutdown` or by a closed pipe.

use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Raised once, seen by all clones.
#[derive(Clone, Debug, Default)]
pub struct Stop(CancellationToken);

impl Stop {
    /// A signal that is not raised.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Raises it.
    pub fn stop(&self) {
        self.0.cancel();
    }

    /// Raises it a little later, so that an answer still gets out.
    pub(crate) fn stop_soon(&self) {
        let stop = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            stop.stop();
        });
    }

    /// Whether it was raised.
    pub fn is_stopped(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until it is raised.
    pub async fn stopped(&self) {
        self.0.cancelled().await;
    }
}

/// Raises the signal on SIGINT and SIGTERM (Ctrl-C where there are no signals).
pub async fn watch_signals(stop: Stop) {
    tokio::select! {
        () = termination() => stop.stop(),
        () = stop.stopped() => {}
    }
}

#[cfg(unix)]
async fn termination() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

#[cfg(not(unix))]
async fn termination() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
