//! Bodies of requests: bounded in length and time, and only so many long ones at once.
//!
//! A long body may grow to forty times its length as JSON, and clients may send slowly, so what
//! all of them hold together must not grow with their number.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use mcp::Refusal;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// How long a request body may take to arrive.
const BODY_LIMIT: Duration = Duration::from_secs(30);
/// What is longer waits for a place.
const LONG: usize = 256 << 10;
/// Long bodies held at once, arriving or waiting for their turn, and those that are read and
/// carried out at once.
const ARRIVING: usize = 16;
const AT_WORK: usize = 2;

/// The places for long bodies.
pub(crate) struct Bodies {
    limit: usize,
    arriving: Arc<Semaphore>,
    at_work: Arc<Semaphore>,
}

/// Why there is no body.
pub(super) enum NoBody {
    TooLong,
    BrokenOff,
    TooSlow,
}

/// A body, and the place that a long one holds until its turn comes.
pub(super) struct Arrived {
    bytes: Bytes,
    place: Option<OwnedSemaphorePermit>,
}

/// A message, and its place if it is a long one.
pub(super) struct Opened {
    pub message: Result<mcp::Incoming, Box<Refusal>>,
    pub place: Option<OwnedSemaphorePermit>,
}

impl Bodies {
    pub(crate) fn new(limit: usize) -> Bodies {
        let places = |count| Arc::new(Semaphore::new(count));
        Bodies { limit, arriving: places(ARRIVING), at_work: places(AT_WORK) }
    }

    /// Whether the client says itself that the body is too long.
    pub(super) fn is_announced_too_long(&self, body: &Incoming) -> bool {
        body.size_hint().lower() > self.limit as u64
    }

    /// Reads a whole body.
    pub(super) async fn collect(&self, body: Incoming) -> Result<Arrived, NoBody> {
        timeout(BODY_LIMIT, self.collect_all(body)).await.unwrap_or(Err(NoBody::TooSlow))
    }

    async fn collect_all(&self, mut body: Incoming) -> Result<Arrived, NoBody> {
        let mut all = BytesMut::new();
        let mut place = None;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| NoBody::BrokenOff)?;
            let Ok(data) = frame.into_data() else { continue };
            if all.len() + data.len() > self.limit {
                return Err(NoBody::TooLong);
            }
            if place.is_none() && all.len() + data.len() > LONG {
                place = Arc::clone(&self.arriving).acquire_owned().await.ok();
            }
            all.extend_from_slice(&data);
        }
        Ok(Arrived { bytes: all.freeze(), place })
    }

    /// Reads a body as a message; a long one away from where everybody is heard.
    pub(super) async fn open(&self, arrived: Arrived) -> Option<Opened> {
        let Arrived { bytes: body, place: arrival } = arrived;
        if body.len() <= LONG {
            return Some(Opened { message: mcp::read(&body), place: None });
        }
        let place = Arc::clone(&self.at_work).acquire_owned().await.ok();
        drop(arrival);
        let message = tokio::task::spawn_blocking(move || mcp::read(&body)).await.ok()?;
        Some(Opened { message, place })
    }
}
