//! Tables of virtual functions: runs of pointers to code behind a pointer to a locator.

use super::image::Image;
use super::model::{BLOCKS, Locator};
use crate::code::CodeReader;
use crate::strings::is_undefined_type;
use decompiler::Language;
use program::{Address, CodeUnit, Program};
use std::collections::{BTreeMap, HashMap};

/// Most entries of a table.
const LONGEST: usize = 1 << 14;
/// Instructions decoded to see whether a place holds code.
const LOOKED_AT: usize = 32;

/// A table.
pub(super) struct Table {
    /// The pointer to the locator before it.
    pub(super) head: Address,
    /// Its first entry.
    pub(super) at: Address,
    /// The locator that the pointer before it leads to.
    pub(super) locator: Locator,
    /// Where its entries lead.
    pub(super) entries: Vec<Address>,
}

/// The last table of each locator. Cost: linear in the blocks searched, as no table runs into the
/// next one's pointer to its locator.
pub(super) fn find(
    program: &Program,
    language: &Language,
    image: &Image,
    locators: &[Locator],
) -> Vec<Table> {
    let wanted: HashMap<u64, &Locator> = locators.iter().map(|l| (l.at.offset, l)).collect();
    let mut heads: BTreeMap<Address, Locator> = BTreeMap::new();
    for block in image.blocks(&BLOCKS) {
        image.each_word(&block, image.pointer, |at, value| {
            if let Some(locator) = wanted.get(&value) {
                heads.insert(at, **locator);
            }
        });
    }
    let mut starts = Starts { reader: CodeReader::new(language), known: HashMap::new() };
    let mut found: BTreeMap<Address, Table> = BTreeMap::new();
    for (head, locator) in &heads {
        let Some(at) = head.checked_add(u64::from(image.pointer)) else { continue };
        let entries = entries(program, image, &heads, &mut starts, at);
        if !entries.is_empty() {
            found.insert(locator.at, Table { head: *head, at, locator: *locator, entries });
        }
    }
    found.into_values().collect()
}

fn entries(
    program: &Program,
    image: &Image,
    heads: &BTreeMap<Address, Locator>,
    starts: &mut Starts,
    first: Address,
) -> Vec<Address> {
    let mut entries = Vec::new();
    let mut at = first;
    while entries.len() < LONGEST && image.fits(at, u64::from(image.pointer)) {
        // A table that something refers into would be another one.
        if at != first && (heads.contains_key(&at) || program.references.is_referenced(at)) {
            break;
        }
        let target = image.pointer(at).filter(|target| starts.is_function(program, *target));
        let Some(target) = target else { break };
        entries.push(target);
        let Some(next) = at.checked_add(u64::from(image.pointer)) else { break };
        at = next;
    }
    entries
}

/// Tells places at which functions may start.
struct Starts {
    reader: CodeReader,
    known: HashMap<Address, bool>,
}

impl Starts {
    fn is_function(&mut self, program: &Program, at: Address) -> bool {
        if let Some(known) = self.known.get(&at) {
            return *known;
        }
        let is_one = is_in_code(program, at)
            && (program.functions.at(at).is_some() || self.is_code(program, at));
        self.known.insert(at, is_one);
        is_one
    }

    /// Whether instructions stand there, or can.
    fn is_code(&mut self, program: &Program, at: Address) -> bool {
        match program.listing.unit_containing(at) {
            Some((start, CodeUnit::Instruction(_))) => return start == at,
            Some((_, CodeUnit::Data(unit))) if !is_undefined_type(program, unit.data_type) => {
                return false;
            }
            _ => {}
        }
        let context = self.reader.context(program.mode_at(at));
        let mut at = at;
        for _ in 0..LOOKED_AT {
            let Ok(decoded) = self.reader.decode(program, at, context) else { return false };
            match decoded.fall_through {
                Some(next) => at = Address::new(at.space, next),
                None => break,
            }
        }
        true
    }
}

/// Whether a place lies in the block of code, by its name if there is one of that name.
fn is_in_code(program: &Program, at: Address) -> bool {
    let named = |name| program.memory.block_named(name).is_some();
    let block = program.memory.block_at(at).filter(|b| b.loaded && b.is_initialized());
    let Some(block) = block else { return false };
    match named(".text") || named(".nep") {
        true => matches!(&*block.name, ".text" | ".nep"),
        false => block.permissions.execute,
    }
}
