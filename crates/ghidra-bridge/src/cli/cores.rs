//! Work on all cores whose results come in order: workers run ahead of whoever takes the results
//! by a bounded number of items.

use super::STACK;
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// How many items a worker may be ahead of the last one taken.
const AHEAD: usize = 1024;

struct State<T> {
    next: usize,
    taken: usize,
    done: BTreeMap<usize, T>,
    /// Workers that were not ended by a panic.
    workers: usize,
}

struct Desk<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    stopped: AtomicBool,
}

impl<T> Desk<T> {
    /// The next item to work on, as soon as it is not too far ahead.
    fn claim(&self, count: usize) -> Option<usize> {
        let mut state = self.state.lock();
        loop {
            if self.stopped.load(Ordering::Relaxed) || state.next >= count {
                return None;
            }
            if state.next < state.taken + AHEAD {
                state.next += 1;
                return Some(state.next - 1);
            }
            self.changed.wait(&mut state);
        }
    }

    fn put(&self, item: usize, result: T) {
        self.state.lock().done.insert(item, result);
        self.changed.notify_all();
    }

    /// The result of an item; nothing when all workers are gone without it.
    fn get(&self, item: usize) -> Option<T> {
        let mut state = self.state.lock();
        loop {
            if let Some(result) = state.done.remove(&item) {
                state.taken = item + 1;
                self.changed.notify_all();
                return Some(result);
            }
            if state.workers == 0 {
                return None;
            }
            self.changed.wait(&mut state);
        }
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        let _state = self.state.lock();
        self.changed.notify_all();
    }
}

/// Notes that a worker is gone, however it ended.
struct Leave<'d, T>(&'d Desk<T>);

impl<T> Drop for Leave<'_, T> {
    fn drop(&mut self) {
        self.0.state.lock().workers -= 1;
        self.0.changed.notify_all();
    }
}

/// Runs `work` for every item from 0 to `count` on all cores, and gives the results to `take` in
/// order. `take` ends everything early by false or an error; `give_up` is then told, so that work
/// that is not needed any more ends.
pub fn in_order<T: Send>(
    count: usize,
    work: impl Fn(usize) -> T + Sync,
    give_up: impl Fn(),
    mut take: impl FnMut(usize, T) -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let cores =
        std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(count.max(1));
    let state = State { next: 0, taken: 0, done: BTreeMap::new(), workers: cores };
    let desk =
        Desk { state: Mutex::new(state), changed: Condvar::new(), stopped: AtomicBool::new(false) };
    std::thread::scope(|scope| {
        let (desk, work) = (&desk, &work);
        for _ in 0..cores {
            let worker = move || {
                let _leave = Leave(desk);
                while let Some(item) = desk.claim(count) {
                    desk.put(item, work(item));
                }
            };
            if std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, worker).is_err() {
                desk.state.lock().workers -= 1;
            }
        }
        let mut outcome = Ok(());
        for item in 0..count {
            let Some(result) = desk.get(item) else {
                outcome = Err(anyhow::anyhow!("no thread could finish the work"));
                break;
            };
            match take(item, result) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        desk.stop();
        give_up();
        outcome
    })
}

#[cfg(test)]
mod tests {
    use super::in_order;

    #[test]
    fn results_come_in_order_however_long_each_takes() {
        let mut seen = Vec::new();
        let work = |item: usize| {
            if item.is_multiple_of(7) {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            item * 2
        };
        let take = |item, result| {
            seen.push((item, result));
            Ok(true)
        };
        in_order(3000, work, || (), take).expect("it works");
        assert_eq!(seen, (0..3000).map(|item| (item, item * 2)).collect::<Vec<_>>());
    }

    #[test]
    fn it_ends_when_nobody_takes_more() {
        let mut taken = 0;
        let take = |_, _| {
            taken += 1;
            Ok(taken < 5)
        };
        in_order(usize::MAX / 4, |item| item, || (), take).expect("it ends");
        assert_eq!(taken, 5);
        let failed = in_order(10, |item| item, || (), |_, _| anyhow::bail!("enough"));
        assert_eq!(failed.expect_err("told").to_string(), "enough");
    }
}
