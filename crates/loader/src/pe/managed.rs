//! Programs for .NET: the header of their runtime, and the list of the streams of their metadata.

use super::Loader;
use super::types::Member;
use object::pe;
use program::{Address, SourceType, SymbolId, TypeId};

const RUNTIME: usize = pe::IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR;
/// Bytes of the runtime's header.
const HEADER: u32 = 72;
/// What metadata begin with.
const SIGNATURE: u32 = 0x424a_5342;
/// Longest text for the version, in bytes, and most streams that are believed.
const VERSION: u32 = 1 << 12;
const STREAMS: u32 = 16;
/// Streams of known content.
const KNOWN: [&str; 5] = ["#GUID", "#US", "#Strings", "#Blob", "#~"];
/// The entry is code of the processor.
const NATIVE_ENTRY: u32 = 0x10;

/// One stream of the metadata, by its header.
struct Stream {
    name: String,
    offset: u32,
    /// Bytes of the name, with padding.
    name_length: u32,
}

impl Loader {
    pub(super) fn load_managed(&mut self) {
        let Some(directory) = self.file.directory(RUNTIME) else { return };
        let place = self.place(directory.address);
        let Some(words) = self.words::<18>(place) else {
            self.warn("the header of the .NET runtime is not in memory");
            return;
        };
        let [_, _, metadata, _, flags, entry, others @ ..] = words;
        let data_type = self.managed_type();
        if self.program.define_data(place, data_type, HEADER) {
            for (offset, at) in others.into_iter().step_by(2).zip((24u64..).step_by(8)) {
                if offset != 0 {
                    self.refer(place.wrapping_add(at), self.place(offset));
                }
            }
        }
        let native = self.place(entry);
        if flags & NATIVE_ENTRY != 0 && entry != 0 && self.is_executable(native) {
            self.enter(native);
            self.start_function(native);
        }
        self.load_metadata(metadata);
        self.warn(
            "a program for .NET: the tables of its metadata and the methods that they name are not \
             read, since those are no code of the processor",
        );
    }

    fn load_metadata(&mut self, offset: u32) {
        let place = self.place(offset);
        let Some([SIGNATURE, _, _, version]) = self.words::<4>(place) else {
            self.warn("the metadata of a program for .NET are not in memory");
            return;
        };
        if version > VERSION {
            self.warn("the metadata of a program for .NET have a version without end");
            return;
        }
        let streams = self.streams(place, version);
        let (data_type, length) = self.metadata_type(version, &streams);
        self.program.define_data(place, data_type, length);
        let label = |loader: &mut Loader, at: Address, name: &str| {
            if loader.program.memory.contains(at) {
                loader.program.add_label(at, name, SymbolId::GLOBAL, SourceType::Analysis);
            }
        };
        label(self, place, "CLI_METADATA_HEADER");
        for stream in streams.iter().filter(|stream| KNOWN.contains(&stream.name.as_str())) {
            let name = format!("CLI_Stream_{}", stream.name);
            label(self, self.place(offset.wrapping_add(stream.offset)), &name);
        }
    }

    /// The streams that the metadata announce.
    fn streams(&self, place: Address, version: u32) -> Vec<Stream> {
        let mut at = place.wrapping_add(u64::from(16 + version));
        let count = self.read(at.wrapping_add(2), 2).unwrap_or(0) as u32;
        at = at.wrapping_add(4);
        let mut streams = Vec::new();
        for _ in 0..count.min(STREAMS) {
            let Some([offset, _]) = self.words::<2>(at) else { break };
            let Some(name) = self.text(at.wrapping_add(8)) else { break };
            let name_length = (name.len() as u32 + 1).next_multiple_of(4);
            at = at.wrapping_add(u64::from(8 + name_length));
            streams.push(Stream { name, offset, name_length });
        }
        streams
    }

    fn managed_type(&mut self) -> TypeId {
        let types = &self.program.types;
        let (word, dword) = (types.builtin("word"), types.builtin("dword"));
        let offset = types.builtin("ImageBaseOffset32");
        let of_metadata = [(dword, 4, "VirtualAddress", ""), (dword, 4, "Size", "")];
        let metadata = self.structure("/PE/CLI", "CLI_METADATA_DIRECTORY", &of_metadata);
        let of_directory = [(offset, 4, "VirtualAddress", ""), (dword, 4, "Size", "")];
        let directory = self.structure("/PE", "IMAGE_DATA_DIRECTORY", &of_directory);
        let members: [Member; 12] = [
            (dword, 4, "cb", "Size of the structure"),
            (word, 2, "MajorRuntimeVersion", "Version of CLR Runtime"),
            (word, 2, "MinorRuntimeVersion", ""),
            (metadata, 8, "MetaData", "RVA and size of MetaData"),
            (self.managed_flags_type(), 4, "Flags", ""),
            (dword, 4, "EntryPointToken", "This is a metadata token if not a valid RVA"),
            (directory, 8, "Resources", ""),
            (directory, 8, "StrongNameSignature", ""),
            (directory, 8, "CodeManagerTable", "Should be 0"),
            (directory, 8, "VTableFixups", ""),
            (directory, 8, "ExportAddressTableJumps", "Should be 0"),
            (directory, 8, "ManagedNativeHeader", "0 unless this is a native image"),
        ];
        self.structure("/PE", "IMAGE_COR20_HEADER", &members)
    }

    fn managed_flags_type(&mut self) -> TypeId {
        const BITS: [(&str, i64); 6] = [
            ("ILONLY", 1),
            ("32BITREQUIRED", 2),
            ("IL_LIBRARY", 4),
            ("STRONGNAMESIGNED", 8),
            ("NATIVE_ENTRYPOINT", 0x10),
            ("TRACKDEBUGDATA", 0x1_0000),
        ];
        self.flags("/PE/CLI/Flags", "COR20_Flags", "COMIMAGE_FLAGS_", &BITS)
    }

    /// The head of the metadata, with the headers of the streams; and its length.
    fn metadata_type(&mut self, version: u32, streams: &[Stream]) -> (TypeId, u32) {
        let types = &mut self.program.types;
        let (word, dword) = (types.builtin("word"), types.builtin("dword"));
        let char = types.builtin("char");
        let mut members: Vec<Member> = vec![
            (dword, 4, "Signature", "must be 0x424a5342"),
            (word, 2, "MajorVersion", ""),
            (word, 2, "MinorVersion", ""),
            (dword, 4, "Reserved", "should be 0"),
            (dword, 4, "VersionLength", ""),
        ];
        if version > 0 {
            members.push((types.array_of(char, version), version, "Version", ""));
        }
        members.push((word, 2, "Flags", "should be 0"));
        members.push((word, 2, "StreamsCount", "number of stream headers to follow"));
        for stream in streams {
            let length = stream.name_length;
            let name = self.program.types.array_of(char, length);
            let of_stream =
                [(dword, 4, "offset", ""), (dword, 4, "size", ""), (name, length, "name", "")];
            let title = format!("CLI_Stream_Header_{}", stream.name);
            let header = self.structure("/PE/CLI/Streams/Headers", &title, &of_stream);
            members.push((header, 8 + length, stream.name.as_str(), ""));
        }
        let length = members.iter().map(|member| member.1).sum();
        (self.structure("/PE/CLI", "CLI_METADATA_HEADER", &members), length)
    }
}
