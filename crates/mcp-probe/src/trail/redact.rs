//! Replacing secrets in the copy that is written down. What is forwarded is
//! never touched.

use crate::json::{self, Json};
use bytes::Bytes;
use memchr::memmem;

/// What stands in the place of a secret.
pub const MARK: &str = "[redacted]";

/// Bodies longer than this are not searched for member names.
const MAX_BODY: usize = 4 << 20;

const SECRET_NAMES: [&str; 14] = [
    "authorization",
    "password",
    "passwd",
    "secret",
    "clientsecret",
    "token",
    "accesstoken",
    "refreshtoken",
    "idtoken",
    "apikey",
    "xapikey",
    "privatekey",
    "authtoken",
    "bearertoken",
];

const SECRET_HEADERS: [&str; 6] =
    ["authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key"];

/// Whether a header's value is a secret.
pub fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_HEADERS.contains(&name.as_str()) || name.ends_with("-token") || name.ends_with("-secret")
}

/// The value to write down for a header.
pub fn header(name: &str, value: &str) -> String {
    if !is_secret_header(name) {
        return value.to_string();
    }
    match value.split_once(' ') {
        Some((scheme, _)) if scheme.len() <= 12 => format!("{scheme} {MARK}"),
        _ => MARK.to_string(),
    }
}

/// The path to write down: values of secret query parameters are replaced.
pub fn path(path: &str) -> String {
    let Some((before, query)) = path.split_once('?') else {
        return path.to_string();
    };
    let parts: Vec<String> = query
        .split('&')
        .map(|part| match part.split_once('=') {
            Some((name, _)) if is_secret_name(name) => format!("{name}={MARK}"),
            _ => part.to_string(),
        })
        .collect();
    format!("{before}?{}", parts.join("&"))
}

fn is_secret_name(name: &str) -> bool {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    SECRET_NAMES.contains(&plain.as_str())
}

/// The copy of a body to write down, if it holds secrets: members with telling
/// names, and the literal secrets that were handed to the probe.
pub fn body(raw: &Bytes, known: &[String]) -> Option<Bytes> {
    let mut copy: Option<Vec<u8>> = None;
    for secret in known.iter().filter(|secret| secret.len() >= 4) {
        let current = copy.as_deref().unwrap_or(raw);
        if memmem::find(current, secret.as_bytes()).is_some() {
            copy = Some(replace(current, secret.as_bytes()));
        }
    }
    let current = copy.as_deref().unwrap_or(raw);
    if current.len() <= MAX_BODY
        && may_hold_names(current)
        && let Ok(mut value) = json::parse(current)
        && redact_members(&mut value)
    {
        copy = Some(value.to_string().into_bytes());
    }
    copy.map(Bytes::from)
}

fn replace(text: &[u8], secret: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for at in memmem::find_iter(text, secret) {
        out.extend_from_slice(&text[from..at]);
        out.extend_from_slice(MARK.as_bytes());
        from = at + secret.len();
    }
    out.extend_from_slice(&text[from..]);
    out
}

/// A cheap look before parsing: the tails that all the names share.
fn may_hold_names(text: &[u8]) -> bool {
    const TAILS: [&[u8]; 9] = [
        b"oken\":",
        b"assword\":",
        b"asswd\":",
        b"ecret\":",
        b"ey\":",
        b"KEY\":",
        b"OKEN\":",
        b"orization\":",
        b"oken\" :",
    ];
    TAILS.iter().any(|tail| memmem::find(text, tail).is_some())
}

fn redact_members(value: &mut Json) -> bool {
    match value {
        Json::Object(members) => {
            let mut changed = false;
            for (name, member) in members.iter_mut() {
                if is_secret_name(name.as_str())
                    && member.as_str().is_some_and(|text| !text.is_empty())
                {
                    *member = Json::from(MARK);
                    changed = true;
                } else {
                    changed |= redact_members(member);
                }
            }
            changed
        }
        Json::Array(items) => {
            items.iter_mut().fold(false, |changed, item| redact_members(item) | changed)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_and_the_rest_stays() {
        let raw = Bytes::from_static(
            br#"{"a":1.0,"api_key":"k","n":{"Password":"p","progressToken":"t"}}"#,
        );
        let copy = body(&raw, &[]).unwrap();
        assert_eq!(
            copy,
            r#"{"a":1.0,"api_key":"[redacted]","n":{"Password":"[redacted]","progressToken":"t"}}"#
        );
        assert_eq!(body(&Bytes::from_static(br#"{"key":"x"}"#), &[]), None);
        let known = body(&Bytes::from_static(b"say hunter22!"), &["hunter22".into()]).unwrap();
        assert_eq!(known, "say [redacted]!");
    }

    #[test]
    fn headers_and_paths() {
        assert_eq!(header("Authorization", "Bearer abc"), "Bearer [redacted]");
        assert_eq!(header("X-Api-Key", "abc"), "[redacted]");
        assert_eq!(header("Accept", "a b"), "a b");
        assert_eq!(path("/mcp?token=x&a=1"), "/mcp?token=[redacted]&a=1");
    }
}
