//! WebSocket frames, one at a time. Reading is bounded by the caller's limit,
//! and fragments stay visible, because the protocol refuses them.

use bytes::{Buf, BytesMut};

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opcode {
    Continuation,
    Text,
    Binary,
    Close,
    Ping,
    Pong,
    Reserved,
}

/// One frame from a client, unmasked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    /// Whether the message ends here.
    pub last: bool,
    /// Whether a reserved bit is set, which only extensions may do.
    pub extended: bool,
    pub opcode: Opcode,
    pub payload: BytesMut,
}

/// Why nothing after this point can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameError {
    /// Clients must mask what they send.
    Unmasked,
    /// The payload is longer than the limit.
    TooLong,
}

/// Reads a client's bytes as frames: how many of them are whole, and how many bytes
/// are left. `None` when the bytes break the rules.
pub fn whole_frames(bytes: &[u8], limit: usize) -> Option<(usize, usize)> {
    let mut buffer = BytesMut::from(bytes);
    let mut count = 0;
    while decode(&mut buffer, limit).ok()?.is_some() {
        count += 1;
    }
    Some((count, buffer.len()))
}

/// Takes the next frame off the buffer, or `None` while it is incomplete.
pub(crate) fn decode(buffer: &mut BytesMut, limit: usize) -> Result<Option<Frame>, FrameError> {
    let Some((first, second)) = buffer.first().copied().zip(buffer.get(1).copied()) else {
        return Ok(None);
    };
    if second & 0x80 == 0 {
        return Err(FrameError::Unmasked);
    }
    let Some((length, length_bytes)) = payload_length(second & 0x7f, &buffer[2..]) else {
        return Ok(None);
    };
    let length = usize::try_from(length).ok().filter(|length| *length <= limit);
    let length = length.ok_or(FrameError::TooLong)?;
    let head = 2 + length_bytes;
    let Some(mask) = buffer.get(head..head + 4) else { return Ok(None) };
    let mask = [mask[0], mask[1], mask[2], mask[3]];
    if buffer.len() < head + 4 + length {
        return Ok(None);
    }
    buffer.advance(head + 4);
    let mut payload = buffer.split_to(length);
    unmask(&mut payload, mask);
    Ok(Some(Frame {
        last: first & 0x80 != 0,
        extended: first & 0x70 != 0,
        opcode: opcode(first & 0x0f),
        payload,
    }))
}

/// The length and how many bytes beyond the second it took.
fn payload_length(short: u8, rest: &[u8]) -> Option<(u64, usize)> {
    match short {
        126 => Some((u16::from_be_bytes(rest.get(..2)?.try_into().ok()?).into(), 2)),
        127 => Some((u64::from_be_bytes(rest.get(..8)?.try_into().ok()?), 8)),
        _ => Some((short.into(), 0)),
    }
}

fn opcode(bits: u8) -> Opcode {
    match bits {
        0 => Opcode::Continuation,
        1 => Opcode::Text,
        2 => Opcode::Binary,
        8 => Opcode::Close,
        9 => Opcode::Ping,
        10 => Opcode::Pong,
        _ => Opcode::Reserved,
    }
}

fn unmask(payload: &mut [u8], mask: [u8; 4]) {
    let wide = u64::from_ne_bytes([
        mask[0], mask[1], mask[2], mask[3], mask[0], mask[1], mask[2], mask[3],
    ]);
    let (chunks, tail) = payload.as_chunks_mut::<8>();
    for chunk in chunks {
        *chunk = (u64::from_ne_bytes(*chunk) ^ wide).to_ne_bytes();
    }
    for (byte, key) in tail.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= key;
    }
}

/// Appends a whole, unmasked frame, as servers send them.
pub(crate) fn encode(out: &mut Vec<u8>, opcode: Opcode, payload: &[u8]) {
    let bits = match opcode {
        Opcode::Continuation | Opcode::Reserved => 0,
        Opcode::Text => 1,
        Opcode::Binary => 2,
        Opcode::Close => 8,
        Opcode::Ping => 9,
        Opcode::Pong => 10,
    };
    out.push(0x80 | bits);
    match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
        (Ok(short @ ..126), _) => out.push(short),
        (_, Ok(medium)) => {
            out.push(126);
            out.extend_from_slice(&medium.to_be_bytes());
        }
        _ => {
            out.push(127);
            out.extend_from_slice(&(payload.len() as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(payload);
}

/// The payload of a close frame: the code, then as much of the reason as fits.
pub(crate) fn close_payload(code: u16, reason: &str) -> Vec<u8> {
    let mut end = reason.len().min(123);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    let mut payload = code.to_be_bytes().to_vec();
    payload.extend_from_slice(&reason.as_bytes()[..end]);
    payload
}

/// Reads the code and reason of a client's close frame; what it leaves out counts
/// as a normal end. `None` when it is no close frame by the rules: half a code, a
/// code that may not be sent, or a reason that is not UTF-8.
pub(crate) fn read_close(payload: &[u8]) -> Option<(u16, String)> {
    if payload.is_empty() {
        return Some((1000, "closed".into()));
    }
    let (code, reason) = payload.split_first_chunk::<2>()?;
    let code = u16::from_be_bytes(*code);
    if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return None;
    }
    let reason = std::str::from_utf8(reason).ok()?;
    Some((code, if reason.is_empty() { "closed".into() } else { reason.to_owned() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MASK: [u8; 4] = [0x12, 0x34, 0x56, 0x78];

    /// A client's frame with the given first byte.
    fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        encode(&mut out, Opcode::Text, payload);
        out[0] = first;
        out[1] |= 0x80;
        let head = out.len() - payload.len();
        out.splice(head..head, MASK);
        for (byte, key) in out[head + 4..].iter_mut().zip(MASK.iter().cycle()) {
            *byte ^= key;
        }
        out
    }

    fn decode_all(bytes: &[u8], limit: usize) -> Result<Option<Frame>, FrameError> {
        decode(&mut BytesMut::from(bytes), limit)
    }

    #[test]
    fn reads_every_length_form() {
        for length in [0, 1, 7, 8, 9, 125, 126, 127, 65_535, 65_536, 100_003] {
            let payload: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
            let frame = decode_all(&masked(0x81, &payload), 1 << 20).expect("fits").expect("whole");
            assert!(frame.last && !frame.extended && frame.opcode == Opcode::Text);
            assert_eq!(&frame.payload[..], &payload[..], "{length}");
        }
    }

    #[test]
    fn reads_flags_and_opcodes() {
        let rows = [
            (0x81, true, false, Opcode::Text),
            (0x01, false, false, Opcode::Text),
            (0x80, true, false, Opcode::Continuation),
            (0x82, true, false, Opcode::Binary),
            (0x88, true, false, Opcode::Close),
            (0x89, true, false, Opcode::Ping),
            (0x8a, true, false, Opcode::Pong),
            (0x83, true, false, Opcode::Reserved),
            (0x8f, true, false, Opcode::Reserved),
            (0xc1, true, true, Opcode::Text),
            (0x91, true, true, Opcode::Text),
        ];
        for (first, last, extended, opcode) in rows {
            let frame = decode_all(&masked(first, b"x"), 10).expect("fits").expect("whole");
            assert_eq!((frame.last, frame.extended, frame.opcode), (last, extended, opcode));
        }
    }

    #[test]
    fn waits_for_the_rest() {
        let whole = masked(0x81, &[7; 300]);
        for cut in 0..whole.len() {
            assert_eq!(decode_all(&whole[..cut], 1 << 20), Ok(None), "{cut}");
        }
        let mut two = BytesMut::from(&[masked(0x81, b"a"), masked(0x89, b"b")].concat()[..]);
        let first = decode(&mut two, 10).expect("fits").expect("whole");
        let second = decode(&mut two, 10).expect("fits").expect("whole");
        assert_eq!((&first.payload[..], &second.payload[..]), (&b"a"[..], &b"b"[..]));
        assert!(two.is_empty());
    }

    #[test]
    fn refuses_what_is_unmasked_or_too_long() {
        assert_eq!(decode_all(&[0x81, 0x01, b'x'], 10), Err(FrameError::Unmasked));
        assert_eq!(decode_all(&masked(0x81, &[0; 11]), 10), Err(FrameError::TooLong));
        assert!(decode_all(&masked(0x81, &[0; 10]), 10).is_ok_and(|frame| frame.is_some()));
        // The length alone is enough to refuse: nothing is waited for.
        let huge = [0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(decode_all(&huge, usize::MAX >> 1), Err(FrameError::TooLong));
        assert_eq!(decode_all(&huge[..9], 10), Ok(None));
    }

    #[test]
    fn close_payloads() {
        let told = |code, reason: &str| Some((code, reason.to_owned()));
        assert_eq!(read_close(&[]), told(1000, "closed"));
        assert_eq!(read_close(&close_payload(1000, "")), told(1000, "closed"));
        assert_eq!(read_close(&close_payload(4001, "bye")), told(4001, "bye"));
        for bad in [vec![3], close_payload(1005, "bye"), vec![0x0f, 0xa1, 0xff]] {
            assert_eq!(read_close(&bad), None, "{bad:?}");
        }
        let long = "\u{e9}".repeat(100);
        let payload = close_payload(1003, &long);
        assert_eq!(payload.len(), 124, "cut at a character, within 125 bytes");
        assert!(std::str::from_utf8(&payload[2..]).is_ok());
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut buffer = BytesMut::from(&bytes[..]);
            while let Ok(Some(_)) = decode(&mut buffer, 100) {}
        }
    }
}
