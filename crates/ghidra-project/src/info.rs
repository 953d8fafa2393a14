//! The program as a whole: processor, file, where it came from.

use std::time::{Duration, SystemTime};

use decompiler::Language;
use ghidra_db::Database;
use program::ProgramInfo;

use crate::import::empty_info;
use crate::rows::Rows;

/// What is stated about the program.
pub(crate) struct Facts {
    pub(crate) language: String,
    pub(crate) compiler: String,
    pub(crate) image_base: u64,
    /// The version of Ghidra that made the program.
    pub(crate) ghidra: String,
    name: String,
    language_version: String,
    /// The option list `Program Information`.
    information: Vec<(String, String)>,
    size: u64,
}

impl Facts {
    pub(crate) fn read(database: &Database, notices: &mut Vec<String>) -> Facts {
        let rows = Rows::read(database, "Program", notices);
        let stated = |key: &str| {
            let row = rows.iter().find(|row| row.key_text() == key);
            row.map(|row| row.word("Value").to_owned()).unwrap_or_default()
        };
        let rows_of_options = Rows::read(database, "Property Table", notices);
        let information = rows_of_options.iter().filter_map(|row| {
            let name = row.key_text().strip_prefix("Program Information.")?;
            Some((name.to_owned(), row.word("Value").to_owned()))
        });
        let files = Rows::read(database, "File Bytes", notices);
        let size = files.iter().map(|row| row.int("Size")).max().unwrap_or(0);
        let mut facts = Facts {
            language: stated("Language ID"),
            compiler: stated("Compiler Spec ID"),
            image_base: u64::from_str_radix(&stated("Image Offset"), 16).unwrap_or(0),
            ghidra: String::new(),
            name: stated("Program Name"),
            language_version: stated("Language Version"),
            information: information.collect(),
            size: u64::try_from(size).unwrap_or(0),
        };
        if facts.language.is_empty() {
            facts.language = stated("Language Name");
        }
        facts.ghidra = facts.information("Created With Ghidra Version").to_owned();
        facts
    }

    fn information(&self, name: &str) -> &str {
        self.information.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    pub(crate) fn describe(&self, language: &Language) -> ProgramInfo {
        let made = self.information("Date Created").parse().ok().map(Duration::from_millis);
        let made = made.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since));
        ProgramInfo {
            name: self.name.clone(),
            executable_path: self.information("Executable Location").to_owned(),
            executable_format: self.information("Executable Format").to_owned(),
            image_base: self.image_base,
            md5: self.information("Executable MD5").to_owned(),
            sha256: self.information("Executable SHA256").to_owned(),
            file_size: self.size,
            created: made,
            modified: made,
            relocatable: self.information("Relocatable") == "true",
            ..empty_info(language)
        }
    }

    /// Tells when the processor's description is of another version than the program's.
    pub(crate) fn version_notice(&self, language: &Language) -> Option<String> {
        let major = |text: &str| text.split('.').next().unwrap_or_default().to_owned();
        let (theirs, ours) = (&self.language_version, language.version());
        (major(theirs) != major(ours)).then(|| {
            format!(
                "The program was made with version {theirs} of the language {}, which is here in version {ours}: \
                 registers of variables may be others.",
                self.language
            )
        })
    }
}
