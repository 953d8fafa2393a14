//! Cursors: where a list goes on, signed and bound to one query of one session.
//!
//! A token is a signature followed by the position. Resource, session and
//! query are not in the token; they are part of what is signed, so a token for
//! anything else does not verify. The key lives as long as the process.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::error::{BridgeError, ErrorCode};

const SIGNATURE_BYTES: usize = 16;
/// Longer texts cannot be ours; refused before decoding.
const MAX_TOKEN_BYTES: usize = 8192;

/// The signing key of one bridge.
pub(crate) struct CursorKey([u8; 32]);

impl CursorKey {
    /// A fresh random key.
    pub(crate) fn random() -> CursorKey {
        let mut key = [0; 32];
        // Without a source of randomness cursors could be forged; a cursor is
        // no secret and opens nothing, so the session is still worth serving.
        if let Err(fault) = getrandom::fill(&mut key) {
            tracing::warn!(%fault, "no random key for cursors");
        }
        CursorKey(key)
    }
}

/// What a cursor is bound to.
pub(crate) struct Query<'a> {
    pub key: &'a CursorKey,
    pub session: &'a str,
    pub method: &'a str,
    pub params: &'a Value,
}

impl Query<'_> {
    /// The token that goes on after `position`.
    pub(crate) fn token<K: Serialize>(&self, position: &K) -> Result<String, BridgeError> {
        let position = serde_json::to_vec(position).map_err(|_| BridgeError::internal())?;
        let mut bytes = self.signature(&position).to_vec();
        bytes.extend_from_slice(&position);
        Ok(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The position in a token, if the token was handed out for this query.
    pub(crate) fn position<K: DeserializeOwned>(&self, token: &str) -> Result<K, BridgeError> {
        self.read(token).ok_or_else(|| {
            let message = "the cursor was not handed out by this bridge for this query; \
                           start again without one, with the same selection as before";
            BridgeError::new(ErrorCode::InvalidCursor, message).at("/page/cursor")
        })
    }

    fn read<K: DeserializeOwned>(&self, token: &str) -> Option<K> {
        if token.len() > MAX_TOKEN_BYTES {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (signature, position) = bytes.split_at_checked(SIGNATURE_BYTES)?;
        self.mac(position).verify_truncated_left(signature).ok()?;
        serde_json::from_slice(position).ok()
    }

    fn signature(&self, position: &[u8]) -> [u8; SIGNATURE_BYTES] {
        let full = self.mac(position).finalize().into_bytes();
        let mut signature = [0; SIGNATURE_BYTES];
        signature.copy_from_slice(&full[..SIGNATURE_BYTES]);
        signature
    }

    fn mac(&self, position: &[u8]) -> Hmac<Sha256> {
        let mut mac =
            <Hmac<Sha256> as Mac>::new_from_slice(&self.key.0).expect("any key length will do");
        let resource = self.method.split('.').next().unwrap_or_default();
        for part in [
            b"bridge cursor 1",
            resource.as_bytes(),
            self.session.as_bytes(),
            &self.fingerprint(),
            position,
        ] {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        mac
    }

    /// What may not change between two pages: everything but the page, the
    /// projection and the time limits.
    fn fingerprint(&self) -> [u8; 32] {
        let mut params = self.params.clone();
        if let Some(members) = params.as_object_mut() {
            members.shift_remove("page");
            members.shift_remove("projection");
            if let Some(scan) = members.get_mut("scan").and_then(Value::as_object_mut) {
                scan.shift_remove("timeout_ms");
                scan.shift_remove("wait_ms");
            }
            members.retain(|_, member| member.as_object().is_none_or(|object| !object.is_empty()));
        }
        params.sort_all_objects();
        let mut digest = Sha256::new();
        digest.update(params.to_string().as_bytes());
        digest.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn query<'a>(key: &'a CursorKey, method: &'a str, params: &'a Value) -> Query<'a> {
        Query { key, session: "s", method, params }
    }

    #[test]
    fn a_cursor_survives_what_may_change_and_nothing_else() {
        let key = CursorKey::random();
        let first = json!({"filter": {"name": "a", "thunk": true}});
        let token = query(&key, "fruit.list", &first).token(&(1u32, 2u64)).expect("encodes");
        let same = [
            json!({"filter": {"thunk": true, "name": "a"}, "page": {"limit": 7, "cursor": token}}),
            json!({"filter": {"name": "a", "thunk": true}, "scan": {"timeout_ms": 500, "wait_ms": 9}, "projection": {"fields": ["entry"]}}),
        ];
        for params in &same {
            assert_eq!(
                query(&key, "fruit.list", params).position::<(u32, u64)>(&token),
                Ok((1, 2))
            );
        }
        let others = [json!({"filter": {"name": "b", "thunk": true}}), json!({})];
        for params in &others {
            let error = query(&key, "fruit.list", params)
                .position::<(u32, u64)>(&token)
                .expect_err("other query");
            assert_eq!(
                (error.code, error.target.as_str()),
                (ErrorCode::InvalidCursor, "/params/page/cursor")
            );
        }
        assert!(
            query(&key, "leaf.list", &first).position::<(u32, u64)>(&token).is_err(),
            "other resource"
        );
        assert!(
            query(&CursorKey::random(), "fruit.list", &first)
                .position::<(u32, u64)>(&token)
                .is_err()
        );
        let other_session = Query { session: "t", ..query(&key, "fruit.list", &first) };
        assert!(other_session.position::<(u32, u64)>(&token).is_err());
    }

    #[test]
    fn damaged_tokens_are_refused() {
        let key = CursorKey::random();
        let params = json!({});
        let query = query(&key, "leaf.list", &params);
        let token = query.token(&7u64).expect("encodes");
        for index in 0..token.len() {
            let mut bytes = token.clone().into_bytes();
            bytes[index] = if bytes[index] == b'A' { b'B' } else { b'A' };
            let damaged = String::from_utf8(bytes).expect("still ASCII");
            // The last letter carries unused bits; those decode strictly or not at all.
            assert!(query.position::<u64>(&damaged).is_err(), "letter {index}");
        }
        for junk in ["", "A", "====", "not base64!", &"A".repeat(100_000)] {
            assert!(query.position::<u64>(junk).is_err());
        }
        assert_eq!(query.position::<u64>(&token), Ok(7));
    }
}
