//! Instructions.

use engine::InstructionPrinter;
use program::{Address, AddressRange, FlowOverride, Program};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::unit::unit_bytes;
use crate::error::BridgeError;
use crate::method::{Answer, Method};
use crate::shapes::{AddressSelector, ByteSequence, Get, Reply, Scan, ScanPage};
use crate::view::View;
use crate::walk::{OpenEnd, Walk, position};

pub(crate) fn methods() -> Vec<Method> {
    vec![
        Method::read(
            "instruction.get",
            "Describe the instruction that starts at one address.",
            get,
        ),
        Method::read("instruction.list", "Walk instructions in address order.", list)
            .brief(&["text"])
            .cost(
                "Grows with the instructions walked over; each is decoded again for its text. With `function` \
                 only that function's are walked over.",
            ),
    ]
}

fn get(view: &View<'_>, request: Get<AddressSelector>) -> Answer<Instruction> {
    let address = view.code_address(&request.selector.address, "/selector/address")?;
    let found = view.program.listing.instructions.get(&address);
    let found =
        found.ok_or_else(|| no_instruction(&view.program, address).at("/selector/address"))?;
    let mut printer = InstructionPrinter::new(view.bridge.session());
    Ok(Instruction::of(&view.program, &mut printer, address, found, Members::wanted(view)))
}

fn list(view: &View<'_>, request: Scan<InstructionFilter>) -> Answer<ScanPage<Instruction>> {
    let filter = request.filter.unwrap_or_default();
    let function = filter.function.as_deref();
    let function = function.map(|text| view.function(text, "/filter/function")).transpose()?;
    let mut walk = Walk::new(view, request.page.as_ref(), request.scan.as_ref(), OpenEnd::OfSpace)?;
    if let Some(function) = function {
        let body = &function.body;
        let (first, last) = (body.min(), body.max());
        let first = first.unwrap_or(function.entry);
        walk.narrow(request.scan.as_ref(), first, last.unwrap_or(first));
    }
    let mut printer = InstructionPrinter::new(view.bridge.session());
    let members = Members::wanted(view);
    let instructions = &view.program.listing.instructions;
    let last = walk.last();
    let rest = walk.next_address().map(|first| AddressRange { start: first, end: last });
    // Of a body that lies apart only its parts are walked over.
    let parts: Vec<AddressRange> = match (function, rest) {
        (_, None) => Vec::new(),
        (None, Some(rest)) => vec![rest],
        (Some(function), Some(rest)) => {
            let parts = function.body.ranges().iter();
            let cut = |part: &AddressRange| {
                let (start, end) = (part.start.max(rest.start), part.end.min(rest.end));
                (start <= end).then_some(AddressRange { start, end })
            };
            parts.filter_map(cut).collect()
        }
    };
    let found = parts.into_iter().flat_map(|part| instructions.range(part.start..=part.end));
    let candidates = found.map(|(address, unit)| (position(*address, 0), (*address, unit)));
    walk.run(view, candidates, |(address, unit)| {
        Ok(Some(Instruction::of(&view.program, &mut printer, address, unit, members)))
    })
}

/// Which instructions to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct InstructionFilter {
    /// Only those in the body of the function at this entry point, all its parts in order.
    #[schemars(length(min = 1))]
    function: Option<String>,
}

/// The refusal where no instruction starts.
pub(super) fn no_instruction(program: &Program, address: Address) -> BridgeError {
    let place = program.spaces.print(address);
    let message = match program.listing.instruction_containing(address) {
        Some((start, _)) => format!(
            "no instruction starts at {place}; it lies inside the one at {}",
            program.spaces.print(start)
        ),
        None => format!("there is no instruction at {place}"),
    };
    BridgeError::not_found("instruction", message)
}

/// The costly members of an instruction that will be answered.
#[derive(Clone, Copy)]
pub(super) struct Members {
    pub bytes: bool,
    pub text: bool,
    /// The whole text in one member, beside the name and the operands.
    pub line: bool,
}

impl Members {
    /// Everything but the bytes.
    pub(super) const WITHOUT_BYTES: Members = Members { bytes: false, text: true, line: false };

    /// What a projection leaves.
    pub(super) fn wanted(view: &View<'_>) -> Members {
        Members {
            bytes: view.wants("bytes"),
            text: ["mnemonic", "operands", "text"].into_iter().any(|member| view.wants(member)),
            line: view.selects("text"),
        }
    }
}

/// The wire word of a flow override.
pub(super) fn override_word(value: FlowOverride) -> &'static str {
    match value {
        FlowOverride::None => "none",
        FlowOverride::Branch => "branch",
        FlowOverride::Call => "call",
        FlowOverride::CallReturn => "call_return",
        FlowOverride::Return => "return",
    }
}

/// One instruction.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Instruction {
    /// Where it starts.
    pub address: String,
    /// Its length in bytes.
    pub length: u64,
    /// Its bytes.
    pub bytes: Option<ByteSequence>,
    /// Its name.
    pub mnemonic: String,
    /// Its operands as text.
    pub operands: Vec<String>,
    /// The correction laid over its flow.
    pub flow_override: &'static str,
    /// How control leaves it, as decoded.
    pub default_flow_type: &'static str,
    /// How control leaves it, with the correction.
    pub flow_type: &'static str,
    /// Where control goes on behind it, if it does.
    pub fall_through: Option<String>,
    /// As it is shown in a listing; only when it is asked for.
    pub text: Option<String>,
}

impl Instruction {
    /// Describes an instruction of the listing; without a text when its bytes no longer decode.
    pub(super) fn of(
        program: &Program,
        printer: &mut InstructionPrinter,
        address: Address,
        instruction: &program::Instruction,
        members: Members,
    ) -> Instruction {
        let text = members.text.then(|| printer.text(program, address, instruction)).flatten();
        let text = text.unwrap_or_default();
        let print = |address| program.spaces.print(address).to_string();
        let length = u64::from(instruction.length);
        Instruction {
            address: print(address),
            length,
            bytes: members.bytes.then(|| unit_bytes(program, address, length)).flatten(),
            text: members.line.then_some(text.text),
            mnemonic: text.mnemonic,
            operands: text.operands,
            flow_override: override_word(instruction.flow_override),
            default_flow_type: instruction.flow.name(),
            flow_type: instruction.effective_flow().name(),
            fall_through: program.listing.fall_through(address, instruction).map(print),
        }
    }
}

impl Reply for Instruction {
    const IDENTITY: &'static [&'static str] = &["address"];
}
