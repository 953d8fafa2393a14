//! Content encodings: gzip and deflate bodies, unpacked within a limit.

use miniz_oxide::inflate::{decompress_to_vec_with_limit, decompress_to_vec_zlib_with_limit};

/// Whether a `Content-Encoding` says that a body is packed.
pub fn is_packed(name: &str) -> bool {
    !matches!(name.trim().to_ascii_lowercase().as_str(), "" | "identity")
}

/// The plain bytes of a packed body; `Err` says why it cannot be read.
pub fn unpack(name: &str, body: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let broken = |_| format!("the body is no {name} data, or longer than the limit");
    match name.trim().to_ascii_lowercase().as_str() {
        "gzip" | "x-gzip" => {
            let start = header_length(body).ok_or_else(|| format!("the body is no {name} data"))?;
            decompress_to_vec_with_limit(&body[start..], most).map_err(broken)
        }
        "deflate" => decompress_to_vec_zlib_with_limit(body, most)
            .or_else(|_| decompress_to_vec_with_limit(body, most))
            .map_err(broken),
        other => Err(format!("the body is packed as {other:?}, although no packing was asked for")),
    }
}

/// The length of the header before the packed data (RFC 1952).
fn header_length(body: &[u8]) -> Option<usize> {
    if !body.starts_with(&[0x1f, 0x8b, 8]) {
        return None;
    }
    let flags = *body.get(3)?;
    let mut at = 10;
    if flags & 4 != 0 {
        at += 2 + usize::from(u16::from_le_bytes([*body.get(at)?, *body.get(at + 1)?]));
    }
    // Name and remark end with a zero each.
    for flag in [8, 16] {
        if flags & flag != 0 {
            at += body.get(at..)?.iter().position(|byte| *byte == 0)? + 1;
        }
    }
    at += if flags & 2 != 0 { 2 } else { 0 };
    (at <= body.len()).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_bodies() {
        let plain = b"{\"jsonrpc\":\"2.0\"}".repeat(50);
        let raw = miniz_oxide::deflate::compress_to_vec(&plain, 6);
        let mut named = vec![0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3];
        named.extend_from_slice(b"name\0");
        named.extend_from_slice(&raw);
        named.extend_from_slice(&[0; 8]);
        assert_eq!(unpack("gzip", &named, 1 << 20).unwrap(), plain);
        assert_eq!(unpack("deflate", &raw, 1 << 20).unwrap(), plain);
        assert!(unpack("gzip", &named, 100).is_err());
    }

    #[test]
    fn hostile_headers() {
        for body in
            [&b""[..], b"\x1f\x8b", b"\x1f\x8b\x08\xff", b"\x1f\x8b\x08\x04\0\0\0\0\0\0\xff\xff"]
        {
            assert!(unpack("gzip", body, 1000).is_err());
        }
        assert!(unpack("br", b"x", 1000).is_err());
    }
}
