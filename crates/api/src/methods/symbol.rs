//! Names of places.

use program::{Address, Program, SourceType, SpaceId, SymbolId, SymbolKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{BridgeError, ErrorCode};
use crate::method::{Answer, Method};
use crate::methods::name;
use crate::shapes::{Get, Patch, Reply, Scan, ScanPage};
use crate::view::{Edit, View};
use crate::walk::{OpenEnd, Walk, position};

/// The namespace of imports whose library is not known.
const EXTERNAL: &str = "<EXTERNAL>";

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::read("symbol.get", "Describe one symbol by its id.", get),
        Method::read(
            "symbol.list",
            "Walk stored symbols in address order; those of other files (imports) come after the program's own.",
            list,
        )
        .brief(&["name", "type"])
        .cost("Grows with the symbols walked over, matching or not; `address` and `external` make it small."),
        Method::write("symbol.patch", "Rename one symbol.", patch).destructive().idempotent(),
    ]
}

fn get(view: &View<'_>, request: Get<SymbolSelector>) -> Answer<Symbol> {
    let id = request.selector.id()?;
    Symbol::of(&view.program, id).ok_or_else(|| no_symbol(id))
}

fn list(view: &View<'_>, request: Scan<SymbolFilter>) -> Answer<ScanPage<SymbolRow>> {
    let filter = request.filter.unwrap_or_default();
    let mut walk = Walk::new(view, request.page.as_ref(), request.scan.as_ref(), OpenEnd::Never)?;
    let only = filter.address.as_deref().map(|text| view.address(text, "/filter/address"));
    let only = only.transpose()?;
    if let Some(only) = only {
        walk.narrow(request.scan.as_ref(), only, only);
    } else if filter.external == Some(true) {
        let (first, last) = view.external_space();
        walk.narrow(request.scan.as_ref(), first, last);
    }
    let matcher = filter.matcher();
    let ((space, offset, id), end) = walk.positions();
    let from = (Address::new(SpaceId(space), offset), SymbolId(id));
    let symbols = view.program.symbols.in_order(from, end);
    let places = symbols.filter(|(_, symbol)| symbol.names_a_place());
    let candidates = places.map(|(id, symbol)| (position(symbol.address, id.0), (id, symbol)));
    walk.run(view, candidates, |(id, symbol)| {
        let fits = only.is_none_or(|only| symbol.address == only)
            && matcher.fits(&view.program, id, symbol);
        Ok(if fits { Symbol::of(&view.program, id).map(SymbolRow) } else { None })
    })
}

fn patch(edit: &mut Edit<'_>, request: Patch<SymbolSelector, SymbolPatch>) -> Answer<Symbol> {
    let id = request.selector.id()?;
    let symbol = edit.program.symbols.get(id).ok_or_else(|| no_symbol(id))?;
    let (kind, address) = (symbol.kind, symbol.address);
    if !matches!(kind, SymbolKind::Label | SymbolKind::Function) {
        let message = format!("a {} cannot be renamed; labels and functions can", kind.name());
        return Err(BridgeError::new(ErrorCode::InvalidRequest, message).at("/selector/id"));
    }
    let new = name::of_place(edit.program, &request.patch.name, address, "/patch/name")?;
    if edit.program.symbol_name(id) != new {
        edit.program.symbols.edit(id, |symbol| {
            symbol.name = new.into();
            symbol.source = SourceType::UserDefined;
        });
    }
    Symbol::of(edit.program, id).ok_or_else(|| no_symbol(id))
}

fn no_symbol(id: SymbolId) -> BridgeError {
    let message = format!("no symbol has the id {}; symbol.list shows ids", id.0);
    BridgeError::not_found("symbol", message).at("/selector/id")
}

/// The name of the namespace that a symbol is shown in; what no library is known for is just
/// external.
fn namespace(program: &Program, symbol: &program::Symbol) -> String {
    if symbol.parent == SymbolId::GLOBAL && symbol.address.space == SpaceId::EXTERNAL {
        return EXTERNAL.to_owned();
    }
    program.namespace_name(symbol.parent)
}

/// The symbol shown at an address, stored or synthetic, and what it names.
pub(super) fn id_at(program: &Program, address: Address) -> Option<(SymbolId, &'static str)> {
    if let Some((id, symbol)) = program.symbols.primary_at(address) {
        return Some((id, symbol.kind.name()));
    }
    program.label_at(address)?;
    Some((synthetic_id(address)?, SymbolKind::Label.name()))
}

/// The id of the synthetic symbol at an address of the default space.
fn synthetic_id(address: Address) -> Option<SymbolId> {
    let fits = address.space == SpaceId::RAM && address.offset < SymbolId::FIRST_SYNTHETIC;
    fits.then(|| SymbolId(SymbolId::FIRST_SYNTHETIC + address.offset))
}

/// Chooses a symbol.
#[derive(Debug, Deserialize, JsonSchema)]
struct SymbolSelector {
    /// Its id, as decimal text.
    #[schemars(length(min = 1))]
    id: String,
}

impl SymbolSelector {
    fn id(&self) -> Answer<SymbolId> {
        let id = self.id.parse::<i64>().ok().and_then(|id| u64::try_from(id).ok());
        id.map(SymbolId).ok_or_else(|| {
            let message = "the id must be a decimal number, as symbol.list shows it";
            BridgeError::new(ErrorCode::InvalidId, message).at("/selector/id")
        })
    }
}

/// One symbol.
#[derive(Debug, Serialize, JsonSchema)]
struct Symbol {
    /// Its id, the same after renames.
    id: String,
    /// Its name.
    name: String,
    /// Where it lies; namespaces lie nowhere.
    address: Option<String>,
    /// What it names: `Label`, `Function` and so on.
    r#type: &'static str,
    /// The name of the namespace it is in.
    namespace: String,
    /// Who named it.
    source_type: &'static str,
    /// True for the one shown at its address.
    primary: bool,
    /// True where other files may enter: exports and the program's start.
    entry_point: bool,
}

impl Symbol {
    fn of(program: &Program, id: SymbolId) -> Option<Symbol> {
        if id.0 >= SymbolId::FIRST_SYNTHETIC {
            return Symbol::synthetic(program, id);
        }
        let symbol = program.symbols.get(id)?;
        let has_place = symbol.address != Address::MAX;
        Some(Symbol {
            id: id.0.to_string(),
            name: program.symbol_name(id),
            address: has_place.then(|| program.spaces.print(symbol.address).to_string()),
            r#type: symbol.kind.name(),
            namespace: namespace(program, symbol),
            source_type: symbol.source.name(),
            primary: symbol.primary,
            entry_point: symbol.external_entry,
        })
    }

    fn synthetic(program: &Program, id: SymbolId) -> Option<Symbol> {
        let address = Address::ram(id.0 - SymbolId::FIRST_SYNTHETIC);
        if program.symbols.primary_at(address).is_some() {
            return None;
        }
        Some(Symbol {
            id: id.0.to_string(),
            name: program.label_at(address)?,
            address: Some(program.spaces.print(address).to_string()),
            r#type: SymbolKind::Label.name(),
            namespace: program.namespace_name(SymbolId::GLOBAL),
            source_type: SourceType::Default.name(),
            primary: true,
            entry_point: false,
        })
    }
}

impl Reply for Symbol {
    const IDENTITY: &'static [&'static str] = &["id"];
}

/// One symbol in a list, which is in address order.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(transparent)]
struct SymbolRow(Symbol);

impl Reply for SymbolRow {
    const IDENTITY: &'static [&'static str] = &["address", "id"];
}

/// Which symbols to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct SymbolFilter {
    /// Part of the name.
    name: Option<String>,
    /// Part of the name with its namespaces before it (`ns::name`).
    text: Option<String>,
    /// Only symbols at this address.
    address: Option<String>,
    /// What they name, in any case.
    r#type: Option<String>,
    /// The exact name of the namespace; that of an import is its library, or `<EXTERNAL>`.
    namespace: Option<String>,
    /// Who named them, in any case.
    source_type: Option<String>,
    /// True for imports only (places of other files), false for the program's own places only.
    external: Option<bool>,
    /// True for exports and the program's start only, false for everything else.
    entry_point: Option<bool>,
    /// True to match `name` and `text` in their case only; false when absent.
    case_sensitive: Option<bool>,
}

impl SymbolFilter {
    fn matcher(&self) -> SymbolMatcher<'_> {
        let part = |text| name::Part::new(text, self.case_sensitive.unwrap_or(false));
        SymbolMatcher {
            name: part(self.name.as_deref()),
            text: part(self.text.as_deref()),
            filter: self,
        }
    }
}

struct SymbolMatcher<'a> {
    name: name::Part<'a>,
    text: name::Part<'a>,
    filter: &'a SymbolFilter,
}

impl SymbolMatcher<'_> {
    fn fits(&self, program: &Program, id: SymbolId, symbol: &program::Symbol) -> bool {
        let same = |wanted: &Option<String>, name: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(name))
        };
        let filter = self.filter;
        let is_external = symbol.address.space == SpaceId::EXTERNAL;
        let wanted_namespace = filter.namespace.as_deref();
        same(&filter.r#type, symbol.kind.name())
            && same(&filter.source_type, symbol.source.name())
            && filter.external.is_none_or(|wanted| wanted == is_external)
            && filter.entry_point.is_none_or(|wanted| wanted == symbol.external_entry)
            && wanted_namespace.is_none_or(|wanted| wanted == namespace(program, symbol))
            && (self.name.is_empty() || self.name.is_in(&program.symbol_name(id)))
            && (self.text.is_empty() || self.text.is_in(&path_text(program, id, symbol)))
    }
}

/// A symbol's name with its namespaces before it.
fn path_text(program: &Program, id: SymbolId, symbol: &program::Symbol) -> String {
    let mut path = program.symbols.path(symbol.parent).join("::");
    if !path.is_empty() {
        path.push_str("::");
    }
    path + &program.symbol_name(id)
}

/// A change of a symbol.
#[derive(Debug, Deserialize, JsonSchema)]
struct SymbolPatch {
    /// The new name.
    #[schemars(length(min = 1))]
    name: String,
}
