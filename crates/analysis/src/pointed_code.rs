//! Code whose address is only taken: handed to others, or kept in a table. It is decoded where it
//! makes a good subroutine, but nothing says that a function begins there.

use crate::code::CodeReader;
use crate::pass::{Analysis, Stopped};
use crate::subroutine::{Budget, Subroutines};
use decompiler::Opcode;
use program::{Address, CodeUnit, Program, RefType, Reference};
use std::collections::{BTreeSet, HashMap};

/// References between two looks at whether the run should end.
const BETWEEN_LOOKS: usize = 256;

/// Said when the code that pointers lead to is more than may be looked at.
const SPENT: &str = "not all code that is only pointed to was found: too much of it leads too far";

/// Looks at each destination once.
#[derive(Default)]
pub(crate) struct PointedCode {
    seen: BTreeSet<Address>,
}

impl PointedCode {
    /// Places that instructions, or with `from_data` data, refer to and that are subroutines of
    /// which nothing is decoded yet. Warns if it had to stop before all were looked at. Cost:
    /// linear in the references and in the size of the program's code.
    pub(crate) fn find(
        &mut self,
        analysis: &mut Analysis<'_>,
        from_data: bool,
    ) -> Result<Vec<(Address, u8)>, Stopped> {
        let program = &*analysis.program;
        let mut reader = CodeReader::new(analysis.language);
        let mut budget = Budget::of(program);
        let alignment = u64::from(analysis.language.instruction_alignment()).max(1);
        // The lowest bit of a pointer to code chooses a mode there.
        let thumb = analysis.language.thumb_mode();
        let mut found = Vec::new();
        let mut open: HashMap<Address, bool> = HashMap::new();
        for (index, reference) in program.references.iter().enumerate() {
            if index.is_multiple_of(BETWEEN_LOOKS) {
                analysis.check()?;
            }
            let mut to = reference.to;
            let chosen = thumb.filter(|_| to.offset & 1 != 0);
            to.offset &= !u64::from(chosen.is_some());
            if !matches!(reference.info.kind, RefType::Data | RefType::Param)
                || !to.offset.is_multiple_of(alignment)
                || self.seen.contains(&to)
                || !*open.entry(to).or_insert_with(|| is_open(program, to))
            {
                continue;
            }
            let by_code = program.listing.instruction_containing(reference.from).is_some();
            if by_code == from_data || by_code && !takes_address(program, &mut reader, &reference) {
                continue;
            }
            self.seen.insert(to);
            let mode = chosen.unwrap_or_else(|| program.mode_at(to));
            if Subroutines::new(program, &mut reader, &mut budget).is_valid(to, mode, from_data) {
                found.push((to, mode));
            }
            if budget.is_spent() {
                break;
            }
            // One place may cost as much as many references.
            analysis.check()?;
        }
        let is_known = |warnings: &[String]| warnings.iter().any(|warning| warning == SPENT);
        if budget.is_spent() && !is_known(&program.info.warnings) {
            analysis.program.warn(SPENT);
        }
        Ok(found)
    }
}

/// Whether an address holds executable bytes of which nothing is known, and nobody reads or
/// writes them.
fn is_open(program: &Program, at: Address) -> bool {
    program.memory.block_at(at).is_some_and(|b| b.permissions.execute && b.is_initialized())
        && program.listing.unit_containing(at).is_none()
        && !program.references.to(at).any(|reference| {
            matches!(reference.info.kind, RefType::Read | RefType::Write | RefType::ReadWrite)
        })
}

/// Whether an instruction only takes the address that it refers to: it neither goes there nor
/// calculates with it.
fn takes_address(program: &Program, reader: &mut CodeReader, reference: &Reference) -> bool {
    let Some((at, CodeUnit::Instruction(unit))) = program.listing.unit_containing(reference.from)
    else {
        return false;
    };
    if unit.flow.is_jump() || unit.flow.is_call() {
        return false;
    }
    let mut pcode = Vec::new();
    let context = reader.context(unit.mode);
    if reader.pcode(program, at, context, &mut pcode).is_err() {
        return false;
    }
    let mut holder = None;
    for op in &pcode {
        let memory = matches!(op.opcode, Opcode::Load | Opcode::Store);
        if memory && op.inputs.get(1).is_some_and(|pointer| Some(*pointer) == holder) {
            return false;
        }
        let uses = op.inputs.iter().any(|input| {
            Some(*input) == holder || input.is_constant() && input.offset == reference.to.offset
        });
        if uses && !memory {
            if op.opcode != Opcode::Copy {
                return false;
            }
            holder = op.output.or(holder);
        }
    }
    true
}
