//! One WebSocket client, from the ready notification to the close.

use super::frame::{self, Frame, FrameError, Opcode};
use super::outbox::{Outbox, Outgoing};
use crate::lane::{Lane, Work};
use crate::service::Service;
use api::{CallContext, CancelToken, Transport};
use bytes::{BufMut, BytesMut};
use jsonrpc::{Envelope, Message};
use serde_json::{Map, Value};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{interval, timeout};

/// More requests than this wait in the socket, not in memory.
const MOST_WAITING: usize = 1024;
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
    let outbox = Arc::new(Outbox::default());
    outbox.push(Outgoing::Text(ready(&service)));
    let writer = tokio::spawn(send_all(write, Arc::clone(&outbox)));
    let lane = Lane::new();
    let carer = tokio::spawn(Arc::clone(&lane).look_after());
    let mut session = Conversation {
        lane,
        outbox: Arc::clone(&outbox),
        cancel: CancelToken::new(),
        service,
        buffer: early,
        last_heard: Instant::now(),
        asked: false,
    };
    let Err(end) = session.listen(&mut read).await;
    session.part(end, place).await;
    carer.abort();
    let _ = timeout(FAREWELL, writer).await;
    outbox.abandon();
    drain(&mut read).await;
}

/// The first message on every connection.
fn ready(service: &Service) -> String {
    let mut params = Map::new();
    params.insert("session_id".into(), service.bridge.session_id().into());
    params.insert("program_name".into(), service.bridge.program_name().into());
    jsonrpc::notification("ghidra.ready", params).to_string()
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
    lane: Arc<Lane<Job>>,
    outbox: Arc<Outbox>,
    cancel: CancelToken,
    service: Arc<Service>,
    buffer: BytesMut,
    last_heard: Instant,
    asked: bool,
}

impl Conversation {
    async fn listen(&mut self, read: &mut OwnedReadHalf) -> Result<Infallible, End> {
        let stop = self.service.stop.clone();
        let mut patience = interval(Duration::from_secs(1));
        loop {
            self.take_frames()?;
            self.buffer.reserve(CHUNK);
            let mut piece = (&mut self.buffer).limit(CHUNK);
            let progress = self.lane.progress();
            let open =
                progress.waiting < MOST_WAITING && progress.size < 2 * self.service.limits.max_body;
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
                () = self.outbox.has_room() => {}
                () = stop.stopped() => return Err(End::stopping()),
            }
            if self.outbox.has_ended() {
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
        self.outbox.push(Outgoing::Ping);
        Ok(())
    }

    fn take_frames(&mut self) -> Result<(), End> {
        loop {
            match frame::decode(&mut self.buffer, self.service.limits.max_body) {
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
                self.outbox.push(Outgoing::Pong(payload.to_vec()));
                Ok(())
            }
            Opcode::Pong => Ok(()),
            Opcode::Close => {
                let (code, reason) = frame::read_close(&payload);
                Err(End::Close(code, reason))
            }
        }
    }

    fn take_text(&mut self, text: &[u8]) -> Result<(), End> {
        if std::str::from_utf8(text).is_err() {
            return Err(unsupported("the text is not UTF-8"));
        }
        match jsonrpc::read(text) {
            Message::Call(call) => {
                let exclusive = self.service.changes_something(&call.method);
                // Giving up a write half-way helps nobody: it is done or not done.
                let cancel = if exclusive { CancelToken::new() } else { self.cancel.clone() };
                self.lane.push(Job {
                    call,
                    size: text.len(),
                    exclusive,
                    cancel,
                    outbox: Arc::clone(&self.outbox),
                    service: Arc::clone(&self.service),
                });
            }
            Message::Response => {}
            Message::Refused(reply) => self.outbox.push(Outgoing::Text(reply.to_string())),
        }
        Ok(())
    }

    /// Ends the conversation: reads are given up, writes that were received
    /// are carried out before the close is answered.
    async fn part(&mut self, end: End, place: OwnedSemaphorePermit) {
        self.cancel.cancel();
        match end {
            End::Said => return self.lane.clear(),
            End::Gone => self.outbox.abandon(),
            End::Close(..) => {}
        }
        self.lane.drop_reads();
        let _ = timeout(FAREWELL, self.lane.finish_writes()).await;
        // Who hears the goodbye may come back at once and find the place free.
        drop(place);
        if let End::Close(code, reason) = end {
            self.outbox.push(Outgoing::Close(code, reason));
        }
    }
}

fn unsupported(reason: &str) -> End {
    End::Close(1003, reason.into())
}

/// One request or notification.
struct Job {
    call: Envelope,
    size: usize,
    exclusive: bool,
    cancel: CancelToken,
    outbox: Arc<Outbox>,
    service: Arc<Service>,
}

impl Work for Job {
    fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    fn size(&self) -> usize {
        self.size
    }

    fn run(self) {
        let Job { call, exclusive, cancel, outbox, service, .. } = self;
        let started = Instant::now();
        let context = CallContext { transport: Transport::WebSocket, cancel };
        let answer = service.bridge.call(&call.method, Value::Object(call.params), &context);
        let failed = answer.as_ref().err().map(api::BridgeError::status);
        service.log.websocket(call.id.as_ref(), &call.method, failed, started.elapsed());
        if let Some(id) = &call.id {
            let reply = match answer {
                Ok(result) => jsonrpc::success(id, result),
                Err(error) => jsonrpc::failure(
                    Some(id),
                    jsonrpc::code::METHOD_FAILED,
                    &error.message,
                    Some(error.to_json()),
                ),
            };
            outbox.push_blocking(Outgoing::Text(reply.to_string()));
        }
        // Only a call that changes something can have ended the session.
        if exclusive && service.bridge.is_shutting_down() {
            outbox.push(Outgoing::Close(1000, "agent shutdown".into()));
            service.stop.stop();
        }
    }
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
