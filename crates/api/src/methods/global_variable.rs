//! Named, typed data in memory.

use program::{Address, DataUnit, DefineError, Program, SourceType, SymbolId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{BridgeError, ErrorCode};
use crate::method::{Answer, Method};
use crate::methods::data_type::reference::DataTypeReference;
use crate::methods::name;
use crate::shapes::{AddressSelector, Create, Deleted, Get, Patch, Reply, Request, Scan, ScanPage};
use crate::view::{Edit, View};
use crate::walk::{OpenEnd, Walk, position};

/// What a write answers of the variable that it made or changed.
const ECHO: &[&str] = &["name", "data_type", "length"];

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::read(
            "global_variable.get",
            "Describe the variable that starts at one address.",
            get,
        ),
        Method::read("global_variable.list", "Walk global variables in address order.", list)
            .brief(&["name", "representation"])
            .cost("Grows with the data items walked over, matching or not."),
        Method::write(
            "global_variable.create",
            "Define a variable where no data is defined.",
            create,
        )
        .brief(ECHO),
        Method::write("global_variable.patch", "Rename or retype a variable.", patch)
            .brief(ECHO)
            .destructive()
            .idempotent(),
        Method::write(
            "global_variable.upsert",
            "Define a variable, or rename and retype the one that is there.",
            upsert,
        )
        .brief(ECHO)
        .destructive()
        .idempotent(),
        Method::write(
            "global_variable.delete",
            "Undefine a variable, and its name on request.",
            delete,
        )
        .destructive()
        .idempotent(),
    ]
}

fn get(view: &View<'_>, request: Get<AddressSelector>) -> Answer<GlobalVariable> {
    let address = view.address(&request.selector.address, "/selector/address")?;
    let unit = view.program.listing.data.get(&address);
    let unit = unit.ok_or_else(|| no_variable(&view.program, address))?;
    Ok(GlobalVariable::of(&view.program, address, unit))
}

fn list(view: &View<'_>, request: Scan<GlobalVariableFilter>) -> Answer<ScanPage<GlobalVariable>> {
    let filter = request.filter.unwrap_or_default();
    let walk = Walk::new(view, request.page.as_ref(), request.scan.as_ref(), OpenEnd::OfSpace)?;
    let part = name::Part::new(filter.name.as_deref(), filter.case_sensitive.unwrap_or(false));
    let program = &view.program;
    let units = program.listing.data.range(walk.addresses());
    let candidates = units.map(|(address, unit)| (position(*address, 0), (*address, unit)));
    walk.run(view, candidates, |(address, unit)| {
        let named = part.is_empty() || program.label_at(address).is_some_and(|n| part.is_in(&n));
        let inside = filter.namespace.as_deref().is_none_or(|wanted| {
            namespace(program, address).is_some_and(|namespace| namespace == wanted)
        });
        Ok((named && inside).then(|| GlobalVariable::of(program, address, unit)))
    })
}

fn create(
    edit: &mut Edit<'_>,
    request: Create<GlobalVariableDefinition>,
) -> Answer<GlobalVariable> {
    let resource = &request.resource;
    let address = edit.address(&resource.address, "/resource/address")?;
    if edit.program.listing.data.contains_key(&address) {
        let message = format!(
            "data is defined at {} already; patch or upsert changes it",
            edit.print(address)
        );
        return Err(
            BridgeError::new(ErrorCode::GlobalVariableExists, message).at("/resource/address")
        );
    }
    define(edit, resource, address, false, ErrorCode::GlobalVariableExists)
}

fn upsert(
    edit: &mut Edit<'_>,
    request: Create<GlobalVariableDefinition>,
) -> Answer<GlobalVariable> {
    let resource = &request.resource;
    let address = edit.address(&resource.address, "/resource/address")?;
    define(edit, resource, address, true, ErrorCode::GlobalVariableConflict)
}

fn define(
    edit: &mut Edit<'_>,
    resource: &GlobalVariableDefinition,
    address: Address,
    replace: bool,
    conflict: ErrorCode,
) -> Answer<GlobalVariable> {
    let name = name::of_place(edit.program, &resource.name, address, "/resource/name")?;
    let id = resource.data_type.resolve(&mut edit.program.types, "/resource/data_type")?;
    edit.program.define_over(address, id, replace).map_err(|fault| {
        define_error(edit, address, fault, conflict, "/resource/address", "/resource/data_type")
    })?;
    edit.program.name_place(address, name);
    described(edit, address)
}

fn patch(
    edit: &mut Edit<'_>,
    request: Patch<AddressSelector, GlobalVariablePatch>,
) -> Answer<GlobalVariable> {
    let address = edit.address(&request.selector.address, "/selector/address")?;
    if !edit.program.listing.data.contains_key(&address) {
        return Err(no_variable(edit.program, address));
    }
    if let Some(data_type) = &request.patch.data_type {
        let id = data_type.resolve(&mut edit.program.types, "/patch/data_type")?;
        let conflict = ErrorCode::GlobalVariableConflict;
        edit.program.define_over(address, id, true).map_err(|fault| {
            define_error(edit, address, fault, conflict, "/patch/data_type", "/patch/data_type")
        })?;
    }
    if let Some(name) = &request.patch.name {
        let name = name::of_place(edit.program, name, address, "/patch/name")?;
        edit.program.name_place(address, name);
    }
    described(edit, address)
}

fn delete(edit: &mut Edit<'_>, request: DeleteRequest) -> Answer<Deleted> {
    let address = edit.address(&request.selector.address, "/selector/address")?;
    if !edit.program.clear_data(address) {
        return Err(no_variable(edit.program, address));
    }
    if request.delete_symbol.unwrap_or(false) {
        edit.program.remove_label(address);
    }
    Ok(Deleted { deleted: true })
}

fn described(edit: &Edit<'_>, address: Address) -> Answer<GlobalVariable> {
    let unit = edit.program.listing.data.get(&address);
    let unit = unit.ok_or_else(|| no_variable(edit.program, address))?;
    Ok(GlobalVariable::of(edit.program, address, unit))
}

/// Why data could not be defined, as the error to answer.
fn define_error(
    edit: &Edit<'_>,
    address: Address,
    fault: DefineError,
    conflict: ErrorCode,
    place: &str,
    data_type: &str,
) -> BridgeError {
    let at = edit.print(address);
    match fault {
        DefineError::NoLength => {
            let message = format!("the type has no length at {at}; give one that has");
            BridgeError::new(ErrorCode::InvalidDataType, message).at(data_type)
        }
        DefineError::NoMemory => {
            let message = format!("the variable would reach outside of its memory block at {at}");
            BridgeError::new(conflict, message).at(place)
        }
        DefineError::InTheWay(other) => {
            let other = edit.print(other);
            let message = format!("what starts at {other} is in the way; it would be overwritten");
            BridgeError::new(conflict, message).at(place).with("conflict", other)
        }
    }
}

/// The name of the namespace of what is shown at an address.
fn namespace(program: &Program, address: Address) -> Option<String> {
    match program.symbols.primary_at(address) {
        Some((_, symbol)) => Some(program.namespace_name(symbol.parent)),
        None => program.label_at(address).map(|_| program.namespace_name(SymbolId::GLOBAL)),
    }
}

fn no_variable(program: &Program, address: Address) -> BridgeError {
    let place = program.spaces.print(address);
    let message = match program.listing.data_containing(address) {
        Some((start, _)) => format!(
            "no variable starts at {place}; it lies inside the one at {}",
            program.spaces.print(start)
        ),
        None => format!("no data is defined at {place}"),
    };
    BridgeError::not_found("global_variable", message).at("/selector/address")
}

/// One global variable.
#[derive(Debug, Serialize, JsonSchema)]
struct GlobalVariable {
    /// Where it starts.
    address: String,
    /// Its name; absent when it has none.
    name: Option<String>,
    /// The namespace of its name.
    namespace: Option<String>,
    /// Its type.
    data_type: DataTypeReference,
    /// Its length in bytes.
    length: u64,
    /// Its value as text; the content of a string.
    value: String,
    /// Its value as a listing shows it.
    representation: String,
    /// Who named it.
    source_type: Option<&'static str>,
    /// True when `value` or `representation` is only the text's beginning;
    /// `memory.read` gives the rest.
    truncated: Option<bool>,
}

impl GlobalVariable {
    fn of(program: &Program, address: Address, unit: &DataUnit) -> GlobalVariable {
        let name = program.label_at(address);
        let source = program.symbols.primary_at(address).map(|(_, symbol)| symbol.source);
        GlobalVariable {
            address: program.spaces.print(address).to_string(),
            namespace: namespace(program, address),
            data_type: DataTypeReference::of(program, unit.data_type),
            length: u64::from(unit.length),
            value: program.data_value(address, unit.data_type, unit.length),
            representation: program.data_representation(address, unit.data_type, unit.length),
            source_type: name.as_ref().map(|_| source.unwrap_or(SourceType::Default).name()),
            truncated: program.is_text_cut(address, unit.data_type, unit.length).then_some(true),
            name,
        }
    }
}

impl Reply for GlobalVariable {
    const IDENTITY: &'static [&'static str] = &["address"];
}

/// Which variables to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct GlobalVariableFilter {
    /// Part of the name.
    name: Option<String>,
    /// The exact name of the namespace.
    namespace: Option<String>,
    /// True to match `name` in its case only; false when absent.
    case_sensitive: Option<bool>,
}

/// A variable to define.
#[derive(Debug, Deserialize, JsonSchema)]
struct GlobalVariableDefinition {
    /// Where it starts.
    #[schemars(length(min = 1))]
    address: String,
    /// Its name.
    #[schemars(length(min = 1))]
    name: String,
    /// Its type.
    data_type: DataTypeReference,
}

/// A change of a variable.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
struct GlobalVariablePatch {
    /// The new name.
    #[schemars(length(min = 1))]
    name: Option<String>,
    /// The new type.
    data_type: Option<DataTypeReference>,
}

/// The removal of a variable.
#[derive(Debug, Deserialize, JsonSchema)]
struct DeleteRequest {
    /// Which variable.
    selector: AddressSelector,
    /// True to remove its name as well; false when absent.
    delete_symbol: Option<bool>,
}

impl Request for DeleteRequest {}
