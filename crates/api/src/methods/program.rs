//! The open program as a whole.

use engine::SaveError;
use schemars::JsonSchema;
use serde::Serialize;

use crate::bridge::Bridge;
use crate::context::CallContext;
use crate::error::{BridgeError, ErrorCode};
use crate::instant::utc;
use crate::method::{Answer, Effects, Method};
use crate::shapes::{GetOnly, Nothing, Reply};
use crate::view::View;

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::read(
            "program.get",
            "Describe the open program: file, format, bounds, language, times and counts.",
            get,
        )
        .growing(),
        Method::control(
            "program.save",
            "Write the program to its project file now.",
            Effects::TASK,
            save,
        )
        .idempotent(),
        Method::read(
            "program_language.get",
            "Describe the program's processor language and compiler.",
            language_get,
        ),
    ]
}

fn save(bridge: &Bridge, _cx: &CallContext, _request: Nothing) -> Answer<Saved> {
    match bridge.session().save() {
        Ok(_) => Ok(Saved { saved: true }),
        Err(SaveError::ReadOnly) => {
            Err(BridgeError::new(ErrorCode::ReadOnly, SaveError::ReadOnly.to_string()).at_method())
        }
        Err(SaveError::NoProject) => {
            let message = SaveError::NoProject.to_string();
            Err(BridgeError::new(ErrorCode::InvalidRequest, message).at_method())
        }
        Err(error @ SaveError::Store(_)) => {
            tracing::error!(%error, "the project was not saved");
            Err(BridgeError::new(ErrorCode::InternalError, error.to_string()).at_method())
        }
    }
}

fn get(view: &View<'_>, _request: GetOnly) -> Answer<Program> {
    let session = view.bridge.session();
    let project = session.project_path();
    let program = &view.program;
    let info = &program.info;
    let blocks = program.memory.blocks();
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Ok(Program {
        name: info.name.clone(),
        executable_path: text(&info.executable_path),
        executable_format: info.executable_format.clone(),
        image_base: view.print(::program::Address::ram(info.image_base)),
        min_address: blocks.first().map(|block| view.print(block.start)),
        max_address: blocks.last().map(|block| view.print(block.end())),
        language_id: info.language_id.clone(),
        compiler_spec_id: info.compiler_spec_id.clone(),
        created_at: info.created.or(info.modified).map(utc),
        modified_at: info.modified.map(utc),
        function_count: program.functions.iter().filter(|f| !f.is_external()).count() as u64,
        symbol_count: program.symbols.iter().filter(|(_, s)| s.primary && s.is_in_memory()).count()
            as u64,
        md5: text(&info.md5),
        sha256: text(&info.sha256),
        file_size: info.file_size,
        analyzed: view.bridge.session().analysis_status().analyzed,
        warnings_count: info.warnings.len() as u64,
        project: project.map(|path| path.to_string_lossy().into_owned()),
        unsaved_changes: project.map(|_| session.has_unsaved_changes()),
    })
}

fn language_get(view: &View<'_>, _request: GetOnly) -> Answer<ProgramLanguage> {
    let info = &view.program.info;
    Ok(ProgramLanguage {
        language_id: info.language_id.clone(),
        compiler_spec_id: info.compiler_spec_id.clone(),
        processor: info.processor.clone(),
        endian: if view.program.memory.big_endian() { "big" } else { "little" },
        address_size: u64::from(info.address_bits),
    })
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
    /// Path of the project file; absent when edits are not kept.
    project: Option<String>,
    /// True when there is something that `program.save` would write.
    unsaved_changes: Option<bool>,
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
