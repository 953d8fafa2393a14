//! Corrections of an instruction's flow.

use engine::InstructionPrinter;
use engine::Session;
use program::{Address, AddressRange, AddressSet, Program};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::instruction::{Instruction, Members, no_instruction, override_word};
use crate::error::{BridgeError, ErrorCode};
use crate::method::{Answer, Method};
use crate::shapes::{Items, PageRequest, Patch, Projection, Request, ScanPage, ScanTimeout};
use crate::view::{Edit, View, address_error, function_at};
use crate::walk::{Walk, position};

/// Most instructions changed in one call.
const MAX_CHANGED: usize = 1000;

/// What a model needs to know of a corrected instruction.
const BRIEF: &[&str] = &["mnemonic", "operands", "flow_override"];

pub(crate) fn methods() -> Vec<Method> {
    vec![
        Method::read(
            "flow_override.list",
            "List the instructions in a scope whose flow is corrected.",
            list,
        )
        .brief(BRIEF)
        .cost("Grows with the instructions in the scope."),
        Method::write(
            "flow_override.patch",
            "Set or clear the flow correction of the instructions in a scope.",
            patch,
        )
        .brief(BRIEF)
        .destructive()
        .idempotent(),
    ]
}

fn list(view: &View<'_>, request: ListRequest) -> Answer<ScanPage<Instruction>> {
    let selector = request.filter.selector.as_ref().ok_or_else(|| {
        let message = "say where to look: an address, a function or a range";
        BridgeError::new(ErrorCode::MissingField, message).at("/filter/selector")
    })?;
    let scope = selector.scope(&view.program, "/filter/selector")?;
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
        let members = Members { bytes: false, ..Members::wanted(view) };
        Ok(fits.then(|| Instruction::of(&view.program, &mut printer, address, unit, members)))
    })
}

fn patch(
    edit: &mut Edit<'_>,
    request: Patch<FlowSelector, FlowPatch>,
) -> Answer<Items<Instruction>> {
    let scope = request.selector.scope(edit.program, "/selector")?;
    let expected = request.patch.expected_flow_overrides.as_deref();
    let is_expected = |value: program::FlowOverride| {
        expected.is_none_or(|all| all.iter().any(|one| one.word() == override_word(value)))
    };
    let inside = in_scope(edit.program, &scope);
    let one = request.selector.is_one_instruction();
    if let Some((_, now)) = inside.first().filter(|(_, now)| one && !is_expected(*now)) {
        let message = format!(
            "the flow override is {} now, which is not an expected one",
            override_word(*now)
        );
        return Err(BridgeError::new(ErrorCode::FlowOverrideConflict, message)
            .at("/patch/expected_flow_overrides")
            .with("current", override_word(*now)));
    }
    let matching: Vec<Address> =
        inside.iter().filter(|(_, now)| is_expected(*now)).map(|(at, _)| *at).collect();
    if matching.len() > MAX_CHANGED {
        let message = format!(
            "{} instructions match; at most {MAX_CHANGED} are changed at once",
            matching.len()
        );
        return Err(BridgeError::new(ErrorCode::InvalidRequest, message).at("/selector"));
    }
    for at in matching {
        edit.program.set_flow_override(at, request.patch.flow_override.value());
    }
    Ok(corrected(edit.program, edit.session, &scope))
}

/// The instructions that start in a scope, with their corrections.
fn in_scope(program: &Program, scope: &AddressSet) -> Vec<(Address, program::FlowOverride)> {
    let ranges = scope.ranges().iter();
    let found =
        ranges.flat_map(|range| program.listing.instructions.range(range.start..=range.end));
    found.map(|(at, instruction)| (*at, instruction.flow_override)).collect()
}

/// The corrected instructions of a scope, as the answer to a change.
fn corrected(program: &Program, session: &Session, scope: &AddressSet) -> Items<Instruction> {
    let mut printer = InstructionPrinter::new(session);
    let all = in_scope(program, scope).into_iter();
    let changed = all.filter(|(_, now)| *now != program::FlowOverride::None).take(MAX_CHANGED);
    let rows = changed.filter_map(|(at, _)| {
        let instruction = program.listing.instructions.get(&at)?;
        Some(Instruction::of(program, &mut printer, at, instruction, Members::WITHOUT_BYTES))
    });
    Items { items: rows.collect() }
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
    fn scope(&self, program: &Program, pointer: &str) -> Answer<AddressSet> {
        let address = |text: &str, member: &str| {
            let parsed = program.parse_code_address(text);
            parsed.map_err(|fault| {
                address_error(program, text, &fault).at(&format!("{pointer}/{member}"))
            })
        };
        match self {
            FlowSelector::Address { address: text } => {
                let at = address(text, "address")?;
                let found =
                    program.listing.instructions.get(&at).ok_or_else(|| {
                        no_instruction(program, at).at(&format!("{pointer}/address"))
                    })?;
                Ok(AddressRange::with_length(at, u64::from(found.length)).into_iter().collect())
            }
            FlowSelector::Function { entry } => {
                Ok(function_at(program, entry, &format!("{pointer}/entry"))?.body.clone())
            }
            FlowSelector::Range { start, end } => {
                let (start, end) = (address(start, "start")?, address(end, "end")?);
                let range = AddressRange::new(start, end).ok_or_else(|| {
                    let message = "the range must start and end in one space, in this order";
                    BridgeError::new(ErrorCode::InvalidRequest, message)
                        .at(&format!("{pointer}/end"))
                })?;
                Ok([range].into_iter().collect())
            }
        }
    }

    fn is_one_instruction(&self) -> bool {
        matches!(self, FlowSelector::Address { .. })
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
    fn value(self) -> program::FlowOverride {
        match self {
            FlowOverride::Branch => program::FlowOverride::Branch,
            FlowOverride::Call => program::FlowOverride::Call,
            FlowOverride::CallReturn => program::FlowOverride::CallReturn,
            FlowOverride::None => program::FlowOverride::None,
            FlowOverride::Return => program::FlowOverride::Return,
        }
    }

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
