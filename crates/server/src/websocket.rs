//! The WebSocket listener: one client at a time, and nobody can keep others
//! out by saying nothing.

mod connection;
mod dialogue;
mod frame;
mod handshake;
pub(crate) mod outbound;
mod outbox;

pub use frame::whole_frames;

use crate::places::Places;
use crate::service::Service;
use bytes::BytesMut;
use handshake::{Door, Refusal};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// How long a client may take over its handshake.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);
/// A client that just left may still hold the place for a moment.
const GRACE: Duration = Duration::from_millis(100);
/// Handshakes at once; the slowest gives way to a new one.
const MOST_HANDSHAKES: usize = 64;

/// Serves WebSocket clients until the service stops.
pub(crate) async fn serve(
    listener: TcpListener,
    host: String,
    path: String,
    service: Arc<Service>,
) {
    let entrance = Arc::new(Entrance {
        door: Door { host, path, token: service.token.clone() },
        place: Arc::new(Semaphore::new(1)),
        service,
    });
    let handshakes = Places::new(MOST_HANDSHAKES);
    let clients = tokio_util::task::TaskTracker::new();
    while let Some(stream) = crate::listen::accept(&listener, &entrance.service.stop).await {
        let Some(handshake) = handshakes.take() else { continue };
        let entrance = Arc::clone(&entrance);
        clients.spawn(async move {
            let greeted = tokio::select! {
                greeted = entrance.greet(stream) => greeted,
                () = handshake.needed() => None,
            };
            drop(handshake);
            if let Some((stream, early, place)) = greeted {
                connection::serve(stream, early, place, Arc::clone(&entrance.service)).await;
            }
        });
    }
    clients.close();
    clients.wait().await;
}

struct Entrance {
    door: Door,
    place: Arc<Semaphore>,
    service: Arc<Service>,
}

type Greeted = (TcpStream, BytesMut, OwnedSemaphorePermit);

impl Entrance {
    /// Runs a handshake. Gives the open socket, what came early, and the place
    /// that the client holds from now on.
    async fn greet(&self, mut stream: TcpStream) -> Option<Greeted> {
        if timeout(GRACE, self.place.acquire()).await.is_err() {
            turn_away(stream, handshake::BUSY).await;
            return None;
        }
        let mut early = BytesMut::with_capacity(1024);
        let stopped = self.service.stop.stopped();
        let head = tokio::select! {
            head = timeout(HANDSHAKE_LIMIT, handshake::read_head(&mut stream, &mut early)) => head,
            () = stopped => return None,
        };
        let checked = match head.ok()?.ok()?? {
            Ok(head) => handshake::check(&head, &self.door),
            Err(refusal) => Err(refusal),
        };
        let opening = match checked {
            Ok(opening) => opening,
            Err(refusal) => {
                turn_away(stream, refusal).await;
                return None;
            }
        };
        let Ok(place) = Arc::clone(&self.place).try_acquire_owned() else {
            turn_away(stream, handshake::BUSY).await;
            return None;
        };
        timeout(HANDSHAKE_LIMIT, stream.write_all(&opening)).await.ok()?.ok()?;
        Some((stream, early, place))
    }
}

async fn turn_away(mut stream: TcpStream, refusal: Refusal) {
    let answer = async {
        stream.write_all(&refusal.to_bytes()).await?;
        stream.shutdown().await
    };
    if matches!(timeout(HANDSHAKE_LIMIT, answer).await, Ok(Ok(()))) {
        connection::drain(&mut stream).await;
    }
}
