//! The order in which a program is taken over.

use std::collections::HashMap;

use decompiler::{Endian, Language};
use ghidra_db::Database;
use program::{DataOrganization, Program, ProgramInfo, TypeId};
use std::sync::Arc;

use crate::addresses::Addresses;
use crate::rows::Rows;
use crate::{ImportError, info, versions};

/// A program out of a database.
#[derive(Debug)]
pub struct Imported {
    /// The program, as Ghidra left it.
    pub program: Program,
    /// What was left out and why, for people.
    pub notices: Vec<String>,
}

/// What the modules read from and write to.
pub(crate) struct Importer<'a> {
    pub(crate) database: &'a Database,
    pub(crate) language: Language,
    pub(crate) program: Program,
    pub(crate) addresses: Addresses,
    pub(crate) types: HashMap<i64, TypeId>,
    pub(crate) conventions: HashMap<i64, Arc<str>>,
    pub(crate) notices: Vec<String>,
}

/// Takes a program over. Cost: linear in the database, apart from instructions, which are decoded
/// again from their bytes.
///
/// # Errors
///
/// [`ImportError`] when it is no program, of an unknown version, or for an unknown processor. What
/// can be left out is, with a notice.
pub fn import(database: &Database) -> Result<Imported, ImportError> {
    for needed in ["Program", "Memory Blocks", "ADDRESS MAP"] {
        if database.table(needed).is_none() {
            return Err(ImportError::NoProgram(needed));
        }
    }
    let mut notices = Vec::new();
    if database.is_truncated() {
        notices.push("The file ends within a buffer: what lay behind is missing.".to_owned());
    }
    for table in database.unreadable() {
        notices.push(format!("{}; the table is left out.", table.error));
    }
    let facts = info::Facts::read(database, &mut notices);
    versions::check(database, &facts.ghidra)?;
    let language = Language::open(&facts.language, &facts.compiler)?;
    notices.extend(facts.version_notice(&language));
    let mut program = Program::new(
        facts.describe(&language),
        language.endian() == Endian::Big,
        organization(database, &language, &mut notices),
    );
    let spaces = Arc::make_mut(&mut program.spaces);
    let addresses = Addresses::read(database, spaces, facts.image_base, &mut notices);
    let (types, conventions) = (HashMap::new(), HashMap::new());
    let mut importer =
        Importer { database, language, program, addresses, types, conventions, notices };
    importer.memory();
    importer.data_types();
    importer.symbols();
    importer.functions();
    importer.listing();
    importer.references();
    importer.facts();
    importer.lay_out_signatures();
    let Importer { program, notices, .. } = importer;
    Ok(Imported { program, notices })
}

impl Importer<'_> {
    pub(crate) fn rows(&mut self, table: &str) -> Rows {
        Rows::read(self.database, table, &mut self.notices)
    }
}

/// The sizes that the database states, else those of the processor.
fn organization(
    database: &Database,
    language: &Language,
    notices: &mut Vec<String>,
) -> DataOrganization {
    let rows = Rows::read(database, "DataTypeManager", notices);
    let stated = |key: &str| {
        let row = rows.iter().find(|row| row.key_text() == key)?;
        row.word("Value").parse::<u32>().ok().filter(|size| (1..=64).contains(size))
    };
    let any = rows.iter().any(|row| row.key_text().starts_with("dataOrg."));
    let processor = language.pointer_size().clamp(1, 8);
    // What is not stated is as Ghidra has it where no compiler says otherwise.
    DataOrganization {
        pointer: stated("dataOrg.pointer_size").unwrap_or(if any { 4 } else { processor }),
        long: stated("dataOrg.long_size").unwrap_or(if any { 4 } else { processor.max(4) }),
        wide_char: stated("dataOrg.wchar_size").unwrap_or(2),
        long_double: stated("dataOrg.long_double_size").unwrap_or(8),
        ..DataOrganization::default()
    }
}

/// What a program of no more than its information looks like; modules of this crate fill it.
pub(crate) fn empty_info(language: &Language) -> ProgramInfo {
    ProgramInfo {
        language_id: language.language_id().to_owned(),
        compiler_spec_id: language.compiler_spec_id().to_owned(),
        processor: language.processor().to_owned(),
        address_bits: language.address_bits(),
        ..ProgramInfo::default()
    }
}
