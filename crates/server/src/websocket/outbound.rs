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
/// How long a message, and a ping, may take to get out.
const SENDING: SendLimits =
    SendLimits { message: Duration::from_secs(30), ping: Duration::from_secs(10) };
/// How often the peer is pinged.
const PING_PAUSE: Duration = Duration::from_secs(5);
/// How long the end of the connection may take.
const FAREWELL: Duration = Duration::from_secs(10);

type Stream = WebSocketStream<MaybeTlsStream<TcpStream>>;

#[derive(Clone, Copy)]
struct SendLimits {
    message: Duration,
    ping: Duration,
}

impl SendLimits {
    fn of(self, message: &Outgoing) -> Duration {
        if *message == Outgoing::Ping { self.ping } else { self.message }
    }
}

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
    let writer = tokio::spawn(send_all(sink, Arc::clone(&outbox), SENDING));
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
async fn send_all(mut sink: SplitSink<Stream, Message>, outbox: Arc<Outbox>, limits: SendLimits) {
    while let Some(messages) = outbox.take().await {
        let patience = messages.iter().map(|message| limits.of(message)).max();
        for message in messages {
            let limit = limits.of(&message);
            let sent = timeout(limit, sink.feed(frame(message))).await;
            if !matches!(sent, Ok(Ok(()))) {
                outbox.abandon();
                return;
            }
        }
        if !matches!(timeout(patience.unwrap_or(limits.message), sink.flush()).await, Ok(Ok(()))) {
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

    /// A writer towards a peer that never reads.
    async fn unread(limits: SendLimits) -> (Arc<Outbox>, tokio::task::JoinHandle<()>, TcpStream) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let near = TcpStream::connect(address).await.expect("it listens");
        let (far, _) = listener.accept().await.expect("a connection");
        let role = tokio_tungstenite::tungstenite::protocol::Role::Client;
        let stream =
            WebSocketStream::from_raw_socket(MaybeTlsStream::Plain(near), role, None).await;
        let outbox = Arc::new(Outbox::default());
        let writer = tokio::spawn(send_all(stream.split().0, Arc::clone(&outbox), limits));
        (outbox, writer, far)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_cannot_be_sent_in_time_ends_the_connection() {
        let short = Duration::from_millis(200);
        let (outbox, writer, far) =
            unread(SendLimits { message: short, ping: Duration::from_secs(60) }).await;
        // More than the sockets on both sides hold.
        outbox.push(Outgoing::Text("x".repeat(64 << 20)));
        timeout(Duration::from_secs(20), writer).await.expect("in time").expect("it ends");
        assert!(outbox.has_ended() && !outbox.has_said_goodbye());
        drop(far);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_is_taken_does_not() {
        let limits = SendLimits { message: Duration::from_secs(20), ping: Duration::from_secs(20) };
        let (outbox, writer, mut far) = unread(limits).await;
        let reader = tokio::spawn(async move {
            tokio::io::copy(&mut far, &mut tokio::io::sink()).await.expect("bytes")
        });
        outbox.push(Outgoing::Text("x".repeat(8 << 20)));
        outbox.push(Outgoing::Ping);
        outbox.push(Outgoing::Close(1000, "bye".into()));
        writer.await.expect("it ends");
        assert!(reader.await.expect("it reads") > 8 << 20);
    }
}
