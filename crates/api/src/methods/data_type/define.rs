//! Defining data types: from parts, and from C text.

use engine::declarations::{self, Declaration};
use program::data_type::{DataTypes, FunctionType, SignatureParameter};
use program::{TypeId, TypeKind};

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
    let types = &mut edit.program.types;
    let declared = declarations::parse(&text.source, types, category)
        .map_err(|fault| c_error(&fault, ErrorCode::InvalidRequest).at(SOURCE))?;
    let mut made: Vec<TypeId> = Vec::new();
    for declaration in declared {
        let id = match declaration {
            Declaration::Type(id) => id,
            Declaration::Function(prototype) => {
                let definition = Definition {
                    category_path: Some(category.to_owned()),
                    name: prototype.name,
                    kind: TypeKind::Function(prototype.function),
                    length: None,
                };
                match existing {
                    Existing::Refuse => definition.add(types)?,
                    Existing::Replace => definition.put(types)?,
                }
            }
            Declaration::Variable { name, .. } => {
                let message = format!("{name} is a variable; declare types and functions only");
                return Err(unfit(message));
            }
        };
        if !made.contains(&id) {
            made.push(id);
        }
    }
    // A later declaration may have taken an earlier one over.
    made.retain(|id| types.get(*id).is_some());
    for id in &made {
        if existing == Existing::Refuse && before.get(*id).is_some_and(|old| is_complete(old)) {
            return Err(exists(&types.get(*id).map(|known| known.path()).unwrap_or_default()));
        }
        types.mark_used(*id);
    }
    edit.program.settle_types(&before, &made).map_err(|fault| unfit(fault.to_string()))?;
    let Some(first) = made.first() else {
        return Err(unfit(
            "the text declares nothing; give a struct, union, enum, typedef or function",
        ));
    };
    let mut answer = described(edit, *first)?;
    let rows = made.iter().filter_map(|id| edit.program.types.get(*id)).take(MAX_NESTED);
    let rows = rows.map(|known| DataTypeMade { path: known.path(), kind: kind_word(&known.kind) });
    answer.items = Some(rows.collect());
    answer.truncated = answer.truncated.or(cut([Some(made.len())]));
    Ok(answer)
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
