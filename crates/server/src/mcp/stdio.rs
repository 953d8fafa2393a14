//! MCP over pipes: one message per line, answered as they finish. Nothing but
//! protocol is written.

use crate::lane::{Held, Lane, Work};
use crate::log::Line;
use crate::service::Service;
use api::{CallContext, CancelToken, Transport};
use jsonrpc::Id;
use mcp::{Failure, Incoming, Source, Version};
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::answer;

/// How long running work may still take when the input ends.
const FAREWELL: Duration = Duration::from_millis(900);
/// Answers that may wait for the reader of our output.
const MOST_ANSWERS: usize = 256;
/// Requests that may wait their turn.
const MOST_WAITING: usize = 1024;

/// Serves one client on a pair of pipes, until the input ends or the service stops.
pub async fn serve(
    input: impl AsyncBufRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    service: Arc<Service>,
) {
    let (answers, queue) = mpsc::channel(MOST_ANSWERS);
    let writer = tokio::spawn(write_all(output, queue));
    let lane = Lane::new();
    let carer = tokio::spawn(Arc::clone(&lane).look_after());
    let mut client = Client {
        service: Arc::clone(&service),
        lane: Arc::clone(&lane),
        running: Arc::default(),
        answers,
        settled: None,
    };
    client.listen(input).await;
    let unfinished = timeout(FAREWELL, lane.finish()).await.is_err();
    if unfinished {
        client.running.lock().values().for_each(CancelToken::cancel);
        lane.drop_reads();
        let _ = timeout(FAREWELL, lane.finish_writes()).await;
    }
    carer.abort();
    drop(client);
    let _ = timeout(FAREWELL, writer).await;
    service.stop.stop();
}

type Running = Arc<Mutex<HashMap<Id, CancelToken>>>;

struct Client {
    service: Arc<Service>,
    lane: Arc<Lane<Job>>,
    running: Running,
    answers: mpsc::Sender<Value>,
    /// What the last handshake on this pipe settled on.
    settled: Option<Version>,
}

impl Client {
    async fn listen(&mut self, mut input: impl AsyncBufRead + Unpin) {
        let stop = self.service.stop.clone();
        let limit = self.service.limits.max_body;
        loop {
            let line = tokio::select! {
                line = read_line(&mut input, limit) => line,
                () = stop.stopped() => return,
            };
            let reply = match line {
                Ok(None) | Err(_) => return,
                Ok(Some(Err(TooLong))) => {
                    let message = format!("The line is longer than {limit} bytes.");
                    let failure = Failure::invalid_request(message);
                    Some(mcp::error_without_id(self.settled, &failure))
                }
                Ok(Some(Ok(line))) if line.trim_ascii().is_empty() => None,
                Ok(Some(Ok(line))) => self.take(&line),
            };
            if let Some(reply) = reply
                && self.answers.send(reply).await.is_err()
            {
                return;
            }
            self.wait_for_room().await;
        }
    }

    async fn wait_for_room(&self) {
        loop {
            let progress = self.lane.progress();
            let fits = progress.size < 2 * self.service.limits.max_body;
            if progress.waiting < MOST_WAITING && fits {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Takes one message; gives the reply when there is one at once.
    fn take(&mut self, line: &[u8]) -> Option<Value> {
        let Incoming { id, method, params } = match mcp::read(line) {
            Ok(message) => message,
            Err(refusal) => {
                return Some(match &refusal.id {
                    Some(id) => mcp::error(id, &refusal.failure),
                    None => {
                        let version = refusal.version.or(self.settled);
                        mcp::error_without_id(version, &refusal.failure)
                    }
                });
            }
        };
        let Some(id) = id else {
            if method == "notifications/cancelled"
                && let Some(id) = params.get("requestId").and_then(Id::from_value)
                && let Some(cancel) = self.running.lock().remove(&id)
            {
                cancel.cancel();
            }
            return None;
        };
        let routed = mcp::choose(&method, &params, Source::Stdio(self.settled))
            .and_then(|era| answer::Request::route(era, &method, params));
        let request = match routed {
            Ok(request) => request,
            Err(failure) => return Some(mcp::error(&id, &failure)),
        };
        self.settled = request.handshake().or(self.settled);
        let cancel = CancelToken::new();
        if !request.is_long() {
            let context = CallContext::with(Transport::Mcp, cancel);
            return Some(match request.answer(&self.service, &context) {
                Ok(answer) => mcp::success(&id, answer.result),
                Err(failure) => mcp::error(&id, &failure),
            });
        }
        self.running.lock().insert(id.clone(), cancel.clone());
        self.lane.push(Job {
            exclusive: request.changes_something(&self.service.catalog),
            id,
            size: line.len(),
            request,
            context: CallContext::with(Transport::Mcp, cancel),
            service: Arc::clone(&self.service),
            running: Arc::clone(&self.running),
            answers: self.answers.clone(),
        });
        None
    }
}

struct Job {
    id: Id,
    size: usize,
    exclusive: bool,
    request: answer::Request,
    context: CallContext,
    service: Arc<Service>,
    running: Running,
    answers: mpsc::Sender<Value>,
}

impl Work for Job {
    fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    fn size(&self) -> usize {
        self.size
    }

    fn held(&self) -> Option<Held> {
        self.request.held(&self.service, &self.context)
    }

    fn run(self) {
        // Given up before it began: it must neither run nor be answered.
        if self.context.cancel.is_cancelled() {
            return;
        }
        let started = Instant::now();
        let tool = self.request.tool().map(str::to_owned);
        let answer = self.request.answer(&self.service, &self.context);
        self.service.log.mcp(&Line {
            id: Some(&self.id),
            method: Some("tools/call"),
            tool: tool.as_deref(),
            ok: answer.as_ref().is_ok_and(|answer| !answer.failed),
            status: answer.as_ref().map_or_else(|failure| failure.http_status, |_| 200),
            elapsed: started.elapsed(),
        });
        let reply = match answer {
            Ok(answer) => mcp::success(&self.id, answer.result),
            Err(failure) => mcp::error(&self.id, &failure),
        };
        self.running.lock().remove(&self.id);
        if !self.context.cancel.is_cancelled() {
            let _ = self.answers.blocking_send(reply);
        }
        if self.exclusive && self.service.bridge.is_shutting_down() {
            self.service.stop.stop();
        }
    }
}

/// One task owns the output, so that lines never mix.
async fn write_all(mut output: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<Value>) {
    while let Some(message) = queue.recv().await {
        let mut line = message.to_string();
        line.push('\n');
        let sent = async {
            output.write_all(line.as_bytes()).await?;
            output.flush().await
        };
        if sent.await.is_err() {
            return;
        }
    }
}

/// A line that was skipped because it is longer than the limit.
struct TooLong;

/// Reads one line, without its end. A line beyond the limit is skipped.
async fn read_line(
    input: &mut (impl AsyncBufRead + Unpin),
    limit: usize,
) -> std::io::Result<Option<Result<Vec<u8>, TooLong>>> {
    let mut line = Vec::new();
    let mut skipped = false;
    loop {
        let chunk = input.fill_buf().await?;
        if chunk.is_empty() {
            let nothing = line.is_empty() && !skipped;
            return Ok((!nothing).then_some(if skipped { Err(TooLong) } else { Ok(line) }));
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        if line.len() + part.len() > limit {
            skipped = true;
            line = Vec::new();
        } else if !skipped {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            return Ok(Some(if skipped { Err(TooLong) } else { Ok(line) }));
        }
    }
}
