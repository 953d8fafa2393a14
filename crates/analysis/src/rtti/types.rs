//! The data types of the descriptions, under the names that Ghidra gives them.

use super::image::Image;
use program::data_type::Field;
use program::{DataType, DataTypes, TypeId, TypeKind};

/// A member: its type, length, name and note.
type Member = (TypeId, u32, &'static str, &'static str);

/// The types of one program.
pub(crate) struct Types {
    pub(super) descriptor: TypeId,
    pub(super) base: TypeId,
    pub(super) hierarchy: TypeId,
    pub(super) locator: TypeId,
    /// An entry of the arrays of bases.
    pub(super) base_reference: TypeId,
    /// A pointer to anything.
    pub(super) pointer: TypeId,
}

impl Types {
    pub(super) fn define(types: &mut DataTypes, image: &Image) -> Types {
        let relative = image.is_relative();
        let offset = types.builtin("ImageBaseOffset32");
        let dword = types.builtin("dword");
        let descriptor = descriptor(types, image.pointer);
        let where_ = pmd(types, relative);
        let to_descriptor = if relative { offset } else { types.pointer_to(descriptor) };
        // Bases and hierarchies refer to each other.
        let base = alias(types, "RTTIBaseClassDescriptor", 28);
        let hierarchy = alias(types, "RTTIClassHierarchyDescriptor", 16);
        let base_reference = reference(types, base, relative);
        let array = reference(types, base_reference, relative);
        let to_hierarchy = if relative { offset } else { types.pointer_to(hierarchy) };
        let class = "ref to ClassHierarchyDescriptor (RTTI 3) for class";
        let contained = "count of extended classes in BaseClassArray (RTTI 2)";
        let members: [Member; 5] = [
            (to_descriptor, 4, "pTypeDescriptor", "ref to TypeDescriptor (RTTI 0) for class"),
            (dword, 4, "numContainedBases", contained),
            (where_, 12, "where", "member displacement structure"),
            (dword, 4, "attributes", "bit flags"),
            (to_hierarchy, 4, "pClassHierarchyDescriptor", class),
        ];
        fill(types, base, &members);
        let members: [Member; 4] = [
            (dword, 4, "signature", ""),
            (dword, 4, "attributes", "bit flags"),
            (dword, 4, "numBaseClasses", "number of base classes (i.e. rtti1Count)"),
            (array, 4, "pBaseClassArray", "ref to BaseClassArray (RTTI 2)"),
        ];
        fill(types, hierarchy, &members);
        let locator = alias(types, "RTTICompleteObjectLocator", 20);
        let members: [Member; 5] = [
            (dword, 4, "signature", ""),
            (dword, 4, "offset", "offset of vbtable within class"),
            (dword, 4, "cdOffset", "constructor displacement offset"),
            (to_descriptor, 4, "pTypeDescriptor", "ref to TypeDescriptor (RTTI 0) for class"),
            (to_hierarchy, 4, "pClassDescriptor", "ref to ClassHierarchyDescriptor (RTTI 3)"),
        ];
        fill(types, locator, &members);
        let pointer = types.builtin("pointer");
        Types { descriptor, base, hierarchy, locator, base_reference, pointer }
    }
}

/// Two pointers and a name, whose bytes follow.
pub(crate) fn descriptor(types: &mut DataTypes, pointer: u32) -> TypeId {
    let void = types.builtin("void");
    let to_anything = types.pointer_to(void);
    let char = types.builtin("char");
    let name = types.array_of(char, 0);
    let members: [Member; 3] = [
        (to_anything, pointer, "pVFTable", ""),
        (to_anything, pointer, "spare", ""),
        (name, 0, "name", ""),
    ];
    structure(types, "TypeDescriptor", &members, pointer)
}

/// How to come from a member of a class to the class.
fn pmd(types: &mut DataTypes, relative: bool) -> TypeId {
    let int = types.builtin("int");
    let displacement = match relative {
        true => int,
        false => types.add(simple("ptrdiff_t", 4, TypeKind::Typedef(int))),
    };
    let members = ["mdisp", "pdisp", "vdisp"].map(|name| (displacement, 4, name, ""));
    structure(types, "PMD", &members, 4)
}

/// A pointer, or what stands for one; Ghidra calls it by what it leads to and its length.
fn reference(types: &mut DataTypes, target: TypeId, relative: bool) -> TypeId {
    if !relative {
        return types.pointer_to(target);
    }
    let name = format!("{} *32 __((image-base-relative))", types.name(target));
    let offset = types.builtin("ImageBaseOffset32");
    types.add(simple(&name, 4, TypeKind::Typedef(offset)))
}

/// A name for a structure that has no members yet.
fn alias(types: &mut DataTypes, name: &str, length: u32) -> TypeId {
    let kind = TypeKind::Struct { fields: Vec::new(), packed: true };
    let inner = types.add(simple(&format!("_s__{name}"), length, kind));
    types.add(simple(name, length, TypeKind::Typedef(inner)))
}

/// Gives the structure behind a name its members.
fn fill(types: &mut DataTypes, name: TypeId, members: &[Member]) {
    let id = types.resolve(name);
    let Some(known) = types.get(id).cloned() else { return };
    let empty = matches!(&known.kind, TypeKind::Struct { fields, .. } if fields.is_empty());
    if empty {
        let kind = TypeKind::Struct { fields: fields(members), packed: true };
        types.replace(id, DataType { kind, ..(*known).clone() });
    }
}

fn structure(types: &mut DataTypes, name: &str, members: &[Member], alignment: u32) -> TypeId {
    let length = members.iter().map(|member| member.1).sum();
    let kind = TypeKind::Struct { fields: fields(members), packed: true };
    types.add(DataType { alignment, ..simple(name, length, kind) })
}

fn fields(members: &[Member]) -> Vec<Field> {
    let mut offset = 0;
    let field = |(data_type, length, name, note): &Member| {
        let field = Field {
            offset,
            data_type: *data_type,
            length: *length,
            name: (*name).into(),
            comment: (*note).into(),
            bits: None,
        };
        offset += length;
        field
    };
    members.iter().map(field).collect()
}

pub(crate) fn simple(name: &str, length: u32, kind: TypeKind) -> DataType {
    DataType {
        category: "/".into(),
        name: name.into(),
        length: Some(length),
        alignment: 4,
        description: "".into(),
        kind,
        used: false,
    }
}
