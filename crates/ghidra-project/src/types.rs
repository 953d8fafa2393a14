//! Data types: named ones are given their places first, then what they are made of, since they may
//! be made of one another.

use std::collections::HashMap;
use std::sync::Arc;

use program::data_type::{Field, FunctionType, SignatureParameter};
use program::{DataType, TypeId, TypeKind};

use crate::builtin;
use crate::import::Importer;
use crate::rows::Row;

/// Kinds, in the upper byte of a type's number.
const BUILT_IN: i64 = 0;
const TYPEDEF: i64 = 5;
const ENUM: i64 = 8;
const BIT_FIELD: i64 = 9;

/// Derived types are made from others so deep; no real program comes near.
const DEEPEST: usize = 100;

/// One value of an enumeration: name, value, note.
type Value = (Arc<str>, i64, Arc<str>);

/// Derived types, to be made when what they derive from is there.
enum Derived {
    Pointer { target: i64, length: i64 },
    Array { element: i64, count: u32 },
    Typedef { target: i64, category: Arc<str>, name: Arc<str> },
}

/// What the tables say, before types are complete.
#[derive(Default)]
struct Stated {
    categories: HashMap<i64, Arc<str>>,
    derived: HashMap<i64, Derived>,
}

fn kind_of(id: i64) -> i64 {
    id >> 56
}

impl Importer<'_> {
    /// Takes over all data types.
    pub(crate) fn data_types(&mut self) {
        self.read_conventions();
        let mut stated = Stated { categories: self.categories(), ..Stated::default() };
        for row in self.rows("Built-in datatypes").iter() {
            let category = stated.category(row.int("Category ID"));
            let id = builtin::find(&mut self.program.types, &category, row.word("Name"));
            self.program.types.mark_used(id);
            self.types.insert(row.key(), id);
        }
        let composites = self.rows("Composite Data Types");
        for row in composites.iter() {
            let (fields, packed) = (Vec::new(), row.int("Pack") >= 0);
            let kind = match row.int("Is Union") {
                0 => TypeKind::Struct { fields, packed },
                _ => TypeKind::Union { fields },
            };
            let length = u32::try_from(row.int("Length")).unwrap_or(0);
            let alignment = u32::try_from(row.int("Alignment")).unwrap_or(1).max(1);
            self.reserve(row, &stated, Some(length), alignment, kind);
        }
        self.enumerations(&stated);
        let functions = self.rows("Function Definitions");
        for row in functions.iter() {
            let kind = TypeKind::Function(FunctionType {
                return_type: self.program.types.builtin("undefined"),
                parameters: Vec::new(),
                convention: None,
                varargs: false,
                no_return: false,
            });
            self.reserve(row, &stated, Some(1), 1, kind);
        }
        self.read_derived(&mut stated);
        let mut derived: Vec<i64> = stated.derived.keys().copied().collect();
        derived.sort_unstable();
        for id in derived {
            self.derive(id, &stated, 0);
        }
        self.fill_composites();
        self.fill_functions(&functions);
    }

    fn read_conventions(&mut self) {
        for row in self.rows("Calling Conventions").iter() {
            self.conventions.insert(row.key(), row.word("Name").into());
        }
        self.conventions.insert(1, "default".into());
    }

    /// The convention of a number; none where it is unknown.
    pub(crate) fn convention(&self, number: i64) -> Option<Arc<str>> {
        self.conventions.get(&number).cloned()
    }

    fn categories(&mut self) -> HashMap<i64, Arc<str>> {
        let rows = self.rows("Categories");
        let named: HashMap<i64, (&str, i64)> =
            rows.iter().map(|row| (row.key(), (row.word("Name"), row.int("Parent ID")))).collect();
        let path = |mut id: i64| {
            let mut names = Vec::new();
            while let Some((name, parent)) = named.get(&id).filter(|_| names.len() < DEEPEST) {
                names.push(*name);
                id = *parent;
            }
            names
                .iter()
                .rev()
                .fold(String::new(), |path, name| format!("{path}/{}", name.replace('/', "\\/")))
        };
        named.keys().map(|&id| (id, path(id).into())).collect()
    }

    /// Gives a named type its place; what it is made of follows.
    fn reserve(
        &mut self,
        row: Row<'_>,
        stated: &Stated,
        length: Option<u32>,
        alignment: u32,
        kind: TypeKind,
    ) {
        let data_type = DataType {
            category: stated.category(row.int("Category ID")),
            name: row.word("Name").into(),
            length,
            alignment,
            description: row.word("Comment").into(),
            kind,
            used: true,
        };
        self.add_named(row.key(), data_type);
    }

    fn add_named(&mut self, key: i64, mut data_type: DataType) {
        let path = data_type.path();
        if let Some(known) = self.program.types.at_path(&path) {
            let builtin = self.program.types.as_builtin(known).is_some();
            if builtin && self.program.types.length(known) == data_type.length {
                self.program.types.mark_used(known);
                self.types.insert(key, known);
                return;
            }
            // Two types of one path, which ours cannot tell apart by it.
            data_type.name = format!("{}.{:x}", data_type.name, key & 0xffff_ffff).into();
            self.notices.push(format!("The data type {path} is here as {}.", data_type.path()));
        }
        let id = self.program.types.add(data_type);
        self.types.insert(key, id);
    }

    fn enumerations(&mut self, stated: &Stated) {
        let mut values: HashMap<i64, Vec<Value>> = HashMap::new();
        for row in self.rows("Enumeration Values").iter() {
            let value = (row.word("Name").into(), row.int("Value"), row.word("Comment").into());
            values.entry(row.int("Enum ID")).or_default().push(value);
        }
        for row in self.rows("Enumeration Data Types").iter() {
            let mut values = values.remove(&row.key()).unwrap_or_default();
            values.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
            let length = u32::try_from(row.int("Size")).unwrap_or(1);
            let alignment = self.program.types.organization().alignment(length);
            self.reserve(row, stated, Some(length), alignment, TypeKind::Enum { values });
        }
    }

    fn read_derived(&mut self, stated: &mut Stated) {
        for row in self.rows("Pointers").iter() {
            let (target, length) = (row.int("Data Type ID"), row.int("Length"));
            stated.derived.insert(row.key(), Derived::Pointer { target, length });
        }
        for row in self.rows("Arrays").iter() {
            let count = u32::try_from(row.int("Dimension")).unwrap_or(0);
            let element = row.int("Data Type ID");
            stated.derived.insert(row.key(), Derived::Array { element, count });
        }
        for row in self.rows("Typedefs").iter() {
            let category = stated.category(row.int("Category ID"));
            let (target, name) = (row.int("Data Type ID"), row.word("Name").into());
            stated.derived.insert(row.key(), Derived::Typedef { target, category, name });
        }
    }

    /// Makes a derived type and what it derives from.
    fn derive(&mut self, key: i64, stated: &Stated, depth: usize) -> TypeId {
        if let Some(known) = self.types.get(&key) {
            return *known;
        }
        let undefined = self.program.types.builtin("undefined");
        let Some(derived) = stated.derived.get(&key).filter(|_| depth < DEEPEST) else {
            return undefined;
        };
        let id = match derived {
            Derived::Pointer { target, length } => {
                let target = (*target >= 0).then(|| self.derive(*target, stated, depth + 1));
                self.pointer(target, *length)
            }
            Derived::Array { element, count } => {
                let element = self.derive(*element, stated, depth + 1);
                self.program.types.array_of(element, *count)
            }
            Derived::Typedef { target, category, name } => {
                let target = self.derive(*target, stated, depth + 1);
                let meant = self.program.types.get(target);
                let (length, alignment) =
                    meant.map_or((Some(1), 1), |meant| (meant.length, meant.alignment));
                self.add_named(
                    key,
                    DataType {
                        category: Arc::clone(category),
                        name: Arc::clone(name),
                        length,
                        alignment,
                        description: "".into(),
                        kind: TypeKind::Typedef(target),
                        used: true,
                    },
                );
                self.types.get(&key).copied().unwrap_or(undefined)
            }
        };
        self.program.types.mark_used(id);
        self.types.insert(key, id);
        id
    }

    /// A pointer, of the usual size where `length` is not positive.
    fn pointer(&mut self, target: Option<TypeId>, length: i64) -> TypeId {
        let types = &mut self.program.types;
        let length = u32::try_from(length).ok().filter(|&length| length > 0);
        match (target, length) {
            (None, None) => types.builtin("pointer"),
            (Some(target), None) => types.pointer_to(target),
            (None, Some(length)) => {
                let name = format!("pointer{}", u64::from(length) * 8);
                builtin::find(types, "/", &name)
            }
            (Some(target), Some(length)) => {
                let (category, name) = types.get(target).map_or_else(
                    || ("/".into(), String::new()),
                    |inner| (Arc::clone(&inner.category), inner.name.to_string()),
                );
                let alignment = types.organization().alignment(length);
                types.add(DataType {
                    category,
                    name: format!("{name} *{}", u64::from(length) * 8).into(),
                    length: Some(length),
                    alignment,
                    description: "".into(),
                    kind: TypeKind::Pointer(Some(target)),
                    used: true,
                })
            }
        }
    }

    fn fill_composites(&mut self) {
        let mut members: HashMap<i64, Vec<(i64, Field)>> = HashMap::new();
        for row in self.rows("Component Data Types").iter() {
            let number = |column| u32::try_from(row.int(column)).unwrap_or(0);
            let key = row.int("Data Type ID");
            let (data_type, bits) = self.member_type(key);
            let field = Field {
                offset: number("Offset"),
                data_type,
                length: number("Component Size"),
                name: row.word("Field Name").into(),
                comment: row.word("Comment").into(),
                bits,
            };
            members.entry(row.int("Parent")).or_default().push((row.int("Ordinal"), field));
        }
        for (key, mut found) in members {
            let Some(&id) = self.types.get(&key) else { continue };
            let Some(known) = self.program.types.get(id).cloned() else { continue };
            found.sort_by_key(|(ordinal, _)| *ordinal);
            let ordered = found.into_iter().map(|(_, field)| field);
            let kind = match &known.kind {
                TypeKind::Struct { packed, .. } => {
                    TypeKind::Struct { fields: ordered.collect(), packed: *packed }
                }
                TypeKind::Union { .. } => {
                    let at_start = ordered.map(|field| Field { offset: 0, ..field });
                    TypeKind::Union { fields: at_start.collect() }
                }
                _ => continue,
            };
            self.program.types.replace(id, DataType { kind, ..DataType::clone(&known) });
        }
    }

    /// The type of a member, of a bit-field with its lowest bit and its width.
    fn member_type(&self, key: i64) -> (TypeId, Option<(u8, u8)>) {
        if kind_of(key) != BIT_FIELD {
            return (self.type_of(key), None);
        }
        let base = match key >> 21 & 3 {
            1 => TYPEDEF << 56,
            2 => ENUM << 56,
            _ => BUILT_IN << 56,
        };
        let index = key >> 24 & 0xffff_ffff;
        let data_type = match index {
            0xffff_ffff => self.program.types.builtin("int"),
            index => self.type_of(base | index),
        };
        (data_type, Some(((key >> 8) as u8, key as u8)))
    }

    /// The type of a number; `undefined` where there is none.
    pub(crate) fn type_of(&self, key: i64) -> TypeId {
        let known = self.types.get(&key).copied();
        known.unwrap_or_else(|| self.program.types.builtin("undefined"))
    }

    fn fill_functions(&mut self, functions: &crate::rows::Rows) {
        let mut parameters: HashMap<i64, Vec<(i64, SignatureParameter)>> = HashMap::new();
        for row in self.rows("Function Parameters").iter() {
            let data_type = self.type_of(row.int("Data Type ID"));
            let parameter = SignatureParameter { name: row.word("Name").into(), data_type };
            let of = parameters.entry(row.int("Parent ID")).or_default();
            of.push((row.int("Ordinal"), parameter));
        }
        for row in functions.iter() {
            let Some(&id) = self.types.get(&row.key()) else { continue };
            let Some(known) = self.program.types.get(id).cloned() else { continue };
            let mut of = parameters.remove(&row.key()).unwrap_or_default();
            of.sort_by_key(|(ordinal, _)| *ordinal);
            let flags = row.int("Flags");
            let convention = self.convention(row.int("Call Conv ID"));
            let kind = TypeKind::Function(FunctionType {
                return_type: self.type_of(row.int("Return Type ID")),
                parameters: of.into_iter().map(|(_, parameter)| parameter).collect(),
                convention: convention.filter(|name| &**name != "default"),
                varargs: flags & 1 != 0,
                no_return: flags & 2 != 0,
            });
            self.program.types.replace(id, DataType { kind, ..DataType::clone(&known) });
        }
    }
}

impl Stated {
    fn category(&self, id: i64) -> Arc<str> {
        self.categories.get(&id).cloned().unwrap_or_else(|| "/".into())
    }
}
