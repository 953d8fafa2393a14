//! A mock on web sockets.

use super::faults::Act;
use super::model::{Model, error};
use super::table::Mock;
use crate::json::{self, Json};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use std::io;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::Message as Frame;

/// Serves on a loopback port until the process ends.
pub async fn serve(mock: &'static Mock, port: u16) -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    eprintln!("listening on ws://127.0.0.1:{}/", listener.local_addr()?.port());
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            // A client that goes away is no event.
            let _ = converse(stream, mock).await;
        });
    }
}

async fn converse(stream: TcpStream, mock: &Mock) -> Result<(), Error> {
    let mut socket = tokio_tungstenite::accept_async(stream).await?;
    let mut model = Model::default();
    (mock.setup)(&mut model);
    while let Some(frame) = socket.next().await {
        let acts = match frame? {
            Frame::Text(text) => match json::parse(text.as_bytes()) {
                Ok(message) => (mock.react)(&mut model, &message),
                Err(_) => vec![Act::Send(error(Json::Null, -32700, "Parse error", None))],
            },
            Frame::Close(_) => return Ok(()),
            _ => Vec::new(),
        };
        for act in acts {
            match act {
                Act::Send(message) => socket.send(Frame::text(message.to_string())).await?,
                Act::Raw(bytes) => socket.send(as_frame(bytes)).await?,
                Act::Stderr(text) => eprintln!("{text}"),
                Act::Sleep(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
                Act::Forever(bytes) => loop {
                    socket.send(as_frame(bytes.clone())).await?;
                },
                Act::Exit(_) => return socket.close(None).await,
                Act::Hang => {}
            }
        }
    }
    Ok(())
}

fn as_frame(bytes: Bytes) -> Frame {
    match std::str::from_utf8(&bytes) {
        Ok(text) => Frame::text(text.to_string()),
        Err(_) => Frame::binary(bytes),
    }
}
