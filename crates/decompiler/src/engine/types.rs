//! The program's data types in the engine's terms.
//!
//! Types are handed over when something needs them, with what they are made of; each engine keeps
//! a map from the program's ids to its own.

use std::collections::HashMap;
use std::fmt::Write as _;

use ghidra_decompiler::architecture::Architecture;
use ghidra_decompiler::error::{Error, Result};
use ghidra_decompiler::fspec::PrototypePieces;
use ghidra_decompiler::marshal::{Decoder as _, XmlDecode, XmlEncode};
use ghidra_decompiler::types::{Datatype, TypeFactory, TypeId as EngineType, TypeMetatype};
use ghidra_decompiler::xml::xml_escape;
use program::data_type::{Builtin, Charset, Field, FunctionType};
use program::{DataType, DataTypes, TypeId, TypeKind};

use super::omission::Omission;
use super::symbols::engine_name;

/// Types nested deeper than this are taken as bytes.
const MAX_DEPTH: u32 = 48;
/// Added to a program's type id to give the engine's: far from the hashes it makes of names.
const ID_BASE: u64 = 0x2000_0000_0000_0000;
/// Fields of one structure that are handed over.
const MAX_FIELDS: usize = 4096;

/// A type of the engine's in the program's terms. The engine makes pointers and arrays that the
/// program does not have yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeOf {
    /// A type that the program has.
    Known(TypeId),
    /// A pointer.
    Pointer(Box<TypeOf>),
    /// Several in a row.
    Array(Box<TypeOf>, u32),
    /// Bytes of which only the number is known.
    Undefined(u32),
}

impl Default for TypeOf {
    fn default() -> TypeOf {
        TypeOf::Undefined(1)
    }
}

impl TypeOf {
    /// The type itself; pointers and arrays are made when missing.
    pub fn intern(&self, types: &mut DataTypes) -> TypeId {
        match self {
            TypeOf::Known(id) => *id,
            TypeOf::Pointer(target) => {
                let target = target.intern(types);
                types.pointer_to(target)
            }
            TypeOf::Array(element, count) => {
                let element = element.intern(types);
                types.array_of(element, *count)
            }
            TypeOf::Undefined(size @ 1..=8) => types.undefined(*size),
            TypeOf::Undefined(size) => {
                let byte = types.builtin("undefined1");
                types.array_of(byte, (*size).max(1))
            }
        }
    }
}

/// From the program's types to the engine's.
#[derive(Default)]
pub(crate) struct TypeMap {
    known: HashMap<TypeId, EngineType>,
    /// The way back.
    origin: HashMap<EngineType, TypeId>,
    /// Structures and unions whose fields are being handed over.
    open: HashMap<TypeId, EngineType>,
    omission: Omission,
}

fn types(architecture: &mut Architecture) -> Result<&mut TypeFactory> {
    architecture.types_mut()
}

impl TypeMap {
    /// A map that hands nothing over that is left out.
    pub(crate) fn without(omission: Omission) -> TypeMap {
        TypeMap { omission, ..TypeMap::default() }
    }

    /// The engine's type for a program's type.
    pub(crate) fn get(
        &mut self,
        architecture: &mut Architecture,
        all: &DataTypes,
        id: TypeId,
    ) -> Result<EngineType> {
        self.convert(architecture, all, id, 0)
    }

    fn convert(
        &mut self,
        architecture: &mut Architecture,
        all: &DataTypes,
        id: TypeId,
        depth: u32,
    ) -> Result<EngineType> {
        if let Some(known) = self.known.get(&id).or_else(|| self.open.get(&id)) {
            return Ok(*known);
        }
        let Some(data_type) = all.get(id).filter(|_| depth < MAX_DEPTH) else {
            return unknown(architecture, all.length(id).unwrap_or(1));
        };
        let data_type = data_type.clone();
        let made = self.build(architecture, all, id, &data_type, depth)?;
        self.known.insert(id, made);
        self.origin.entry(made).or_insert(id);
        Ok(made)
    }

    /// Whether the engine has this type.
    pub(crate) fn knows(&self, id: TypeId) -> bool {
        self.known.contains_key(&id) || self.open.contains_key(&id)
    }

    /// An engine's type in the program's terms.
    pub(crate) fn type_of(&self, types: &TypeFactory, all: &DataTypes, id: EngineType) -> TypeOf {
        self.type_of_nested(types, all, id, MAX_DEPTH)
    }

    fn type_of_nested(
        &self,
        types: &TypeFactory,
        all: &DataTypes,
        id: EngineType,
        depth: u32,
    ) -> TypeOf {
        let known = types.get(id);
        let size = u32::try_from(known.get_size()).unwrap_or(1);
        if depth == 0 {
            return TypeOf::Undefined(size);
        }
        match known.get_metatype() {
            TypeMetatype::Ptr => {
                let target = types.get(known.get_ptr_to());
                if target.get_metatype() == TypeMetatype::Code && target.get_name() == "code" {
                    return TypeOf::Known(all.builtin("pointer"));
                }
                let target = self.type_of_nested(types, all, known.get_ptr_to(), depth - 1);
                return TypeOf::Pointer(Box::new(target));
            }
            TypeMetatype::Array => {
                let element = self.type_of_nested(types, all, known.get_base(), depth - 1);
                let count = u32::try_from(known.num_elements()).unwrap_or(1);
                return TypeOf::Array(Box::new(element), count.max(1));
            }
            _ => {}
        }
        let built_in = |name: &str| {
            let mut named = all.named(name);
            named.find(|id| {
                all.get(*id).is_some_and(|t| {
                    matches!(t.kind, TypeKind::Builtin(_)) && t.length.is_none_or(|n| n == size)
                })
            })
        };
        match self.origin.get(&id).copied().or_else(|| built_in(known.get_name())) {
            Some(id) => TypeOf::Known(id),
            None if known.get_metatype() == TypeMetatype::Void => {
                TypeOf::Known(all.builtin("void"))
            }
            None => TypeOf::Undefined(size),
        }
    }

    fn build(
        &mut self,
        architecture: &mut Architecture,
        all: &DataTypes,
        id: TypeId,
        data_type: &DataType,
        depth: u32,
    ) -> Result<EngineType> {
        let length = data_type.length.unwrap_or(0);
        match &data_type.kind {
            TypeKind::Builtin(builtin) => {
                built_in(architecture, all, *builtin, &data_type.name, length)
            }
            TypeKind::Pointer(target) => {
                let target = match target {
                    Some(target) => self.convert(architecture, all, *target, depth + 1)?,
                    None => undefined(architecture)?,
                };
                let size = size_of(if length == 0 { all.organization().pointer } else { length })?;
                types(architecture)?.get_type_pointer(size, target, 1)
            }
            TypeKind::Array { element, count } => {
                let element = self.convert(architecture, all, *element, depth + 1)?;
                types(architecture)?.get_type_array(size_of((*count).max(1))?, element)
            }
            TypeKind::Union { .. } if self.omission >= Omission::Unions => {
                unknown(architecture, length)
            }
            TypeKind::Struct { .. } if self.omission >= Omission::Structures => {
                unknown(architecture, length)
            }
            TypeKind::Struct { fields, .. } => {
                self.composite(architecture, all, id, data_type, fields, "struct", depth)
            }
            TypeKind::Union { fields } => {
                self.composite(architecture, all, id, data_type, fields, "union", depth)
            }
            TypeKind::Enum { values } => enumeration(architecture, id, data_type, values),
            TypeKind::Typedef(base) => {
                let base = self.convert(architecture, all, *base, depth + 1)?;
                let name = engine_name(&data_type.name);
                types(architecture)?.get_typedef(base, &name, engine_id(id), 0)
            }
            TypeKind::Function(function) => {
                let pieces = self.function(architecture, all, function, depth)?;
                match &*data_type.name {
                    "" => TypeFactory::get_type_code_proto(architecture, &pieces),
                    name => named_function(architecture, id, name, &pieces),
                }
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn composite(
        &mut self,
        architecture: &mut Architecture,
        all: &DataTypes,
        id: TypeId,
        data_type: &DataType,
        fields: &[Field],
        kind: &str,
        depth: u32,
    ) -> Result<EngineType> {
        let size = data_type.length.unwrap_or(0);
        let head = |incomplete: bool| {
            let mut text = format!(
                "<type name=\"{}\" id=\"{:#x}\" size=\"{size}\" metatype=\"{kind}\"",
                escaped(&data_type.name),
                engine_id(id)
            );
            if incomplete {
                text.push_str(" incomplete=\"true\"");
            }
            text
        };
        if size == 0 || size > i32::MAX as u32 {
            return decode(architecture, &format!("{}/>", head(true)));
        }
        let stub = decode(architecture, &format!("{}/>", head(true)))?;
        self.open.insert(id, stub);
        let mut body = format!("{}>", head(false));
        let mut end = 0;
        for (index, field) in fields.iter().take(MAX_FIELDS).enumerate() {
            let written = self.field(architecture, all, field, index, size, depth)?;
            let Some((text, field_end)) = written else { continue };
            // Fields that overlap are no structure to the engine.
            if kind == "struct" && field.bits.is_none() && field.offset < end {
                continue;
            }
            end = field_end.max(end);
            body.push_str(&text);
        }
        body.push_str("</type>");
        self.open.remove(&id);
        decode(architecture, &body)
    }

    fn field(
        &mut self,
        architecture: &mut Architecture,
        all: &DataTypes,
        field: &Field,
        index: usize,
        size: u32,
        depth: u32,
    ) -> Result<Option<(String, u32)>> {
        let whole = self.convert(architecture, all, field.data_type, depth + 1)?;
        let room = types(architecture)?.get(whole).get_size();
        // Where a type outgrew its place, only bytes are known.
        let cut =
            field.bits.is_none() && field.length > 0 && i64::from(field.length) < i64::from(room);
        let converted = if cut { unknown(architecture, field.length)? } else { whole };
        let name = match &*field.name {
            "" => format!("field{index}_{:#x}", field.offset),
            name => escaped(&engine_name(name)),
        };
        let reference = reference(architecture, converted)?;
        let offset = field.offset;
        if let Some((first, width)) = field.bits {
            return Ok(Some((
                format!(
                    "<bitfield name=\"{name}\" id=\"{index}\" offset=\"{offset}\" first=\"{first}\" \
                     size=\"{width}\">{reference}</bitfield>"
                ),
                offset,
            )));
        }
        let length = types(architecture)?.get(converted).get_size();
        let end = u32::try_from(length).ok().and_then(|length| offset.checked_add(length));
        let Some(end) = end.filter(|end| *end <= size && *end > offset) else { return Ok(None) };
        let text = format!(
            "<field name=\"{name}\" offset=\"{offset}\" id=\"{index}\">{reference}</field>"
        );
        Ok(Some((text, end)))
    }

    fn function(
        &mut self,
        architecture: &mut Architecture,
        all: &DataTypes,
        function: &FunctionType,
        depth: u32,
    ) -> Result<PrototypePieces> {
        let mut pieces = PrototypePieces {
            model: function
                .convention
                .as_deref()
                .and_then(|name| architecture.get_model(name))
                .or(architecture.defaultfp),
            name: String::new(),
            outtype: Some(self.convert(architecture, all, function.return_type, depth + 1)?),
            intypes: Vec::new(),
            innames: Vec::new(),
            first_var_arg_slot: -1,
        };
        for parameter in &function.parameters {
            if all.as_builtin(parameter.data_type) == Some(Builtin::Void) {
                continue;
            }
            let converted = self.convert(architecture, all, parameter.data_type, depth + 1)?;
            pieces.intypes.push(converted);
            pieces.innames.push(parameter.name.to_string());
        }
        if function.varargs {
            pieces.first_var_arg_slot = size_of(pieces.intypes.len() as u32)?;
        }
        Ok(pieces)
    }
}

fn size_of(size: u32) -> Result<i32> {
    i32::try_from(size).map_err(|_| Error::Lowlevel("a data type is too large".to_string()))
}

fn engine_id(id: TypeId) -> u64 {
    ID_BASE | u64::from(id.0)
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    xml_escape(&mut out, text);
    out
}

/// A function type under its own name: C text shows that instead of the prototype.
fn named_function(
    architecture: &mut Architecture,
    id: TypeId,
    name: &str,
    pieces: &PrototypePieces,
) -> Result<EngineType> {
    let text = format!(
        "<type name=\"{}\" id=\"{:#x}\" size=\"1\" metatype=\"code\"/>",
        escaped(name),
        engine_id(id)
    );
    let mut decoder = XmlDecode::new(None, 0);
    decoder.ingest_stream(text.as_bytes())?;
    let element = decoder.open_element()?;
    let mut code = Datatype::new_code()?;
    code.decode_basic(&mut decoder)?;
    decoder.close_element(element)?;
    let void = types(architecture)?.get_type_void()?;
    code.set_prototype_pieces(pieces, void, architecture)?;
    code.mark_complete();
    types(architecture)?.find_add(&code)
}

/// One byte of which not even the size is meant. It is no core type, so that the engine does not
/// take it for every byte it knows nothing of.
pub(crate) fn undefined(architecture: &mut Architecture) -> Result<EngineType> {
    types(architecture)?.get_base_named(1, TypeMetatype::Unknown, "undefined")
}

/// Bytes of which nothing is known.
pub(crate) fn unknown(architecture: &mut Architecture, size: u32) -> Result<EngineType> {
    let types = types(architecture)?;
    if (1..=8).contains(&size) {
        return types.get_base(size_of(size)?, TypeMetatype::Unknown);
    }
    let byte = types.get_base(1, TypeMetatype::Unknown)?;
    if size == 0 { Ok(byte) } else { types.get_type_array(size_of(size)?, byte) }
}

fn built_in(
    architecture: &mut Architecture,
    all: &DataTypes,
    builtin: Builtin,
    name: &str,
    length: u32,
) -> Result<EngineType> {
    let factory = types(architecture)?;
    let size = size_of(length)?;
    let known = factory.find_by_name(name);
    // Of a `long double` in 16 bytes, the engine knows its value alone.
    let fits = |known: i32| known == size || (size == 16 && name == "longdouble");
    if let Some(known) = known.filter(|id| fits(factory.get(*id).get_size())) {
        return Ok(known);
    }
    // Where the compiler's `int` is wider, a number of that size bears another name.
    match builtin {
        Builtin::Signed if known.is_some() && size < 9 => {
            return factory.get_base(size, TypeMetatype::Int);
        }
        Builtin::Unsigned if known.is_some() && size < 9 => {
            return factory.get_base(size, TypeMetatype::Uint);
        }
        _ => {}
    }
    match builtin {
        Builtin::Void => factory.get_type_void(),
        Builtin::Undefined if name == "undefined" => undefined(architecture),
        Builtin::Undefined => unknown(architecture, length),
        Builtin::Bool => factory.get_base_named(size, TypeMetatype::Bool, name),
        Builtin::Char | Builtin::String(Charset::Ascii | Charset::Utf8) => factory.get_type_char(1),
        Builtin::WideChar => factory.get_type_char(size),
        Builtin::String(Charset::Utf16) => factory.get_type_char(2),
        Builtin::String(Charset::Utf32) => factory.get_type_char(4),
        Builtin::Unsigned => factory.get_base_named(size, TypeMetatype::Uint, name),
        Builtin::Signed => factory.get_base_named(size, TypeMetatype::Int, name),
        // The engine knows its value by the one name, with the bytes around it by the other.
        Builtin::Float if size == 12 && name == "longdouble" => {
            factory.get_base_named(size, TypeMetatype::Float, "long double")
        }
        Builtin::Float => factory.get_base_named(size, TypeMetatype::Float, name),
        Builtin::Pointer => {
            let target = undefined(architecture)?;
            let size = size_of(all.organization().pointer)?;
            types(architecture)?.get_type_pointer(size, target, 1)
        }
        Builtin::ImageBaseOffset => {
            factory.get_base_named(size_of(length.clamp(1, 8))?, TypeMetatype::Int, name)
        }
        Builtin::Alignment | Builtin::Leb128 { .. } => unknown(architecture, length.clamp(1, 8)),
    }
}

fn enumeration(
    architecture: &mut Architecture,
    id: TypeId,
    data_type: &DataType,
    values: &[(std::sync::Arc<str>, i64, std::sync::Arc<str>)],
) -> Result<EngineType> {
    let size = data_type.length.unwrap_or(4).clamp(1, 8);
    let signed = values.iter().any(|(_, value, _)| *value < 0);
    let kind = if signed { "enum_int" } else { "enum_uint" };
    let mut text = format!(
        "<type name=\"{}\" id=\"{:#x}\" size=\"{size}\" metatype=\"{kind}\">",
        escaped(&data_type.name),
        engine_id(id)
    );
    for (name, value, _) in values.iter().take(MAX_FIELDS) {
        let written = write!(text, "<val name=\"{}\" value=\"{value}\"/>", escaped(name));
        debug_assert!(written.is_ok(), "writing to a string does not fail");
    }
    text.push_str("</type>");
    decode(architecture, &text)
}

/// A type that the engine has, by a name it finds it under again.
fn reference(architecture: &mut Architecture, id: EngineType) -> Result<String> {
    let types = architecture.types.as_deref();
    let known = types.ok_or_else(|| Error::Lowlevel("no types".to_string()))?.get(id);
    let mut encoder = XmlEncode::new(false);
    known.encode_ref(&mut encoder, architecture)?;
    Ok(encoder.into_string())
}

fn decode(architecture: &mut Architecture, text: &str) -> Result<EngineType> {
    let manager = architecture.manager.clone();
    let mut decoder = XmlDecode::new(Some(&manager), 0);
    decoder.ingest_stream(text.as_bytes())?;
    TypeFactory::decode_type(architecture, &mut decoder)
}
