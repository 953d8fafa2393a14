//! Data types out of a PDB file, under a category of the file's name.

use super::members;
use super::records::{FIRST, Record, Records, Tag, TagKind};
use crate::debug_information::{FunctionShape, alignment};
use decompiler::Language;
use program::data_type::Field;
use program::{DataType, Program, TypeId, TypeKind};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Types nested deeper than this are taken as bytes.
const DEEPEST: usize = 40;
/// Largest type.
pub(super) const LARGEST: u64 = 1 << 28;
/// Longest name that is kept.
const LONGEST: usize = 4096;
/// Parameters of one function that are kept.
const PARAMETERS: usize = 256;
/// Types of one name that are told apart.
const ALIKE: usize = 64;

/// The types of one file.
pub(super) struct Types<'r> {
    pub(super) records: &'r Records,
    language: &'r Language,
    /// The category that all of them are under.
    root: String,
    known: HashMap<u32, TypeId>,
    /// Those of them whose members are not known yet, and the order in which to look at them.
    open: HashMap<u32, TypeId>,
    waiting: Vec<u32>,
    /// Where whole types stand that forward references speak of.
    definitions: HashMap<&'r [u8], u32>,
    /// Full names of classes.
    classes: HashSet<String>,
}

/// How a function is called, as its type tells.
pub(super) struct Prototype {
    pub(super) returned: TypeId,
    pub(super) parameters: Vec<TypeId>,
    pub(super) varargs: bool,
    pub(super) this: Option<TypeId>,
    /// Whether it is declared in a class.
    pub(super) member: bool,
    pub(super) convention: Option<Arc<str>>,
}

impl<'r> Types<'r> {
    pub(super) fn new(records: &'r Records, language: &'r Language, file: &str) -> Types<'r> {
        let mut types = Types {
            records,
            language,
            root: format!("/{}", file.replace('/', "\\/")),
            known: HashMap::new(),
            open: HashMap::new(),
            waiting: Vec::new(),
            definitions: HashMap::new(),
            classes: HashSet::new(),
        };
        for index in records.indexes() {
            let Some(Record::Tag(tag)) = records.get(index) else { continue };
            if tag.kind == TagKind::Class {
                types.classes.insert(text(tag.name));
            }
            if !tag.is_forward() {
                let key = if tag.unique.is_empty() { tag.name } else { tag.unique };
                types.definitions.entry(key).or_insert(index);
            }
        }
        types
    }

    /// Makes the structures, unions and enumerations among some indexes.
    pub(super) fn define(&mut self, program: &mut Program, indexes: impl Iterator<Item = u32>) {
        for index in indexes {
            if matches!(self.records.get(index), Some(Record::Tag(_))) {
                self.of(program, index);
            }
        }
    }

    /// Gives a type another name.
    pub(super) fn typedef(&mut self, program: &mut Program, name: &[u8], index: u32) {
        let is_own = |tag: &Tag<'_>| tag.name == name;
        if matches!(self.records.get(index), Some(Record::Tag(tag)) if is_own(&tag)) {
            return;
        }
        let inner = self.of(program, index);
        let (category, name) = self.place(name, index);
        let shape = program.types.get(inner).map(|t| (t.length, t.alignment));
        let (length, alignment) = shape.unwrap_or((None, 1));
        if !name.is_empty() {
            let kind = TypeKind::Typedef(inner);
            program.types.add(new_type(category, name, length, alignment, kind));
        }
    }

    /// Whether a namespace of that full name is a class.
    pub(super) fn is_class(&self, name: &str) -> bool {
        self.classes.contains(name)
    }

    /// The type of an index, with all that it is made of.
    pub(super) fn of(&mut self, program: &mut Program, index: u32) -> TypeId {
        let id = self.at(program, index, 0);
        self.finish(program);
        id
    }

    /// Looks at the members of all types that were met. Pointers lead from type to type without
    /// end: not on the stack.
    pub(super) fn finish(&mut self, program: &mut Program) {
        while let Some(next) = self.waiting.pop() {
            self.complete(program, next, 0);
        }
    }

    /// What an index stands for that is not a whole type by itself.
    fn whole(&self, index: u32) -> u32 {
        let Some(Record::Tag(tag)) = self.records.get(index) else { return index };
        match tag.is_forward() {
            true => self.definitions.get(tag.key()).copied().unwrap_or(index),
            false => index,
        }
    }

    /// Looks at the members of a type that lies inside of another one, whose shape needs them.
    pub(super) fn complete_inner(&mut self, program: &mut Program, index: u32, depth: usize) {
        let mut index = index;
        for _ in 0..DEEPEST {
            match self.records.get(index) {
                Some(Record::Modifier(inner) | Record::Array { element: inner, .. }) => {
                    index = inner;
                }
                Some(Record::Tag(_)) => {
                    let whole = self.whole(index);
                    return self.complete(program, whole, depth);
                }
                _ => return,
            }
        }
    }

    pub(super) fn at(&mut self, program: &mut Program, index: u32, depth: usize) -> TypeId {
        if index < FIRST {
            return simple(program, index);
        }
        if let Some(known) = self.known.get(&index) {
            return *known;
        }
        let nothing = program.types.builtin("undefined");
        if depth > DEEPEST {
            return nothing;
        }
        let made = match self.records.get(index) {
            None => nothing,
            Some(Record::Modifier(inner)) => self.at(program, inner, depth + 1),
            Some(Record::Pointer { to, size, member }) => {
                if member || size != program.types.organization().pointer {
                    bytes(program, u64::from(size))
                } else {
                    let inner = self.at(program, to, depth + 1);
                    program.types.pointer_to(inner)
                }
            }
            Some(Record::Array { element, size }) => {
                let element = self.at(program, element, depth + 1);
                let each = program.types.length(element).unwrap_or(0);
                match size.checked_div(u64::from(each)) {
                    Some(count) if size <= LARGEST => program.types.array_of(element, count as u32),
                    _ => nothing,
                }
            }
            Some(Record::Bits { of, .. }) => self.at(program, of, depth + 1),
            Some(Record::Tag(tag)) => return self.tagged(program, index, &tag, depth),
            Some(Record::Function { .. }) => match self.prototype(program, index, depth) {
                Some(prototype) => self.function(program, &prototype),
                None => nothing,
            },
            Some(Record::TableShape) => program.types.builtin("pointer"),
        };
        self.known.insert(index, made);
        made
    }

    /// A class, structure, union or enumeration, whose members are looked at later.
    fn tagged(&mut self, program: &mut Program, index: u32, tag: &Tag<'r>, depth: usize) -> TypeId {
        let whole = self.whole(index);
        if whole != index {
            let id = self.at(program, whole, depth + 1);
            self.known.insert(index, id);
            return id;
        }
        let (category, name) = self.place(tag.name, index);
        let size = match tag.kind {
            TagKind::Enum(below) => {
                let below = self.at(program, below, depth + 1);
                u64::from(program.types.length(below).unwrap_or(1))
            }
            _ => tag.size.min(LARGEST),
        };
        let made = new_type(category, name, Some(size.max(1) as u32), 1, empty(tag.kind));
        let id = add_apart(program, made);
        self.known.insert(index, id);
        if !tag.is_forward() && program.types.get(id).is_some_and(|t| t.kind == empty(tag.kind)) {
            self.open.insert(index, id);
            self.waiting.push(index);
        }
        id
    }

    /// Gives a type its members.
    fn complete(&mut self, program: &mut Program, index: u32, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        let Some(id) = self.open.remove(&index) else { return };
        let Some(Record::Tag(tag)) = self.records.get(index) else { return };
        let Some(old) = program.types.get(id).cloned() else { return };
        let (kind, alignment) = match tag.kind {
            TagKind::Enum(below) => {
                let below = self.at(program, below, depth + 1);
                let alignment = old.length.unwrap_or(1).min(8);
                let values = members::values(self, program, below, tag.fields);
                (TypeKind::Enum { values }, alignment)
            }
            TagKind::Union => {
                let fields = members::fields(self, program, tag.fields, depth);
                let fields = fields.into_iter().map(|field| Field { offset: 0, ..field });
                let fields: Vec<Field> = fields.collect();
                let alignment = alignment(program, &fields);
                (TypeKind::Union { fields }, alignment)
            }
            TagKind::Class | TagKind::Struct => {
                let fields = members::fields(self, program, tag.fields, depth);
                let fields = members::without_overlaps(program, &old.path(), fields);
                let alignment = alignment(program, &fields);
                (TypeKind::Struct { fields, packed: true }, alignment)
            }
        };
        program.types.replace(id, DataType { kind, alignment, ..DataType::clone(&old) });
    }

    /// The category and the name of a type.
    fn place(&self, name: &[u8], index: u32) -> (Arc<str>, Arc<str>) {
        let (path, mut name) = demangler::split(&text(name));
        if ["<unnamed-tag>", "<anonymous-tag>", "__unnamed"].contains(&name.as_str()) {
            name = format!("{name}_{index:08X}");
        }
        let mut category = self.root.clone();
        for part in path {
            category.push('/');
            category.push_str(&part.replace('/', "\\/"));
        }
        (category.into(), name.into())
    }

    /// How the function of a type is called; `None` when it is no function's type.
    pub(super) fn prototype(
        &mut self,
        program: &mut Program,
        index: u32,
        depth: usize,
    ) -> Option<Prototype> {
        let record = self.records.get(index)?;
        let Record::Function { returned, convention, parameters, this, constructor, member } =
            record
        else {
            return None;
        };
        let mut listed = self.records.parameters(parameters, PARAMETERS);
        // What has no type stands for all that may follow.
        let varargs = listed.last() == Some(&0);
        if varargs {
            listed.pop();
        }
        // What a constructor gives back is not told.
        let returned = match constructor {
            true => program.types.builtin("undefined"),
            false => self.at(program, returned, depth + 1),
        };
        let this = (this != 0).then(|| self.at(program, this, depth + 1));
        let parameters = listed.into_iter().map(|index| self.at(program, index, depth + 1));
        let parameters: Vec<TypeId> = parameters.collect();
        let convention = match (this, convention) {
            (Some(_), _) => "__thiscall",
            (None, 0 | 1) => "__cdecl",
            (None, 4 | 5) => "__fastcall",
            (None, 7 | 8) => "__stdcall",
            (None, 0x0b) => "__thiscall",
            (None, 0x18) => "__vectorcall",
            (None, _) => "",
        };
        let known = self.language.convention(convention).map(|_| convention);
        let convention = known.or_else(|| self.language.default_convention()).map(Into::into);
        Some(Prototype { returned, parameters, varargs, this, member, convention })
    }

    fn function(&self, program: &mut Program, prototype: &Prototype) -> TypeId {
        let this = prototype.this.map(|this| ("this".to_owned(), this)).into_iter();
        let written = prototype.parameters.iter().map(|id| (String::new(), *id));
        let shape = FunctionShape {
            returned: prototype.returned,
            parameters: this.chain(written).collect(),
            convention: prototype.convention.clone(),
            varargs: prototype.varargs,
        };
        shape.add(program, &format!("{}/!_anon_funcs_", self.root), "")
    }
}

/// A type of that kind before its members are known.
fn empty(kind: TagKind) -> TypeKind {
    match kind {
        TagKind::Enum(_) => TypeKind::Enum { values: Vec::new() },
        TagKind::Union => TypeKind::Union { fields: Vec::new() },
        _ => TypeKind::Struct { fields: Vec::new(), packed: false },
    }
}

/// A name of the file.
pub(super) fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(&name[..name.len().min(LONGEST)]).into_owned()
}

pub(super) fn new_type(
    category: Arc<str>,
    name: Arc<str>,
    length: Option<u32>,
    alignment: u32,
    kind: TypeKind,
) -> DataType {
    DataType { category, name, length, alignment, description: "".into(), kind, used: true }
}

/// Adds a type beside others of its name that are of other sizes.
fn add_apart(program: &mut Program, made: DataType) -> TypeId {
    let plain = Arc::clone(&made.name);
    let mut made = made;
    for number in 0..ALIKE {
        let known = program.types.at_path(&made.path());
        let alike = known.and_then(|id| program.types.get(id)).is_none_or(|other| {
            let same_kind =
                std::mem::discriminant(&other.kind) == std::mem::discriminant(&made.kind);
            same_kind && other.length == made.length
        });
        if alike {
            break;
        }
        made.name = match number {
            0 => format!("{plain}.conflict").into(),
            _ => format!("{plain}.conflict{number}").into(),
        };
    }
    program.types.add(made)
}

/// Bytes of no known meaning.
pub(super) fn bytes(program: &mut Program, size: u64) -> TypeId {
    match size {
        1..=8 => program.types.undefined(size as u32),
        9..=LARGEST => {
            let one = program.types.undefined(1);
            program.types.array_of(one, size as u32)
        }
        _ => program.types.builtin("undefined"),
    }
}

/// A type that needs no record: a kind, and whether it is a pointer to that.
fn simple(program: &mut Program, index: u32) -> TypeId {
    let name = match index & 0xff {
        0x03 => "void",
        0x10 => "schar",
        0x20 => "uchar",
        0x70 => "char",
        0x7c => "uchar",
        0x71 => "wchar_t",
        0x7a => "wchar16",
        0x7b => "wchar32",
        0x68 => "sbyte",
        0x69 => "byte",
        0x11 | 0x72 => "short",
        0x21 | 0x73 => "ushort",
        0x12 | 0x08 => "long",
        0x22 => "ulong",
        0x74 => "int",
        0x75 => "uint",
        0x13 | 0x76 => "longlong",
        0x23 | 0x77 => "ulonglong",
        0x14 | 0x78 => "int16",
        0x24 | 0x79 => "uint16",
        0x46 => "float2",
        0x40 => "float",
        0x41 => "double",
        0x42 => "float10",
        0x43 => "float16",
        0x30 => "bool",
        _ => "",
    };
    let size = match index & 0xff {
        0x31 | 0x7d => 2,
        0x32 | 0x45 => 4,
        0x33 | 0x50 => 8,
        _ => 1,
    };
    let found = match name {
        "" => program.types.undefined(size),
        name => program.types.builtin(name),
    };
    match (index >> 8 & 0xf, program.types.organization().pointer) {
        (0, _) => found,
        (4, 4) | (6, 8) => program.types.pointer_to(found),
        // Modes of long ago, and the type of `nullptr`.
        (1..=3, _) => program.types.pointer_to(found),
        (4, _) => program.types.undefined(4),
        (6, _) => program.types.undefined(8),
        _ => program.types.builtin("undefined"),
    }
}
