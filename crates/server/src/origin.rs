//! The `Origin` check: a browser page may only talk to us when it was served
//! from this machine or from the host we listen on. No name is resolved.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Whether a request may pass. Every value must be allowed; blank values and
/// the absence of the header count as "no browser".
pub(crate) fn admits<'a>(host: &str, values: impl Iterator<Item = &'a [u8]>) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    values.into_iter().all(|value| match std::str::from_utf8(value) {
        Ok(text) if text.trim().is_empty() => true,
        Ok(text) => is_allowed(host, text.trim()),
        Err(_) => false,
    })
}

fn is_allowed(configured: &str, origin: &str) -> bool {
    let Some((scheme, authority)) = origin.split_once("://") else { return false };
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return false;
    }
    let Some(host) = host_of(authority) else { return false };
    if host.eq_ignore_ascii_case("localhost") || host.eq_ignore_ascii_case(configured) {
        return true;
    }
    host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || host.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback())
}

/// The host of `host`, `host:port`, `[v6]` or `[v6]:port`; `None` when there is
/// anything else, such as user names, paths or a bad port.
fn host_of(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            host.parse::<Ipv6Addr>().ok()?;
            (host, port)
        }
        None => {
            let colon = authority.find(':').unwrap_or(authority.len());
            authority.split_at(colon)
        }
    };
    let port_fits = match port.strip_prefix(':') {
        Some(digits) => digits.bytes().all(|b| b.is_ascii_digit()) && digits.parse::<u16>().is_ok(),
        None => port.is_empty(),
    };
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b':');
    (port_fits && !host.is_empty() && host.bytes().all(plain)).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(host: &str, origins: &[&str]) -> bool {
        admits(host, origins.iter().map(|origin| origin.as_bytes()))
    }

    #[test]
    fn local_pages_pass() {
        for origin in [
            "http://localhost",
            "http://localhost:3000",
            "https://LOCALHOST:443",
            "HTTP://localhost",
            "http://127.0.0.1:8766",
            "http://127.8.9.1",
            "http://[::1]",
            "https://[::1]:8443",
            "",
            "  ",
        ] {
            assert!(check("127.0.0.1", &[origin]), "{origin}");
        }
        assert!(check("127.0.0.1", &[]));
    }

    #[test]
    fn foreign_pages_do_not() {
        for origin in [
            "null",
            "http://evil.example",
            "https://localhost.evil.example",
            "http://evil.example/localhost",
            "http://localhost@evil.example",
            "http://evil.example:80@localhost",
            "http://localhost/",
            "http://localhost/x",
            "http://localhost:99999",
            "http://localhost:+1",
            "http://localhost:x",
            "http://",
            "http://:80",
            "localhost",
            "//localhost",
            "file://localhost",
            "ws://localhost",
            "chrome-extension://localhost",
            "http://128.0.0.1",
            "http://127.0.0.1.evil.example",
            "http://0.0.0.0",
            "http://10.0.0.1",
            "http://[::2]",
            "http://[::1",
            "http://[localhost]",
            "http://local host",
            "http://localhost?x",
            "http://localhost#x",
        ] {
            assert!(!check("127.0.0.1", &[origin]), "{origin}");
        }
        assert!(!admits("127.0.0.1", [&b"http://\xff"[..]].into_iter()));
    }

    #[test]
    fn the_configured_host_passes_with_any_port_and_case() {
        assert!(check("Bridge.Example", &["https://bridge.example:9"]));
        assert!(check("[fe80::1]", &["http://[fe80::1]:80"]));
        assert!(!check("bridge.example", &["http://www.bridge.example"]));
        assert!(!check("0.0.0.0", &["http://10.0.0.1"]));
    }

    #[test]
    fn every_value_counts() {
        assert!(!check("127.0.0.1", &["http://localhost", "http://evil.example"]));
    }
}
