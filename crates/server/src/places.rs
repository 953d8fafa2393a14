//! Places for connections: so many at once, and who gives way when all are taken.
//!
//! A connection without a request in progress gives its place to a new one when none is free, the
//! one first that has been idle longest: clients that connect and stay silent keep nobody out.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// A connection may stay idle for this long whatever happens: its last answer is on the way.
const GRACE: Duration = Duration::from_millis(250);

/// All places.
pub(crate) struct Places {
    most: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    next: u64,
    connections: HashMap<u64, Arc<Connection>>,
}

struct Connection {
    requests: AtomicUsize,
    idle_since: Mutex<Instant>,
    give_way: Notify,
}

/// One connection's place, free again when dropped.
pub(crate) struct Place {
    id: u64,
    places: Arc<Places>,
    connection: Arc<Connection>,
}

/// A request in progress: as long as it lives its connection keeps the place.
pub(crate) struct Busy(Arc<Connection>);

impl Places {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Places { most, taken: Mutex::default() })
    }

    /// A place for a new connection; `None` when requests are in progress on all others. Cost:
    /// linear in the connections when all places are taken.
    pub(crate) fn take(self: &Arc<Self>) -> Option<Place> {
        let mut taken = self.taken.lock();
        if taken.connections.len() >= self.most {
            let idle = taken.connections.iter().filter_map(|(id, c)| Some((c.idle_since()?, *id)));
            let (since, id) = idle.min()?;
            if since.elapsed() < GRACE {
                return None;
            }
            taken.connections.remove(&id)?.give_way.notify_one();
        }
        let id = taken.next;
        taken.next += 1;
        let connection = Arc::new(Connection {
            requests: AtomicUsize::new(0),
            idle_since: Mutex::new(Instant::now()),
            give_way: Notify::new(),
        });
        taken.connections.insert(id, Arc::clone(&connection));
        Some(Place { id, places: Arc::clone(self), connection })
    }
}

impl Connection {
    fn idle_since(&self) -> Option<Instant> {
        (self.requests.load(Ordering::Acquire) == 0).then(|| *self.idle_since.lock())
    }
}

impl Place {
    /// Marks the connection as busy with a request.
    pub(crate) fn busy(&self) -> Busy {
        self.connection.requests.fetch_add(1, Ordering::AcqRel);
        Busy(Arc::clone(&self.connection))
    }

    /// Whether a request is in progress.
    pub(crate) fn is_busy(&self) -> bool {
        self.connection.idle_since().is_none()
    }

    /// Comes back when another connection needs the place.
    pub(crate) async fn needed(&self) {
        self.connection.give_way.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.taken.lock().connections.remove(&self.id);
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        *self.0.idle_since.lock() = Instant::now();
        self.0.requests.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle_for(place: &Place, time: Duration) {
        *place.connection.idle_since.lock() = Instant::now() - time;
    }

    #[tokio::test]
    async fn the_connection_that_is_idle_longest_gives_way() {
        let places = Places::new(3);
        let held: Vec<Place> = (0..3).filter_map(|_| places.take()).collect();
        assert!(places.take().is_none(), "all were used a moment ago");
        idle_for(&held[0], 2 * GRACE);
        idle_for(&held[1], 4 * GRACE);
        idle_for(&held[2], 9 * GRACE);
        let busy = held[2].busy();
        let fourth = places.take().expect("two are idle");
        held[1].needed().await;
        assert!(!held[1].is_busy() && held[2].is_busy());
        let fifth = places.take().expect("one is idle");
        held[0].needed().await;
        assert!(places.take().is_none(), "one is busy, two are new");
        drop(fifth);
        assert!(places.take().is_some());
        drop((busy, fourth));
        drop(held);
        assert!(places.taken.lock().connections.is_empty(), "nothing stays behind");
    }
}
