//! ZIP archives (`apk`, `ipa`, `jar`, `whl`), by the `zip` crate; members are expanded within bounds.

use super::{Members, RATIO, SMALL};
use crate::LoadError;
use std::io::{Cursor, Read};
use std::sync::Arc;
use zip::ZipArchive;

/// An archive whose members are expanded one at a time.
pub(super) struct Zip {
    archive: ZipArchive<Cursor<Arc<[u8]>>>,
    /// Bytes of the archive: no member has more.
    stored: u64,
    /// Place in the archive's own list.
    places: Vec<usize>,
    names: Vec<String>,
}

fn malformed(what: impl ToString) -> LoadError {
    LoadError::Malformed { format: "ZIP", what: what.to_string() }
}

impl Zip {
    pub(super) fn open(bytes: Arc<[u8]>) -> Result<Zip, LoadError> {
        let stored = bytes.len() as u64;
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(malformed)?;
        let all = (0..archive.len())
            .filter_map(|index| Some((index, archive.name_for_index(index)?.ok()?)));
        let (places, names) = all
            .filter(|(_, name)| !name.ends_with('/'))
            .map(|(index, name)| (index, name.into_owned()))
            .unzip();
        Ok(Zip { archive, stored, places, names })
    }
}

impl Members for Zip {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn read(&mut self, index: usize, left: u64) -> Result<Arc<[u8]>, LoadError> {
        let place = self.places.get(index).copied().unwrap_or(usize::MAX);
        let name = self.names.get(index).cloned().unwrap_or_default();
        let mut member = self.archive.by_index(place).map_err(malformed)?;
        // Never more than the ratio allows of the bytes that are really there: the header's
        // word for the expanded size is not taken.
        let dense = member.compressed_size().min(self.stored).saturating_mul(RATIO).max(SMALL);
        let limit = left.min(dense);
        let mut data = Vec::new();
        let read = (&mut member).take(limit.saturating_add(1)).read_to_end(&mut data);
        if data.len() as u64 > limit {
            return Err(LoadError::ZipBomb { member: name, limit });
        }
        read.map_err(|error| malformed(format!("its member {name} cannot be expanded: {error}")))?;
        Ok(Arc::from(data))
    }
}
