//! Addresses of servers.

use std::fmt;

/// How to reach a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Plain HTTP.
    Http,
    /// HTTP over TLS.
    Https,
    /// A web socket.
    Ws,
    /// A web socket over TLS.
    Wss,
}

impl Scheme {
    fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
            Scheme::Ws => "ws",
            Scheme::Wss => "wss",
        }
    }

    /// Whether the connection is encrypted.
    pub fn is_tls(self) -> bool {
        matches!(self, Scheme::Https | Scheme::Wss)
    }

    /// Whether it is a web socket.
    pub fn is_ws(self) -> bool {
        matches!(self, Scheme::Ws | Scheme::Wss)
    }

    fn port(self) -> u16 {
        if self.is_tls() { 443 } else { 80 }
    }
}

/// An absolute address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// The scheme.
    pub scheme: Scheme,
    /// Host name or address, IPv6 without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path and query, starting with a slash.
    pub path: String,
    /// User and password, `user:password`, when the address holds them.
    pub user: Option<String>,
}

impl Url {
    /// Reads an address; `None` when it is none.
    pub fn parse(text: &str) -> Option<Url> {
        let (scheme, rest) = text.trim().split_once("://")?;
        let scheme = [Scheme::Http, Scheme::Https, Scheme::Ws, Scheme::Wss]
            .into_iter()
            .find(|known| known.name().eq_ignore_ascii_case(scheme))?;
        let rest = rest.split('#').next()?;
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        let (user, authority) = match authority.rsplit_once('@') {
            Some((user, authority)) => {
                (Some(user.to_string()).filter(|user| !user.is_empty()), authority)
            }
            None => (None, authority),
        };
        let (host, port) = split_port(authority)?;
        let port = if port.is_empty() { scheme.port() } else { port.parse().ok()? };
        let path = if path.starts_with('/') { path.to_string() } else { format!("/{path}") };
        let clean = |c: char| !c.is_control() && c != ' ';
        (!host.is_empty() && host.chars().all(clean) && path.chars().all(clean)).then(|| Url {
            scheme,
            host: host.to_string(),
            port,
            path,
            user,
        })
    }

    /// Resolves what a server sent, relative to this address.
    pub fn join(&self, text: &str) -> Option<Url> {
        if text.contains("://") {
            return Url::parse(text);
        }
        let path = match text.strip_prefix('/') {
            Some(_) => text.to_string(),
            None if text.starts_with('?') => format!("{}{text}", self.path.split('?').next()?),
            None => {
                let here = self.path.split('?').next()?;
                format!("{}/{text}", here.rsplit_once('/')?.0)
            }
        };
        Some(Url { path, ..self.clone() })
    }

    /// Whether scheme, host and port are the same.
    pub fn same_origin(&self, other: &Url) -> bool {
        self.scheme == other.scheme
            && self.port == other.port
            && self.host.eq_ignore_ascii_case(&other.host)
    }

    /// The value of the `Host` header.
    pub fn authority(&self) -> String {
        let host =
            if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == self.scheme.port() { host } else { format!("{host}:{}", self.port) }
    }

    /// The same server, another path.
    pub fn with_path(&self, path: &str) -> Url {
        Url { path: path.to_string(), ..self.clone() }
    }

    /// Whether the host is this machine.
    pub fn is_loopback(&self) -> bool {
        self.host.eq_ignore_ascii_case("localhost")
            || self.host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

fn split_port(authority: &str) -> Option<(&str, &str)> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        return Some((host, rest.strip_prefix(':').unwrap_or(rest)));
    }
    Some(authority.rsplit_once(':').unwrap_or((authority, "")))
}

impl fmt::Display for Url {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}://{}{}", self.scheme.name(), self.authority(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let show = |text: &str| Url::parse(text).map(|url| url.to_string());
        assert_eq!(show("http://a:80"), Some("http://a/".into()));
        assert_eq!(show("HTTPS://[::1]:8443/x?y#z"), Some("https://[::1]:8443/x?y".into()));
        assert_eq!(show("ws://h?q=1"), Some("ws://h/?q=1".into()));
        assert_eq!(show("file:///a"), None);
        assert_eq!(show("http://a:99999/"), None);
        assert_eq!(show("http://a b/"), None);
    }

    #[test]
    fn joining() {
        let base = Url::parse("http://a:1/x/sse?k=v").unwrap();
        let show = |text: &str| base.join(text).unwrap().to_string();
        assert_eq!(show("/m?s=1"), "http://a:1/m?s=1");
        assert_eq!(show("m"), "http://a:1/x/m");
        assert_eq!(show("?s"), "http://a:1/x/sse?s");
        assert!(!base.same_origin(&base.join("http://b/").unwrap()));
    }
}
