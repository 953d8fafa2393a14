//! JSON-RPC over a web socket, one message a frame.

use super::{Closure, Incoming, LinkError, LinkOptions};
use crate::http::{self, Scheme, Stream, Url};
use crate::message::Message;
use crate::stream::Quirks;
use crate::trail::{Channel, Facts, Side};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use std::time::Duration;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message as Frame;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

/// The connection.
pub struct WsLink {
    socket: WebSocketStream<Box<dyn Stream>>,
    options: LinkOptions,
    closed: Option<String>,
}

impl WsLink {
    /// Connects and upgrades.
    pub async fn connect(url: &Url, options: LinkOptions) -> Result<WsLink, LinkError> {
        let failed = |error: String| LinkError::WebSocket(error);
        let within = options.limits.connect();
        let stream = http::connect(url, within).await?;
        let plain = Url {
            scheme: if url.scheme.is_tls() { Scheme::Wss } else { Scheme::Ws },
            ..url.clone()
        };
        let mut request =
            plain.to_string().into_client_request().map_err(|error| failed(error.to_string()))?;
        for (name, value) in &options.headers {
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|error| failed(error.to_string()))?;
            let value = HeaderValue::from_str(value).map_err(|error| failed(error.to_string()))?;
            request.headers_mut().insert(name, value);
        }
        let limit = Some(options.limits.max_message);
        let config = WebSocketConfig::default().max_message_size(limit).max_frame_size(limit);
        let opening = tokio_tungstenite::client_async_with_config(request, stream, Some(config));
        match tokio::time::timeout(within, opening).await {
            Err(_) => Err(failed("no answer to the upgrade within the time".into())),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Ok(Ok((socket, _))) => Ok(WsLink { socket, options, closed: None }),
        }
    }

    /// When bytes last came.
    pub fn activity(&self) -> crate::limits::Activity {
        self.options.activity.clone()
    }

    /// Sends one message.
    pub async fn send(&mut self, raw: Bytes) -> Result<(), LinkError> {
        self.options.trail.note(Side::Client, Channel::Ws, raw.clone(), Facts::default());
        let text = String::from_utf8_lossy(&raw).into_owned();
        match tokio::time::timeout(self.options.limits.idle, self.socket.send(Frame::text(text)))
            .await
        {
            Err(_) => Err(LinkError::Write("the server does not read".into())),
            Ok(Err(error)) => Err(LinkError::Write(error.to_string())),
            Ok(Ok(())) => Ok(()),
        }
    }

    /// What comes next.
    pub async fn next(&mut self) -> Incoming {
        loop {
            if let Some(why) = &self.closed {
                return Incoming::Closed(Closure { why: why.clone(), ..Closure::default() });
            }
            let frame = self.socket.next().await;
            self.options.activity.touch();
            let raw = match frame {
                None => {
                    self.closed = Some("the web socket was closed".into());
                    continue;
                }
                Some(Err(error)) => {
                    self.closed = Some(format!("the web socket broke: {error}"));
                    continue;
                }
                Some(Ok(Frame::Text(text))) => Bytes::from(text),
                Some(Ok(Frame::Binary(bytes))) => bytes,
                Some(Ok(Frame::Close(frame))) => {
                    let code =
                        frame.map(|frame| format!(" with code {} {}", frame.code, frame.reason));
                    self.closed = Some(format!(
                        "the server closed the web socket{}",
                        code.unwrap_or_default()
                    ));
                    continue;
                }
                Some(Ok(_)) => continue,
            };
            self.options.trail.note(Side::Server, Channel::Ws, raw.clone(), Facts::default());
            let message = Message::read(raw.clone());
            let noise =
                message.fault.is_some() && !message.json.is_object() && !Message::was_meant(&raw);
            return if noise {
                Incoming::Side(raw)
            } else {
                Incoming::Message(message, Quirks::default())
            };
        }
    }

    /// Says goodbye.
    pub async fn close(&mut self) {
        let _ = tokio::time::timeout(Duration::from_secs(1), self.socket.close(None)).await;
    }
}
