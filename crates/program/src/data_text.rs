//! Data as text: the plain value of a data item, and its form in a listing.

use crate::Program;
use crate::address::Address;
use crate::data_type::{Builtin, Charset, TypeId, TypeKind};
use std::fmt::Write as _;

/// Longest text that is read out of memory, in bytes. A value is cut there.
const MAX_TEXT: u32 = 1 << 16;
/// Longest text that a listing shows, in characters.
const MAX_SHOWN: usize = 2048;

impl Program {
    /// The value of a data item as plain text: `0x2a`, `-0x1`, `true`, `1.5`, the
    /// content of a string up to its end, a pointer's address; `null` when the type
    /// has no single value or the memory no bytes.
    pub fn data_value(&self, address: Address, data_type: TypeId, length: u32) -> String {
        self.value(address, data_type, length).unwrap_or_else(|| "null".to_owned())
    }

    /// A data item as a listing shows it: `2Ah`, `"text"`, `'c'`, `00104010`; `??`
    /// where memory holds no bytes, nothing for structures.
    pub fn data_representation(&self, address: Address, data_type: TypeId, length: u32) -> String {
        let id = self.types.resolve(data_type);
        let Some(known) = self.types.get(id) else { return "??".to_owned() };
        let readable = self.memory.read(address, &mut [0u8; 1]).is_ok();
        match &known.kind {
            _ if !readable => self.unreadable(&known.kind),
            TypeKind::Builtin(builtin) => self.builtin_shown(address, *builtin, length),
            TypeKind::Pointer(_) => self.pointer_text(address, length).unwrap_or("NaP".to_owned()),
            TypeKind::Enum { values } => self.enum_shown(address, values, length),
            TypeKind::Array { element, count } => {
                self.array_shown(address, *element, *count, length)
            }
            _ => String::new(),
        }
    }

    /// A data item as one line of a listing: its type's short name, then its form.
    pub fn data_text(&self, address: Address, data_type: TypeId, length: u32) -> String {
        let shown = self.data_representation(address, data_type, length);
        let kind = self.types.get(data_type).map(|known| &known.kind);
        let name = match kind {
            Some(TypeKind::Builtin(Builtin::Pointer) | TypeKind::Pointer(None)) => "addr",
            Some(TypeKind::Builtin(Builtin::String(Charset::Ascii))) => "ds",
            Some(TypeKind::Builtin(Builtin::Undefined)) if length == 1 => "??",
            _ => self.types.name(data_type),
        };
        if shown.is_empty() { name.to_owned() } else { format!("{name} {shown}") }
    }

    /// True when the value or the listing form of an item this long is only its
    /// beginning: text is read up to 64 KiB and shown up to 2048 characters.
    pub fn is_text_cut(&self, address: Address, data_type: TypeId, length: u32) -> bool {
        if !self.is_text_type(data_type) || (length as usize) <= MAX_SHOWN {
            return false;
        }
        let value = self.data_value(address, data_type, length);
        length > MAX_TEXT || value.chars().nth(MAX_SHOWN).is_some()
    }

    /// True when the item is text: a string, or an array of characters.
    pub fn is_text_type(&self, data_type: TypeId) -> bool {
        let id = self.types.resolve(data_type);
        match self.types.get(id).map(|known| &known.kind) {
            Some(TypeKind::Builtin(Builtin::String(_))) => true,
            Some(TypeKind::Array { element, .. }) => {
                matches!(self.types.as_builtin(*element), Some(Builtin::Char | Builtin::WideChar))
            }
            _ => false,
        }
    }

    fn unreadable(&self, kind: &TypeKind) -> String {
        match kind {
            TypeKind::Pointer(_) | TypeKind::Builtin(Builtin::Pointer) => "NaP".to_owned(),
            TypeKind::Struct { .. } | TypeKind::Union { .. } => String::new(),
            _ => "??".to_owned(),
        }
    }

    fn value(&self, address: Address, data_type: TypeId, length: u32) -> Option<String> {
        let id = self.types.resolve(data_type);
        match &self.types.get(id)?.kind {
            TypeKind::Builtin(builtin) => self.builtin_value(address, *builtin, length),
            TypeKind::Pointer(_) => self.pointer_text(address, length),
            TypeKind::Enum { .. } => Some(format!("0x{:x}", self.unsigned(address, length)?)),
            TypeKind::Array { element, .. } => {
                let charset = self.element_charset(*element)?;
                Some(self.text(address, charset, length)?.content)
            }
            _ => None,
        }
    }

    fn builtin_value(&self, address: Address, builtin: Builtin, length: u32) -> Option<String> {
        match builtin {
            Builtin::Void | Builtin::Alignment => None,
            Builtin::Undefined | Builtin::Unsigned | Builtin::ImageBaseOffset => {
                Some(format!("0x{:x}", self.unsigned(address, length)?))
            }
            Builtin::Signed => Some(signed_hex(self.signed(address, length)?)),
            Builtin::Leb128 { .. } => Some(signed_hex(self.leb128(address, builtin, length)?)),
            Builtin::Bool => Some((self.unsigned(address, length)? != 0).to_string()),
            Builtin::Char | Builtin::WideChar => {
                let character = u32::try_from(self.unsigned(address, length)?).ok()?;
                Some(char::from_u32(character).unwrap_or(char::REPLACEMENT_CHARACTER).to_string())
            }
            Builtin::Float => self.float(address, length),
            Builtin::String(charset) => Some(self.text(address, charset, length)?.content),
            Builtin::Pointer => self.pointer_text(address, length),
        }
    }

    fn builtin_shown(&self, address: Address, builtin: Builtin, length: u32) -> String {
        let shown = match builtin {
            Builtin::Void | Builtin::Alignment => Some(String::new()),
            Builtin::Undefined => {
                let width = 2 * length as usize;
                self.unsigned(address, length).map(|value| format!("{value:0width$X}h"))
            }
            Builtin::Unsigned | Builtin::Signed | Builtin::ImageBaseOffset => {
                self.unsigned(address, length).map(|value| format!("{value:X}h"))
            }
            Builtin::Leb128 { .. } => self.leb128(address, builtin, length).map(|value| {
                let sign = if value < 0 { "-" } else { "" };
                format!("{sign}{:X}h", value.unsigned_abs())
            }),
            Builtin::Bool => self.builtin_value(address, builtin, length).map(|v| v.to_uppercase()),
            Builtin::Char => self.character_shown(address, Charset::Ascii, length),
            Builtin::WideChar => self.character_shown(address, wide(length), length),
            Builtin::Float => self.float(address, length),
            Builtin::String(charset) => self.text(address, charset, length).map(|text| text.shown),
            Builtin::Pointer => self.pointer_text(address, length).or(Some("NaP".to_owned())),
        };
        shown.unwrap_or_else(|| "??".to_owned())
    }

    fn array_shown(&self, address: Address, element: TypeId, count: u32, length: u32) -> String {
        match self.element_charset(element) {
            Some(charset) if count > 0 => {
                self.text(address, charset, length).map(|text| text.shown).unwrap_or_default()
            }
            _ => String::new(),
        }
    }

    fn element_charset(&self, element: TypeId) -> Option<Charset> {
        let id = self.types.resolve(element);
        match self.types.as_builtin(id)? {
            Builtin::Char => Some(Charset::Ascii),
            Builtin::WideChar => Some(wide(self.types.length(id)?)),
            _ => None,
        }
    }

    fn enum_shown(
        &self,
        address: Address,
        values: &[(std::sync::Arc<str>, i64, std::sync::Arc<str>)],
        length: u32,
    ) -> String {
        let Some(value) = self.unsigned(address, length).and_then(|v| i64::try_from(v).ok()) else {
            return "??".to_owned();
        };
        if let Some((name, ..)) = values.iter().find(|(_, known, _)| *known == value) {
            return name.to_string();
        }
        let mut rest = value;
        let mut names = Vec::new();
        for (name, known, _) in values.iter().rev() {
            if *known != 0 && rest & known == *known {
                names.push(&**name);
                rest &= !known;
            }
        }
        if rest == 0 && !names.is_empty() {
            return names.join(" | ");
        }
        format!("{value:X}h")
    }

    fn unsigned(&self, address: Address, length: u32) -> Option<u128> {
        if let Some(value) = self.memory.read_uint(address, length) {
            return Some(u128::from(value));
        }
        if !(9..=16).contains(&length) {
            return None;
        }
        let mut bytes = vec![0u8; length as usize];
        let read = self.memory.read(address, &mut bytes).ok()?;
        if read != bytes.len() {
            return None;
        }
        if !self.memory.big_endian() {
            bytes.reverse();
        }
        Some(bytes.iter().fold(0, |value, byte| value << 8 | u128::from(*byte)))
    }

    fn signed(&self, address: Address, length: u32) -> Option<i128> {
        let value = self.unsigned(address, length)?;
        let unused = 128 - 8 * length;
        Some(((value << unused) as i128) >> unused)
    }

    fn leb128(&self, address: Address, builtin: Builtin, length: u32) -> Option<i128> {
        let Builtin::Leb128 { signed } = builtin else { return None };
        let mut bytes = vec![0u8; length.clamp(1, 16) as usize];
        let read = self.memory.read(address, &mut bytes).ok()?;
        let mut value = 0i128;
        let mut shift = 0;
        for byte in &bytes[..read] {
            value |= i128::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                let negative = signed && byte & 0x40 != 0;
                return Some(if negative { value | (-1i128 << shift) } else { value });
            }
        }
        None
    }

    fn float(&self, address: Address, length: u32) -> Option<String> {
        let bits = self.unsigned(address, length)?;
        match length {
            4 => Some(decimal(
                f64::from(f32::from_bits(bits as u32)),
                f32::from_bits(bits as u32).to_string(),
            )),
            8 => {
                Some(decimal(f64::from_bits(bits as u64), f64::from_bits(bits as u64).to_string()))
            }
            10 | 12 | 16 if length != 16 || self.info.processor == "x86" => {
                let value = extended(bits);
                Some(decimal(value, value.to_string()))
            }
            _ => None,
        }
    }

    fn pointer_text(&self, address: Address, length: u32) -> Option<String> {
        let target = u64::try_from(self.unsigned(address, length)?).ok()?;
        Some(format!("{target:08x}"))
    }

    fn character_shown(&self, address: Address, charset: Charset, length: u32) -> Option<String> {
        let value = u32::try_from(self.unsigned(address, length)?).ok()?;
        let prefix = prefix(charset);
        match char::from_u32(value).filter(|c| is_shown(*c, charset)) {
            Some(character) => Some(format!("{prefix}'{}'", escaped(character, '\''))),
            None => {
                let mut bytes = vec![0u8; length as usize];
                self.memory.read(address, &mut bytes).ok()?;
                Some(bytes.iter().map(|b| format!("{b:02X}h")).collect::<Vec<_>>().join(","))
            }
        }
    }

    fn text(&self, address: Address, charset: Charset, length: u32) -> Option<Text> {
        let mut bytes = vec![0u8; length.min(MAX_TEXT) as usize];
        let read = self.memory.read(address, &mut bytes).ok()?;
        bytes.truncate(read);
        let units = self.text_units(&bytes, charset);
        Some(Text { content: content(&units, charset), shown: shown(&units, charset) })
    }

    /// The code units up to the first zero.
    fn text_units(&self, bytes: &[u8], charset: Charset) -> Vec<u32> {
        let step = unit_bytes(charset);
        let units = bytes.chunks_exact(step).map(|unit| {
            let mut bytes = [0u8; 4];
            for (index, byte) in unit.iter().enumerate() {
                let at = if self.memory.big_endian() { step - 1 - index } else { index };
                bytes[at] = *byte;
            }
            u32::from_le_bytes(bytes)
        });
        units.take_while(|unit| *unit != 0).collect()
    }
}

struct Text {
    content: String,
    shown: String,
}

fn wide(length: u32) -> Charset {
    if length == 2 { Charset::Utf16 } else { Charset::Utf32 }
}

fn unit_bytes(charset: Charset) -> usize {
    match charset {
        Charset::Ascii | Charset::Utf8 => 1,
        Charset::Utf16 => 2,
        Charset::Utf32 => 4,
    }
}

fn prefix(charset: Charset) -> &'static str {
    match charset {
        Charset::Ascii => "",
        Charset::Utf8 => "u8",
        Charset::Utf16 => "u",
        Charset::Utf32 => "U",
    }
}

fn content(units: &[u32], charset: Charset) -> String {
    match charset {
        Charset::Ascii | Charset::Utf8 => {
            let bytes: Vec<u8> = units.iter().map(|unit| *unit as u8).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        }
        Charset::Utf16 => {
            let units: Vec<u16> = units.iter().map(|unit| *unit as u16).collect();
            String::from_utf16_lossy(&units)
        }
        Charset::Utf32 => {
            let character =
                |unit: &u32| char::from_u32(*unit).unwrap_or(char::REPLACEMENT_CHARACTER);
            units.iter().map(character).collect()
        }
    }
}

/// Quoted runs of printable characters, the bytes of the others between them.
fn shown(units: &[u32], charset: Charset) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut run = String::new();
    let close = |run: &mut String, parts: &mut Vec<String>| {
        if !run.is_empty() {
            parts.push(format!("\"{}\"", std::mem::take(run)));
        }
    };
    let decoded: Vec<Result<char, u32>> = match charset {
        Charset::Ascii | Charset::Utf32 => {
            units.iter().map(|u| char::from_u32(*u).ok_or(*u)).collect()
        }
        Charset::Utf8 | Charset::Utf16 => content(units, charset).chars().map(Ok).collect(),
    };
    let cut = decoded.len() > MAX_SHOWN;
    for unit in decoded.into_iter().take(MAX_SHOWN) {
        match unit {
            Ok(character) if is_shown(character, charset) => run.push_str(&escaped(character, '"')),
            Ok(character) => {
                close(&mut run, &mut parts);
                parts.push(byte_list(u32::from(character), charset));
            }
            Err(unit) => {
                close(&mut run, &mut parts);
                parts.push(byte_list(unit, charset));
            }
        }
    }
    close(&mut run, &mut parts);
    if parts.is_empty() {
        parts.push("\"\"".to_owned());
    }
    let more = if cut { "..." } else { "" };
    format!("{}{}{more}", prefix(charset), parts.join(","))
}

fn byte_list(unit: u32, charset: Charset) -> String {
    let mut text = String::new();
    for (index, byte) in unit.to_be_bytes().iter().skip(4 - unit_bytes(charset)).enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let _ = write!(text, "{comma}{byte:02X}h");
    }
    text
}

fn is_shown(character: char, charset: Charset) -> bool {
    let plain =
        matches!(character, ' '..='~' | '\t' | '\n' | '\r' | '\u{7}' | '\u{8}' | '\u{b}' | '\u{c}');
    plain || (charset != Charset::Ascii && !character.is_control() && character != '\u{fffd}')
}

fn escaped(character: char, quote: char) -> String {
    match character {
        '\t' => "\\t".to_owned(),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\u{7}' => "\\a".to_owned(),
        '\u{8}' => "\\b".to_owned(),
        '\u{b}' => "\\v".to_owned(),
        '\u{c}' => "\\f".to_owned(),
        '\\' => "\\\\".to_owned(),
        other if other == quote => format!("\\{other}"),
        other => other.to_string(),
    }
}

fn signed_hex(value: i128) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}0x{:x}", value.unsigned_abs())
}

/// A number with a point, also when it is whole; the words for the others.
fn decimal(value: f64, text: String) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity".to_owned() } else { "-Infinity".to_owned() }
    } else if value != 0.0 && !(1e-3..1e7).contains(&value.abs()) {
        scientific(value, &text)
    } else if text.contains('.') {
        text
    } else {
        format!("{text}.0")
    }
}

/// `1.5E10`, with as many digits as tell the number apart.
fn scientific(value: f64, text: &str) -> String {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_start_matches('0').trim_end_matches('0');
    let exponent = value.abs().log10().floor() as i32;
    let sign = if value < 0.0 { "-" } else { "" };
    let (first, rest) = digits.split_at(digits.len().min(1));
    let rest = if rest.is_empty() { "0" } else { rest };
    format!("{sign}{first}.{rest}E{exponent}")
}

/// An x87 number, as close as a double comes.
fn extended(bits: u128) -> f64 {
    let mantissa = bits as u64;
    let exponent = (bits >> 64) as u16;
    let sign = if exponent & 0x8000 != 0 { -1.0 } else { 1.0 };
    match exponent & 0x7fff {
        0x7fff if mantissa << 1 == 0 => sign * f64::INFINITY,
        0x7fff => f64::NAN,
        exponent => sign * mantissa as f64 * 2f64.powi(i32::from(exponent) - 16383 - 63),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockSource, DataOrganization, MemoryBlock, ProgramInfo};
    use std::sync::Arc;

    fn show(bytes: &[u8], type_name: &str) -> (String, String) {
        let info =
            ProgramInfo { address_bits: 64, processor: "x86".into(), ..ProgramInfo::default() };
        let mut p = Program::new(info, false, DataOrganization::default());
        let source = BlockSource::Bytes { bytes: Arc::from(bytes), offset: 0, length: bytes.len() };
        let block = MemoryBlock::new("b", Address::ram(0), bytes.len() as u64, source);
        p.memory.add_block(block).expect("nothing is in the way");
        let id = match type_name.strip_suffix("[n]") {
            Some(element) => {
                let element = p.types.builtin(element);
                let each = p.types.length(element).unwrap_or(1);
                p.types.array_of(element, bytes.len() as u32 / each)
            }
            None => p.types.builtin(type_name),
        };
        let length = bytes.len() as u32;
        (
            p.data_value(Address::ram(0), id, length),
            p.data_representation(Address::ram(0), id, length),
        )
    }

    #[test]
    fn values_and_listing_forms() {
        let cases: &[(&[u8], &str, &str, &str)] = &[
            (&[0x2a, 0, 0, 0], "int", "0x2a", "2Ah"),
            (&[0xff, 0xff, 0xff, 0xff], "int", "-0x1", "FFFFFFFFh"),
            (&[1], "undefined1", "0x1", "01h"),
            (&[0x43, 0], "undefined2", "0x43", "0043h"),
            (&[0x10, 0x40, 0x10, 0, 0, 0, 0, 0], "pointer", "00104010", "00104010"),
            (b"hi\n\0", "string", "hi\n", "\"hi\\n\""),
            (b"free\0", "string-utf8", "free", "u8\"free\""),
            (b"d\0o\0\0\0", "unicode", "do", "u\"do\""),
            (b"gr\xc3\xbc dich\0\0", "char[n]", "gr\u{fc} dich", "\"gr\",C3h,BCh,\" dich\""),
            (b"A", "char", "A", "'A'"),
            (&[0, 0, 0, 0], "wchar_t", "\0", "00h,00h,00h,00h"),
            (&[0x2a, 0, 0, 0], "wchar_t", "*", "U'*'"),
            (&[1], "bool", "true", "TRUE"),
            (&[0, 0, 0xc0, 0x3f], "float", "1.5", "1.5"),
            (&[0, 0, 0, 0, 0, 0, 0x24, 0x40], "double", "10.0", "10.0"),
            (&[0x78], "sleb128", "-0x8", "-8h"),
            (&[1, 0, 0, 0], "int[n]", "null", ""),
        ];
        for (bytes, type_name, value, representation) in cases {
            let (got_value, got_shown) = show(bytes, type_name);
            assert_eq!(
                (got_value.as_str(), got_shown.as_str()),
                (*value, *representation),
                "{type_name}"
            );
        }
    }

    #[test]
    fn wide_and_small_floats_use_an_exponent() {
        let double = |value: f64| show(&value.to_le_bytes(), "double").0;
        assert_eq!(double(1.5e10), "1.5E10");
        assert_eq!(double(-2.5e-7), "-2.5E-7");
        assert_eq!(double(f64::INFINITY), "Infinity");
        assert_eq!(double(0.0), "0.0");
        let mut ten = [0u8; 10];
        ten[7] = 0x80;
        (ten[8], ten[9]) = (0xff, 0x3f);
        assert_eq!(show(&ten, "float10").0, "1.0");
    }
}
