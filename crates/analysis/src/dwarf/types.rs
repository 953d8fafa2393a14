//! Data types out of debug information.

use super::source::Source;
use super::units::{Opened, Place, Units};
use super::{Bytes, Entry};
use crate::debug_information::{FunctionShape, alignment, member};
use gimli::{AttributeValue, EntriesTreeNode, UnitOffset};
use program::data_type::Field;
use program::{DataType, Program, TypeId, TypeKind};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Types nested deeper than this are taken as bytes.
const DEEPEST: usize = 40;
/// Where types are that no file declares.
const UNCATEGORIZED: &str = "/DWARF/_UNCATEGORIZED_";
/// Members of one type that are kept.
const MEMBERS: usize = 1 << 14;
/// Largest type.
const LARGEST: u64 = 1 << 28;

/// A plain type that a typedef gives the name of a built-in one, as C headers do with `wchar_t`.
/// Whatever comes behind the typedef takes one for the other, as it does in Ghidra.
struct Renamed {
    plain: Place,
    typedef: UnitOffset,
    built_in: TypeId,
}

/// The types of one unit after the other, and of those that they speak of.
pub(super) struct Types<'u, 'a> {
    /// The unit whose entries are looked at.
    pub(super) source: Source<'u, 'a>,
    /// The unit whose turn it is.
    home: u32,
    /// Its types.
    own: HashMap<UnitOffset, TypeId>,
    /// Names of built-in types that its typedefs give to plain ones.
    renamed: Vec<Renamed>,
    /// Those of other units.
    others: HashMap<Place, TypeId>,
}

impl<'u, 'a> Types<'u, 'a> {
    /// The types of a unit, to begin with.
    pub(super) fn new(units: &'u Units<'a>, first: Rc<Opened<'a>>) -> Types<'u, 'a> {
        let home = first.number;
        let source = Source { units, here: first };
        Types { source, home, own: HashMap::new(), renamed: Vec::new(), others: HashMap::new() }
    }

    /// Goes on with another unit.
    pub(super) fn enter(&mut self, program: &Program, unit: Rc<Opened<'a>>) {
        self.home = unit.number;
        self.source.here = unit;
        self.own.clear();
        self.renamed = self.find_renamed(program);
    }

    fn find_renamed(&self, program: &Program) -> Vec<Renamed> {
        let mut found = Vec::new();
        let unit = Rc::clone(&self.source.here);
        let Ok(mut tree) = unit.unit.entries_tree(None) else { return found };
        let Ok(root) = tree.root() else { return found };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            if entry.tag() == gimli::DW_TAG_typedef {
                found.extend(self.renamed(program, entry));
            }
        }
        found
    }

    /// What a typedef renames, if it does.
    fn renamed(&self, program: &Program, entry: &Entry<'_, 'a>) -> Option<Renamed> {
        let name = self.source.name(entry).filter(|name| matches!(&**name, "wchar_t" | "bool"))?;
        let plain = self.source.type_of(entry).filter(|at| at.unit == self.home)?;
        let base = self.source.here.unit.entry(plain.offset).ok()?;
        let signed = base.attr_value(gimli::DW_AT_encoding).ok().flatten()
            == Some(AttributeValue::Encoding(gimli::DW_ATE_signed));
        let built_in = program.types.builtin(&name);
        let size = program.types.length(built_in).map(u64::from);
        let fits = base.tag() == gimli::DW_TAG_base_type
            && size == self.source.number(&base, gimli::DW_AT_byte_size)
            && !(signed && name == "bool");
        fits.then_some(Renamed { plain, typedef: entry.offset(), built_in })
    }

    /// The built-in type that stands for a plain one where an entry speaks of it.
    fn built_in(&self, at: Place, entry: &Entry<'_, 'a>) -> Option<TypeId> {
        let here = self.source.here.number == self.home;
        let renamed = self.renamed.iter().find(|renamed| renamed.plain == at)?;
        (here && entry.offset() >= renamed.typedef).then_some(renamed.built_in)
    }

    /// Does something with an entry that may be in another unit.
    pub(super) fn within<T>(
        &mut self,
        at: Place,
        then: impl FnOnce(&mut Self, &Entry<'_, 'a>) -> T,
    ) -> Option<T> {
        let unit = self.source.units.open(at.unit)?;
        let before = std::mem::replace(&mut self.source.here, Rc::clone(&unit));
        let done = unit.unit.entry(at.offset).ok().map(|entry| then(self, &entry));
        self.source.here = before;
        done
    }

    fn known(&self, at: Place) -> Option<TypeId> {
        let own = (at.unit == self.home).then(|| self.own.get(&at.offset)).flatten();
        own.or_else(|| self.others.get(&at)).copied()
    }

    fn keep(&mut self, at: Place, made: TypeId) {
        if at.unit == self.home {
            self.own.insert(at.offset, made);
        } else {
            self.others.insert(at, made);
        }
    }

    /// The name that a typedef, of the unit that an entry is in or of the one whose turn it is,
    /// gives to it.
    fn given(&self, at: Place) -> Option<String> {
        let home = self.source.units.open(self.home)?;
        let units = self.source.units;
        [&self.source.here, &home].into_iter().find_map(|unit| {
            let source = Source { units, here: Rc::clone(unit) };
            unit.given(|| source.given_names()).get(&at).cloned()
        })
    }

    /// The type of what an entry describes; `None` if it has none.
    pub(super) fn of(&mut self, program: &mut Program, entry: &Entry<'_, 'a>) -> Option<TypeId> {
        let at = self.source.type_of(entry)?;
        let built_in = self.built_in(at, entry);
        Some(built_in.unwrap_or_else(|| self.at(program, at, 0)))
    }

    fn inner(&mut self, program: &mut Program, entry: &Entry<'_, 'a>, depth: usize) -> TypeId {
        match self.source.type_of(entry) {
            Some(at) => match self.built_in(at, entry) {
                Some(built_in) => built_in,
                None => self.at(program, at, depth + 1),
            },
            None => program.types.builtin("void"),
        }
    }

    fn at(&mut self, program: &mut Program, at: Place, depth: usize) -> TypeId {
        if let Some(known) = self.known(at) {
            return known;
        }
        let nothing = program.types.builtin("undefined");
        if depth > DEEPEST {
            return nothing;
        }
        let made = self.within(at, |types, entry| types.made(program, at, entry, depth));
        made.unwrap_or(nothing)
    }

    /// The type that an entry of the current unit describes.
    fn made(
        &mut self,
        program: &mut Program,
        at: Place,
        entry: &Entry<'_, 'a>,
        depth: usize,
    ) -> TypeId {
        let made = match entry.tag() {
            gimli::DW_TAG_base_type => self.base(program, entry),
            gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_reference_type
            | gimli::DW_TAG_rvalue_reference_type => {
                let inner = self.inner(program, entry, depth);
                // A circle of pointers may have made it meanwhile.
                program.types.pointer_to(inner)
            }
            gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type => self.inner(program, entry, depth),
            gimli::DW_TAG_typedef => self.typedef(program, entry, depth),
            gimli::DW_TAG_structure_type
            | gimli::DW_TAG_class_type
            | gimli::DW_TAG_union_type
            | gimli::DW_TAG_enumeration_type => return self.composite(program, at, entry, depth),
            gimli::DW_TAG_array_type => self.array(program, entry, depth),
            gimli::DW_TAG_subroutine_type => self.function(program, entry, depth),
            _ => match self.source.number(entry, gimli::DW_AT_byte_size) {
                Some(size @ 1..=8) => program.types.undefined(size as u32),
                _ => program.types.builtin("undefined"),
            },
        };
        self.keep(at, made);
        made
    }

    fn base(&self, program: &mut Program, entry: &Entry<'_, 'a>) -> TypeId {
        let size = self.source.number(entry, gimli::DW_AT_byte_size).unwrap_or(1);
        let encoding = match entry.attr_value(gimli::DW_AT_encoding) {
            Ok(Some(AttributeValue::Encoding(encoding))) => encoding,
            _ => gimli::DW_ATE_unsigned,
        };
        let name = self.source.plain_name(entry).unwrap_or_default();
        let types = &program.types;
        let plain = match name.as_str() {
            "long int" => "long",
            "long unsigned int" => "ulong",
            "long long int" => "longlong",
            "long long unsigned int" => "ulonglong",
            "short int" => "short",
            "short unsigned int" => "ushort",
            "unsigned int" => "uint",
            "unsigned char" => "uchar",
            "signed char" => "schar",
            "long double" => "longdouble",
            "_Bool" => "bool",
            other => other,
        };
        let known = types.named(plain).find(|id| {
            let found = types.get(*id).map(|t| (&t.kind, t.length));
            matches!(found, Some((TypeKind::Builtin(_), Some(length))) if u64::from(length) == size)
        });
        known.unwrap_or_else(|| types.builtin(by_encoding(encoding, size)))
    }

    fn typedef(&mut self, program: &mut Program, entry: &Entry<'_, 'a>, depth: usize) -> TypeId {
        let inner = self.inner(program, entry, depth);
        let Some(name) = self.source.name(entry) else { return inner };
        if program.types.name(inner) == name {
            return inner;
        }
        let (length, alignment) =
            program.types.get(inner).map_or((None, 1), |t| (t.length, t.alignment));
        self.add(program, entry, &name, length, alignment, TypeKind::Typedef(inner))
    }

    fn category(&self, entry: &Entry<'_, 'a>) -> Arc<str> {
        match self.source.file(entry) {
            Some(file) => format!("/DWARF/{file}").into(),
            None => UNCATEGORIZED.into(),
        }
    }

    fn add(
        &self,
        program: &mut Program,
        entry: &Entry<'_, 'a>,
        name: &str,
        length: Option<u32>,
        alignment: u32,
        kind: TypeKind,
    ) -> TypeId {
        program.types.add(DataType {
            category: self.category(entry),
            name: name.into(),
            length,
            alignment,
            description: "".into(),
            kind,
            used: true,
        })
    }

    /// A structure, union or enumeration. It is known before its members are looked at.
    fn composite(
        &mut self,
        program: &mut Program,
        at: Place,
        entry: &Entry<'_, 'a>,
        depth: usize,
    ) -> TypeId {
        if let Some(whole) = self.source.announced(entry).filter(|whole| *whole != at) {
            // It is known before it is looked at, so that a circle of them ends.
            let nothing = program.types.builtin("undefined");
            self.keep(at, nothing);
            let made = self.at(program, whole, depth + 1);
            self.keep(at, made);
            return made;
        }
        let size = self.source.number(entry, gimli::DW_AT_byte_size).filter(|n| *n <= LARGEST);
        let name = self.source.name(entry).or_else(|| self.given(at));
        let name = name.unwrap_or_else(|| {
            let kind = match entry.tag() {
                gimli::DW_TAG_union_type => "union",
                gimli::DW_TAG_enumeration_type => "enum",
                _ => "struct",
            };
            format!("anon_{kind}_{}_{:x}", size.unwrap_or(0), at.offset.0)
        });
        let length = Some(size.unwrap_or(1).max(1) as u32);
        let empty = match entry.tag() {
            gimli::DW_TAG_enumeration_type => TypeKind::Enum { values: Vec::new() },
            gimli::DW_TAG_union_type => TypeKind::Union { fields: Vec::new() },
            _ => TypeKind::Struct { fields: Vec::new(), packed: false },
        };
        let is_union = matches!(empty, TypeKind::Union { .. });
        let is_enum = matches!(empty, TypeKind::Enum { .. });
        let id = self.add(program, entry, &name, length, 1, empty.clone());
        self.keep(at, id);
        let complete = program.types.get(id).is_some_and(|t| t.kind != empty);
        if complete || size.is_none() {
            return id;
        }
        let here = Rc::clone(&self.source.here);
        let Ok(mut tree) = here.unit.entries_tree(Some(at.offset)) else { return id };
        let Ok(root) = tree.root() else { return id };
        let (kind, alignment) = if is_enum {
            (TypeKind::Enum { values: self.values(root) }, (size.unwrap_or(1).max(1) as u32).min(8))
        } else {
            let fields = self.fields(program, root, depth);
            let alignment = alignment(program, &fields);
            let kind = match is_union {
                true => TypeKind::Union { fields },
                false => TypeKind::Struct { fields, packed: true },
            };
            (kind, alignment)
        };
        if let Some(old) = program.types.get(id).cloned() {
            let whole = DataType { kind, alignment, length, ..DataType::clone(&old) };
            program.types.replace(id, whole);
        }
        id
    }

    fn values(
        &self,
        node: EntriesTreeNode<'_, '_, '_, Bytes<'a>>,
    ) -> Vec<(Arc<str>, i64, Arc<str>)> {
        let mut values = Vec::new();
        let mut children = node.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            if entry.tag() != gimli::DW_TAG_enumerator || values.len() >= MEMBERS {
                continue;
            }
            let value = match entry.attr_value(gimli::DW_AT_const_value) {
                Ok(Some(value)) => {
                    value.sdata_value().or_else(|| value.udata_value().map(|v| v as i64))
                }
                _ => None,
            };
            if let (Some(name), Some(value)) = (self.source.name(entry), value) {
                values.push((Arc::from(name), value, Arc::from("")));
            }
        }
        values.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
        values
    }

    fn fields(
        &mut self,
        program: &mut Program,
        node: EntriesTreeNode<'_, '_, '_, Bytes<'a>>,
        depth: usize,
    ) -> Vec<Field> {
        let mut fields: Vec<Field> = Vec::new();
        let mut children = node.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            let base = entry.tag() == gimli::DW_TAG_inheritance;
            if !base && entry.tag() != gimli::DW_TAG_member || fields.len() >= MEMBERS {
                continue;
            }
            if self.source.flag(entry, gimli::DW_AT_external) {
                continue;
            }
            let data_type = self.inner(program, entry, depth);
            let mut name = self.source.name(entry).unwrap_or_default();
            if base {
                name = format!("super_{}", program.types.name(data_type));
            }
            if let Some(field) = self.field(program, entry, data_type, name) {
                fields.push(field);
            }
        }
        fields.sort_by_key(|field| (field.offset, field.bits.map_or(0, |(low, _)| low)));
        fields
    }

    fn field(
        &self,
        program: &Program,
        entry: &Entry<'_, 'a>,
        data_type: TypeId,
        name: String,
    ) -> Option<Field> {
        let offset = self.source.number(entry, gimli::DW_AT_data_member_location).unwrap_or(0);
        let width = self.source.number(entry, gimli::DW_AT_bit_size);
        let first = self.source.number(entry, gimli::DW_AT_data_bit_offset);
        member(program, data_type, name, offset, first.zip(width))
    }

    fn array(&mut self, program: &mut Program, entry: &Entry<'_, 'a>, depth: usize) -> TypeId {
        let element = self.inner(program, entry, depth);
        let mut counts = Vec::new();
        self.source.children(entry, |child| {
            let range = child.entry();
            if range.tag() == gimli::DW_TAG_subrange_type {
                let count = self.source.number(range, gimli::DW_AT_count);
                let bound = self.source.number(range, gimli::DW_AT_upper_bound);
                counts.push(count.or(bound.and_then(|n| n.checked_add(1))).unwrap_or(0));
            }
            counts.len() < 8
        });
        let size = u64::from(program.types.length(element).unwrap_or(1).max(1));
        let total = counts.iter().try_fold(size, |all, count| all.checked_mul(*count));
        if total.is_none_or(|total| total > LARGEST) {
            return element;
        }
        let counts = counts.into_iter().rev();
        counts.fold(element, |inner, count| program.types.array_of(inner, count as u32))
    }

    /// The type of functions that pointers lead to, named after what they take and return.
    fn function(&mut self, program: &mut Program, entry: &Entry<'_, 'a>, depth: usize) -> TypeId {
        let returned = self.inner(program, entry, depth);
        let mut parameters = Vec::new();
        let mut varargs = false;
        self.source.clone().children(entry, |child| {
            match child.entry().tag() {
                gimli::DW_TAG_formal_parameter => {
                    parameters.push(("", self.inner(program, child.entry(), depth)));
                }
                gimli::DW_TAG_unspecified_parameters => varargs = true,
                _ => {}
            }
            parameters.len() < 256
        });
        let more = if varargs { "_varargs" } else { "" };
        FunctionShape { returned, parameters, convention: None, varargs }.add(
            program,
            UNCATEGORIZED,
            more,
        )
    }
}

/// The built-in of an encoding and size.
fn by_encoding(encoding: gimli::DwAte, size: u64) -> &'static str {
    match (encoding, size) {
        (gimli::DW_ATE_boolean, 1) => "bool",
        (gimli::DW_ATE_float, 2) => "float2",
        (gimli::DW_ATE_float, 4) => "float",
        (gimli::DW_ATE_float, 8) => "double",
        (gimli::DW_ATE_float, 10) => "float10",
        (gimli::DW_ATE_float, 16) => "float16",
        (gimli::DW_ATE_signed_char, 1) => "char",
        (gimli::DW_ATE_UTF, 2) => "wchar16",
        (gimli::DW_ATE_UTF, 4) => "wchar32",
        (gimli::DW_ATE_signed, 1) => "sbyte",
        (gimli::DW_ATE_signed, 2) => "short",
        (gimli::DW_ATE_signed, 4) => "int",
        (gimli::DW_ATE_signed, 8) => "longlong",
        (gimli::DW_ATE_signed, 16) => "int16",
        (_, 1) => "byte",
        (_, 2) => "ushort",
        (_, 4) => "uint",
        (_, 8) => "ulonglong",
        (_, 16) => "uint16",
        _ => "undefined",
    }
}
