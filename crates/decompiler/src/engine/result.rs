//! What a decompilation tells, as plain values, and how it is read out of the engine.

use std::time::Duration;

use ghidra_decompiler::address::Address;
use ghidra_decompiler::architecture::Architecture;
use ghidra_decompiler::comment::Comment;
use ghidra_decompiler::error::Result;
use ghidra_decompiler::funcdata::Funcdata;
use ghidra_decompiler::types::{TypeFactory, TypeId as EngineType, TypeMetatype};
use program::{Address as Place, Program, SpaceId, Storage, StoragePiece};

use super::tokens::{Origin, RawToken, TokenKind};
use super::types::{TypeMap, TypeOf};
use super::variables::{self, Variable};

/// One token of the printed C.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Its text; all texts joined are the function.
    pub text: String,
    /// The instruction it comes from.
    pub address: Option<Place>,
    /// The line it starts on, from 1.
    pub line: u32,
}

/// A call that the function makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The calling instruction.
    pub from: Place,
    /// The function called; `None` when it is not known.
    pub to: Option<Place>,
}

/// A jump through a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JumpTable {
    /// The jumping instruction.
    pub from: Place,
    /// For each value in order: the value and where it leads.
    pub cases: Vec<(u64, Place)>,
    /// The position of the default case among the targets, if the jump has one.
    pub default: Option<Place>,
    /// Where the table lies: runs of entries, each with its first place, the size of an entry and
    /// the number of entries.
    pub tables: Vec<(Place, u32, u32)>,
}

/// Everything one decompilation tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decompilation {
    /// Whether the function was decompiled; if not, `warnings` says why and the rest is empty.
    pub completed: bool,
    /// The C text as Ghidra prints it.
    pub c: String,
    /// The same text as tokens.
    pub tokens: Vec<Token>,
    /// The prototype in one line.
    pub signature: String,
    /// The type of what it returns.
    pub return_type: String,
    /// The type of what it returns, in the program's terms.
    pub return_type_of: TypeOf,
    /// Where it returns it.
    pub return_storage: Storage,
    /// The calling convention that it was taken to have.
    pub convention: String,
    /// Its parameters in order.
    pub parameters: Vec<Variable>,
    /// Its local variables.
    pub locals: Vec<Variable>,
    /// The calls it makes.
    pub calls: Vec<Call>,
    /// The tables it jumps through.
    pub jump_tables: Vec<JumpTable>,
    /// What the decompiler warns of.
    pub warnings: Vec<String>,
    /// How long it took.
    pub elapsed: Duration,
}

impl Decompilation {
    /// A decompilation that did not come about.
    pub(crate) fn failed(reason: impl Into<String>) -> Decompilation {
        Decompilation { warnings: vec![reason.into()], ..Decompilation::default() }
    }

    /// The lines of the C text.
    pub fn line_count(&self) -> u32 {
        u32::try_from(self.c.lines().count()).unwrap_or(u32::MAX)
    }
}

/// Gives tokens their addresses and lines, and joins their text.
pub(crate) fn finish_tokens(
    data: &Funcdata,
    raw: Vec<RawToken>,
    decompilation: &mut Decompilation,
) {
    let mut line = 1;
    let mut tokens = Vec::with_capacity(raw.len());
    for token in raw {
        decompilation.c.push_str(&token.text);
        let address = match token.origin {
            Origin::None => None,
            Origin::Operation(op) => Some(Place::ram(data.op(op).get_addr().get_offset())),
            Origin::Place(offset) => Some(Place::ram(offset)),
        };
        let breaks = token.text.matches('\n').count();
        tokens.push(Token { kind: token.kind, text: token.text, address, line });
        line += u32::try_from(breaks).unwrap_or(0);
    }
    decompilation.signature = signature(&decompilation.c);
    decompilation.tokens = tokens;
}

/// The prototype: what stands before the body, comments left out, in one line.
fn signature(c: &str) -> String {
    let head = c.split("\n{").next().unwrap_or("");
    let head = match head.rfind("*/") {
        Some(end) => &head[end + 2..],
        None => head,
    };
    let words: Vec<&str> = head.split_whitespace().collect();
    if words.is_empty() { String::new() } else { format!("{};", words.join(" ")) }
}

/// Reads prototype, variables, calls, tables and warnings.
pub(crate) fn read(
    data: &mut Funcdata,
    architecture: &mut Architecture,
    program: &Program,
    map: &TypeMap,
    out: &mut Decompilation,
) -> Result<()> {
    variables::read_prototype(data, architecture, program, map, out);
    variables::read_locals(data, architecture, program, map, out)?;
    read_calls(data, out);
    out.jump_tables = read_jump_tables(data);
    out.warnings.extend(read_warnings(data, architecture));
    Ok(())
}

fn read_calls(data: &Funcdata, out: &mut Decompilation) {
    for index in 0..data.num_calls() {
        let call = data.call_spec(data.get_call_specs(index));
        let entry = call.get_entry_address();
        let known = !entry.is_invalid() && !entry.is_constant();
        out.calls.push(Call {
            from: Place::ram(data.op(call.get_op()).get_addr().get_offset()),
            to: known.then(|| Place::ram(entry.get_offset())),
        });
    }
}

pub(crate) fn read_jump_tables(data: &Funcdata) -> Vec<JumpTable> {
    let place = |address: &Address| Place::ram(address.get_offset());
    let tables = (0..data.num_jump_tables()).map(|index| {
        let table = data.jump_table(data.get_jump_table(index));
        let targets = table.addresstable.iter().map(place);
        let labels = table.label.iter().copied().chain(std::iter::repeat(u64::MAX));
        let default = usize::try_from(table.get_default_block()).ok();
        let default = default.and_then(|block| {
            let pair =
                table.block2addr.iter().find(|pair| pair.block_position as usize == block)?;
            table.addresstable.get(usize::try_from(pair.address_index).ok()?).map(place)
        });
        JumpTable {
            from: place(table.get_op_address()),
            cases: labels.zip(targets).collect(),
            default,
            tables: table
                .loadpoints
                .iter()
                .filter(|load| load.size > 0 && load.num > 0)
                .map(|load| (place(&load.addr), load.size as u32, load.num as u32))
                .collect(),
        }
    });
    tables.collect()
}

fn read_warnings(data: &Funcdata, architecture: &Architecture) -> Vec<String> {
    let Some(comments) = architecture.commentdb.as_deref() else { return Vec::new() };
    let kinds = Comment::WARNING | Comment::WARNINGHEADER;
    let found = comments.function_comments(data.get_address());
    let warnings = found.into_iter().filter(|comment| comment.get_type() & kinds != 0);
    warnings.map(|comment| short(comment.get_text())).collect()
}

/// The engine's messages may list every bad instruction of a function.
pub(crate) fn short(text: &str) -> String {
    const LONGEST: usize = 300;
    let line = text.lines().next().unwrap_or("").trim();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_string(),
    }
}

/// A place of the engine as storage.
pub(crate) fn storage(architecture: &Architecture, address: &Address, size: i32) -> Storage {
    let (Some(space), Ok(size)) = (address.get_space(), u32::try_from(size)) else {
        return Storage::Unassigned;
    };
    let offset = address.get_offset();
    if address.is_join() {
        let Some(join) = architecture.manager.find_join_internal(offset) else {
            return Storage::Unassigned;
        };
        let pieces = join.get_pieces().iter().filter_map(|piece| {
            let address = place_of(piece.space.as_ref()?.get_name(), piece.offset, 8)?;
            Some(StoragePiece { address, size: piece.size })
        });
        return Storage::Pieces(pieces.collect());
    }
    match place_of(space.get_name(), offset, space.get_addr_size()) {
        Some(place) => Storage::at(place, size),
        None => Storage::Unassigned,
    }
}

fn place_of(space: &str, offset: u64, address_size: u32) -> Option<Place> {
    match space {
        "register" => Some(Place::new(SpaceId::REGISTER, offset)),
        "ram" => Some(Place::ram(offset)),
        "stack" => {
            let unused = 64 - 8 * address_size.clamp(1, 8);
            Some(Place::stack(((offset << unused) as i64) >> unused))
        }
        _ => None,
    }
}

/// A type as a declaration of one variable spells it, the name left out.
pub(crate) fn type_text(types: &TypeFactory, id: EngineType) -> String {
    let data_type = types.get(id);
    let named = data_type.get_display_name();
    if !named.is_empty() {
        return named.to_string();
    }
    match data_type.get_metatype() {
        TypeMetatype::Ptr => {
            let inner = type_text(types, data_type.get_ptr_to());
            format!("{inner} *")
        }
        TypeMetatype::Array => {
            let inner = type_text(types, data_type.get_base());
            let count = data_type.num_elements();
            match inner.split_once('[') {
                Some((base, rest)) => format!("{base}[{count}][{rest}"),
                None => format!("{inner}[{count}]"),
            }
        }
        TypeMetatype::Code => "code".to_string(),
        TypeMetatype::Void => "void".to_string(),
        _ => format!("undefined{}", data_type.get_size()),
    }
}

#[cfg(test)]
mod tests {
    use super::{short, signature};

    #[test]
    fn the_signature_is_the_head_of_the_text() {
        let c = "\n/* WARNING: x */\n\nint main(int param_1,\n        long b)\n\n{\n}\n";
        assert_eq!(signature(c), "int main(int param_1, long b);");
        assert_eq!(signature(""), "");
    }

    #[test]
    fn long_messages_are_cut() {
        assert_eq!(short("a\nb"), "a");
        assert!(short(&"é".repeat(1000)).ends_with("é..."));
    }
}
