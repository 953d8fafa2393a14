//! One open program behind the contract: checks a call, runs it, shapes the answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value};

use crate::context::{CallContext, Transport};
use crate::cursor::{CursorKey, Query};
use crate::error::{BridgeError, ErrorCode};
use crate::method::{Handler, Method};
use crate::projection::{Selection, drop_nulls};
use crate::registry::registry;
use crate::schema::check::nearest;
use crate::view::View;

/// How a bridge presents its session.
#[derive(Clone, Debug, Default)]
pub struct BridgeOptions {
    /// The session's id, as clients see it.
    pub session_id: String,
    /// Refuse everything that changes the program.
    pub read_only: bool,
}

/// One open program, served to any number of callers.
pub struct Bridge {
    #[allow(dead_code)] // until the first handler asks it
    session: engine::Session,
    options: BridgeOptions,
    cursors: CursorKey,
    shutting_down: AtomicBool,
}

impl Bridge {
    /// Serves an open session.
    #[must_use]
    pub fn new(session: engine::Session, options: BridgeOptions) -> Bridge {
        Bridge {
            session,
            options,
            cursors: CursorKey::random(),
            shutting_down: AtomicBool::new(false),
        }
    }

    /// Runs one method to its end. It may block (a decompilation), and never panics.
    /// `params` is an object, or null for none.
    ///
    /// # Errors
    /// The bridge error to answer.
    pub fn call(
        &self,
        method: &str,
        params: Value,
        cx: &CallContext,
    ) -> Result<Value, BridgeError> {
        let row = find(method, cx.transport)?;
        let run = AssertUnwindSafe(|| self.run(row, params, cx));
        catch_unwind(run).unwrap_or_else(|_| {
            tracing::error!(method, "a handler panicked");
            Err(BridgeError::internal())
        })
    }

    fn run(&self, method: &Method, params: Value, cx: &CallContext) -> Result<Value, BridgeError> {
        let params = checked(method, params, cx.transport)?;
        self.admit(method)?;
        let selection = if method.selectable().is_empty() {
            None
        } else {
            Selection::of(&params, method.identity())?
        };
        let mut reply = self.dispatch(method, params, selection.as_ref(), cx)?;
        drop_nulls(&mut reply);
        if let Some(selection) = &selection {
            selection.apply(&mut reply, method.is_list());
        }
        Ok(reply)
    }

    /// Refuses writes that may not run now, after their parameters were checked.
    fn admit(&self, method: &Method) -> Result<(), BridgeError> {
        if self.options.read_only && method.effects().mutates_program {
            let message = "the bridge was started with read_only=true, so nothing may be changed";
            return Err(BridgeError::new(ErrorCode::ReadOnly, message).at_method());
        }
        Ok(())
    }

    fn dispatch(
        &self,
        method: &Method,
        params: Value,
        selection: Option<&Selection>,
        cx: &CallContext,
    ) -> Result<Value, BridgeError> {
        match &method.handler {
            Handler::Read(run) => {
                let query = Query {
                    key: &self.cursors,
                    session: self.session_id(),
                    method: method.name(),
                    params: &params,
                };
                run(&View { bridge: self, cx, query, selection }, params.clone())
            }
            Handler::Control(run) => run(self, cx, params),
            Handler::Pending => Err(method.pending_error()),
        }
    }

    /// The session's id.
    #[must_use]
    pub fn session_id(&self) -> &str {
        &self.options.session_id
    }

    /// The name of the open program.
    #[must_use]
    pub fn program_name(&self) -> String {
        String::new()
    }

    /// True once a client asked to end the session.
    #[must_use]
    pub fn is_shutting_down(&self) -> bool {
        self.shutting_down.load(Ordering::Relaxed)
    }

    /// Marks the session as ending.
    pub(crate) fn begin_shutdown(&self) {
        self.shutting_down.store(true, Ordering::Relaxed);
    }
}

fn find(name: &str, transport: Transport) -> Result<&'static Method, BridgeError> {
    if name.trim().is_empty() {
        let message = "the method name is blank; interface.get lists the names";
        return Err(BridgeError::new(ErrorCode::MissingMethod, message).at_method());
    }
    match registry().find(name) {
        Some(method) if transport == Transport::WebSocket || !method.websocket_only() => Ok(method),
        _ => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> BridgeError {
    let names = registry().methods().iter().map(Method::name);
    let hint = match nearest(name, names) {
        Some(near) => format!("did you mean {near}?"),
        None => "interface.get lists the methods".to_owned(),
    };
    let shown: String = name.chars().take(64).collect();
    BridgeError::new(ErrorCode::UnknownMethod, format!("there is no method {shown}; {hint}"))
        .at_method()
}

/// The parameters, held against the published schema. MCP clients may send nested
/// objects as text; those are unpacked when that makes the request fit.
fn checked(method: &Method, params: Value, transport: Transport) -> Result<Value, BridgeError> {
    let params = if params.is_null() { Value::Object(Map::new()) } else { params };
    let fault = match method.check(&params) {
        Ok(()) => return Ok(params),
        Err(fault) => fault,
    };
    if transport == Transport::Mcp {
        let mut unpacked = params;
        if method.unpack_texts(&mut unpacked) {
            return method.check(&unpacked).map(|()| unpacked);
        }
    }
    Err(fault)
}
