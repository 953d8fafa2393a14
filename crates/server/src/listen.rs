//! Binding and accepting, with errors that people can act on.

use crate::config::Endpoint;
use crate::shutdown::Stop;
use std::io;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// An address that could not be listened on, in one line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BindError(String);

/// Listens on an endpoint. `key` is the argument that would choose another port.
pub(crate) async fn bind(endpoint: &Endpoint, key: &str) -> Result<TcpListener, BindError> {
    let host = endpoint.host.trim_start_matches('[').trim_end_matches(']');
    TcpListener::bind((host, endpoint.port)).await.map_err(|error| {
        let port = endpoint.port;
        BindError(match error.kind() {
            io::ErrorKind::AddrInUse => format!(
                "port {port} on {host} is taken: stop the program that uses it, or choose another \
                 with {key}=PORT ({key}=0 picks a free one)"
            ),
            io::ErrorKind::PermissionDenied => {
                format!(
                    "port {port} on {host} is not allowed: choose one from 1024 up with {key}=PORT"
                )
            }
            _ => format!("cannot listen on port {port} of {host}: {error}"),
        })
    })
}

/// The next connection, or `None` once the server stops.
pub(crate) async fn accept(listener: &TcpListener, stop: &Stop) -> Option<TcpStream> {
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let _ = stream.set_nodelay(true);
                    return Some(stream);
                }
                // Out of file descriptors, most likely: let some close.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
            () = stop.stopped() => return None,
        }
    }
}
