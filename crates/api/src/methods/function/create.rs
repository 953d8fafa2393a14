//! Making functions where nobody found one.

use std::sync::Arc;

use engine::MakeError;
use program::{Address, AddressRange, Program};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Function;
use crate::error::{BridgeError, ErrorCode};
use crate::method::Answer;
use crate::methods::name;
use crate::shapes::Create;
use crate::view::Edit;

const ENTRY: &str = "/resource/entry";
const BODY: &str = "/resource/body";

pub(super) fn create(edit: &mut Edit<'_>, request: Create<FunctionDefinition>) -> Answer<Function> {
    let resource = &request.resource;
    let (entry, mode) = place(edit, &resource.entry)?;
    if edit.program.functions.at(entry).is_some() {
        let known = edit.program.function_name(entry);
        let message = format!("the function {known} starts at {} already", edit.print(entry));
        let error = BridgeError::new(ErrorCode::FunctionExists, message).at(ENTRY);
        return Err(error.with("name", known));
    }
    let name = resource.name.as_deref();
    let name = name.map(|name| name::of_place(edit.program, name, entry, "/resource/name"));
    let name = name.transpose()?;
    let body = resource.body.as_ref().map(|body| bounds(edit, body, entry)).transpose()?;
    let language = edit.session.language();
    engine::make_function(edit.program, language, entry, mode, body)
        .map_err(|fault| not_code(edit, entry, fault))?;
    if let Some(name) = name {
        edit.program.rename_function(entry, name);
    }
    let function = edit.program.functions.at(entry).map(Arc::clone);
    let function = function.ok_or_else(BridgeError::internal)?;
    Ok(Function::of(edit.program, &function, |_| true))
}

/// Where the function starts, and in which mode it is decoded: an odd address means Thumb code.
fn place(edit: &Edit<'_>, text: &str) -> Answer<(Address, u8)> {
    let program = &*edit.program;
    let parsed = program.parse_code_address(text);
    let address = match parsed {
        Ok(address) => address,
        Err(_) => edit.address(text, ENTRY)?,
    };
    if let Some(instruction) = program.listing.instructions.get(&address) {
        return Ok((address, instruction.mode));
    }
    if address.offset % 2 == 1 && edit.session.language().has_context("TMode") {
        return Ok((Address::new(address.space, address.offset - 1), 1));
    }
    Ok((address, program.mode_at(address)))
}

fn bounds(edit: &Edit<'_>, body: &BodyRange, entry: Address) -> Answer<AddressRange> {
    let start = edit.address(&body.start, "/resource/body/start")?;
    let end = edit.address(&body.end, "/resource/body/end")?;
    let refused = |message: String| BridgeError::new(ErrorCode::InvalidRequest, message).at(BODY);
    let range = AddressRange::new(start, end).filter(|range| range.start.space == range.end.space);
    let range = range.ok_or_else(|| refused("the body's start lies behind its end".to_owned()))?;
    if !range.contains(entry) {
        return Err(refused(format!("the body does not hold the entry {}", edit.print(entry))));
    }
    let block = edit.program.memory.block_at(start);
    if !block.is_some_and(|block| block.range().contains(end)) {
        return Err(refused("the body must lie in one memory block".to_owned()));
    }
    let crossed: Vec<Address> =
        edit.program.functions.overlapping(&range).map(|function| function.entry).collect();
    match crossed.first() {
        Some(other) => Err(conflict(edit.program, *other)),
        None => Ok(range),
    }
}

fn conflict(program: &Program, other: Address) -> BridgeError {
    let name = program.function_name(other);
    let place = program.spaces.print(other).to_string();
    let message = format!("the body crosses the function {name}, which starts at {place}");
    BridgeError::new(ErrorCode::BodyConflict, message)
        .at(BODY)
        .with("entry", place)
        .with("name", name)
}

fn not_code(edit: &Edit<'_>, entry: Address, fault: MakeError) -> BridgeError {
    let place = edit.print(entry);
    let message = match fault {
        MakeError::NotCode => format!("nothing that decodes as an instruction starts at {place}"),
        MakeError::InTheWay(other) => {
            format!("what starts at {} covers {place}, so no code can", edit.print(other))
        }
    };
    BridgeError::new(ErrorCode::NotCode, message).at(ENTRY)
}

/// A function to make.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct FunctionDefinition {
    /// Its entry point.
    #[schemars(length(min = 1))]
    entry: String,
    /// Its name; a default name when absent.
    #[schemars(length(min = 1))]
    name: Option<String>,
    /// What belongs to it; found by flow when absent.
    body: Option<BodyRange>,
}

/// The bounds of a body, both inclusive.
#[derive(Debug, Deserialize, JsonSchema)]
struct BodyRange {
    /// First address.
    #[schemars(length(min = 1))]
    start: String,
    /// Last address.
    #[schemars(length(min = 1))]
    end: String,
}
