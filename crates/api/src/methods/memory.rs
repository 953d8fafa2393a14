//! Memory blocks and bytes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use program::{Address, AddressRange, BlockKind, BytePattern, MemoryError, SearchStep};

use crate::bytes;
use crate::error::{BridgeError, ErrorCode};
use crate::method::{Answer, Method};
use crate::shapes::{
    AddressSelector, ByteSequence, Encoding, Get, List, NameSelector, Page, Patch, Projection,
    Reply, Request, ScanOf, ScanPage,
};
use crate::view::{Edit, View};
use crate::walk::{OpenEnd, Walk, paginate, position};

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::read("memory_block.get", "Describe one memory block by its name.", block_get),
        Method::read(
            "memory_block.list",
            "List memory blocks by name.", block_list
        )
        .brief(&["start", "end", "read", "write", "execute"]),
        Method::read("memory.read", "Read bytes from one address.", read)
            .cost("Grows with `length`."),
        Method::read(
            "memory.search",
            "Find a byte pattern or a text in initialised memory, in address order.", search
        )
        .cost("Grows with the bytes walked over, not with the matches; a range or a block makes it small.")
        .brief(&["text", "around"]),
        Method::write(
            "memory.write",
            "Overwrite bytes from one address on.", write
        )
        .destructive()
        .idempotent(),
    ]
}

/// Most bytes of a match that are answered.
const MATCH_BYTES: usize = 64;
/// Bytes shown before and behind a match of bytes.
const AROUND: u64 = 16;
/// Characters shown before and behind a match of a text.
const TEXT_AROUND: usize = 200;
const DEFAULT_LENGTH: u32 = 256;
/// Longest byte pattern.
const MAX_PATTERN: usize = 1024;

fn block_get(view: &View<'_>, request: Get<NameSelector>) -> Answer<MemoryBlock> {
    let name = &request.selector.name;
    let found = view.program.memory.block_named(name).ok_or_else(|| no_block(view, name))?;
    Ok(MemoryBlock::of(view, found))
}

fn no_block(view: &View<'_>, name: &str) -> BridgeError {
    let blocks = view.program.memory.blocks().iter().map(|block| &*block.name);
    let hint = match crate::schema::check::nearest(name, blocks) {
        Some(near) => format!("did you mean {near}?"),
        None => "memory_block.list names them".to_owned(),
    };
    let shown: String = name.chars().take(64).collect();
    BridgeError::not_found("memory_block", format!("no memory block is called {shown}; {hint}"))
        .at("/selector/name")
}

fn block_list(view: &View<'_>, request: List<MemoryBlockFilter>) -> Answer<Page<MemoryBlock>> {
    let filter = request.filter.unwrap_or_default();
    let blocks = view.program.memory.blocks().iter().filter(|block| filter.accepts(block));
    let key = |block: &program::MemoryBlock| (block.name.to_string(), position(block.start, 0));
    let rows = blocks.map(|block| (key(block), block)).collect();
    paginate(view, request.page.as_ref(), rows, |block| MemoryBlock::of(view, block))
}

fn read(view: &View<'_>, request: ReadRequest) -> Answer<Memory> {
    let address = view.address(&request.selector.address, "/selector/address")?;
    let length = request.length.unwrap_or(DEFAULT_LENGTH);
    let mut data = vec![0; length as usize];
    let memory = &view.program.memory;
    let done = memory.read(address, &mut data).map_err(|fault| unreadable(view, fault))?;
    if done < data.len() {
        let message = format!(
            "only {done} of {length} bytes can be read from {}; ask for at most {done}",
            view.print(address)
        );
        return Err(BridgeError::new(ErrorCode::InvalidRequest, message)
            .at("/length")
            .with("readable", done));
    }
    let bytes = bytes::encode(&data, request.encoding.unwrap_or_default());
    Ok(Memory { address: view.print(address), bytes })
}

fn unreadable(view: &View<'_>, fault: MemoryError) -> BridgeError {
    let message = match fault {
        MemoryError::Unmapped(at) => format!(
            "there is no memory at {}; memory_block.list shows where there is",
            view.print(at)
        ),
        MemoryError::Uninitialized(at) => {
            format!("the memory at {} has no bytes until the program runs", view.print(at))
        }
    };
    BridgeError::new(ErrorCode::InvalidRequest, message).at("/selector/address")
}

fn search(view: &View<'_>, request: ScanOf<SearchFilter>) -> Answer<ScanPage<Match>> {
    let filter = &request.filter;
    let pattern = filter.pattern()?;
    if let Some(name) = &filter.memory_block
        && view.program.memory.block_named(name).is_none()
    {
        return Err(no_block(view, name).at("/filter/memory_block"));
    }
    let walk = Walk::new(view, request.page.as_ref(), request.scan.as_ref(), OpenEnd::Never)?;
    let range = walk.next_address().map(|start| AddressRange { start, end: walk.last() });
    let accept = |block: &program::MemoryBlock| filter.accepts(block);
    let alignment = u64::from(filter.alignment.unwrap_or(1));
    let steps = range.map(|range| view.program.memory.search(&pattern, range, alignment, accept));
    let candidates = steps.into_iter().flatten().map(|step| (position(step.address(), 0), step));
    walk.run(view, candidates, |step| match step {
        SearchStep::Match(address) => Match::of(view, filter, address, pattern.length()).map(Some),
        SearchStep::Walked(_) => Ok(None),
    })
}

fn write(edit: &mut Edit<'_>, request: Patch<AddressSelector, MemoryPatch>) -> Answer<Written> {
    let address = edit.address(&request.selector.address, "/selector/address")?;
    let data = bytes::decode(&request.patch.bytes, "/patch/bytes")?;
    let Some(range) = AddressRange::with_length(address, data.len() as u64) else {
        let message = "there are no bytes to write; give at least one";
        return Err(BridgeError::new(ErrorCode::InvalidValue, message).at("/patch/bytes/length"));
    };
    if let Some(at) = first_instruction(edit, range) {
        let message = format!(
            "the instruction at {} would be overwritten; only data and free bytes can be",
            edit.print(at)
        );
        return Err(BridgeError::new(ErrorCode::InvalidRequest, message).at("/selector/address"));
    }
    edit.program.memory.write(address, &data).map_err(|fault| {
        let message = match fault {
            MemoryError::Unmapped(at) => format!("there is no memory at {}", edit.print(at)),
            MemoryError::Uninitialized(at) => {
                format!("the memory at {} holds no bytes to overwrite", edit.print(at))
            }
        };
        BridgeError::new(ErrorCode::InvalidRequest, message).at("/selector/address")
    })?;
    Ok(Written { start: edit.print(address), length: data.len() as u32 })
}

fn first_instruction(edit: &Edit<'_>, range: AddressRange) -> Option<Address> {
    let listing = &edit.program.listing;
    let over = listing.instruction_containing(range.start).map(|(start, _)| start);
    let inside = || listing.instructions.range(range.start..=range.end).next().map(|(a, _)| *a);
    over.or_else(inside)
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

impl MemoryBlock {
    fn of(view: &View<'_>, block: &program::MemoryBlock) -> MemoryBlock {
        MemoryBlock {
            name: block.name.to_string(),
            start: view.print(block.start),
            end: view.print(block.end()),
            length: block.length,
            read: block.permissions.read,
            write: block.permissions.write,
            execute: block.permissions.execute,
            initialized: block.is_initialized(),
            volatile: block.permissions.volatile,
            overlay: block.is_overlay(),
            kind: match block.kind {
                BlockKind::Default => "default",
                BlockKind::BitMapped => "bit_mapped",
                BlockKind::ByteMapped => "byte_mapped",
            },
            comment: (!block.comment.is_empty()).then(|| block.comment.to_string()),
        }
    }
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

impl MemoryBlockFilter {
    fn accepts(&self, block: &program::MemoryBlock) -> bool {
        let name = self.name.as_deref().unwrap_or_default().trim().to_lowercase();
        let permissions = block.permissions;
        block.name.to_lowercase().contains(&name)
            && self.read.is_none_or(|read| read == permissions.read)
            && self.write.is_none_or(|write| write == permissions.write)
            && self.execute.is_none_or(|execute| execute == permissions.execute)
    }
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

impl SearchFilter {
    fn pattern(&self) -> Answer<BytePattern> {
        let refuse =
            |code, message: &str, pointer| Err(BridgeError::new(code, message).at(pointer));
        match (&self.bytes, &self.text) {
            (None, None) => {
                refuse(ErrorCode::MissingField, "give bytes or text to find", "/filter/bytes")
            }
            (Some(_), Some(_)) => {
                refuse(ErrorCode::InvalidUnion, "give either bytes or text, not both", "/filter")
            }
            (Some(_), None) if self.encoding.is_some() || self.case_sensitive.is_some() => {
                let pointer = if self.encoding.is_some() {
                    "/filter/encoding"
                } else {
                    "/filter/case_sensitive"
                };
                refuse(ErrorCode::InvalidUnion, "this goes with text, not with bytes", pointer)
            }
            (None, Some(_)) if self.mask.is_some() => refuse(
                ErrorCode::InvalidUnion,
                "a mask goes with bytes, not with text",
                "/filter/mask",
            ),
            (Some(bytes), None) => self.byte_pattern(bytes),
            (None, Some(text)) => {
                let encoding = self.encoding.unwrap_or_default().into();
                let pattern =
                    BytePattern::of_text(text, encoding, self.case_sensitive.unwrap_or(true));
                pattern.ok_or_else(|| {
                    BridgeError::new(ErrorCode::InvalidValue, "the text is empty")
                        .at("/filter/text")
                })
            }
        }
    }

    fn byte_pattern(&self, wanted: &ByteSequence) -> Answer<BytePattern> {
        let wanted = bytes::decode(wanted, "/filter/bytes")?;
        if wanted.is_empty() || wanted.len() > MAX_PATTERN {
            let message = format!("a pattern has 1 to {MAX_PATTERN} bytes, not {}", wanted.len());
            return Err(
                BridgeError::new(ErrorCode::InvalidValue, message).at("/filter/bytes/length")
            );
        }
        let mask =
            self.mask.as_ref().map(|mask| bytes::decode(mask, "/filter/mask")).transpose()?;
        BytePattern::new(wanted, mask).ok_or_else(|| {
            let message = "the mask must have as many bytes as the pattern";
            BridgeError::new(ErrorCode::LengthMismatch, message).at("/filter/mask/length")
        })
    }

    fn accepts(&self, block: &program::MemoryBlock) -> bool {
        self.memory_block.as_deref().is_none_or(|name| name == &*block.name)
            && self.executable.is_none_or(|executable| executable == block.permissions.execute)
    }
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

impl From<TextEncoding> for program::TextEncoding {
    fn from(encoding: TextEncoding) -> Self {
        match encoding {
            TextEncoding::Utf8 => program::TextEncoding::Utf8,
            TextEncoding::Utf16Le => program::TextEncoding::Utf16Le,
            TextEncoding::Utf16Be => program::TextEncoding::Utf16Be,
        }
    }
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
    /// The whole text around a searched text: up to 200 characters before and behind it, as far
    /// as they can be shown.
    text: Option<String>,
    /// The bytes around searched bytes: up to 16 before and 16 behind.
    around: Option<Surroundings>,
}

/// Bytes around a match.
#[derive(Debug, Serialize, JsonSchema)]
struct Surroundings {
    /// Where they start.
    address: String,
    /// The bytes, the match among them.
    bytes: ByteSequence,
}

impl Surroundings {
    fn of(view: &View<'_>, address: Address, length: usize) -> Option<Surroundings> {
        let memory = &view.program.memory;
        let before = memory.readable_before(address, AROUND);
        let start = address.checked_sub(before)?;
        let mut data = vec![0; before as usize + length.min(MATCH_BYTES) + AROUND as usize];
        let read = memory.read(start, &mut data).ok()?;
        let bytes = bytes::encode(&data[..read], Encoding::Hex);
        Some(Surroundings { address: view.print(start), bytes })
    }
}

impl Match {
    fn of(
        view: &View<'_>,
        filter: &SearchFilter,
        address: Address,
        length: usize,
    ) -> Answer<Match> {
        let memory = &view.program.memory;
        let mut data = vec![0; length.min(MATCH_BYTES)];
        let read = memory.read(address, &mut data).unwrap_or(0);
        let block = memory.block_at(address).map(|block| block.name.to_string());
        Ok(Match {
            address: view.print(address),
            length: length as u64,
            bytes: bytes::encode(&data[..read], Encoding::Hex),
            memory_block: block.unwrap_or_default(),
            text: (filter.text.is_some() && view.wants("text")).then(|| {
                let encoding = filter.encoding.unwrap_or_default().into();
                memory.text_around(address, length, encoding, TEXT_AROUND)
            }),
            around: (filter.text.is_none() && view.wants("around"))
                .then(|| Surroundings::of(view, address, length))
                .flatten(),
        })
    }
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
