//! Code units of every kind, and defined data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::Method;
use crate::methods::data_type::reference::DataTypeReference;
use crate::shapes::{ByteSequence, Reply, Scan, ScanPage};

pub(crate) fn methods() -> Vec<Method> {
    vec![
        Method::pending_read::<Scan<CodeUnitFilter>, ScanPage<CodeUnit>>(
            "code_unit.list",
            "Walk instructions, data and undefined bytes in address order.",
        )
        .cost("Grows with the units walked over."),
        Method::pending_read::<Scan<DataUnitFilter>, ScanPage<DataUnit>>(
            "data_unit.list",
            "Walk defined data in address order.",
        )
        .cost("Grows with the data items walked over, matching or not."),
    ]
}

/// Which code units to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct CodeUnitFilter {
    /// All units, instructions only, or defined data only.
    kind: Option<UnitKind>,
}

/// Kinds of code units one may ask for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum UnitKind {
    #[default]
    All,
    Data,
    Instruction,
}

/// One code unit.
#[derive(Debug, Serialize, JsonSchema)]
struct CodeUnit {
    /// Where it starts.
    address: String,
    /// `instruction`, `data` or `undefined`.
    kind: &'static str,
    /// Its length in bytes.
    length: u64,
    /// Its bytes; absent where memory holds none.
    bytes: Option<ByteSequence>,
    /// As it is shown in a listing.
    text: String,
    /// The instruction's name.
    mnemonic: Option<String>,
    /// The instruction's operands as text.
    operands: Option<Vec<String>>,
    /// The data's type.
    data_type: Option<DataTypeReference>,
}

impl Reply for CodeUnit {
    const IDENTITY: &'static [&'static str] = &["address"];
}

/// Which data to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct DataUnitFilter {
    /// Only data of this type, by name or path.
    #[schemars(length(min = 1))]
    data_type: Option<String>,
    /// True for strings only, false for everything else.
    string: Option<bool>,
}

/// One defined data item.
#[derive(Debug, Serialize, JsonSchema)]
struct DataUnit {
    /// Where it starts.
    address: String,
    /// Its length in bytes.
    length: u64,
    /// Its type.
    data_type: DataTypeReference,
    /// Its value as text; the content of a string.
    value: String,
    /// Its value as a listing shows it.
    representation: String,
    /// Its bytes; absent where memory holds none.
    bytes: Option<ByteSequence>,
}

impl Reply for DataUnit {
    const IDENTITY: &'static [&'static str] = &["address"];
}
