//! Requests and responses over one's own sockets, so that every byte and every
//! header can be shown.

use super::parser::{Event, Head, Parser, Role, find_header};
use super::url::Url;
use bytes::Bytes;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, pki_types::ServerName};

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
    /// Anything else.
    #[error("no connection to {0}: {1}")]
    Other(String, String),
}

/// Opens a connection.
pub async fn connect(url: &Url, within: Duration) -> Result<Box<dyn Stream>, ConnectError> {
    let place = format!("{}:{}", url.host, url.port);
    let opening = TcpStream::connect((url.host.as_str(), url.port));
    let tcp = match tokio::time::timeout(within, opening).await {
        Err(_) => return Err(ConnectError::TimedOut(place)),
        Ok(Err(error)) => return Err(name_error(place, &error)),
        Ok(Ok(tcp)) => tcp,
    };
    // Small messages must not wait for more to come.
    let _ = tcp.set_nodelay(true);
    if !url.scheme.is_tls() {
        return Ok(Box::new(tcp));
    }
    let failed = |text: String| ConnectError::Tls(place.clone(), text);
    let name = ServerName::try_from(url.host.clone()).map_err(|error| failed(error.to_string()))?;
    let connector = tokio_rustls::TlsConnector::from(tls_config()?);
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

fn tls_config() -> Result<Arc<ClientConfig>, ConnectError> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| ConnectError::Tls(String::new(), error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
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
