//! Defining data types: from parts, and from C text.

use engine::declarations::{self, Declaration, Declared, Place, Prototype};
use program::data_type::{DataTypes, FunctionType, SignatureParameter};
use program::{TypeId, TypeKind};
use std::collections::HashSet;

use super::edit::{CText, DataTypeResource, FunctionDefinition, FunctionResource};
use super::reference::FunctionSignature;
use super::resolve::c_error;
use super::{DataType, DataTypeMade, described, kind_word};
use crate::error::{BridgeError, ErrorCode};
use crate::method::Answer;
use crate::methods::name;
use crate::shapes::{Create, MAX_NESTED, cut};
use crate::view::Edit;

const ROOT: &str = "/";
const SOURCE: &str = "/resource/source";
const DEFAULT_ENUM_SIZE: u32 = 4;

/// Defines a type whose path is free.
pub(super) fn create(edit: &mut Edit<'_>, request: Create<DataTypeResource>) -> Answer<DataType> {
    let definition = match request.resource {
        DataTypeResource::C(text) => return from_c(edit, &text, Existing::Refuse),
        DataTypeResource::Struct { category_path, name, size } => {
            let kind = TypeKind::Struct { fields: Vec::new(), packed: false };
            Definition { category_path, name, kind, length: Some(size.unwrap_or(0)) }
        }
        DataTypeResource::Union { category_path, name } => {
            let kind = TypeKind::Union { fields: Vec::new() };
            Definition { category_path, name, kind, length: Some(0) }
        }
        DataTypeResource::Enum { category_path, name, size } => {
            let kind = TypeKind::Enum { values: Vec::new() };
            let length = Some(size.unwrap_or(DEFAULT_ENUM_SIZE));
            Definition { category_path, name, kind, length }
        }
        DataTypeResource::Typedef { category_path, name, base_type } => {
            let base = base_type.resolve(&mut edit.program.types, "/resource/base_type")?;
            let length = edit.program.types.length(base);
            Definition { category_path, name, kind: TypeKind::Typedef(base), length }
        }
        DataTypeResource::Function(function) => Definition::of(edit, function)?,
    };
    let id = definition.add(&mut edit.program.types)?;
    described(edit, id)
}

/// Defines a function type or replaces the one that is there; from C text, any types.
pub(super) fn upsert(edit: &mut Edit<'_>, request: Create<FunctionResource>) -> Answer<DataType> {
    match request.resource {
        FunctionResource::C(text) => from_c(edit, &text, Existing::Replace),
        FunctionResource::Function(function) => {
            let id = Definition::of(edit, function)?.put(&mut edit.program.types)?;
            described(edit, id)
        }
    }
}

/// A type to store.
struct Definition {
    category_path: Option<String>,
    name: String,
    kind: TypeKind,
    length: Option<u32>,
}

impl Definition {
    fn of(edit: &mut Edit<'_>, function: FunctionDefinition) -> Answer<Definition> {
        let FunctionDefinition { category_path, name, signature } = function;
        let kind = TypeKind::Function(signature.resolve(edit)?);
        Ok(Definition { category_path, name, kind, length: None })
    }

    fn row(self) -> Answer<program::DataType> {
        let category = category(self.category_path.as_deref())?;
        name::checked_type(&self.name, "/resource/name")?;
        Ok(program::DataType {
            category: category.into(),
            name: self.name.into(),
            length: self.length,
            alignment: 1,
            description: "".into(),
            kind: self.kind,
            used: true,
        })
    }

    /// Its path in a category.
    fn row_path(&self, category: &str) -> String {
        let name = self.name.replace('/', "\\/");
        if category == ROOT { format!("/{name}") } else { format!("{category}/{name}") }
    }

    /// Stores it where nothing has its path.
    fn add(self, types: &mut DataTypes) -> Answer<TypeId> {
        let row = self.row()?;
        if types.at_path(&row.path()).is_some() {
            return Err(exists(&row.path()));
        }
        Ok(store(types, row))
    }

    /// Stores it, in place of a function type of its path.
    fn put(self, types: &mut DataTypes) -> Answer<TypeId> {
        let row = self.row()?;
        let Some(id) = types.at_path(&row.path()) else { return Ok(store(types, row)) };
        let known = types.get(id).map(|known| kind_word(&known.kind));
        if known != Some("function") {
            let message =
                format!("{} is a {}, not a function type", row.path(), known.unwrap_or("type"));
            return Err(BridgeError::new(ErrorCode::InvalidRequest, message).at("/resource/name"));
        }
        types.replace(id, row);
        use_parts(types, id);
        Ok(id)
    }
}

fn store(types: &mut DataTypes, row: program::DataType) -> TypeId {
    let id = types.add(row);
    use_parts(types, id);
    id
}

/// What a type is made of is in use as well.
fn use_parts(types: &mut DataTypes, id: TypeId) {
    let kind = types.get(id).map(|known| known.kind.clone());
    match kind {
        Some(TypeKind::Typedef(base)) => types.mark_used(base),
        Some(TypeKind::Function(function)) => {
            types.mark_used(function.return_type);
            function.parameters.iter().for_each(|p| types.mark_used(p.data_type));
        }
        _ => {}
    }
}

fn exists(path: &str) -> BridgeError {
    let message = format!("the path {path} is taken; choose another name or category");
    BridgeError::new(ErrorCode::DataTypeExists, message).at("/resource")
}

/// A category's path: it starts with a slash and, but for the root, does not end with one.
fn category(path: Option<&str>) -> Answer<&str> {
    let path = path.unwrap_or(ROOT);
    let well_formed = path == ROOT
        || path.strip_prefix('/').is_some_and(|rest| rest.split('/').all(|part| !part.is_empty()));
    if well_formed && path.len() <= 4096 && !path.chars().any(char::is_control) {
        return Ok(path);
    }
    let message = "a category's path starts with a slash and does not end with one";
    Err(BridgeError::new(ErrorCode::InvalidRequest, message).at("/resource/category_path"))
}

/// What becomes of types that C text defines again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Existing {
    Refuse,
    Replace,
}

/// Defines everything that a C text declares.
fn from_c(edit: &mut Edit<'_>, text: &CText, existing: Existing) -> Answer<DataType> {
    let category = category(text.category_path.as_deref())?;
    let before = edit.program.types.clone();
    let declared = declarations::parse_places(&text.source, &mut edit.program.types, category)
        .map_err(|fault| c_error(&fault, ErrorCode::InvalidRequest).at(SOURCE))?;
    let types = &mut edit.program.types;
    let mut made: Vec<(TypeId, usize)> = Vec::new();
    let mut seen: HashSet<TypeId> = HashSet::new();
    let mut variables: Vec<(String, usize)> = Vec::new();
    for Declared { what, offset } in declared {
        let id = match what {
            Declaration::Type(id) => id,
            Declaration::Function(prototype) => function(types, category, prototype, existing)
                .map_err(|error| at_place(error, &text.source, offset))?,
            Declaration::Variable { name, .. } => {
                variables.push((name, offset));
                continue;
            }
        };
        if seen.insert(id) {
            made.push((id, offset));
        }
    }
    // A later declaration may have taken an earlier one over.
    made.retain(|(id, _)| types.get(*id).is_some());
    for (id, offset) in &made {
        if existing == Existing::Refuse && before.get(*id).is_some_and(|old| is_complete(old)) {
            let path = types.get(*id).map(|known| known.path()).unwrap_or_default();
            return Err(at_place(exists(&path), &text.source, *offset));
        }
        types.mark_used(*id);
    }
    let ids: Vec<TypeId> = made.iter().map(|(id, _)| *id).collect();
    edit.program.settle_types(&before, &ids).map_err(|fault| unfit(fault.to_string()))?;
    let Some(first) = ids.first() else { return Err(nothing_made(&variables, &text.source)) };
    let mut answer = described(edit, *first)?;
    let rows = ids.iter().filter_map(|id| edit.program.types.get(*id)).take(MAX_NESTED);
    let rows = rows.map(|known| DataTypeMade { path: known.path(), kind: kind_word(&known.kind) });
    answer.items = Some(rows.collect());
    answer.item_count = Some(ids.len() as u64);
    answer.truncated = answer.truncated.or(cut([Some(ids.len()), Some(variables.len())]));
    let names = variables.into_iter().map(|(name, _)| name).take(MAX_NESTED);
    answer.variables = Some(names.collect()).filter(|names: &Vec<String>| !names.is_empty());
    Ok(answer)
}

/// Stores a function's type; beside a type of the same name, in a category of its own.
fn function(
    types: &mut DataTypes,
    category: &str,
    prototype: Prototype,
    existing: Existing,
) -> Answer<TypeId> {
    let mut definition = Definition {
        category_path: Some(category.to_owned()),
        name: prototype.name,
        kind: TypeKind::Function(prototype.function),
        length: None,
    };
    let taken = types.at_path(&definition.row_path(category));
    let taken = taken.and_then(|id| types.get(id)).map(|known| kind_word(&known.kind));
    if taken.is_some_and(|kind| kind != "function") {
        let inside = if category == ROOT { "" } else { category };
        definition.category_path = Some(format!("{inside}/functions"));
    }
    match existing {
        Existing::Refuse => definition.add(types),
        Existing::Replace => definition.put(types),
    }
}

/// Why a text defines nothing.
fn nothing_made(variables: &[(String, usize)], source: &str) -> BridgeError {
    match variables.first() {
        Some((name, offset)) => {
            let message = format!("{name} is a variable; declare types and functions");
            at_place(unfit(message), source, *offset)
        }
        None => unfit("the text declares nothing; give a struct, union, enum, typedef or function"),
    }
}

/// An error with the place in the text that caused it.
fn at_place(error: BridgeError, source: &str, offset: usize) -> BridgeError {
    let Place { line, column } = Place::of(source, offset);
    let message = format!("line {line}, column {column}: {}", error.message);
    BridgeError { message, ..error }.with("line", line).with("column", column)
}

fn unfit(message: impl Into<String>) -> BridgeError {
    BridgeError::new(ErrorCode::InvalidRequest, message).at(SOURCE)
}

/// False for a type of which only the name is known so far.
fn is_complete(known: &program::DataType) -> bool {
    let composite = matches!(known.kind, TypeKind::Struct { .. } | TypeKind::Union { .. });
    !(composite && known.length.is_none())
}

impl FunctionSignature {
    /// The function type meant by a resource's signature.
    fn resolve(&self, edit: &mut Edit<'_>) -> Answer<FunctionType> {
        let at = "/resource/signature";
        let convention = self.convention(edit)?;
        let types = &mut edit.program.types;
        let return_type = self.return_type.resolve(types, &format!("{at}/return_type"))?;
        let mut parameters = Vec::with_capacity(self.parameters.len());
        for (index, parameter) in self.parameters.iter().enumerate() {
            let pointer = format!("{at}/parameters/{index}/data_type");
            let data_type = parameter.data_type.resolve(types, &pointer)?;
            if types.length(data_type) == Some(0) {
                let message = "a parameter must have a length";
                return Err(BridgeError::new(ErrorCode::InvalidDataType, message).at(&pointer));
            }
            let name = parameter.name.as_deref().unwrap_or_default().trim();
            parameters.push(SignatureParameter { name: name.into(), data_type });
        }
        Ok(FunctionType {
            return_type,
            parameters,
            convention,
            varargs: self.has_var_args,
            no_return: self.has_no_return,
        })
    }

    fn convention(&self, edit: &Edit<'_>) -> Answer<Option<std::sync::Arc<str>>> {
        let given = self.calling_convention.trim();
        let at = "/resource/signature/calling_convention";
        if given.is_empty() || given.eq_ignore_ascii_case("unknown") {
            let message = "say default, or name a calling convention";
            return Err(BridgeError::new(ErrorCode::InvalidRequest, message).at(at));
        }
        let known = edit.session.language().calling_conventions();
        if given == "default" {
            return Ok(None);
        }
        if known.iter().any(|name| name == given) {
            return Ok(Some(given.into()));
        }
        let message =
            format!("the calling convention must be default or one of {}", known.join(", "));
        Err(BridgeError::new(ErrorCode::ValidationFailed, message).at(at))
    }
}
