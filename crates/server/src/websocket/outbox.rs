//! What one connection still has to say. Workers fill it, one writer empties
//! it; whoever fills it faster than the peer reads has to wait, so a peer that
//! never reads costs a bounded amount of memory.

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

const ROOM: usize = 4 << 20;

/// One message on its way out.
#[derive(Debug, PartialEq)]
pub(crate) enum Outgoing {
    Text(String),
    Ping,
    Pong(Vec<u8>),
    /// The last message: code and reason.
    Close(u16, String),
}

impl Outgoing {
    fn size(&self) -> usize {
        match self {
            Outgoing::Text(text) => text.len() + 16,
            Outgoing::Ping => 16,
            Outgoing::Pong(payload) => payload.len() + 16,
            Outgoing::Close(_, reason) => reason.len() + 16,
        }
    }
}

#[derive(Default)]
struct State {
    messages: Vec<Outgoing>,
    size: usize,
    /// No more messages are taken: the last one is a close, or the peer is gone.
    ended: bool,
    /// The last one is a close.
    goodbye: bool,
}

/// The queue between the workers and the writer of one connection.
#[derive(Default)]
pub(crate) struct Outbox {
    state: Mutex<State>,
    room: Condvar,
    filled: Notify,
    emptied: Notify,
}

impl Outbox {
    /// Adds a message at once. For the connection's own task, which waits with
    /// [`Outbox::has_room`] before it makes more work.
    pub fn push(&self, message: Outgoing) {
        let mut state = self.state.lock();
        if state.ended {
            return;
        }
        state.goodbye = matches!(message, Outgoing::Close(..));
        state.ended = state.goodbye;
        state.size += message.size();
        state.messages.push(message);
        drop(state);
        self.filled.notify_one();
    }

    /// Adds a message, and blocks the calling thread while there is no room.
    pub fn push_blocking(&self, message: Outgoing) {
        let mut state = self.state.lock();
        while state.size > ROOM && !state.ended {
            self.room.wait(&mut state);
        }
        drop(state);
        self.push(message);
    }

    /// Waits until there is room, or nobody will make any.
    pub async fn has_room(&self) {
        loop {
            let emptied = self.emptied.notified();
            {
                let state = self.state.lock();
                if state.size <= ROOM || state.ended {
                    return;
                }
            }
            emptied.await;
        }
    }

    /// Takes everything that waits; `None` when nothing will come any more.
    pub async fn take(&self) -> Option<Vec<Outgoing>> {
        loop {
            let filled = self.filled.notified();
            {
                let mut state = self.state.lock();
                if !state.messages.is_empty() {
                    state.size = 0;
                    let messages = std::mem::take(&mut state.messages);
                    drop(state);
                    self.room.notify_all();
                    self.emptied.notify_waiters();
                    return Some(messages);
                }
                if state.ended {
                    return None;
                }
            }
            filled.await;
        }
    }

    /// The peer is gone: drops what waits and lets nobody wait.
    pub fn abandon(&self) {
        let mut state = self.state.lock();
        state.ended = true;
        state.messages.clear();
        state.size = 0;
        drop(state);
        self.room.notify_all();
        self.emptied.notify_waiters();
        self.filled.notify_one();
    }

    /// Whether a close was pushed.
    pub fn has_said_goodbye(&self) -> bool {
        self.state.lock().goodbye
    }

    /// Whether the last message was pushed.
    pub fn has_ended(&self) -> bool {
        self.state.lock().ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

    fn text(length: usize) -> Outgoing {
        Outgoing::Text("x".repeat(length))
    }

    #[tokio::test]
    async fn nothing_follows_a_close() {
        let outbox = Outbox::default();
        outbox.push(text(1));
        outbox.push(Outgoing::Close(1000, "bye".into()));
        outbox.push(text(2));
        outbox.push_blocking(text(3));
        let taken = outbox.take().await;
        assert_eq!(taken, Some(vec![text(1), Outgoing::Close(1000, "bye".into())]));
        assert_eq!(outbox.take().await, None);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_peer_that_does_not_read_stops_its_workers() {
        let outbox = Arc::new(Outbox::default());
        outbox.push(text(ROOM + 1));
        let worker = {
            let outbox = Arc::clone(&outbox);
            tokio::task::spawn_blocking(move || outbox.push_blocking(text(1)))
        };
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!worker.is_finished());
        assert!(tokio::time::timeout(Duration::from_millis(10), outbox.has_room()).await.is_err());
        assert_eq!(outbox.take().await.map(|taken| taken.len()), Some(1));
        worker.await.expect("the worker goes on");
        outbox.has_room().await;
        assert_eq!(outbox.take().await, Some(vec![text(1)]));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn workers_of_a_lost_peer_do_not_hang() {
        let outbox = Arc::new(Outbox::default());
        outbox.push(text(ROOM + 1));
        let worker = {
            let outbox = Arc::clone(&outbox);
            tokio::task::spawn_blocking(move || outbox.push_blocking(text(1)))
        };
        outbox.abandon();
        worker.await.expect("the worker goes on");
        assert_eq!(outbox.take().await, None);
    }
}
