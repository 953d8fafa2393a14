//! The JSON-RPC side of a connection, whoever opened it: messages in, answers
//! into the outbox.

use super::outbox::{Outbox, Outgoing};
use crate::hold;
use crate::lane::{Held, Lane, Work};
use crate::service::Service;
use api::{CallContext, CancelToken, Transport};
use jsonrpc::{Envelope, Message};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinHandle;

/// More requests than this wait in the socket, not in memory.
const MOST_WAITING: usize = 1024;

/// One client's requests, and the way back to it.
pub(super) struct Dialogue {
    pub outbox: Arc<Outbox>,
    pub service: Arc<Service>,
    lane: Arc<Lane<Job>>,
    cancel: CancelToken,
    carer: JoinHandle<()>,
}

impl Dialogue {
    /// Begins with the ready notification.
    pub fn begin(service: Arc<Service>) -> Dialogue {
        let outbox = Arc::new(Outbox::default());
        outbox.push(Outgoing::Text(ready(&service)));
        let lane = Lane::new();
        let carer = tokio::spawn(Arc::clone(&lane).look_after());
        Dialogue { outbox, service, lane, cancel: CancelToken::new(), carer }
    }

    /// Whether more messages should be read now.
    pub fn takes_more(&self) -> bool {
        let progress = self.lane.progress();
        progress.waiting < MOST_WAITING && progress.size < 2 * self.service.limits.max_body
    }

    /// Takes one text message.
    pub fn take(&self, text: &[u8]) {
        match jsonrpc::read(text) {
            Message::Call(call) => {
                let exclusive = self.service.changes_something(&call.method);
                // Giving up a write half-way helps nobody: it is done or not done.
                let cancel = if exclusive { CancelToken::new() } else { self.cancel.clone() };
                self.lane.push(Job {
                    call,
                    size: text.len(),
                    exclusive,
                    context: CallContext::with(Transport::WebSocket, cancel),
                    outbox: Arc::clone(&self.outbox),
                    service: Arc::clone(&self.service),
                });
            }
            Message::Response => {}
            Message::Refused(reply) => self.outbox.push(Outgoing::Text(reply.to_string())),
        }
    }

    /// Nobody asks any more: reads are given up, writes that were received are
    /// carried out, unless the session itself has ended.
    pub async fn end(&self) {
        self.cancel.cancel();
        if self.outbox.has_said_goodbye() {
            self.lane.clear();
        } else {
            self.lane.drop_reads();
        }
        self.lane.finish_writes().await;
    }
}

impl Drop for Dialogue {
    fn drop(&mut self) {
        self.carer.abort();
    }
}

/// The first message on every connection.
fn ready(service: &Service) -> String {
    let mut params = Map::new();
    params.insert("session_id".into(), service.bridge.session_id().into());
    params.insert("program_name".into(), service.bridge.program_name().into());
    jsonrpc::notification("ghidra.ready", params).to_string()
}

/// One request or notification.
struct Job {
    call: Envelope,
    size: usize,
    exclusive: bool,
    context: CallContext,
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

    fn held(&self) -> Option<Held> {
        let Job { call, context, service, .. } = self;
        let asks = call.params.contains_key("scan") || call.params.contains_key("wait_ms");
        let params = asks.then(|| Value::Object(call.params.clone()))?;
        hold::held(service, &call.method, &params, context)
    }

    fn run(self) {
        let Job { call, exclusive, context, outbox, service, .. } = self;
        let started = Instant::now();
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
