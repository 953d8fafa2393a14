//! Resources: a tree of directories by kind, name and language, and what hangs on it.

use super::Loader;
use program::{Address, CommentKind};
use std::collections::HashSet;

const RESOURCE: usize = object::pe::IMAGE_DIRECTORY_ENTRY_RESOURCE;

/// Directories nest as deep as kind, name and language.
const DEEPEST: u32 = 8;
/// Most entries of all directories that are believed, if the file is large enough for them.
const ENTRIES: usize = 0x10000;
/// Bytes of an entry.
const ENTRY: u32 = 8;

/// How the kinds that the system knows are called.
const KINDS: [&str; 25] = [
    "0",
    "Cursor",
    "Bitmap",
    "Icon",
    "Menu",
    "Dialog",
    "StringTable",
    "FontDir",
    "Font",
    "Accelerator",
    "RC_Data",
    "MessageTable",
    "GroupCursor",
    "13",
    "GroupIcon",
    "15",
    "Version",
    "DialogInclude",
    "18",
    "PlugAndPlay",
    "VXD",
    "ANI_Cursor",
    "ANI_Icon",
    "HTML",
    "Manifest",
];
/// Kinds with formats of their own: nothing is said about their bytes.
const FORMATTED: [u32; 7] = [
    2,  // bitmap
    3,  // icon
    4,  // menu
    5,  // dialog
    6,  // texts
    14, // icons in several sizes
    16, // version
];
const HTML: u32 = 23;
const MANIFEST: u32 = 24;
const VERSION: u32 = 16;
/// Names that promise a format, where the kind is a name.
const FORMATS: [&str; 5] = ["IMAGE", "PNG", "WAV", "WEVT", "MUI"];

/// One resource.
struct Resource {
    /// Offset from the image base.
    offset: u32,
    size: u32,
    name: String,
    /// The number of its kind; 0 for kinds with names.
    kind: u32,
}

/// A walk over the tree.
struct Walk {
    /// Where the tree is, as an offset from the image base.
    base: u32,
    seen: HashSet<u32>,
    /// Entries that may still come.
    room: usize,
    /// Whether more came than there was room for.
    cut: bool,
    found: Vec<Resource>,
}

impl Loader {
    pub(super) fn load_resources(&mut self) {
        let Some(directory) = self.file.directory(RESOURCE) else { return };
        let base = directory.address;
        if self.words::<4>(self.place(base)).is_none() {
            self.warn("the resources are not in memory");
            return;
        }
        let room = (self.file.bytes.len() / ENTRY as usize).min(ENTRIES);
        let mut walk = Walk { base, seen: HashSet::new(), room, cut: false, found: Vec::new() };
        self.walk_resources(&mut walk, 0, 0, None, &mut Vec::new());
        if walk.cut {
            self.warn("not all resources were read: there are more than are believed");
        }
        let mut found = walk.found;
        found.sort_by_key(|resource| resource.offset);
        for resource in found {
            self.mark_resource(&resource);
        }
    }

    /// Marks up one directory and what it leads to.
    fn walk_resources(
        &mut self,
        walk: &mut Walk,
        at: u32,
        depth: u32,
        kind: Option<u32>,
        path: &mut Vec<String>,
    ) {
        let Some(start) = walk.base.checked_add(at) else { return };
        let Some([_, _, _, counts]) = self.words::<4>(self.place(start)) else { return };
        if depth >= DEEPEST || !walk.seen.insert(at) {
            return;
        }
        let directory = self.resource_directory_type();
        self.program.define_data(self.place(start), directory, 16);
        let named = counts & 0xffff;
        for index in 0..named + (counts >> 16) {
            let Some(room) = walk.room.checked_sub(1) else {
                walk.cut = true;
                return;
            };
            walk.room = room;
            let Some(entry) = start.checked_add(16 + ENTRY * index) else { return };
            let Some([id, to]) = self.words::<2>(self.place(entry)) else { return };
            let data_type = self.resource_entry_type();
            self.program.define_data(self.place(entry), data_type, ENTRY);
            let is_name = index < named;
            let name = self.resource_name(walk.base, id, is_name, depth);
            path.push(name);
            let kind = kind.or(Some(if is_name { 0 } else { id & 0xffff }));
            match to >> 31 {
                0 => self.resource_data(walk, to, kind.unwrap_or(0), path),
                _ => self.walk_resources(walk, to & 0x7fff_ffff, depth + 1, kind, path),
            }
            path.pop();
        }
    }

    /// How an entry is called: by its text, or by its number.
    fn resource_name(&mut self, base: u32, id: u32, is_name: bool, depth: u32) -> String {
        let number = id & 0xffff;
        let text = (id >> 31 != 0).then(|| self.resource_text(base, id & 0x7fff_ffff)).flatten();
        match text {
            Some(text) if is_name => text,
            _ if !is_name && depth == 0 => {
                let known = KINDS.get(number as usize).map(|known| (*known).to_owned());
                known.unwrap_or_else(|| format!("{number:x}"))
            }
            _ => format!("{number:x}"),
        }
    }

    /// A counted text of 16-bit characters.
    fn resource_text(&mut self, base: u32, at: u32) -> Option<String> {
        let place = self.place(base.checked_add(at)?);
        let length = self.read(place, 2)? as u32;
        let mut bytes = vec![0; 2 * length as usize];
        let read = self.program.memory.read(place.checked_add(2)?, &mut bytes).ok()?;
        let units: Vec<u16> = bytes
            .get(..read)?
            .chunks_exact(2)
            .filter_map(|unit| Some(u16::from_le_bytes(unit.try_into().ok()?)))
            .collect();
        if length > 0 {
            let data_type = self.resource_text_type(2 * length);
            self.program.define_data(place, data_type, 2 + 2 * length);
        }
        Some(String::from_utf16_lossy(&units))
    }

    fn resource_data(&mut self, walk: &mut Walk, at: u32, kind: u32, path: &[String]) {
        let Some(start) = walk.base.checked_add(at) else { return };
        let Some([offset, size, ..]) = self.words::<4>(self.place(start)) else { return };
        let data_type = self.resource_data_type();
        self.program.define_data(self.place(start), data_type, 16);
        let name = format!("Rsrc_{}", path.join("_"));
        walk.found.push(Resource { offset, size, name, kind });
    }

    /// Names a resource, and defines it if its format is plain.
    fn mark_resource(&mut self, resource: &Resource) {
        let place = self.place(resource.offset);
        if !self.program.memory.contains(place) {
            return;
        }
        self.label(place, &resource.name);
        let size = resource.size;
        let comment = format!("{} Size of resource: 0x{size:x} bytes", resource.name);
        self.program.comments.insert((place, CommentKind::Plate), comment.into());
        let name = resource.name.strip_prefix("Rsrc_").unwrap_or_default();
        let promised = FORMATS.iter().any(|format| name.starts_with(format));
        let formatted = FORMATTED.contains(&resource.kind) || resource.kind == HTML;
        if resource.kind == MANIFEST {
            self.mark_text_at(place);
        } else if resource.kind == VERSION {
            self.mark_version(place, size);
        } else if !(formatted || resource.kind == 0 && promised) {
            self.mark_bytes(place, size);
        }
    }

    fn mark_bytes(&mut self, place: Address, size: u32) {
        if size > 0 {
            let byte = self.program.types.builtin("byte");
            let bytes = self.program.types.array_of(byte, size);
            self.program.define_data(place, bytes, size);
        }
    }
}
