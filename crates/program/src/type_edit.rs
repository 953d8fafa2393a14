//! Removing a data type, and mending what was made of it.

use std::collections::BTreeSet;

use crate::address::Address;
use crate::data_type::{DataType, Field, TypeId, TypeKind};
use crate::{Program, Storage};

impl Program {
    /// Removes a type. Typedefs, pointers and arrays of it go with it; members of structures
    /// become undefined bytes of the same size with a note, other uses become `undefined`, and
    /// data of it is cleared. Built-in types stay: false for those, and for unknown ones.
    pub fn remove_type(&mut self, id: TypeId) -> bool {
        let Some(known) = self.types.get(id) else { return false };
        if matches!(known.kind, TypeKind::Builtin(_)) {
            return false;
        }
        let doomed = self.made_of(id);
        self.mend_types(&doomed);
        self.mend_functions(&doomed);
        let units = self.listing.data.iter().filter(|(_, unit)| doomed.contains(&unit.data_type));
        let units: Vec<Address> = units.map(|(address, _)| *address).collect();
        for address in units {
            self.clear_data(address);
        }
        for id in doomed {
            self.types.remove(id);
        }
        true
    }

    /// The type with all typedefs, pointers and arrays of it.
    fn made_of(&self, id: TypeId) -> BTreeSet<TypeId> {
        let mut doomed = BTreeSet::from([id]);
        loop {
            let before = doomed.len();
            for (other, known) in self.types.iter() {
                let base = match known.kind {
                    TypeKind::Typedef(base) | TypeKind::Pointer(Some(base)) => Some(base),
                    TypeKind::Array { element, .. } => Some(element),
                    _ => None,
                };
                if base.is_some_and(|base| doomed.contains(&base)) {
                    doomed.insert(other);
                }
            }
            if doomed.len() == before {
                return doomed;
            }
        }
    }

    fn mend_types(&mut self, doomed: &BTreeSet<TypeId>) {
        let holders: Vec<(TypeId, DataType)> = self
            .types
            .iter()
            .filter(|(id, known)| !doomed.contains(id) && holds(&known.kind, doomed))
            .map(|(id, known)| (id, DataType::clone(known)))
            .collect();
        let undefined = self.types.builtin("undefined");
        for (id, mut holder) in holders {
            match &mut holder.kind {
                TypeKind::Struct { fields, .. } | TypeKind::Union { fields } => {
                    for field in fields.iter_mut().filter(|f| doomed.contains(&f.data_type)) {
                        self.mend_field(field);
                    }
                }
                TypeKind::Function(function) => {
                    let parameters = function.parameters.iter_mut().map(|p| &mut p.data_type);
                    let all = parameters.chain(std::iter::once(&mut function.return_type));
                    all.filter(|id| doomed.contains(id)).for_each(|id| *id = undefined);
                }
                _ => {}
            }
            self.types.replace(id, holder);
        }
    }

    fn mend_field(&mut self, field: &mut Field) {
        let name = self.types.name(field.data_type).to_owned();
        field.comment = format!("The type {name} was removed").into();
        field.data_type = match field.length {
            1..=8 => self.types.undefined(field.length),
            length => {
                let byte = self.types.builtin("undefined1");
                self.types.array_of(byte, length)
            }
        };
        self.types.mark_used(field.data_type);
    }

    fn mend_functions(&mut self, doomed: &BTreeSet<TypeId>) {
        // What is stored somewhere keeps its size.
        let undefined: Vec<TypeId> = (0..=8).map(|size| self.types.undefined(size)).collect();
        let of = |storage: &Storage| {
            let size: u64 = storage.pieces().iter().map(|piece| u64::from(piece.size)).sum();
            let size = usize::try_from(size).ok().filter(|size| *size < undefined.len());
            size.and_then(|size| undefined.get(size)).or(undefined.first()).copied()
        };
        let mend = |data_type: &mut TypeId, storage: &Storage| {
            if doomed.contains(data_type) {
                *data_type = of(storage).unwrap_or(*data_type);
            }
        };
        let entries: Vec<Address> = self
            .functions
            .iter()
            .filter(|function| {
                let parameters = function.signature.parameters.iter().map(|p| p.data_type);
                let locals = function.locals.iter().map(|local| local.data_type);
                let all = parameters.chain(locals).chain([function.signature.return_type]);
                all.into_iter().any(|id| doomed.contains(&id))
            })
            .map(|function| function.entry)
            .collect();
        for entry in entries {
            self.functions.edit(entry, |function| {
                let signature = &mut function.signature;
                mend(&mut signature.return_type, &signature.return_storage);
                signature.parameters.iter_mut().for_each(|p| mend(&mut p.data_type, &p.storage));
                function
                    .locals
                    .iter_mut()
                    .for_each(|local| mend(&mut local.data_type, &local.storage));
            });
        }
    }
}

fn holds(kind: &TypeKind, doomed: &BTreeSet<TypeId>) -> bool {
    match kind {
        TypeKind::Struct { fields, .. } | TypeKind::Union { fields } => {
            fields.iter().any(|field| doomed.contains(&field.data_type))
        }
        TypeKind::Function(function) => {
            doomed.contains(&function.return_type)
                || function.parameters.iter().any(|p| doomed.contains(&p.data_type))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AddressSet, BlockSource, DataOrganization, MemoryBlock, ProgramInfo};

    fn structure(name: &str, fields: Vec<Field>, length: u32) -> DataType {
        DataType {
            category: "/".into(),
            name: name.into(),
            length: Some(length),
            alignment: 1,
            description: "".into(),
            kind: TypeKind::Struct { fields, packed: false },
            used: true,
        }
    }

    #[test]
    fn what_was_made_of_a_removed_type_is_mended() {
        let info = ProgramInfo { address_bits: 64, ..ProgramInfo::default() };
        let mut p = Program::new(info, false, DataOrganization::default());
        let block = MemoryBlock::new("b", Address::ram(0), 64, BlockSource::Zero);
        p.memory.add_block(block).expect("is free");
        let inner = p.types.add(structure("inner", Vec::new(), 12));
        let pointer = p.types.pointer_to(inner);
        let field = |data_type, length| Field {
            offset: 0,
            data_type,
            length,
            name: "f".into(),
            comment: "".into(),
            bits: None,
        };
        let fields = vec![field(pointer, 8), field(inner, 12)];
        let outer = p.types.add(structure("outer", fields, 20));
        assert!(p.define_data(Address::ram(0), inner, 12));
        p.add_function(Address::ram(0x20), AddressSet::new());
        p.functions.edit(Address::ram(0x20), |f| {
            f.signature.return_type = pointer;
            f.signature.return_storage = Storage::at(Address::ram(0), 8);
        });

        assert!(p.remove_type(inner));
        assert!(p.types.get(inner).is_none() && p.types.get(pointer).is_none());
        assert!(p.listing.data.is_empty());
        let returned = p.functions.at(Address::ram(0x20)).map(|f| f.signature.return_type);
        assert_eq!(returned, Some(p.types.builtin("undefined8")));
        let Some(TypeKind::Struct { fields, .. }) = p.types.get(outer).map(|t| t.kind.clone())
        else {
            panic!("outer is still a structure");
        };
        let names: Vec<&str> = fields.iter().map(|f| p.types.name(f.data_type)).collect();
        assert_eq!(names, ["undefined8", "undefined1[12]"]);
        assert!(fields.iter().all(|f| !f.comment.is_empty()));
        let int = p.types.builtin("int");
        assert!(!p.remove_type(int), "built-in types stay");
    }
}
