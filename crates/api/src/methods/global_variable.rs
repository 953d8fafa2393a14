//! Named, typed data in memory.

use program::{Address, DataUnit, Program, SourceType, SymbolId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::BridgeError;
use crate::method::{Answer, Method};
use crate::methods::data_type::reference::DataTypeReference;
use crate::methods::name;
use crate::shapes::{AddressSelector, Create, Deleted, Get, Patch, Reply, Request, Scan, ScanPage};
use crate::view::View;
use crate::walk::{OpenEnd, Walk, position};

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::read(
            "global_variable.get",
            "Describe the variable that starts at one address.",
            get,
        ),
        Method::read("global_variable.list", "Walk global variables in address order.", list)
            .cost("Grows with the data items walked over, matching or not."),
        Method::pending_write::<Create<GlobalVariableDefinition>, GlobalVariable>(
            "global_variable.create",
            "Define a variable where no data is defined.",
        ),
        Method::pending_write::<Patch<AddressSelector, GlobalVariablePatch>, GlobalVariable>(
            "global_variable.patch",
            "Rename or retype a variable.",
        )
        .destructive()
        .idempotent(),
        Method::pending_write::<Create<GlobalVariableDefinition>, GlobalVariable>(
            "global_variable.upsert",
            "Define a variable, or rename and retype the one that is there.",
        )
        .destructive()
        .idempotent(),
        Method::pending_write::<DeleteRequest, Deleted>(
            "global_variable.delete",
            "Undefine a variable, and its name on request.",
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
