//! One WebSocket client, from the ready notification to the close.

use super::dialogue::Dialogue;
use super::frame::{self, Frame, FrameError, Opcode};
use super::outbox::{Outbox, Outgoing};
use crate::service::Service;
use bytes::{BufMut, BytesMut};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{interval, timeout};

/// A client that says nothing for this long is asked whether it is there, and
/// dropped when it still says nothing for as long again.
const SILENCE: Duration = Duration::from_secs(45);
/// A client that takes nothing off the socket for this long is dropped.
const SEND_LIMIT: Duration = Duration::from_secs(30);
/// How long the end of a connection may take.
const FAREWELL: Duration = Duration::from_secs(10);
/// How long the socket rests when enough work waits.
const PAUSE: Duration = Duration::from_millis(1);
const CHUNK: usize = 64 << 10;

/// Serves a client whose handshake is done.
pub(super) async fn serve(
    stream: TcpStream,
    early: BytesMut,
    place: OwnedSemaphorePermit,
    service: Arc<Service>,
) {
    let (mut read, write) = stream.into_split();
    let dialogue = Dialogue::begin(service);
    let outbox = Arc::clone(&dialogue.outbox);
    let writer = tokio::spawn(send_all(write, Arc::clone(&outbox)));
    let mut session =
        Conversation { dialogue, buffer: early, last_heard: Instant::now(), asked: false };
    let Err(end) = session.listen(&mut read).await;
    session.part(end, place).await;
    let _ = timeout(FAREWELL, writer).await;
    outbox.abandon();
    drain(&mut read).await;
}

/// Why a conversation is over.
enum End {
    /// A close is to be sent, with this code and reason.
    Close(u16, String),
    /// The last message is on its way already.
    Said,
    /// The peer is gone, or broke the framing: nothing can be said any more.
    Gone,
}

impl End {
    fn stopping() -> End {
        End::Close(1001, "the server stops".into())
    }
}

struct Conversation {
    dialogue: Dialogue,
    buffer: BytesMut,
    last_heard: Instant,
    asked: bool,
}

impl Conversation {
    async fn listen(&mut self, read: &mut OwnedReadHalf) -> Result<Infallible, End> {
        let stop = self.dialogue.service.stop.clone();
        let mut patience = interval(Duration::from_secs(1));
        loop {
            self.take_frames()?;
            self.buffer.reserve(CHUNK);
            let mut piece = (&mut self.buffer).limit(CHUNK);
            let open = self.dialogue.takes_more();
            tokio::select! {
                biased;
                () = stop.stopped() => return Err(End::stopping()),
                got = read.read_buf(&mut piece), if open => match got {
                    Ok(0) | Err(_) => return Err(End::Gone),
                    Ok(_) => {
                        self.last_heard = Instant::now();
                        self.asked = false;
                    }
                },
                () = tokio::time::sleep(PAUSE), if !open => {}
                _ = patience.tick() => self.check_silence()?,
            }
            tokio::select! {
                () = self.dialogue.outbox.has_room() => {}
                () = stop.stopped() => return Err(End::stopping()),
            }
            if self.dialogue.outbox.has_ended() {
                return Err(End::Said);
            }
        }
    }

    fn check_silence(&mut self) -> Result<(), End> {
        if self.last_heard.elapsed() < SILENCE {
            return Ok(());
        }
        if self.asked {
            return Err(End::Gone);
        }
        self.asked = true;
        self.last_heard = Instant::now();
        self.dialogue.outbox.push(Outgoing::Ping);
        Ok(())
    }

    fn take_frames(&mut self) -> Result<(), End> {
        loop {
            match frame::decode(&mut self.buffer, self.dialogue.service.limits.max_body) {
                Ok(None) => return Ok(()),
                Ok(Some(frame)) => self.take_frame(frame)?,
                Err(FrameError::Unmasked) => return Err(End::Gone),
                Err(FrameError::TooLong) => return Err(unsupported("the message is too long")),
            }
        }
    }

    fn take_frame(&mut self, frame: Frame) -> Result<(), End> {
        let Frame { last, extended, opcode, payload } = frame;
        if extended {
            return Err(unsupported("no extension was agreed on"));
        }
        let control = matches!(opcode, Opcode::Close | Opcode::Ping | Opcode::Pong);
        if control && (!last || payload.len() > 125) {
            // There is no sense in answering a close that is none.
            if opcode == Opcode::Close {
                return Err(End::Gone);
            }
            return Err(unsupported("control frames are short and whole"));
        }
        match opcode {
            Opcode::Text if last => self.take_text(&payload),
            Opcode::Text | Opcode::Continuation => {
                Err(unsupported("fragmented messages are not supported"))
            }
            Opcode::Binary | Opcode::Reserved => {
                Err(unsupported("only text messages are supported"))
            }
            Opcode::Ping => {
                self.dialogue.outbox.push(Outgoing::Pong(payload.to_vec()));
                Ok(())
            }
            Opcode::Pong => Ok(()),
            Opcode::Close => {
                let (code, reason) = frame::read_close(&payload).ok_or(End::Gone)?;
                Err(End::Close(code, reason))
            }
        }
    }

    fn take_text(&mut self, text: &[u8]) -> Result<(), End> {
        if std::str::from_utf8(text).is_err() {
            return Err(unsupported("the text is not UTF-8"));
        }
        self.dialogue.take(text);
        Ok(())
    }

    /// Ends the conversation: reads are given up, writes that were received
    /// are carried out before the close is answered.
    async fn part(&mut self, end: End, place: OwnedSemaphorePermit) {
        if matches!(end, End::Gone) {
            self.dialogue.outbox.abandon();
        }
        let _ = timeout(FAREWELL, self.dialogue.end()).await;
        // Who hears the goodbye may come back at once and find the place free.
        drop(place);
        if let End::Close(code, reason) = end {
            self.dialogue.outbox.push(Outgoing::Close(code, reason));
        }
    }
}

fn unsupported(reason: &str) -> End {
    End::Close(1003, reason.into())
}

/// Sends until the outbox ends, many messages at a time.
async fn send_all(mut write: OwnedWriteHalf, outbox: Arc<Outbox>) {
    let mut bytes = Vec::new();
    while let Some(messages) = outbox.take().await {
        for message in messages {
            encode(&mut bytes, &message);
            drop(message);
            if bytes.len() >= CHUNK && send(&mut write, &mut bytes).await.is_none() {
                outbox.abandon();
                return;
            }
        }
        if send(&mut write, &mut bytes).await.is_none() {
            outbox.abandon();
            return;
        }
    }
    let _ = timeout(SEND_LIMIT, write.shutdown()).await;
}

fn encode(bytes: &mut Vec<u8>, message: &Outgoing) {
    match message {
        Outgoing::Text(text) => frame::encode(bytes, Opcode::Text, text.as_bytes()),
        Outgoing::Ping => frame::encode(bytes, Opcode::Ping, b""),
        Outgoing::Pong(payload) => frame::encode(bytes, Opcode::Pong, payload),
        Outgoing::Close(code, reason) => {
            frame::encode(bytes, Opcode::Close, &frame::close_payload(*code, reason));
        }
    }
}

/// Sends in pieces, so that a slow peer has a fair time for each.
async fn send(write: &mut OwnedWriteHalf, bytes: &mut Vec<u8>) -> Option<()> {
    for piece in bytes.chunks(CHUNK) {
        timeout(SEND_LIMIT, write.write_all(piece)).await.ok()?.ok()?;
    }
    bytes.clear();
    bytes.shrink_to(4 * CHUNK);
    Some(())
}

/// Reads away what the peer still sends, for a moment: closing a socket with
/// unread data would destroy what we sent last.
pub(super) async fn drain(read: &mut (impl tokio::io::AsyncRead + Unpin)) {
    let mut sink = vec![0; 4096];
    let rest = async { while matches!(read.read(&mut sink).await, Ok(1..)) {} };
    let _ = timeout(Duration::from_secs(1), rest).await;
}
