//! The session and the contract itself.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::bridge::Bridge;
use crate::context::CallContext;
use crate::method::{Answer, Effects, Method};
use crate::registry::Surface;
use crate::shapes::{GetOnly, Nothing, Reply};
use crate::view::View;

const INTERFACE: &str = "interface.get";

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::read(
            INTERFACE,
            "Answer the contract: every method with its schemas and effects.",
            interface_get,
        )
        .only_on_websocket(),
        Method::read(
            "session.get",
            "Tell which session this is and which program it serves.",
            session_get,
        ),
        Method::control(
            "session.shutdown",
            "End the session; the connection closes after the reply.",
            Effects::LIFECYCLE,
            session_shutdown,
        ),
    ]
}

/// Publishes how many methods the surface has, and leaves out of the document's what only
/// extended methods have.
pub(super) fn describe(surface: Surface, methods: &mut [Method]) {
    let count = methods.len();
    let Some(row) = methods.iter_mut().find(|method| method.name() == INTERFACE) else {
        return;
    };
    row.revise_output(|output| {
        let Some(list) = output.pointer_mut("/properties/methods") else { return };
        list["minItems"] = count.into();
        list["maxItems"] = count.into();
        if let (Surface::Document, Some(Value::Object(members))) =
            (surface, list.pointer_mut("/items/properties"))
        {
            members.shift_remove("since");
        }
    });
}

fn interface_get(view: &View<'_>, _request: Nothing) -> Answer<Interface> {
    let registry = view.bridge.registry();
    let methods = registry.methods().iter().map(MethodRow::of).collect();
    Ok(Interface { interface_version: registry.interface_version(), methods })
}

fn session_get(view: &View<'_>, _request: GetOnly) -> Answer<Session> {
    Ok(Session {
        id: view.bridge.session_id().to_owned(),
        status: if view.bridge.is_shutting_down() { "shutting_down" } else { "active" },
        program_name: view.bridge.program_name(),
    })
}

fn session_shutdown(bridge: &Bridge, _cx: &CallContext, _request: Nothing) -> Answer<Shutdown> {
    bridge.begin_shutdown();
    Ok(Shutdown { shutdown: true })
}

/// The contract.
#[derive(Debug, Serialize, JsonSchema)]
struct Interface {
    /// Version of the contract.
    #[schemars(length(min = 1))]
    interface_version: &'static str,
    /// Every method, in published order.
    #[schemars(length(min = 1, max = 1))] // the count is put in for each surface
    methods: Vec<MethodRow>,
}

impl Reply for Interface {
    const IDENTITY: &'static [&'static str] = &[];
}

/// One method of the contract.
#[derive(Debug, Serialize, JsonSchema)]
struct MethodRow {
    /// The dotted name.
    #[schemars(length(min = 1))]
    name: &'static str,
    /// What it does.
    #[schemars(length(min = 1))]
    description: String,
    /// Schema of the parameters.
    input_schema: Map<String, Value>,
    /// Schema of the result.
    output_schema: Map<String, Value>,
    /// The six effect flags.
    effects: Map<String, Value>,
    /// The version that brought it, for methods beyond the document.
    #[schemars(length(min = 1))]
    since: Option<&'static str>,
}

impl MethodRow {
    fn of(method: &'static Method) -> MethodRow {
        MethodRow {
            name: method.name(),
            description: method.description().to_owned(),
            input_schema: object(method.input_schema().clone()),
            output_schema: object(method.output_schema().clone()),
            effects: method.effects().to_json(),
            since: method.since_version(),
        }
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// The bridge as its clients see it.
#[derive(Debug, Serialize, JsonSchema)]
struct Session {
    /// Its id, as given at the start.
    id: String,
    /// `active` or `shutting_down`.
    status: &'static str,
    /// Name of the open program.
    program_name: String,
}

impl Reply for Session {
    const IDENTITY: &'static [&'static str] = &["id"];
}

/// The session ends.
#[derive(Debug, Serialize, JsonSchema)]
struct Shutdown {
    /// Always true.
    shutdown: bool,
}

impl Reply for Shutdown {
    const IDENTITY: &'static [&'static str] = &[];
}
