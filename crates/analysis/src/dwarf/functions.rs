//! Prototypes and variables of functions out of debug information.

use super::types::Types;
use super::{Bytes, DEEPEST, Entry, variables};
use decompiler::Language;
use gimli::{AttributeValue, EntriesTreeNode, Operation};
use program::{
    Address, CommentKind, Function, LocalVariable, Parameter, Program, Signature, SourceType,
    Storage, SymbolId, TypeId, TypeKind,
};
use std::collections::{BTreeMap, HashSet};

/// Parameters and variables of one function that are kept.
const MOST: usize = 1 << 12;
/// Longest comment about variables without a place.
const LONGEST: usize = 1 << 14;

/// A variable on its way into a function.
struct Variable {
    name: String,
    data_type: TypeId,
    /// Offset from the stack pointer at entry.
    offset: i64,
}

/// What the entries below a function say.
#[derive(Default)]
struct Content {
    parameters: Vec<(String, TypeId)>,
    this: Option<TypeId>,
    varargs: bool,
    variables: Vec<Variable>,
    /// Lines about variables without a place, by where their block begins.
    unplaced: BTreeMap<Address, String>,
}

/// Gives the function at the place of an entry its prototype and variables.
pub(super) fn define<'a>(
    program: &mut Program,
    language: &Language,
    types: &mut Types<'a>,
    entry: &Entry<'_, 'a>,
) {
    if !matches!(entry.attr_value(gimli::DW_AT_low_pc), Ok(Some(_))) {
        return;
    }
    let Some(at) = types.source.start(entry) else { return };
    let Some(function) = program.functions.at(at).cloned() else { return };
    if function.thunk_of.is_some() || function.signature.source >= SourceType::Imported {
        return;
    }
    let base = frame_base(program, types, entry);
    let mut content = Content::default();
    if let Ok(mut tree) = types.source.unit.entries_tree(Some(entry.offset()))
        && let Ok(root) = tree.root()
    {
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            collect(program, types, child, &mut content, (at, base, true), 0);
        }
    }
    complete(program, types, entry, &mut content);
    let void = program.types.builtin("void");
    let returned = types.of(program, entry).unwrap_or(void);
    if let Some(this) = content.this {
        name_class(program, &function, this);
        let name = types.source.name(entry).unwrap_or_default();
        note_prototype(program, at, &name, returned, &content);
    }
    apply(program, language, &function, content, returned);
    if program.symbols.get(function.symbol).is_some_and(|s| s.name.is_empty())
        && let Some(name) = types.source.name(entry)
    {
        program.symbols.edit(function.symbol, |s| {
            s.name = name.into();
            s.parent = SymbolId::GLOBAL;
            s.source = SourceType::Imported;
        });
    }
}

/// Takes in parameters that only the entry speaks of that this one stands for.
fn complete<'a>(
    program: &mut Program,
    types: &mut Types<'a>,
    entry: &Entry<'_, 'a>,
    content: &mut Content,
) {
    let Ok(Some(AttributeValue::UnitRef(at))) = entry.attr_value(gimli::DW_AT_abstract_origin)
    else {
        return;
    };
    let mut whole = Content::default();
    if let Ok(mut tree) = types.source.unit.entries_tree(Some(at))
        && let Ok(root) = tree.root()
    {
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            if child.entry().tag() == gimli::DW_TAG_formal_parameter
                && whole.parameters.len() < MOST
            {
                parameter(program, types, child.entry(), &mut whole, None);
            }
        }
    }
    if whole.parameters.len() > content.parameters.len() {
        content.parameters = whole.parameters;
    }
}

/// Spells the class of a method as the debug information does.
fn name_class(program: &mut Program, function: &Function, this: TypeId) {
    let Some(TypeKind::Pointer(Some(class))) = program.types.get(this).map(|t| t.kind.clone())
    else {
        return;
    };
    let name = program.types.name(class).to_owned();
    let Some(parent) = program.symbols.get(function.symbol).map(|s| s.parent) else { return };
    let known = program.symbols.get(parent).map(|s| s.name.to_string()).unwrap_or_default();
    if known != name && known == name.replace(",_", ",") {
        program.symbols.edit(parent, |s| s.name = name.into());
    }
}

/// The prototype as it was written, hidden parameters among the others.
fn note_prototype(
    program: &mut Program,
    at: Address,
    name: &str,
    returned: TypeId,
    content: &Content,
) {
    let this = content.this.map(|id| format!("{} this", program.types.name(id)));
    let others = content.parameters.iter();
    let others = others.map(|(name, id)| format!("{} {name}", program.types.name(*id)));
    let all: Vec<String> = this.into_iter().chain(others).collect();
    let returned = program.types.name(returned);
    let text = format!("DWARF original prototype: {returned} {name}({})", all.join(", "));
    program.comments.insert((at, CommentKind::Plate), text.into());
}

/// What offsets from the frame are counted from, as seen from the stack pointer at entry.
fn frame_base<'a>(program: &Program, types: &Types<'a>, entry: &Entry<'_, 'a>) -> Option<i64> {
    let pushed = i64::from(program.types.organization().pointer);
    let is_x86 = program.info.language_id.starts_with("x86:");
    if let Some(listed) = listed_frame_base(types, entry, is_x86, pushed) {
        return Some(listed);
    }
    match variables::single(types, entry, gimli::DW_AT_frame_base)? {
        Operation::CallFrameCFA => Some(if is_x86 { pushed } else { 0 }),
        // The frame pointer, right after it was pushed and set.
        Operation::Register { register: gimli::Register(6) } if is_x86 && pushed == 8 => Some(-8),
        Operation::Register { register: gimli::Register(5) } if is_x86 && pushed == 4 => Some(-4),
        _ => None,
    }
}

/// The frame as a list says it that begins with the function, as DWARF 2 does: there, the stack
/// pointer is the one at entry.
fn listed_frame_base<'a>(
    types: &Types<'a>,
    entry: &Entry<'_, 'a>,
    is_x86: bool,
    pointer: i64,
) -> Option<i64> {
    let source = types.source;
    let stack_pointer = match (is_x86, pointer) {
        (true, 8) => gimli::Register(7),
        (true, 4) => gimli::Register(4),
        _ => return None,
    };
    let value = entry.attr_value(gimli::DW_AT_frame_base).ok()??;
    let mut list = source.dwarf.attr_locations(source.unit, value).ok()??;
    let first = list.next().ok()??;
    let start = Address::ram(first.range.begin.wrapping_add(source.shift));
    if Some(start) != source.start(entry) {
        return None;
    }
    let mut operations = first.data.operations(source.unit.encoding());
    match (operations.next(), operations.next()) {
        (Ok(Some(Operation::RegisterOffset { register, offset, .. })), Ok(None))
            if register == stack_pointer =>
        {
            Some(offset)
        }
        _ => None,
    }
}

/// Goes through what is declared in a function: `(at, base, outermost)` tell where the block
/// begins, what the frame is, and whether parameters are the function's own.
fn collect<'a>(
    program: &mut Program,
    types: &mut Types<'a>,
    node: EntriesTreeNode<'_, '_, '_, Bytes<'a>>,
    content: &mut Content,
    (at, base, outermost): (Address, Option<i64>, bool),
    depth: usize,
) {
    if depth > DEEPEST || content.variables.len() + content.parameters.len() > MOST {
        return;
    }
    let tag = node.entry().tag();
    match tag {
        gimli::DW_TAG_formal_parameter if outermost => {
            parameter(program, types, node.entry(), content, base);
        }
        gimli::DW_TAG_unspecified_parameters if outermost => content.varargs = true,
        gimli::DW_TAG_variable => variable(program, types, node.entry(), content, at, base),
        gimli::DW_TAG_lexical_block | gimli::DW_TAG_inlined_subroutine => {
            let at = types.source.start(node.entry()).unwrap_or(at);
            let mut children = node.children();
            while let Ok(Some(child)) = children.next() {
                collect(program, types, child, content, (at, base, false), depth + 1);
            }
        }
        _ => {}
    }
}

fn parameter<'a>(
    program: &mut Program,
    types: &mut Types<'a>,
    entry: &Entry<'_, 'a>,
    content: &mut Content,
    base: Option<i64>,
) {
    let undefined = program.types.undefined(program.types.organization().pointer);
    let data_type = types.of(program, entry).unwrap_or(undefined);
    let name = types.source.name(entry).unwrap_or_default();
    let place = stack_place(types, entry, base).filter(|offset| *offset < 0);
    if let Some(offset) = place.filter(|_| !name.is_empty()) {
        content.variables.push(Variable { name: format!("{name}_local"), data_type, offset });
    }
    let artificial = types.source.flag(entry, gimli::DW_AT_artificial);
    if artificial && name == "this" && content.parameters.is_empty() {
        content.this = Some(data_type);
    } else {
        content.parameters.push((name, data_type));
    }
}

fn variable<'a>(
    program: &mut Program,
    types: &mut Types<'a>,
    entry: &Entry<'_, 'a>,
    content: &mut Content,
    at: Address,
    base: Option<i64>,
) {
    use gimli::DW_AT_declaration;
    let Some(name) = types.source.name(entry) else { return };
    if types.source.flag(entry, gimli::DW_AT_external)
        || types.source.flag(entry, DW_AT_declaration)
    {
        return;
    }
    if let Some(Operation::Address { .. } | Operation::AddressIndex { .. }) =
        variables::operation(types, entry)
    {
        return;
    }
    let Some(data_type) = types.of(program, entry) else { return };
    match stack_place(types, entry, base) {
        Some(offset) => content.variables.push(Variable { name, data_type, offset }),
        None => {
            let line = content.unplaced.entry(at).or_default();
            if line.len() < LONGEST {
                if !line.is_empty() {
                    line.push('\n');
                }
                let kind = program.types.name(data_type);
                line.push_str(&format!("Unresolved local var: {kind} {name}@[???]"));
            }
        }
    }
}

/// Where on the stack a variable lies for its whole life.
fn stack_place<'a>(types: &Types<'a>, entry: &Entry<'_, 'a>, base: Option<i64>) -> Option<i64> {
    match variables::operation(types, entry)? {
        Operation::FrameOffset { offset } => offset.checked_add(base?),
        _ => None,
    }
}

fn apply(
    program: &mut Program,
    language: &Language,
    function: &Function,
    content: Content,
    returned: TypeId,
) {
    let entry = function.entry;
    let Content { parameters, this, varargs, variables, unplaced } = content;
    let convention = match (this, parameters.is_empty()) {
        (Some(_), _) if language.convention("__thiscall").is_some() => Some("__thiscall"),
        (_, false) => language.default_convention(),
        _ => None,
    };
    let convention = convention.map(Into::into);
    let mut automatic: Vec<(&str, TypeId)> = Vec::new();
    if is_returned_by_pointer(program, returned) {
        automatic.push(("__return_storage_ptr__", program.types.pointer_to(returned)));
    }
    automatic.extend(this.map(|this| ("this", this)));
    program.types.mark_used(returned);
    let void = program.types.length(returned) == Some(0);
    let mut names = HashSet::new();
    let mut locals: Vec<(String, TypeId, i64, u32)> = Vec::new();
    for Variable { name, data_type, offset } in variables {
        let Some(size) = program.types.length(data_type).filter(|n| *n > 0) else { continue };
        program.types.mark_used(data_type);
        locals.push((unused(&mut names, name), data_type, offset, size));
    }
    program.functions.edit(entry, |f| {
        let hidden = automatic.iter().map(|(name, id)| (*name, *id, true, SourceType::Analysis));
        let written =
            parameters.iter().map(|(n, id)| (n.as_str(), *id, false, SourceType::Imported));
        let parameters = hidden
            .chain(written)
            .map(|(name, data_type, automatic, source)| Parameter {
                name: name.into(),
                data_type,
                storage: Storage::Unassigned,
                source,
                automatic,
                id: f.new_variable_id(),
            })
            .collect();
        f.signature = Signature {
            return_type: returned,
            return_storage: if void { Storage::Void } else { Storage::Unassigned },
            parameters,
            varargs,
            convention,
            custom_storage: false,
            source: SourceType::Imported,
        };
        for (name, data_type, offset, size) in locals {
            let id = f.new_variable_id();
            f.locals.push(LocalVariable {
                name: name.into(),
                data_type,
                storage: Storage::at(Address::stack(offset), size),
                first_use: 0,
                hash: 0,
                source: SourceType::Imported,
                type_locked: true,
                id,
            });
        }
    });
    for (at, text) in unplaced {
        program.comments.insert((at, CommentKind::Pre), text.into());
    }
}

/// A name that no other variable of the function has.
fn unused(names: &mut HashSet<String>, name: String) -> String {
    let mut candidate = name.clone();
    let mut number = 0;
    while !names.insert(candidate.clone()) {
        number += 1;
        candidate = format!("{name}_{number}");
    }
    candidate
}

/// Whether a value comes back in memory that the caller provides.
fn is_returned_by_pointer(program: &Program, returned: TypeId) -> bool {
    use program::TypeKind::{Struct, Union};
    let types = &program.types;
    let kind = types.get(types.resolve(returned)).map(|t| &t.kind);
    if !matches!(kind, Some(Struct { .. } | Union { .. })) {
        return false;
    }
    let length = types.length(returned).unwrap_or(0);
    let pointer = types.organization().pointer;
    match program.info.compiler_spec_id.as_str() {
        "windows" => !matches!(length, 1 | 2 | 4 | 8),
        _ if pointer == 4 && program.info.language_id.starts_with("x86:") => true,
        _ => length > 2 * pointer,
    }
}
