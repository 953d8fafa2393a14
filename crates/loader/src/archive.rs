//! `ar` archives: lists members and opens one of them.

use crate::{LoadError, LoadOptions, load};
use object::read::archive::ArchiveFile;
use program::Program;
use std::sync::Arc;

/// Most members whose names a message lists.
const LISTED: usize = 20;

/// Loads one member of an archive: the one that the options name, or the only
/// one there is.
pub(crate) fn load_member(
    path: &str,
    bytes: &Arc<[u8]>,
    options: &LoadOptions,
) -> Result<Program, LoadError> {
    let members = members(bytes)?;
    let chosen = match &options.member {
        Some(wanted) => members.iter().find(|(name, _)| name == wanted),
        None if members.len() == 1 => members.first(),
        None => {
            return Err(LoadError::MemberNeeded { count: members.len(), members: list(&members) });
        }
    };
    let Some((name, data)) = chosen else {
        let wanted = options.member.clone().unwrap_or_default();
        return Err(LoadError::NoSuchMember { wanted, members: list(&members) });
    };
    if data.starts_with(b"!<arch>\n") {
        let what = format!("its member {name} is an archive too");
        return Err(LoadError::Malformed { format: "ar", what });
    }
    let mut inner = options.clone();
    inner.member = None;
    inner.format = crate::Format::Auto;
    let mut program = load(name, path, Arc::from(*data), &inner)?;
    program.warn(format!("this is the member {name} of an archive of {}", members.len()));
    Ok(program)
}

fn list(members: &[(String, &[u8])]) -> String {
    let mut names: Vec<&str> = members.iter().take(LISTED).map(|(n, _)| n.as_str()).collect();
    if members.len() > LISTED {
        names.push("...");
    }
    names.join(", ")
}

/// Names and bytes of the members that the file holds itself.
fn members(bytes: &[u8]) -> Result<Vec<(String, &[u8])>, LoadError> {
    let malformed = |what: String| LoadError::Malformed { format: "ar", what };
    let archive = ArchiveFile::parse(bytes).map_err(|e| malformed(e.to_string()))?;
    if archive.is_thin() {
        return Err(malformed("it is thin: its members are other files; open one of those".into()));
    }
    let mut all = Vec::new();
    for member in archive.members() {
        // A broken header ends the list; what came before is still good.
        let Ok(member) = member else { break };
        if let Ok(data) = member.data(bytes) {
            all.push((String::from_utf8_lossy(member.name()).into_owned(), data));
        }
    }
    if all.is_empty() {
        return Err(malformed("it has no members".into()));
    }
    Ok(all)
}
