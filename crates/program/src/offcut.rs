//! Names of places inside of instructions and data: what starts before them, and the way on
//! (`main+1`, `shelf[2].name`, `DAT_00102068+4`).

use std::fmt::Write;

use crate::Program;
use crate::address::Address;
use crate::data_type::{Builtin, TypeId, TypeKind};
use crate::listing::CodeUnit;

/// Offsets up to this one are written in decimal digits.
const LARGEST_DIGIT: u64 = 9;
/// Types inside of types.
const DEEPEST: usize = 32;

impl Program {
    /// The name of a place inside of the code unit that starts at `start`.
    pub(crate) fn offcut_label(
        &self,
        start: Address,
        unit: &CodeUnit,
        address: Address,
    ) -> Option<String> {
        let distance = address.distance_from(start)?;
        let mut name = match self.symbols.primary_at(start) {
            Some((id, _)) => self.symbol_name(id),
            None => self.synthetic_label(start)?,
        };
        let rest = match unit {
            CodeUnit::Data(data) => self.path_into(&mut name, data.data_type, distance),
            CodeUnit::Instruction(_) | CodeUnit::Undefined => distance,
        };
        match rest {
            0 => {}
            1..=LARGEST_DIGIT => write!(name, "+{rest}").ok()?,
            _ => write!(name, "+{rest:#x}").ok()?,
        }
        Some(name)
    }

    /// Appends the members and elements that lead to an offset; what is left of it.
    fn path_into(&self, name: &mut String, data_type: TypeId, mut offset: u64) -> u64 {
        let mut inner = data_type;
        for _ in 0..DEEPEST {
            match self.types.get(self.types.resolve(inner)).map(|known| &known.kind) {
                // A row of characters is one text.
                Some(TypeKind::Array { element, count }) if !self.is_character(*element) => {
                    let Some(length) = self.types.length(*element).filter(|n| *n > 0) else {
                        break;
                    };
                    let index = offset / u64::from(length);
                    if index >= u64::from(*count) {
                        break;
                    }
                    let _ = write!(name, "[{index}]");
                    (inner, offset) = (*element, offset % u64::from(length));
                }
                Some(TypeKind::Struct { fields, .. }) => {
                    let holds = |field: &&crate::data_type::Field| {
                        let start = u64::from(field.offset);
                        (start..start + u64::from(field.length.max(1))).contains(&offset)
                    };
                    let Some(field) = fields.iter().find(holds) else { break };
                    let _ = match &*field.name {
                        "" => write!(name, ".field_{:#x}", field.offset),
                        known => write!(name, ".{known}"),
                    };
                    (inner, offset) = (field.data_type, offset - u64::from(field.offset));
                }
                _ => break,
            }
        }
        offset
    }

    fn is_character(&self, id: TypeId) -> bool {
        let builtin = self.types.as_builtin(self.types.resolve(id));
        matches!(builtin, Some(Builtin::Char | Builtin::WideChar))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::data_type::{DataType, Field, TypeKind};
    use crate::{
        Address, BlockSource, DataOrganization, MemoryBlock, Program, ProgramInfo, SourceType,
        SymbolId,
    };

    #[test]
    fn places_inside_of_data_are_named_by_the_way_to_them() {
        let info = ProgramInfo { address_bits: 64, ..ProgramInfo::default() };
        let mut p = Program::new(info, false, DataOrganization::default());
        let block = MemoryBlock::new(".data", Address::ram(0x1000), 0x100, BlockSource::Zero);
        p.memory.add_block(block).expect("nothing is in the way");
        let (int, letter) = (p.types.builtin("int"), p.types.builtin("char"));
        let field = |offset, data_type, length, name: &str| Field {
            offset,
            data_type,
            length,
            name: name.into(),
            comment: Arc::from(""),
            bits: None,
        };
        let name = p.types.array_of(letter, 12);
        let fields = vec![field(0, int, 4, "kind"), field(4, name, 12, "name")];
        let item = p.types.add(DataType {
            name: "item".into(),
            category: "/".into(),
            length: Some(16),
            description: "".into(),
            alignment: 4,
            used: true,
            kind: TypeKind::Struct { fields, packed: false },
        });
        let shelf = p.types.array_of(item, 4);
        assert!(p.define_data(Address::ram(0x1000), shelf, 64));
        assert!(p.define_data(Address::ram(0x1040), int, 4));
        p.add_label(Address::ram(0x1000), "shelf", SymbolId::GLOBAL, SourceType::Imported);
        let name = |at| p.synthetic_label(Address::ram(at)).unwrap_or_default();
        assert_eq!(name(0x1010), "shelf[1].kind");
        assert_eq!(name(0x1012), "shelf[1].kind+2");
        assert_eq!(name(0x1034), "shelf[3].name");
        assert_eq!(name(0x103f), "shelf[3].name+0xb");
        assert_eq!(name(0x1043), "INT_00001040+3");
    }
}
