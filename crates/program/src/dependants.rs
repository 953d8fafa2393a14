//! What becomes of types, and of data, when a type that they hold changes its length.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::Program;
use crate::address::Address;
use crate::data_type::{DataType, DataTypes, Field, TypeId, TypeKind};
use crate::layout::{Arrangement, MAX_LENGTH, Member, lay_out};
use crate::listing::DataUnit;

/// Why a change of types cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TypeFault {
    /// A type would hold itself; the path of the type.
    #[error("{0} would contain itself")]
    Circular(String),
    /// A type would become too large; its path.
    #[error("{0} would be too large")]
    TooLarge(String),
}

impl Program {
    /// Brings everything that holds one of the `changed` types up to date: lengths of typedefs
    /// and arrays, layouts of structures and unions, data in memory. `before` is the state of the
    /// types before the change. O(all types) when a length did change.
    pub fn settle_types(
        &mut self,
        before: &DataTypes,
        changed: &[TypeId],
    ) -> Result<(), TypeFault> {
        let moved = self.types.settle(before, changed)?;
        if moved.is_empty() {
            return Ok(());
        }
        let units = self.listing.data.iter().filter(|(_, unit)| moved.contains(&unit.data_type));
        let units: Vec<(Address, DataUnit)> = units.map(|(at, unit)| (*at, *unit)).collect();
        for (address, unit) in units {
            let Some(wanted) = self.types.member_length(unit.data_type) else { continue };
            let length = self.room_for(address, wanted);
            if length != unit.length {
                self.listing.data.insert(address, DataUnit { length, ..unit });
            }
        }
        Ok(())
    }

    /// As much of a length as there is before the next unit or the end of the block.
    fn room_for(&self, address: Address, wanted: u32) -> u32 {
        let next = self.listing.next_defined(address).and_then(|next| next.distance_from(address));
        let block = self.memory.block_at(address).map(|block| block.range().end);
        let end = block.and_then(|end| end.distance_from(address)).map(|last| last + 1);
        let room = next.into_iter().chain(end).min().unwrap_or(u64::from(wanted));
        u32::try_from(room).unwrap_or(u32::MAX).min(wanted).max(1)
    }
}

/// What a type holds by value.
fn held(kind: &TypeKind) -> Vec<TypeId> {
    match kind {
        TypeKind::Typedef(base) | TypeKind::Array { element: base, .. } => vec![*base],
        TypeKind::Struct { fields, .. } | TypeKind::Union { fields } => {
            fields.iter().map(|field| field.data_type).collect()
        }
        _ => Vec::new(),
    }
}

impl DataTypes {
    /// Brings the holders of changed types up to date; gives all types whose length is another.
    fn settle(
        &mut self,
        before: &DataTypes,
        changed: &[TypeId],
    ) -> Result<BTreeSet<TypeId>, TypeFault> {
        for id in changed {
            if self.holds(*id, *id) {
                return Err(TypeFault::Circular(self.path_of(*id)));
            }
        }
        let shape = |types: &DataTypes, id| types.get(id).map(|t| (t.length, t.alignment));
        let resized = |id: &&TypeId| shape(before, **id) != shape(self, **id);
        let mut moved: BTreeSet<TypeId> = changed.iter().filter(resized).copied().collect();
        if moved.is_empty() {
            return Ok(moved);
        }
        for id in self.with_holders(&moved) {
            if self.refresh(before, id)? {
                moved.insert(id);
            }
        }
        Ok(moved)
    }

    /// Whether a type holds another (or itself) by value, at any depth.
    pub fn holds(&self, outer: TypeId, wanted: TypeId) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![outer];
        while let Some(at) = open.pop() {
            for inner in self.get(at).map(|known| held(&known.kind)).unwrap_or_default() {
                if inner == wanted {
                    return true;
                }
                if seen.insert(inner) {
                    open.push(inner);
                }
            }
        }
        false
    }

    fn path_of(&self, id: TypeId) -> String {
        self.get(id).map(|known| known.path()).unwrap_or_default()
    }

    /// These types and everything that holds one, inner types before those around them.
    fn with_holders(&self, moved: &BTreeSet<TypeId>) -> Vec<TypeId> {
        let mut holders: BTreeMap<TypeId, BTreeSet<TypeId>> = BTreeMap::new();
        for (outer, known) in self.iter() {
            for inner in held(&known.kind) {
                holders.entry(inner).or_default().insert(outer);
            }
        }
        let mut affected: BTreeMap<TypeId, usize> = moved.iter().map(|id| (*id, 0)).collect();
        let mut open: Vec<TypeId> = moved.iter().copied().collect();
        while let Some(inner) = open.pop() {
            for outer in holders.get(&inner).into_iter().flatten() {
                let waits = affected.entry(*outer).or_insert_with(|| {
                    open.push(*outer);
                    0
                });
                *waits += 1;
            }
        }
        let mut ready: VecDeque<TypeId> =
            affected.iter().filter(|(_, waits)| **waits == 0).map(|(id, _)| *id).collect();
        let mut order = Vec::new();
        while let Some(inner) = ready.pop_front() {
            order.push(inner);
            for outer in holders.get(&inner).into_iter().flatten() {
                if let Some(waits) = affected.get_mut(outer) {
                    *waits -= 1;
                    if *waits == 0 {
                        ready.push_back(*outer);
                    }
                }
            }
        }
        order
    }

    /// Takes over the lengths of what a type holds; whether its own shape changed.
    fn refresh(&mut self, before: &DataTypes, id: TypeId) -> Result<bool, TypeFault> {
        let Some(old) = self.get(id).cloned() else { return Ok(false) };
        let too_large = || TypeFault::TooLarge(old.path());
        let mut new = DataType::clone(&old);
        match &mut new.kind {
            TypeKind::Typedef(base) => {
                new.length = self.length(*base);
                new.alignment = self.alignment(*base);
            }
            TypeKind::Array { element, count } => {
                new.length = match self.member_length(*element) {
                    Some(length) => Some(length.checked_mul(*count).ok_or_else(too_large)?),
                    None => None,
                };
                new.alignment = self.alignment(*element);
            }
            TypeKind::Struct { fields, packed } => {
                let length = old.length.unwrap_or(0);
                let way = |types: &DataTypes| {
                    types.arrangement(fields, false, length, old.alignment).filter(|_| *packed)
                };
                match way(before).or_else(|| way(self)) {
                    Some(arrangement) => {
                        (*fields, new.length, new.alignment) =
                            self.laid_out(fields, arrangement).ok_or_else(too_large)?;
                    }
                    None => new.length = Some(self.fit(fields, length).ok_or_else(too_large)?),
                }
            }
            TypeKind::Union { fields } => {
                let plain = old.alignment == 1;
                (*fields, new.length, new.alignment) =
                    self.laid_out(fields, Arrangement::UNION).ok_or_else(too_large)?;
                if plain {
                    new.length = Some(fields.iter().map(|f| f.length).max().unwrap_or(0));
                    new.alignment = 1;
                }
            }
            _ => return Ok(false),
        }
        if new.length.is_some_and(|length| length > MAX_LENGTH) {
            return Err(too_large());
        }
        let reshaped = (new.length, new.alignment) != (old.length, old.alignment);
        if new != *old {
            self.replace(id, new);
        }
        Ok(reshaped)
    }

    fn alignment(&self, id: TypeId) -> u32 {
        self.get(id).map_or(1, |known| known.alignment)
    }

    fn laid_out(
        &self,
        fields: &[Field],
        arrangement: Arrangement,
    ) -> Option<(Vec<Field>, Option<u32>, u32)> {
        let members = fields.iter().map(|field| Member::of(self, field)).collect();
        let layout = lay_out(self, members, arrangement)?;
        Some((layout.fields, Some(layout.length), layout.alignment))
    }

    /// Members at fixed places grow as far as the next one lets them; the last one moves the end.
    fn fit(&self, fields: &mut [Field], length: u32) -> Option<u32> {
        let mut total = length;
        for index in 0..fields.len() {
            let next = fields.get(index + 1).map(|next| next.offset);
            let Some(field) = fields.get_mut(index).filter(|field| field.bits.is_none()) else {
                continue;
            };
            let Some(wanted) = self.member_length(field.data_type) else { continue };
            let end = field.offset.checked_add(field.length)?;
            match next {
                Some(next) => field.length = wanted.min(next.saturating_sub(field.offset)),
                None => {
                    field.length = wanted;
                    let wanted_end = field.offset.checked_add(wanted)?;
                    total = if end == length { wanted_end } else { total.max(wanted_end) };
                }
            }
        }
        Some(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::composite::Composite;
    use crate::{BlockSource, DataOrganization, MemoryBlock, ProgramInfo};

    struct World {
        program: Program,
        inner: TypeId,
    }

    fn composite(name: &str, fields: Vec<Field>, length: u32, alignment: u32) -> DataType {
        DataType {
            category: "/".into(),
            name: name.into(),
            length: Some(length),
            alignment,
            description: "".into(),
            kind: TypeKind::Struct { fields, packed: alignment > 1 },
            used: true,
        }
    }

    fn field(data_type: TypeId, offset: u32, length: u32) -> Field {
        let name = "f".into();
        Field { offset, data_type, length, name, comment: "".into(), bits: None }
    }

    impl World {
        fn new() -> World {
            let info = ProgramInfo { address_bits: 64, ..ProgramInfo::default() };
            let mut program = Program::new(info, false, DataOrganization::default());
            let block = MemoryBlock::new("b", Address::ram(0), 64, BlockSource::Zero);
            program.memory.add_block(block).unwrap();
            let int = program.types.builtin("int");
            let inner = program.types.add(composite("inner", vec![field(int, 0, 4)], 4, 4));
            World { program, inner }
        }

        fn add(&mut self, data_type: DataType) -> TypeId {
            self.program.types.add(data_type)
        }

        fn grow(&mut self) -> Result<(), TypeFault> {
            let types = &mut self.program.types;
            let before = types.clone();
            let mut inner = Composite::of(types, self.inner).unwrap();
            inner.append(types, "more", types.builtin("long"), None).unwrap();
            inner.store(types);
            self.program.settle_types(&before, &[self.inner])
        }

        fn length(&self, id: TypeId) -> Option<u32> {
            self.program.types.length(id)
        }

        fn offsets(&self, id: TypeId) -> Vec<(u32, u32)> {
            match &self.program.types.get(id).unwrap().kind {
                TypeKind::Struct { fields, .. } | TypeKind::Union { fields } => {
                    fields.iter().map(|f| (f.offset, f.length)).collect()
                }
                _ => Vec::new(),
            }
        }
    }

    #[test]
    fn whatever_holds_a_type_follows_its_length() {
        let mut w = World::new();
        let (inner, int) = (w.inner, w.program.types.builtin("int"));
        let array = w.program.types.array_of(inner, 3);
        let kind = TypeKind::Typedef(array);
        let alias = w.add(DataType { kind, ..composite("alias", Vec::new(), 12, 4) });
        let ruled = vec![field(int, 0, 4), field(alias, 4, 12), field(int, 16, 4)];
        let ruled = w.add(composite("ruled", ruled, 20, 4));
        let tight = vec![field(w.program.types.builtin("char"), 0, 1), field(inner, 1, 4)];
        let mut tight = composite("tight", tight, 5, 1);
        tight.kind = match tight.kind {
            TypeKind::Struct { fields, .. } => TypeKind::Struct { fields, packed: true },
            other => other,
        };
        let tight = w.add(tight);
        let fields = vec![field(inner, 0, 4), field(int, 0, 4)];
        let union = TypeKind::Union { fields };
        let union = w.add(DataType { kind: union, ..composite("u", Vec::new(), 4, 1) });
        let pointer = w.program.types.pointer_to(inner);
        w.grow().unwrap();
        assert_eq!([inner, array, alias].map(|id| w.length(id)), [Some(16), Some(48), Some(48)]);
        assert_eq!(w.offsets(ruled), [(0, 4), (8, 48), (56, 4)]);
        assert_eq!(w.length(ruled), Some(64));
        assert_eq!((w.offsets(tight), w.length(tight)), (vec![(0, 1), (1, 16)], Some(17)));
        assert_eq!((w.length(union), w.length(pointer)), (Some(16), Some(8)));
    }

    #[test]
    fn members_at_fixed_places_grow_as_far_as_there_is_room() {
        let mut w = World::new();
        let (inner, int) = (w.inner, w.program.types.builtin("int"));
        let first = w.add(composite("first", vec![field(inner, 0, 4), field(int, 8, 4)], 12, 1));
        let last = w.add(composite("last", vec![field(int, 0, 4), field(inner, 4, 4)], 8, 1));
        w.grow().unwrap();
        assert_eq!((w.offsets(first), w.length(first)), (vec![(0, 8), (8, 4)], Some(12)));
        assert_eq!((w.offsets(last), w.length(last)), (vec![(0, 4), (4, 16)], Some(20)));
    }

    #[test]
    fn data_grows_up_to_what_comes_next() {
        let mut w = World::new();
        let (inner, int) = (w.inner, w.program.types.builtin("int"));
        for (at, data_type) in [(0, inner), (8, int), (16, inner), (56, inner)] {
            assert!(w.program.define_data(Address::ram(at), data_type, 4));
        }
        w.grow().unwrap();
        let lengths: Vec<u32> =
            w.program.listing.data.iter().map(|(_, unit)| unit.length).collect();
        assert_eq!(lengths, [8, 4, 16, 8]);
    }

    #[test]
    fn circles_and_giants_are_found() {
        let mut w = World::new();
        let inner = w.inner;
        let array = w.program.types.array_of(inner, 1 << 28);
        assert_eq!(w.grow(), Err(TypeFault::TooLarge("/inner[268435456]".to_owned())));
        let before = w.program.types.clone();
        w.program.types.replace(inner, composite("inner", vec![field(array, 0, 4)], 4, 4));
        let fault = w.program.settle_types(&before, &[inner]);
        assert_eq!(fault, Err(TypeFault::Circular("/inner".to_owned())));
    }
}
