//! Ghidra's built-in data types by the names that they have in a program.

use program::data_type::Builtin;
use program::{DataType, DataTypes, TypeId, TypeKind};

/// The built-in of a name, or one that only has the name: types whose form a class of Ghidra
/// decides have a length at each place where they are used.
pub(crate) fn find(types: &mut DataTypes, category: &str, name: &str) -> TypeId {
    let known = types
        .named(name)
        .find(|id| types.get(*id).is_some_and(|t| matches!(t.kind, TypeKind::Builtin(_))));
    if let Some(known) = known {
        return known;
    }
    types.add(DataType {
        category: category.into(),
        name: name.into(),
        length: None,
        alignment: 1,
        description: "".into(),
        kind: TypeKind::Builtin(Builtin::Alignment),
        used: true,
    })
}
