//! Inserting, changing and removing parameters.

use std::sync::Arc;

use program::{Address, Parameter, Program, SourceType, parameter_name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::storage::{VariableStorage, fits};
use super::variable::value_type;
use crate::error::{BridgeError, ErrorCode};
use crate::method::{Answer, Method};
use crate::methods::data_type::reference::DataTypeReference;
use crate::methods::name;
use crate::shapes::{Delete, Deleted, EntrySelector, Patch, Reply, Request};
use crate::view::{Edit, function_at};

/// What a write answers of the parameter that it made or changed.
const ECHO: &[&str] = &["name", "data_type"];

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::write("function_parameter.create", "Insert a parameter into a function.", create)
            .brief(ECHO),
        Method::write(
            "function_parameter.patch",
            "Change the name, type or storage of one parameter.",
            patch,
        )
        .brief(ECHO)
        .cost("One decompilation, when nobody said yet what the function takes.")
        .destructive()
        .idempotent(),
        Method::write("function_parameter.delete", "Remove one parameter of a function.", delete)
            .destructive()
            .idempotent(),
    ]
}

fn create(edit: &mut Edit<'_>, request: CreateRequest) -> Answer<ParameterAnswer> {
    let entry = callee_entry(edit.program, &request.selector.entry)?;
    let resource = &request.resource;
    let parameters = parameters(edit.program, entry);
    let ordinal = resource.ordinal as usize;
    let automatic = parameters.iter().take_while(|parameter| parameter.automatic).count();
    if ordinal > parameters.len() {
        let message = format!(
            "the function has {} parameters, so a new one is at 0 to {}",
            parameters.len(),
            parameters.len()
        );
        return Err(BridgeError::new(ErrorCode::InvalidRequest, message).at("/resource/ordinal"));
    }
    if ordinal < automatic {
        let message = format!("the first {automatic} parameters are set by the calling convention");
        return Err(BridgeError::new(ErrorCode::InvalidRequest, message).at("/resource/ordinal"));
    }
    let name = name::checked(&resource.name, "/resource/name")?;
    refuse_taken(edit.program, entry, &parameters, None, name, "/resource/name")?;
    let data_type = value_type(edit.program, &resource.data_type, "/resource/data_type")?;
    let storage = match &resource.storage {
        Some(storage) => {
            Some(storage.resolve(edit.program, edit.session, data_type, "/resource/storage")?)
        }
        None => None,
    };
    place_the_rest(edit, entry, storage.is_some())?;
    edit.program.functions.edit(entry, |function| {
        let parameter = Parameter {
            name: name.into(),
            data_type,
            storage: storage.unwrap_or_default(),
            source: SourceType::UserDefined,
            automatic: false,
            id: function.new_variable_id(),
        };
        function.signature.parameters.insert(ordinal, parameter);
        said(&mut function.signature);
    });
    settle(edit, entry, "/resource/data_type")?;
    answer(edit.program, entry, ordinal)
}

fn patch(
    edit: &mut Edit<'_>,
    request: Patch<ParameterSelector, ParameterPatch>,
) -> Answer<ParameterAnswer> {
    let entry = callee_entry(edit.program, &request.selector.entry)?;
    let ordinal = request.selector.ordinal as usize;
    let patch = &request.patch;
    let with_types = patch.data_type.is_some() || patch.storage.is_some();
    chosen(edit, entry, ordinal, with_types)?;
    let others = parameters(edit.program, entry);
    if let Some(name) = &patch.name {
        let name = name::checked(name, "/patch/name")?;
        refuse_taken(edit.program, entry, &others, Some(ordinal), name, "/patch/name")?;
        change(edit.program, entry, ordinal, |parameter| {
            parameter.name = name.into();
            parameter.source = SourceType::UserDefined;
        });
    }
    let mut data_type = others.get(ordinal).map(|parameter| parameter.data_type);
    if let Some(reference) = &patch.data_type {
        data_type = Some(value_type(edit.program, reference, "/patch/data_type")?);
    }
    let Some(data_type) = data_type.filter(|_| with_types) else {
        return answer(edit.program, entry, ordinal);
    };
    let storage = match &patch.storage {
        Some(storage) => {
            Some(storage.resolve(edit.program, edit.session, data_type, "/patch/storage")?)
        }
        None => None,
    };
    place_the_rest(edit, entry, storage.is_some())?;
    change(edit.program, entry, ordinal, |parameter| {
        parameter.data_type = data_type;
        parameter.storage = storage.unwrap_or_else(|| parameter.storage.clone());
        parameter.source = SourceType::UserDefined;
    });
    edit.program.functions.edit(entry, |function| said(&mut function.signature));
    let custom = edit.program.functions.at(entry).is_some_and(|f| f.signature.custom_storage);
    if let Some(parameter) = parameters(edit.program, entry).get(ordinal).filter(|_| custom) {
        fits(edit.program, &parameter.storage, data_type).map_err(|message| {
            BridgeError::new(ErrorCode::InvalidRequest, message).at("/patch/data_type")
        })?;
    }
    settle(edit, entry, "/patch/data_type")?;
    answer(edit.program, entry, ordinal)
}

fn delete(edit: &mut Edit<'_>, request: Delete<ParameterSelector>) -> Answer<Deleted> {
    let entry = callee_entry(edit.program, &request.selector.entry)?;
    let ordinal = request.selector.ordinal as usize;
    chosen(edit, entry, ordinal, true)?;
    edit.program.functions.edit(entry, |function| {
        function.signature.parameters.remove(ordinal);
        said(&mut function.signature);
    });
    settle(edit, entry, "/selector/ordinal")?;
    Ok(Deleted { deleted: true })
}

/// The function that says how the one at `text` is called.
pub(super) fn callee_entry(program: &Program, text: &str) -> Answer<Address> {
    let function = function_at(program, text, "/selector/entry")?;
    Ok(program.calling_function(function).entry)
}

pub(super) fn parameters(program: &Program, entry: Address) -> Vec<Parameter> {
    let function = program.functions.at(entry);
    function.map(|function| function.signature.parameters.clone()).unwrap_or_default()
}

/// Makes sure that a parameter can be changed. Those that only the decompiler knows are kept
/// from now on.
fn chosen(edit: &mut Edit<'_>, entry: Address, ordinal: usize, with_types: bool) -> Answer<()> {
    let known = parameters(edit.program, entry);
    let guessed = edit
        .program
        .functions
        .at(entry)
        .is_some_and(|function| function.signature.source == SourceType::Default);
    if guessed && (with_types || known.len() <= ordinal) {
        edit.session.keep_found_parameters(edit.program, entry, with_types);
    }
    let known = parameters(edit.program, entry);
    match known.get(ordinal) {
        Some(parameter) if parameter.automatic => {
            let message = format!(
                "parameter {ordinal} ({}) is set by the calling convention",
                parameter_name(&known, ordinal)
            );
            Err(BridgeError::new(ErrorCode::InvalidRequest, message).at("/selector/ordinal"))
        }
        Some(_) => Ok(()),
        None => {
            let message = match known.len() {
                0 => format!("the function has no parameter {ordinal}; it has none"),
                count => {
                    format!("the function has no parameter {ordinal}; they are 0 to {}", count - 1)
                }
            };
            Err(BridgeError::not_found("function_parameter", message).at("/selector/ordinal"))
        }
    }
}

fn change(
    program: &mut Program,
    entry: Address,
    ordinal: usize,
    edit: impl FnOnce(&mut Parameter),
) {
    program.functions.edit(entry, |function| {
        if let Some(parameter) = function.signature.parameters.get_mut(ordinal) {
            edit(parameter);
        }
    });
}

/// A prototype that a user touched is no guess any more.
pub(super) fn said(signature: &mut program::Signature) {
    if signature.source == SourceType::Default {
        signature.source = SourceType::UserDefined;
    }
}

/// Before one value is placed by hand, all others get the places that they have by convention.
pub(super) fn place_the_rest(edit: &mut Edit<'_>, entry: Address, by_hand: bool) -> Answer<()> {
    if !by_hand {
        return Ok(());
    }
    // What the convention cannot pass stays unplaced.
    let _ = edit.session.lay_out_signature(edit.program, entry);
    edit.program.functions.edit(entry, |function| function.signature.custom_storage = true);
    Ok(())
}

/// Gives every value its place by the convention, unless they are placed by hand.
pub(super) fn settle(edit: &mut Edit<'_>, entry: Address, pointer: &str) -> Answer<()> {
    edit.session.lay_out_signature(edit.program, entry).map_err(|reason| {
        let message = format!("the calling convention cannot pass this: {reason}");
        BridgeError::new(ErrorCode::InvalidRequest, message).at(pointer)
    })
}

/// Refuses a name that another variable of the function bears.
fn refuse_taken(
    program: &Program,
    entry: Address,
    parameters: &[Parameter],
    own: Option<usize>,
    name: &str,
    pointer: &str,
) -> Answer<()> {
    let named = parameters.iter().enumerate().filter(|(at, _)| Some(*at) != own);
    let mut taken = named.map(|(at, _)| parameter_name(parameters, at));
    let function = program.functions.at(entry).map(Arc::clone);
    let locals = function.iter().flat_map(|function| &function.locals);
    let mut kept = locals.filter(|local| local.source != SourceType::Default);
    if taken.any(|other| other == name) || kept.any(|local| &*local.name == name) {
        let message = format!("another variable of this function is called {name}");
        return Err(BridgeError::new(ErrorCode::InvalidRequest, message).at(pointer));
    }
    Ok(())
}

fn answer(program: &Program, entry: Address, ordinal: usize) -> Answer<ParameterAnswer> {
    let known = parameters(program, entry);
    let parameter = known.get(ordinal).ok_or_else(|| {
        let message = format!("there is no parameter {ordinal} any more");
        BridgeError::not_found("function_parameter", message)
    })?;
    Ok(ParameterAnswer {
        ordinal: ordinal as u64,
        name: parameter_name(&known, ordinal),
        data_type: DataTypeReference::of(program, parameter.data_type),
        storage: VariableStorage::of(program, &parameter.storage),
        id: Some(parameter.id.to_string()),
    })
}

/// One parameter.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Parameter")]
struct ParameterAnswer {
    /// Its place, from 0.
    ordinal: u64,
    /// Its name.
    name: String,
    /// Its type.
    data_type: DataTypeReference,
    /// Where it is passed.
    storage: VariableStorage,
    /// Its id, the same after renames.
    id: Option<String>,
}

impl Reply for ParameterAnswer {
    const IDENTITY: &'static [&'static str] = &["ordinal"];
}

/// A parameter to insert.
#[derive(Debug, Deserialize, JsonSchema)]
struct CreateRequest {
    /// The function.
    selector: EntrySelector,
    /// The parameter.
    resource: ParameterDefinition,
}

impl Request for CreateRequest {}

/// A parameter to insert.
#[derive(Debug, Deserialize, JsonSchema)]
struct ParameterDefinition {
    /// Its place, from 0; those behind move up.
    ordinal: u32,
    /// Its name.
    #[schemars(length(min = 1))]
    name: String,
    /// Its type.
    data_type: DataTypeReference,
    /// Where it is passed; by the calling convention when absent.
    storage: Option<VariableStorage>,
}

/// Chooses a parameter.
#[derive(Debug, Deserialize, JsonSchema)]
struct ParameterSelector {
    /// The function's entry point.
    #[schemars(length(min = 1))]
    entry: String,
    /// The parameter's place, from 0.
    ordinal: u32,
}

/// A change of a parameter.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
struct ParameterPatch {
    /// The new name.
    #[schemars(length(min = 1))]
    name: Option<String>,
    /// The new type.
    data_type: Option<DataTypeReference>,
    /// The new storage.
    storage: Option<VariableStorage>,
}
