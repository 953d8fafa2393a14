//! The open program as a whole.

use schemars::JsonSchema;
use serde::Serialize;

use crate::method::Method;
use crate::shapes::{GetOnly, Nothing, Reply};

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::pending_read::<GetOnly, Program>(
            "program.get",
            "Describe the open program: file, format, bounds, language, times and counts.",
        ),
        Method::pending_write::<Nothing, Saved>(
            "program.save",
            "Write the program to its project file now.",
        )
        .idempotent()
        .outside_transactions(),
        Method::pending_read::<GetOnly, ProgramLanguage>(
            "program_language.get",
            "Describe the program's processor language and compiler.",
        ),
    ]
}

/// The open program.
#[derive(Debug, Serialize, JsonSchema)]
struct Program {
    /// Its name.
    name: String,
    /// Path of the file it was read from.
    executable_path: Option<String>,
    /// Name of the file's format.
    executable_format: String,
    /// Where the image lies.
    image_base: String,
    /// Lowest address with memory.
    min_address: Option<String>,
    /// Highest address with memory.
    max_address: Option<String>,
    /// Processor language, such as `x86:LE:64:default`.
    language_id: String,
    /// Compiler conventions, such as `gcc`.
    compiler_spec_id: String,
    /// When the file was made, in UTC.
    created_at: Option<String>,
    /// When the file was last changed, in UTC.
    modified_at: Option<String>,
    /// Functions in memory, thunks included.
    function_count: u64,
    /// Addresses with a stored name.
    symbol_count: u64,
    /// MD5 of the file.
    md5: Option<String>,
    /// SHA-256 of the file.
    sha256: Option<String>,
    /// Size of the file in bytes.
    file_size: u64,
    /// True once a whole analysis has ended.
    analyzed: bool,
    /// How many things the loader repaired or left out; see the analysis warnings.
    warnings_count: u64,
}

impl Reply for Program {
    const IDENTITY: &'static [&'static str] = &["name"];
}

/// The program is saved.
#[derive(Debug, Serialize, JsonSchema)]
struct Saved {
    /// Always true.
    saved: bool,
}

impl Reply for Saved {
    const IDENTITY: &'static [&'static str] = &[];
}

/// Processor and compiler.
#[derive(Debug, Serialize, JsonSchema)]
struct ProgramLanguage {
    /// Processor language, such as `x86:LE:64:default`.
    language_id: String,
    /// Compiler conventions, such as `gcc`.
    compiler_spec_id: String,
    /// Processor family.
    processor: String,
    /// `little` or `big`.
    endian: &'static str,
    /// Width of an address in bits.
    address_size: u64,
}

impl Reply for ProgramLanguage {
    const IDENTITY: &'static [&'static str] = &["language_id"];
}
