//! The order of work on one connection: reads run side by side, a write waits
//! for everything before it, and everything after it waits for the write.
//!
//! Work runs on blocking threads, because a call may take long. A burst of
//! small calls is shared by a few workers; only when none of them gets on does
//! the lane take more, so that a slow call never holds up a fast one. A read that
//! waits for something else to happen takes no thread meanwhile.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Notify;

const MOST_WORKERS: usize = 64;
/// How often a lane with jobs in line is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// Does the work of one job.
pub(crate) trait Work: Send + 'static {
    /// Whether it must not run beside others.
    fn is_exclusive(&self) -> bool;
    /// Roughly the memory it takes while it waits.
    fn size(&self) -> usize;
    /// Runs to the end.
    fn run(self);
    /// What a read waits for before it runs, if for anything. It keeps its turn: what may not
    /// run beside it waits with it.
    fn held(&self) -> Option<Held> {
        None
    }
}

/// Something that takes its time and no thread.
pub(crate) type Held = Pin<Box<dyn Future<Output = ()> + Send>>;

/// How the line of a lane stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Jobs in line.
    pub waiting: usize,
    /// Memory they take.
    pub size: usize,
    /// Jobs ever taken from the line.
    pub taken: u64,
}

struct State<W> {
    waiting: VecDeque<W>,
    /// Reads whose turn has come and that are held no more.
    released: VecDeque<W>,
    /// Reads whose turn has come and that are held.
    held: usize,
    /// Memory that reads take which are held or released.
    aside: usize,
    /// Memory that those in line take.
    size: usize,
    reading: usize,
    writing: bool,
    workers: usize,
    /// Counts jobs taken, to see whether the lane gets on.
    taken: u64,
}

impl<W: Work> State<W> {
    /// Whether the first job in line may start now.
    fn is_ready(&self) -> bool {
        if !self.released.is_empty() {
            return true;
        }
        match self.waiting.front() {
            None => false,
            Some(job) if job.is_exclusive() => self.reading == 0 && !self.writing,
            Some(_) => !self.writing,
        }
    }

    /// The next job, and whether it may have to be held first.
    fn take(&mut self) -> Option<(W, bool)> {
        if let Some(job) = self.released.pop_front() {
            self.aside -= job.size();
            return Some((job, false));
        }
        if !self.is_ready() {
            return None;
        }
        let job = self.waiting.pop_front()?;
        self.size -= job.size();
        let reads = !job.is_exclusive();
        if reads {
            self.reading += 1;
        } else {
            self.writing = true;
        }
        self.taken += 1;
        Some((job, reads))
    }
}

/// The lane of one connection.
pub(crate) struct Lane<W> {
    state: Mutex<State<W>>,
    usual_workers: usize,
    rested: Notify,
    pushed: Notify,
    runtime: Handle,
}

impl<W: Work> Lane<W> {
    /// An empty lane on the current runtime.
    pub fn new() -> Arc<Lane<W>> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Arc::new(Lane {
            state: Mutex::new(State {
                waiting: VecDeque::new(),
                released: VecDeque::new(),
                held: 0,
                aside: 0,
                size: 0,
                reading: 0,
                writing: false,
                workers: 0,
                taken: 0,
            }),
            usual_workers: cores.clamp(2, 16),
            rested: Notify::new(),
            pushed: Notify::new(),
            runtime: Handle::current(),
        })
    }

    /// Puts a job at the end of the line.
    pub fn push(self: &Arc<Self>, job: W) {
        let mut state = self.state.lock();
        state.size += job.size();
        state.waiting.push_back(job);
        if state.workers < self.usual_workers && state.is_ready() {
            self.hire(&mut state);
        }
        drop(state);
        self.pushed.notify_one();
    }

    /// How the line stands.
    pub fn progress(&self) -> Progress {
        let state = self.state.lock();
        let waiting = state.waiting.len() + state.held + state.released.len();
        Progress { waiting, size: state.size + state.aside, taken: state.taken }
    }

    /// Takes one more worker when a job could run and nobody is free for it.
    fn relieve(self: &Arc<Self>) {
        let mut state = self.state.lock();
        if state.workers < MOST_WORKERS && state.is_ready() {
            self.hire(&mut state);
        }
    }

    /// Forgets the jobs in line that only read: nobody waits for their answers.
    pub fn drop_reads(&self) {
        let mut state = self.state.lock();
        state.waiting.retain(Work::is_exclusive);
        state.size = state.waiting.iter().map(Work::size).sum();
    }

    /// Forgets everything in line.
    pub fn clear(&self) {
        let mut state = self.state.lock();
        state.waiting.clear();
        state.size = 0;
    }

    /// Waits until nothing runs and nothing waits.
    pub async fn finish(&self) {
        let idle = |state: &State<W>| state.workers == 0 && state.reading == 0 && !state.writing;
        self.rest(|state| idle(state) && state.waiting.is_empty()).await;
    }

    /// Waits until nothing that changes the program runs or waits to run.
    pub async fn finish_writes(&self) {
        self.rest(|state| !state.writing && !state.waiting.iter().any(Work::is_exclusive)).await;
    }

    async fn rest(&self, is_reached: impl Fn(&State<W>) -> bool) {
        loop {
            let rested = self.rested.notified();
            if is_reached(&self.state.lock()) {
                return;
            }
            rested.await;
        }
    }

    /// Looks after the lane: takes more workers while the usual ones are stuck.
    pub async fn look_after(self: Arc<Self>) {
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut seen = 0;
        loop {
            let progress = self.progress();
            if progress.waiting == 0 {
                self.pushed.notified().await;
            } else if progress.taken == seen {
                self.relieve();
            }
            seen = progress.taken;
            look.tick().await;
        }
    }

    fn hire(self: &Arc<Self>, state: &mut State<W>) {
        state.workers += 1;
        let lane = Arc::clone(self);
        self.runtime.spawn_blocking(move || lane.work());
    }

    /// Puts a read aside until what it waits for has happened.
    fn hold(self: &Arc<Self>, job: W, held: Held) {
        let mut state = self.state.lock();
        state.held += 1;
        state.aside += job.size();
        drop(state);
        let lane = Arc::clone(self);
        self.runtime.spawn(async move {
            held.await;
            let mut state = lane.state.lock();
            state.held -= 1;
            state.released.push_back(job);
            if state.workers < lane.usual_workers {
                lane.hire(&mut state);
            }
        });
    }

    fn work(self: Arc<Self>) {
        loop {
            let mut state = self.state.lock();
            let Some((job, fresh)) = state.take() else {
                state.workers -= 1;
                drop(state);
                self.rested.notify_waiters();
                return;
            };
            if state.workers < self.usual_workers && state.is_ready() {
                self.hire(&mut state);
            }
            drop(state);
            if let Some(held) = job.held().filter(|_| fresh) {
                self.hold(job, held);
                continue;
            }
            let exclusive = job.is_exclusive();
            let done = Done { lane: &self, exclusive };
            job.run();
            drop(done);
        }
    }
}

/// Leaves the lane in order even when a job panics.
struct Done<'a, W: Work> {
    lane: &'a Lane<W>,
    exclusive: bool,
}

impl<W: Work> Drop for Done<'_, W> {
    fn drop(&mut self) {
        let mut state = self.lane.state.lock();
        if self.exclusive {
            state.writing = false;
        } else {
            state.reading -= 1;
        }
        if std::thread::panicking() {
            state.workers -= 1;
        }
        drop(state);
        self.lane.rested.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    type Task = Box<dyn FnOnce() + Send>;

    struct Job {
        exclusive: bool,
        held: Mutex<Option<Held>>,
        task: Task,
    }

    impl Work for Job {
        fn is_exclusive(&self) -> bool {
            self.exclusive
        }
        fn size(&self) -> usize {
            1
        }
        fn run(self) {
            (self.task)();
        }
        fn held(&self) -> Option<Held> {
            self.held.lock().take()
        }
    }

    fn read(task: impl FnOnce() + Send + 'static) -> Job {
        Job { exclusive: false, held: Mutex::new(None), task: Box::new(task) }
    }

    fn write(task: impl FnOnce() + Send + 'static) -> Job {
        Job { exclusive: true, held: Mutex::new(None), task: Box::new(task) }
    }

    const SOON: Duration = Duration::from_secs(5);

    #[tokio::test]
    async fn reads_run_side_by_side() {
        let lane = Lane::new();
        let (first_out, first_in) = mpsc::channel();
        let (done_out, done_in) = mpsc::channel();
        let done = done_out.clone();
        lane.push(read(move || {
            first_in.recv_timeout(SOON).expect("the second read runs meanwhile");
            done.send("first").expect("listening");
        }));
        lane.push(read(move || {
            done_out.send("second").expect("listening");
            first_out.send(()).expect("the first read waits");
        }));
        let order = tokio::task::spawn_blocking(move || done_in.iter().take(2).collect::<Vec<_>>());
        assert_eq!(order.await.expect("answers"), ["second", "first"]);
    }

    #[tokio::test]
    async fn a_write_waits_and_is_waited_for() {
        let lane = Lane::new();
        let (out, log) = mpsc::channel();
        for round in 0..20 {
            for reader in 0..5 {
                let out = out.clone();
                lane.push(read(move || {
                    std::thread::sleep(Duration::from_micros(reader * 200));
                    out.send((round, "read")).expect("listening");
                }));
            }
            let out = out.clone();
            lane.push(write(move || {
                std::thread::sleep(Duration::from_millis(1));
                out.send((round, "write")).expect("listening");
            }));
        }
        drop(out);
        let log = tokio::task::spawn_blocking(move || log.iter().collect::<Vec<_>>());
        let log = log.await.expect("answers");
        for (round, part) in log.chunks(6).enumerate() {
            assert!(part.iter().all(|(seen, _)| *seen == round), "{part:?}");
            assert_eq!(part[5].1, "write", "{part:?}");
        }
    }

    #[tokio::test]
    async fn a_stalled_lane_can_be_relieved() {
        let lane = Lane::new();
        let (go, wait) = mpsc::channel::<()>();
        let wait = Arc::new(Mutex::new(wait));
        for _ in 0..lane.usual_workers {
            let wait = Arc::clone(&wait);
            lane.push(read(move || {
                let _ = wait.lock().recv_timeout(SOON);
            }));
        }
        let (out, answered) = tokio::sync::oneshot::channel();
        lane.push(read(move || {
            let _ = out.send(());
        }));
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(lane.progress().waiting, 1, "every usual worker is busy");
        let carer = tokio::spawn(Arc::clone(&lane).look_after());
        tokio::time::timeout(SOON, answered).await.expect("in time").expect("answered");
        carer.abort();
        drop(go);
    }

    #[tokio::test]
    async fn held_reads_take_no_worker_and_keep_their_turn() {
        let lane = Lane::new();
        let (out, log) = mpsc::channel();
        let mut doors = Vec::new();
        for _ in 0..3 * MOST_WORKERS {
            let (open, door) = tokio::sync::oneshot::channel::<()>();
            doors.push(open);
            let held: Held = Box::pin(async {
                let _ = door.await;
            });
            let out = out.clone();
            let job = read(move || out.send("held").expect("listening"));
            lane.push(Job { held: Mutex::new(Some(held)), ..job });
        }
        let (sent, answered) = tokio::sync::oneshot::channel();
        lane.push(read(move || {
            let _ = sent.send(());
        }));
        tokio::time::timeout(SOON, answered).await.expect("beside them").expect("answered");
        // A worker may still carry the last of them from the line to where they are held.
        let counted = async {
            while lane.progress().waiting < doors.len() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(SOON, counted).await.expect("they count as waiting");
        assert_eq!(lane.progress().waiting, doors.len());
        let last = out.clone();
        lane.push(write(move || last.send("write").expect("listening")));
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(log.try_recv().is_err(), "the write waits for what came before it");
        let count = doors.len();
        drop(doors);
        tokio::time::timeout(SOON, lane.finish()).await.expect("in time");
        drop(out);
        let order: Vec<_> = log.try_iter().collect();
        assert_eq!((order.len(), order.last()), (count + 1, Some(&"write")));
        assert_eq!((lane.progress().waiting, lane.progress().size), (0, 0));
    }

    #[tokio::test]
    async fn a_panic_does_not_block_the_lane() {
        let lane = Lane::new();
        lane.push(write(|| panic!("a bug, on purpose")));
        let (out, answered) = tokio::sync::oneshot::channel();
        // The worker that panicked is gone; the next push finds another.
        tokio::time::timeout(SOON, lane.finish_writes()).await.expect("released");
        lane.push(read(move || {
            let _ = out.send(());
        }));
        tokio::time::timeout(SOON, answered).await.expect("in time").expect("answered");
    }

    #[tokio::test]
    async fn dropping_reads_keeps_writes() {
        let lane = Lane::new();
        let (go, wait) = mpsc::channel::<()>();
        let (out, log) = mpsc::channel();
        lane.push(write(move || {
            let _ = wait.recv_timeout(SOON);
        }));
        for name in ["read", "write"] {
            let out = out.clone();
            let task = move || out.send(name).expect("listening");
            lane.push(if name == "read" { read(task) } else { write(task) });
        }
        lane.drop_reads();
        go.send(()).expect("the first write waits");
        tokio::time::timeout(SOON, lane.finish_writes()).await.expect("in time");
        drop(out);
        assert_eq!(log.try_iter().collect::<Vec<_>>(), ["write"]);
    }
}
