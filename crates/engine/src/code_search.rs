//! Searching code: instructions by name, operands and constants; calls with their arguments; C
//! text, decompiled on all cores.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use decompiler::{Decoder, Decompilation, Limits, OperandPart, TokenKind};
use parking_lot::Mutex;
use program::{Address, Instruction, Program};

use crate::instruction_text::{InstructionPrinter, InstructionText};
use crate::pattern::Pattern;
use crate::session::Session;

/// Most bytes one instruction takes, its delay slot included.
const MAX_BYTES: usize = 32;
/// What the text of one function may take in a search over all of them.
const ONE_FUNCTION: Duration = Duration::from_secs(5);
/// Functions that each core decompiles before the next ones are begun.
const AHEAD: usize = 4;
/// Longest text of a call's arguments, in bytes.
const MAX_ARGUMENTS: usize = 4096;

/// What an instruction must be like; what is absent may be anything.
#[derive(Debug, Default)]
pub struct CodeQuery {
    /// Its name.
    pub mnemonic: Option<Pattern>,
    /// Its operands, with commas between them.
    pub operands: Option<Pattern>,
    /// A number among its operands.
    pub constant: Option<i128>,
}

/// Compares instructions of one session with a query; made once for a run of them.
pub struct CodeSearcher {
    decoder: Decoder,
    printer: InstructionPrinter,
}

impl CodeSearcher {
    /// A searcher for the session's processor.
    #[must_use]
    pub fn new(session: &Session) -> CodeSearcher {
        CodeSearcher {
            decoder: Decoder::new(session.language()),
            printer: InstructionPrinter::new(session),
        }
    }

    /// The text of an instruction that is as asked; nothing for others.
    pub fn find(
        &mut self,
        program: &Program,
        address: Address,
        instruction: &Instruction,
        query: &CodeQuery,
    ) -> Option<InstructionText> {
        // Numbers first: they are had without any text.
        if let Some(wanted) = query.constant
            && !self.has_constant(program, address, instruction, wanted)
        {
            return None;
        }
        let text = self.printer.text(program, address, instruction)?;
        let fits = query.mnemonic.as_ref().is_none_or(|pattern| pattern.is_in(&text.mnemonic))
            && query
                .operands
                .as_ref()
                .is_none_or(|pattern| pattern.is_in(&text.operands.join(", ")));
        fits.then_some(text)
    }

    fn has_constant(
        &mut self,
        program: &Program,
        address: Address,
        instruction: &Instruction,
        wanted: i128,
    ) -> bool {
        let mut bytes = [0u8; MAX_BYTES];
        let Ok(read) = program.memory.read(address, &mut bytes) else { return false };
        let context = self.decoder.language().mode_context(instruction.mode);
        let operands = self.decoder.operands(&bytes[..read], address.offset, context);
        let mut parts = operands.iter().flatten().flat_map(|operand| &operand.parts);
        parts.any(|part| match part {
            OperandPart::Scalar { value, bits } => {
                let unsigned = u128::from(*value as u64) & mask(*bits);
                i128::from(*value) == wanted || unsigned as i128 == wanted
            }
            OperandPart::Address(place) => i128::from(*place) == wanted,
            OperandPart::Register(_) => false,
        })
    }
}

fn mask(bits: u32) -> u128 {
    if bits >= 64 { u128::from(u64::MAX) } else { (1u128 << bits) - 1 }
}

/// The arguments of a call as the C text has them, in order; nothing when the text does not show
/// the call.
#[must_use]
pub fn call_arguments(text: &Decompilation, site: Address) -> Option<Vec<String>> {
    let is_callee = |token: &decompiler::Token| {
        token.kind == TokenKind::Function && token.address == Some(site)
    };
    let at = text.tokens.iter().position(is_callee)?;
    let mut rest = String::new();
    for token in text.tokens[at + 1..].iter() {
        rest.push_str(&token.text);
        if rest.len() > MAX_ARGUMENTS {
            break;
        }
    }
    split_arguments(rest.trim_start().strip_prefix('(')?)
}

/// The arguments before the closing parenthesis.
fn split_arguments(text: &str) -> Option<Vec<String>> {
    let mut arguments = Vec::new();
    let (mut depth, mut quote, mut begin) = (0u32, None, 0);
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match (quote, letter) {
            (Some(_), '\\') => drop(letters.next()),
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')') if depth == 0 => {
                arguments.push(&text[begin..at]);
                let clean = |text: &&str| text.split_whitespace().collect::<Vec<_>>().join(" ");
                let mut clean: Vec<String> = arguments.iter().map(clean).collect();
                if clean == [""] {
                    clean.clear();
                }
                return Some(clean);
            }
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                arguments.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// The C texts of functions in the order in which they are asked for, made some ahead on all
/// cores. What was made is kept by the session, so that stopping loses nothing.
pub struct CTexts<'a, I> {
    session: &'a Session,
    program: &'a Program,
    cancel: Arc<AtomicBool>,
    entries: I,
    ready: VecDeque<(Address, Decompilation)>,
    cores: usize,
}

impl<'a, I: Iterator<Item = Address>> CTexts<'a, I> {
    /// The texts of some functions of a snapshot.
    pub fn new(
        session: &'a Session,
        program: &'a Program,
        entries: I,
        cancel: Arc<AtomicBool>,
    ) -> CTexts<'a, I> {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        CTexts { session, program, cancel, entries, ready: VecDeque::new(), cores }
    }

    fn fill(&mut self) {
        let batch: Vec<Address> = self.entries.by_ref().take(self.cores * AHEAD).collect();
        let made: Vec<Mutex<Option<Decompilation>>> =
            batch.iter().map(|_| Mutex::new(None)).collect();
        let limits = Limits { timeout: ONE_FUNCTION, ..Limits::default() };
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed))
                && let Some(entry) = batch.get(at)
            {
                let text = self.session.decompile(self.program, *entry, &limits, &self.cancel);
                *made[at].lock() = Some(text);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.cores.min(batch.len()) {
                scope.spawn(work);
            }
            work();
        });
        let texts = made.into_iter().map(|text| text.into_inner().unwrap_or_default());
        self.ready.extend(batch.into_iter().zip(texts));
    }
}

impl<I: Iterator<Item = Address>> Iterator for CTexts<'_, I> {
    type Item = (Address, Decompilation);

    fn next(&mut self) -> Option<(Address, Decompilation)> {
        if self.ready.is_empty() {
            self.fill();
        }
        self.ready.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_split_at_the_commas_between_them() {
        let split = |text: &str| split_arguments(text);
        assert_eq!(split(");"), Some(vec![]));
        assert_eq!(
            split("a, b[1,2] ,(int)c,\n  f(d,e));"),
            Some(vec!["a".into(), "b[1,2]".into(), "(int)c".into(), "f(d,e)".into()])
        );
        assert_eq!(split("\"a,)\\\"\",')')"), Some(vec!["\"a,)\\\"\"".into(), "')'".into()]));
        assert_eq!(split("a, b"), None);
    }
}
