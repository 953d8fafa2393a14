//! What a reading handler sees: the program at one instant and the session's facts.

use std::sync::Arc;

use engine::Session;
use program::{Address, AddressTextError, Function, Program, SpaceId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::bridge::Bridge;
use crate::context::{CallContext, Transport};
use crate::cursor::Query;
use crate::error::{BridgeError, ErrorCode};
use crate::method::Answer;
use crate::projection::Selection;

/// An unchangeable view, the same for the whole call.
pub(crate) struct View<'a> {
    /// The program as it was when the call began.
    pub program: Arc<Program>,
    /// The session's facts.
    pub bridge: &'a Bridge,
    /// What came with the call.
    pub cx: &'a CallContext,
    /// What cursors of this call are bound to.
    pub query: Query<'a>,
    /// The members that will be answered; all when absent.
    pub selection: Option<&'a Selection>,
}

impl View<'_> {
    /// The address in its one spelling.
    pub(crate) fn print(&self, address: Address) -> String {
        self.program.spaces.print(address).to_string()
    }

    /// The address that a text names; `pointer` says where the text stands.
    pub(crate) fn address(&self, text: &str, pointer: &str) -> Answer<Address> {
        refuse_decimal(&self.program, text, pointer)?;
        self.bound(text, pointer)
    }

    /// As [`View::address`], for the bounds of ranges, which need not lie in memory.
    pub(crate) fn bound(&self, text: &str, pointer: &str) -> Answer<Address> {
        let parsed = self.program.parse_address(text);
        parsed.map_err(|fault| address_error(&self.program, text, &fault).at(pointer))
    }

    /// As [`View::address`], for places of code (Thumb's odd addresses).
    pub(crate) fn code_address(&self, text: &str, pointer: &str) -> Answer<Address> {
        refuse_decimal(&self.program, text, pointer)?;
        let parsed = self.program.parse_code_address(text);
        parsed.map_err(|fault| address_error(&self.program, text, &fault).at(pointer))
    }

    /// The first and the last address of the space of other files' places.
    pub(crate) fn external_space(&self) -> (Address, Address) {
        let space = self.program.spaces.get(SpaceId::EXTERNAL);
        let last = space.map_or(u64::MAX, program::AddressSpace::max_offset);
        (Address::external(0), Address::external(last))
    }

    /// A place in brief: the name shown there, with the library of another file's.
    pub(crate) fn place(&self, address: Address) -> Place {
        let name = self.program.label_at(address).map(|name| {
            let symbol = self.program.symbols.primary_at(address).map(|(_, symbol)| symbol);
            let path = symbol.map(|symbol| self.program.symbols.path(symbol.parent));
            match path.filter(|path| address.space == SpaceId::EXTERNAL && !path.is_empty()) {
                Some(path) => format!("{}::{name}", path.join("::")),
                None => name,
            }
        });
        Place { address: self.print(address), name }
    }

    /// The function that starts where a text says.
    pub(crate) fn function(&self, text: &str, pointer: &str) -> Answer<&Arc<Function>> {
        function_at(&self.program, text, pointer)
    }

    /// True when a reply member was chosen by name, not only as one of all.
    pub(crate) fn selects(&self, member: &str) -> bool {
        self.selection.is_some_and(|selection| selection.wants(member))
    }

    /// True when the request itself says which members it wants.
    pub(crate) fn has_chosen(&self) -> bool {
        self.query.params.get("projection").is_some()
    }

    /// True when the answer goes to a model, which pays for every word.
    pub(crate) fn is_for_a_model(&self) -> bool {
        self.cx.transport == Transport::Mcp
    }

    /// True when a reply member, or something below it, will be answered.
    pub(crate) fn wants(&self, member: &str) -> bool {
        self.selection.is_none_or(|selection| selection.wants(member))
    }
}

/// A place in brief.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "place")]
pub(crate) struct Place {
    /// Its address.
    pub address: String,
    /// The name shown there; an import's with its library before it.
    pub name: Option<String>,
}

/// What a writing handler gets: a copy of the program that is published when it succeeds.
pub(crate) struct Edit<'a> {
    /// The copy to change.
    pub program: &'a mut Program,
    /// The open session, for its processor and decompiler.
    pub session: &'a Session,
}

impl Edit<'_> {
    /// The address in its one spelling.
    pub(crate) fn print(&self, address: Address) -> String {
        self.program.spaces.print(address).to_string()
    }

    /// The address that a text names; `pointer` says where the text stands.
    pub(crate) fn address(&self, text: &str, pointer: &str) -> Answer<Address> {
        refuse_decimal(self.program, text, pointer)?;
        let parsed = self.program.parse_address(text);
        parsed.map_err(|fault| address_error(self.program, text, &fault).at(pointer))
    }
}

/// Digits are always hexadecimal. Where that is no place in memory and the decimal reading is
/// one, the decimal number was meant.
fn refuse_decimal(program: &Program, text: &str, pointer: &str) -> Answer<()> {
    let Some(meant) = program.decimal_reading(text).filter(|_| program.parse_address(text).is_ok())
    else {
        return Ok(());
    };
    let digits = text.trim();
    let message = format!(
        "{digits} is read as hexadecimal digits, and nothing is there; if the decimal number is \
         meant, write {}, and if not, 0x{digits}",
        program.spaces.print(meant)
    );
    Err(BridgeError::new(ErrorCode::InvalidAddress, message).at(pointer))
}

/// The function that starts where a text says.
pub(crate) fn function_at<'p>(
    program: &'p Program,
    text: &str,
    pointer: &str,
) -> Answer<&'p Arc<Function>> {
    refuse_decimal(program, text, pointer)?;
    let entry = program
        .parse_code_address(text)
        .map_err(|fault| address_error(program, text, &fault).at(pointer))?;
    program.functions.at(entry).ok_or_else(|| {
        let message = no_function(program, text, entry);
        BridgeError::not_found("function", message).at(pointer)
    })
}

/// Why no function starts at a place, and what to do about it.
fn no_function(program: &Program, text: &str, entry: Address) -> String {
    let place = program.spaces.print(entry);
    let mut message = format!("no function starts at {place}");
    if let Some(inside) = program.functions.containing(entry) {
        let (name, start) =
            (program.function_name(inside.entry), program.spaces.print(inside.entry));
        message += &format!("; it lies inside {name}, which starts at {start}");
    } else if program.listing.instructions.contains_key(&entry) {
        message += ", though there is code; function.create with this entry makes one";
    } else if let Some((start, _)) = program.listing.instruction_containing(entry) {
        let start = program.spaces.print(start);
        message += &format!("; it lies inside the instruction at {start}");
    } else if let Some((start, _)) = program.listing.data_containing(entry) {
        message += &format!("; data is defined at {}", program.spaces.print(start));
    } else if program.memory.block_at(entry).is_some_and(|block| block.permissions.execute) {
        message += "; if code begins there, function.create with this entry makes one";
    } else if program.memory.block_at(entry).is_none() {
        message += ", and no memory is there";
    }
    if let Some(other) = program.namesake(text) {
        let other = program.spaces.print(other);
        message += &format!("; the symbol called {} is at {other}", text.trim());
    }
    message
}

/// Why a text is no address, as the error to answer.
pub(crate) fn address_error(
    program: &Program,
    text: &str,
    fault: &AddressTextError,
) -> BridgeError {
    let shown: String = text.trim().chars().take(64).collect();
    let message = match fault {
        AddressTextError::Blank => {
            "the address is blank; give hex digits, space:hex or a symbol's name".to_owned()
        }
        AddressTextError::Unknown => format!(
            "{shown} is no hex address, no unique symbol and no memory block; \
             write addresses as hex digits or space:hex"
        ),
        AddressTextError::Ambiguous(places) => {
            let places: Vec<String> =
                places.iter().map(|place| program.spaces.print(*place).to_string()).collect();
            format!("several places are called {shown}: {}; give one of them", places.join(", "))
        }
        AddressTextError::OutOfSpace { space, max } => {
            format!("{shown} lies outside of the space {space}, which ends at {max:x}")
        }
    };
    let error = BridgeError::new(ErrorCode::InvalidAddress, message);
    match fault {
        AddressTextError::Ambiguous(places) => {
            let places: Vec<String> =
                places.iter().map(|place| program.spaces.print(*place).to_string()).collect();
            error.with("candidates", places)
        }
        _ => error,
    }
}
