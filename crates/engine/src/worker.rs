//! The thread on which a session opens its file and analyses it.
//!
//! One thread does both: what opening leaves free in the heap of its thread (the tables of a
//! language need twice the room while they are parsed) is there for the analysis to use.

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Sender, channel};

use parking_lot::Mutex;

/// Deep expressions and nested types recurse.
const STACK: usize = 64 << 20;

/// What the thread is called while nothing runs that has a name.
const IDLE: &CStr = c"engine";

type Job = Box<dyn FnOnce() + Send>;

/// A thread that is there from the first job to the last handle's end.
#[derive(Default)]
pub(crate) struct Worker {
    jobs: Mutex<Option<Sender<Job>>>,
}

impl Worker {
    /// Does the job after those before it, while the caller goes on. A panic ends the job only.
    /// Those who list the threads of the process see what is done.
    pub(crate) fn begin(
        &self,
        name: &'static CStr,
        job: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<()> {
        let job = move || {
            show(name);
            let _ = catch_unwind(AssertUnwindSafe(job));
            show(IDLE);
        };
        // The thread waits for jobs as long as this handle lives.
        let _ = self.jobs()?.send(Box::new(job));
        Ok(())
    }

    /// Does the job and waits for its answer; a panic goes on here. Without a thread it is done
    /// here as well.
    pub(crate) fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        let Ok(jobs) = self.jobs() else { return job() };
        let (answer, answered) = channel();
        let job = move || {
            let _ = answer.send(catch_unwind(AssertUnwindSafe(job)));
        };
        let _ = jobs.send(Box::new(job));
        match answered.recv() {
            Ok(done) => done.unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => unreachable!("the thread answers every job"),
        }
    }

    fn jobs(&self) -> std::io::Result<Sender<Job>> {
        let mut jobs = self.jobs.lock();
        if let Some(jobs) = &*jobs {
            return Ok(jobs.clone());
        }
        Ok(jobs.insert(start()?).clone())
    }
}

#[cfg(target_os = "linux")]
fn show(name: &CStr) {
    // Only people read it.
    let _ = rustix::thread::set_name(name);
}

#[cfg(not(target_os = "linux"))]
fn show(_name: &CStr) {}

fn start() -> std::io::Result<Sender<Job>> {
    let (sender, jobs) = channel::<Job>();
    let thread = std::thread::Builder::new().name(IDLE.to_string_lossy().into()).stack_size(STACK);
    thread.spawn(move || {
        for job in jobs {
            let _ = catch_unwind(AssertUnwindSafe(job));
        }
    })?;
    Ok(sender)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_run_one_after_the_other_and_a_panic_ends_only_its_own() {
        let worker = Worker::default();
        let thread = || std::thread::current().id();
        let first = worker.run(thread);
        worker.begin(c"failing", || panic!("a job that fails")).expect("a thread");
        assert_eq!(worker.run(thread), first);
        assert_ne!(first, thread());
        let caught = catch_unwind(AssertUnwindSafe(|| worker.run(|| panic!("another"))));
        assert!(caught.is_err());
        assert_eq!(worker.run(thread), first);
    }
}
