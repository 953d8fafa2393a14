//! What our program says, in the words of Ghidra's dump.

use program::data_type::Builtin;
use program::{
    Address, BlockKind, CommentKind, DataType, FlowOverride, Function, MemoryBlock, Program,
    SpaceId, Storage, SymbolKind, TypeId, TypeKind,
};
use sha2::{Digest, Sha256};

use super::Items;

fn at(program: &Program, address: Address) -> String {
    let offset = address.offset;
    match address.space {
        SpaceId::RAM => format!("{offset:08x}"),
        SpaceId::EXTERNAL => format!("EXTERNAL:{offset:08x}"),
        SpaceId::STACK => match offset as i64 {
            offset @ 0.. => format!("Stack[{offset:#x}]"),
            offset => format!("Stack[-{:#x}]", offset.unsigned_abs()),
        },
        SpaceId::REGISTER => {
            let language = decompiler::Language::open(
                &program.info.language_id,
                &program.info.compiler_spec_id,
            );
            let language = language.unwrap();
            let known = [8, 4, 2, 1, 16].iter().find_map(|n| language.register_name(offset, *n));
            known.map_or_else(
                || format!("register:{offset:08x}"),
                |_| format!("register:{offset:08x}"),
            )
        }
        space => {
            let name = program.spaces.get(space).map_or("?", |space| &space.name);
            format!("{name}::{offset:08x}")
        }
    }
}

fn storage(program: &Program, storage: &Storage, note: &str) -> String {
    let language =
        decompiler::Language::open(&program.info.language_id, &program.info.compiler_spec_id);
    let language = language.unwrap();
    match storage {
        Storage::Void => "<VOID>".into(),
        Storage::Unassigned => "<UNASSIGNED>".into(),
        Storage::Pieces(pieces) => {
            let pieces: Vec<String> = pieces
                .iter()
                .map(|piece| match piece.address.space {
                    SpaceId::REGISTER => {
                        let (offset, size) = (piece.address.offset, piece.size);
                        let name = language.register_name(offset, size);
                        let name =
                            name.map_or_else(|| format!("register:{offset:08x}"), str::to_owned);
                        format!("{name}:{size}")
                    }
                    _ => format!("{}:{}", at(program, piece.address), piece.size),
                })
                .collect();
            format!("{}{note}", pieces.join(","))
        }
    }
}

pub fn found(program: &Program) -> Items {
    let mut items = Items::new();
    let mut add = |kind, facts: Vec<String>| {
        items.insert(kind, facts);
    };
    add("program", about(program));
    let blocks = program.memory.blocks();
    add("memory blocks", blocks.iter().map(|block| describe_block(program, block)).collect());
    add("bytes of blocks", blocks.iter().filter_map(|block| bytes(program, block)).collect());
    add("symbols", symbols(program));
    add("namespaces", namespaces(program));
    let references = program.references.iter().map(|r| {
        let (from, to) = (at(program, r.from), at(program, r.to));
        let (kind, source) = (r.info.kind.name(), r.info.source.name());
        format!("{from} | {to} | {kind} | {source} | {} | {}", r.operand, r.info.primary)
    });
    add("references", references.collect());
    add("entry points", program.entry_points.keys().map(|a| at(program, *a)).collect());
    let data = program.listing.data.iter().map(|(a, unit)| {
        format!("{} | {} | {}", at(program, *a), program.types.name(unit.data_type), unit.length)
    });
    add("data", data.collect());
    let comments = program.comments.iter().map(|((a, kind), text)| {
        let kind = match kind {
            CommentKind::Eol => "EOL",
            CommentKind::Plate => "PLATE",
            CommentKind::Post => "POST",
            CommentKind::Pre => "PRE",
            CommentKind::Repeatable => "REPEATABLE",
        };
        format!("{} | {kind} | {text}", at(program, *a))
    });
    add("comments", comments.collect());
    let relocations = program.relocations.iter().map(|r| {
        let place = at(program, r.address);
        format!("{place} | {} | {} | {} | {}", r.applied, r.kind, r.length, r.symbol)
    });
    add("relocations", relocations.collect());
    overrides(program, &mut items);
    functions(program, &mut items);
    data_types(program, &mut items);
    items
}

fn about(program: &Program) -> Vec<String> {
    let info = &program.info;
    vec![
        format!("name {}", info.name),
        format!("language {}", info.language_id),
        format!("compiler_spec {}", info.compiler_spec_id),
        format!("image_base {:08x}", info.image_base),
        format!("format {}", info.executable_format),
        format!("md5 {}", info.md5),
        format!("sha256 {}", info.sha256),
        format!("function_count {}", program.functions.len()),
        format!("instruction_count {}", program.listing.instructions.len()),
        format!("defined_data_count {}", program.listing.data.len()),
    ]
}

fn describe_block(program: &Program, block: &MemoryBlock) -> String {
    let p = block.permissions;
    let mut permissions = String::new();
    for (set, letter) in [(p.read, 'r'), (p.write, 'w'), (p.execute, 'x')] {
        permissions.push(if set { letter } else { '-' });
    }
    for (set, letter) in [(p.volatile, 'v'), (p.artificial, 'a')] {
        permissions.extend(set.then_some(letter));
    }
    let kind = match block.kind {
        BlockKind::Default => "Default",
        BlockKind::BitMapped => "Bit Mapped",
        BlockKind::ByteMapped => "Byte Mapped",
    };
    let (start, end) = (at(program, block.start), at(program, block.end()));
    let (name, loaded) = (&block.name, block.loaded);
    let (source, comment) = (&block.source_name, &block.comment);
    format!("{name} | {start} | {end} | {permissions} | {kind} | {loaded} | {source} | {comment}")
}

fn bytes(program: &Program, block: &MemoryBlock) -> Option<String> {
    if !block.is_initialized() || block.kind != BlockKind::Default {
        return None;
    }
    let mut bytes = vec![0; block.length.min(64 << 10) as usize];
    let read = program.memory.read(block.start, &mut bytes).ok()?;
    bytes.truncate(read);
    let sum: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("{} | {} | {read} | {sum}", block.name, at(program, block.start)))
}

/// The function that a thunk finally stands for.
fn meant<'a>(program: &'a Program, function: &'a Function) -> &'a Function {
    let mut function = function;
    while let Some(next) = function.thunk_of.and_then(|entry| program.functions.at(entry)) {
        function = next;
    }
    function
}

fn name(program: &Program, function: &Function) -> (String, String) {
    let symbol = program.symbols.get(function.symbol).unwrap();
    let named = |symbol: &program::Symbol| (symbol.name.to_string(), parent_of(program, symbol));
    if !symbol.name.is_empty() {
        return named(symbol);
    }
    let other = meant(program, function);
    if other.entry != function.entry {
        let symbol = program.symbols.get(other.symbol).unwrap();
        if !symbol.name.is_empty() {
            return named(symbol);
        }
    }
    let (_, parent) = named(symbol);
    let prefix = if function.thunk_of.is_some() { "thunk_FUN" } else { "FUN" };
    (format!("{prefix}_{}", at(program, other.entry)), parent)
}

/// The namespaces that lead to a symbol and its own name; functions without a name have one here.
fn path(program: &Program, id: program::SymbolId) -> String {
    let mut names = Vec::new();
    let mut next = program.symbols.get(id);
    while let Some(symbol) = next {
        let function = program.functions.at(symbol.address).filter(|_| symbol.name.is_empty());
        names.push(function.map_or_else(|| symbol.name.to_string(), |f| name(program, f).0));
        next = program.symbols.get(symbol.parent);
    }
    names.reverse();
    names.join("::")
}

fn parent_of(program: &Program, symbol: &program::Symbol) -> String {
    match path(program, symbol.parent) {
        path if path.is_empty() => "Global".to_owned(),
        path => path,
    }
}

fn symbols(program: &Program) -> Vec<String> {
    let mut all = Vec::new();
    for (_, symbol) in program.symbols.iter().filter(|(_, symbol)| symbol.names_a_place()) {
        let (name, parent) = match program.functions.at(symbol.address) {
            Some(function) if symbol.kind == SymbolKind::Function => name(program, function),
            _ => (symbol.name.to_string(), parent_of(program, symbol)),
        };
        let mut flags = String::new();
        flags.extend(symbol.external_entry.then_some('E'));
        flags.extend(symbol.pinned.then_some('P'));
        let place = at(program, symbol.address);
        let (kind, source) = (symbol.kind.name(), symbol.source.name());
        let primary = symbol.primary;
        all.push(format!("{place} | {name} | {kind} | {source} | {primary} | {parent} | {flags}"));
    }
    all
}

fn namespaces(program: &Program) -> Vec<String> {
    let kinds = [SymbolKind::Namespace, SymbolKind::Class, SymbolKind::Library];
    let all = program.symbols.iter().filter(|(_, symbol)| kinds.contains(&symbol.kind));
    all.map(|(id, symbol)| {
        let path = path(program, id);
        format!("{} | {path} | {}", symbol.kind.name(), symbol.source.name())
    })
    .collect()
}

fn overrides(program: &Program, items: &mut Items) {
    let units = program.listing.instructions.iter();
    let flow =
        units.filter(|(_, unit)| unit.flow_override != FlowOverride::None).map(|(a, unit)| {
            let kind = match unit.flow_override {
                FlowOverride::Branch => "BRANCH",
                FlowOverride::Call => "CALL",
                FlowOverride::CallReturn => "CALL_RETURN",
                FlowOverride::Return => "RETURN",
                FlowOverride::None => "NONE",
            };
            format!("{} | {kind}", at(program, *a))
        });
    items.insert("flow overrides", flow.collect());
    let language =
        decompiler::Language::open(&program.info.language_id, &program.info.compiler_spec_id);
    let mut decoder = decompiler::Decoder::new(&language.unwrap());
    let shorter = program.listing.instructions.iter().filter_map(|(a, unit)| {
        let mut bytes = [0; 32];
        let there = program.memory.read(*a, &mut bytes).ok()?;
        let context = decoder.language().mode_context(unit.mode);
        let decoded = decoder.decode(&bytes[..there], a.offset, context).ok()?;
        (decoded.length != unit.length).then(|| format!("{} | {}", at(program, *a), unit.length))
    });
    items.insert("length overrides", shorter.collect());
}

fn functions(program: &Program, items: &mut Items) {
    let mut add = |kind: &'static str, function: &Function, fact: String| {
        let entry = at(program, function.entry);
        items.entry(kind).or_default().push(format!("{entry} | {fact}"));
    };
    for function in program.functions.iter() {
        let (name, parent) = name(program, function);
        let symbol = program.symbols.get(function.symbol).unwrap();
        let says = meant(program, function);
        let signature = &says.signature;
        add("functions", function, format!("{name} | {parent}"));
        add("name sources", function, symbol.source.name().into());
        add("signature sources", function, signature.source.name().into());
        let convention = signature.convention.as_deref().unwrap_or("unknown").to_owned();
        add("conventions", function, convention);
        add("bodies", function, function.body.len().to_string());
        let (varargs, custom) = (signature.varargs, signature.custom_storage);
        let (inline, no_return) = (says.inline, says.no_return);
        add("flags", function, format!("{inline} | {no_return} | {varargs} | {custom}"));
        let thunked = function.thunk_of.map(|_| at(program, says.entry)).unwrap_or_default();
        add("thunks", function, format!("{} | {thunked}", function.thunk_of.is_some()));
        let purge = says.stack_purge.map_or_else(|| "unknown".into(), |purge| purge.to_string());
        add("stack purges", function, purge);
        add("call fix-ups", function, says.call_fixup.as_deref().unwrap_or_default().into());
        add("externals", function, function.is_external().to_string());
        let returned = program.types.name(signature.return_type);
        let place = storage(program, &signature.return_storage, "");
        add("returns", function, format!("{returned} | {place}"));
        for (index, parameter) in signature.parameters.iter().enumerate() {
            let (note, word) = if parameter.automatic { (" (auto)", "auto") } else { ("", "") };
            let written = signature.parameters[..index].iter().filter(|p| !p.automatic).count();
            let name = match &*parameter.name {
                "" => format!("param_{}", written + 1),
                name => name.to_owned(),
            };
            let data_type = program.types.name(parameter.data_type);
            let place = storage(program, &parameter.storage, note);
            let source = parameter.source.name();
            add(
                "parameters",
                function,
                format!("{name} | {data_type} | {place} | {word} | {source}"),
            );
        }
        for local in &function.locals {
            let place = match local.hash {
                0 => storage(program, &local.storage, ""),
                hash => {
                    let size = program.types.length(local.data_type).unwrap_or(0);
                    format!("HASH:{hash:x}:{size}")
                }
            };
            let data_type = program.types.name(local.data_type);
            let (name, first, source) = (&local.name, local.first_use, local.source.name());
            add("locals", function, format!("{name} | {data_type} | {place} | {first} | {source}"));
        }
        for tag in &function.tags {
            add("tags of functions", function, tag.to_string());
        }
    }
}

fn data_types(program: &Program, items: &mut Items) {
    let types = &program.types;
    let mut add = |kind: &'static str, path: &str, fact: String| {
        items.entry(kind).or_default().push(format!("{path} | {fact}"));
    };
    let path_of = |id: TypeId| types.get(id).map(|t| t.path()).unwrap_or_default();
    let is_builtin =
        |t: &DataType| matches!(t.kind, TypeKind::Builtin(builtin) if builtin != Builtin::Pointer);
    let of_void =
        |t: &DataType| matches!(t.kind, TypeKind::Typedef(of) if of == types.builtin("void"));
    for (_, t) in types.iter().filter(|(_, t)| t.used && !is_builtin(t)) {
        let path = t.path();
        let kind = match &t.kind {
            TypeKind::Builtin(_) | TypeKind::Pointer(_) => "pointer",
            TypeKind::Array { .. } => "array",
            TypeKind::Struct { .. } => "structure",
            TypeKind::Union { .. } => "union",
            TypeKind::Enum { .. } => "enum",
            TypeKind::Typedef(_) => "typedef",
            TypeKind::Function(_) => "function",
        };
        add("data types", &path, kind.into());
        let length = match (&t.kind, t.length) {
            // Ghidra shows what has no members yet as one byte, and code as of no length.
            (TypeKind::Function(_), _) => "-1".into(),
            (TypeKind::Typedef(_), Some(0)) if of_void(t) => "0".into(),
            (_, Some(0)) => "1".into(),
            (_, Some(length)) => length.to_string(),
            (_, None) => "-1".into(),
        };
        add("lengths of types", &path, length);
        add("alignments of types", &path, t.alignment.to_string());
        match &t.kind {
            TypeKind::Pointer(Some(of)) | TypeKind::Typedef(of) => {
                add("types meant", &path, path_of(*of));
            }
            TypeKind::Pointer(None) => add("types meant", &path, String::new()),
            TypeKind::Array { element, count } => {
                add("types meant", &path, path_of(*element));
                add("counts of arrays", &path, count.to_string());
            }
            TypeKind::Struct { fields, packed } => {
                add("packing", &path, packed.to_string());
                fields.iter().for_each(|f| add("members", &path, member(program, f)));
            }
            TypeKind::Union { fields } => {
                fields.iter().for_each(|f| add("members", &path, member(program, f)));
            }
            TypeKind::Enum { values } => {
                for (name, value, _) in values {
                    add("values of enums", &path, format!("{name} | {value}"));
                }
            }
            _ => {}
        }
    }
}

fn member(program: &Program, field: &program::data_type::Field) -> String {
    let name = program.types.name(field.data_type);
    let (name, bits) = match field.bits {
        Some((low, width)) => (format!("{name}:{width}"), format!(" | bits:{low}:{width}")),
        None => (name.to_owned(), String::new()),
    };
    let (offset, length, own, comment) = (field.offset, field.length, &field.name, &field.comment);
    format!("{offset} | {name} | {length} | {own} | {comment}{bits}")
}
