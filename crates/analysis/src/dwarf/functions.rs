//! Prototypes and variables of functions out of debug information.

use super::types::Types;
use super::units::Place;
use super::{Bytes, DEEPEST, Entry, comments, locations, variables};
use crate::debug_information::{FunctionShape, ToldFunction, unused};
use crate::demangled_signatures::RUST;
use decompiler::Language;
use gimli::{EntriesTreeNode, Operation};
use program::{
    Address, AddressSet, CommentKind, Function, Program, SourceType, Symbol, SymbolId, SymbolKind,
    TypeId,
};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

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

/// A parameter as it was written.
pub(super) struct Written {
    name: String,
    pub(super) data_type: TypeId,
    artificial: bool,
    /// Entries before its own inside of the function.
    position: usize,
    at: Place,
    /// The entry that its entry stands for.
    stands_for: Option<Place>,
}

impl Written {
    /// Its name, or one after its place.
    pub(super) fn told_name(&self) -> String {
        match &*self.name {
            "" => format!("param_{}", self.position),
            name => name.to_owned(),
        }
    }
}

/// A block of a function.
#[derive(Clone, Copy)]
struct Block {
    /// Where the function begins.
    function: Address,
    /// The same, as the file says it.
    stated: u64,
    /// Where the block begins, if it has code behind the beginning of the function.
    at: Option<Address>,
    /// What offsets from the frame are counted from.
    base: Option<i64>,
    /// Whether parameters in it are those of the function.
    outermost: bool,
}

/// What the entries below a function say.
#[derive(Default)]
pub(super) struct Content {
    pub(super) parameters: Vec<Written>,
    /// The object that a method belongs to, by the name it was given.
    pub(super) this: Option<Written>,
    /// What a function of Go gives back, which it declares among its parameters.
    results: Vec<TypeId>,
    pub(super) varargs: bool,
    variables: Vec<Variable>,
    /// Where parameters lie on the stack: offset and bytes.
    taken: Vec<(i64, u32)>,
    /// Lines about variables without a place, by where their block begins.
    unplaced: BTreeMap<Address, String>,
    /// Entries right inside of the function that were looked at.
    seen: usize,
}

/// Gives the function at the place of an entry its prototype and variables.
pub(super) fn define<'a>(
    program: &mut Program,
    language: &Language,
    types: &mut Types<'_, 'a>,
    entry: &Entry<'_, 'a>,
) {
    let Some(stated) = types.source.stated_start(entry) else { return };
    let at = types.source.shifted(stated);
    let Some(named) = function_at(program, at) else { return };
    let Some(function) = passed_on_to(program, &named) else { return };
    if function.signature.source >= SourceType::Imported {
        return;
    }
    let base = frame_base(program, types, entry);
    let mut content = Content::default();
    let whole = Block { function: at, stated, at: Some(at), base, outermost: true };
    types.source.clone().children(entry, |child| {
        collect(program, types, child, &mut content, whole, 0);
        content.seen += 1;
        true
    });
    complete(program, types, entry, &mut content);
    // Ghidra has a convention of its own for Rust, where methods have no `this`.
    let rust = Some(RUST).filter(|name| language.convention(name).is_some());
    let rust = rust.filter(|_| types.source.is_rust());
    if rust.is_none() {
        take_this(types, entry, &mut content);
    }
    let void = program.types.builtin("void");
    let returned = types.of(program, entry);
    let returned = returned.or_else(|| first_result(program, &content)).unwrap_or(void);
    let changes = content.this.is_some() || rust.is_some();
    let prototype = changes.then(|| {
        let name = types.source.name(entry).unwrap_or_default();
        comments::prototype(program, &name, returned, &content)
    });
    comments::note(program, types, entry, at, prototype);
    add_type(program, types, entry, returned, &content);
    let convention = match (&content.this, content.parameters.is_empty()) {
        _ if rust.is_some() => rust,
        (Some(_), _) if language.convention("__thiscall").is_some() => Some("__thiscall"),
        (_, false) => language.default_convention(),
        _ => None,
    };
    let hidden = types.returned.by_pointer(program, language, convention, returned);
    apply(program, &function, content, returned, convention, hidden);
    if types.source.flag(entry, gimli::DW_AT_noreturn) {
        program.functions.edit(function.entry, |f| f.no_return = true);
    }
    name_function(program, types, &named, entry);
}

/// The function that one passes on to, as the first instructions of some on 64-bit PowerPC do, or
/// itself. What debug information says of one is said of the other; nothing of imports.
fn passed_on_to(program: &Program, named: &Arc<Function>) -> Option<Arc<Function>> {
    match named.thunk_of {
        Some(target) if program.memory.contains(target) => {
            let target = program.functions.at(target)?;
            target.thunk_of.is_none().then(|| Arc::clone(target))
        }
        Some(_) => None,
        None => Some(Arc::clone(named)),
    }
}

/// Keeps the prototype as a type of the function's name.
fn add_type<'a>(
    program: &mut Program,
    types: &mut Types<'_, 'a>,
    entry: &Entry<'_, 'a>,
    returned: TypeId,
    content: &Content,
) {
    let at = Place { unit: types.source.here.number, offset: entry.offset() };
    let naming = types.naming(at);
    if naming.anonymous || naming.name.is_empty() {
        return;
    }
    let this = content.this.iter().map(|this| ("this".to_owned(), this.data_type));
    let written = content.parameters.iter().map(|p| (p.told_name(), p.data_type));
    let shape = FunctionShape {
        returned,
        parameters: this.chain(written).collect(),
        convention: content.this.as_ref().map(|_| "__thiscall".into()),
        varargs: content.varargs,
    };
    let category = types.category_of_function(at, &naming);
    types.add_function(program, &naming, category, shape.into_type());
}

/// What the first register with results holds. The others have no place in a prototype.
fn first_result(program: &Program, content: &Content) -> Option<TypeId> {
    let first = *content.results.first()?;
    let register = program.types.organization().pointer;
    let fits = program.types.length(first).is_some_and(|length| length <= register);
    Some(if fits { first } else { program.types.undefined(register) })
}

/// The function at a place; one that is not known yet is made, its body is found later.
fn function_at(program: &mut Program, at: Address) -> Option<Arc<Function>> {
    if let Some(known) = program.functions.at(at) {
        return Some(Arc::clone(known));
    }
    let is_code = program.memory.block_at(at).is_some_and(|block| block.permissions.execute);
    let is_free = program.listing.data_containing(at).is_none();
    (is_code && is_free).then(|| program.add_function(at, AddressSet::new()))
}

/// Names a function as it was written, whatever the linker calls it.
fn name_function<'a>(
    program: &mut Program,
    types: &mut Types<'_, 'a>,
    function: &Function,
    entry: &Entry<'_, 'a>,
) {
    let Some(symbol) = program.symbols.get(function.symbol).cloned() else { return };
    let Some(name) = types.source.name(entry) else { return };
    if symbol.source == SourceType::UserDefined {
        return;
    }
    let place = Place { unit: types.source.here.number, offset: entry.offset() };
    let parent = types.namespace_of(program, place);
    rename(program, function.symbol, &symbol, &name, parent);
}

/// Gives a function's symbol a name, which no label beside it bears then. What it was called before
/// stays as a label, if that was not only read out of the linker's name.
fn rename(program: &mut Program, id: SymbolId, before: &Symbol, name: &str, parent: SymbolId) {
    let is_double =
        |s: &Symbol| s.kind == SymbolKind::Label && *s.name == *name && s.parent == parent;
    let there = program.symbols.at(before.address);
    let doubles: Vec<SymbolId> = there.filter(|(_, s)| is_double(s)).map(|(id, _)| id).collect();
    for double in doubles {
        program.symbols.remove(double);
    }
    program.symbols.edit(id, |s| {
        s.name = name.into();
        s.parent = parent;
        s.source = SourceType::Imported;
    });
    let is_same = *before.name == *name && before.parent == parent;
    if !is_same && !before.name.is_empty() && before.source == SourceType::Imported {
        program.add_label(before.address, &before.name, before.parent, before.source);
    }
}

/// Puts parameters in the order of the entry that this one stands for, together with those that
/// only that one speaks of.
fn complete<'a>(
    program: &mut Program,
    types: &mut Types<'_, 'a>,
    entry: &Entry<'_, 'a>,
    content: &mut Content,
) {
    let Ok(Some(value)) = entry.attr_value(gimli::DW_AT_abstract_origin) else { return };
    let Some(at) = types.source.units.place(&types.source.here, &value) else { return };
    let mut ordered: Vec<Written> = Vec::new();
    types.within(at, |types, original| {
        let mut position = 0;
        types.source.clone().children(original, |child| {
            let entry = child.entry();
            if entry.tag() == gimli::DW_TAG_formal_parameter {
                let place = Place { unit: at.unit, offset: entry.offset() };
                let known = content.parameters.iter().position(|p| p.stands_for == Some(place));
                ordered.push(match known {
                    Some(index) => content.parameters.remove(index),
                    None => written(program, types, entry, position),
                });
            }
            position += 1;
            ordered.len() < MOST
        });
    });
    ordered.append(&mut content.parameters);
    content.parameters = ordered;
}

/// Takes the object that a method belongs to out of its parameters.
fn take_this<'a>(types: &Types<'_, 'a>, entry: &Entry<'_, 'a>, content: &mut Content) {
    let Some(first) = content.parameters.first() else { return };
    let pointed = types.source.object(entry);
    let is_pointed = pointed.is_some_and(|at| first.at == at || first.stands_for == Some(at));
    if first.artificial || first.name == "this" || is_pointed {
        content.this = Some(content.parameters.remove(0));
    }
}

/// What offsets from the frame are counted from, as seen from the stack pointer at entry.
fn frame_base<'a>(program: &Program, types: &Types<'_, 'a>, entry: &Entry<'_, 'a>) -> Option<i64> {
    let pushed = i64::from(program.types.organization().pointer);
    let is_x86 = program.info.language_id.starts_with("x86:");
    if let Some(listed) = listed_frame_base(types, entry, is_x86, pushed) {
        return Some(listed);
    }
    match variables::single(types, entry, gimli::DW_AT_frame_base, None)? {
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
    types: &Types<'_, 'a>,
    entry: &Entry<'_, 'a>,
    is_x86: bool,
    pointer: i64,
) -> Option<i64> {
    let source = &types.source;
    let stack_pointer = match (is_x86, pointer) {
        (true, 8) => gimli::Register(7),
        (true, 4) => gimli::Register(4),
        _ => return None,
    };
    let start = source.stated_start(entry)?;
    let listed = source.listed(entry, gimli::DW_AT_frame_base, start)?;
    let mut operations = listed.operations(source.here.unit.encoding());
    match (operations.next(), operations.next()) {
        (Ok(Some(Operation::RegisterOffset { register, offset, .. })), Ok(None))
            if register == stack_pointer =>
        {
            Some(offset)
        }
        _ => None,
    }
}

/// Goes through what is declared in a block of a function.
fn collect<'a>(
    program: &mut Program,
    types: &mut Types<'_, 'a>,
    node: EntriesTreeNode<'_, '_, '_, Bytes<'a>>,
    content: &mut Content,
    block: Block,
    depth: usize,
) {
    if depth > DEEPEST || content.variables.len() + content.parameters.len() > MOST {
        return;
    }
    let entry = node.entry();
    let inner = match entry.tag() {
        gimli::DW_TAG_formal_parameter if block.outermost => {
            return parameter(program, types, entry, content, block);
        }
        gimli::DW_TAG_unspecified_parameters if block.outermost => {
            content.varargs = true;
            return;
        }
        gimli::DW_TAG_variable => return variable(program, types, entry, content, block),
        gimli::DW_TAG_lexical_block => types.source.block_start(entry),
        gimli::DW_TAG_inlined_subroutine => match types.source.lowest(entry) {
            Some(at) => Some(at),
            None => return,
        },
        _ => return,
    };
    let at = inner.filter(|at| *at >= block.function);
    let mut children = node.children();
    while let Ok(Some(child)) = children.next() {
        let block = Block { at, outermost: false, ..block };
        collect(program, types, child, content, block, depth + 1);
    }
}

fn written<'a>(
    program: &mut Program,
    types: &mut Types<'_, 'a>,
    entry: &Entry<'_, 'a>,
    position: usize,
) -> Written {
    let undefined = program.types.undefined(program.types.organization().pointer);
    Written {
        data_type: types.of(program, entry).unwrap_or(undefined),
        name: types.source.name(entry).unwrap_or_default(),
        artificial: types.source.flag(entry, gimli::DW_AT_artificial),
        position,
        at: Place { unit: types.source.here.number, offset: entry.offset() },
        stands_for: types.source.original(entry),
    }
}

fn parameter<'a>(
    program: &mut Program,
    types: &mut Types<'_, 'a>,
    entry: &Entry<'_, 'a>,
    content: &mut Content,
    block: Block,
) {
    let written = written(program, types, entry, content.seen);
    if types.source.flag(entry, gimli::DW_AT_variable_parameter) && types.source.is_go() {
        return content.results.push(written.data_type);
    }
    let place = stack_place(types, entry, block);
    if let Some(offset) = place.filter(|offset| *offset >= 0) {
        let length = program.types.length(written.data_type).unwrap_or(0);
        content.taken.push((offset, length));
    }
    let own = place.filter(|offset| *offset < 0 && !written.name.is_empty());
    if let Some(offset) = own {
        let (name, data_type) = (format!("{}_local", written.name), written.data_type);
        content.variables.push(Variable { name, data_type, offset });
    }
    content.parameters.push(written);
}

fn variable<'a>(
    program: &mut Program,
    types: &mut Types<'_, 'a>,
    entry: &Entry<'_, 'a>,
    content: &mut Content,
    block: Block,
) {
    let Some(at) = block.at else { return };
    let Some(name) = types.source.name(entry) else { return };
    if types.source.flag(entry, gimli::DW_AT_external)
        || types.source.flag(entry, gimli::DW_AT_declaration)
    {
        return;
    }
    if let Some(Operation::Address { .. } | Operation::AddressIndex { .. }) =
        variables::operation(types, entry, Some(block.stated))
    {
        return;
    }
    let Some(data_type) = types.of(program, entry) else { return };
    match stack_place(types, entry, block) {
        // A variable that begins as a parameter is told by that one.
        Some(offset) if is_taken(program, content, data_type, offset) => {}
        Some(offset) => content.variables.push(Variable { name, data_type, offset }),
        None => match pointed_from(types, entry, block) {
            Some(offset) => {
                let data_type = program.types.pointer_to(data_type);
                content.variables.push(Variable { name, data_type, offset });
            }
            None => tell_unplaced(program, types, entry, content, block, (&name, data_type, at)),
        },
    }
}

/// Notes a variable that has no place on the stack, once.
fn tell_unplaced<'a>(
    program: &Program,
    types: &Types<'_, 'a>,
    entry: &Entry<'_, 'a>,
    content: &mut Content,
    block: Block,
    (name, data_type, at): (&str, TypeId, Address),
) {
    let location = types.source.expression(entry, gimli::DW_AT_location, Some(block.stated));
    let location = location.and_then(|expression| {
        locations::in_register(program, expression.0.slice(), block.base.is_some())
    });
    let location = location.as_deref().unwrap_or("???");
    let told = format!("{} {name}@[{location}]", program.types.name(data_type));
    let lines = content.unplaced.entry(at).or_default();
    if lines.len() < LONGEST && !lines.contains(&told) {
        if !lines.is_empty() {
            lines.push('\n');
        }
        lines.push_str("Unresolved local var: ");
        lines.push_str(&told);
    }
}

/// Whether a variable shares its place with a parameter.
fn is_taken(program: &Program, content: &Content, data_type: TypeId, offset: i64) -> bool {
    let end = |offset: i64, length: u32| offset.saturating_add(i64::from(length));
    let last = end(offset, program.types.length(data_type).unwrap_or(0));
    content.taken.iter().any(|(from, length)| *from < last && offset < end(*from, *length))
}

/// Where on the stack a variable lies when the function begins.
fn stack_place<'a>(types: &Types<'_, 'a>, entry: &Entry<'_, 'a>, block: Block) -> Option<i64> {
    match variables::operation(types, entry, Some(block.stated))? {
        Operation::FrameOffset { offset } => offset.checked_add(block.base?),
        _ => None,
    }
}

/// Where on the stack the address of a variable lies when the function begins.
fn pointed_from<'a>(types: &Types<'_, 'a>, entry: &Entry<'_, 'a>, block: Block) -> Option<i64> {
    let location = gimli::DW_AT_location;
    let expression = types.source.expression(entry, location, Some(block.stated))?;
    let mut operations = expression.operations(types.source.here.unit.encoding());
    match (operations.next(), operations.next(), operations.next()) {
        (
            Ok(Some(Operation::FrameOffset { offset })),
            Ok(Some(Operation::Deref { space: false, .. })),
            Ok(None),
        ) => offset.checked_add(block.base?),
        _ => None,
    }
}

fn apply(
    program: &mut Program,
    function: &Function,
    content: Content,
    returned: TypeId,
    convention: Option<&str>,
    hidden: bool,
) {
    let entry = function.entry;
    let Content { parameters, this, varargs, variables, unplaced, .. } = content;
    let convention = convention.map(Into::into);
    let mut automatic: Vec<(&str, TypeId)> = Vec::new();
    if hidden {
        automatic.push(("__return_storage_ptr__", program.types.pointer_to(returned)));
    }
    automatic.extend(this.map(|this| ("this", this.data_type)));
    program.types.mark_used(returned);
    let mut names = HashSet::new();
    let mut locals: Vec<(String, TypeId, i64, u32)> = Vec::new();
    for Variable { name, data_type, offset } in variables {
        let Some(size) = program.types.length(data_type).filter(|n| *n > 0) else { continue };
        program.types.mark_used(data_type);
        locals.push((unused(&mut names, name), data_type, offset, size));
    }
    let written = parameters.iter().map(|p| (p.name.as_str(), p.data_type)).collect();
    let told =
        ToldFunction { returned, automatic, written, varargs, convention, variables: locals };
    told.apply(program, entry);
    for (at, text) in unplaced {
        program.comments.insert((at, CommentKind::Pre), text.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use program::{AddressSet, DataOrganization, ProgramInfo};

    #[test]
    fn a_function_takes_the_name_of_a_label_beside_it() {
        let info = ProgramInfo { address_bits: 64, ..ProgramInfo::default() };
        let mut program = Program::new(info, false, DataOrganization::default());
        let at = Address::ram(0x1000);
        for name in [".text", "helper"] {
            program.add_label(at, name, SymbolId::GLOBAL, SourceType::Imported);
        }
        let function = program.add_function(at, AddressSet::new());
        let before = program.symbols.get(function.symbol).expect("a symbol").clone();
        rename(&mut program, function.symbol, &before, "helper", SymbolId::GLOBAL);
        let all = program.symbols.at(at);
        let mut all: Vec<(String, SymbolKind)> =
            all.map(|(_, s)| (s.name.to_string(), s.kind)).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        let expected = [(".text", SymbolKind::Label), ("helper", SymbolKind::Function)];
        assert_eq!(all, expected.map(|(name, kind)| (name.to_owned(), kind)));
    }
}
