//! Requests and responses over one's own sockets, so that every byte and every
//! header can be shown.

use super::network::{network, tunnel};
use super::parser::{Event, Head, Parser, Role, find_header};
use super::url::Url;
use bytes::Bytes;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::rustls::pki_types::ServerName;

const LONGEST_PROXY_HEAD: usize = 16 << 10;

/// A connection, encrypted or not.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Why no connection came about.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// Nothing listens there.
    #[error("nothing listens at {0} (connection refused)")]
    Refused(String),
    /// The name has no address.
    #[error("the name {0} cannot be resolved")]
    Unknown(String),
    /// No answer in time.
    #[error("no connection to {0} within the time")]
    TimedOut(String),
    /// Encryption failed.
    #[error("TLS with {0} failed: {1}")]
    Tls(String, String),
    /// The proxy on the way does not let it through.
    #[error("the proxy {0} does not open the way: {1}")]
    Proxy(String, String),
    /// Anything else.
    #[error("no connection to {0}: {1}")]
    Other(String, String),
}

/// Opens a connection.
pub async fn connect(url: &Url, within: Duration) -> Result<Box<dyn Stream>, ConnectError> {
    let place = format!("{}:{}", url.host, url.port);
    let proxy = network().proxy_for(url);
    let first = proxy.as_ref().unwrap_or(url);
    let opening = TcpStream::connect((first.host.as_str(), first.port));
    let tcp = match tokio::time::timeout(within, opening).await {
        Err(_) => return Err(ConnectError::TimedOut(first.authority())),
        Ok(Err(error)) => {
            let error = name_error(format!("{}:{}", first.host, first.port), &error);
            return Err(match &proxy {
                Some(proxy) => ConnectError::Proxy(proxy.authority(), error.to_string()),
                None => error,
            });
        }
        Ok(Ok(tcp)) => tcp,
    };
    // Small messages must not wait for more to come.
    let _ = tcp.set_nodelay(true);
    let tcp = match &proxy {
        Some(proxy) => match tokio::time::timeout(within, through(tcp, url, proxy)).await {
            Err(_) => return Err(ConnectError::TimedOut(proxy.authority())),
            Ok(Err(why)) => return Err(ConnectError::Proxy(proxy.authority(), why)),
            Ok(Ok(tcp)) => tcp,
        },
        None => tcp,
    };
    if !url.scheme.is_tls() {
        return Ok(Box::new(tcp));
    }
    let failed = |text: String| ConnectError::Tls(place.clone(), text);
    let name = ServerName::try_from(url.host.clone()).map_err(|error| failed(error.to_string()))?;
    let connector = tokio_rustls::TlsConnector::from(network().tls().map_err(failed)?);
    match tokio::time::timeout(within, connector.connect(name, tcp)).await {
        Err(_) => Err(ConnectError::TimedOut(place)),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Ok(Ok(stream)) => Ok(Box::new(stream)),
    }
}

fn name_error(place: String, error: &io::Error) -> ConnectError {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => ConnectError::Refused(place),
        io::ErrorKind::TimedOut => ConnectError::TimedOut(place),
        _ if error.to_string().contains("lookup") => ConnectError::Unknown(place),
        _ => ConnectError::Other(place, error.to_string()),
    }
}

/// Asks a proxy for a tunnel; `Err` says what it answered instead.
async fn through(mut tcp: TcpStream, url: &Url, proxy: &Url) -> Result<TcpStream, String> {
    let broken = |error: io::Error| error.to_string();
    tcp.write_all(tunnel(url, proxy).as_bytes()).await.map_err(broken)?;
    let mut head = Vec::new();
    // Nothing behind the empty line belongs to the proxy, so it is read byte by byte.
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > LONGEST_PROXY_HEAD {
            return Err("its answer does not end".into());
        }
        head.push(tcp.read_u8().await.map_err(broken)?);
    }
    let line = String::from_utf8_lossy(&head).lines().next().unwrap_or_default().to_string();
    match line.split(' ').nth(1).is_some_and(|status| status.starts_with('2')) {
        true => Ok(tcp),
        false => Err(line),
    }
}

/// A request to send.
#[derive(Debug, Clone)]
pub struct Request {
    /// Method.
    pub method: &'static str,
    /// Headers besides `Host` and `Content-Length`.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Option<Bytes>,
}

impl Request {
    /// The bytes of the head.
    pub fn head(&self, url: &Url) -> String {
        let own = find_header(&self.headers, "host").is_some();
        let host = if own { String::new() } else { format!("Host: {}\r\n", url.authority()) };
        let mut head = format!("{} {} HTTP/1.1\r\n{host}", self.method, url.path);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = &self.body {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("Connection: close\r\n\r\n");
        head
    }
}

/// An answer being read.
pub struct Response {
    stream: Box<dyn Stream>,
    parser: Parser,
    /// Head, once it has come.
    pub head: Option<Head>,
    /// Bytes received so far, framing included.
    pub received: u64,
    buffer: Vec<u8>,
}

/// What reading gave.
#[derive(Debug)]
pub enum Part {
    /// The head is there.
    Head,
    /// Some of the body.
    Body(Bytes),
    /// The body is complete.
    End,
    /// The connection ended before the body did, or was not HTTP.
    Broken(String),
}

/// Sends a request.
pub async fn send(
    url: &Url,
    request: &Request,
    within: Duration,
) -> Result<Response, ConnectError> {
    let mut stream = connect(url, within).await?;
    let head = request.head(url);
    let writing = async {
        stream.write_all(head.as_bytes()).await?;
        if let Some(body) = &request.body {
            stream.write_all(body).await?;
        }
        stream.flush().await
    };
    let place = url.authority();
    match tokio::time::timeout(within, writing).await {
        Err(_) => return Err(ConnectError::TimedOut(place)),
        // The server may have answered and closed before it read everything.
        Ok(Err(error))
            if error.kind() != io::ErrorKind::BrokenPipe
                && error.kind() != io::ErrorKind::ConnectionReset =>
        {
            return Err(ConnectError::Other(place, error.to_string()));
        }
        Ok(_) => {}
    }
    let mut parser = Parser::new(Role::Response);
    if request.method == "HEAD" {
        parser.next_is_bodiless();
    }
    Ok(Response { stream, parser, head: None, received: 0, buffer: vec![0; 64 << 10] })
}

impl Response {
    /// The next part. May be dropped and called again without loss.
    pub async fn next(&mut self) -> Part {
        loop {
            match self.parser.next() {
                Err(error) => {
                    let seen = String::from_utf8_lossy(
                        &self.parser.pending()[..self.parser.pending().len().min(80)],
                    )
                    .into_owned();
                    return Part::Broken(format!("{error}: {seen:?}"));
                }
                // Interim answers are of no interest.
                Ok(Some(Event::Head(head)))
                    if head.status().is_some_and(|s| (100..200).contains(&s) && s != 101) => {}
                Ok(Some(Event::Head(head))) => {
                    self.head = Some(head);
                    return Part::Head;
                }
                Ok(Some(Event::Body(part))) => return Part::Body(part),
                Ok(Some(Event::End)) => return Part::End,
                Ok(None) => match self.stream.read(&mut self.buffer).await {
                    Ok(0) if self.head.is_some() && self.parser.may_end() => return Part::End,
                    // An encrypted stream that just stops.
                    Err(error)
                        if error.kind() == io::ErrorKind::UnexpectedEof
                            && self.head.is_some()
                            && self.parser.may_end() =>
                    {
                        return Part::End;
                    }
                    Ok(0) => return Part::Broken("the connection was closed in the middle".into()),
                    Ok(count) => {
                        self.received += count as u64;
                        self.parser.feed(&self.buffer[..count]);
                    }
                    Err(error) => return Part::Broken(format!("the connection broke: {error}")),
                },
            }
        }
    }

    /// Reads the whole body, up to a limit and a time.
    pub async fn read_all(&mut self, limit: usize, within: Duration) -> (Bytes, Option<String>) {
        let mut body = Vec::new();
        let reading = async {
            loop {
                match self.next().await {
                    Part::Head => {}
                    Part::Body(part) if body.len() + part.len() > limit => {
                        return Some("longer than the limit".to_string());
                    }
                    Part::Body(part) => body.extend_from_slice(&part),
                    Part::End => return None,
                    Part::Broken(why) => return Some(why),
                }
            }
        };
        let fault = tokio::time::timeout(within, reading)
            .await
            .unwrap_or(Some("no end within the time".into()));
        (body.into(), fault)
    }
}
