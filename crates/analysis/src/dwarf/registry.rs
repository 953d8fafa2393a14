//! The types that debug information named so far, over all of its units: each unit describes what
//! it uses anew, and some only announce what others describe.

use program::{DataType, Program, TypeId, TypeKind};
use std::collections::HashMap;
use std::mem::discriminant;
use std::sync::Arc;

/// Where all types are.
const ROOT: &str = "/DWARF";
/// Where types are that no file declares.
const UNDECLARED: &str = "/DWARF/_UNCATEGORIZED_";
/// Types of one name that are told apart.
const ALIKE: usize = 64;
/// Pointers to pointers that go with a type to another category.
const LEVELS: usize = 4;

/// One type of a name.
#[derive(Clone, Copy)]
struct Known {
    id: TypeId,
    /// Tells one description from another; nothing for a type that was only announced.
    shape: Option<u64>,
}

/// The types by their names with all namespaces.
#[derive(Default)]
pub(super) struct Registry {
    known: HashMap<Arc<str>, Vec<Known>>,
    names: HashMap<TypeId, Arc<str>>,
    /// Whether an analysis before may have left types.
    again: bool,
}

/// What became of a type.
pub(super) enum Taken {
    /// It is known as it is described.
    Known(TypeId),
    /// It is new, or was only announced before: its members are still to be looked at.
    New(TypeId),
}

impl Registry {
    /// Of a program that may have been analysed before.
    pub(super) fn new(program: &Program) -> Registry {
        let again = program.types.iter().any(|(_, t)| t.category.starts_with(ROOT));
        Registry { again, ..Registry::default() }
    }

    /// The name with all namespaces that a type has.
    pub(super) fn name(&self, id: TypeId) -> Option<&str> {
        self.names.get(&id).map(|name| &**name)
    }

    /// Takes in a type under its full name. Another one of that name with another description gets
    /// a name of its own.
    pub(super) fn take(
        &mut self,
        program: &mut Program,
        full: &str,
        made: DataType,
        shape: Option<u64>,
    ) -> Taken {
        let kind = discriminant(&made.kind);
        let alike = self.known.get_mut(full).map(Vec::as_mut_slice).unwrap_or_default();
        let crowded = alike.len() >= ALIKE;
        for known in alike {
            let other = program.types.get(known.id);
            if other.is_none_or(|other| discriminant(&other.kind) != kind) {
                continue;
            }
            match (known.shape, shape) {
                (Some(before), Some(now)) if before != now && !crowded => {}
                (None, Some(_)) => {
                    known.shape = shape;
                    rehome(program, known.id, &made.category);
                    return Taken::New(known.id);
                }
                _ => return Taken::Known(known.id),
            }
        }
        let left = self.again.then(|| self.left(program, full, &made)).flatten();
        if let Some(id) = left.filter(|_| shape.is_some()) {
            rehome(program, id, &made.category);
        }
        let id = left.unwrap_or_else(|| self.add(program, full, made));
        let full: Arc<str> = full.into();
        self.known.entry(Arc::clone(&full)).or_default().push(Known { id, shape });
        self.names.insert(id, full);
        match shape {
            Some(_) => Taken::New(id),
            None => Taken::Known(id),
        }
    }

    /// The type that an analysis before made out of the same description.
    fn left(&self, program: &Program, full: &str, made: &DataType) -> Option<TypeId> {
        let others = self.known.get(full).map_or(0, Vec::len);
        let namespace = full.rsplit_once('/').map_or("", |(namespace, _)| namespace);
        program.types.named(&numbered(&made.name, others)).find(|id| {
            let Some(known) = program.types.get(*id) else { return false };
            let alike = match (&known.kind, &made.kind) {
                (TypeKind::Struct { .. }, TypeKind::Struct { .. })
                | (TypeKind::Union { .. }, TypeKind::Union { .. })
                | (TypeKind::Enum { .. }, TypeKind::Enum { .. }) => true,
                (known, made) => known == made,
            };
            alike && known.category.starts_with(ROOT) && known.category.ends_with(namespace)
        })
    }

    /// Adds a type under a name that is free.
    fn add(&self, program: &mut Program, full: &str, made: DataType) -> TypeId {
        let plain = Arc::clone(&made.name);
        let mut made = made;
        let others = self.known.get(full).map_or(0, Vec::len);
        for number in others..others + ALIKE {
            made.name = numbered(&plain, number);
            if program.types.at_path(&made.path()).is_none() {
                break;
            }
        }
        program.types.add(made)
    }

    /// An enumeration of a full name and size whose values agree with others, so that both can be
    /// one.
    pub(super) fn agreeing(
        &self,
        program: &Program,
        full: &str,
        length: Option<u32>,
        values: &[(Arc<str>, i64, Arc<str>)],
    ) -> Option<TypeId> {
        self.known.get(full)?.iter().map(|known| known.id).find(|id| {
            let Some(other) = program.types.get(*id) else { return false };
            let TypeKind::Enum { values: others } = &other.kind else { return false };
            let others: HashMap<&str, i64> = others.iter().map(|v| (&*v.0, v.1)).collect();
            let agrees =
                |v: &(Arc<str>, i64, Arc<str>)| others.get(&*v.0).is_none_or(|known| *known == v.1);
            other.length == length && values.iter().all(agrees)
        })
    }
}

/// The name of a type before which there are others of its name.
pub(super) fn numbered(name: &str, others: usize) -> Arc<str> {
    match others {
        0 => name.into(),
        1 => format!("{name}.conflict").into(),
        _ => format!("{name}.conflict{}", others - 1).into(),
    }
}

/// Moves a type that no file declares to where its typedef is declared.
pub(super) fn declare(program: &mut Program, id: TypeId, category: &Arc<str>) {
    if program.types.get(id).is_some_and(|t| t.category.starts_with(UNDECLARED)) {
        rehome(program, id, category);
    }
}

/// Moves a type to another category, with the pointers to it.
fn rehome(program: &mut Program, id: TypeId, to: &Arc<str>) {
    let Some(old) = program.types.get(id).cloned() else { return };
    let moved = |known: &DataType| DataType { category: Arc::clone(to), ..known.clone() };
    program.types.replace(id, moved(&old));
    let mut pointer = DataType::clone(&old);
    for _ in 0..LEVELS {
        pointer.name = format!("{} *", pointer.name).into();
        let Some(found) = program.types.at_path(&pointer.path()) else { return };
        let Some(known) = program.types.get(found).cloned() else { return };
        program.types.replace(found, moved(&known));
    }
}
