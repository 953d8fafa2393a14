//! The shape of `program.json` and `decomp.json`. Addresses stay in Ghidra's text
//! form: `00101000`, `EXTERNAL:00000001`, `.symtab::00000010`, `Stack[-0x8]`.

use serde::Deserialize;

/// Everything about one analysed program but the decompiled C.
#[derive(Debug, Clone, Deserialize)]
pub struct ProgramDump {
    /// Name, language and counts.
    pub program: ProgramFacts,
    /// Memory blocks in address order.
    pub memory_blocks: Vec<Block>,
    /// Functions, external ones included.
    pub functions: Vec<Function>,
    /// Symbols, dynamic ones included.
    pub symbols: Vec<Symbol>,
    /// References, stack references included.
    pub references: Vec<Reference>,
    /// Addresses marked as external entry points.
    pub entry_points: Vec<String>,
    /// Defined top-level data items.
    pub data: Vec<Data>,
    /// The data items that are strings.
    pub strings: Vec<StringItem>,
    /// Comments of every kind.
    pub comments: Vec<Comment>,
    /// Bookmarks, warnings of the loader among them.
    pub bookmarks: Vec<Bookmark>,
    /// Relocations and what became of them.
    pub relocations: Vec<Relocation>,
    /// Names of the external libraries.
    pub external_libraries: Vec<String>,
    /// Data types of the program.
    pub data_types: Vec<DataType>,
}

/// A data type.
#[derive(Debug, Clone, Deserialize)]
pub struct DataType {
    /// Category and name.
    pub path: String,
    /// `structure`, `union`, `enum`, `typedef`, `function`, `pointer`, `array` and others.
    pub kind: String,
    /// Bytes; -1 when it has no size.
    pub length: i64,
    /// The path of what a typedef, a pointer or an array is of.
    pub of: Option<String>,
    /// Members: offset, type, length, name, comment and, of bit-fields, their place.
    #[serde(default)]
    fields: Vec<Vec<serde_json::Value>>,
}

impl DataType {
    /// Members as `offset type name`, bit-fields with their lowest bit and their width.
    pub fn members(&self) -> impl Iterator<Item = String> {
        self.fields.iter().map(|field| {
            let text = |index: usize| field.get(index).and_then(|part| part.as_str());
            let kind = text(1).and_then(|kind| kind.split(':').next()).unwrap_or_default();
            let bits = text(5).and_then(|bits| bits.strip_prefix("bits:"));
            let bits = bits.map(|bits| format!(" {}", bits.replace(':', "+")));
            let offset = field.first().and_then(|offset| offset.as_u64()).unwrap_or_default();
            format!("{offset} {kind} {}{}", text(3).unwrap_or_default(), bits.unwrap_or_default())
        })
    }
}

/// The program as a whole.
#[derive(Debug, Clone, Deserialize)]
pub struct ProgramFacts {
    /// File name.
    pub name: String,
    /// Language id, such as `x86:LE:64:default`.
    pub language: String,
    /// Compiler spec id, such as `gcc`.
    pub compiler_spec: String,
    /// Image base.
    pub image_base: String,
    /// Lowest address.
    pub min_address: String,
    /// Highest address, of an overlay if there is one.
    pub max_address: String,
    /// Name of the file format.
    pub format: String,
    /// SHA-256 of the file.
    pub sha256: String,
    /// Number of functions.
    pub function_count: u64,
    /// Number of stored symbols.
    pub symbol_count: u64,
    /// Number of instructions.
    pub instruction_count: u64,
    /// Number of defined data items.
    pub defined_data_count: u64,
}

/// One memory block.
#[derive(Debug, Clone, Deserialize)]
pub struct Block {
    /// Block name.
    pub name: String,
    /// First address.
    pub start: String,
    /// Last address.
    pub end: String,
    /// Length in bytes.
    pub length: u64,
    /// `rwx`, with `v` for volatile and `a` for artificial appended.
    pub perms: String,
    /// `Default`, `Bit Mapped` or `Byte Mapped`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it has bytes.
    pub initialized: bool,
    /// Whether it lives in a space of its own.
    pub overlay: bool,
    /// Whether it is part of the loaded image.
    pub loaded: bool,
    /// Who made it.
    pub source: Option<String>,
    /// Where it came from.
    pub comment: Option<String>,
}

/// One function.
#[derive(Debug, Clone, Deserialize)]
pub struct Function {
    /// Entry point.
    pub entry: String,
    /// Short name.
    pub name: String,
    /// Namespace path.
    pub namespace: String,
    /// Source of the name: `DEFAULT`, `IMPORTED`, `ANALYSIS`, `USER_DEFINED`.
    pub name_source: String,
    /// Prototype without calling convention.
    pub signature: String,
    /// Prototype with calling convention.
    pub signature_full: String,
    /// Source of the prototype.
    pub signature_source: String,
    /// Calling convention name.
    pub calling_convention: String,
    /// Number of addresses in the body.
    pub body_size: u64,
    /// Ranges of the body, `first-last`.
    pub body: Vec<String>,
    /// Whether it only passes control on.
    pub thunk: bool,
    /// The function a thunk stands for, by name.
    pub thunk_of: Option<String>,
    /// The function a thunk stands for, by address.
    pub thunk_of_address: Option<String>,
    /// Whether it lives in another library.
    pub external: bool,
    /// That library.
    pub external_library: Option<String>,
    /// Whether it never returns.
    pub noreturn: bool,
    /// Whether it takes a variable number of arguments.
    pub varargs: bool,
    /// Bytes popped from the stack on return, or `unknown`.
    pub stack_purge: String,
    /// Sizes of the stack frame.
    pub frame: Frame,
    /// Return type and storage.
    #[serde(rename = "return")]
    pub returned: Returned,
    /// Parameters.
    pub params: Vec<Parameter>,
    /// Local variables.
    pub locals: Vec<Local>,
    /// Functions it calls, `address name`.
    #[serde(default)]
    pub calls: Vec<String>,
}

/// Sizes of a stack frame.
#[derive(Debug, Clone, Deserialize)]
pub struct Frame {
    /// Whole size.
    pub size: i64,
    /// Bytes of local variables.
    pub local_size: i64,
    /// Bytes of parameters.
    pub param_size: i64,
    /// Offset of the first parameter.
    pub param_offset: i64,
    /// Offset of the return address.
    pub return_address_offset: i64,
}

/// What a function returns.
#[derive(Debug, Clone, Deserialize)]
pub struct Returned {
    /// Type name.
    pub data_type: String,
    /// Storage, such as `EAX:4`.
    pub storage: String,
}

/// A parameter of a function.
#[derive(Debug, Clone, Deserialize)]
pub struct Parameter {
    /// Name.
    pub name: String,
    /// Type name.
    pub data_type: String,
    /// Storage, such as `RDI:8`.
    pub storage: String,
    /// `auto` for a hidden one; absent in decompiler results.
    #[serde(default)]
    pub auto: String,
    /// Source of the name; absent in decompiler results.
    #[serde(default)]
    pub source: String,
}

/// A local variable of a function.
#[derive(Debug, Clone, Deserialize)]
pub struct Local {
    /// Name.
    pub name: String,
    /// Type name.
    pub data_type: String,
    /// Storage, such as `Stack[-0x10]:8`.
    pub storage: String,
    /// Offset of its first use in the function.
    pub first_use: i64,
    /// Source of the name.
    pub source: String,
}

/// One symbol.
#[derive(Debug, Clone, Deserialize)]
pub struct Symbol {
    /// Where it stands.
    pub address: String,
    /// Short name.
    pub name: String,
    /// `Label`, `Function` and so on.
    pub kind: String,
    /// Source of the name.
    pub source: String,
    /// Whether it is the one shown at its address.
    pub primary: bool,
    /// Namespace path.
    pub namespace: String,
    /// `D` dynamic, `E` external entry point, `P` pinned.
    pub flags: String,
}

/// One reference.
#[derive(Debug, Clone, Deserialize)]
pub struct Reference {
    /// Where it stands.
    pub from: String,
    /// Where it points to.
    pub to: String,
    /// `UNCONDITIONAL_CALL`, `DATA`, `READ` and so on.
    pub kind: String,
    /// Source of the reference.
    pub source: String,
    /// Operand index, -1 for the mnemonic.
    pub operand: i32,
    /// Whether it is the one shown.
    pub primary: bool,
    /// The offset or shift of an offset or shifted reference.
    #[serde(default)]
    pub shift: String,
}

/// One defined data item.
#[derive(Debug, Clone, Deserialize)]
pub struct Data {
    /// First address.
    pub address: String,
    /// Display name of its type.
    pub data_type: String,
    /// Length in bytes.
    pub length: u64,
    /// Displayed value.
    pub value: Option<String>,
    /// Label at its address.
    pub label: Option<String>,
}

/// One string.
#[derive(Debug, Clone, Deserialize)]
pub struct StringItem {
    /// First address.
    pub address: String,
    /// Length in bytes, terminator and padding included.
    pub length: u64,
    /// Type name, such as `string-utf8`.
    pub data_type: String,
    /// Its characters.
    pub value: Option<String>,
    /// Its charset.
    pub charset: Option<String>,
}

/// One comment.
#[derive(Debug, Clone, Deserialize)]
pub struct Comment {
    /// Where it stands.
    pub address: String,
    /// `EOL`, `PRE`, `POST`, `PLATE` or `REPEATABLE`.
    pub kind: String,
    /// Its text.
    pub text: String,
}

/// One bookmark.
#[derive(Debug, Clone, Deserialize)]
pub struct Bookmark {
    /// Where it stands.
    pub address: String,
    /// Its type, such as `Warning`.
    pub kind: String,
    /// Its category.
    pub category: String,
    /// Its text.
    pub comment: String,
}

/// One relocation.
#[derive(Debug, Clone, Deserialize)]
pub struct Relocation {
    /// Where it is applied.
    pub address: String,
    /// `APPLIED`, `SKIPPED` and so on.
    pub status: String,
    /// The format's number for its kind.
    pub kind: i64,
    /// What the format says beside it.
    pub values: Vec<i64>,
    /// Bytes it changes.
    pub length: i64,
    /// The symbol it names.
    pub symbol: Option<String>,
}

/// What the decompiler says about one function.
#[derive(Debug, Clone, Deserialize)]
pub struct Decompilation {
    /// Entry point of the function.
    pub entry: String,
    /// Its name.
    pub name: String,
    /// Whether it ended well.
    pub completed: bool,
    /// What went wrong.
    #[serde(default)]
    pub error: Option<String>,
    /// Prototype as printed.
    #[serde(default)]
    pub signature: Option<String>,
    /// The printed C.
    #[serde(default)]
    pub c: Option<String>,
    /// Parameters as the decompiler sees them.
    #[serde(default)]
    pub params: Vec<Parameter>,
    /// Variables as the decompiler sees them.
    #[serde(default)]
    pub locals: Vec<Field>,
    /// Number of basic blocks.
    #[serde(default)]
    pub blocks: u64,
    /// Recovered jump tables.
    #[serde(default)]
    pub jump_tables: Vec<JumpTable>,
}

/// A variable of the decompiler.
#[derive(Debug, Clone, Deserialize)]
pub struct Field {
    /// Name.
    pub name: String,
    /// Type name.
    pub data_type: String,
    /// Storage.
    pub storage: String,
    /// First address it is used at.
    #[serde(default)]
    pub first_use: Option<String>,
}

/// A recovered jump table.
#[derive(Debug, Clone, Deserialize)]
pub struct JumpTable {
    /// Address of the jump.
    #[serde(rename = "switch")]
    pub jump: String,
    /// Its cases in order.
    pub cases: Vec<Case>,
}

/// One case of a jump table.
#[derive(Debug, Clone, Deserialize)]
pub struct Case {
    /// The value that leads here; none for the default.
    pub label: Option<i64>,
    /// Where it leads.
    pub target: String,
}
