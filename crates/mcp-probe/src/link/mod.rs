//! A connection to a server, whatever it runs over. Bytes in, messages out;
//! every byte is noted on the trail on its way.

mod old_sse;
mod stdio;
mod streamable;
mod websocket;

use crate::http::{ConnectError, HttpFault, Url};
use crate::limits::{Activity, Limits};
use crate::message::Message;
use crate::stream::Quirks;
use crate::target::Command;
use crate::trail::{HttpFacts, Trail};
use bytes::Bytes;
pub use old_sse::OldSseLink;
pub use stdio::StdioLink;
pub use streamable::HttpLink;
pub use websocket::WsLink;

/// A header value that asks for the header to be left out. It can stand in no
/// real header.
pub const LEFT_OUT: &str = "\0";

/// Something that came from the server.
#[derive(Debug)]
pub enum Incoming {
    /// A message.
    Message(Message, Quirks),
    /// Bytes that are no message, on a channel of messages.
    Side(Bytes),
    /// A message beyond the limit.
    Oversize,
    /// An HTTP answer that holds no message, or no more of them.
    HttpEnd(HttpEnd),
    /// The connection is gone.
    Closed(Closure),
}

/// How an HTTP answer ended.
#[derive(Debug, Clone, Default)]
pub struct HttpEnd {
    /// What was wrong with the end, if anything.
    pub fault: Option<HttpFault>,
    /// Data of an event that was never finished.
    pub unfinished: Option<Bytes>,
}

/// How a connection ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Closure {
    /// Exit code of a child.
    pub code: Option<i32>,
    /// Signal that ended a child.
    pub signal: Option<i32>,
    /// Bytes of a message that was cut off.
    pub cut: Option<Bytes>,
    /// In words.
    pub why: String,
}

/// Why a connection could not be made or used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LinkError {
    /// The command could not be started.
    #[error("{0} could not be started: {1}")]
    Spawn(String, String),
    /// No connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The other side takes no more bytes.
    #[error("{0}")]
    Write(String),
    /// Something else speaks there.
    #[error("{0}")]
    Http(HttpFault),
    /// The web socket handshake failed.
    #[error("no web socket: {0}")]
    WebSocket(String),
}

/// What a connection needs to know.
#[derive(Clone)]
pub struct LinkOptions {
    /// Limits.
    pub limits: Limits,
    /// Trail.
    pub trail: Trail,
    /// Extra headers.
    pub headers: Vec<(String, String)>,
    /// When bytes last came.
    pub activity: Activity,
    /// Number on the trail before the connection was made.
    pub born: u64,
}

/// A connection.
pub enum Link {
    /// A child process.
    Stdio(StdioLink),
    /// Streamable HTTP.
    Http(Box<HttpLink>),
    /// The old pair of an event stream and posts.
    OldSse(OldSseLink),
    /// A web socket.
    Ws(Box<WsLink>),
}

impl Link {
    /// Starts a command.
    pub async fn stdio(command: &Command, options: LinkOptions) -> Result<Link, LinkError> {
        StdioLink::start(command, options).map(Link::Stdio)
    }

    /// Gets ready to speak to an address; HTTP connects at the first message.
    pub async fn url(url: &Url, options: LinkOptions) -> Result<Link, LinkError> {
        if url.scheme.is_ws() {
            let link = WsLink::connect(url, options).await?;
            return Ok(Link::Ws(Box::new(link)));
        }
        Ok(Link::Http(Box::new(HttpLink::new(url.clone(), options))))
    }

    /// Opens the old event stream.
    pub async fn old_sse(url: &Url, options: LinkOptions) -> Result<Link, LinkError> {
        OldSseLink::connect(url, options).await.map(Link::OldSse)
    }

    /// When bytes last came over this connection.
    pub fn activity(&self) -> Activity {
        match self {
            Link::Stdio(link) => link.activity(),
            Link::Http(link) => link.activity(),
            Link::OldSse(link) => link.activity(),
            Link::Ws(link) => link.activity(),
        }
    }

    /// The name of the transport.
    pub fn transport(&self) -> &'static str {
        match self {
            Link::Stdio(_) => "stdio",
            Link::Http(_) => "streamable-http",
            Link::OldSse(_) => "http+sse",
            Link::Ws(_) => "ws",
        }
    }

    /// Sends one message with extra headers where there are headers.
    pub async fn send(
        &mut self,
        raw: Bytes,
        headers: &[(String, String)],
    ) -> Result<(), LinkError> {
        match self {
            Link::Stdio(link) => link.send(raw).await,
            Link::Http(link) => link.send(raw, headers).await,
            Link::OldSse(link) => link.send(raw, headers).await,
            Link::Ws(link) => link.send(raw).await,
        }
    }

    /// What comes next. May be dropped and called again without loss.
    pub async fn next(&mut self) -> Incoming {
        match self {
            Link::Stdio(link) => link.next().await,
            Link::Http(link) => link.next().await,
            Link::OldSse(link) => link.next().await,
            Link::Ws(link) => link.next().await,
        }
    }

    /// Whether the last message that came has no line end yet.
    pub fn is_unended(&self) -> bool {
        match self {
            Link::Stdio(link) => link.is_unended(),
            _ => false,
        }
    }

    /// Facts of the HTTP answer that is being read or was read last.
    pub fn http(&self) -> Option<&HttpFacts> {
        match self {
            Link::Http(link) => link.facts(),
            Link::OldSse(link) => link.facts(),
            _ => None,
        }
    }

    /// Ends the connection in good order.
    pub async fn close(&mut self) -> Option<Closure> {
        match self {
            Link::Stdio(link) => Some(link.close().await),
            Link::Http(link) => {
                link.close().await;
                None
            }
            Link::OldSse(_) => None,
            Link::Ws(link) => {
                link.close().await;
                None
            }
        }
    }
}
