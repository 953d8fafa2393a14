//! MCP over HTTP: the fixed order of tests that every request passes, and the
//! answers in the form each era wants.

use crate::auth;
use crate::log::Line;
use crate::origin;
use crate::service::Service;
use api::{CallContext, CancelToken, Transport};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use jsonrpc::Id;
use mcp::{Failure, Header, Headers, Source, Version};
use serde_json::Value;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

use super::answer;
use super::body::{Arrived, Bodies, NoBody, Opened};

/// What is read away, and for how long, before a refusal is sent.
const DRAIN_BYTES: usize = 64 << 20;
const DRAIN_TIME: Duration = Duration::from_secs(3);

const ALLOW: &str = "POST, OPTIONS";
const REQUEST_HEADERS: &str =
    "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name";

/// Where the endpoint is and what it serves.
pub(crate) struct Endpoint {
    pub host: String,
    pub path: String,
    pub bodies: Bodies,
    pub service: Arc<Service>,
}

type Reply = Response<Full<Bytes>>;

/// Answers one HTTP request. The work is a task of its own, begun at once, so that a
/// client that sends and leaves is heard; `gone` is raised when it leaves.
pub(crate) fn handle(
    endpoint: Arc<Endpoint>,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Reply, Infallible>> {
    let gone = CancelToken::new();
    let guard = CancelOnDrop(gone.clone());
    let work = tokio::spawn(answer_request(endpoint, request, gone));
    async move {
        let reply = work.await.unwrap_or_else(|_| {
            let failure = Failure::internal();
            json(status(&failure), &mcp::error_without_id(None, &failure))
        });
        drop(guard);
        Ok(reply)
    }
}

async fn answer_request(
    endpoint: Arc<Endpoint>,
    request: Request<Incoming>,
    gone: CancelToken,
) -> Reply {
    let started = Instant::now();
    let (parts, body) = request.into_parts();
    let exchange = Exchange { endpoint: &endpoint, head: &parts, gone };
    let mut seen = Seen::default();
    let mut reply = match exchange.gate() {
        Err(refusal) => {
            exchange.drain(body).await;
            *refusal
        }
        Ok(()) => exchange.post(body, &mut seen).await,
    };
    exchange.add_cors(&mut reply);
    endpoint.service.log.mcp(&Line {
        id: seen.id.as_ref(),
        method: seen.method.as_deref().or_else(|| parts.method.as_str().into()),
        tool: seen.tool.as_deref(),
        ok: reply.status().is_success() && !seen.failed,
        status: reply.status().as_u16(),
        elapsed: started.elapsed(),
    });
    reply
}

/// What the log says about a request.
#[derive(Default)]
struct Seen {
    id: Option<Id>,
    method: Option<String>,
    tool: Option<String>,
    failed: bool,
}

struct Exchange<'a> {
    endpoint: &'a Endpoint,
    head: &'a hyper::http::request::Parts,
    /// Raised when the client leaves.
    gone: CancelToken,
}

impl Exchange<'_> {
    /// Everything that is settled before the body is read.
    fn gate(&self) -> Result<(), Box<Reply>> {
        let Exchange { endpoint, head, .. } = self;
        if head.uri.path() != endpoint.path {
            return Err(Box::new(plain(StatusCode::NOT_FOUND, "There is no MCP here.\n")));
        }
        if auth::query_has_token(head.uri.query().unwrap_or_default()) {
            let message = "Send the token in the Authorization header, not in the query.";
            return Err(self.refuse(&Failure::invalid_request(message)));
        }
        if !self.origin_is_allowed() {
            return Err(self.refuse(&Failure::refused(403, "Pages of this origin may not call.")));
        }
        match head.method {
            Method::POST => {}
            Method::OPTIONS => return Err(Box::new(preflight())),
            _ => {
                let mut reply = self.refuse(&Failure::refused(405, "Use POST."));
                reply.headers_mut().insert(header::ALLOW, HeaderValue::from_static(ALLOW));
                return Err(reply);
            }
        }
        let credentials = values(&head.headers, &header::AUTHORIZATION);
        if !auth::admits(endpoint.service.token.as_ref(), credentials) {
            let mut reply = self.refuse(&Failure::unauthorized());
            let scheme = HeaderValue::from_static("Bearer");
            reply.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
            return Err(reply);
        }
        if !is_json(&head.headers) {
            let message = "The Content-Type must be application/json.";
            return Err(self.refuse(&Failure::refused(415, message)));
        }
        Ok(())
    }

    fn origin_is_allowed(&self) -> bool {
        origin::admits(&self.endpoint.host, values(&self.head.headers, &header::ORIGIN))
    }

    async fn post(&self, body: Incoming, seen: &mut Seen) -> Reply {
        let Endpoint { bodies, service, .. } = self.endpoint;
        let limit = service.limits.max_body;
        if bodies.is_announced_too_long(&body) {
            self.drain(body).await;
            return self.too_long(limit);
        }
        let failure = match bodies.collect(body).await {
            Ok(body) => return self.message(body, seen).await,
            Err(NoBody::TooLong) => return self.too_long(limit),
            Err(NoBody::BrokenOff) => Failure::invalid_request("The body is broken off."),
            Err(NoBody::TooSlow) => Failure::refused(408, "The body took too long to arrive."),
        };
        *self.refuse(&failure)
    }

    fn too_long(&self, limit: usize) -> Reply {
        let message = format!("The body is longer than {limit} bytes.");
        *self.refuse(&Failure::refused(413, message))
    }

    async fn message(&self, body: Arrived, seen: &mut Seen) -> Reply {
        let headers = self.headers();
        let Some(opened) = self.endpoint.bodies.open(body).await else {
            return *self.refuse(&Failure::internal());
        };
        let Opened { message, place: _place } = opened;
        let message = match message {
            Ok(message) => message,
            Err(refusal) => {
                seen.id.clone_from(&refusal.id);
                return match &refusal.id {
                    Some(id) => failed(id, &refusal.failure),
                    None => self.failed_without_id(refusal.version, &refusal.failure),
                };
            }
        };
        seen.method = Some(message.method.clone());
        let Some(id) = message.id else {
            return match mcp::gate_notification(&headers) {
                Ok(()) => empty(StatusCode::ACCEPTED),
                Err(failure) => self.failed_without_id(None, &failure),
            };
        };
        seen.id = Some(id.clone());
        let routed = mcp::choose(&message.method, &message.params, Source::Http(&headers))
            .and_then(|era| answer::Request::route(era, &message.method, message.params));
        let answered = match routed {
            Ok(request) => {
                seen.tool = request.tool().map(str::to_owned);
                self.carry_out(request).await
            }
            Err(failure) => Err(failure),
        };
        match answered {
            Ok(answer) => {
                seen.failed = answer.failed;
                json(StatusCode::OK, &mcp::success(&id, answer.result))
            }
            Err(failure) => failed(&id, &failure),
        }
    }

    /// Modern work is given up when the client leaves; legacy work is finished
    /// without it.
    async fn carry_out(&self, request: answer::Request) -> Result<answer::Answer, Failure> {
        let service = &self.endpoint.service;
        let cancel =
            if request.ends_with_its_client() { self.gone.clone() } else { CancelToken::new() };
        let context = CallContext::with(Transport::Mcp, cancel);
        if !request.is_long() {
            return request.answer(service, &context);
        }
        if let Some(held) = request.held(service, &context) {
            held.await;
        }
        let mutating = request.changes_something(&service.catalog);
        let work = {
            let service = Arc::clone(service);
            tokio::task::spawn_blocking(move || {
                let answer = request.answer(&service, &context);
                (answer, mutating && service.bridge.is_shutting_down())
            })
        };
        let (answer, ending) = work.await.map_err(|_| Failure::internal())?;
        if ending {
            service.stop.stop_soon();
        }
        answer
    }

    fn headers(&self) -> Headers<'_> {
        let read = |name: &'static str| {
            Header::from_values(values(&self.head.headers, &HeaderName::from_static(name)))
        };
        Headers {
            version: read("mcp-protocol-version"),
            method: read("mcp-method"),
            name: read("mcp-name"),
        }
    }

    fn refuse(&self, failure: &Failure) -> Box<Reply> {
        Box::new(self.failed_without_id(None, failure))
    }

    fn failed_without_id(&self, version: Option<Version>, failure: &Failure) -> Reply {
        let version = version.or_else(|| match self.headers().version {
            Header::Text(text) => Version::legacy(&text),
            Header::Absent | Header::Unusable => None,
        });
        json(status(failure), &mcp::error_without_id(version, failure))
    }

    /// An allowed page may read any answer, errors included.
    fn add_cors(&self, reply: &mut Reply) {
        let Some(origin) = self.head.headers.get(header::ORIGIN) else { return };
        if self.origin_is_allowed() && !origin.as_bytes().trim_ascii().is_empty() {
            let headers = reply.headers_mut();
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(header::VARY, HeaderValue::from_static("Origin"));
        }
    }

    /// Reads the body away, so that closing the socket does not destroy the
    /// answer. A client that waits for permission to send gets none.
    async fn drain(&self, mut body: Incoming) {
        if self.head.headers.contains_key(header::EXPECT) {
            return;
        }
        let rest = async {
            let mut total = 0;
            while let Some(Ok(frame)) = body.frame().await {
                total += frame.data_ref().map_or(0, Bytes::len);
                if total > DRAIN_BYTES {
                    return;
                }
            }
        };
        let _ = timeout(DRAIN_TIME, rest).await;
    }
}

struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

fn values<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a [u8]> {
    headers.get_all(name).iter().map(HeaderValue::as_bytes)
}

fn is_json(headers: &HeaderMap) -> bool {
    let mut types = values(headers, &header::CONTENT_TYPE);
    let (Some(value), None) = (types.next(), types.next()) else { return false };
    let essence = value.split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

fn status(failure: &Failure) -> StatusCode {
    StatusCode::from_u16(failure.http_status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

fn failed(id: &Id, failure: &Failure) -> Reply {
    json(status(failure), &mcp::error(id, failure))
}

fn json(status: StatusCode, message: &Value) -> Reply {
    body(status, "application/json", message.to_string())
}

fn plain(status: StatusCode, text: &str) -> Reply {
    body(status, "text/plain; charset=utf-8", text.to_owned())
}

fn body(status: StatusCode, media_type: &'static str, text: String) -> Reply {
    let mut reply = Response::new(Full::new(Bytes::from(text)));
    *reply.status_mut() = status;
    reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    reply
}

fn empty(status: StatusCode) -> Reply {
    let mut reply = Response::new(Full::default());
    *reply.status_mut() = status;
    reply
}

fn preflight() -> Reply {
    let mut reply = empty(StatusCode::NO_CONTENT);
    let headers = reply.headers_mut();
    headers.insert(header::ALLOW, HeaderValue::from_static(ALLOW));
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(ALLOW));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(REQUEST_HEADERS));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    reply
}
