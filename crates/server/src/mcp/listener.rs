//! The HTTP side of MCP connections: accepting, limits, a graceful end.

use super::body::Bodies;
use super::http::{self, Endpoint};
use crate::places::{Place, Places};
use crate::service::Service;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

/// How long a client may be silent between requests or inside a head.
const HEAD_LIMIT: Duration = Duration::from_secs(60);
/// Longest request head.
const HEAD_SIZE: usize = 64 << 10;

/// Serves MCP clients until the service stops.
pub(crate) async fn serve(
    listener: TcpListener,
    host: String,
    path: String,
    service: Arc<Service>,
) {
    let stop = service.stop.clone();
    let places = Places::new(service.limits.max_clients);
    let bodies = Bodies::new(service.limits.max_body);
    let endpoint = Arc::new(Endpoint { host, path, bodies, service });
    let clients = tokio_util::task::TaskTracker::new();
    while let Some(stream) = crate::listen::accept(&listener, &stop).await {
        let Some(place) = places.take() else {
            clients.spawn(turn_away(stream));
            continue;
        };
        let endpoint = Arc::clone(&endpoint);
        clients.spawn(converse(stream, endpoint, Arc::new(place)));
    }
    clients.close();
    clients.wait().await;
}

async fn converse(stream: TcpStream, endpoint: Arc<Endpoint>, place: Arc<Place>) {
    let stop = endpoint.service.stop.clone();
    let seat = Arc::clone(&place);
    let service = service_fn(move |request| {
        let busy = seat.busy();
        let answer = http::handle(Arc::clone(&endpoint), request);
        async move {
            let answer = answer.await;
            drop(busy);
            answer
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT)
        .max_buf_size(HEAD_SIZE)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stop.stopped() => connection.as_mut().graceful_shutdown(),
        () = place.needed() => {
            if !place.is_busy() {
                return;
            }
            connection.as_mut().graceful_shutdown();
        }
    }
    let _ = connection.await;
}

async fn turn_away(mut stream: TcpStream) {
    const ANSWER: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n\
        Content-Length: 0\r\nConnection: close\r\n\r\n";
    let answer = async {
        stream.write_all(ANSWER).await?;
        stream.shutdown().await
    };
    let _ = tokio::time::timeout(Duration::from_secs(1), answer).await;
}
