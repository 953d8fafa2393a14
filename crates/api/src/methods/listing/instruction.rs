//! Instructions.

use schemars::JsonSchema;
use serde::Serialize;

use crate::method::Method;
use crate::shapes::{AddressSelector, ByteSequence, Get, NoFilter, Reply, Scan, ScanPage};

pub(crate) fn methods() -> Vec<Method> {
    vec![
        Method::pending_read::<Get<AddressSelector>, Instruction>(
            "instruction.get",
            "Describe the instruction that starts at one address.",
        ),
        Method::pending_read::<Scan<NoFilter>, ScanPage<Instruction>>(
            "instruction.list",
            "Walk instructions in address order.",
        )
        .cost("Grows with the instructions walked over; each is decoded again for its text."),
    ]
}

/// One instruction.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Instruction {
    /// Where it starts.
    pub address: String,
    /// Its length in bytes.
    pub length: u64,
    /// Its bytes.
    pub bytes: Option<ByteSequence>,
    /// Its name.
    pub mnemonic: String,
    /// Its operands as text.
    pub operands: Vec<String>,
    /// The correction laid over its flow.
    #[schemars(with = "String")]
    pub flow_override: &'static str,
    /// How control leaves it, as decoded.
    pub default_flow_type: &'static str,
    /// How control leaves it, with the correction.
    pub flow_type: &'static str,
    /// Where control goes on behind it, if it does.
    pub fall_through: Option<String>,
}

impl Reply for Instruction {
    const IDENTITY: &'static [&'static str] = &["address"];
}
