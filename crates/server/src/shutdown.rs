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

/// The signals that end programs: SIGINT and SIGTERM, Ctrl-C where there are none.
/// They are caught from the moment this is made, not only while somebody waits.
pub struct Signals {
    #[cfg(unix)]
    caught: Option<[tokio::signal::unix::Signal; 2]>,
}

impl Signals {
    /// Begins to catch them. Must be called inside of the runtime.
    #[cfg(unix)]
    pub fn catch() -> Signals {
        use tokio::signal::unix::{SignalKind, signal};
        let interrupt = signal(SignalKind::interrupt());
        let terminate = signal(SignalKind::terminate());
        Signals { caught: interrupt.ok().zip(terminate.ok()).map(|(a, b)| [a, b]) }
    }

    /// Begins to catch them. Must be called inside of the runtime.
    #[cfg(not(unix))]
    pub fn catch() -> Signals {
        Signals {}
    }

    /// Waits for the next one; forever where none can be caught.
    #[cfg(unix)]
    pub async fn next(&mut self) {
        let Some([interrupt, terminate]) = &mut self.caught else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }

    /// Waits for the next one; forever where none can be caught.
    #[cfg(not(unix))]
    pub async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
