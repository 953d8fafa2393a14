//! Decoding modes: the contexts in which a program's instructions stand, as small numbers.
//!
//! A listing keeps one byte per instruction. 0 is the language's default context and 1 its other
//! instruction set (Thumb, MIPS16, VLE); the conditions of Thumb's IT blocks take the numbers from
//! 2 on. The numbers depend on nothing but the language, so they may be stored.
//!
//! A mode tells how its own instruction decodes, not how many instructions its IT block still
//! reaches: whoever disassembles in flow order learns that from the context changes.

use std::collections::BTreeMap;

use program::{Address, AddressRange, Program};

use crate::context::Context;
use crate::decoder::Decoder;
use crate::language::Language;

/// Context fields that choose another instruction set, by language.
const OTHER_SETS: [&str; 3] = ["TMode", "ISA_MODE", "vle"];

/// `mov r8,r8`, an instruction that may stand in an IT block.
const MOV_R8_R8: u16 = 0x46c0;

/// Instructions an IT block holds at most.
const IT_LENGTH: usize = 4;

/// The decoding modes of one language.
pub(crate) struct Modes {
    /// A context for each mode.
    contexts: Vec<Context>,
    /// The mode of each context in which instructions can stand.
    numbers: BTreeMap<Context, u8>,
}

impl Language {
    /// The context of a decoding mode; an unknown mode is the default one.
    pub fn mode_context(&self, mode: u8) -> Context {
        let known = self.modes().contexts.get(usize::from(mode)).copied();
        known.unwrap_or_else(|| self.default_context())
    }

    /// The decoding mode of a context, if instructions can stand in it.
    pub fn context_mode(&self, context: Context) -> Option<u8> {
        self.modes().numbers.get(&context).copied()
    }

    /// The decoding mode of Thumb code, where there is any: the default one of languages whose
    /// name ends in `T`.
    pub fn thumb_mode(&self) -> Option<u8> {
        let first = self.context_value(self.default_context(), "TMode")?;
        Some(u8::from(first == 0))
    }

    /// Moves entries whose lowest bit only chooses Thumb, as the records of memory images state
    /// them, to where their code begins.
    pub fn settle_entries(&self, program: &mut Program) {
        let Some(mode) = self.thumb_mode() else { return };
        let odd = program.entry_points.keys().filter(|at| at.offset & 1 == 1).copied();
        for at in odd.collect::<Vec<Address>>() {
            let place = Address::new(at.space, at.offset & !1);
            program.entry_points.remove(&at);
            program.entry_points.insert(place, ());
            if program.mode_at(place) != mode {
                program.set_mode(AddressRange { start: place, end: place }, mode);
            }
            let there: Vec<_> = program.symbols.at(at).map(|(id, _)| id).collect();
            for id in there {
                program.symbols.edit(id, |symbol| symbol.address = place);
            }
        }
    }

    fn modes(&self) -> &Modes {
        self.tables.modes.get_or_init(|| Modes::find(self))
    }
}

impl Modes {
    fn find(language: &Language) -> Modes {
        let default = language.default_context();
        let mut modes = Modes { contexts: Vec::new(), numbers: BTreeMap::new() };
        modes.add(default);
        let Some(field) = OTHER_SETS.into_iter().find(|field| language.has_context(field)) else {
            return modes;
        };
        let other_is_on = language.context_value(default, field) == Some(0);
        let other = language.with_context(default, field, u32::from(other_is_on));
        modes.add(other);
        if field == "TMode" {
            let thumb = if other_is_on { other } else { default };
            for alike in it_contexts(language, thumb).into_values() {
                let Some(number) = modes.add(alike[0]) else { break };
                modes.numbers.extend(alike.into_iter().map(|context| (context, number)));
            }
        }
        modes
    }

    fn add(&mut self, context: Context) -> Option<u8> {
        let number = u8::try_from(self.contexts.len()).ok()?;
        self.contexts.push(context);
        self.numbers.insert(context, number);
        Some(number)
    }
}

/// Every context that an IT instruction puts on those after it, by the condition it means: found
/// by decoding each of them, followed by as many plain instructions as it reaches.
fn it_contexts(language: &Language, thumb: Context) -> BTreeMap<String, Vec<Context>> {
    let mut decoder = Decoder::new(language);
    let order = |half: u16| match language.endian() {
        crate::Endian::Little => half.to_le_bytes(),
        crate::Endian::Big => half.to_be_bytes(),
    };
    let mut found: BTreeMap<String, Vec<Context>> = BTreeMap::new();
    for operand in (0..=0xff_u16).filter(|operand| operand & 0xf != 0) {
        let mut context = thumb;
        let mut half = 0xbf00 | operand;
        for at in 0..=IT_LENGTH as u64 {
            let offset = 0x1000 + 2 * at;
            let Ok(decoded) = decoder.decode(&order(half), offset, context) else { break };
            let mut next = thumb;
            let here = decoded.context_changes.iter().filter(|change| change.offset == offset + 2);
            here.for_each(|change| next = next.with(change));
            if next == thumb {
                break;
            }
            context = next;
            half = MOV_R8_R8;
            let Ok(text) = decoder.listing(&order(half), offset + 2, context) else { break };
            let alike = found.entry(text.mnemonic).or_default();
            if !alike.contains(&context) {
                alike.push(context);
            }
        }
    }
    found
}
