//! Bearer tokens: held so that they cannot be printed, compared in constant
//! time, and refused wherever an address could leak them.

use std::fmt;
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// The secret that clients must know. Printing it shows nothing.
#[derive(Clone)]
pub struct Token(Arc<str>);

impl Token {
    /// Wraps a secret.
    pub fn new(text: impl Into<Arc<str>>) -> Token {
        Token(text.into())
    }

    /// Number of bytes.
    #[allow(clippy::len_without_is_empty, reason = "a token is never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The header value that carries the token to another server.
    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }

    fn equals(&self, candidate: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(candidate).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Whether the `Authorization` values of a request let it in.
pub(crate) fn admits<'a>(
    token: Option<&Token>,
    mut values: impl Iterator<Item = &'a [u8]>,
) -> bool {
    let Some(token) = token else { return true };
    let (Some(value), None) = (values.next(), values.next()) else { return false };
    let Some((scheme, rest)) = value.split_at_checked(b"bearer ".len()) else { return false };
    scheme.eq_ignore_ascii_case(b"bearer ") && token.equals(rest)
}

/// Whether a query string carries a secret. Names are decoded first, so that
/// no spelling slips through.
pub(crate) fn query_has_token(query: &str) -> bool {
    query.split(['&', ';']).any(|pair| {
        let name = pair.split_once('=').map_or(pair, |(name, _)| name).replace('+', " ");
        let name = percent_encoding::percent_decode_str(&name).decode_utf8_lossy();
        matches!(&*name, "token" | "access_token")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearer_token_admits() {
        let token = Token::new("secret-1");
        let rows: &[(&[&str], bool)] = &[
            (&["Bearer secret-1"], true),
            (&["bearer secret-1"], true),
            (&["BEARER secret-1"], true),
            (&["Bearer secret-2"], false),
            (&["Bearer secret-1 "], false),
            (&["Bearer  secret-1"], false),
            (&["Bearer secret-11"], false),
            (&["Bearer secret-"], false),
            (&["Bearer "], false),
            (&["Bearer"], false),
            (&["Basic secret-1"], false),
            (&["secret-1"], false),
            (&[""], false),
            (&[], false),
            (&["Bearer secret-1", "Bearer secret-1"], false),
        ];
        for (values, expected) in rows {
            let values = values.iter().map(|value| value.as_bytes());
            assert_eq!(admits(Some(&token), values.clone()), *expected);
            assert!(admits(None, values));
        }
    }

    #[test]
    fn printing_a_token_shows_nothing() {
        assert_eq!(format!("{:?}", Token::new("secret")), "Token");
    }

    #[test]
    fn tokens_in_queries_are_seen() {
        for query in [
            "token=x",
            "token",
            "a=1&token=x",
            "a=1&token",
            "access_token=x",
            "%74oken=x",
            "token=",
            "a;token=x",
        ] {
            assert!(query_has_token(query), "{query}");
        }
        for query in ["", "a=1", "tokens=1", "my_token=1", "a=token", "TOKEN=x"] {
            assert!(!query_has_token(query), "{query}");
        }
    }
}
