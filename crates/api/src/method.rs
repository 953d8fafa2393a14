//! One method of the contract: a row that ties a name to a typed function.
//!
//! What a handler receives says what it may do, so the compiler proves the
//! effect: [`Method::read`] gets a view it cannot change, [`Method::write`] an
//! open transaction, [`Method::control`] the bridge itself.

use serde_json::Value;

use crate::bridge::Bridge;
use crate::context::CallContext;
use crate::error::{BridgeError, ErrorCode};
use crate::projection;
use crate::schema::{check::Checker, publish};
use crate::shapes::{Reply, Request};
use crate::view::{Edit, View};

/// What a handler answers.
pub(crate) type Answer<R> = Result<R, BridgeError>;

/// What a method does to the program, as published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // the contract publishes exactly these six
pub struct Effects {
    /// It changes nothing at all.
    pub read_only: bool,
    /// It changes the program.
    pub mutates_program: bool,
    /// It runs inside one transaction of its own.
    pub requires_transaction: bool,
    /// It is served while analysis runs.
    pub allowed_during_analysis: bool,
    /// It can overwrite or remove something.
    pub destructive: bool,
    /// Calling it twice leaves the same state as calling it once.
    pub idempotent: bool,
}

impl Effects {
    const READ: Effects = Effects {
        read_only: true,
        mutates_program: false,
        requires_transaction: false,
        allowed_during_analysis: true,
        destructive: false,
        idempotent: true,
    };
    const WRITE: Effects = Effects {
        read_only: false,
        mutates_program: true,
        requires_transaction: true,
        allowed_during_analysis: false,
        destructive: false,
        idempotent: false,
    };
    /// Ends the session: harmless to the program, final for the client.
    pub(crate) const LIFECYCLE: Effects =
        Effects { read_only: false, destructive: true, ..Effects::READ };
    /// Changes the program outside a transaction.
    pub(crate) const TASK: Effects = Effects { requires_transaction: false, ..Effects::WRITE };

    /// The six flags as a JSON object, by their published names.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Map<String, Value> {
        [
            ("read_only", self.read_only),
            ("mutates_program", self.mutates_program),
            ("requires_transaction", self.requires_transaction),
            ("allowed_during_analysis", self.allowed_during_analysis),
            ("destructive", self.destructive),
            ("idempotent", self.idempotent),
        ]
        .into_iter()
        .map(|(name, flag)| (name.to_owned(), Value::Bool(flag)))
        .collect()
    }

    /// The effect in one or two words.
    #[must_use]
    pub fn summary(&self) -> &'static str {
        match (self.read_only, self.mutates_program, self.destructive) {
            (true, _, _) => "read-only",
            (_, false, _) => "lifecycle",
            (_, _, true) => "destructive mutation",
            (_, _, false) => "mutation",
        }
    }
}

type ReadFn = Box<dyn Fn(&View<'_>, Value) -> Answer<Value> + Send + Sync>;
type WriteFn = Box<dyn Fn(&mut Edit<'_>, Value) -> Answer<Value> + Send + Sync>;
type ControlFn = Box<dyn Fn(&Bridge, &CallContext, Value) -> Answer<Value> + Send + Sync>;

/// How a method is run.
pub(crate) enum Handler {
    /// Over an unchangeable view.
    Read(ReadFn),
    /// Inside a transaction.
    Write(WriteFn),
    /// Over the bridge itself.
    Control(ControlFn),
}

/// One row of the contract.
pub struct Method {
    name: &'static str,
    text: &'static str,
    effects: Effects,
    websocket_only: bool,
    batchable: bool,
    cost: Option<&'static str>,
    since: Option<&'static str>,
    input: Value,
    output: Value,
    checker: Checker,
    checks_itself: bool,
    gates_itself: bool,
    identity: &'static [&'static str],
    brief: Option<&'static [&'static str]>,
    list: bool,
    grows: bool,
    paged: bool,
    scan: bool,
    paths: Vec<String>,
    domain: &'static str,
    operation: String,
    pub(crate) handler: Handler,
}

impl Method {
    /// A method that looks and changes nothing.
    pub(crate) fn read<P: Request + 'static, R: Reply + 'static>(
        name: &'static str,
        text: &'static str,
        run: fn(&View<'_>, P) -> Answer<R>,
    ) -> Method {
        let handler =
            Handler::Read(Box::new(move |view, params| encode(run(view, decode(params)?)?)));
        let method = Method::build::<P, R>(name, text, Effects::READ, true, handler);
        if R::LIST { method.growing() } else { method }
    }

    /// A method that changes the program, all of it or nothing.
    pub(crate) fn write<P: Request + 'static, R: Reply + 'static>(
        name: &'static str,
        text: &'static str,
        run: fn(&mut Edit<'_>, P) -> Answer<R>,
    ) -> Method {
        let handler =
            Handler::Write(Box::new(move |edit, params| encode(run(edit, decode(params)?)?)));
        Method::build::<P, R>(name, text, Effects::WRITE, true, handler)
    }

    /// A method that acts on the session rather than on the program's facts.
    pub(crate) fn control<P: Request + 'static, R: Reply + 'static>(
        name: &'static str,
        text: &'static str,
        effects: Effects,
        run: fn(&Bridge, &CallContext, P) -> Answer<R>,
    ) -> Method {
        let handler = Handler::Control(Box::new(move |bridge, cx, params| {
            encode(run(bridge, cx, decode(params)?)?)
        }));
        Method::build::<P, R>(name, text, effects, false, handler)
    }

    fn build<P: Request, R: Reply>(
        name: &'static str,
        text: &'static str,
        effects: Effects,
        batchable: bool,
        handler: Handler,
    ) -> Method {
        let output = publish::output::<R>();
        let paths = projection::paths(&output, R::LIST, R::NESTED);
        let input = publish::input::<P>(&paths);
        let selectable = input.pointer("/properties/projection").is_some();
        Method {
            checker: Checker::new(&input),
            checks_itself: false,
            gates_itself: false,
            name,
            text,
            effects,
            websocket_only: false,
            batchable,
            cost: None,
            since: None,
            input,
            output,
            identity: R::IDENTITY,
            brief: None,
            list: R::LIST,
            grows: false,
            paged: P::PAGED,
            scan: P::SCAN,
            paths: if selectable { paths } else { Vec::new() },
            domain: "",
            operation: String::new(),
            handler,
        }
    }

    /// Marks a write that can overwrite or remove something.
    pub(crate) fn destructive(mut self) -> Method {
        self.effects.destructive = true;
        self
    }

    /// Marks a write that may be repeated.
    pub(crate) fn idempotent(mut self) -> Method {
        self.effects.idempotent = true;
        self
    }

    /// Marks a read whose answer grows with what analysis finds: it says so while analysis runs.
    /// Lists are marked by themselves.
    pub(crate) fn growing(mut self) -> Method {
        self.grows = true;
        publish::add_running_analysis(&mut self.output);
        self
    }

    /// Keeps the method away from MCP and out of batches.
    pub(crate) fn only_on_websocket(mut self) -> Method {
        self.websocket_only = true;
        self.batchable = false;
        self
    }

    /// Leaves it to the handler to refuse while analysis runs.
    pub(crate) fn gating_itself(mut self) -> Method {
        self.gates_itself = true;
        self
    }

    /// Says what the method's cost grows with.
    pub(crate) fn cost(mut self, cost: &'static str) -> Method {
        self.cost = Some(cost);
        self
    }

    /// Marks a method beyond the document with the version that brought it.
    pub(crate) fn since(mut self, version: &'static str) -> Method {
        self.since = Some(version);
        self
    }

    /// Names the members that an MCP client is answered when it asks for none in particular:
    /// what a model needs to go on, in as few words as that takes.
    pub(crate) fn brief(mut self, members: &'static [&'static str]) -> Method {
        self.brief = Some(members);
        self
    }

    /// Replaces the published schemas; `checks_itself` leaves the checking to the handler.
    pub(crate) fn with_schemas(
        mut self,
        input: Value,
        output: Value,
        checks_itself: bool,
    ) -> Method {
        self.checker = Checker::new(&input);
        self.checks_itself = checks_itself;
        self.input = input;
        self.output = output;
        self
    }

    /// Changes the published schema of the result.
    pub(crate) fn revise_output(&mut self, change: impl FnOnce(&mut Value)) {
        change(&mut self.output);
    }

    /// Files the method under its domain.
    pub(crate) fn filed(mut self, domain: &'static str, operation: String) -> Method {
        self.domain = domain;
        self.operation = operation;
        self
    }

    /// The dotted name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name
    }

    /// The dotted name, for keys that outlive the borrow.
    pub(crate) fn static_name(&self) -> &'static str {
        self.name
    }

    /// One sentence on what the method does.
    #[must_use]
    pub fn description(&self) -> &str {
        self.text
    }

    /// What the method does to the program.
    #[must_use]
    pub fn effects(&self) -> Effects {
        self.effects
    }

    /// The schema of its parameters, self-contained.
    #[must_use]
    pub fn input_schema(&self) -> &Value {
        &self.input
    }

    /// The schema of its result, self-contained.
    #[must_use]
    pub fn output_schema(&self) -> &Value {
        &self.output
    }

    /// The domain it belongs to, without prefix.
    #[must_use]
    pub fn domain(&self) -> &'static str {
        self.domain
    }

    /// Its name inside the domain's tool.
    #[must_use]
    pub fn operation(&self) -> &str {
        &self.operation
    }

    /// True when only the WebSocket serves it.
    #[must_use]
    pub fn websocket_only(&self) -> bool {
        self.websocket_only
    }

    /// True when a batch may contain it.
    #[must_use]
    pub fn batchable(&self) -> bool {
        self.batchable
    }

    /// What its cost grows with, where that matters.
    #[must_use]
    pub fn cost_text(&self) -> Option<&'static str> {
        self.cost
    }

    /// The version of the contract that brought it; absent for the document's own methods.
    #[must_use]
    pub fn since_version(&self) -> Option<&'static str> {
        self.since
    }

    /// True when its replies come in pages.
    #[must_use]
    pub fn paged(&self) -> bool {
        self.paged
    }

    /// True when it walks addresses under a time limit.
    #[must_use]
    pub fn scans(&self) -> bool {
        self.scan
    }

    /// The paths its projection offers; empty when it takes none.
    #[must_use]
    pub fn selectable(&self) -> &[String] {
        &self.paths
    }

    /// The members that are always answered.
    #[must_use]
    pub fn identity(&self) -> &'static [&'static str] {
        self.identity
    }

    /// The members that are answered over MCP, beside the identity, when a request has no
    /// `projection`; all when absent. An empty `projection` asks for all.
    #[must_use]
    pub fn brief_members(&self) -> Option<&'static [&'static str]> {
        self.brief
    }

    /// True when a reply holds rows in `items`.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.list
    }

    /// True when an answer given while analysis runs must say so.
    pub(crate) fn grows(&self) -> bool {
        self.grows
    }

    /// True when the handler refuses by itself while analysis runs.
    pub(crate) fn gates_itself(&self) -> bool {
        self.gates_itself
    }

    /// True when the handler checks its parameters itself.
    pub(crate) fn checks_itself(&self) -> bool {
        self.checks_itself
    }

    /// Holds parameters against the published schema.
    pub(crate) fn check(&self, params: &Value) -> Result<(), BridgeError> {
        if self.checks_itself { Ok(()) } else { self.checker.check(params) }
    }

    /// Holds a reply against the published schema, for tests and tools.
    ///
    /// # Errors
    /// The first difference, with a target as if the reply were a request.
    pub fn check_reply(&self, reply: &Value) -> Result<(), BridgeError> {
        Checker::new(&self.output).check(reply)
    }

    /// Unpacks objects that were sent as text; true when there were any.
    pub(crate) fn unpack_texts(&self, params: &mut Value) -> bool {
        self.checker.unpack_texts(params)
    }
}

fn decode<P: Request>(params: Value) -> Answer<P> {
    serde_json::from_value(params).map_err(|fault| {
        // The check let through what the type refuses: the schema is too wide.
        tracing::error!(%fault, "checked parameters did not decode");
        BridgeError::new(ErrorCode::InvalidRequest, "the parameters do not fit the method").at("")
    })
}

fn encode<R: Reply>(reply: R) -> Answer<Value> {
    serde_json::to_value(reply).map_err(|fault| {
        tracing::error!(%fault, "a reply did not encode");
        BridgeError::internal()
    })
}
