//! Web socket frames out of bytes: masks are taken off, fragments joined,
//! compression undone. Only for looking on; what is forwarded stays as it is.

use super::tap::LONGEST;
use bytes::{Buf, Bytes, BytesMut};
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};

/// Longest payload of a control frame that the protocol allows.
const LONGEST_CONTROL: u64 = 125;
/// What a sender leaves off the end of each compressed message.
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];

const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// What one side said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// A whole message, and what is odd about it.
    Message(Bytes, Option<String>),
    /// A frame that carries no message, with its name.
    Control(Bytes, String),
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    last: bool,
    opcode: u8,
    mask: Option<[u8; 4]>,
    left: u64,
    read: usize,
}

/// One direction of a web socket.
pub struct Frames {
    buffer: BytesMut,
    frame: Option<Frame>,
    control: Vec<u8>,
    message: Vec<u8>,
    begun: Option<Begun>,
    inflater: Inflater,
}

/// Compression remembers earlier messages, from the first compressed one on.
enum Inflater {
    Unused,
    Reading(Box<InflateState>),
    Lost,
}

/// A message whose first frame has been seen.
#[derive(Debug, Clone, Copy, Default)]
struct Begun {
    binary: bool,
    compressed: bool,
    too_long: bool,
}

impl Frames {
    /// At the first byte after the upgrade.
    pub fn new() -> Frames {
        Frames {
            buffer: BytesMut::new(),
            frame: None,
            control: Vec::new(),
            message: Vec::new(),
            begun: None,
            inflater: Inflater::Unused,
        }
    }

    /// Adds bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Bytes not yet taken.
    pub fn pending(&self) -> &[u8] {
        &self.buffer
    }

    /// A message of which the end never came.
    pub fn unfinished(&mut self) -> Option<Bytes> {
        let begun = self.begun.take().is_some() || self.frame.is_some() || !self.buffer.is_empty();
        self.frame = None;
        begun.then(|| std::mem::take(&mut self.message).into())
    }

    /// What comes next; `Err` says why these are no frames.
    pub fn next(&mut self) -> Result<Option<Seen>, String> {
        loop {
            let Some(mut frame) = self.frame else {
                match self.header()? {
                    Some(frame) => self.frame = Some(frame),
                    None => return Ok(None),
                }
                continue;
            };
            if frame.left > 0 && self.buffer.is_empty() {
                return Ok(None);
            }
            self.take(&mut frame);
            if frame.left > 0 {
                self.frame = Some(frame);
                return Ok(None);
            }
            self.frame = None;
            if frame.opcode >= CLOSE {
                return Ok(Some(self.control_frame(frame.opcode)));
            }
            if frame.last {
                return Ok(Some(self.whole()));
            }
        }
    }

    fn header(&mut self) -> Result<Option<Frame>, String> {
        let [first, second, ..] = self.buffer[..] else { return Ok(None) };
        let extended = match second & 0x7f {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let masked = second & 0x80 != 0;
        let length = 2 + extended + if masked { 4 } else { 0 };
        if self.buffer.len() < length {
            return Ok(None);
        }
        self.buffer.advance(2);
        let left = match extended {
            0 => u64::from(second & 0x7f),
            count => self.buffer.get_uint(count),
        };
        let mask = masked.then(|| self.buffer.get_u32().to_be_bytes());
        let frame = Frame { last: first & 0x80 != 0, opcode: first & 0xf, mask, left, read: 0 };
        self.admit(&frame, first)?;
        Ok(Some(frame))
    }

    /// Whether the frame may stand here; the first of a message opens it.
    fn admit(&mut self, frame: &Frame, first: u8) -> Result<(), String> {
        let compressed = first & 0x40 != 0;
        if first & 0x30 != 0 || !matches!(frame.opcode, 0..=2 | CLOSE..=PONG) {
            return Err(format!("a web socket frame of an unknown kind ({first:#04x})"));
        }
        if frame.opcode >= CLOSE {
            let fits = frame.last && !compressed && frame.left <= LONGEST_CONTROL;
            return fits.then_some(()).ok_or("a broken control frame".into());
        }
        match (frame.opcode, self.begun) {
            (0, None) => Err("a continuation of nothing".into()),
            (0, Some(_)) => Ok(()),
            (_, Some(_)) => Err("a message inside a message".into()),
            (opcode, None) => {
                self.begun = Some(Begun { binary: opcode == 2, compressed, too_long: false });
                Ok(())
            }
        }
    }

    fn take(&mut self, frame: &mut Frame) {
        let count = usize::try_from(frame.left).unwrap_or(usize::MAX).min(self.buffer.len());
        let mut part = self.buffer.split_to(count);
        if let Some(mut mask) = frame.mask {
            mask.rotate_left(frame.read % 4);
            for (byte, key) in part.iter_mut().zip(mask.iter().cycle()) {
                *byte ^= key;
            }
        }
        frame.left -= count as u64;
        frame.read = (frame.read + count) % 4;
        if frame.opcode >= CLOSE {
            self.control.extend_from_slice(&part);
        } else if self.message.len() + count <= LONGEST {
            self.message.extend_from_slice(&part);
        } else if let Some(begun) = &mut self.begun {
            begun.too_long = true;
        }
    }

    fn control_frame(&mut self, opcode: u8) -> Seen {
        let payload = Bytes::from(std::mem::take(&mut self.control));
        let name = match opcode {
            PING => "ping".to_string(),
            PONG => "pong".to_string(),
            _ => match payload[..] {
                [high, low, ..] => format!("close {}", u16::from_be_bytes([high, low])),
                _ => "close".to_string(),
            },
        };
        let payload = if opcode == CLOSE { payload.slice(payload.len().min(2)..) } else { payload };
        Seen::Control(payload, name)
    }

    fn whole(&mut self) -> Seen {
        let mut text = std::mem::take(&mut self.message);
        let mut begun = self.begun.take().unwrap_or_default();
        let mut notes = Vec::new();
        if begun.binary {
            notes.push("binary");
        }
        if begun.compressed {
            notes.push("compressed");
            match self.inflated(&text, begun.too_long) {
                Some((plain, cut)) => {
                    text = plain;
                    begun.too_long |= cut;
                }
                None => notes.push("unreadable, kept as it went over the wire"),
            }
        }
        if begun.too_long {
            notes.push("longer than the limit; only its beginning is kept");
        }
        Seen::Message(text.into(), (!notes.is_empty()).then(|| notes.join(", ")))
    }

    /// The message before compression, and whether it was cut at the limit. Once
    /// a message was not read to its end, those after it may refer to what is missing.
    fn inflated(&mut self, packed: &[u8], incomplete: bool) -> Option<(Vec<u8>, bool)> {
        if matches!(self.inflater, Inflater::Unused) {
            self.inflater = Inflater::Reading(InflateState::new_boxed(DataFormat::Raw));
        }
        let Inflater::Reading(state) = &mut self.inflater else { return None };
        let mut out = Vec::new();
        let read = match unpack(state, packed, &mut out) {
            Some(Unpacked::All) => unpack(state, &TAIL, &mut out).is_some(),
            Some(Unpacked::Ended) => {
                state.reset(DataFormat::Raw);
                true
            }
            None => false,
        };
        let cut = out.len() > LONGEST;
        out.truncate(LONGEST);
        if !read || cut || incomplete {
            self.inflater = Inflater::Lost;
        }
        read.then_some((out, cut))
    }
}

/// How far the input went.
enum Unpacked {
    All,
    Ended,
}

/// Appends what the input stands for, hardly more than the limit of it; `None`
/// when it stands for nothing.
fn unpack(state: &mut InflateState, mut input: &[u8], out: &mut Vec<u8>) -> Option<Unpacked> {
    let mut room = vec![0; 64 << 10];
    loop {
        let done = inflate(state, input, &mut room, MZFlush::None);
        out.extend_from_slice(&room[..done.bytes_written]);
        input = &input[done.bytes_consumed..];
        match done.status {
            Ok(MZStatus::StreamEnd) => return Some(Unpacked::Ended),
            Ok(_) => {}
            // All was read, and there is nothing more to say.
            Err(MZError::Buf) if input.is_empty() => return Some(Unpacked::All),
            Err(_) => return None,
        }
        let over = input.is_empty() && done.bytes_written < room.len();
        if over || out.len() > LONGEST {
            return Some(Unpacked::All);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(first: u8, mask: Option<[u8; 4]>, payload: &[u8]) -> Vec<u8> {
        let marked = if mask.is_some() { 0x80 } else { 0 };
        let mut out = vec![first];
        match payload.len() {
            short @ 0..126 => out.push(marked | short as u8),
            middle @ 126..65_536 => {
                out.push(marked | 126);
                out.extend_from_slice(&(middle as u16).to_be_bytes());
            }
            long => {
                out.push(marked | 127);
                out.extend_from_slice(&(long as u64).to_be_bytes());
            }
        }
        out.extend_from_slice(&mask.unwrap_or_default()[..if mask.is_some() { 4 } else { 0 }]);
        let key = mask.unwrap_or_default();
        out.extend(payload.iter().enumerate().map(|(at, byte)| byte ^ key[at % 4]));
        out
    }

    fn all(bytes: &[u8], step: usize) -> Vec<Seen> {
        let mut frames = Frames::new();
        let mut found = Vec::new();
        for part in bytes.chunks(step) {
            frames.feed(part);
            while let Some(seen) = frames.next().unwrap() {
                found.push(seen);
            }
        }
        found
    }

    #[test]
    fn masks_fragments_and_lengths() {
        let long = "x".repeat(70_000);
        let bytes = [
            frame(0x81, Some([1, 2, 3, 4]), b"{\"id\":1}"),
            frame(0x01, Some([9, 8, 7, 6]), b"{\"a\":"),
            frame(0x89, None, b"there?"),
            frame(0x80, None, b"2}"),
            frame(0x82, None, "y".repeat(300).as_bytes()),
            frame(0x81, Some([0xff; 4]), long.as_bytes()),
            frame(0x88, None, b"\x03\xe8bye"),
        ]
        .concat();
        for step in [1, 7, 1 << 20] {
            let expected = [
                Seen::Message("{\"id\":1}".into(), None),
                Seen::Control("there?".into(), "ping".into()),
                Seen::Message("{\"a\":2}".into(), None),
                Seen::Message("y".repeat(300).into(), Some("binary".into())),
                Seen::Message(long.clone().into(), None),
                Seen::Control("bye".into(), "close 1000".into()),
            ];
            assert!(all(&bytes, step) == expected, "step {step}");
        }
    }

    /// Two messages of one compressor, each without its tail; the second refers to the first.
    #[test]
    fn compressed_messages_are_read() {
        use miniz_oxide::deflate::core::{
            CompressorOxide, TDEFLFlush, compress, create_comp_flags_from_zip_params,
        };
        let mut compressor = CompressorOxide::new(create_comp_flags_from_zip_params(6, 0, 0));
        let text = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        let mut bytes = Vec::new();
        let mut sizes = Vec::new();
        for _ in 0..2 {
            let mut room = vec![0; 1000];
            let (_, _, written) = compress(&mut compressor, text, &mut room, TDEFLFlush::Sync);
            room.truncate(written);
            assert_eq!(room.split_off(written - 4), TAIL);
            sizes.push(room.len());
            bytes.extend(frame(0xc1, Some([5, 6, 7, 8]), &room));
        }
        assert!(sizes[1] < sizes[0] / 2, "{sizes:?}");
        let expected = Seen::Message(text[..].into(), Some("compressed".into()));
        assert_eq!(all(&bytes, 3), [expected.clone(), expected]);
        let broken = all(&frame(0xc1, None, b"\xff\xff\xff"), 9);
        assert!(
            matches!(&broken[0], Seen::Message(raw, Some(note)) if raw.len() == 3 && note.contains("unreadable"))
        );
    }

    #[test]
    fn a_bomb_is_cut_at_the_limit() {
        let zeros = miniz_oxide::deflate::compress_to_vec(&vec![0; 300 << 20], 1);
        let found = all(&frame(0xc1, None, &zeros), 1 << 20);
        let Seen::Message(text, Some(note)) = &found[0] else { panic!() };
        assert_eq!(text.len(), LONGEST);
        assert!(note.contains("longer than the limit"));
    }

    #[test]
    fn what_are_no_frames_says_so() {
        for bytes in [&b"\xb1\x00"[..], b"\x83\x00", b"\x80\x00", b"\x09\x00", b"\x89\x7e\x00\x7e"]
        {
            let mut frames = Frames::new();
            frames.feed(bytes);
            assert!(frames.next().is_err(), "{bytes:?}");
        }
        let mut frames = Frames::new();
        frames.feed(b"\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xffabc");
        assert_eq!(frames.next(), Ok(None));
        assert_eq!(frames.unfinished(), Some("abc".into()));
    }
}
