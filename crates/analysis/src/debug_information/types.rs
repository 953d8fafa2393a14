//! Types that debug information of every kind is made into.

use program::data_type::{Field, FunctionType, SignatureParameter};
use program::{DataType, Program, TypeId, TypeKind};
use std::sync::Arc;

/// Longest name of a function's type.
const LONGEST: usize = 1000;

/// A member at an offset in bytes, or at its first bit and with its width in bits. `None` if it
/// takes no room.
pub(crate) fn member(
    program: &Program,
    data_type: TypeId,
    name: String,
    offset: u64,
    bits: Option<(u64, u64)>,
) -> Option<Field> {
    let (mut offset, mut length) = (offset, u64::from(program.types.length(data_type)?));
    let mut kept = None;
    if let Some((first, width @ 1..=64)) = bits {
        let low = first % 8;
        offset = first / 8;
        length = (low + width).div_ceil(8);
        kept = Some((low as u8, width as u8));
    }
    if length == 0 {
        return None;
    }
    Some(Field {
        offset: u32::try_from(offset).ok()?,
        data_type,
        length: u32::try_from(length).ok()?,
        name: name.into(),
        comment: "".into(),
        bits: kept,
    })
}

/// The alignment that members need.
pub(crate) fn alignment(program: &Program, fields: &[Field]) -> u32 {
    let each = fields.iter().filter_map(|f| program.types.get(f.data_type).map(|t| t.alignment));
    each.max().unwrap_or(1)
}

/// How the functions are called that a pointer leads to.
pub(crate) struct FunctionShape {
    pub(crate) returned: TypeId,
    /// Names and types.
    pub(crate) parameters: Vec<(String, TypeId)>,
    pub(crate) convention: Option<Arc<str>>,
    pub(crate) varargs: bool,
}

impl FunctionShape {
    /// What such functions are.
    pub(crate) fn into_type(self) -> FunctionType {
        let parameters = self.parameters.into_iter();
        let parameters =
            parameters.map(|(name, data_type)| SignatureParameter { name: name.into(), data_type });
        FunctionType {
            return_type: self.returned,
            parameters: parameters.collect(),
            convention: self.convention,
            varargs: self.varargs,
            no_return: false,
        }
    }

    /// Adds its type, named after what such functions take and return and with `ending`.
    pub(crate) fn add(self, program: &mut Program, category: &str, ending: &str) -> TypeId {
        let parameters = self.parameters.iter().map(|(_, id)| *id);
        let words = std::iter::once(self.returned)
            .chain(parameters)
            .map(|id| program.types.name(id).replace(" *", "_ptr").replace([' ', '[', ']'], "_"));
        let words: Vec<String> = words.collect();
        let name = format!("_func_{}{ending}", words.join("_"));
        let name: String = name.chars().take(LONGEST).collect();
        program.types.add(DataType {
            category: category.into(),
            name: name.into(),
            length: None,
            alignment: 1,
            description: "".into(),
            kind: TypeKind::Function(self.into_type()),
            used: true,
        })
    }
}
