//! P-code: the processor-neutral operations that instructions stand for.

use engine::decompiler::{Opcode, PcodeOp, VarSpace, Varnode};
use engine::{InstructionPrinter, RawPcode};
use program::Address;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{BridgeError, ErrorCode};
use crate::method::{Answer, Method};
use crate::shapes::{AddressSelector, Projection, Reply, Request, ScanWait};
use crate::view::View;

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::read(
            "pcode.get",
            "Answer the p-code of instructions, as the processor's description has it.",
            get,
        )
        .growing()
        .since("1.1")
        .cost("Grows with `count`."),
    ]
}

fn get(view: &View<'_>, request: PcodeRequest) -> Answer<Pcode> {
    let start = view.code_address(&request.selector.address, "/selector/address")?;
    let PcodeForm::Raw = request.form.unwrap_or(PcodeForm::Raw);
    let listing = &view.program.listing.instructions;
    if !listing.contains_key(&start) {
        let message = format!(
            "no instruction starts at {}; instruction.list shows where there are some",
            view.print(start)
        );
        return Err(BridgeError::not_found("instruction", message).at("/selector/address"));
    }
    let session = view.bridge.session();
    let (mut printer, mut raw) = (InstructionPrinter::new(session), RawPcode::new(session));
    let wanted = request.count.unwrap_or(1) as usize;
    let range = listing.range(start..=Address::new(start.space, u64::MAX)).take(wanted);
    let mut instructions = Vec::new();
    for (at, instruction) in range {
        let operations = raw.of(&view.program, *at, instruction).ok_or_else(|| {
            let message = format!("the bytes at {} are no instruction any more", view.print(*at));
            BridgeError::new(ErrorCode::NotCode, message).at("/selector/address")
        })?;
        let text = printer.text(&view.program, *at, instruction);
        instructions.push(InstructionPcode {
            address: view.print(*at),
            text: text.map(|text| text.text),
            operations: operations.iter().map(|operation| row(view, operation)).collect(),
        });
    }
    Ok(Pcode { address: view.print(start), form: "raw", instructions: Some(instructions) })
}

fn row(view: &View<'_>, operation: &PcodeOp) -> Operation {
    Operation {
        opcode: operation.opcode.name(),
        output: operation.output.as_ref().map(|node| varnode(view, node)),
        inputs: inputs(view, operation),
    }
}

/// What an operation is done with; the first input of a load or a store is a memory.
fn inputs(view: &View<'_>, operation: &PcodeOp) -> Vec<String> {
    let mut texts: Vec<String> = operation.inputs.iter().map(|node| varnode(view, node)).collect();
    if matches!(operation.opcode, Opcode::Load | Opcode::Store)
        && let Some(memory) = texts.first_mut()
    {
        *memory = if operation.is_ram_access() { "ram" } else { "other" }.to_owned();
    }
    texts
}

/// A place as text: a register's name, `0x8:4` for a constant, and a place in memory or among the
/// temporaries with the name of its space before it.
fn varnode(view: &View<'_>, node: &Varnode) -> String {
    let Varnode { space, offset, size } = *node;
    match space {
        VarSpace::Register => match view.bridge.session().language().register_name(offset, size) {
            Some(name) => name.to_owned(),
            None => format!("register[{offset:#x}]:{size}"),
        },
        VarSpace::Const => format!("{offset:#x}:{size}"),
        VarSpace::Unique => format!("unique[{offset:#x}]:{size}"),
        VarSpace::Ram => format!("ram[{offset:#x}]:{size}"),
        VarSpace::Other(number) => format!("space{number}[{offset:#x}]:{size}"),
    }
}

/// Which p-code to answer.
#[derive(Debug, Deserialize, JsonSchema)]
struct PcodeRequest {
    /// The first instruction.
    selector: AddressSelector,
    /// How many instructions, in address order; 1 when absent.
    #[schemars(range(min = 1, max = 1000))]
    count: Option<u32>,
    /// `raw`, as the instructions are described; also when absent.
    form: Option<PcodeForm>,
    /// How long to wait for the end of analysis.
    #[allow(dead_code)] // read from the JSON before decoding
    scan: Option<ScanWait>,
    /// Which members to answer; all when absent.
    #[allow(dead_code)] // read from the JSON before decoding
    projection: Option<Projection>,
}

impl Request for PcodeRequest {}

/// Forms of p-code.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PcodeForm {
    Raw,
}

/// The p-code of some instructions.
#[derive(Debug, Serialize, JsonSchema)]
struct Pcode {
    /// The first instruction.
    address: String,
    /// `raw`.
    form: &'static str,
    /// The instructions in address order.
    #[schemars(length(max = 1000))]
    instructions: Option<Vec<InstructionPcode>>,
}

impl Reply for Pcode {
    const IDENTITY: &'static [&'static str] = &["address"];
}

/// The p-code of one instruction, its delay slot included.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "instruction_pcode")]
struct InstructionPcode {
    /// Where it is.
    address: String,
    /// As a listing shows it.
    text: Option<String>,
    /// What it does, in order.
    operations: Vec<Operation>,
}

/// One operation.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "pcode_operation")]
struct Operation {
    /// What is done, by Ghidra's name.
    opcode: &'static str,
    /// Where the result goes.
    output: Option<String>,
    /// What it is done with: a register's name, `0x8:4` for a constant of four bytes,
    /// `unique[0x100]:8` and `ram[0x1000]:8` for places. The first input of LOAD and STORE is the
    /// memory: `ram` or `other`.
    inputs: Vec<String>,
}
