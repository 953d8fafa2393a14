//! What Go leaves in every program, stripped or not: the table of functions that its runtime
//! prints traces from, and what the program was built from.
//!
//! The layout is that of Go 1.2 and of its changes in 1.16, 1.18 and 1.20. Each entry is read
//! once: the cost is linear in the functions.

use crate::pass::{Analysis, Stopped};
use memchr::memmem;
use program::{
    Address, AddressSet, CommentKind, Program, SourceType, SpaceId, SymbolId, SymbolKind,
};

/// Longest name that is read.
const LONGEST: usize = 4096;
/// Bytes of names that are read for each function, all together.
const NAME: u64 = 256;
/// Longest text about the build.
const BUILD_TEXT: u64 = 1 << 16;
/// What the build information begins with.
const BUILD_MAGIC: &[u8] = b"\xff Go buildinf:";
/// Both texts follow the header instead of being pointed to.
const INLINE: u8 = 2;

/// Names the functions of a Go program and notes what it was built from.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    let program = &mut *analysis.program;
    let own_block = || program.memory.blocks().iter().any(|b| b.name.contains("gopclntab"));
    if &*program.info.compiler_spec_id != "golang" && !own_block() {
        return Ok(());
    }
    note_build(program);
    let Some(table) = find(program) else { return Ok(()) };
    let mut room = table.count.saturating_mul(NAME).saturating_add(LONGEST as u64);
    for index in 0..table.count {
        if index % 4096 == 0 {
            analysis.check()?;
        }
        let program = &mut *analysis.program;
        let Some((entry, name)) = table.function(program, index) else { continue };
        // Entries of a damaged table may share one long name.
        let Some(left) = room.checked_sub(name.len() as u64) else {
            let total = table.count;
            program.warn(format!(
                "Go's table of functions: named {index} of {total}, its names are too long"
            ));
            break;
        };
        room = left;
        name_function(program, entry, &name);
    }
    Ok(())
}

/// How the entries of the table are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entries {
    /// Pairs of pointers: the function, and the distance of what is known of it.
    Pointers,
    /// Pairs of four bytes each: distances from the start of the code and of the table.
    Distances { code: u64 },
}

/// The table of functions.
#[derive(Debug, Clone, Copy)]
struct Table {
    entries: Entries,
    pointer: u32,
    /// Where the entries begin.
    first: Address,
    count: u64,
    /// What entries tell the distance of a function's facts from.
    facts: Address,
    names: Address,
}

/// Finds the table: by the block that holds nothing else, or by how it begins.
fn find(program: &Program) -> Option<Table> {
    let blocks = || {
        let blocks = program.memory.blocks().iter();
        blocks.filter(|b| b.start.space == SpaceId::RAM && b.is_initialized())
    };
    let own = blocks().find(|block| block.name.contains("gopclntab"));
    if let Some(table) = own.and_then(|block| read_header(program, block.start)) {
        return Some(table);
    }
    let magics = [0xffff_fff1_u32, 0xffff_fff0, 0xffff_fffa, 0xffff_fffb];
    for block in blocks().filter(|block| !block.permissions.execute) {
        let bytes = program.memory.run(block.start);
        for magic in magics {
            let magic =
                if program.memory.big_endian() { magic.to_be_bytes() } else { magic.to_le_bytes() };
            let starts = memmem::find_iter(bytes, &magic);
            let starts = starts.filter_map(|offset| block.start.checked_add(offset as u64));
            let table = starts.filter_map(|at| read_header(program, at)).find(|table| {
                table.function(program, 0).is_some_and(|(entry, _)| holds_code(program, entry))
            });
            if table.is_some() {
                return table;
            }
        }
    }
    None
}

fn read_header(program: &Program, at: Address) -> Option<Table> {
    let memory = &program.memory;
    let magic = memory.read_uint(at, 4)?;
    let [zero, other, quantum, pointer] = memory.read_array::<4>(at.checked_add(4)?)?;
    if zero != 0 || other != 0 || !matches!(quantum, 1 | 2 | 4) || !matches!(pointer, 4 | 8) {
        return None;
    }
    let pointer = u32::from(pointer);
    let word = |index: u64| {
        let distance = 8 + index * u64::from(pointer);
        memory.read_uint(at.checked_add(distance)?, pointer)
    };
    let place = |index| at.checked_add(word(index)?);
    let (entries, names, first) = match magic {
        0xffff_fffb => (Entries::Pointers, at, at.checked_add(8 + u64::from(pointer))?),
        0xffff_fffa => (Entries::Pointers, place(2)?, place(6)?),
        0xffff_fff0 | 0xffff_fff1 => {
            let told = Some(word(2)?).filter(|at| holds_code(program, Address::ram(*at)));
            let text = || memory.block_named(".text").or_else(|| memory.block_named("__text"));
            let code = told.or_else(|| Some(text()?.start.offset))?;
            (Entries::Distances { code }, place(3)?, place(7)?)
        }
        _ => return None,
    };
    let facts = if magic == 0xffff_fffb { at } else { first };
    let table = Table { entries, pointer, first, count: 0, facts, names };
    // No more than there is room for.
    let room = memory.block_at(first)?.end().distance_from(first)? / table.entry_size();
    Some(Table { count: word(0)?.min(room), ..table })
}

impl Table {
    fn entry_size(&self) -> u64 {
        2 * match self.entries {
            Entries::Pointers => u64::from(self.pointer),
            Entries::Distances { .. } => 4,
        }
    }

    /// A function's place and name.
    fn function(&self, program: &Program, index: u64) -> Option<(Address, String)> {
        let memory = &program.memory;
        let entry = self.first.checked_add(index.checked_mul(self.entry_size())?)?;
        let size = (self.entry_size() / 2) as u32;
        let at = memory.read_uint(entry, size)?;
        let facts = memory.read_uint(entry.checked_add(u64::from(size))?, size)?;
        // The function's place stands there again, before the distance of its name.
        let name = self.facts.checked_add(facts)?.checked_add(u64::from(size))?;
        let name = self.names.checked_add(memory.read_uint(name, 4)?)?;
        let at = match self.entries {
            Entries::Pointers => at,
            Entries::Distances { code } => code.checked_add(at)?,
        };
        let bytes = memory.run(name);
        let end = memchr::memchr(0, &bytes[..bytes.len().min(LONGEST)])?;
        let name = std::str::from_utf8(&bytes[..end]).ok().filter(|name| !name.is_empty())?;
        Some((Address::ram(at), name.to_owned()))
    }
}

fn holds_code(program: &Program, at: Address) -> bool {
    program.memory.block_at(at).is_some_and(|b| b.permissions.execute && b.is_initialized())
}

/// Makes a function of that name, in the namespace of its package.
fn name_function(program: &mut Program, entry: Address, name: &str) {
    // One entry leads to the text that tells builds apart.
    if matches!(name, "go:buildid" | "go.buildid") || !holds_code(program, entry) {
        return;
    }
    let shown: String =
        name.chars().map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c }).collect();
    let parent = match package(name) {
        Some(path) => program.symbols.namespace(path, SymbolId::GLOBAL, SymbolKind::Namespace),
        None => SymbolId::GLOBAL,
    };
    let known = program.symbols.primary_at(entry).map(|(id, symbol)| (id, *symbol.name == *shown));
    match known {
        Some((id, true)) => _ = program.symbols.edit(id, |symbol| symbol.parent = parent),
        Some((_, false)) => {}
        None => _ = program.add_label(entry, &shown, parent, SourceType::Imported),
    }
    program.add_function(entry, AddressSet::new());
}

/// The path of the package that a name says: all before the first dot behind the last slash that
/// is no type's argument. Names that the compiler made are of no package.
fn package(name: &str) -> Option<&str> {
    let plain = name.split(['[', '(']).next()?;
    if plain.starts_with("go:") || plain.starts_with("type:") || plain.starts_with("type..") {
        return None;
    }
    let base = plain.rfind('/').map_or(0, |slash| slash + 1);
    let dot = plain[base..].find('.')?;
    Some(&name[..base + dot]).filter(|path| !path.is_empty())
}

/// Labels the build information and tells in a comment what it says.
fn note_build(program: &mut Program) {
    let Some(at) = find_build(program) else { return };
    program.add_label(at, "go.buildinfo", SymbolId::GLOBAL, SourceType::Analysis);
    let texts = build_texts(program, at).unwrap_or_default();
    let text = texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    if !text.is_empty() {
        program.comments.insert((at, CommentKind::Plate), text.into());
    }
}

fn find_build(program: &Program) -> Option<Address> {
    let blocks = program.memory.blocks().iter().filter(|b| b.start.space == SpaceId::RAM);
    blocks.filter(|block| !block.permissions.execute).find_map(|block| {
        let offset = memmem::find(program.memory.run(block.start), BUILD_MAGIC)?;
        block.start.checked_add(offset as u64)
    })
}

/// The version of Go, and the modules with the settings of the build, a line each.
fn build_texts(program: &Program, at: Address) -> Option<[String; 2]> {
    let memory = &program.memory;
    let [pointer, flags] = memory.read_array::<2>(at.checked_add(BUILD_MAGIC.len() as u64)?)?;
    let (version, modules) = if flags & INLINE != 0 {
        let (version, next) = counted(program, at.checked_add(32)?)?;
        (version, counted(program, next).map(|(text, _)| text))
    } else {
        let pointer = u32::from(pointer).clamp(1, 8);
        let header = |index: u64| {
            let slot = at.checked_add(16 + index * u64::from(pointer))?;
            let header = Address::ram(memory.read_uint(slot, pointer)?);
            let text = Address::ram(memory.read_uint(header, pointer)?);
            let length = memory.read_uint(header.checked_add(u64::from(pointer))?, pointer)?;
            text_at(program, text, length)
        };
        (header(0)?, header(1))
    };
    // Sixteen bytes before and behind the modules tell readers where they are.
    let modules = modules.unwrap_or_default();
    let inner = modules.get(16..modules.len().saturating_sub(16)).unwrap_or_default();
    let read = |text: &[u8]| String::from_utf8_lossy(text).trim_end().to_owned();
    Some([read(&version), read(inner)])
}

/// A text with its length before it, seven bits a byte; and what follows it.
fn counted(program: &Program, at: Address) -> Option<(Vec<u8>, Address)> {
    let (mut length, mut here) = (0_u64, at);
    for shift in (0..63).step_by(7) {
        let [byte] = program.memory.read_array::<1>(here)?;
        here = here.checked_add(1)?;
        length |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some((text_at(program, here, length)?, here.checked_add(length)?));
        }
    }
    None
}

fn text_at(program: &Program, at: Address, length: u64) -> Option<Vec<u8>> {
    let bytes = program.memory.run(at);
    bytes.get(..usize::try_from(length.min(BUILD_TEXT)).ok()?).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::package;

    #[test]
    fn packages_are_what_stands_before_the_name() {
        for (name, path) in [
            ("main.main", Some("main")),
            ("fmt.(*pp).printArg", Some("fmt")),
            ("internal/cpu.Initialize", Some("internal/cpu")),
            ("example.com/a%2eb/c.F[go.shape.int]", Some("example.com/a%2eb/c")),
            ("slices.Sort[...]", Some("slices")),
            ("type:.eq.[2]interface {}", None),
            ("go:buildid", None),
            ("_rt0_amd64", None),
        ] {
            assert_eq!(package(name), path, "{name}");
        }
    }
}
