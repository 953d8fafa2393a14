//! Numbers in all their forms.

use engine::{Number, NumberError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{BridgeError, ErrorCode};
use crate::method::{Answer, Method};
use crate::shapes::{Reply, Request};
use crate::view::View;

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::read(
            "number.convert",
            "Show a number as hex, decimal, signed, float, characters and bytes of either order.",
            convert,
        )
        .since("1.1"),
    ]
}

fn convert(_view: &View<'_>, request: ConvertRequest) -> Answer<Conversion> {
    let number = Number::parse(&request.value, request.size).map_err(refusal)?;
    let swapped = number.swapped();
    Ok(Conversion {
        hex: number.hex(),
        size: number.size().into(),
        unsigned: number.unsigned(),
        signed: number.signed(),
        float: number.float(),
        binary: number.binary(),
        big_endian: Bytes::of(&number.bytes()),
        little_endian: Bytes::of(&swapped.bytes()),
        swapped: Swapped {
            hex: swapped.hex(),
            unsigned: swapped.unsigned(),
            signed: swapped.signed(),
            float: swapped.float(),
        },
    })
}

fn refusal(error: NumberError) -> BridgeError {
    let target = match error {
        NumberError::Malformed | NumberError::TooWide { size: engine::MAX_NUMBER_SIZE, .. } => {
            "/value"
        }
        NumberError::TooWide { .. } | NumberError::FloatSize => "/size",
    };
    BridgeError::new(ErrorCode::InvalidValue, error.to_string()).at(target)
}

/// A number to show.
#[derive(Debug, Deserialize, JsonSchema)]
struct ConvertRequest {
    /// As people write it: `255`, `-1`, `0xff`, `0b101`, `0o17`, `0ffh`, `1.5`, or up to 16
    /// characters in quotes.
    #[schemars(length(min = 1, max = 200))]
    value: String,
    /// Its width in bytes; when absent the smallest of 1, 2, 4, 8 and 16 that holds it, and 8 for
    /// a float.
    #[schemars(range(min = 1, max = 16))]
    size: Option<u8>,
}

impl Request for ConvertRequest {}

/// A number in all its forms.
#[derive(Debug, Serialize, JsonSchema)]
struct Conversion {
    /// All digits of its width.
    hex: String,
    /// Its width in bytes.
    #[schemars(range(min = 1, max = 16))]
    size: u32,
    /// Decimal, without a sign.
    unsigned: String,
    /// Decimal, in two's complement.
    signed: String,
    /// As an IEEE float, for 4 and 8 bytes.
    float: Option<String>,
    /// All bits of its width.
    binary: String,
    /// The bytes, the most significant first.
    big_endian: Bytes,
    /// The bytes, the least significant first.
    little_endian: Bytes,
    /// The number that these bytes are when they are read in the other order.
    swapped: Swapped,
}

impl Reply for Conversion {
    const IDENTITY: &'static [&'static str] = &[];
}

/// Bytes in one order.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "number_bytes")]
struct Bytes {
    /// Hex digits, two for each byte.
    bytes: String,
    /// As characters; a dot for each that is not printable ASCII.
    characters: String,
}

impl Bytes {
    fn of(bytes: &[u8]) -> Bytes {
        let shown = |byte: &u8| match byte {
            b' '..=b'~' => char::from(*byte),
            _ => '.',
        };
        Bytes {
            bytes: bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            characters: bytes.iter().map(shown).collect(),
        }
    }
}

/// The number of the other order.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "swapped_number")]
struct Swapped {
    /// All digits of its width.
    hex: String,
    /// Decimal, without a sign.
    unsigned: String,
    /// Decimal, in two's complement.
    signed: String,
    /// As an IEEE float, for 4 and 8 bytes.
    float: Option<String>,
}
