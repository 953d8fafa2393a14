//! The other direction: we connect to a WebSocket server and serve it as if it
//! had connected to us. One connection, no second try.

use super::dialogue::Dialogue;
use super::outbox::{Outbox, Outgoing};
use crate::auth::Token;
use crate::config::{Limits, Outbound};
use crate::service::Service;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

/// Connecting and shaking hands may take this long.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);
/// A message may take this long to get out.
const SEND_LIMIT: Duration = Duration::from_secs(30);
/// A ping may take this long to get out.
const PING_LIMIT: Duration = Duration::from_secs(10);
/// How often the peer is pinged.
const PING_PAUSE: Duration = Duration::from_secs(5);
/// How long the end of the connection may take.
const FAREWELL: Duration = Duration::from_secs(10);

type Stream = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Why the other server could not be reached, in one line without secrets.
#[derive(Debug, thiserror::Error)]
#[error("cannot connect to {url}: {reason}")]
pub struct OutboundError {
    url: String,
    reason: String,
}

/// An address without what may be secret in it: query, fragment, user.
pub fn redacted(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let (plain, secret) = url.split_at(end);
    let plain = match plain.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            format!("{scheme}://{host}{path}")
        }
        None => plain.to_owned(),
    };
    if secret.is_empty() { plain } else { format!("{plain}?<redacted>") }
}

/// Connects and shakes hands.
pub async fn connect(
    outbound: &Outbound,
    token: Option<&Token>,
    limits: Limits,
) -> Result<Stream, OutboundError> {
    let failed = |reason: String| OutboundError { url: redacted(&outbound.url), reason };
    let mut request =
        outbound.url.as_str().into_client_request().map_err(|error| failed(error.to_string()))?;
    if let Some(token) = token {
        let mut value = HeaderValue::from_str(&token.bearer())
            .map_err(|_| failed("the token does not fit into a header".into()))?;
        value.set_sensitive(true);
        request.headers_mut().insert("authorization", value);
    }
    let config = WebSocketConfig::default()
        .max_message_size(Some(limits.max_body))
        .max_frame_size(Some(limits.max_body));
    match timeout(CONNECT_LIMIT, connect_async_with_config(request, Some(config), true)).await {
        Ok(Ok((stream, _))) => Ok(stream),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => Err(failed(format!("no answer within {} s", CONNECT_LIMIT.as_secs()))),
    }
}

/// Serves the other side until the connection or the session ends; either way
/// the service stops.
pub async fn serve(stream: Stream, service: Arc<Service>) {
    let (sink, source) = stream.split();
    let dialogue = Dialogue::begin(Arc::clone(&service));
    let outbox = Arc::clone(&dialogue.outbox);
    let writer = tokio::spawn(send_all(sink, Arc::clone(&outbox)));
    let pings = tokio::spawn(ping(Arc::clone(&outbox)));
    tokio::select! {
        () = listen(source, &dialogue) => outbox.abandon(),
        () = service.stop.stopped() => {
            let _ = timeout(FAREWELL, dialogue.end()).await;
            outbox.push(Outgoing::Close(1001, "the server stops".into()));
        }
    }
    let _ = timeout(FAREWELL, dialogue.end()).await;
    let _ = timeout(FAREWELL, writer).await;
    pings.abort();
    service.stop.stop();
}

/// Takes messages until the connection ends. Fragments come joined; anything
/// but text is ignored.
async fn listen(mut source: SplitStream<Stream>, dialogue: &Dialogue) {
    while let Some(Ok(message)) = source.next().await {
        match message {
            Message::Text(text) => dialogue.take(text.as_bytes()),
            Message::Close(_) => return,
            Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
        }
        while !dialogue.takes_more() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        dialogue.outbox.has_room().await;
        if dialogue.outbox.has_ended() && !dialogue.outbox.has_said_goodbye() {
            return;
        }
    }
}

async fn ping(outbox: Arc<Outbox>) {
    let mut pause = interval(PING_PAUSE);
    pause.set_missed_tick_behavior(MissedTickBehavior::Delay);
    pause.tick().await;
    loop {
        pause.tick().await;
        outbox.push(Outgoing::Ping);
    }
}

/// Sends until the outbox ends. What cannot be sent in time ends it.
async fn send_all(mut sink: SplitSink<Stream, Message>, outbox: Arc<Outbox>) {
    while let Some(messages) = outbox.take().await {
        for message in messages {
            let limit = if message == Outgoing::Ping { PING_LIMIT } else { SEND_LIMIT };
            let sent = timeout(limit, sink.feed(frame(message))).await;
            if !matches!(sent, Ok(Ok(()))) {
                outbox.abandon();
                return;
            }
        }
        if !matches!(timeout(SEND_LIMIT, sink.flush()).await, Ok(Ok(()))) {
            outbox.abandon();
            return;
        }
    }
    let _ = timeout(FAREWELL, sink.close()).await;
}

fn frame(message: Outgoing) -> Message {
    match message {
        Outgoing::Text(text) => Message::text(text),
        Outgoing::Ping => Message::Ping(Vec::new().into()),
        Outgoing::Pong(payload) => Message::Pong(payload.into()),
        Outgoing::Close(code, reason) => {
            Message::Close(Some(CloseFrame { code: CloseCode::from(code), reason: reason.into() }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_secrets() {
        for (url, shown) in [
            ("ws://host/path", "ws://host/path"),
            ("ws://host", "ws://host"),
            ("ws://host:1/p?token=x#y", "ws://host:1/p?<redacted>"),
            ("ws://host/p#y?z", "ws://host/p?<redacted>"),
            ("ws://user:secret@host/p", "ws://host/p"),
            ("ws://a@b@host", "ws://host"),
            ("ws://host/p@q", "ws://host/p@q"),
        ] {
            assert_eq!(redacted(url), shown);
        }
    }
}
