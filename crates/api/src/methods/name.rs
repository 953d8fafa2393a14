//! Names: matching parts of them, and which ones a user may give.

use program::{Address, Program};

use crate::error::{BridgeError, ErrorCode};
use crate::method::Answer;

/// Longest name, in characters.
const MAX_NAME: usize = 2000;

/// A part of a name that is looked for.
pub(super) struct Part<'a> {
    wanted: std::borrow::Cow<'a, str>,
    case_sensitive: bool,
}

impl Part<'_> {
    /// An absent or blank part is in every name.
    pub(super) fn new(wanted: Option<&str>, case_sensitive: bool) -> Part<'_> {
        Part::exact(wanted.map(str::trim), case_sensitive)
    }

    /// A part whose blanks count.
    pub(super) fn exact(wanted: Option<&str>, case_sensitive: bool) -> Part<'_> {
        let wanted = wanted.unwrap_or_default();
        let wanted = if case_sensitive { wanted.into() } else { wanted.to_lowercase().into() };
        Part { wanted, case_sensitive }
    }

    /// True when nothing in particular is looked for.
    pub(super) fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// True when the part is in the name.
    pub(super) fn is_in(&self, name: &str) -> bool {
        if self.case_sensitive || self.is_empty() {
            name.contains(&*self.wanted)
        } else {
            name.to_lowercase().contains(&*self.wanted)
        }
    }
}

/// A name that a user gives: printable, without blanks, of bearable length.
pub(super) fn checked<'a>(name: &'a str, pointer: &str) -> Answer<&'a str> {
    let length = name.chars().count();
    let printable = |c: char| !c.is_whitespace() && !c.is_control();
    let message = if length == 0 || length > MAX_NAME {
        format!("a name has 1 to {MAX_NAME} characters, not {length}")
    } else if !name.chars().all(printable) {
        "a name has no blanks and no control characters".to_owned()
    } else {
        return Ok(name);
    };
    Err(BridgeError::new(ErrorCode::InvalidRequest, message).at(pointer))
}

/// A name that a user gives to a place. Default names are refused for any place but their own:
/// clients use them as handles, and they always mean the address they carry.
pub(super) fn of_place<'a>(
    program: &Program,
    name: &'a str,
    at: Address,
    pointer: &str,
) -> Answer<&'a str> {
    let name = checked(name, pointer)?;
    match program.address_in_default_name(name).filter(|meant| *meant != at) {
        None => Ok(name),
        Some(meant) => {
            let message = format!(
                "{name} is the default name of {}, which it always means, so nothing else can be \
                 called so; choose another name",
                program.spaces.print(meant)
            );
            Err(BridgeError::new(ErrorCode::InvalidRequest, message).at(pointer))
        }
    }
}

/// A data type's name: printable and of bearable length; blanks inside are fine.
pub(super) fn checked_type<'a>(name: &'a str, pointer: &str) -> Answer<&'a str> {
    let length = name.chars().count();
    let message = if length > MAX_NAME {
        format!("a name has 1 to {MAX_NAME} characters, not {length}")
    } else if name.trim().is_empty() {
        "the name is blank; give one".to_owned()
    } else if name.trim() != name || name.chars().any(char::is_control) {
        "a type's name has no blanks around it and no control characters".to_owned()
    } else {
        return Ok(name);
    };
    Err(BridgeError::new(ErrorCode::InvalidRequest, message).at(pointer))
}
