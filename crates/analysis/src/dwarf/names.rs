//! What entries are called and which namespaces they are in: by what is around them and, where
//! nobody named them, by what speaks of them.

use super::source::Source;
use super::types::Types;
use super::units::Place;
use super::{DEEPEST, Entry};
use gimli::{DwTag, UnitOffset};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

/// Members that a nameless type is called after.
const REFERRING: usize = 64;
/// Longest name with all namespaces.
const LONGEST: usize = 1 << 11;

/// A member of a type that has no name.
#[derive(Clone, Copy)]
struct Referring {
    member: UnitOffset,
    owner: UnitOffset,
    position: usize,
}

/// An entry around others.
struct Around {
    at: UnitOffset,
    /// Entries inside of it so far, and those of them that are blocks or usually have names.
    inside: usize,
    blocks: usize,
    named: usize,
}

/// What one look at all entries of a unit tells of them.
#[derive(Default)]
pub(super) struct Outline {
    /// Entries that are inside of others than the whole unit, with those, in order.
    parents: Vec<(UnitOffset, UnitOffset)>,
    /// How many of their kind are before blocks and nameless namespaces inside of the same entry.
    positions: HashMap<UnitOffset, usize>,
    /// The typedefs of nameless types, unless there are several of one.
    typedefs: HashMap<Place, Option<UnitOffset>>,
    members: HashMap<Place, Vec<Referring>>,
}

impl Outline {
    pub(super) fn of(source: &Source<'_, '_>) -> Outline {
        let mut outline = Outline::default();
        let mut nameless = HashSet::new();
        let (mut typedefs, mut members) = (Vec::new(), Vec::new());
        let mut around: Vec<Around> = Vec::new();
        let mut entries = source.here.unit.entries();
        let mut depth = 0isize;
        while let Ok(Some((delta, entry))) = entries.next_dfs() {
            depth = (depth + delta).max(0);
            around.truncate(depth as usize);
            let at = entry.offset();
            if around.len() > 1 && has_namespace(entry.tag()) {
                let inside = around.last().map(|parent| (at, parent.at));
                outline.parents.extend(inside);
            }
            if let Some(parent) = around.last() {
                match entry.tag() {
                    gimli::DW_TAG_lexical_block => outline.positions.insert(at, parent.blocks),
                    gimli::DW_TAG_namespace => outline.positions.insert(at, parent.named),
                    _ => None,
                };
            }
            if may_be_nameless(entry.tag()) && own_name(source, entry).is_none() {
                nameless.insert(at);
            }
            let type_of = |entry| source.type_of(entry);
            match (entry.tag(), around.last()) {
                (gimli::DW_TAG_typedef, _) => typedefs.extend(type_of(entry).map(|to| (to, at))),
                (gimli::DW_TAG_member, Some(parent)) => {
                    let (owner, position) = (parent.at, parent.inside);
                    let member = Referring { member: at, owner, position };
                    members.extend(type_of(entry).map(|to| (to, member)));
                }
                _ => {}
            }
            if let Some(parent) = around.last_mut() {
                parent.inside += 1;
                parent.blocks += usize::from(entry.tag() == gimli::DW_TAG_lexical_block);
                parent.named += usize::from(is_named(entry.tag()));
            }
            around.push(Around { at, inside: 0, blocks: 0, named: 0 });
        }
        let here = source.here.number;
        let matters = |to: &Place| to.unit != here || nameless.contains(&to.offset);
        for (to, at) in typedefs.into_iter().filter(|(to, _)| matters(to)) {
            outline.typedefs.entry(to).and_modify(|known| *known = None).or_insert(Some(at));
        }
        for (to, member) in members.into_iter().filter(|(to, _)| matters(to)) {
            let known: &mut Vec<Referring> = outline.members.entry(to).or_default();
            if known.len() < REFERRING {
                known.push(member);
            }
        }
        outline
    }

    /// The entry around one, unless that is the whole unit.
    fn parent(&self, at: UnitOffset) -> Option<UnitOffset> {
        let index = self.parents.binary_search_by_key(&at, |(inner, _)| *inner).ok()?;
        Some(self.parents[index].1)
    }
}

/// What an entry is called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Naming {
    /// The namespaces around it, each behind a slash.
    pub(super) namespace: Arc<str>,
    pub(super) name: String,
    /// Whether nobody named it.
    pub(super) anonymous: bool,
}

impl Naming {
    /// Its name with all namespaces.
    pub(super) fn full(&self) -> String {
        // Implementations in Rust have numbers, no names. Many may be in namespaces without end.
        let has_no_name = self.name.starts_with("{impl#");
        match has_no_name || self.namespace.len() + self.name.len() > LONGEST {
            true => self.namespace.to_string(),
            false => format!("{}/{}", self.namespace, self.name.replace('/', "\\/")),
        }
    }
}

/// Whether an entry describes a type.
pub(super) fn is_type(tag: DwTag) -> bool {
    is_composite(tag)
        || matches!(
            tag,
            gimli::DW_TAG_base_type
                | gimli::DW_TAG_array_type
                | gimli::DW_TAG_typedef
                | gimli::DW_TAG_enumeration_type
                | gimli::DW_TAG_pointer_type
                | gimli::DW_TAG_reference_type
                | gimli::DW_TAG_rvalue_reference_type
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_ptr_to_member_type
                | gimli::DW_TAG_unspecified_type
                | gimli::DW_TAG_subroutine_type
        )
}

pub(super) fn is_composite(tag: DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type
    )
}

/// Whether it matters what is around an entry.
fn has_namespace(tag: DwTag) -> bool {
    is_type(tag) || is_container(tag) || tag == gimli::DW_TAG_variable
}

/// The names of namespaces that are each behind a slash.
pub(super) fn path(namespace: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut rest = namespace.chars();
    while let Some(c) = rest.next() {
        match (c, names.last_mut()) {
            ('/', _) => names.push(String::new()),
            ('\\', Some(name)) if rest.as_str().starts_with('/') => name.extend(rest.next()),
            (c, Some(name)) => name.push(c),
            (c, None) => names.push(c.into()),
        }
    }
    names
}

/// Whether what is inside of an entry is in a namespace of its own.
fn is_container(tag: DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_namespace
            | gimli::DW_TAG_module
            | gimli::DW_TAG_subprogram
            | gimli::DW_TAG_lexical_block
    )
}

/// Whether entries of a kind usually have names.
fn is_named(tag: DwTag) -> bool {
    may_be_nameless(tag)
        || matches!(
            tag,
            gimli::DW_TAG_base_type
                | gimli::DW_TAG_typedef
                | gimli::DW_TAG_namespace
                | gimli::DW_TAG_subprogram
                | gimli::DW_TAG_unspecified_type
        )
}

fn may_be_nameless(tag: DwTag) -> bool {
    is_composite(tag)
        || matches!(tag, gimli::DW_TAG_enumeration_type | gimli::DW_TAG_subroutine_type)
}

/// The name that an entry has, or the linker has for it.
fn own_name<'a>(source: &Source<'_, 'a>, entry: &Entry<'_, 'a>) -> Option<String> {
    let linked = || {
        let names = [gimli::DW_AT_linkage_name, gimli::DW_AT_MIPS_linkage_name];
        names.into_iter().find_map(|name| source.attribute_text(entry, name))
    };
    source.name(entry).or_else(linked)
}

impl<'a> Types<'_, 'a> {
    fn source_of(&self, at: Place) -> Option<Source<'_, 'a>> {
        let here = self.source.units.open(at.unit)?;
        Some(Source { units: self.source.units, here })
    }

    /// What the entry at a place is called.
    pub(super) fn naming(&mut self, at: Place) -> Rc<Naming> {
        self.naming_within(at, 0)
    }

    fn naming_within(&mut self, at: Place, depth: usize) -> Rc<Naming> {
        if let Some(known) = self.namings.get(&at) {
            return Rc::clone(known);
        }
        let made = match depth < DEEPEST {
            true => Rc::new(self.make_naming(at, depth).unwrap_or_default()),
            false => Rc::default(),
        };
        self.namings.insert(at, Rc::clone(&made));
        made
    }

    fn make_naming(&mut self, at: Place, depth: usize) -> Option<Naming> {
        let source = Source { units: self.source.units, here: self.source.units.open(at.unit)? };
        let entry = source.here.unit.entry(at.offset).ok()?;
        if let Some(whole) = source.announced(&entry).filter(|whole| *whole != at) {
            return Some(Naming::clone(&self.naming_within(whole, depth + 1)));
        }
        let declared = source.declaration(at, &entry);
        let parent = self.parent(declared);
        let namespace = parent.map(|parent| self.naming_within(parent, depth + 1).full());
        let namespace: Arc<str> = namespace.unwrap_or_default().into();
        if let Some(name) = own_name(&source, &entry) {
            return Some(Naming { namespace, name, anonymous: false });
        }
        if let Some(typedef) = self.only_typedef(at).filter(|typedef| *typedef != at) {
            return Some(Naming::clone(&self.naming_within(typedef, depth + 1)));
        }
        let (name, namespace) = match entry.tag() {
            tag if is_composite(tag) => self.by_members(at, &source, &entry, namespace, depth),
            gimli::DW_TAG_enumeration_type => {
                let size = source.number(&entry, gimli::DW_AT_byte_size).unwrap_or(1).max(1);
                (format!("anon_enum_{}", size.saturating_mul(8)), namespace)
            }
            gimli::DW_TAG_lexical_block => {
                let around = parent.map(|parent| self.naming_within(parent, depth + 1));
                let before = around.as_deref().and_then(|n| n.name.strip_prefix("lexical_block"));
                let position = self.position(at);
                (format!("lexical_block{}_{position}", before.unwrap_or_default()), namespace)
            }
            tag if parent.is_some() && tag != gimli::DW_TAG_subroutine_type => {
                let before = self.position(at);
                (format!("anon_{}_{before}", container(tag)), namespace)
            }
            tag => {
                let place = source.here.unit.header.offset();
                let place = place.as_debug_info_offset().map_or(0, |section| section.0);
                (format!("anon_{}.dwarf_{:x}", container(tag), place + at.offset.0), namespace)
            }
        };
        Some(Naming { namespace, name, anonymous: true })
    }

    /// A name out of what is in a nameless type, and out of the members that are of it: these also
    /// tell where it belongs.
    fn by_members(
        &mut self,
        at: Place,
        source: &Source<'_, 'a>,
        entry: &Entry<'_, 'a>,
        namespace: Arc<str>,
        depth: usize,
    ) -> (String, Arc<str>) {
        let mut name = format!("anon_{}_{}", container(entry.tag()), fingerprint(source, entry));
        let members = source.here.outline(source).members.get(&at).cloned().unwrap_or_default();
        let Some(first) = members.first().copied() else { return (name, namespace) };
        if members.iter().any(|member| member.owner != first.owner) {
            return (name, namespace);
        }
        let owner = Place { unit: at.unit, offset: first.owner };
        let owner = self.naming_within(owner, depth + 1);
        for (number, member) in members.iter().enumerate() {
            let own = source.here.unit.entry(member.member).ok();
            let own = own.and_then(|entry| source.name(&entry));
            let own = own.unwrap_or_else(|| format!("{}_{}", owner.name, member.position));
            if name.len() + own.len() > LONGEST {
                break;
            }
            name.push_str(if number == 0 { "_for_" } else { "_" });
            name.push_str(&own);
        }
        (name, owner.full().into())
    }

    /// The entry around the declaration of one, unless that is the whole unit.
    pub(super) fn around(&self, at: Place) -> Option<Place> {
        let source = self.source_of(at)?;
        let entry = source.here.unit.entry(at.offset).ok()?;
        self.parent(source.declaration(at, &entry))
    }

    /// The entry around one, unless that is the whole unit.
    fn parent(&self, at: Place) -> Option<Place> {
        let source = self.source_of(at)?;
        let offset = source.here.outline(&source).parent(at.offset)?;
        Some(Place { offset, ..at })
    }

    /// How many blocks are before a block, or entries with names before a namespace, inside of the
    /// same entry.
    fn position(&self, at: Place) -> usize {
        let Some(source) = self.source_of(at) else { return 0 };
        source.here.outline(&source).positions.get(&at.offset).copied().unwrap_or(0)
    }

    /// The typedef of a type, if there is one, in its own unit or the one whose turn it is.
    fn only_typedef(&self, at: Place) -> Option<Place> {
        let own = self.source.units.open(at.unit)?;
        let home = self.source.units.open(self.home)?;
        [own, home].into_iter().find_map(|here| {
            let unit = here.number;
            let source = Source { units: self.source.units, here };
            let typedef = *source.here.outline(&source).typedefs.get(&at)?;
            Some(Place { unit, offset: typedef? })
        })
    }

    /// The category of a type: after the source file that declares it, if a line is told as well.
    pub(super) fn category_of(&self, at: Place, naming: &Naming) -> Arc<str> {
        let file = self.declaring_file(at);
        let file = file.filter(|file| !file.contains("built-in"));
        let root = file.map_or_else(|| "_UNCATEGORIZED_".to_owned(), |f| f.replace('/', "\\/"));
        format!("/DWARF/{root}{}", naming.namespace).into()
    }

    /// That of a function, which may be declared where its class is.
    pub(super) fn category_of_function(&self, at: Place, naming: &Naming) -> Arc<str> {
        let declared = self.source_of(at).and_then(|source| {
            let entry = source.here.unit.entry(at.offset).ok()?;
            Some(source.declaration(at, &entry))
        });
        let around = declared.and_then(|declared| self.parent(declared));
        match around.filter(|_| self.declaring_file(at).is_none()) {
            Some(around) => self.category_of(around, naming),
            None => self.category_of(at, naming),
        }
    }

    fn declaring_file(&self, at: Place) -> Option<String> {
        let source = self.source_of(at)?;
        let entry = source.here.unit.entry(at.offset).ok()?;
        let has_line =
            |entry: &Entry<'_, 'a>| source.attribute(entry, gimli::DW_AT_decl_line).is_some();
        let mut told = has_line(&entry);
        if !told && matches!(entry.tag(), gimli::DW_TAG_subprogram | gimli::DW_TAG_subroutine_type)
        {
            source.children(&entry, |child| {
                let parameter = child.entry().tag() == gimli::DW_TAG_formal_parameter;
                told = parameter && has_line(child.entry());
                !told
            });
        }
        if !told {
            return None;
        }
        let mut next = Some(at.offset);
        for _ in 0..DEEPEST {
            let entry = source.here.unit.entry(next?).ok()?;
            if let Some(file) = source.file(&entry) {
                return Some(file);
            }
            next = source.here.outline(&source).parent(next?);
        }
        None
    }
}

/// What a nameless entry is called after.
pub(super) fn container(tag: DwTag) -> &'static str {
    match tag {
        gimli::DW_TAG_structure_type => "struct",
        gimli::DW_TAG_class_type => "class",
        gimli::DW_TAG_union_type => "union",
        gimli::DW_TAG_enumeration_type => "enum",
        gimli::DW_TAG_subprogram => "subprogram",
        gimli::DW_TAG_subroutine_type => "subr",
        _ => "unknown",
    }
}

/// Size, number of members and a checksum of their names and places.
fn fingerprint<'a>(source: &Source<'_, 'a>, entry: &Entry<'_, 'a>) -> String {
    let size = source.number(entry, gimli::DW_AT_byte_size).unwrap_or(0);
    let mut names: Vec<String> = Vec::new();
    source.children(entry, |child| {
        let entry = child.entry();
        let counts = matches!(entry.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance)
            && source.attribute(entry, gimli::DW_AT_external).is_none();
        if counts {
            let place = source.member_place(entry).flatten().unwrap_or(0);
            let number = names.len() + 1;
            let name = source.plain_name(entry);
            let name = name.unwrap_or_else(|| format!("UNNAMED_MEMBER_{number}"));
            names.push(format!("{place:04x}_{name}"));
        }
        true
    });
    names.sort();
    let sum = names.iter().fold(1i32, |sum, name| {
        let own = name
            .encode_utf16()
            .fold(0i32, |sum, unit| sum.wrapping_mul(31).wrapping_add(i32::from(unit)));
        sum.wrapping_mul(31).wrapping_add(own)
    });
    format!("{size}_{}_{sum:08x}", names.len())
}
