//! Memory blocks and bytes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::Method;
use crate::shapes::{
    AddressSelector, ByteSequence, Encoding, Get, List, NameSelector, Page, Patch, Projection,
    Reply, Request, ScanOf, ScanPage,
};

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::pending_read::<Get<NameSelector>, MemoryBlock>("memory_block.get", "Describe one memory block by its name."),
        Method::pending_read::<List<MemoryBlockFilter>, Page<MemoryBlock>>(
            "memory_block.list",
            "List memory blocks by name.",
        ),
        Method::pending_read::<ReadRequest, Memory>("memory.read", "Read bytes from one address.")
            .cost("Grows with `length`."),
        Method::pending_read::<ScanOf<SearchFilter>, ScanPage<Match>>(
            "memory.search",
            "Find a byte pattern or a text in initialised memory, in address order.",
        )
        .cost("Grows with the bytes walked over, not with the matches; a range or a block makes it small."),
        Method::pending_write::<Patch<AddressSelector, MemoryPatch>, Written>(
            "memory.write",
            "Overwrite bytes from one address on.",
        )
        .destructive()
        .idempotent(),
    ]
}

/// One memory block.
#[derive(Debug, Serialize, JsonSchema)]
struct MemoryBlock {
    /// Its name.
    name: String,
    /// Its first address.
    start: String,
    /// Its last address.
    end: String,
    /// Its length in bytes.
    length: u64,
    /// Readable.
    read: bool,
    /// Writable.
    write: bool,
    /// Executable.
    execute: bool,
    /// True when its bytes are known.
    initialized: bool,
    /// True when its content changes by itself.
    volatile: bool,
    /// True when it lies over other memory.
    overlay: bool,
    /// How its bytes are held: `default` for plain bytes.
    kind: &'static str,
    /// Where it comes from.
    comment: Option<String>,
}

impl Reply for MemoryBlock {
    const IDENTITY: &'static [&'static str] = &["name"];
}

/// Which blocks to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct MemoryBlockFilter {
    /// Part of the name, in any case.
    name: Option<String>,
    /// Readable or not.
    read: Option<bool>,
    /// Writable or not.
    write: Option<bool>,
    /// Executable or not.
    execute: Option<bool>,
}

/// Which bytes to read.
#[derive(Debug, Deserialize, JsonSchema)]
struct ReadRequest {
    /// Where to start.
    selector: AddressSelector,
    /// How many bytes; 256 when absent.
    #[schemars(range(min = 1, max = 65536))]
    length: Option<u32>,
    /// How to write the bytes; hex when absent.
    encoding: Option<Encoding>,
    /// Which members to answer; all when absent.
    #[allow(dead_code)] // read from the JSON before decoding
    projection: Option<Projection>,
}

impl Request for ReadRequest {}

/// Bytes at an address.
#[derive(Debug, Serialize, JsonSchema)]
struct Memory {
    /// Where the bytes start.
    address: String,
    /// The bytes.
    bytes: ByteSequence,
}

impl Reply for Memory {
    const IDENTITY: &'static [&'static str] = &["address"];
    const NESTED: &'static [&'static str] = &["bytes.data", "bytes.encoding", "bytes.length"];
}

/// What to search for: `bytes` (with an optional `mask`) or `text`.
#[derive(Debug, Deserialize, JsonSchema)]
struct SearchFilter {
    /// The bytes to find, 1 to 1024 of them.
    bytes: Option<ByteSequence>,
    /// Which bits of `bytes` count; of the same length.
    mask: Option<ByteSequence>,
    /// The text to find.
    #[schemars(length(min = 1, max = 1024))]
    text: Option<String>,
    /// How the text is stored; `utf8` when absent.
    encoding: Option<TextEncoding>,
    /// False to let ASCII letters match in any case; true when absent.
    case_sensitive: Option<bool>,
    /// Only in the block of this name.
    memory_block: Option<String>,
    /// Only at multiples of this; 1 when absent.
    #[schemars(range(min = 1, max = 65536))]
    alignment: Option<u32>,
    /// Only in executable blocks, or only in the others.
    executable: Option<bool>,
}

/// How text is stored in memory.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TextEncoding {
    #[default]
    Utf8,
    #[serde(rename = "utf16be")]
    Utf16Be,
    #[serde(rename = "utf16le")]
    Utf16Le,
}

/// One place where the pattern was found.
#[derive(Debug, Serialize, JsonSchema)]
struct Match {
    /// Where it starts.
    address: String,
    /// How long it is in bytes.
    length: u64,
    /// Its first 64 bytes, as they are in memory.
    bytes: ByteSequence,
    /// The block that holds it.
    memory_block: String,
}

impl Reply for Match {
    const IDENTITY: &'static [&'static str] = &["address"];
}

/// Bytes to write.
#[derive(Debug, Deserialize, JsonSchema)]
struct MemoryPatch {
    /// The bytes.
    bytes: ByteSequence,
}

/// What was written.
#[derive(Debug, Serialize, JsonSchema)]
struct Written {
    /// Where the bytes start.
    #[schemars(length(min = 1))]
    start: String,
    /// How many bytes were written.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    length: u32,
}

impl Reply for Written {
    const IDENTITY: &'static [&'static str] = &[];
}
