//! Built-in types of compilers: arithmetic words, extended floats, complex numbers, vectors, modes
//! and `va_list`, as types of the program.

use std::sync::Arc;

use program::data_type::{Builtin, DataType, Field, TypeKind};
use program::layout::{Arrangement, Member, lay_out};
use program::{TypeId, VaList};

use super::{Attributes, Parser};
use crate::CError;

/// Largest vector, in bytes.
const MAX_VECTOR: u32 = 4096;

impl Parser<'_> {
    /// The built-in that a run of arithmetic words names.
    pub(super) fn arithmetic(&mut self, words: &[&str], start: usize) -> Result<TypeId, CError> {
        let text = self.text;
        let wrong = || CError::new(text, start, format!("{} is no type", words.join(" ")));
        let (mut unsigned, mut signed, mut complex, mut int, mut long) = (0, 0, 0, 0, 0);
        let mut main = "";
        for word in words {
            match *word {
                "unsigned" => unsigned += 1,
                "signed" | "__signed__" | "__signed" => signed += 1,
                "_Complex" | "__complex__" => complex += 1,
                "int" => int += 1,
                "long" => long += 1,
                _ if main.is_empty() => main = word,
                _ => return Err(wrong()),
            }
        }
        if unsigned + signed > 1 || int > 1 || complex > 1 {
            return Err(wrong());
        }
        let fixed = matches!(main, "void" | "_Bool") || main.contains("loat");
        if (fixed || main == "double") && (unsigned + signed + int > 0) {
            return Err(wrong());
        }
        if long > 0 && !matches!((main, long), ("", 1 | 2) | ("double", 1)) {
            return Err(wrong());
        }
        let extended =
            (main == "double" && long == 1) || ["_Float64x", "__float80"].contains(&main);
        let number = if extended {
            self.long_double()?
        } else {
            let name = self.arithmetic_name(main, long, unsigned > 0, signed > 0);
            self.types.builtin(name.map_err(|message| self.error_at(start, message))?)
        };
        if complex == 0 {
            return Ok(number);
        }
        if self.types.as_builtin(number) != Some(Builtin::Float) {
            return Err(self.error_at(start, "complex numbers are of floating point numbers"));
        }
        let name = format!("complex_{}", self.types.name(number));
        self.record(&name, &[("real", number), ("imaginary", number)])
    }

    fn arithmetic_name(
        &self,
        main: &str,
        long: u32,
        unsigned: bool,
        signed: bool,
    ) -> Result<&'static str, String> {
        let compiler = &self.types.organization().compiler;
        Ok(match main {
            "void" => "void",
            "_Bool" => "bool",
            "char" | "__int8" if unsigned => "uchar",
            "char" if signed => "schar",
            "char" | "__int8" => "char",
            "short" | "__int16" => {
                if unsigned {
                    "ushort"
                } else {
                    "short"
                }
            }
            "__int32" => {
                if unsigned {
                    "uint"
                } else {
                    "int"
                }
            }
            "__int64" | "_int64" => {
                if unsigned {
                    "ulonglong"
                } else {
                    "longlong"
                }
            }
            "__int128" | "__int128_t" | "__uint128_t" => {
                if self.types.organization().pointer < 8 {
                    return Err(format!("this program's compiler has no {main}"));
                }
                if unsigned || main == "__uint128_t" { "uint16" } else { "int16" }
            }
            "" => self.integer_name(
                match long {
                    0 => compiler.int,
                    1 => compiler.long,
                    _ => 8,
                },
                long,
                unsigned,
            ),
            "float" | "_Float32" => "float",
            "double" if compiler.double == 4 => "float",
            "double" | "_Float64" | "_Float32x" => "double",
            "_Float16" | "__fp16" => "float2",
            "_Float128" | "__float128" => "float16",
            _ => return Err(format!("{main} is a type that is not understood")),
        })
    }

    /// The built-in integer of a size: the one of that name, else another that is as long.
    pub(super) fn integer_name(&self, size: u32, long: u32, unsigned: bool) -> &'static str {
        let as_long = size == self.types.organization().long;
        match (size, long) {
            (2, _) => {
                if unsigned {
                    "ushort"
                } else {
                    "short"
                }
            }
            (4, 1) if as_long => {
                if unsigned {
                    "ulong"
                } else {
                    "long"
                }
            }
            (4, _) => {
                if unsigned {
                    "uint"
                } else {
                    "int"
                }
            }
            (_, 1) if as_long => {
                if unsigned {
                    "ulong"
                } else {
                    "long"
                }
            }
            _ => {
                if unsigned {
                    "ulonglong"
                } else {
                    "longlong"
                }
            }
        }
    }

    /// `long double` as the compiler has it, which may not be as the program's types have it.
    fn long_double(&mut self) -> Result<TypeId, CError> {
        let sizes = *self.types.organization();
        let name = match (sizes.compiler.long_double, sizes.long_double) {
            (own, known) if own == known => "longdouble",
            (4, _) => "float",
            (8, _) => "double",
            (16, _) if !sizes.compiler.rules.is_windows() => "float16",
            (length, _) => {
                // Ten bytes of value, and filler behind them.
                let value = self.types.builtin("float10");
                let fields = vec![Field {
                    offset: 0,
                    data_type: value,
                    length: 10,
                    name: "value".into(),
                    comment: "".into(),
                    bits: None,
                }];
                return Ok(self.types.add(DataType {
                    category: Arc::clone(&self.category),
                    name: "long_double".into(),
                    length: Some(length),
                    alignment: sizes.alignment(length),
                    description: "".into(),
                    kind: TypeKind::Struct { fields, packed: false },
                    used: true,
                }));
            }
        };
        Ok(self.types.builtin(name))
    }

    /// A type as the attributes `mode` and `vector_size` change it.
    pub(super) fn modified(
        &mut self,
        data_type: TypeId,
        attributes: &Attributes,
    ) -> Result<TypeId, CError> {
        let mut data_type = data_type;
        if let Some(mode) = attributes.mode {
            data_type = self.of_mode(data_type, mode, attributes.offset)?;
        }
        if attributes.vector > 0 {
            data_type = self.vector(data_type, attributes.vector, attributes.offset)?;
        }
        Ok(data_type)
    }

    fn of_mode(&mut self, data_type: TypeId, mode: &str, offset: usize) -> Result<TypeId, CError> {
        let resolved = self.types.resolve(data_type);
        let kind = self.types.get(resolved).map(|known| known.kind.clone());
        let pointer = self.types.organization().pointer;
        let mode = mode.trim_matches('_');
        let unsigned = match kind {
            Some(TypeKind::Builtin(Builtin::Unsigned | Builtin::Bool)) => Some(true),
            Some(TypeKind::Builtin(Builtin::Signed | Builtin::Char)) => Some(false),
            Some(TypeKind::Builtin(Builtin::Float)) => None,
            _ => return Err(self.error_at(offset, "a mode is given to a number only")),
        };
        let name = match (mode, unsigned) {
            ("QI" | "byte", Some(u)) => {
                if u {
                    "uchar"
                } else {
                    "schar"
                }
            }
            ("HI", Some(u)) => {
                if u {
                    "ushort"
                } else {
                    "short"
                }
            }
            ("SI", Some(u)) => {
                if u {
                    "uint"
                } else {
                    "int"
                }
            }
            ("DI", Some(u)) => self.integer_name(8, 1, u),
            ("TI", Some(u)) if pointer == 8 => {
                if u {
                    "uint16"
                } else {
                    "int16"
                }
            }
            ("word" | "pointer" | "unwind_word", Some(u)) => self.integer_name(pointer, 1, u),
            ("SF", None) => "float",
            ("DF", None) => "double",
            ("XF", None) => "longdouble",
            ("TF", None) => "float16",
            _ => return Err(self.error_at(offset, format!("the mode {mode} is not understood"))),
        };
        Ok(self.types.builtin(name))
    }

    /// A vector: a record of one array, aligned to its size, so that it is passed as a whole.
    fn vector(&mut self, element: TypeId, bytes: u32, offset: usize) -> Result<TypeId, CError> {
        let resolved = self.types.resolve(element);
        let number = self.types.as_builtin(resolved).is_some_and(|builtin| {
            use Builtin::{Bool, Char, Float, Signed, Unsigned};
            matches!(builtin, Bool | Char | Float | Signed | Unsigned)
        });
        let each = self.types.length(resolved).filter(|each| number && *each > 0);
        let count = each.and_then(|each| bytes.checked_div(each).map(|n| (n, each)));
        let Some((count, _)) = count
            .filter(|(n, each)| n.is_power_of_two() && n * each == bytes && bytes <= MAX_VECTOR)
        else {
            let message = "a vector is of numbers, and a power of two of them";
            return Err(self.error_at(offset, message));
        };
        let name = format!("vector_{}_{count}", self.types.name(resolved));
        let array = self.types.array_of(resolved, count);
        let fields = vec![Field {
            offset: 0,
            data_type: array,
            length: bytes,
            name: "lanes".into(),
            comment: "".into(),
            bits: None,
        }];
        // How far vectors are aligned is a matter of the processor only where that is little.
        let most = match self.types.organization().compiler.biggest_alignment {
            small @ 0..=4 => small,
            _ => bytes,
        };
        Ok(self.types.add(DataType {
            category: Arc::clone(&self.category),
            name: name.into(),
            length: Some(bytes),
            alignment: bytes.min(most).max(1),
            description: "".into(),
            kind: TypeKind::Struct { fields, packed: false },
            used: true,
        }))
    }

    /// What `__builtin_va_list` is to the program's compiler.
    pub(super) fn va_list(&mut self) -> Result<TypeId, CError> {
        let word = self.types.builtin("pointer");
        let (int, char) = (self.types.builtin("int"), self.types.builtin("uchar"));
        let short = self.types.builtin("ushort");
        let uint = self.types.builtin("uint");
        match self.types.organization().compiler.va_list {
            VaList::Pointer => {
                let text = self.types.builtin("char");
                Ok(self.types.pointer_to(text))
            }
            VaList::Amd64 => {
                let members = [
                    ("gp_offset", uint),
                    ("fp_offset", uint),
                    ("overflow_arg_area", word),
                    ("reg_save_area", word),
                ];
                let record = self.record("__va_list_tag", &members)?;
                Ok(self.types.array_of(record, 1))
            }
            VaList::PowerPc => {
                let members = [
                    ("gpr", char),
                    ("fpr", char),
                    ("reserved", short),
                    ("overflow_arg_area", word),
                    ("reg_save_area", word),
                ];
                let record = self.record("__va_list_tag", &members)?;
                Ok(self.types.array_of(record, 1))
            }
            VaList::Aarch64 => self.record(
                "__va_list",
                &[
                    ("__stack", word),
                    ("__gr_top", word),
                    ("__vr_top", word),
                    ("__gr_offs", int),
                    ("__vr_offs", int),
                ],
            ),
            VaList::Arm => self.record("__va_list", &[("__ap", word)]),
            VaList::SuperH => self.record(
                "__va_list",
                &[
                    ("__va_next_o", word),
                    ("__va_next_o_limit", word),
                    ("__va_next_fp", word),
                    ("__va_next_fp_limit", word),
                    ("__va_next_stack", word),
                ],
            ),
            VaList::Xtensa => self.record(
                "__va_list_tag",
                &[("__va_stk", word), ("__va_reg", word), ("__va_ndx", int)],
            ),
        }
    }

    /// A structure of the compiler's own.
    fn record(&mut self, name: &str, members: &[(&str, TypeId)]) -> Result<TypeId, CError> {
        let members = members.iter().map(|(name, id)| Member::new(name, *id)).collect();
        let layout = lay_out(self.types, members, Arrangement::STRUCTURE);
        let layout = layout.ok_or_else(|| self.error("this type has no size"))?;
        Ok(self.types.add(DataType {
            category: Arc::clone(&self.category),
            name: name.into(),
            length: Some(layout.length),
            alignment: layout.alignment,
            description: "".into(),
            kind: TypeKind::Struct { fields: layout.fields, packed: true },
            used: true,
        }))
    }
}
