//! Why a file could not be loaded: one sentence a cause, naming what was found
//! and what is supported.

use crate::Format;

/// Formats that can be opened, as messages list them.
pub(crate) const SUPPORTED_FORMATS: &str = "ELF, PE, COFF, Mach-O, Intel HEX, Motorola S-record, ar and ZIP archives, and raw images when a language is given";

/// Why a file could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// There are no bytes.
    #[error("the file is empty: there is nothing to load")]
    Empty,
    /// The first bytes belong to no known format.
    #[error("unknown file format: the file starts with {found}; supported are {SUPPORTED_FORMATS}")]
    UnknownFormat {
        /// The first bytes, in words or in hex.
        found: String,
    },
    /// The file is shorter than what it cannot do without.
    #[error("the {format} file is cut short: {what} needs {needed} bytes, but the file has {have}")]
    Truncated {
        /// The format.
        format: &'static str,
        /// The part that is not there.
        what: &'static str,
        /// Bytes that the part needs.
        needed: u64,
        /// Bytes of the file.
        have: u64,
    },
    /// The format is known, the processor is not.
    #[error(
        "the {format} file is for {machine}, which is not supported; supported are {supported}"
    )]
    UnsupportedMachine {
        /// The format.
        format: &'static str,
        /// The machine's name and number.
        machine: String,
        /// Machines that are supported.
        supported: &'static str,
    },
    /// A header contradicts itself so that nothing can be loaded.
    #[error("the {format} file is malformed: {what}")]
    Malformed {
        /// The format.
        format: &'static str,
        /// What is wrong.
        what: String,
    },
    /// The language id of the options has not the form of one.
    #[error("`{language}` is not a language id; one looks like `x86:LE:64:default`")]
    BadLanguage {
        /// What was given.
        language: String,
    },
    /// A raw image says nothing about its processor.
    #[error(
        "files of the format {format} do not say their processor: give one, such as language=ARM:LE:32:v8"
    )]
    LanguageNeeded {
        /// The format.
        format: &'static str,
    },
    /// The archive has no member of that name.
    #[error("the archive has no member `{wanted}`; it has {members}")]
    NoSuchMember {
        /// What was asked for.
        wanted: String,
        /// What there is.
        members: String,
    },
    /// A member was named, but the file has none.
    #[error(
        "member={member} names a member of an archive, but the file is {format}: leave member out"
    )]
    NoArchive {
        /// What was asked for.
        member: String,
        /// What the file is.
        format: Format,
    },
    /// The file is of another format than the one that was asked for.
    #[error("this is {found}, not {asked}: leave loader out, or open it as what it is")]
    OtherFormat {
        /// What was asked for.
        asked: Format,
        /// What its first bytes say.
        found: Format,
    },
    /// A member expands to more than its bytes can honestly hold.
    #[error(
        "the member {member} expands to more than {limit} bytes, out of proportion to what is stored: it is a zip bomb, and is not opened"
    )]
    ZipBomb {
        /// The member.
        member: String,
        /// Most bytes that it might have.
        limit: u64,
    },
    /// Archives lie in each other without end.
    #[error("more than {limit} archives lie in each other; open one of the inner ones by itself")]
    NestedTooDeep {
        /// Most archives that are followed.
        limit: usize,
    },
    /// An archive was given, but not which member to open.
    #[error("the file is an archive of {count} members: choose one with member=, of {members}")]
    MemberNeeded {
        /// How many there are.
        count: usize,
        /// Their names.
        members: String,
    },
}
