//! The ways in which decoding and language look-up fail.

/// Why a language could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LanguageError {
    /// No built-in processor language has this id.
    #[error("unknown language id `{0}`")]
    UnknownLanguage(String),
    /// The language exists, but has no compiler specification of this id.
    #[error("language `{language}` has no compiler specification `{compiler}`")]
    UnknownCompiler {
        /// The language id asked for.
        language: String,
        /// The compiler specification id asked for.
        compiler: String,
    },
    /// The engine could not build its tables; the text is the engine's.
    #[error("language `{language}` cannot be loaded: {reason}")]
    Broken {
        /// The language id asked for.
        language: String,
        /// What the engine said.
        reason: String,
    },
}

/// Why bytes are not an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// No instruction of the processor has this bit pattern.
    #[error("no instruction matches the bytes")]
    BadInstruction,
    /// The bytes end before the instruction does.
    #[error("the bytes end inside the instruction")]
    Truncated,
    /// The address breaks the processor's instruction alignment.
    #[error("the address is not aligned to an instruction")]
    Unaligned,
    /// The instruction is known but its semantics are not described.
    #[error("the instruction has no p-code")]
    Unimplemented,
}
