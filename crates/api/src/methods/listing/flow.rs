//! Corrections of an instruction's flow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::instruction::Instruction;
use crate::method::Method;
use crate::shapes::{Items, PageRequest, Patch, Projection, Request, ScanPage, ScanTimeout};

pub(crate) fn methods() -> Vec<Method> {
    vec![
        Method::pending_read::<ListRequest, ScanPage<Instruction>>(
            "flow_override.list",
            "List the instructions in a scope whose flow is corrected.",
        )
        .cost("Grows with the instructions in the scope."),
        Method::pending_write::<Patch<FlowSelector, FlowPatch>, Items<Instruction>>(
            "flow_override.patch",
            "Set or clear the flow correction of the instructions in a scope.",
        )
        .destructive()
        .idempotent(),
    ]
}

/// Which corrections to list. The filter gives the range, so the scan has none.
#[derive(Debug, Deserialize, JsonSchema)]
struct ListRequest {
    /// Where to look and for what.
    filter: FlowFilter,
    /// Which page.
    page: Option<PageRequest>,
    /// For how long to look.
    scan: Option<ScanTimeout>,
    /// Which members of each row to answer; all when absent.
    #[allow(dead_code)] // read from the JSON before decoding
    projection: Option<Projection>,
}

impl Request for ListRequest {
    const PAGED: bool = true;
    const SCAN: bool = true;
}

/// Where to look and for what.
#[derive(Debug, Deserialize, JsonSchema)]
struct FlowFilter {
    /// The scope; needed in practice.
    selector: Option<FlowSelector>,
    /// The wanted corrections; all but `none` when absent.
    #[schemars(length(min = 1, max = 5))]
    flow_overrides: Option<Vec<FlowOverride>>,
}

/// One instruction, a function's body, or a range.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum FlowSelector {
    /// The instruction at an address.
    Address {
        /// Where it starts.
        #[schemars(length(min = 1))]
        address: String,
    },
    /// Every instruction in a function's body.
    Function {
        /// The function's entry point.
        #[schemars(length(min = 1))]
        entry: String,
    },
    /// Every instruction that starts in a range.
    Range {
        /// First address.
        #[schemars(length(min = 1))]
        start: String,
        /// Last address.
        #[schemars(length(min = 1))]
        end: String,
    },
}

/// A correction of flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum FlowOverride {
    Branch,
    Call,
    CallReturn,
    None,
    Return,
}

/// The correction to set.
#[derive(Debug, Deserialize, JsonSchema)]
struct FlowPatch {
    /// The new correction.
    flow_override: FlowOverride,
    /// Only change instructions whose correction is one of these; any when absent.
    #[schemars(length(min = 1, max = 5))]
    expected_flow_overrides: Option<Vec<FlowOverride>>,
}
