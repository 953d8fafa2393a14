//! What the readers of exception tables tell about the bytes they pass: to
//! nobody, or into the program as mark-up.

use super::encoding::{Encoding, Format};
use program::data_type::{DataType, Field, TypeKind};
use program::{Address, AddressRange, CommentKind, Program, RefType, SourceType, SymbolId, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

/// What a field is shown as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Shape {
    Byte,
    Word,
    Dword,
    Qword,
    Unsigned,
    Signed,
    Encoding,
    Text,
    Bytes(u32),
    Header,
    TableEntry(u32),
}

impl Shape {
    /// The shape of a pointer in that encoding.
    pub fn of(encoding: Encoding, pointer: u32) -> Option<Shape> {
        Some(match encoding.format(pointer)? {
            Format::Leb128 { signed: true } => Shape::Signed,
            Format::Leb128 { signed: false } => Shape::Unsigned,
            Format::Fixed { size: 2, .. } => Shape::Word,
            Format::Fixed { size: 4, .. } => Shape::Dword,
            Format::Fixed { .. } => Shape::Qword,
        })
    }
}

/// Takes notice of fields, comments, labels and references.
pub(super) trait Sink {
    fn field(&mut self, at: Address, shape: Shape, length: u32);
    fn comment(&mut self, at: Address, kind: CommentKind, text: &str);
    fn label(&mut self, at: Address, prefix: &str);
    fn refer(&mut self, from: Address, to: Address, kind: RefType);

    /// Whether it has heard enough.
    fn ends(&self) -> bool {
        false
    }

    /// A field with its comment at the end of the line.
    fn noted(&mut self, at: Address, shape: Shape, length: u32, text: &str) {
        self.field(at, shape, length);
        self.comment(at, CommentKind::Eol, text);
    }
}

/// Hears nothing.
pub(super) struct Deaf;

impl Sink for Deaf {
    fn field(&mut self, _: Address, _: Shape, _: u32) {}
    fn comment(&mut self, _: Address, _: CommentKind, _: &str) {}
    fn label(&mut self, _: Address, _: &str) {}
    fn refer(&mut self, _: Address, _: Address, _: RefType) {}
}

/// Writes everything into the program.
pub(super) struct MarkUp<'a> {
    pub program: &'a mut Program,
    types: HashMap<Shape, TypeId>,
    texts: HashMap<String, Arc<str>>,
    ends: &'a dyn Fn() -> bool,
}

impl<'a> MarkUp<'a> {
    pub fn new(program: &'a mut Program, ends: &'a dyn Fn() -> bool) -> Self {
        MarkUp { program, types: HashMap::new(), texts: HashMap::new(), ends }
    }

    fn type_of(&mut self, shape: Shape) -> TypeId {
        if let Some(known) = self.types.get(&shape) {
            return *known;
        }
        let types = &mut self.program.types;
        let id = match shape {
            Shape::Byte => types.builtin("byte"),
            Shape::Word => types.builtin("word"),
            Shape::Dword => types.builtin("dword"),
            Shape::Qword => types.builtin("qword"),
            Shape::Unsigned => types.builtin("uleb128"),
            Shape::Signed => types.builtin("sleb128"),
            Shape::Encoding => types.builtin("dwfenc"),
            Shape::Text => types.builtin("string"),
            Shape::Bytes(count) => {
                let byte = types.builtin("byte");
                types.array_of(byte, count)
            }
            Shape::Header => self.header_type(),
            Shape::TableEntry(size) => self.entry_type(size),
        };
        self.types.insert(shape, id);
        id
    }

    fn header_type(&mut self) -> TypeId {
        let byte = self.program.types.builtin("byte");
        let encoding = self.program.types.builtin("dwfenc");
        let fields = [
            (byte, "eh_frame_hdr_version", "Exception Handler Frame Header Version"),
            (encoding, "eh_frame_pointer_encoding", "Exception Handler Frame Pointer Encoding"),
            (
                encoding,
                "eh_frame_desc_entry_count_encoding",
                "Encoding of # of Exception Handler FDEs",
            ),
            (encoding, "eh_frame_table_encoding", "Exception Handler Table Encoding"),
        ];
        self.structure("eh_frame_hdr", 1, &fields)
    }

    fn entry_type(&mut self, size: u32) -> TypeId {
        let name = match size {
            2 => "word",
            4 => "dword",
            _ => "qword",
        };
        let number = self.program.types.builtin(name);
        let fields =
            [(number, "initial_loc", "Initial Location"), (number, "data_loc", "Data location")];
        self.structure("fde_table_entry", size, &fields)
    }

    fn structure(&mut self, name: &str, size: u32, fields: &[(TypeId, &str, &str)]) -> TypeId {
        let field = |(index, (data_type, name, comment)): (usize, &(TypeId, &str, &str))| Field {
            offset: index as u32 * size,
            data_type: *data_type,
            length: size,
            name: (*name).into(),
            comment: (*comment).into(),
            bits: None,
        };
        self.program.types.add(DataType {
            category: "/".into(),
            name: name.into(),
            length: Some(size * fields.len() as u32),
            alignment: 1,
            description: "".into(),
            kind: TypeKind::Struct {
                fields: fields.iter().enumerate().map(field).collect(),
                packed: false,
            },
            used: false,
        })
    }

    /// Adds a line to the comment at a place unless it is there already.
    pub fn add_line(&mut self, at: Address, kind: CommentKind, line: &str) {
        let key = (at, kind);
        let text = match self.program.comments.get(&key) {
            Some(old) if old.contains(line) => return,
            Some(old) => format!("{old}\n{line}"),
            None => line.to_owned(),
        };
        self.program.comments.insert(key, text.into());
    }
}

impl Sink for MarkUp<'_> {
    fn ends(&self) -> bool {
        (self.ends)()
    }

    fn field(&mut self, at: Address, shape: Shape, length: u32) {
        let data_type = self.type_of(shape);
        let range = AddressRange::with_length(at, u64::from(length));
        if let Some(range) = range.filter(|range| crate::strings::is_undefined(self.program, range))
        {
            crate::strings::clear(self.program, &range);
        }
        self.program.define_data(at, data_type, length);
    }

    fn comment(&mut self, at: Address, kind: CommentKind, text: &str) {
        // A handful of texts repeat at every entry; they share their storage.
        let shared = match self.texts.get(text) {
            Some(known) => Arc::clone(known),
            None => {
                let new: Arc<str> = text.into();
                if self.texts.len() < 256 {
                    self.texts.insert(text.to_owned(), Arc::clone(&new));
                }
                new
            }
        };
        self.program.comments.insert((at, kind), shared);
    }

    fn label(&mut self, at: Address, prefix: &str) {
        let name = format!("{prefix}{}", self.program.address_in_stored_name(at));
        match self.program.symbols.primary_at(at).map(|(id, _)| id) {
            Some(id) => {
                self.program.symbols.edit(id, |symbol| {
                    symbol.name = name.into();
                    symbol.source = SourceType::Analysis;
                });
            }
            None => {
                self.program.add_label(at, &name, SymbolId::GLOBAL, SourceType::Analysis);
            }
        }
    }

    fn refer(&mut self, from: Address, to: Address, kind: RefType) {
        self.program.add_reference(from, to, kind, 0, SourceType::Analysis);
    }
}
