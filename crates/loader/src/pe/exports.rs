//! Exports: names and ordinals that other programs may use.

use super::Loader;
use program::{Address, CommentKind, RefType, Reference, ReferenceInfo, SourceType};
use std::collections::HashMap;

const EXPORT: usize = object::pe::IMAGE_DIRECTORY_ENTRY_EXPORT;

/// Most exports that are believed: ordinals have 16 bits.
const EXPORTS: u32 = 65536;

/// What the directory says, counts and offsets from the image base.
struct Exports {
    library: u32,
    first_ordinal: u32,
    functions: u32,
    names: u32,
    function_table: u32,
    name_table: u32,
    ordinal_table: u32,
}

/// One function, or what stands in its place.
struct Export {
    offset: u32,
    ordinal: u32,
    name: String,
    /// Whether another library has it: its name stands there as a text.
    forwarded: bool,
}

impl Loader {
    pub(super) fn load_exports(&mut self) {
        let Some(directory) = self.file.directory(EXPORT) else { return };
        let place = self.place(directory.address);
        let Some([_, _, _, library, first_ordinal, functions, names, rest @ ..]) =
            self.words::<10>(place)
        else {
            self.warn("the export directory is not in memory");
            return;
        };
        let [function_table, name_table, ordinal_table] = rest;
        // Memory may go on where the file does not; an entry has four bytes.
        let room = u32::try_from(self.file.bytes.len() / 4).unwrap_or(u32::MAX);
        let believed = |count: u32| if count > EXPORTS { 0 } else { count.min(room) };
        if functions > EXPORTS || names > EXPORTS {
            self.warn("the export directory announces more exports than there are ordinals");
        } else if functions > room || names > room {
            self.warn("the export directory announces more exports than the file has room for");
        }
        let exports = Exports {
            library,
            first_ordinal,
            functions: believed(functions),
            names: believed(names),
            function_table,
            name_table,
            ordinal_table,
        };
        self.mark_exports(place, &exports);
        let named = self.exported_names(&exports);
        let inside = directory.address..directory.address.saturating_add(directory.size);
        for index in 0..exports.functions {
            let Some(at) = entry(exports.function_table, index, 4) else { break };
            let Some(offset) = self.read(self.place(at), 4) else { break };
            if offset != 0 {
                let offset = offset as u32;
                self.export(Export {
                    offset,
                    ordinal: exports.first_ordinal.wrapping_add(index),
                    name: named.get(&index).cloned().unwrap_or_default(),
                    forwarded: inside.contains(&offset),
                });
            }
        }
    }

    /// The first name of each function that has one, by its place in the table.
    fn exported_names(&self, exports: &Exports) -> HashMap<u32, String> {
        let mut named = HashMap::new();
        for index in 0..exports.names {
            let (Some(name_at), Some(ordinal_at)) =
                (entry(exports.name_table, index, 4), entry(exports.ordinal_table, index, 2))
            else {
                break;
            };
            let name = self.read(self.place(name_at), 4).map(|at| self.place(at as u32));
            let function = self.read(self.place(ordinal_at), 2);
            let (Some(name), Some(function)) = (name.and_then(|at| self.text(at)), function) else {
                break;
            };
            named.entry(function as u32).or_insert(name);
        }
        named
    }

    /// Marks up the directory and its tables.
    fn mark_exports(&mut self, place: Address, exports: &Exports) {
        let data_type = self.export_type();
        self.program.define_data(place, data_type, 40);
        if exports.library != 0 {
            self.mark_text(exports.library);
            self.plate(self.place(exports.library), "Export Library Name");
        }
        self.mark_table(exports.function_table, exports.functions);
        for index in 0..exports.names {
            let Some(at) = entry(exports.ordinal_table, index, 2) else { break };
            if !self.define(self.place(at), "word") {
                break;
            }
        }
        for text in self.mark_table(exports.name_table, exports.names) {
            self.mark_text(text);
        }
        for (table, count, title) in [
            (exports.function_table, exports.functions, "Export Function Pointers"),
            (exports.ordinal_table, exports.names, "Export Ordinal Values"),
            (exports.name_table, exports.names, "Export Name Pointers"),
        ] {
            if count > 0 {
                self.plate(self.place(table), title);
            }
        }
    }

    /// Marks up a table of offsets, which are references; gives them back.
    fn mark_table(&mut self, table: u32, count: u32) -> Vec<u32> {
        let mut offsets = Vec::new();
        for index in 0..count {
            let Some(at) = entry(table, index, 4) else { break };
            let from = self.place(at);
            let Some(offset) = self.read(from, 4) else { break };
            if !self.define(from, "dword") {
                break;
            }
            let offset = offset as u32;
            let to = self.place(offset);
            let info =
                ReferenceInfo { kind: RefType::Data, source: SourceType::Imported, primary: false };
            self.program.references.add(Reference { from, to, operand: 0, info });
            offsets.push(offset);
        }
        offsets
    }

    fn export(&mut self, export: Export) {
        let Export { offset, ordinal, name, forwarded } = export;
        let place = self.place(offset);
        if !self.program.memory.contains(place) {
            return;
        }
        let mut comment = format!("0x{offset:x}  {ordinal}  {name}");
        if !name.is_empty() {
            self.label(place, &name);
        }
        self.label(place, &format!("Ordinal_{ordinal}"));
        self.enter(place);
        if forwarded {
            self.mark_text(offset);
            if let Some(other) = self.text(place) {
                comment.push_str(&format!("  (forwarder -> {other})"));
                self.forward(place, &other);
            }
        } else if self.is_executable(place) {
            self.start_function(place);
        }
        self.program.comments.insert((place, CommentKind::Pre), comment.into());
    }

    /// Refers from a forwarder to the place in the other library that its text names.
    fn forward(&mut self, place: Address, text: &str) {
        let (library, name) = text.split_once('.').unwrap_or(("", text));
        if name.is_empty() {
            return;
        }
        let library = format!("{library}.dll").to_uppercase();
        let target = self.external_label(&library, name);
        self.program.add_reference(place, target, RefType::Data, 0, SourceType::Imported);
    }
}

/// Where an entry of a table is.
fn entry(table: u32, index: u32, size: u32) -> Option<u32> {
    table.checked_add(index.checked_mul(size)?)
}
