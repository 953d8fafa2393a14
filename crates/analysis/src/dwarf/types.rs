//! Data types out of debug information.

use super::members::by_pointer;
use super::names::{Naming, container, is_type};
use super::registry::{Registry, Taken};
use super::source::Source;
use super::units::{Opened, Place, Units};
use super::{Entry, base_types, registry};
use crate::debug_information::{FunctionShape, Returned, alignment};
use gimli::{AttributeValue, UnitOffset};
use program::data_type::FunctionType;
use program::{DataType, Program, TypeId, TypeKind};
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

/// Types nested deeper than this are taken as bytes.
const DEEPEST: usize = 40;
/// Largest type.
const LARGEST: u64 = 1 << 28;

/// Names of built-in types that headers give to plain ones.
const RENAMING: [&str; 10] = [
    "wchar_t", "bool", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t",
    "uint32_t", "uint64_t",
];

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
    pub(super) home: u32,
    /// Its types.
    own: HashMap<UnitOffset, TypeId>,
    /// Names of built-in types that its typedefs give to plain ones.
    renamed: Vec<Renamed>,
    /// Those of other units.
    others: HashMap<Place, TypeId>,
    /// What entries are called.
    pub(super) namings: HashMap<Place, Rc<Naming>>,
    /// Types of all units by their names.
    pub(super) registry: Registry,
    /// Structures and unions whose members are not known yet: they are looked at when something
    /// holds one, or when all else is done.
    open: HashMap<TypeId, Place>,
    waiting: Vec<TypeId>,
    /// Typedefs of such types.
    unmeasured: Vec<TypeId>,
    /// How functions give back what they return.
    pub(super) returned: Returned,
}

impl<'u, 'a> Types<'u, 'a> {
    /// The types of a unit, to begin with.
    pub(super) fn new(
        units: &'u Units<'a>,
        first: Rc<Opened<'a>>,
        registry: Registry,
    ) -> Types<'u, 'a> {
        Types {
            home: first.number,
            source: Source { units, here: first },
            own: HashMap::new(),
            renamed: Vec::new(),
            others: HashMap::new(),
            namings: HashMap::new(),
            registry,
            open: HashMap::new(),
            waiting: Vec::new(),
            unmeasured: Vec::new(),
            returned: Returned::default(),
        }
    }

    /// Goes on with another unit.
    pub(super) fn enter(&mut self, program: &Program, unit: Rc<Opened<'a>>) {
        self.home = unit.number;
        self.source.here = unit;
        self.own.clear();
        self.namings.clear();
        self.renamed = self.find_renamed(program);
    }

    /// Takes in all types of the unit, whether or not anything is of them.
    pub(super) fn import(&mut self, program: &mut Program) {
        let here = Rc::clone(&self.source.here);
        let mut entries = here.unit.entries();
        while let Ok(Some((_, entry))) = entries.next_dfs() {
            if is_type(entry.tag()) {
                let at = Place { unit: here.number, offset: entry.offset() };
                self.at(program, at, 0);
                self.finish(program);
            }
        }
    }

    /// Looks at the members of all types that were met. Pointers lead from type to type without
    /// end: not on the stack.
    fn finish(&mut self, program: &mut Program) {
        while let Some(next) = self.waiting.pop() {
            self.complete(program, next, 0);
        }
        for id in std::mem::take(&mut self.unmeasured) {
            let Some(typedef) = program.types.get(id).cloned() else { continue };
            let TypeKind::Typedef(inner) = typedef.kind else { continue };
            let Some((length, alignment)) =
                program.types.get(inner).map(|t| (t.length, t.alignment))
            else {
                continue;
            };
            let measured = DataType { length, alignment, ..DataType::clone(&typedef) };
            program.types.replace(id, measured);
        }
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
        let name = self.source.name(entry).filter(|name| RENAMING.contains(&&**name))?;
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

    /// The type of what an entry describes; `None` if it has none.
    pub(super) fn of(&mut self, program: &mut Program, entry: &Entry<'_, 'a>) -> Option<TypeId> {
        let at = self.source.type_of(entry)?;
        if let Some(built_in) = self.built_in(at, entry) {
            return Some(built_in);
        }
        let found = self.at(program, at, 0);
        self.finish(program);
        Some(by_pointer(program, found))
    }

    pub(super) fn inner(
        &mut self,
        program: &mut Program,
        entry: &Entry<'_, 'a>,
        depth: usize,
    ) -> TypeId {
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
            | gimli::DW_TAG_rvalue_reference_type => self.pointer(program, entry, depth),
            gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type => self.inner(program, entry, depth),
            gimli::DW_TAG_typedef => self.typedef(program, at, entry, depth),
            gimli::DW_TAG_structure_type
            | gimli::DW_TAG_class_type
            | gimli::DW_TAG_union_type
            | gimli::DW_TAG_enumeration_type => return self.composite(program, at, entry, depth),
            gimli::DW_TAG_array_type => self.array(program, entry, depth),
            gimli::DW_TAG_subroutine_type => {
                let function = self.function(program, at, entry, depth);
                self.closure(program, entry, function)
            }
            gimli::DW_TAG_unspecified_type => {
                let void = program.types.builtin("void");
                match self.source.plain_name(entry).as_deref() {
                    Some("nullptr" | "decltype(nullptr)") => program.types.pointer_to(void),
                    _ => void,
                }
            }
            gimli::DW_TAG_ptr_to_member_type => self.offset(program, at, entry),
            _ => match self.source.number(entry, gimli::DW_AT_byte_size) {
                Some(size @ 1..=8) => program.types.undefined(size as u32),
                _ => program.types.builtin("undefined"),
            },
        };
        self.keep(at, made);
        made
    }

    fn base(&self, program: &mut Program, entry: &Entry<'_, 'a>) -> TypeId {
        let name = self.source.plain_name(entry);
        base_types::make(program, &self.source, entry, name.as_deref())
    }

    /// A pointer, or what is as large as one of another size.
    fn pointer(&mut self, program: &mut Program, entry: &Entry<'_, 'a>, depth: usize) -> TypeId {
        let inner = self.inner(program, entry, depth);
        let usual = u64::from(program.types.organization().pointer);
        match self.source.number(entry, gimli::DW_AT_byte_size) {
            Some(size @ 1..=8) if size != usual => program.types.undefined(size as u32),
            // A circle of pointers may have made it meanwhile.
            _ => program.types.pointer_to(inner),
        }
    }

    /// A pointer to a member: how far that is from the start of the object.
    fn offset(&mut self, program: &mut Program, at: Place, entry: &Entry<'_, 'a>) -> TypeId {
        let naming = self.naming(at);
        let target = self.source.type_of(entry).and_then(|at| {
            self.within(at, |types, entry| {
                let own = types.source.name(entry);
                own.unwrap_or_else(|| container(entry.tag()).to_owned())
            })
        });
        let class = entry.attr_value(gimli::DW_AT_containing_type).ok().flatten();
        let class = class.and_then(|value| self.source.units.place(&self.source.here, &value));
        let class = class.map(|at| self.naming(at).name.clone()).unwrap_or_default();
        let target = target.unwrap_or_default();
        let usual = u64::from(program.types.organization().pointer);
        let size = self.source.number(entry, gimli::DW_AT_byte_size).unwrap_or(usual);
        let plain = match size {
            1 => program.types.builtin("byte"),
            2 => program.types.builtin("word"),
            4 => program.types.builtin("dword"),
            8 => program.types.builtin("qword"),
            size => {
                let one = program.types.builtin("undefined");
                program.types.array_of(one, size.min(LARGEST) as u32)
            }
        };
        let name = format!("offset_in_{class}_to_{target}");
        let category = self.category_of(at, &naming);
        let full = format!("{}/{name}", naming.namespace);
        self.add_typedef(program, &full, category, &name, plain)
    }

    fn typedef(
        &mut self,
        program: &mut Program,
        at: Place,
        entry: &Entry<'_, 'a>,
        depth: usize,
    ) -> TypeId {
        let Some(plain) = self.source.plain_name(entry) else {
            return self.inner(program, entry, depth);
        };
        if let Some(to) = self.source.type_of(entry) {
            let named = |types: &mut Self, base: &Entry<'_, 'a>| {
                let is_base = base.tag() == gimli::DW_TAG_base_type;
                is_base.then(|| base_types::make(program, &types.source, base, Some(&plain)))
            };
            if let Some(made) = self.within(to, named).flatten() {
                return made;
            }
        }
        let inner = self.inner(program, entry, depth);
        let naming = self.naming(at);
        let full = naming.full();
        let led_to = match program.types.get(inner).map(|t| &t.kind) {
            Some(TypeKind::Pointer(Some(to))) => *to,
            _ => inner,
        };
        // What is called after its typedef needs none.
        let same = |id: TypeId| self.registry.name(id) == Some(&*full);
        let is_function =
            |id| matches!(program.types.get(id).map(|t| &t.kind), Some(TypeKind::Function(_)));
        let category = self.category_of(at, &naming);
        if same(inner) || is_function(led_to) && same(led_to) {
            let named = if same(inner) { inner } else { led_to };
            registry::declare(program, named, &category);
            return inner;
        }
        self.add_typedef(program, &full, category, &naming.name, inner)
    }

    fn add_typedef(
        &mut self,
        program: &mut Program,
        full: &str,
        category: Arc<str>,
        name: &str,
        inner: TypeId,
    ) -> TypeId {
        let (length, alignment) =
            program.types.get(inner).map_or((None, 1), |t| (t.length, t.alignment));
        let made = new_type(category, name, length, alignment, TypeKind::Typedef(inner));
        let shape = Some(u64::from(program.types.resolve(inner).0));
        let (Taken::Known(id) | Taken::New(id)) = self.registry.take(program, full, made, shape);
        if self.open.contains_key(&program.types.resolve(inner)) {
            self.unmeasured.push(id);
        }
        id
    }

    /// A structure, union or enumeration. Its members are looked at later.
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
        let naming = self.naming(at);
        let category = self.category_of(at, &naming);
        let size = self.source.number(entry, gimli::DW_AT_byte_size).filter(|n| *n <= LARGEST);
        // That of an entry which this one completes does not count.
        let announced = matches!(
            entry.attr_value(gimli::DW_AT_declaration),
            Ok(Some(AttributeValue::Flag(true)))
        );
        let length = Some(size.unwrap_or(1).max(1) as u32);
        let full = naming.full();
        if entry.tag() == gimli::DW_TAG_enumeration_type {
            let id = self.enumeration(program, at, (&naming, category), length);
            self.keep(at, id);
            return id;
        }
        let empty = match entry.tag() {
            gimli::DW_TAG_union_type => TypeKind::Union { fields: Vec::new() },
            _ => TypeKind::Struct { fields: Vec::new(), packed: false },
        };
        let shape = size.filter(|_| !announced).map(|_| self.shape(entry));
        let made = new_type(category, &naming.name, length, 1, empty);
        let id = match self.registry.take(program, &full, made, shape) {
            Taken::Known(id) => id,
            Taken::New(id) => {
                self.open.insert(id, at);
                self.waiting.push(id);
                id
            }
        };
        self.keep(at, id);
        id
    }

    fn enumeration(
        &mut self,
        program: &mut Program,
        at: Place,
        (naming, category): (&Naming, Arc<str>),
        length: Option<u32>,
    ) -> TypeId {
        let here = Rc::clone(&self.source.here);
        let mut tree = here.unit.entries_tree(Some(at.offset)).ok();
        let root = tree.as_mut().and_then(|tree| tree.root().ok());
        let values = root.map(|root| self.values(root)).unwrap_or_default();
        let full = naming.full();
        if let Some(id) = self.registry.agreeing(program, &full, length, &values) {
            add_values(program, id, values);
            return id;
        }
        let alignment = length.unwrap_or(1).min(8);
        let mut hasher = DefaultHasher::new();
        (length, &values).hash(&mut hasher);
        let shape = Some(hasher.finish());
        let kind = TypeKind::Enum { values };
        let made = new_type(category, &naming.name, length, alignment, kind);
        let (Taken::Known(id) | Taken::New(id)) = self.registry.take(program, &full, made, shape);
        id
    }

    /// Tells one description of a structure or union from another: size, names and places.
    fn shape(&self, entry: &Entry<'_, 'a>) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.source.number(entry, gimli::DW_AT_byte_size).hash(&mut hasher);
        self.source.children(entry, |child| {
            let member = child.entry();
            if matches!(member.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance)
                && self.source.attribute(member, gimli::DW_AT_external).is_none()
            {
                self.source.plain_name(member).hash(&mut hasher);
                self.source.member_place(member).hash(&mut hasher);
                self.source.number(member, gimli::DW_AT_bit_size).hash(&mut hasher);
            }
            true
        });
        hasher.finish()
    }

    /// Looks at the members of a type that lies inside of another one, whose shape needs them.
    pub(super) fn complete_inner(&mut self, program: &mut Program, id: TypeId, depth: usize) {
        let mut id = program.types.resolve(id);
        for _ in 0..DEEPEST {
            match program.types.get(id).map(|t| &t.kind) {
                Some(TypeKind::Array { element, .. }) => id = program.types.resolve(*element),
                _ => break,
            }
        }
        self.complete(program, id, depth);
    }

    /// Gives a type its members.
    fn complete(&mut self, program: &mut Program, id: TypeId, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        let Some(at) = self.open.remove(&id) else { return };
        let Some(old) = program.types.get(id).cloned() else { return };
        // An analysis before may have left it, and somebody may have changed it since.
        let (TypeKind::Struct { fields, .. } | TypeKind::Union { fields }) = &old.kind else {
            return;
        };
        if !fields.is_empty() {
            return;
        }
        let Some(here) = self.source.units.open(at.unit) else { return };
        let before = std::mem::replace(&mut self.source.here, Rc::clone(&here));
        let mut tree = here.unit.entries_tree(Some(at.offset)).ok();
        if let Some(root) = tree.as_mut().and_then(|tree| tree.root().ok()) {
            let size = self.source.number(root.entry(), gimli::DW_AT_byte_size).unwrap_or(0);
            let union = matches!(old.kind, TypeKind::Union { .. });
            let fields = self.fields(program, root, (size, union), depth);
            let alignment = alignment(program, &fields);
            let kind = match union {
                true => TypeKind::Union { fields },
                false => TypeKind::Struct { fields, packed: true },
            };
            let length = Some(size.max(1) as u32);
            program
                .types
                .replace(id, DataType { kind, alignment, length, ..DataType::clone(&old) });
        }
        self.source.here = before;
    }

    fn array(&mut self, program: &mut Program, entry: &Entry<'_, 'a>, depth: usize) -> TypeId {
        let element = self.inner(program, entry, depth);
        let element = by_pointer(program, element);
        let mut counts = Vec::new();
        self.source.children(entry, |child| {
            let range = child.entry();
            if range.tag() == gimli::DW_TAG_subrange_type {
                let count = self.source.number(range, gimli::DW_AT_count);
                let bound = self.source.number(range, gimli::DW_AT_upper_bound);
                // All bits set stand for a bound that is not known.
                let bound = bound.filter(|n| *n != u64::from(u32::MAX));
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

    /// The type of functions that pointers lead to, named after a typedef or what they take and
    /// return.
    fn function(
        &mut self,
        program: &mut Program,
        at: Place,
        entry: &Entry<'_, 'a>,
        depth: usize,
    ) -> TypeId {
        let returned = self.inner(program, entry, depth);
        let mut parameters = Vec::new();
        let mut varargs = false;
        self.source.clone().children(entry, |child| {
            match child.entry().tag() {
                gimli::DW_TAG_formal_parameter => {
                    let data_type = self.inner(program, child.entry(), depth);
                    parameters.push((String::new(), by_pointer(program, data_type)));
                }
                gimli::DW_TAG_unspecified_parameters => varargs = true,
                _ => {}
            }
            parameters.len() < 256
        });
        let naming = self.naming(at);
        let category = self.category_of(at, &naming);
        let shape = FunctionShape { returned, parameters, convention: None, varargs };
        if naming.anonymous {
            let more = if varargs { "_varargs" } else { "" };
            return shape.add(program, &category, more);
        }
        self.add_function(program, &naming, category, shape.into_type())
    }

    /// What Go calls a function is where its code's address lies, with what it encloses.
    fn closure(&self, program: &mut Program, entry: &Entry<'_, 'a>, function: TypeId) -> TypeId {
        if !self.source.is_go() {
            return function;
        }
        let code = match self.source.number(entry, gimli::DW_AT_byte_size) {
            Some(_) => program.types.pointer_to(function),
            None => function,
        };
        program.types.pointer_to(code)
    }

    /// The type of a function that has a name.
    pub(super) fn add_function(
        &mut self,
        program: &mut Program,
        naming: &Naming,
        category: Arc<str>,
        function: FunctionType,
    ) -> TypeId {
        let mut hasher = DefaultHasher::new();
        program.types.resolve(function.return_type).hash(&mut hasher);
        for parameter in &function.parameters {
            program.types.resolve(parameter.data_type).hash(&mut hasher);
        }
        let kind = TypeKind::Function(function);
        let made = new_type(category, &naming.name, None, 1, kind);
        let shape = Some(hasher.finish());
        let (Taken::Known(id) | Taken::New(id)) =
            self.registry.take(program, &naming.full(), made, shape);
        id
    }
}

fn new_type(
    category: Arc<str>,
    name: &str,
    length: Option<u32>,
    alignment: u32,
    kind: TypeKind,
) -> DataType {
    let (name, description) = (name.into(), "".into());
    DataType { category, name, length, alignment, description, kind, used: true }
}

/// Adds values to an enumeration that it does not have.
fn add_values(program: &mut Program, id: TypeId, values: Vec<super::members::Value>) {
    let Some(old) = program.types.get(id).cloned() else { return };
    let TypeKind::Enum { values: known } = &old.kind else { return };
    let mut all = known.clone();
    all.extend(values);
    all.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
    all.dedup_by(|a, b| a.0 == b.0);
    if all.len() > known.len() {
        let kind = TypeKind::Enum { values: all };
        program.types.replace(id, DataType { kind, ..DataType::clone(&old) });
    }
}
