//! Writes what was found into the program: data, names in the classes' namespaces, comments.

use super::model::{Base, Hierarchy, Locator, Model, TypeDescriptor};
use super::tables::Table;
use super::types::Types;
use program::{
    Address, AddressRange, CommentKind, Program, RefType, SourceType, SymbolId, SymbolKind, TypeId,
};
use std::collections::{HashMap, HashSet};

/// A class by name and namespace.
struct Class {
    /// With the word before it: `class zoo::Dog`.
    title: String,
    /// Without it.
    name: String,
    /// The namespace of what belongs to it.
    space: SymbolId,
}

/// Writes descriptions, each once.
pub(crate) struct Describer {
    types: Types,
    /// By type descriptor; those whose names cannot be read are absent.
    classes: HashMap<Address, Class>,
    done: HashSet<Address>,
    pointer: u32,
}

impl Describer {
    pub(crate) fn new(program: &mut Program, model: &Model) -> Describer {
        let types = Types::define(&mut program.types, &model.image);
        let names: Vec<&str> = model.types.values().map(|known| known.name.as_str()).collect();
        let titles = demangler::described_types(&names);
        let mut classes = HashMap::new();
        for ((at, known), title) in model.types.iter().zip(titles) {
            let class = title.and_then(|title| Class::new(program, title, &known.name));
            classes.extend(class.map(|class| (*at, class)));
        }
        let pointer = model.image.pointer;
        Describer { types, classes, done: HashSet::new(), pointer }
    }

    /// Describes every type descriptor.
    pub(crate) fn describe_types(&self, program: &mut Program, model: &Model) {
        for known in model.types.values() {
            self.describe_type(program, model, known);
        }
    }

    fn describe_type(&self, program: &mut Program, model: &Model, known: &TypeDescriptor) {
        let at = known.at;
        let size = u64::from(self.pointer);
        if put(program, at, self.types.descriptor, 2 * self.pointer) {
            for place in [at, at.wrapping_add(size)] {
                refer(program, place, model.image.pointer(place));
            }
            let char = program.types.builtin("char");
            let name = program.types.array_of(char, known.name_length);
            let place = at.wrapping_add(2 * size);
            if put(program, place, name, known.name_length) {
                let key = (place, CommentKind::Eol);
                program.comments.insert(key, "TypeDescriptor.name".into());
            }
        }
        let Some(class) = self.classes.get(&at) else { return };
        let what = "RTTI Type Descriptor";
        comment(program, at, what, &format!("{} {what}", class.title));
        let label = what.replace(' ', "_");
        let is_same = |s: &program::Symbol| s.parent == class.space && s.name.contains(&label);
        if !program.symbols.at(at).any(|(_, s)| is_same(s)) {
            let id = program.add_label(at, &label, class.space, SourceType::Imported);
            program.symbols.make_primary(id);
        }
    }

    /// Describes a locator and everything that belongs to its class and the classes before it.
    pub(super) fn describe_class(
        &mut self,
        program: &mut Program,
        model: &mut Model,
        locator: &Locator,
    ) {
        let at = locator.at;
        if put(program, at, self.types.locator, 20) {
            refer(program, at.wrapping_add(12), model.image.reference(at, 12));
            refer(program, at.wrapping_add(16), model.image.reference(at, 16));
        }
        self.name(program, at, locator.class, "RTTI Complete Object Locator", "", "const ");
        let mut open = vec![locator.hierarchy];
        while let Some(hierarchy) = open.pop() {
            if !self.done.insert(hierarchy.at) {
                continue;
            }
            let bases: Vec<Base> = model.bases(&hierarchy).collect();
            self.describe_hierarchy(program, &hierarchy, &bases);
            for base in bases {
                if self.done.insert(base.at) {
                    self.describe_base(program, &base);
                    open.extend(model.hierarchy(base.hierarchy));
                }
            }
        }
    }

    fn describe_hierarchy(&self, program: &mut Program, known: &Hierarchy, bases: &[Base]) {
        if put(program, known.at, self.types.hierarchy, 16) {
            refer(program, known.at.wrapping_add(12), Some(known.array));
        }
        let array = program.types.array_of(self.types.base_reference, known.count);
        if put(program, known.array, array, 4 * known.count) {
            for (index, base) in (0u64..).zip(bases) {
                refer(program, known.array.wrapping_add(4 * index), Some(base.at));
            }
        }
        let Some(own) = bases.first() else { return };
        self.name(program, known.at, own.class, "RTTI Class Hierarchy Descriptor", "", "");
        self.name(program, known.array, own.class, "RTTI Base Class Array", "", "");
    }

    fn describe_base(&self, program: &mut Program, base: &Base) {
        if put(program, base.at, self.types.base, 28) {
            refer(program, base.at, Some(base.class));
            refer(program, base.at.wrapping_add(24), Some(base.hierarchy));
        }
        let [member, table, entry, attributes] = base.place;
        let place = format!(" at ({member},{table},{entry},{attributes})");
        self.name(program, base.at, base.class, "RTTI Base Class Descriptor", &place, "");
    }

    /// Describes a table of virtual functions and the pointer before it.
    pub(super) fn describe_table(&self, program: &mut Program, table: &Table) {
        let size = u64::from(self.pointer);
        let class = table.locator.class;
        let head = table.head;
        let length = table.entries.len() as u32;
        let array = program.types.array_of(self.types.pointer, length);
        if put(program, table.at, array, length * self.pointer) {
            for (index, target) in (0u64..).zip(&table.entries) {
                refer(program, table.at.wrapping_add(index * size), Some(*target));
            }
            self.describe_end(program, table);
            if put(program, head, self.types.pointer, self.pointer) {
                refer(program, head, Some(table.locator.at));
            }
        }
        self.name(program, table.at, class, "vftable", "", "const ");
        let Some(known) = self.classes.get(&class) else { return };
        if label(program, head, "vftable_meta_ptr", known.space) {
            let text = format!("meta pointer for {}::vftable", known.name);
            comment(program, head, "vftable", &text);
        }
    }

    /// A zero behind a table ends it.
    fn describe_end(&self, program: &mut Program, table: &Table) {
        let end = table.at.wrapping_add(table.entries.len() as u64 * u64::from(self.pointer));
        if program.memory.read_uint(end, self.pointer) != Some(0) {
            return;
        }
        if put(program, end, self.types.pointer, self.pointer)
            && let Some(class) = self.classes.get(&table.locator.class)
        {
            let text = format!("terminator for {}::vftable", class.title);
            program.comments.insert((end, CommentKind::Eol), text.into());
        }
    }

    /// Names a place after its class, and says so above it.
    fn name(
        &self,
        program: &mut Program,
        at: Address,
        class: Address,
        what: &str,
        suffix: &str,
        prefix: &str,
    ) {
        let Some(class) = self.classes.get(&class) else { return };
        if label(program, at, &format!("{what}{suffix}").replace(' ', "_"), class.space) {
            let text = format!("{prefix}{}::{what}{suffix}", class.name);
            comment(program, at, what, &text);
        }
    }
}

impl Class {
    fn new(program: &mut Program, title: String, mangled: &str) -> Option<Class> {
        let (_, name) = title.split_once(' ')?;
        let name = name.to_owned();
        let (path, last) = demangler::split_microsoft(&name, mangled);
        let mut parent = SymbolId::GLOBAL;
        for part in path {
            parent = program.symbols.namespace(&part, parent, SymbolKind::Namespace);
        }
        let space = program.symbols.namespace(&last, parent, SymbolKind::Class);
        let is_plain = |s: &program::Symbol| s.kind == SymbolKind::Namespace;
        if program.symbols.get(space).is_some_and(is_plain) {
            program.symbols.edit(space, |s| s.kind = SymbolKind::Class);
        }
        Some(Class { title, name, space })
    }
}

/// Defines data over whatever data is there; false when it is there already or code is.
pub(crate) fn put(program: &mut Program, at: Address, data_type: TypeId, length: u32) -> bool {
    let Some(range) = AddressRange::with_length(at, u64::from(length)) else { return false };
    let listing = &program.listing;
    let code = listing.instruction_containing(range.start).is_some()
        || listing.instructions.range(range.start..=range.end).next().is_some();
    let known = listing.data.get(&at);
    if code || known.is_some_and(|unit| unit.data_type == data_type && unit.length == length) {
        return false;
    }
    let before = listing.data_containing(range.start).map(|(start, _)| start);
    let inside = listing.data.range(range.start..=range.end).map(|(start, _)| *start);
    let in_the_way: Vec<Address> = before.into_iter().chain(inside).collect();
    for start in in_the_way {
        program.clear_data(start);
    }
    program.define_data(at, data_type, length)
}

/// The reference that a pointer is by itself.
pub(crate) fn refer(program: &mut Program, from: Address, to: Option<Address>) {
    if let Some(to) = to.filter(|to| program.memory.contains(*to)) {
        program.add_reference(from, to, RefType::Data, 0, SourceType::Default);
    }
}

/// Names a place unless it has that name, or one from the file, which is better.
fn label(program: &mut Program, at: Address, name: &str, space: SymbolId) -> bool {
    let is_better = |s: &program::Symbol| s.source == SourceType::Imported || s.name.contains(name);
    if program.symbols.at(at).any(|(_, s)| is_better(s)) {
        return false;
    }
    program.add_label(at, name, space, SourceType::Imported);
    true
}

/// Adds to what is said above a place, unless that names it already.
fn comment(program: &mut Program, at: Address, what: &str, text: &str) {
    let key = (at, CommentKind::Plate);
    let text = match program.comments.get(&key) {
        Some(known) if known.contains(what) => return,
        Some(known) => format!("{known}\n{text}"),
        None => text.to_owned(),
    };
    program.comments.insert(key, text.into());
}
