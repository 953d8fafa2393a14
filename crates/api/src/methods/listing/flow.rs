//! Corrections of an instruction's flow.

use engine::InstructionPrinter;
use program::{Address, AddressRange, AddressSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::instruction::{Instruction, no_instruction, override_word};
use crate::error::{BridgeError, ErrorCode};
use crate::method::{Answer, Method};
use crate::shapes::{Items, PageRequest, Patch, Projection, Request, ScanPage, ScanTimeout};
use crate::view::View;
use crate::walk::{Walk, position};

pub(crate) fn methods() -> Vec<Method> {
    vec![
        Method::read(
            "flow_override.list",
            "List the instructions in a scope whose flow is corrected.",
            list,
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

fn list(view: &View<'_>, request: ListRequest) -> Answer<ScanPage<Instruction>> {
    let selector = request.filter.selector.as_ref().ok_or_else(|| {
        let message = "say where to look: an address, a function or a range";
        BridgeError::new(ErrorCode::MissingField, message).at("/filter/selector")
    })?;
    let scope = selector.scope(view, "/filter/selector")?;
    let corrections =
        [FlowOverride::Branch, FlowOverride::Call, FlowOverride::CallReturn, FlowOverride::Return];
    let wanted = request.filter.flow_overrides.as_deref().unwrap_or(&corrections);
    let timeout = request.scan.and_then(|scan| scan.timeout_ms);
    let start = scope.min().unwrap_or(Address::MIN);
    let walk = Walk::over(view, request.page.as_ref(), timeout, start, scope.max())?;
    let mut printer = InstructionPrinter::new(view.bridge.session());
    let found = view.program.listing.instructions.range(walk.addresses());
    let inside = found.filter(|(address, _)| scope.contains(**address));
    let candidates = inside.map(|(address, unit)| (position(*address, 0), (*address, unit)));
    walk.run(view, candidates, |(address, unit)| {
        let fits = wanted.iter().any(|value| value.word() == override_word(unit.flow_override));
        let row = || Instruction::of(view, &mut printer, address, unit).without_bytes();
        Ok(fits.then(row))
    })
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

impl FlowSelector {
    /// The addresses meant; `pointer` says where the selector stands.
    fn scope(&self, view: &View<'_>, pointer: &str) -> Answer<AddressSet> {
        match self {
            FlowSelector::Address { address } => {
                let pointer = format!("{pointer}/address");
                let at = view.code_address(address, &pointer)?;
                let found = view.program.listing.instructions.get(&at);
                let found = found.ok_or_else(|| no_instruction(view, at).at(&pointer))?;
                Ok(AddressRange::with_length(at, u64::from(found.length)).into_iter().collect())
            }
            FlowSelector::Function { entry } => {
                Ok(view.function(entry, &format!("{pointer}/entry"))?.body.clone())
            }
            FlowSelector::Range { start, end } => {
                let start = view.address(start, &format!("{pointer}/start"))?;
                let end = view.address(end, &format!("{pointer}/end"))?;
                let range = AddressRange::new(start, end).ok_or_else(|| {
                    let message = "the range must start and end in one space, in this order";
                    BridgeError::new(ErrorCode::InvalidRequest, message)
                        .at(&format!("{pointer}/end"))
                })?;
                Ok([range].into_iter().collect())
            }
        }
    }
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

impl FlowOverride {
    fn word(self) -> &'static str {
        match self {
            FlowOverride::Branch => "branch",
            FlowOverride::Call => "call",
            FlowOverride::CallReturn => "call_return",
            FlowOverride::None => "none",
            FlowOverride::Return => "return",
        }
    }
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
