//! Bytes on the wire: hex or base64 text with the decoded length beside it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::error::{BridgeError, ErrorCode};
use crate::method::Answer;
use crate::shapes::{ByteSequence, Encoding};

/// The wire form of bytes.
pub(crate) fn encode(bytes: &[u8], encoding: Encoding) -> ByteSequence {
    let data = match encoding {
        Encoding::Hex => hex(bytes),
        Encoding::Base64 => STANDARD.encode(bytes),
    };
    ByteSequence { encoding, data, length: u32::try_from(bytes.len()).unwrap_or(u32::MAX) }
}

/// The bytes of a wire form; `pointer` says where it stands.
pub(crate) fn decode(sequence: &ByteSequence, pointer: &str) -> Answer<Vec<u8>> {
    let (decoded, form) = match sequence.encoding {
        Encoding::Hex => (unhex(&sequence.data), "an even number of hex digits without separators"),
        Encoding::Base64 => (STANDARD.decode(&sequence.data).ok(), "base64 with padding"),
    };
    let bytes = decoded.ok_or_else(|| {
        let message = format!("the data must be {form}");
        BridgeError::new(ErrorCode::InvalidByteData, message).at(&format!("{pointer}/data"))
    })?;
    if bytes.len() as u64 != u64::from(sequence.length) {
        let message = format!("the data holds {} bytes, not {}", bytes.len(), sequence.length);
        return Err(
            BridgeError::new(ErrorCode::LengthMismatch, message).at(&format!("{pointer}/length"))
        );
    }
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    if !text.len().is_multiple_of(2) {
        return None;
    }
    text.as_bytes()
        .chunks_exact(2)
        .map(|pair| Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_encodings_go_there_and_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        for encoding in [Encoding::Hex, Encoding::Base64] {
            assert_eq!(decode(&encode(&bytes, encoding), "/x"), Ok(bytes.clone()));
        }
        assert_eq!(encode(b"\x7fELF", Encoding::Hex).data, "7f454c46");
    }

    #[test]
    fn bad_data_and_bad_lengths_are_told_apart() {
        let sequence = |data: &str, length| ByteSequence {
            encoding: Encoding::Hex,
            data: data.to_owned(),
            length,
        };
        for (data, length, code, target) in [
            ("abc", 1, ErrorCode::InvalidByteData, "/params/x/data"),
            ("zz", 1, ErrorCode::InvalidByteData, "/params/x/data"),
            ("é0", 1, ErrorCode::InvalidByteData, "/params/x/data"),
            ("AB", 2, ErrorCode::LengthMismatch, "/params/x/length"),
        ] {
            let error = decode(&sequence(data, length), "/x").expect_err("is wrong");
            assert_eq!((error.code, error.target.as_str()), (code, target), "{data}");
        }
    }
}
