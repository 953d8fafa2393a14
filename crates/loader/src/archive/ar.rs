//! `ar` archives, by the reader of the `object` crate.

use super::Members;
use crate::LoadError;
use object::read::archive::ArchiveFile;
use std::ops::Range;
use std::sync::Arc;

/// An archive whose members lie in it as they are.
pub(super) struct Ar {
    bytes: Arc<[u8]>,
    names: Vec<String>,
    places: Vec<Range<usize>>,
}

impl Ar {
    pub(super) fn open(bytes: Arc<[u8]>) -> Result<Ar, LoadError> {
        let malformed = |what: String| LoadError::Malformed { format: "ar", what };
        let archive = ArchiveFile::parse(&*bytes).map_err(|e| malformed(e.to_string()))?;
        if archive.is_thin() {
            return Err(malformed(
                "it is thin: its members are other files; open one of those".into(),
            ));
        }
        let (mut names, mut places) = (Vec::new(), Vec::new());
        for member in archive.members() {
            // A broken header ends the list; what came before is still good.
            let Ok(member) = member else { break };
            let (start, length) = member.file_range();
            if member.data(&*bytes).is_ok()
                && let (Ok(start), Ok(length)) = (usize::try_from(start), usize::try_from(length))
            {
                names.push(String::from_utf8_lossy(member.name()).into_owned());
                places.push(start..start.saturating_add(length));
            }
        }
        Ok(Ar { names, places, bytes })
    }
}

impl Members for Ar {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn read(&mut self, index: usize, _left: u64) -> Result<Arc<[u8]>, LoadError> {
        let data = self.places.get(index).and_then(|place| self.bytes.get(place.clone()));
        Ok(Arc::from(data.unwrap_or_default()))
    }
}
