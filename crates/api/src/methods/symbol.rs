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

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::read("symbol.get", "Describe one symbol by its id.", get),
        Method::read("symbol.list", "Walk stored symbols in address order.", list)
            .brief(&["name", "type"])
            .cost("Grows with the symbols walked over, matching or not."),
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
        walk.narrow(request.scan.as_ref(), only);
    }
    let matcher = filter.matcher();
    let ((space, offset, id), end) = walk.positions();
    let from = (Address::new(SpaceId(space), offset), SymbolId(id));
    let symbols = view.program.symbols.in_order(from, end);
    let places = symbols.filter(|(_, symbol)| symbol.is_in_memory());
    let candidates = places.map(|(id, symbol)| (position(symbol.address, id.0), (id, symbol)));
    walk.run(view, candidates, |(id, symbol)| {
        let fits = only.is_none_or(|only| symbol.address == only)
            && matcher.fits(&view.program, id, symbol);
        Ok(if fits { Symbol::of(&view.program, id).map(SymbolRow) } else { None })
    })
}

fn patch(edit: &mut Edit<'_>, request: Patch<SymbolSelector, SymbolPatch>) -> Answer<Symbol> {
    let id = request.selector.id()?;
    let kind = edit.program.symbols.get(id).ok_or_else(|| no_symbol(id))?.kind;
    if !matches!(kind, SymbolKind::Label | SymbolKind::Function) {
        let message = format!("a {} cannot be renamed; labels and functions can", kind.name());
        return Err(BridgeError::new(ErrorCode::InvalidRequest, message).at("/selector/id"));
    }
    let new = name::checked(&request.patch.name, "/patch/name")?;
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
            namespace: program.namespace_name(symbol.parent),
            source_type: symbol.source.name(),
            primary: symbol.primary,
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
    /// Only symbols at this address.
    address: Option<String>,
    /// What they name, in any case.
    r#type: Option<String>,
    /// The exact name of the namespace.
    namespace: Option<String>,
    /// Who named them, in any case.
    source_type: Option<String>,
    /// True to match `name` in its case only; false when absent.
    case_sensitive: Option<bool>,
}

impl SymbolFilter {
    fn matcher(&self) -> SymbolMatcher<'_> {
        SymbolMatcher {
            name: name::Part::new(self.name.as_deref(), self.case_sensitive.unwrap_or(false)),
            filter: self,
        }
    }
}

struct SymbolMatcher<'a> {
    name: name::Part<'a>,
    filter: &'a SymbolFilter,
}

impl SymbolMatcher<'_> {
    fn fits(&self, program: &Program, id: SymbolId, symbol: &program::Symbol) -> bool {
        let same = |wanted: &Option<String>, name: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(name))
        };
        let namespace = self.filter.namespace.as_deref();
        same(&self.filter.r#type, symbol.kind.name())
            && same(&self.filter.source_type, symbol.source.name())
            && namespace.is_none_or(|wanted| wanted == program.namespace_name(symbol.parent))
            && (self.name.is_empty() || self.name.is_in(&program.symbol_name(id)))
    }
}

/// A change of a symbol.
#[derive(Debug, Deserialize, JsonSchema)]
struct SymbolPatch {
    /// The new name.
    #[schemars(length(min = 1))]
    name: String,
}
