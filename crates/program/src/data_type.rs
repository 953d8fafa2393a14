//! Data types: built-ins, pointers, arrays, structures, unions, enums,
//! typedefs and function types, each under one path.

use crate::table::Table;
use crate::{Compiler, ProgramInfo, RecordRules};
use std::sync::Arc;

/// The category of types that stand for names out of demangled prototypes.
pub const STAND_INS: &str = "/Demangler";

/// Identifies a data type of one program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u32);

/// Sizes that the compiler specification fixes, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataOrganization {
    /// Pointers.
    pub pointer: u32,
    /// `long`.
    pub long: u32,
    /// `wchar_t`.
    pub wide_char: u32,
    /// `long double`.
    pub long_double: u32,
    /// What the compiler decides beside these.
    pub compiler: Compiler,
}

impl Default for DataOrganization {
    fn default() -> Self {
        DataOrganization {
            pointer: 8,
            long: 8,
            wide_char: 4,
            long_double: 16,
            compiler: Compiler::default(),
        }
    }
}

impl DataOrganization {
    /// With what the compiler of that program decides; unchanged when its processor is not known.
    pub fn made_for(self, info: &ProgramInfo) -> DataOrganization {
        if info.processor.is_empty() {
            return self;
        }
        let compiler = Compiler::of(info, self.compiler.rules == RecordRules::MinGw);
        DataOrganization { compiler, ..self }
    }

    /// Alignment of a number or pointer of that size in a record.
    pub fn alignment(&self, length: u32) -> u32 {
        let natural = match length {
            0..=8 => length.max(1).next_power_of_two(),
            12 => 4,
            16 => 16,
            _ => 8,
        };
        natural.min(self.compiler.scalar_alignment)
    }
}

/// What a built-in type holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Builtin {
    /// `void`.
    Void,
    /// `undefined`, `undefined1` ... `undefined8`.
    Undefined,
    /// `bool`.
    Bool,
    /// A character.
    Char,
    /// A wide character.
    WideChar,
    /// An unsigned integer.
    Unsigned,
    /// A signed integer.
    Signed,
    /// A floating point number.
    Float,
    /// A terminated text whose length its bytes decide.
    String(Charset),
    /// A pointer to anything.
    Pointer,
    /// An offset from the image base.
    ImageBaseOffset,
    /// Padding that the loader or an analyzer marked.
    Alignment,
    /// A number in LEB128 form, signed or not, whose bytes decide its length.
    Leb128 {
        /// Whether it is signed.
        signed: bool,
    },
}

/// How a text is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    /// One byte a character.
    Ascii,
    /// UTF-8.
    Utf8,
    /// UTF-16 in the program's byte order.
    Utf16,
    /// UTF-32 in the program's byte order.
    Utf32,
}

/// A member of a structure or union.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Offset in bytes (0 in unions).
    pub offset: u32,
    /// Its type.
    pub data_type: TypeId,
    /// Its length in bytes.
    pub length: u32,
    /// Its name; empty when it has none.
    pub name: Arc<str>,
    /// A note; empty when there is none.
    pub comment: Arc<str>,
    /// For a bit-field: lowest bit (from the least significant) and width.
    pub bits: Option<(u8, u8)>,
}

/// A parameter of a function type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureParameter {
    /// Its name; may be empty.
    pub name: Arc<str>,
    /// Its type.
    pub data_type: TypeId,
}

/// A function type's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionType {
    /// What it returns.
    pub return_type: TypeId,
    /// What it takes.
    pub parameters: Vec<SignatureParameter>,
    /// The calling convention, `None` for the default one.
    pub convention: Option<Arc<str>>,
    /// Whether more arguments may follow.
    pub varargs: bool,
    /// Whether it never returns.
    pub no_return: bool,
}

/// What a data type is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeKind {
    /// Known without a definition.
    Builtin(Builtin),
    /// A pointer; `None` points at anything.
    Pointer(Option<TypeId>),
    /// An array.
    Array {
        /// Type of each element.
        element: TypeId,
        /// Number of elements.
        count: u32,
    },
    /// A structure; fields by offset, without filler.
    Struct {
        /// The members.
        fields: Vec<Field>,
        /// Whether the layout follows from the members (packed by rule).
        packed: bool,
    },
    /// A union.
    Union {
        /// The members.
        fields: Vec<Field>,
    },
    /// An enumeration: name, value, note.
    Enum {
        /// Its values, sorted by value, then name.
        values: Vec<(Arc<str>, i64, Arc<str>)>,
    },
    /// Another name.
    Typedef(TypeId),
    /// A function type.
    Function(FunctionType),
}

impl TypeKind {
    /// Names each type that this one is made of.
    pub fn each_part(&self, mut each: impl FnMut(TypeId)) {
        match self {
            TypeKind::Pointer(Some(inner))
            | TypeKind::Array { element: inner, .. }
            | TypeKind::Typedef(inner) => each(*inner),
            TypeKind::Struct { fields, .. } | TypeKind::Union { fields } => {
                fields.iter().for_each(|field| each(field.data_type));
            }
            TypeKind::Function(function) => {
                each(function.return_type);
                function.parameters.iter().for_each(|parameter| each(parameter.data_type));
            }
            TypeKind::Pointer(None) | TypeKind::Builtin(_) | TypeKind::Enum { .. } => {}
        }
    }
}

/// One data type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataType {
    /// Category path: `/` or `/a/b`.
    pub category: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Length in bytes; `None` when its bytes or its use decide.
    pub length: Option<u32>,
    /// Alignment in bytes.
    pub alignment: u32,
    /// A note; empty when there is none.
    pub description: Arc<str>,
    /// What it is made of.
    pub kind: TypeKind,
    /// Whether the program uses it; built-ins are known before they are used.
    pub used: bool,
}

impl DataType {
    /// Its path: category and name.
    pub fn path(&self) -> String {
        join_path(&self.category, &self.name)
    }
}

fn join_path(category: &str, name: &str) -> String {
    let name = name.replace('/', "\\/");
    if category == "/" { format!("/{name}") } else { format!("{category}/{name}") }
}

/// All data types of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct DataTypes {
    types: Table<TypeId, Arc<DataType>>,
    by_path: Table<Arc<str>, TypeId>,
    by_name: Table<(Arc<str>, TypeId), ()>,
    organization: DataOrganization,
    next: u32,
}

impl DataTypes {
    /// The built-in types at the sizes of `organization`.
    pub fn new(organization: DataOrganization) -> DataTypes {
        let mut types = DataTypes {
            types: Table::new(),
            by_path: Table::new(),
            by_name: Table::new(),
            organization,
            next: 0,
        };
        types.add_builtins();
        types
    }

    /// Adds the built-in types that are missing.
    fn add_builtins(&mut self) {
        for (name, length, builtin) in builtins(&self.organization) {
            self.add(DataType {
                category: "/".into(),
                name: name.into(),
                length,
                alignment: self.organization.alignment(length.unwrap_or(1)),
                description: "".into(),
                kind: TypeKind::Builtin(builtin),
                used: false,
            });
        }
    }

    /// The types of a saved program, with the greatest id handed out then.
    /// Built-ins that were not known then are added. `None` when two types have
    /// one path.
    pub fn restore(
        organization: DataOrganization,
        types: Table<TypeId, Arc<DataType>>,
        last_id: u32,
    ) -> Option<DataTypes> {
        if types.last().is_some_and(|(id, _)| id.0 > last_id) {
            return None;
        }
        let mut paths: Vec<(Arc<str>, TypeId)> =
            types.iter().map(|(id, t)| (t.path().into(), *id)).collect();
        paths.sort_unstable();
        if paths.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return None;
        }
        let mut names: Vec<(Arc<str>, TypeId)> =
            types.iter().map(|(id, t)| (Arc::clone(&t.name), *id)).collect();
        names.sort_unstable();
        let mut restored = DataTypes {
            by_path: paths.into_iter().collect(),
            by_name: names.into_iter().map(|name| (name, ())).collect(),
            types,
            organization,
            next: last_id,
        };
        restored.add_builtins();
        Some(restored)
    }

    /// All types by id.
    pub fn table(&self) -> &Table<TypeId, Arc<DataType>> {
        &self.types
    }

    /// The greatest id handed out so far.
    pub fn last_id(&self) -> u32 {
        self.next
    }

    /// The sizes in force.
    pub fn organization(&self) -> &DataOrganization {
        &self.organization
    }

    /// Whether both share their storage, so that no type differs.
    pub fn same(&self, other: &DataTypes) -> bool {
        self.types.same(&other.types)
    }

    /// The types whose content differs, or that only one of both has.
    pub fn differences(&self, other: &DataTypes) -> Vec<TypeId> {
        self.types.differences(&other.types, crate::changes::same_content)
    }

    /// A type by id.
    pub fn get(&self, id: TypeId) -> Option<&Arc<DataType>> {
        self.types.get(&id)
    }

    /// All types in id order, built-ins first.
    pub fn iter(&self) -> impl Iterator<Item = (TypeId, &Arc<DataType>)> {
        self.types.iter().map(|(id, t)| (*id, t))
    }

    /// All types in path order.
    pub fn by_path(&self) -> impl Iterator<Item = (&Arc<str>, TypeId)> {
        self.by_path.iter().map(|(path, id)| (path, *id))
    }

    /// The type at exactly that path.
    pub fn at_path(&self, path: &str) -> Option<TypeId> {
        self.by_path.get(&Arc::from(path)).copied()
    }

    /// The types of that exact name, in id order.
    pub fn named(&self, name: &str) -> impl Iterator<Item = TypeId> {
        let name: Arc<str> = name.into();
        self.by_name
            .range((Arc::clone(&name), TypeId(0))..=(name, TypeId(u32::MAX)))
            .map(|((_, id), ())| *id)
    }

    /// A built-in by name. Only for names of the table below.
    pub fn builtin(&self, name: &str) -> TypeId {
        let found = self
            .named(name)
            .find(|id| self.get(*id).is_some_and(|t| matches!(t.kind, TypeKind::Builtin(_))));
        debug_assert!(found.is_some(), "no built-in {name}");
        found.unwrap_or(TypeId(1))
    }

    /// Adds a type; an equal path gives back the type already there.
    pub fn add(&mut self, data_type: DataType) -> TypeId {
        let path: Arc<str> = data_type.path().into();
        if let Some(known) = self.by_path.get(&path) {
            return *known;
        }
        self.next += 1;
        let id = TypeId(self.next);
        self.by_path.insert(path, id);
        self.by_name.insert((Arc::clone(&data_type.name), id), ());
        self.types.insert(id, Arc::new(data_type));
        id
    }

    /// Replaces the content of a type; its id stays, its path may change.
    /// Refused when another type has the new path.
    pub fn replace(&mut self, id: TypeId, data_type: DataType) -> bool {
        let Some(old) = self.get(id).cloned() else { return false };
        let path: Arc<str> = data_type.path().into();
        if self.by_path.get(&path).is_some_and(|other| *other != id) {
            return false;
        }
        self.by_path.remove(&Arc::from(old.path()));
        self.by_name.remove(&(Arc::clone(&old.name), id));
        self.by_path.insert(path, id);
        self.by_name.insert((Arc::clone(&data_type.name), id), ());
        self.types.insert(id, Arc::new(data_type));
        true
    }

    /// Removes a type. What refers to it is the caller's to mend first.
    pub fn remove(&mut self, id: TypeId) -> Option<Arc<DataType>> {
        let data_type = self.types.remove(&id)?;
        self.by_path.remove(&Arc::from(data_type.path()));
        self.by_name.remove(&(Arc::clone(&data_type.name), id));
        Some(data_type)
    }

    /// Marks a type, and what it is made of, as used by the program.
    pub fn mark_used(&mut self, id: TypeId) {
        let Some(data_type) = self.get(id) else { return };
        if data_type.used {
            return;
        }
        let kind = data_type.kind.clone();
        if let Some(data_type) = self.types.get_mut(&id) {
            Arc::make_mut(data_type).used = true;
        }
        kind.each_part(|part| self.mark_used(part));
    }

    /// The pointer to a type, made when missing.
    pub fn pointer_to(&mut self, target: TypeId) -> TypeId {
        let Some(inner) = self.get(target).cloned() else { return self.builtin("pointer") };
        let star = if inner.name.ends_with('*') { "*" } else { " *" };
        self.add(DataType {
            category: Arc::clone(&inner.category),
            name: format!("{}{star}", inner.name).replace("**", "* *").into(),
            length: Some(self.organization.pointer),
            alignment: self.organization.alignment(self.organization.pointer),
            description: "".into(),
            kind: TypeKind::Pointer(Some(target)),
            used: false,
        })
    }

    /// The array of `count` elements, made when missing.
    pub fn array_of(&mut self, element: TypeId, count: u32) -> TypeId {
        let Some(inner) = self.get(element).cloned() else { return element };
        // `int[3]` of 2 is `int[2][3]`: the new dimension comes first.
        let name = match inner.name.find('[') {
            Some(at) if matches!(inner.kind, TypeKind::Array { .. }) => {
                format!("{}[{count}]{}", &inner.name[..at], &inner.name[at..])
            }
            _ => format!("{}[{count}]", inner.name),
        };
        self.add(DataType {
            category: Arc::clone(&inner.category),
            name: name.into(),
            length: inner.length.and_then(|n| n.checked_mul(count)),
            alignment: inner.alignment,
            description: "".into(),
            kind: TypeKind::Array { element, count },
            used: false,
        })
    }

    /// A structure under `category`, its length given by the caller.
    pub fn add_struct(
        &mut self,
        category: &str,
        name: &str,
        length: u32,
        fields: Vec<Field>,
    ) -> TypeId {
        self.add(DataType {
            category: category.into(),
            name: name.into(),
            length: Some(length),
            alignment: 1,
            description: "".into(),
            kind: TypeKind::Struct { fields, packed: false },
            used: true,
        })
    }

    /// Follows typedefs to what they stand for.
    pub fn resolve(&self, mut id: TypeId) -> TypeId {
        for _ in 0..64 {
            match self.get(id).map(|t| &t.kind) {
                Some(TypeKind::Typedef(base)) => id = *base,
                _ => break,
            }
        }
        id
    }

    /// Length in bytes, unless bytes or use decide.
    pub fn length(&self, id: TypeId) -> Option<u32> {
        self.get(id)?.length
    }

    /// The display name: without category.
    pub fn name(&self, id: TypeId) -> &str {
        self.get(id).map_or("undefined", |t| &t.name)
    }

    /// The typed view of a built-in, typedefs followed.
    pub fn as_builtin(&self, id: TypeId) -> Option<Builtin> {
        match self.get(self.resolve(id))?.kind {
            TypeKind::Builtin(builtin) => Some(builtin),
            _ => None,
        }
    }

    /// Whether the type is one of the `undefined` ones.
    pub fn is_undefined(&self, id: TypeId) -> bool {
        self.as_builtin(id) == Some(Builtin::Undefined)
    }

    /// Whether only a demangled name tells of the type: a stand-in for something passed by value, of
    /// which no convention can say where it passes.
    pub fn is_stand_in(&self, id: TypeId) -> bool {
        let Some(known) = self.get(id) else { return false };
        let made_up = known.category.strip_prefix(STAND_INS);
        made_up.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            && match &known.kind {
                TypeKind::Typedef(base) => self.name(*base) == "undefined",
                TypeKind::Struct { fields, .. } => fields.is_empty(),
                _ => false,
            }
    }

    /// The `undefinedN` of a size, or plain `undefined`.
    pub fn undefined(&self, size: u32) -> TypeId {
        match size {
            1..=8 => self.builtin(&format!("undefined{size}")),
            _ => self.builtin("undefined"),
        }
    }
}

/// Name, length and content of every built-in.
fn builtins(org: &DataOrganization) -> Vec<(&'static str, Option<u32>, Builtin)> {
    use Builtin::{Bool, Char, Float, Pointer, Signed, Undefined, Unsigned, Void, WideChar};
    let (pointer, long) = (org.pointer, org.long);
    let mut all: Vec<(&'static str, Option<u32>, Builtin)> = [
        ("undefined", 1, Undefined),
        ("undefined1", 1, Undefined),
        ("undefined2", 2, Undefined),
        ("undefined3", 3, Undefined),
        ("undefined4", 4, Undefined),
        ("undefined5", 5, Undefined),
        ("undefined6", 6, Undefined),
        ("undefined7", 7, Undefined),
        ("undefined8", 8, Undefined),
        ("bool", 1, Bool),
        ("char", 1, Char),
        ("schar", 1, Signed),
        ("uchar", 1, Unsigned),
        ("byte", 1, Unsigned),
        ("sbyte", 1, Signed),
        ("short", 2, Signed),
        ("ushort", 2, Unsigned),
        ("word", 2, Unsigned),
        ("sword", 2, Signed),
        ("int", 4, Signed),
        ("uint", 4, Unsigned),
        ("dword", 4, Unsigned),
        ("sdword", 4, Signed),
        ("long", long, Signed),
        ("ulong", long, Unsigned),
        ("longlong", 8, Signed),
        ("ulonglong", 8, Unsigned),
        ("qword", 8, Unsigned),
        ("sqword", 8, Signed),
        ("int3", 3, Signed),
        ("int5", 5, Signed),
        ("int6", 6, Signed),
        ("int7", 7, Signed),
        ("int16", 16, Signed),
        ("uint3", 3, Unsigned),
        ("uint5", 5, Unsigned),
        ("uint6", 6, Unsigned),
        ("uint7", 7, Unsigned),
        ("uint16", 16, Unsigned),
        ("float", 4, Float),
        ("double", 8, Float),
        ("longdouble", org.long_double, Float),
        ("float2", 2, Float),
        ("float10", 10, Float),
        ("float16", 16, Float),
        ("wchar_t", org.wide_char, WideChar),
        ("wchar16", 2, WideChar),
        ("wchar32", 4, WideChar),
        ("pointer", pointer, Pointer),
        ("ImageBaseOffset32", 4, Builtin::ImageBaseOffset),
        ("ImageBaseOffset64", 8, Builtin::ImageBaseOffset),
        ("dwfenc", 1, Unsigned),
        ("int8_t", 1, Signed),
        ("int16_t", 2, Signed),
        ("int32_t", 4, Signed),
        ("int64_t", 8, Signed),
        ("uint8_t", 1, Unsigned),
        ("uint16_t", 2, Unsigned),
        ("uint32_t", 4, Unsigned),
        ("uint64_t", 8, Unsigned),
    ]
    .into_iter()
    .map(|(name, length, builtin)| (name, Some(length), builtin))
    .collect();
    all.push(("void", Some(0), Void));
    all.push(("Alignment", None, Builtin::Alignment));
    all.push(("uleb128", None, Builtin::Leb128 { signed: false }));
    all.push(("sleb128", None, Builtin::Leb128 { signed: true }));
    let texts = [
        ("string", Charset::Ascii),
        ("TerminatedCString", Charset::Ascii),
        ("string-utf8", Charset::Utf8),
        ("unicode", Charset::Utf16),
        ("TerminatedUnicode", Charset::Utf16),
        ("unicode32", Charset::Utf32),
        ("TerminatedUnicode32", Charset::Utf32),
    ];
    all.extend(texts.map(|(name, charset)| (name, None, Builtin::String(charset))));
    // Of a size that the place states, not the processor. New ones come last: files count them.
    let sized = [("pointer16", 2), ("pointer32", 4), ("pointer64", 8)];
    all.extend(sized.map(|(name, length)| (name, Some(length), Pointer)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_types_are_named_as_in_c_and_exist_once() {
        let mut types = DataTypes::new(DataOrganization::default());
        let int = types.builtin("int");
        let pointer = types.pointer_to(int);
        assert_eq!(types.name(pointer), "int *");
        let twice = types.pointer_to(pointer);
        assert_eq!(types.name(twice), "int * *");
        assert_eq!(types.pointer_to(int), pointer);
        let row = types.array_of(int, 3);
        let table = types.array_of(row, 2);
        assert_eq!((types.name(table), types.length(table)), ("int[2][3]", Some(24)));
        let pointers = types.array_of(pointer, 4);
        assert_eq!(types.name(pointers), "int *[4]");
        assert_eq!(types.at_path("/int *[4]"), Some(pointers));
    }

    #[test]
    fn stand_ins_are_names_without_content() {
        let mut types = DataTypes::new(DataOrganization::default());
        let undefined = types.builtin("undefined");
        let mut add = |category: &str, kind| {
            types.add(DataType {
                category: category.into(),
                name: "Kind".into(),
                length: Some(1),
                alignment: 1,
                description: "".into(),
                kind,
                used: false,
            })
        };
        let made_up = add("/Demangler/a", TypeKind::Typedef(undefined));
        let given = add("/a", TypeKind::Typedef(undefined));
        let empty = add("/Demangler", TypeKind::Struct { fields: Vec::new(), packed: false });
        let found = [made_up, given, empty, undefined].map(|id| types.is_stand_in(id));
        assert_eq!(found, [true, false, true, false]);
    }

    #[test]
    fn only_used_types_count_as_the_programs_own() {
        let mut types = DataTypes::new(DataOrganization::default());
        let char_type = types.builtin("char");
        let text = types.pointer_to(char_type);
        assert!(types.iter().all(|(_, t)| !t.used));
        types.mark_used(text);
        let used: Vec<&str> = types.iter().filter(|(_, t)| t.used).map(|(_, t)| &*t.name).collect();
        assert_eq!(used, ["char", "char *"]);
    }
}
