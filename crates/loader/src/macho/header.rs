//! Marks up the header of a Mach-O file and its load commands, where they are in memory or in a
//! block of their own.

use super::Loader;
use object::macho as m;
use program::data_type::Field;
use program::{
    Address, BlockSource, CommentKind, MemoryBlock, Permissions, SourceType, SpaceId, SymbolId,
    TypeId, TypeKind,
};
use std::collections::HashMap;
use std::sync::Arc;

const CATEGORY: &str = "/MachO";
/// Bytes of a fixed name.
const NAME: u32 = 16;

/// What a load command is called, the name of its type, and that type's members: `d`, `q` and `w`
/// for numbers of four, of eight and of the file's own number of bytes, `n` for a name, `s` for the
/// place of a text behind, `u` for sixteen bytes.
type Shape = (&'static str, &'static str, &'static str);

fn shape(command: u32) -> Shape {
    let linked = "d cmd,d cmdsize,d dataoff,d datasize";
    let library = "d cmd,d cmdsize,s name,d timestamp,d current_version,d compatibility_version";
    let text = "d cmd,d cmdsize,s name";
    match command {
        m::LC_SEGMENT => ("LC_SEGMENT", "segment_command", SEGMENT),
        m::LC_SEGMENT_64 => ("LC_SEGMENT_64", "segment_command", SEGMENT),
        m::LC_SYMTAB => {
            ("LC_SYMTAB", "symtab_command", "d cmd,d cmdsize,d symoff,d nsyms,d stroff,d strsize")
        }
        m::LC_DYSYMTAB => ("LC_DYSYMTAB", "dysymtab_command", DYNAMIC_SYMBOLS),
        m::LC_LOAD_DYLINKER => ("LC_LOAD_DYLINKER", "dylinker_command", text),
        m::LC_ID_DYLINKER => ("LC_ID_DYLINKER", "dylinker_command", text),
        m::LC_DYLD_ENVIRONMENT => ("LC_DYLD_ENVIRONMENT", "dylinker_command", text),
        m::LC_LOAD_DYLIB => ("LC_LOAD_DYLIB", "dylib_command", library),
        m::LC_ID_DYLIB => ("LC_ID_DYLIB", "dylib_command", library),
        m::LC_LOAD_WEAK_DYLIB => ("LC_LOAD_WEAK_DYLIB", "dylib_command", library),
        m::LC_REEXPORT_DYLIB => ("LC_REEXPORT_DYLIB", "dylib_command", library),
        m::LC_LAZY_LOAD_DYLIB => ("LC_LAZY_LOAD_DYLIB", "dylib_command", library),
        m::LC_LOAD_UPWARD_DYLIB => ("LC_LOAD_UPWARD_DYLIB", "dylib_command", library),
        m::LC_UUID => ("LC_UUID", "uuid_command", "d cmd,d cmdsize,u uuid"),
        m::LC_RPATH => ("LC_RPATH", "rpath_command", "d cmd,d cmdsize,s path"),
        m::LC_CODE_SIGNATURE => ("LC_CODE_SIGNATURE", "code_signature_command", linked),
        m::LC_SEGMENT_SPLIT_INFO => ("LC_SEGMENT_SPLIT_INFO", "linkedit_data_command", linked),
        m::LC_FUNCTION_STARTS => ("LC_FUNCTION_STARTS", "linkedit_data_command", linked),
        m::LC_DATA_IN_CODE => ("LC_DATA_IN_CODE", "linkedit_data_command", linked),
        m::LC_DYLIB_CODE_SIGN_DRS => ("LC_DYLIB_CODE_SIGN_DRS", "linkedit_data_command", linked),
        m::LC_LINKER_OPTIMIZATION_HINT => ("LC_OPTIMIZATION_HINT", "linkedit_data_command", linked),
        m::LC_DYLD_EXPORTS_TRIE => ("LC_DYLD_EXPORTS_TRIE", "dyld_exports_trie_command", linked),
        m::LC_DYLD_CHAINED_FIXUPS => {
            ("LC_DYLD_CHAINED_FIXUPS", "dyld_chained_fixups_command", linked)
        }
        m::LC_VERSION_MIN_MACOSX => ("LC_VERSION_MIN_MACOSX", "version_min_command", VERSION),
        m::LC_VERSION_MIN_IPHONEOS => ("LC_VERSION_MIN_IPHONEOS", "version_min_command", VERSION),
        m::LC_BUILD_VERSION => (
            "LC_BUILD_VERSION",
            "build_version_command",
            "d cmd,d cmdsize,d platform,d minos,d sdk,d ntools",
        ),
        m::LC_SOURCE_VERSION => {
            ("LC_SOURCE_VERSION", "source_version_command", "d cmd,d cmdsize,q version")
        }
        m::LC_MAIN => ("LC_MAIN", "entry_point_command", "d cmd,d cmdsize,q entryoff,q stacksize"),
        m::LC_DYLD_INFO => ("LC_DYLD_INFO", "dyld_info_command", DYLD_INFO),
        m::LC_DYLD_INFO_ONLY => ("LC_DYLD_INFO_ONLY", "dyld_info_command", DYLD_INFO),
        m::LC_UNIXTHREAD => ("LC_UNIXTHREAD", "thread_command", "d cmd,d cmdsize,d flavor,d count"),
        m::LC_THREAD => ("LC_THREAD", "thread_command", "d cmd,d cmdsize,d flavor,d count"),
        _ => ("", "load_command", "d cmd,d cmdsize"),
    }
}

const SEGMENT: &str = "d cmd,d cmdsize,n segname,w vmaddr,w vmsize,w fileoff,w filesize,\
     d maxprot,d initprot,d nsects,d flags";
const SECTION: &str = "n sectname,n segname,w addr,w size,d offset,d align,d reloff,d nrelocs,\
     d flags,d reserved1,d reserved2";
const DYNAMIC_SYMBOLS: &str = "d cmd,d cmdsize,d ilocalsym,d nlocalsym,d iextdefsym,d nextdefsym,\
     d iundefsym,d nundefsym,d tocoff,d ntoc,d modtaboff,d nmodtab,d extrefsymoff,d nextrefsyms,\
     d indirectsymoff,d nindirectsyms,d extreloff,d nextrel,d locreloff,d nlocrel";
const DYLD_INFO: &str = "d cmd,d cmdsize,d rebase_off,d rebase_size,d bind_off,d bind_size,\
     d weak_bind_off,d weak_bind_size,d lazy_bind_off,d lazy_bind_size,d export_off,d export_size";
const VERSION: &str = "d cmd,d cmdsize,d version,d sdk";
const HEADER: &str = "d magic,d cputype,d cpusubtype,d filetype,d ncmds,d sizeofcmds,d flags";

impl Loader {
    /// Defines the header and its commands.
    pub(super) fn mark_header(&mut self) {
        let Some(start) = self.header_place() else { return };
        let wide = self.file.is_64;
        let members = if wide { format!("{HEADER},d reserved") } else { HEADER.to_owned() };
        let header = self.structure("mach_header", &members);
        self.define(start, header);
        self.program.add_label(start, "MACH_HEADER", SymbolId::GLOBAL, SourceType::Imported);
        let file = Arc::clone(&self.file);
        let mut types: HashMap<u32, TypeId> = HashMap::new();
        for (command, offset, size) in &file.commands {
            let Some(place) = start.checked_add(*offset) else { break };
            let (name, type_name, members) = shape(*command);
            let known = types.get(command).copied();
            let data_type = known.unwrap_or_else(|| self.structure(type_name, members));
            types.insert(*command, data_type);
            if !self.define(place, data_type) {
                break;
            }
            if !name.is_empty() {
                self.program.comments.insert((place, CommentKind::Pre), name.into());
            }
            if members.contains("s ") {
                self.mark_text(place, *offset, *size);
            }
        }
        self.mark_section_headers(start);
    }

    /// Where the header is: in the segment that begins with the file, or in a block of its own
    /// that no processor sees.
    fn header_place(&mut self) -> Option<Address> {
        let file = Arc::clone(&self.file);
        let mut first = file.bytes.len() as u64;
        for segment in file.segments.iter().filter(|s| s.offset != 0 || s.file_size != 0) {
            if segment.offset == 0 {
                return Some(self.ram(segment.address));
            }
            first = first.min(segment.offset);
        }
        let space =
            Arc::make_mut(&mut self.program.spaces).add_overlay("HEADER", SpaceId::OTHER)?;
        let source = BlockSource::Bytes {
            bytes: Arc::clone(&file.bytes),
            offset: 0,
            length: usize::try_from(first).ok()?,
        };
        let start = Address::new(space, 0);
        let mut block = MemoryBlock::new("HEADER", start, first, source);
        block.permissions = Permissions::default();
        block.loaded = false;
        block.comment = "Header".into();
        self.program.memory.add_block(block).ok()?;
        Some(start)
    }

    /// The text that ends a command.
    fn mark_text(&mut self, command: Address, offset: u64, size: u32) {
        let Some(at) = self.file.word_at(offset + 8) else { return };
        let text = self.program.types.builtin("string");
        let place = command.checked_add(u64::from(at));
        if let (Some(place), Some(length)) = (place, size.checked_sub(at).filter(|n| *n > 0)) {
            self.program.define_data(place, text, length);
        }
    }

    fn mark_section_headers(&mut self, start: Address) {
        let file = Arc::clone(&self.file);
        let members =
            if file.is_64 { format!("{SECTION},d reserved3") } else { SECTION.to_owned() };
        let section_type = self.structure("section", &members);
        for section in &file.sections {
            let Some(place) = start.checked_add(section.header) else { break };
            if self.define(place, section_type) {
                let name = format!("{}.{}", section.segment_name, section.name);
                self.program.comments.insert((place, CommentKind::Eol), name.into());
            }
        }
        for segment in &file.segments {
            if let Some(place) = start.checked_add(segment.header) {
                let name = segment.name.as_str().into();
                self.program.comments.insert((place, CommentKind::Eol), name);
            }
        }
    }

    /// Defines data of a type with a length of its own; whether there was room.
    pub(super) fn define(&mut self, place: Address, data_type: TypeId) -> bool {
        let length = self.program.types.length(data_type).unwrap_or(1);
        self.program.define_data(place, data_type, length)
    }

    /// A structure of the members that a shape lists.
    pub(super) fn structure(&mut self, name: &str, members: &str) -> TypeId {
        let mut offset = 0;
        let mut fields = Vec::new();
        for (kind, name) in members.split(',').filter_map(|member| member.split_once(' ')) {
            let (data_type, length) = self.member(kind);
            let name = name.into();
            let field = Field { offset, data_type, length, name, comment: "".into(), bits: None };
            fields.push(field);
            offset += length;
        }
        self.program.types.add_struct(CATEGORY, name, offset, fields)
    }

    fn member(&mut self, kind: &str) -> (TypeId, u32) {
        let types = &mut self.program.types;
        match kind {
            "n" => (types.builtin("string"), NAME),
            "q" => (types.builtin("qword"), 8),
            "w" if self.file.is_64 => (types.builtin("qword"), 8),
            "u" => {
                let byte = types.builtin("byte");
                (types.array_of(byte, 16), 16)
            }
            "s" => {
                let known = types.at_path("/MachO/lc_str");
                let known = known.filter(|id| {
                    matches!(types.get(*id).map(|t| &t.kind), Some(TypeKind::Struct { .. }))
                });
                (known.unwrap_or_else(|| self.structure("lc_str", "d offset")), 4)
            }
            "h" => (types.builtin("word"), 2),
            "b" => (types.builtin("byte"), 1),
            _ => (types.builtin("dword"), 4),
        }
    }
}
