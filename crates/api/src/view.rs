//! What a reading handler sees: the program at one instant and the session's facts.

use std::sync::Arc;

use engine::Session;
use program::{Address, AddressTextError, Function, Program};

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
        let parsed = self.program.parse_address(text);
        parsed.map_err(|fault| address_error(&self.program, text, &fault).at(pointer))
    }

    /// As [`View::address`], for places of code (Thumb's odd addresses).
    pub(crate) fn code_address(&self, text: &str, pointer: &str) -> Answer<Address> {
        let parsed = self.program.parse_code_address(text);
        parsed.map_err(|fault| address_error(&self.program, text, &fault).at(pointer))
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
        let parsed = self.program.parse_address(text);
        parsed.map_err(|fault| address_error(self.program, text, &fault).at(pointer))
    }
}

/// The function that starts where a text says.
pub(crate) fn function_at<'p>(
    program: &'p Program,
    text: &str,
    pointer: &str,
) -> Answer<&'p Arc<Function>> {
    let entry = program
        .parse_code_address(text)
        .map_err(|fault| address_error(program, text, &fault).at(pointer))?;
    program.functions.at(entry).ok_or_else(|| {
        let place = program.spaces.print(entry);
        let message = match program.functions.containing(entry) {
            Some(inside) => format!(
                "no function starts at {place}; it lies inside {}, which starts at {}",
                program.function_name(inside.entry),
                program.spaces.print(inside.entry),
            ),
            None => format!("no function starts at {place}"),
        };
        BridgeError::not_found("function", message).at(pointer)
    })
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
