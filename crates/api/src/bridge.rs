//! One open program behind the contract: checks a call, runs it, shapes the answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::{Session, WriteError};
use program::Program;
use serde_json::{Map, Value};

use crate::context::{CallContext, Transport};
use crate::cursor::{CursorKey, Query};
use crate::error::{BridgeError, ErrorCode};
use crate::method::{Answer, Handler, Method};
use crate::projection::{Selection, drop_nulls};
use crate::registry::{Registry, Surface};
use crate::schema::check::nearest;
use crate::unfinished::RunningAnalysis;
use crate::view::{Edit, View};

/// How a bridge presents its session.
#[derive(Clone, Debug, Default)]
pub struct BridgeOptions {
    /// The session's id, as clients see it.
    pub session_id: String,
    /// Which methods are served.
    pub surface: Surface,
    /// Refuse everything that changes the program.
    pub read_only: bool,
    /// When no program is open: how the user can name one. The session is then an
    /// empty stand-in that no call reaches.
    pub no_program: Option<String>,
}

/// One open program, served to any number of callers.
pub struct Bridge {
    session: Session,
    options: BridgeOptions,
    cursors: CursorKey,
    shutting_down: AtomicBool,
}

impl Bridge {
    /// Serves an open session.
    #[must_use]
    pub fn new(session: Session, options: BridgeOptions) -> Bridge {
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
        let row = find(self.registry(), method, cx.transport)?;
        let run = AssertUnwindSafe(|| {
            let params = checked(row, params, cx.transport)?;
            self.admit(row)?;
            self.hold(row, &params, cx);
            // Before the snapshot, so that an answer from a partial one always says so.
            let unfinished = RunningAnalysis::of(&self.session.analysis_status());
            let answer = match &row.handler {
                Handler::Write(_) => {
                    self.write(|program| self.run(row, params, cx, State::Working(program)))
                }
                _ => self.run(row, params, cx, State::Snapshot(self.session.snapshot())),
            };
            marked(row, answer, unfinished.as_ref())
        });
        catch_unwind(run).unwrap_or_else(|_| {
            tracing::error!(method, "a handler panicked");
            Err(BridgeError::internal())
        })
    }

    /// The session's id.
    #[must_use]
    pub fn session_id(&self) -> &str {
        &self.options.session_id
    }

    /// The methods that are served.
    #[must_use]
    pub fn registry(&self) -> &'static Registry {
        Registry::of(self.options.surface)
    }

    /// The name of the open program.
    #[must_use]
    pub fn program_name(&self) -> String {
        self.session.snapshot().info.name.clone()
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

    /// The open session.
    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// Refuses what may not run now, after its parameters were checked.
    pub(crate) fn admit(&self, method: &Method) -> Answer<()> {
        let effects = method.effects();
        if let Some(advice) = &self.options.no_program
            && method.domain() != "bridge"
        {
            let message = format!("no program is open; {advice}");
            return Err(BridgeError::new(ErrorCode::ProgramNotOpen, message).at_method());
        }
        if self.options.read_only && effects.mutates_program {
            let message = "the bridge was started with read_only=true, so nothing may be changed";
            return Err(BridgeError::new(ErrorCode::ReadOnly, message).at_method());
        }
        if effects.allowed_during_analysis || method.gates_itself() {
            return Ok(());
        }
        let status = self.session.analysis_status();
        if status.is_running() {
            Err(analysis_runs(status.progress.unwrap_or(0.0)))
        } else {
            Ok(())
        }
    }

    /// Runs edits on a copy of the program and publishes it when they succeed.
    pub(crate) fn write<T>(&self, edit: impl FnOnce(&mut Program) -> Answer<T>) -> Answer<T> {
        self.session.write(edit).map_err(|fault| match fault {
            WriteError::Busy(busy) => analysis_runs(busy.progress),
            WriteError::Refused(error) => error,
        })
    }

    /// Runs a checked call against one state of the program and shapes its answer.
    pub(crate) fn run(
        &self,
        method: &Method,
        params: Value,
        cx: &CallContext,
        state: State<'_>,
    ) -> Answer<Value> {
        let selection = selection(method, &params, cx.transport)?;
        let mut reply = match (&method.handler, state) {
            (Handler::Read(run), state) => {
                let arguments = params.clone();
                let program = state.frozen();
                run(&self.view(method, &params, cx, program, selection.as_ref()), arguments)?
            }
            (Handler::Write(run), State::Working(program)) => {
                run(&mut Edit { program, session: &self.session }, params)?
            }
            (Handler::Write(_), State::Snapshot(_)) => return Err(BridgeError::internal()),
            (Handler::Control(run), _) => run(self, cx, params)?,
        };
        drop_nulls(&mut reply);
        if let Some(selection) = &selection {
            selection.apply(&mut reply, method.is_list());
        }
        Ok(reply)
    }

    fn view<'a>(
        &'a self,
        method: &'a Method,
        params: &'a Value,
        cx: &'a CallContext,
        program: Arc<Program>,
        selection: Option<&'a Selection>,
    ) -> View<'a> {
        View {
            program,
            bridge: self,
            cx,
            query: Query {
                key: &self.cursors,
                session: self.session_id(),
                method: method.name(),
                params,
            },
            selection,
        }
    }
}

/// An answer, with what it must say when it was given while analysis runs.
pub(crate) fn marked(
    method: &Method,
    answer: Answer<Value>,
    unfinished: Option<&RunningAnalysis>,
) -> Answer<Value> {
    let Some(unfinished) = unfinished else { return answer };
    match answer {
        Ok(mut reply) => {
            if method.grows() {
                unfinished.mark(&mut reply);
            }
            Ok(reply)
        }
        Err(error) => Err(unfinished.excuse(error)),
    }
}

/// The members to answer. A model pays for every one, so over MCP the default is brief.
fn selection(method: &Method, params: &Value, transport: Transport) -> Answer<Option<Selection>> {
    match method.brief_members() {
        Some(brief) if transport == Transport::Mcp && params.get("projection").is_none() => {
            Ok(Some(Selection::brief(brief, method.identity())))
        }
        _ if method.selectable().is_empty() => Ok(None),
        _ => Selection::of(params, method.identity()),
    }
}

/// The state of the program that a call sees.
pub(crate) enum State<'p> {
    /// A published state that nobody changes.
    Snapshot(Arc<Program>),
    /// The copy inside of an open transaction.
    Working(&'p mut Program),
}

impl State<'_> {
    fn frozen(self) -> Arc<Program> {
        match self {
            State::Snapshot(program) => program,
            State::Working(program) => Arc::new(program.clone()),
        }
    }
}

/// The refusal of a write while analysis runs.
pub(crate) fn analysis_runs(progress: f32) -> BridgeError {
    let message = "analysis runs, and nothing may be changed until it ends; \
                   analysis.get tells how far it is";
    BridgeError::new(ErrorCode::AnalysisInProgress, message)
        .at_method()
        .with("progress", f64::from(progress))
}

fn find(registry: &'static Registry, name: &str, transport: Transport) -> Answer<&'static Method> {
    if name.trim().is_empty() {
        let message = "the method name is blank; interface.get lists the names";
        return Err(BridgeError::new(ErrorCode::MissingMethod, message).at_method());
    }
    match registry.find(name) {
        Some(method) if transport == Transport::WebSocket || !method.websocket_only() => Ok(method),
        _ => Err(unknown(registry, name)),
    }
}

fn unknown(registry: &Registry, name: &str) -> BridgeError {
    let names = registry.methods().iter().map(Method::name);
    let hint = match nearest(name, names) {
        _ if is_extended(name) => "start the bridge with extensions=on to have it".to_owned(),
        Some(near) => format!("did you mean {near}?"),
        None => "interface.get lists the methods".to_owned(),
    };
    let shown: String = name.chars().take(64).collect();
    let message = format!("there is no method {shown}; {hint}");
    BridgeError::new(ErrorCode::UnknownMethod, message).at_method()
}

/// Whether a method is one that surfaces beyond the document have.
fn is_extended(name: &str) -> bool {
    Registry::of(Surface::Extensions).find(name).is_some_and(|row| row.since_version().is_some())
}

/// The parameters, held against the published schema. MCP clients may send nested
/// objects as text; those are unpacked when that makes the request fit.
pub(crate) fn checked(method: &Method, params: Value, transport: Transport) -> Answer<Value> {
    let mut params = if params.is_null() { Value::Object(Map::new()) } else { params };
    if transport == Transport::Mcp && method.checks_itself() {
        method.unpack_texts(&mut params);
    }
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
