//! One request that has its era: carried out, and its result dressed.

use crate::hold;
use crate::lane::Held;
use crate::service::Service;
use api::CallContext;
use mcp::{Call, Era, Failure, Implementation, Shape};
use serde_json::{Map, Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::tools::{Answered, CONTRACT_URI, Catalog};

/// Who we say we are.
pub(crate) fn implementation() -> Implementation {
    Implementation { name: "ghidra-bridge".into(), version: env!("CARGO_PKG_VERSION").into() }
}

/// A request on its way to an answer.
pub(crate) struct Request {
    era: Era,
    shape: Shape,
    call: Call,
}

/// The result of a request, as the log sees it.
pub(crate) struct Answer {
    pub result: Map<String, Value>,
    /// Whether it is a tool's error.
    pub failed: bool,
}

impl Request {
    /// Finds what a request asks for.
    pub fn route(era: Era, method: &str, params: Map<String, Value>) -> Result<Request, Failure> {
        let call = mcp::route(era, method, params)?;
        Ok(Request { era, shape: call.shape(), call })
    }

    /// Whether it may take long, so that it must not run on an async thread.
    pub fn is_long(&self) -> bool {
        matches!(self.call, Call::CallTool { .. })
    }

    /// Whether the version it belongs to wants work given up when the client
    /// hangs up.
    pub fn ends_with_its_client(&self) -> bool {
        self.era == Era::Modern
    }

    /// The version that a handshake settled on.
    pub fn handshake(&self) -> Option<mcp::Version> {
        match self.call {
            Call::Initialize(version) => Some(version),
            _ => None,
        }
    }

    /// The tool it names.
    pub fn tool(&self) -> Option<&str> {
        match &self.call {
            Call::CallTool { name, .. } => Some(name),
            _ => None,
        }
    }

    /// Whether it may change anything, the session included.
    pub fn changes_something(&self, catalog: &Catalog) -> bool {
        match &self.call {
            Call::CallTool { name, arguments } => catalog.changes_something(name, arguments),
            _ => false,
        }
    }

    /// What it waits for before it is carried out, if for anything.
    pub fn held(&self, service: &Arc<Service>, context: &CallContext) -> Option<Held> {
        let Call::CallTool { name, arguments } = &self.call else { return None };
        let (method, params) = service.catalog.waiting(name, arguments)?;
        hold::held(service, method, &params, context)
    }

    /// Carries it out. A fault of ours becomes an error that tells nothing of our inside.
    pub fn answer(self, service: &Service, context: &CallContext) -> Result<Answer, Failure> {
        catch_unwind(AssertUnwindSafe(|| self.carry_out(service, context)))
            .unwrap_or_else(|_| Err(Failure::internal()))
    }

    fn carry_out(self, service: &Service, context: &CallContext) -> Result<Answer, Failure> {
        #[cfg(test)]
        service.fail_if_told();
        let Request { era, shape, call } = self;
        let catalog = &service.catalog;
        let mut failed = false;
        let result = match call {
            Call::Initialize(_) | Call::Discover => {
                mcp::presentation(&call, &implementation(), catalog.instructions())
            }
            Call::Ping => Map::new(),
            Call::ListTools => one("tools", catalog.list().clone()),
            Call::ListResources => one("resources", json!([catalog.contract_entry()])),
            Call::ListResourceTemplates => one("resourceTemplates", json!([])),
            Call::ReadResource { uri } if uri == CONTRACT_URI => one(
                "contents",
                json!([{ "uri": uri, "mimeType": "application/json", "text": catalog.contract() }]),
            ),
            Call::ReadResource { uri } => return Err(Failure::unknown_resource(era, &uri)),
            Call::CallTool { name, arguments } => {
                let outcome = catalog.call(&service.bridge, &name, arguments, context)?;
                failed = outcome.is_err();
                tool_result(outcome)
            }
        };
        let result = mcp::decorate(era, shape, result, &implementation());
        Ok(Answer { result, failed })
    }
}

fn one(name: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), value)])
}

/// A tool's answer in both forms: as text for models, as an object for machines.
fn tool_result(outcome: Result<Answered, Value>) -> Map<String, Value> {
    let failed = outcome.is_err();
    let Answered { structured, text } = outcome.unwrap_or_else(Answered::json);
    let text = text.unwrap_or_else(|| structured.to_string());
    let mut result = one("content", json!([{ "type": "text", "text": text }]));
    result.insert("structuredContent".into(), structured);
    result.insert("isError".into(), failed.into());
    result
}
