//! What is said above functions: names and prototypes as they were written, and where the parts of
//! a function lie that is in several places.

use super::Entry;
use super::functions::Content;
use super::types::Types;
use program::{Address, CommentKind, Program, TypeId};

/// Writes down what the entry of a function says and the program cannot show otherwise.
pub(super) fn note<'a>(
    program: &mut Program,
    types: &Types<'_, 'a>,
    entry: &Entry<'_, 'a>,
    at: Address,
    prototype: Option<String>,
) {
    // What the linker's name says stands in the prototype.
    program.comments.remove(&(at, CommentKind::Plate));
    let Some(name) = types.source.name(entry) else { return };
    let original = types.source.plain_name(entry).filter(|plain| *plain != name);
    if let Some(original) = original {
        append(program, at, format!("DWARF original name: {original}"));
    }
    if let Some(prototype) = prototype {
        append(program, at, format!("DWARF original prototype: {prototype}"));
    }
    note_parts(program, types, entry, at, &name);
}

fn note_parts<'a>(
    program: &mut Program,
    types: &Types<'_, 'a>,
    entry: &Entry<'_, 'a>,
    at: Address,
    name: &str,
) {
    let mut parts = types.source.stated_ranges(entry);
    if parts.len() < 2 {
        return;
    }
    parts.sort_by_key(|part| part.begin);
    parts.dedup_by(|next, before| {
        let touches = next.begin <= before.end;
        before.end = if touches { before.end.max(next.end) } else { before.end };
        touches
    });
    if parts.len() < 2 {
        return;
    }
    for (number, part) in parts.iter().enumerate() {
        let start = types.source.shifted(part.begin);
        let place = program.address_in_name(start);
        let bytes = part.end - part.begin;
        let text = format!(
            "DWARF func body range[{number}]: {{@address {:#x} {place}}} ({bytes} bytes)",
            start.offset
        );
        append(program, at, text);
        if number != 0 {
            let text =
                format!("DWARF: {{@address {:#x} {name}}} disjoint block {number}", at.offset);
            append(program, start, text);
        }
    }
}

/// Puts a line below those of debug information, above what the linker's name says.
fn append(program: &mut Program, at: Address, line: String) {
    let known = program.comments.get(&(at, CommentKind::Plate));
    let text = match known.filter(|known| !known.is_empty()) {
        Some(known) if known.starts_with("DWARF") => format!("{known}\n{line}"),
        Some(known) => format!("{line}\n{known}"),
        None => line,
    };
    program.comments.insert((at, CommentKind::Plate), text.into());
}

/// The prototype as it was written, hidden parameters among the others.
pub(super) fn prototype(
    program: &Program,
    name: &str,
    returned: TypeId,
    content: &Content,
) -> String {
    let this = content.this.as_ref().into_iter();
    let all = this.chain(&content.parameters);
    let mut all: Vec<String> =
        all.map(|p| format!("{} {}", program.types.name(p.data_type), p.told_name())).collect();
    if content.varargs {
        all.push("...".into());
    }
    if all.is_empty() {
        all.push("void".into());
    }
    format!("{} {name}({})", program.types.name(returned), all.join(", "))
}
