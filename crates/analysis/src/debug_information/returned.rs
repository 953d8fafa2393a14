//! Which results come back in memory that the caller provides, by the convention of the function.

use decompiler::{Language, Passing};
use program::data_type::Field;
use program::{DataType, DataTypes, Program, TypeId, TypeKind};
use std::collections::HashMap;

/// Types within types that are looked at.
const DEEPEST: u32 = 32;

/// What is known about results so far. What a pointer points to does not matter: without it, types
/// stay small.
#[derive(Default)]
pub(crate) struct Returned {
    passing: Option<Passing>,
    types: Option<DataTypes>,
    copies: HashMap<TypeId, TypeId>,
    known: HashMap<(Option<Box<str>>, TypeId), bool>,
}

impl Returned {
    /// Whether a result of that type comes back in memory whose place the caller passes. The type
    /// must be complete. Cost: once for each type and convention.
    pub(crate) fn by_pointer(
        &mut self,
        program: &Program,
        language: &Language,
        convention: Option<&str>,
        returned: TypeId,
    ) -> bool {
        let resolved = program.types.resolve(returned);
        let pointer = program.types.organization().pointer;
        let composite = program.types.get(resolved).is_some_and(|known| {
            matches!(known.kind, TypeKind::Struct { .. } | TypeKind::Union { .. })
        });
        let length = program.types.length(resolved).unwrap_or(0);
        if length == 0 || !composite && length <= pointer {
            return false;
        }
        let key = (convention.map(Into::into), resolved);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let answer = self.ask(program, language, convention, resolved).unwrap_or(false);
        self.known.insert(key, answer);
        answer
    }

    fn ask(
        &mut self,
        program: &Program,
        language: &Language,
        convention: Option<&str>,
        returned: TypeId,
    ) -> Option<bool> {
        let copy = self.copy(&program.types, returned, 0);
        if self.passing.is_none() {
            self.passing = Some(Passing::new(language, program).ok()?);
        }
        let passing = self.passing.as_mut()?;
        let passed = passing.assign(self.types.as_ref()?, convention, copy, &[], false).ok()?;
        Some(passed.return_pointer.is_some())
    }

    /// A copy of a type for the engine.
    fn copy(&mut self, all: &DataTypes, id: TypeId, depth: u32) -> TypeId {
        if let Some(known) = self.copies.get(&id) {
            return *known;
        }
        let kind = all.get(id).filter(|_| depth < DEEPEST).map(|known| known.kind.clone());
        let kind = match kind {
            Some(TypeKind::Pointer(_)) => TypeKind::Pointer(None),
            Some(TypeKind::Array { element, count }) => {
                TypeKind::Array { element: self.copy(all, element, depth + 1), count }
            }
            Some(TypeKind::Struct { fields, packed }) => {
                TypeKind::Struct { fields: self.copy_fields(all, fields, depth), packed }
            }
            Some(TypeKind::Union { fields }) => {
                TypeKind::Union { fields: self.copy_fields(all, fields, depth) }
            }
            Some(TypeKind::Typedef(base)) => return self.copy(all, base, depth + 1),
            Some(TypeKind::Enum { values }) => TypeKind::Enum { values },
            Some(TypeKind::Builtin(_)) => return self.types(all).builtin(all.name(id)),
            Some(TypeKind::Function(_)) | None => return self.types(all).builtin("undefined"),
        };
        let length = all.length(id);
        let alignment = all.get(id).map_or(1, |known| known.alignment);
        let name = format!("type_{}", id.0).into();
        let made = DataType {
            category: "/".into(),
            name,
            length,
            alignment,
            description: "".into(),
            kind,
            used: true,
        };
        let made = self.types(all).add(made);
        self.copies.insert(id, made);
        made
    }

    fn copy_fields(&mut self, all: &DataTypes, mut fields: Vec<Field>, depth: u32) -> Vec<Field> {
        for field in &mut fields {
            field.data_type = self.copy(all, field.data_type, depth + 1);
        }
        fields
    }

    fn types(&mut self, all: &DataTypes) -> &mut DataTypes {
        self.types.get_or_insert_with(|| DataTypes::new(*all.organization()))
    }
}
