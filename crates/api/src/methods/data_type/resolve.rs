//! From what a client says about a type to the type itself, made when it is built up.

use engine::declarations;
use program::data_type::DataTypes;
use program::{TypeId, TypeKind};

use super::reference::DataTypeReference;
use crate::error::{BridgeError, ErrorCode};
use crate::method::Answer;

/// Most candidates named in an error.
const MAX_CANDIDATES: usize = 8;

impl DataTypeReference {
    /// The type meant; `pointer` says where the reference stands. A function type stands only
    /// behind a pointer.
    pub(crate) fn resolve(&self, types: &mut DataTypes, pointer: &str) -> Answer<TypeId> {
        let id = self.any(types, pointer)?;
        if matches!(types.get(types.resolve(id)).map(|t| &t.kind), Some(TypeKind::Function(_))) {
            let message = "a function type can only be pointed to; give a pointer to it";
            return Err(refused(message).at(pointer));
        }
        Ok(id)
    }

    fn any(&self, types: &mut DataTypes, pointer: &str) -> Answer<TypeId> {
        match self {
            DataTypeReference::Named { name } => {
                named(types, name).map_err(|e| e.at(&below(pointer, "name")))
            }
            DataTypeReference::Pointer { target } => {
                let target = target.any(types, &below(pointer, "target"))?;
                Ok(types.pointer_to(target))
            }
            DataTypeReference::UntypedPointer {} => Ok(types.builtin("pointer")),
            DataTypeReference::Array { element, count } => {
                let at = below(pointer, "element");
                let element = element.resolve(types, &at)?;
                let size = types.length(element).unwrap_or(0);
                if size == 0 {
                    return Err(refused("an array's elements must have a length").at(&at));
                }
                if u64::from(size) * u64::from(*count) > i32::MAX as u64 {
                    let message = format!("{count} elements of {size} bytes are too many");
                    return Err(refused(message).at(&below(pointer, "count")));
                }
                Ok(types.array_of(element, *count))
            }
            DataTypeReference::C { declaration } => declarations::parse_type(declaration, types)
                .map_err(|fault| {
                    c_error(&fault, ErrorCode::InvalidDataType).at(&below(pointer, "declaration"))
                }),
        }
    }
}

/// Why a C text was refused, with the place in it.
pub(crate) fn c_error(fault: &declarations::CError, code: ErrorCode) -> BridgeError {
    BridgeError::new(code, fault.to_string()).with("line", fault.line).with("column", fault.column)
}

fn below(pointer: &str, member: &str) -> String {
    format!("{pointer}/{member}")
}

fn refused(message: impl Into<String>) -> BridgeError {
    BridgeError::new(ErrorCode::InvalidDataType, message)
}

/// The type of a path, or the only one of a name: those in use first, then the built-in ones.
fn named(types: &DataTypes, text: &str) -> Answer<TypeId> {
    let text = text.trim();
    let found = if text.starts_with('/') { types.at_path(text) } else { only(types, text)? };
    let shown: String = text.chars().take(128).collect();
    let id = found.ok_or_else(|| {
        refused(format!("there is no data type {shown}; data_type.list searches those in use"))
    })?;
    match types.get(id).map(|known| &known.kind) {
        Some(TypeKind::Pointer(_)) => {
            Err(refused(format!("{shown} is a pointer; say it as kind pointer, or as C text")))
        }
        Some(TypeKind::Array { .. }) => {
            Err(refused(format!("{shown} is an array; say it as kind array, or as C text")))
        }
        _ => Ok(id),
    }
}

fn only(types: &DataTypes, name: &str) -> Answer<Option<TypeId>> {
    let all: Vec<TypeId> = types.named(name).collect();
    let in_use = |id: &TypeId| types.get(*id).is_some_and(|known| known.used);
    let mut found: Vec<TypeId> = all.iter().copied().filter(in_use).collect();
    if found.is_empty() {
        found = all;
    }
    if found.len() > 1 {
        let paths = found.iter().filter_map(|id| Some(types.get(*id)?.path())).take(MAX_CANDIDATES);
        let paths: Vec<String> = paths.collect();
        let message =
            format!("several data types are called {name}: {}; give a path", paths.join(", "));
        return Err(refused(message).with("candidates", paths));
    }
    Ok(found.first().copied())
}
