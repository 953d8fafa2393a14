//! Ctrl-C while files are written: the work ends, and what was begun is taken away again.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Exit code of a process that a second signal ends at once.
const ENDED_BY_SIGNAL: i32 = 130;

/// Begins to watch for signals; the first is told by [`is_interrupted`], the second ends the process.
pub fn watch() {
    static WATCHED: OnceLock<()> = OnceLock::new();
    WATCHED.get_or_init(|| {
        let (ready, is_ready) = std::sync::mpsc::channel::<()>();
        // Without a watcher signals end the process as ever.
        let _ = std::thread::Builder::new().spawn(move || {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build()
            else {
                return;
            };
            runtime.block_on(async {
                let mut signals = server::Signals::catch();
                drop(ready);
                signals.next().await;
                INTERRUPTED.store(true, Ordering::Relaxed);
                signals.next().await;
                std::process::exit(ENDED_BY_SIGNAL);
            });
        });
        // Until the watcher watches, or is not there.
        let _: Result<(), _> = is_ready.recv();
    });
}

/// Whether a signal came since [`watch`].
pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
