//! Archives: follows a path of members, archive in archive, within bounds.

mod ar;
mod zip;

use crate::{Format, LoadError, LoadOptions, load};
use program::Program;
use std::sync::Arc;

/// Most members whose names a message lists.
const LISTED: usize = 20;

/// Most archives inside each other.
const DEPTH: usize = 8;

/// Most bytes that all members on the way expand to.
const EXPANDED: u64 = 1 << 30;

/// Most bytes that one compressed byte may stand for in a member above [`SMALL`] bytes.
const RATIO: u64 = 200;

/// Members up to this size may be as dense as they like.
const SMALL: u64 = 16 << 20;

/// One archive, opened: its members' names, in their order.
trait Members {
    /// The names of the members that hold bytes.
    fn names(&self) -> &[String];

    /// The bytes of one member, of which there may be `left` at most.
    fn read(&mut self, index: usize, left: u64) -> Result<Arc<[u8]>, LoadError>;
}

fn open(format: Format, bytes: &Arc<[u8]>) -> Result<Box<dyn Members>, LoadError> {
    let archive: Box<dyn Members> = match format {
        Format::Zip => Box::new(zip::Zip::open(Arc::clone(bytes))?),
        _ => Box::new(ar::Ar::open(Arc::clone(bytes))?),
    };
    if archive.names().is_empty() {
        let what = "it has no members".into();
        return Err(LoadError::Malformed { format: format.archive_name(), what });
    }
    Ok(archive)
}

/// Loads one member of an archive: the one that the options name, or the only one there is.
/// `!` leads from an archive into one of its members that is an archive too.
pub(crate) fn load_member(
    path: &str,
    bytes: &Arc<[u8]>,
    options: &LoadOptions,
    format: Format,
) -> Result<Program, LoadError> {
    let mut inner = options.clone();
    inner.format = Format::Auto;
    let (mut format, mut bytes, mut left) = (format, Arc::clone(bytes), EXPANDED);
    let mut notes = Vec::new();
    for _ in 0..DEPTH {
        let mut archive = open(format, &bytes)?;
        let (index, rest) = choose(archive.names(), inner.member.as_deref())?;
        let name = archive.names().get(index).cloned().unwrap_or_default();
        notes.push(format!("this is the member {name} of an archive of {}", archive.names().len()));
        bytes = archive.read(index, left)?;
        left = left.saturating_sub(bytes.len() as u64);
        inner.member = rest;
        match Format::by_magic(&bytes) {
            Some(found) if found.is_archive() => format = found,
            _ => {
                let name = name.rsplit('/').next().unwrap_or(&name);
                let mut program = load(name, path, bytes, &inner)?;
                notes.into_iter().rev().for_each(|note| program.warn(note));
                return Ok(program);
            }
        }
    }
    Err(LoadError::NestedTooDeep { limit: DEPTH })
}

/// Which member is meant, and what of the path leads on into it.
fn choose(names: &[String], wanted: Option<&str>) -> Result<(usize, Option<String>), LoadError> {
    let Some(wanted) = wanted else {
        return match names {
            [_] => Ok((0, None)),
            _ => Err(LoadError::MemberNeeded { count: names.len(), members: list(names) }),
        };
    };
    let position = |name: &str| names.iter().position(|known| known == name);
    if let Some(index) = position(wanted) {
        return Ok((index, None));
    }
    // The longest name first: names may hold the mark themselves.
    for (at, _) in wanted.rmatch_indices('!') {
        let (name, rest) = wanted.split_at(at);
        if let Some(index) = position(name) {
            return Ok((index, rest.get(1..).map(str::to_owned)));
        }
    }
    Err(LoadError::NoSuchMember { wanted: wanted.to_owned(), members: list(names) })
}

fn list(names: &[String]) -> String {
    let mut shown: Vec<&str> = names.iter().take(LISTED).map(String::as_str).collect();
    if names.len() > LISTED {
        shown.push("...");
    }
    shown.join(", ")
}
