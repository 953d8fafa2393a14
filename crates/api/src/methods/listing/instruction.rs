//! Instructions.

use engine::InstructionPrinter;
use program::{Address, FlowOverride};
use schemars::JsonSchema;
use serde::Serialize;

use super::unit::unit_bytes;
use crate::error::BridgeError;
use crate::method::{Answer, Method};
use crate::shapes::{AddressSelector, ByteSequence, Get, NoFilter, Reply, Scan, ScanPage};
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
            .cost("Grows with the instructions walked over; each is decoded again for its text."),
    ]
}

fn get(view: &View<'_>, request: Get<AddressSelector>) -> Answer<Instruction> {
    let address = view.code_address(&request.selector.address, "/selector/address")?;
    let found = view.program.listing.instructions.get(&address);
    let found = found.ok_or_else(|| no_instruction(view, address).at("/selector/address"))?;
    let mut printer = InstructionPrinter::new(view.bridge.session());
    Ok(Instruction::of(view, &mut printer, address, found))
}

fn list(view: &View<'_>, request: Scan<NoFilter>) -> Answer<ScanPage<Instruction>> {
    let walk = Walk::new(view, request.page.as_ref(), request.scan.as_ref(), OpenEnd::OfSpace)?;
    let mut printer = InstructionPrinter::new(view.bridge.session());
    let found = view.program.listing.instructions.range(walk.addresses());
    let candidates = found.map(|(address, unit)| (position(*address, 0), (*address, unit)));
    walk.run(view, candidates, |(address, unit)| {
        Ok(Some(Instruction::of(view, &mut printer, address, unit)))
    })
}

/// The refusal where no instruction starts.
pub(super) fn no_instruction(view: &View<'_>, address: Address) -> BridgeError {
    let place = view.print(address);
    let message = match view.program.listing.instruction_containing(address) {
        Some((start, _)) => {
            format!(
                "no instruction starts at {place}; it lies inside the one at {}",
                view.print(start)
            )
        }
        None => format!("there is no instruction at {place}"),
    };
    BridgeError::not_found("instruction", message)
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
}

impl Instruction {
    /// The row without its bytes, where they are not answered.
    pub(super) fn without_bytes(self) -> Instruction {
        Instruction { bytes: None, ..self }
    }

    /// Describes an instruction of the listing; without a text when its bytes no longer decode.
    pub(super) fn of(
        view: &View<'_>,
        printer: &mut InstructionPrinter,
        address: Address,
        instruction: &program::Instruction,
    ) -> Instruction {
        let wants_text = view.wants("mnemonic") || view.wants("operands");
        let text =
            if wants_text { printer.text(&view.program, address, instruction) } else { None };
        let text = text.unwrap_or_default();
        let fall_through = view.program.listing.fall_through(address, instruction);
        Instruction {
            address: view.print(address),
            length: u64::from(instruction.length),
            bytes: unit_bytes(view, address, u64::from(instruction.length)),
            mnemonic: text.mnemonic,
            operands: text.operands,
            flow_override: override_word(instruction.flow_override),
            default_flow_type: instruction.flow.name(),
            flow_type: instruction.effective_flow().name(),
            fall_through: fall_through.map(|next| view.print(next)),
        }
    }
}

impl Reply for Instruction {
    const IDENTITY: &'static [&'static str] = &["address"];
}
