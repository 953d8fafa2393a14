//! Programs built from what Ghidra says about the samples: the decompiler is measured on the same
//! facts that Ghidra's had, apart from how well analysis finds them.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object::{Object as _, ObjectSection as _, ObjectSegment as _};
use program::data_type::{Builtin, Charset, Field, FunctionType, SignatureParameter};
use program::{
    Address, AddressRange, AddressSet, BlockSource, CommentKind, DataOrganization, DataType,
    DataUnit, FlowOverride, FlowType, Function, Instruction, LocalVariable, MemoryBlock, Parameter,
    Permissions, Program, ProgramInfo, RefType, SourceType, SpaceId, Storage, StoragePiece, Symbol,
    SymbolId, SymbolKind, TypeId, TypeKind,
};
use serde_json::Value;

/// Where the samples are, or nothing with a printed line.
pub fn truth() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ghidra-truth");
    let place = std::env::var_os("GHIDRA_TRUTH").map_or(beside, PathBuf::from);
    if place.is_dir() {
        return Some(place);
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", place.display());
    println!("skipped: {} is missing", place.display());
    None
}

pub fn read(path: &Path) -> String {
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    xz2::read::XzDecoder::new(file).read_to_string(&mut text).unwrap();
    text
}

pub fn json(truth: &Path, sample: &str, kind: &str) -> Value {
    serde_json::from_str(&read(&truth.join(format!("dumps/{sample}.{kind}.json.xz")))).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

/// An address in memory or of an external symbol; nothing for overlays and the stack.
pub fn address(text: &str) -> Option<Address> {
    if let Some(external) = text.strip_prefix("EXTERNAL:") {
        return Some(Address::external(u64::from_str_radix(external, 16).ok()?));
    }
    let text = text.strip_prefix("ram:").unwrap_or(text);
    Some(Address::ram(u64::from_str_radix(text, 16).ok()?))
}

/// Builds the program of one sample.
pub fn program(truth: &Path, sample: &str, language: &decompiler::Language) -> Program {
    let dump = json(truth, sample, "program");
    let facts = &dump["program"];
    let info = ProgramInfo {
        name: sample.to_string(),
        language_id: language.language_id().to_string(),
        compiler_spec_id: language.compiler_spec_id().to_string(),
        address_bits: language.pointer_size() * 8,
        sha256: text(&facts["sha256"]).to_string(),
        ..ProgramInfo::default()
    };
    let windows = language.compiler_spec_id() == "windows";
    let pointer = language.pointer_size();
    let organization = DataOrganization {
        pointer,
        long: if windows { 4 } else { pointer },
        wide_char: if windows { 2 } else { 4 },
        long_double: if pointer == 4 { 12 } else { 16 },
        ..DataOrganization::default()
    };
    let big = language.endian() == decompiler::Endian::Big;
    let mut program = Program::new(info, big, organization);
    add_memory(&mut program, &dump, &std::fs::read(truth.join("bin").join(sample)).unwrap());
    let mut types = Types::default();
    types.add_all(&mut program, &dump["data_types"]);
    add_symbols(&mut program, &dump["symbols"]);
    add_functions(&mut program, &dump["functions"], language, &mut types);
    add_data(&mut program, &dump["data"], &mut types);
    add_references(&mut program, &dump["references"]);
    for comment in dump["comments"].as_array().unwrap() {
        let kind = match text(&comment[1]) {
            "PRE" => CommentKind::Pre,
            "PLATE" => CommentKind::Plate,
            _ => continue,
        };
        if let Some(at) = address(text(&comment[0])) {
            program.comments.insert((at, kind), text(&comment[2]).into());
        }
    }
    add_instructions(&mut program, truth, sample, language);
    program
}

fn add_memory(program: &mut Program, dump: &Value, bytes: &[u8]) {
    let file = object::File::parse(bytes).unwrap();
    let base = address(text(&dump["program"]["image_base"])).unwrap().offset;
    // Ghidra moves files without a fixed place.
    let shift = if file.format() == object::BinaryFormat::Elf {
        let lowest = file.segments().map(|segment| segment.address()).min().unwrap_or(0) & !0xfff;
        base.wrapping_sub(lowest)
    } else {
        0
    };
    for block in dump["memory_blocks"].as_array().unwrap() {
        let Some(start) = address(text(&block["start"])) else { continue };
        let length = block["length"].as_u64().unwrap();
        let name = text(&block["name"]);
        let source = if block["initialized"] == true {
            let mut content = vec![0; length as usize];
            fill(&file, bytes, name, start.offset.wrapping_sub(shift), &mut content);
            BlockSource::Bytes { bytes: content.into(), offset: 0, length: length as usize }
        } else {
            BlockSource::Uninitialized
        };
        let mut made = MemoryBlock::new(name, start, length, source);
        let perms = text(&block["perms"]);
        made.permissions = Permissions {
            read: perms.contains('r'),
            write: perms.contains('w'),
            execute: perms.contains('x'),
            volatile: perms.contains('v'),
            artificial: perms.contains('a'),
        };
        program.memory.add_block(made).unwrap();
    }
}

fn fill(file: &object::File<'_>, bytes: &[u8], name: &str, at: u64, out: &mut [u8]) {
    if file.format() == object::BinaryFormat::Pe && name == "Headers" {
        let length = out.len().min(bytes.len());
        out[..length].copy_from_slice(&bytes[..length]);
        return;
    }
    if file.kind() == object::ObjectKind::Relocatable {
        if let Some(data) = file.section_by_name(name).and_then(|section| section.data().ok()) {
            let length = out.len().min(data.len());
            out[..length].copy_from_slice(&data[..length]);
        }
        return;
    }
    let mut copy = |start: u64, data: &[u8]| {
        for (index, byte) in out.iter_mut().enumerate() {
            let place = (at + index as u64).wrapping_sub(start);
            if let Some(found) = usize::try_from(place).ok().and_then(|place| data.get(place)) {
                *byte = *found;
            }
        }
    };
    for segment in file.segments() {
        copy(segment.address(), segment.data().unwrap_or(&[]));
    }
}

fn source(name: &str) -> SourceType {
    match name {
        "ANALYSIS" => SourceType::Analysis,
        "IMPORTED" => SourceType::Imported,
        "USER_DEFINED" => SourceType::UserDefined,
        _ => SourceType::Default,
    }
}

/// The parts of a path; template arguments hold paths of their own.
fn split_path(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_i32, 0);
    for (at, character) in path.char_indices() {
        match character {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            ':' if depth == 0 && path[at..].starts_with("::") => {
                parts.push(&path[start..at]);
                start = at + 2;
            }
            _ => {}
        }
    }
    parts.push(&path[start..]);
    parts
}

fn namespace(program: &mut Program, path: &str) -> SymbolId {
    let mut parent = SymbolId::GLOBAL;
    let path = path.strip_prefix("<EXTERNAL>").unwrap_or(path);
    let path = path.strip_prefix("::").unwrap_or(path);
    for name in split_path(path) {
        if matches!(name, "Global" | "") || name.ends_with(".DLL") || name.ends_with(".dll") {
            continue;
        }
        let known = program.symbols.named(name).find(|(_, symbol)| {
            symbol.parent == parent
                && matches!(symbol.kind, SymbolKind::Namespace | SymbolKind::Class)
        });
        parent = match known {
            Some((id, _)) => id,
            None => program.symbols.add(Symbol {
                name: name.into(),
                address: Address::MAX,
                kind: SymbolKind::Namespace,
                parent,
                source: SourceType::Imported,
                primary: true,
                external_entry: false,
                pinned: false,
            }),
        };
    }
    parent
}

fn add_symbols(program: &mut Program, symbols: &Value) {
    for symbol in symbols.as_array().unwrap() {
        let (Some(at), "Label") = (address(text(&symbol[0])), text(&symbol[2])) else { continue };
        if text(&symbol[6]).contains('D') && text(&symbol[1]).starts_with("LAB_") {
            continue;
        }
        let parent = namespace(program, text(&symbol[5]));
        program.symbols.add(Symbol {
            name: text(&symbol[1]).into(),
            address: at,
            kind: SymbolKind::Label,
            parent,
            source: source(text(&symbol[3])),
            primary: symbol[4] == true,
            external_entry: false,
            pinned: false,
        });
    }
}

fn storage(text: &str, language: &decompiler::Language) -> Storage {
    if text == "<VOID>" {
        return Storage::Void;
    }
    let mut pieces = Vec::new();
    for part in text.split(',') {
        let Some((place, size)) = part.rsplit_once(':') else { return Storage::Unassigned };
        let Ok(size) = size.parse() else { return Storage::Unassigned };
        let address = if let Some(offset) = place.strip_prefix("Stack[") {
            let offset = offset.trim_end_matches(']');
            let (negative, digits) = match offset.strip_prefix('-') {
                Some(rest) => (true, rest),
                None => (false, offset),
            };
            let value = i64::from_str_radix(digits.trim_start_matches("0x"), 16).unwrap();
            Address::stack(if negative { -value } else { value })
        } else if let Some(register) = language.register(place) {
            Address::new(SpaceId::REGISTER, register.offset)
        } else {
            return Storage::Unassigned;
        };
        pieces.push(StoragePiece { address, size });
    }
    Storage::Pieces(pieces)
}

fn add_functions(
    program: &mut Program,
    functions: &Value,
    language: &decompiler::Language,
    types: &mut Types,
) {
    for dumped in functions.as_array().unwrap() {
        let Some(entry) = address(text(&dumped["entry"])) else { continue };
        let is_default = text(&dumped["name_source"]) == "DEFAULT";
        let name = text(&dumped["name"]);
        let name = if is_default && name.starts_with("FUN_") { "" } else { name };
        let parent = namespace(program, text(&dumped["namespace"]));
        let symbol = program.symbols.add(Symbol {
            name: name.into(),
            address: entry,
            kind: SymbolKind::Function,
            parent,
            source: source(text(&dumped["name_source"])),
            primary: true,
            external_entry: false,
            pinned: false,
        });
        let range = |range: &Value| {
            let (start, end) = text(range).split_once('-')?;
            AddressRange::new(address(start)?, address(end)?)
        };
        let body: AddressSet =
            dumped["body"].as_array().unwrap().iter().filter_map(range).collect();
        let undefined = program.types.builtin("undefined");
        let mut function = Function::new(entry, symbol, body, undefined);
        function.no_return = dumped["noreturn"] == true;
        function.inline = dumped["inline"] == true;
        function.call_fixup = dumped["call_fixup"].as_str().map(Into::into);
        let signature = &mut function.signature;
        signature.source = source(text(&dumped["signature_source"]));
        signature.varargs = dumped["varargs"] == true;
        let convention = text(&dumped["calling_convention"]);
        if !matches!(convention, "unknown" | "default" | "") {
            signature.convention = Some(convention.into());
        }
        signature.custom_storage = dumped["custom_storage"] == true;
        signature.return_type = types.named(program, text(&dumped["return"][0]));
        signature.return_storage = storage(text(&dumped["return"][1]), language);
        for (index, parameter) in dumped["params"].as_array().unwrap().iter().enumerate() {
            signature.parameters.push(Parameter {
                name: text(&parameter[0]).into(),
                data_type: types.named(program, text(&parameter[1])),
                storage: storage(text(&parameter[2]), language),
                source: source(text(&parameter[4])),
                automatic: text(&parameter[3]) == "auto",
                id: index as u32,
            });
        }
        for (index, local) in dumped["locals"].as_array().unwrap().iter().enumerate() {
            function.locals.push(LocalVariable {
                name: text(&local[0]).into(),
                data_type: types.named(program, text(&local[1])),
                storage: storage(text(&local[2]), language),
                first_use: local[3].as_i64().unwrap_or(0) as u32,
                hash: 0,
                source: source(text(&local[4])),
                type_locked: false,
                id: 1000 + index as u32,
            });
        }
        program.functions.put(function);
    }
}

fn add_data(program: &mut Program, data: &Value, types: &mut Types) {
    for item in data.as_array().unwrap() {
        let Some(at) = address(text(&item[0])) else { continue };
        let length = item[2].as_u64().unwrap() as u32;
        let data_type = types.named(program, text(&item[1]));
        program.listing.data.insert(at, DataUnit { data_type, length });
        let is_pointer = text(&item[1]).ends_with('*') || text(&item[1]) == "pointer";
        // Displayed values are those after relocation.
        if let (true, Ok(value)) = (is_pointer, u64::from_str_radix(text(&item[3]), 16)) {
            let bytes = value.to_be_bytes();
            let mut bytes = bytes[8 - length as usize..].to_vec();
            if !program.memory.big_endian() {
                bytes.reverse();
            }
            let _ = program.memory.write(at, &bytes);
        }
    }
}

fn ref_type(name: &str) -> RefType {
    match name {
        "READ" => RefType::Read,
        "WRITE" => RefType::Write,
        "READ_WRITE" => RefType::ReadWrite,
        "PARAM" => RefType::Param,
        "EXTERNAL" => RefType::External,
        "THUNK" => RefType::Thunk,
        name => FlowType::from_name(name).map_or(RefType::Data, RefType::Flow),
    }
}

fn add_references(program: &mut Program, references: &Value) {
    for reference in references.as_array().unwrap() {
        let ends = (address(text(&reference[0])), address(text(&reference[1])));
        let (Some(from), Some(to)) = ends else { continue };
        let operand = reference[4].as_i64().unwrap_or(-1) as i8;
        let kind = ref_type(text(&reference[2]));
        program.add_reference(from, to, kind, operand, SourceType::Analysis);
    }
}

fn add_instructions(
    program: &mut Program,
    truth: &Path,
    sample: &str,
    language: &decompiler::Language,
) {
    let thumb = language.has_context("TMode");
    for line in read(&truth.join(format!("dumps/{sample}.listing.txt.xz"))).lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let Some(at) = address(fields[0]).filter(|_| fields.len() >= 5) else { continue };
        let length = (fields[1].len() / 2) as u8;
        let flow_override = match fields.get(5).copied().unwrap_or("") {
            "CALL_RETURN" => FlowOverride::CallReturn,
            "CALL" => FlowOverride::Call,
            "BRANCH" => FlowOverride::Branch,
            "RETURN" => FlowOverride::Return,
            _ => FlowOverride::None,
        };
        let mode = u8::from(thumb && is_thumb(program, at, fields[2], language));
        program.listing.instructions.insert(
            at,
            Instruction {
                length,
                delay_slots: 0,
                in_delay_slot: false,
                mode,
                flow: FlowType::from_name(fields[4]).unwrap_or(FlowType::Invalid),
                flow_override,
            },
        );
        if mode != 0 {
            program.set_mode(AddressRange::with_length(at, u64::from(length)).unwrap(), 1);
        }
    }
}

/// Whether the bytes give this text in Thumb mode rather than in ARM mode.
fn is_thumb(program: &Program, at: Address, text: &str, language: &decompiler::Language) -> bool {
    let mut bytes = [0; 8];
    let length = program.memory.read(at, &mut bytes).unwrap_or(0);
    let mut decoder = decompiler::Decoder::new(language);
    let in_arm = decoder.listing(&bytes[..length], at.offset, language.default_context());
    in_arm.map(|text| text.to_string()).ok().as_deref() != Some(text)
}

/// The dump's types by their display names.
#[derive(Default)]
struct Types {
    known: HashMap<String, TypeId>,
    dumped: HashMap<String, Value>,
    functions: HashMap<String, String>,
}

impl Types {
    fn add_all(&mut self, program: &mut Program, types: &Value) {
        for dumped in types.as_array().unwrap() {
            let path = text(&dumped["path"]);
            let name = path.rsplit('/').next().unwrap();
            match text(&dumped["kind"]) {
                "pointer" | "array" | "builtin" => {}
                "function" => {
                    let prototype = text(&dumped["prototype"]).to_string();
                    self.functions.insert(path.to_string(), prototype);
                    self.dumped.entry(name.to_string()).or_insert_with(|| dumped.clone());
                }
                _ => {
                    self.dumped.insert(name.to_string(), dumped.clone());
                }
            }
        }
        let names: Vec<String> = self.dumped.keys().cloned().collect();
        for name in names {
            self.named(program, &name);
        }
    }

    fn named(&mut self, program: &mut Program, name: &str) -> TypeId {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        if let Some(inner) = name.strip_suffix('*') {
            let inner = self.named(program, inner.trim_end());
            return program.types.pointer_to(inner);
        }
        if let Some((inner, count)) = name.strip_suffix(']').and_then(|rest| rest.rsplit_once('['))
        {
            let inner = self.named(program, inner);
            return program.types.array_of(inner, count.parse().unwrap_or(1));
        }
        match self.dumped.get(name).cloned() {
            Some(dumped) => self.build(program, name, &dumped),
            None => builtin(program, name),
        }
    }

    fn build(&mut self, program: &mut Program, name: &str, dumped: &Value) -> TypeId {
        let path = text(&dumped["path"]);
        let category = match path.rsplit_once('/') {
            Some(("", _)) | None => "/",
            Some((category, _)) => category,
        };
        let length = dumped["length"].as_i64().and_then(|length| u32::try_from(length).ok());
        let made = |kind| DataType {
            category: category.into(),
            name: name.into(),
            length,
            alignment: 1,
            description: "".into(),
            kind,
            used: true,
        };
        // Its own name is known before its parts are asked for.
        let id = program.types.add(made(TypeKind::Struct { fields: Vec::new(), packed: false }));
        self.known.insert(name.to_string(), id);
        let kind = match text(&dumped["kind"]) {
            "structure" => TypeKind::Struct { fields: self.fields(program, dumped), packed: false },
            "union" => TypeKind::Union { fields: self.fields(program, dumped) },
            "enum" => {
                let values = dumped["values"].as_array().into_iter().flatten();
                let value = |value: &Value| {
                    (text(&value[0]).into(), value[1].as_i64().unwrap_or(0), "".into())
                };
                TypeKind::Enum { values: values.map(value).collect() }
            }
            "typedef" => {
                let base = text(&dumped["of"]).rsplit('/').next().unwrap().to_string();
                // `/a/functions/f *` names the function type of another category.
                let base = match base.strip_suffix(" *").filter(|inner| *inner == name) {
                    Some(inner) => {
                        let function = self.function_type(program, inner, text(&dumped["of"]));
                        program.types.pointer_to(function)
                    }
                    None => self.named(program, &base),
                };
                TypeKind::Typedef(base)
            }
            "function" => self.function(program, text(&dumped["prototype"])),
            _ => return builtin(program, name),
        };
        program.types.replace(id, made(kind));
        id
    }

    fn function_type(&mut self, program: &mut Program, name: &str, path: &str) -> TypeId {
        let path = path.trim_end_matches(" *");
        let prototype = self.functions.get(path).cloned();
        let kind = self.function(program, &prototype.unwrap_or(format!("undefined {name}()")));
        program.types.add(DataType {
            category: path.rsplit_once('/').map_or("/", |(category, _)| category).into(),
            name: name.into(),
            length: None,
            alignment: 1,
            description: "".into(),
            kind,
            used: true,
        })
    }

    fn function(&mut self, program: &mut Program, prototype: &str) -> TypeKind {
        let (head, parameters) = prototype.split_once('(').unwrap_or((prototype, ""));
        let return_type = head.trim().rsplit_once(' ').map_or("undefined", |(kind, _)| kind);
        let return_type = self.named(program, return_type.trim());
        let parameters = parameters.trim_end_matches(')').split(',').map(str::trim);
        let mut list = Vec::new();
        for parameter in parameters.filter(|text| !matches!(*text, "" | "void" | "...")) {
            let (kind, name) = match parameter.rsplit_once(' ') {
                Some((kind, name)) if !name.ends_with('*') => (kind, name),
                _ => (parameter, ""),
            };
            let data_type = self.named(program, kind.trim());
            list.push(SignatureParameter { name: name.into(), data_type });
        }
        TypeKind::Function(FunctionType {
            return_type,
            parameters: list,
            convention: None,
            varargs: prototype.contains("..."),
            no_return: false,
        })
    }

    fn fields(&mut self, program: &mut Program, dumped: &Value) -> Vec<Field> {
        let mut fields = Vec::new();
        for field in dumped["fields"].as_array().into_iter().flatten() {
            let kind = text(&field[1]);
            // A bit-field's type is followed by its width.
            let base = kind.split(':').next().unwrap();
            let bits = field[5].as_str().and_then(|bits| {
                let mut parts = bits.split(':').map(|part| part.parse::<u8>().ok());
                let (first, width) = (parts.next()??, parts.next()??);
                Some((first, width))
            });
            fields.push(Field {
                offset: field[0].as_u64().unwrap_or(0) as u32,
                data_type: self.named(program, base),
                length: field[2].as_u64().unwrap_or(0) as u32,
                name: text(&field[3]).into(),
                comment: "".into(),
                bits,
            });
        }
        fields
    }
}

fn builtin(program: &mut Program, name: &str) -> TypeId {
    let known = program.types.named(name).next();
    if let Some(known) = known {
        return known;
    }
    let kind = match name {
        "TerminatedCString" | "string" | "string-utf8" | "TerminatedUnicode" => {
            Builtin::String(Charset::Ascii)
        }
        "pointer" => Builtin::Pointer,
        "ImageBaseOffset32" => Builtin::ImageBaseOffset,
        _ => return program.types.builtin("undefined"),
    };
    program.types.add(DataType {
        category: "/".into(),
        name: name.into(),
        length: (kind == Builtin::ImageBaseOffset).then_some(4),
        alignment: 1,
        description: "".into(),
        kind: TypeKind::Builtin(kind),
        used: true,
    })
}

/// The language of a sample, by its name.
pub fn language(sample: &str) -> decompiler::Language {
    let (language, compiler) = match sample.split('.').nth(1).unwrap() {
        "x64" => ("x86:LE:64:default", "gcc"),
        "x86" => ("x86:LE:32:default", "gcc"),
        "win64" => ("x86:LE:64:default", "windows"),
        "win32" => ("x86:LE:32:default", "windows"),
        "aarch64" => ("AARCH64:LE:64:v8A", "default"),
        "arm" => ("ARM:LE:32:v8", "default"),
        "riscv64" => ("RISCV:LE:64:default", "gcc"),
        "mips" => ("MIPS:BE:32:default", "default"),
        other => panic!("no language for {other}"),
    };
    decompiler::Language::open(language, compiler).unwrap()
}

/// The samples in order of their names.
pub fn samples(truth: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(truth.join("dumps"))
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".listing.txt.xz").map(str::to_string))
        .collect();
    names.sort();
    names
}

/// Keeps shared values alive for as long as a test wants.
pub fn never() -> Arc<std::sync::atomic::AtomicBool> {
    Arc::default()
}
