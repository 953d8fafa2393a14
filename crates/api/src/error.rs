//! The one error that reaches clients: a status, a code, a sentence, a pointer and details.
//!
//! Layers below have their own error types; they are turned into this one in
//! the handlers' modules and nowhere else. Two places print it: the JSON-RPC
//! envelope and the MCP tool error.

use serde_json::{Map, Value, json};

/// What went wrong, as a stable word; [`ErrorCode::status`] is the only table of statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // each name is its own wire word, listed once below
pub enum ErrorCode {
    InvalidType,
    MissingField,
    UnknownField,
    InvalidValue,
    InvalidEnum,
    InvalidCount,
    InvalidUnion,
    DuplicateField,
    InvalidCursor,
    ConflictingRange,
    InvalidId,
    InvalidAddress,
    InvalidDataType,
    InvalidByteData,
    LengthMismatch,
    ValidationFailed,
    MissingMethod,
    InvalidRequest,
    NotCode,
    ReadOnly,
    UnknownMethod,
    NotFound,
    ProgramNotOpen,
    AnalysisInProgress,
    AnalysisAlreadyRunning,
    CommentExists,
    DataTypeExists,
    DataTypeNotRemoved,
    GlobalVariableExists,
    GlobalVariableConflict,
    FlowOverrideConflict,
    FunctionExists,
    BodyConflict,
    BatchRolledBack,
    Cancelled,
    InternalError,
}

impl ErrorCode {
    /// Every code, for documents and tests.
    pub const ALL: &'static [ErrorCode] = &[
        ErrorCode::InvalidType,
        ErrorCode::MissingField,
        ErrorCode::UnknownField,
        ErrorCode::InvalidValue,
        ErrorCode::InvalidEnum,
        ErrorCode::InvalidCount,
        ErrorCode::InvalidUnion,
        ErrorCode::DuplicateField,
        ErrorCode::InvalidCursor,
        ErrorCode::ConflictingRange,
        ErrorCode::InvalidId,
        ErrorCode::InvalidAddress,
        ErrorCode::InvalidDataType,
        ErrorCode::InvalidByteData,
        ErrorCode::LengthMismatch,
        ErrorCode::ValidationFailed,
        ErrorCode::MissingMethod,
        ErrorCode::InvalidRequest,
        ErrorCode::NotCode,
        ErrorCode::ReadOnly,
        ErrorCode::UnknownMethod,
        ErrorCode::NotFound,
        ErrorCode::ProgramNotOpen,
        ErrorCode::AnalysisInProgress,
        ErrorCode::AnalysisAlreadyRunning,
        ErrorCode::CommentExists,
        ErrorCode::DataTypeExists,
        ErrorCode::DataTypeNotRemoved,
        ErrorCode::GlobalVariableExists,
        ErrorCode::GlobalVariableConflict,
        ErrorCode::FlowOverrideConflict,
        ErrorCode::FunctionExists,
        ErrorCode::BodyConflict,
        ErrorCode::BatchRolledBack,
        ErrorCode::Cancelled,
        ErrorCode::InternalError,
    ];

    /// The word on the wire, the status, and when it is raised.
    const fn facts(self) -> (&'static str, u16, &'static str) {
        match self {
            Self::InvalidType => ("invalid_type", 400, "a value has the wrong JSON type"),
            Self::MissingField => ("missing_field", 400, "a required member is absent"),
            Self::UnknownField => ("unknown_field", 400, "a member is not in the schema"),
            Self::InvalidValue => (
                "invalid_value",
                400,
                "a number is out of range or a text is too short or too long",
            ),
            Self::InvalidEnum => ("invalid_enum", 400, "a text is not one of the listed values"),
            Self::InvalidCount => {
                ("invalid_count", 400, "an array or object has too few or too many members")
            }
            Self::InvalidUnion => {
                ("invalid_union", 400, "a value fits none of its alternatives, or several at once")
            }
            Self::DuplicateField => ("duplicate_field", 400, "a projection path is listed twice"),
            Self::InvalidCursor => {
                ("invalid_cursor", 400, "a cursor was not handed out by this bridge for this query")
            }
            Self::ConflictingRange => {
                ("conflicting_range", 400, "two spellings of one range bound differ")
            }
            Self::InvalidId => ("invalid_id", 400, "an id is not decimal text"),
            Self::InvalidAddress => {
                ("invalid_address", 400, "an address text names no place in the program")
            }
            Self::InvalidDataType => (
                "invalid_data_type",
                400,
                "a data type reference names no type, several, or an impossible one",
            ),
            Self::InvalidByteData => ("invalid_byte_data", 400, "bytes cannot be decoded"),
            Self::LengthMismatch => {
                ("length_mismatch", 400, "a stated length differs from the decoded bytes")
            }
            Self::ValidationFailed => (
                "validation_failed",
                400,
                "a batch or a signature has faults, listed in the details",
            ),
            Self::MissingMethod => ("missing_method", 400, "the method name is blank"),
            Self::InvalidRequest => {
                ("invalid_request", 400, "the arguments are well formed but cannot be served")
            }
            Self::NotCode => ("not_code", 400, "no instruction can start at the address"),
            Self::ReadOnly => ("read_only", 403, "the bridge was started read-only"),
            Self::UnknownMethod => ("unknown_method", 404, "no method has this name"),
            Self::NotFound => (
                "not_found",
                404,
                "the selected thing does not exist; details.resource names its kind",
            ),
            Self::ProgramNotOpen => {
                ("program_not_open", 409, "the bridge was started without a file")
            }
            Self::AnalysisInProgress => {
                ("analysis_in_progress", 409, "a write came while analysis runs")
            }
            Self::AnalysisAlreadyRunning => {
                ("analysis_already_running", 409, "analysis was started while it runs")
            }
            Self::CommentExists => {
                ("comment_exists", 409, "a comment of this type is already there")
            }
            Self::DataTypeExists => ("data_type_exists", 409, "a data type already has this path"),
            Self::DataTypeNotRemoved => {
                ("data_type_not_removed", 409, "the data type cannot be removed")
            }
            Self::GlobalVariableExists => {
                ("global_variable_exists", 409, "defined data is already there")
            }
            Self::GlobalVariableConflict => {
                ("global_variable_conflict", 409, "the data type does not fit there")
            }
            Self::FlowOverrideConflict => {
                ("flow_override_conflict", 409, "the current flow override is not an expected one")
            }
            Self::FunctionExists => ("function_exists", 409, "a function already starts there"),
            Self::BodyConflict => {
                ("body_conflict", 409, "a function body crosses another function")
            }
            Self::BatchRolledBack => {
                ("batch_rolled_back", 409, "an item failed, so the whole batch was undone")
            }
            Self::Cancelled => ("cancelled", 499, "the client gave the request up"),
            Self::InternalError => {
                ("internal_error", 500, "a fault of the bridge; its log has the cause")
            }
        }
    }

    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.facts().0
    }

    /// The HTTP-like status that goes with the code.
    #[must_use]
    pub const fn status(self) -> u16 {
        self.facts().1
    }

    /// When the code is raised, as a clause.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        self.facts().2
    }
}

/// A failed method call, ready for the wire.
#[derive(Clone, Debug, PartialEq)]
pub struct BridgeError {
    /// What went wrong.
    pub code: ErrorCode,
    /// One sentence: what was wrong and what would be right.
    pub message: String,
    /// JSON pointer into the request, or empty when nothing in it is to blame.
    pub target: String,
    /// Facts for machines; empty when there are none.
    pub details: Map<String, Value>,
}

impl BridgeError {
    /// An error without target and details.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> BridgeError {
        BridgeError { code, message: message.into(), target: String::new(), details: Map::new() }
    }

    /// A missing thing of the given kind (`function`, `symbol`, ...).
    #[must_use]
    pub fn not_found(kind: &str, message: impl Into<String>) -> BridgeError {
        BridgeError::new(ErrorCode::NotFound, message).with("resource", kind)
    }

    /// A fault of ours; the fixed text tells the client nothing internal.
    #[must_use]
    pub fn internal() -> BridgeError {
        BridgeError::new(
            ErrorCode::InternalError,
            "the bridge failed to serve this request; its log has the cause",
        )
    }

    /// Points at a member of `params`; `pointer` starts with a slash.
    #[must_use]
    pub fn at(mut self, pointer: &str) -> BridgeError {
        self.target = format!("/params{pointer}");
        self
    }

    /// Points at the method name.
    #[must_use]
    pub fn at_method(mut self) -> BridgeError {
        "/method".clone_into(&mut self.target);
        self
    }

    /// Adds one detail.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> BridgeError {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// The status that goes with the code.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.code.status()
    }

    /// The wire form: always the same five members.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "status": self.status(),
            "code": self.code.as_str(),
            "message": self.message,
            "target": self.target,
            "details": self.details,
        })
    }
}

impl std::fmt::Display for BridgeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.message)
    }
}

impl std::error::Error for BridgeError {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_code_is_listed_once_with_a_client_or_server_status() {
        let words: HashSet<_> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(words.len(), ErrorCode::ALL.len());
        for code in ErrorCode::ALL {
            assert!((400..600).contains(&code.status()), "{}", code.as_str());
            assert!(code.as_str().chars().all(|c| c.is_ascii_lowercase() || c == '_'));
        }
    }

    #[test]
    fn the_wire_form_always_has_five_members() {
        let error =
            BridgeError::not_found("function", "no function starts there").at("/selector/entry");
        let json = error.to_json();
        assert_eq!(json.as_object().map(serde_json::Map::len), Some(5));
        assert_eq!(json["target"], "/params/selector/entry");
        assert_eq!(json["details"]["resource"], "function");
    }
}
