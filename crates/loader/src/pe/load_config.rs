//! The load configuration: handlers of exceptions that are allowed, and what control-flow guard
//! checks calls with.

use super::Loader;
use super::types::Member;
use program::{Address, CommentKind, TypeId};

const LOAD_CONFIG: usize = object::pe::IMAGE_DIRECTORY_ENTRY_LOAD_CONFIG;

/// More handlers than any program allows.
const HANDLERS: u64 = 0x10000;

/// What a member of the directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Double,
    /// As wide as an address, and one.
    Pointer,
    /// As wide as an address.
    Count,
    /// Flags of control-flow guard.
    Guard,
    /// Twelve bytes.
    Integrity,
}

use Kind::{Count, Double, Guard, Integrity, Pointer, Word};

/// The members, in groups that came with one version of Windows after the other: those are there
/// for which the size that stands first leaves room.
const GROUPS: &[&[(&str, Kind)]] = &[
    &[
        ("Size", Double),
        ("TimeDateStamp", Double),
        ("MajorVersion", Word),
        ("MinorVersion", Word),
        ("GlobalFlagsClear", Double),
        ("GlobalFlagsSet", Double),
        ("CriticalSectionDefaultTimeout", Double),
        ("DeCommitFreeBlockThreshold", Count),
        ("DeCommitTotalFreeThreshold", Count),
        ("LockPrefixTable", Pointer),
        ("MaximumAllocationSize", Count),
        ("VirtualMemoryThreshold", Count),
        ("ProcessAffinityMask", Count),
        ("ProcessHeapFlags", Double),
        ("CsdVersion", Word),
        ("DependentLoadFlags", Word),
        ("EditList", Pointer),
    ],
    &[("SecurityCookie", Pointer), ("SEHandlerTable", Pointer), ("SEHandlerCount", Count)],
    &[
        ("GuardCFCCheckFunctionPointer", Pointer),
        ("GuardCFDispatchFunctionPointer", Pointer),
        ("GuardCFFunctionTable", Pointer),
        ("GuardCFFunctionCount", Count),
        ("GuardFlags", Guard),
    ],
    &[("CodeIntegrity", Integrity)],
    &[
        ("GuardAddressTakenIatEntryTable", Pointer),
        ("GuardAddressTakenIatEntryCount", Count),
        ("GuardLongJumpTargetTable", Pointer),
        ("GuardLongJumpTargetCount", Count),
    ],
    &[("DynamicValueRelocTable", Pointer), ("CHPEMetadataPointer", Pointer)],
    &[
        ("GuardRFFailureRoutine", Pointer),
        ("GuardRFFailureRoutineFunctionPointer", Pointer),
        ("DynamicValueRelocTableOffset", Double),
        ("DynamicValueRelocTableSection", Word),
        ("Reserved2", Word),
    ],
    &[("GuardRFVerifyStackPointerFunctionPointer", Pointer), ("HotPatchTableOffset", Double)],
    &[("Reserved3", Double), ("EnclaveConfigurationPointer", Pointer)],
    &[("VolatileMetadataPointer", Pointer)],
    &[("GuardEHContinuationTable", Pointer)],
    &[("GuardEHContinuationCount", Count)],
    &[("GuardXFGCheckFunctionPointer", Pointer)],
    &[("GuardXFGDispatchFunctionPointer", Pointer)],
    &[("GuardXFGTableDispatchFunctionPointer", Pointer)],
    &[("CastGuardOsDeterminedFailureMode", Pointer)],
    &[("GuardMemcpyFunctionPointer", Pointer)],
    &[("UmaFunctionPointers", Pointer)],
];

/// A member that is there: name, kind, offset, length.
type Placed = (&'static str, Kind, u32, u32);

impl Loader {
    pub(super) fn load_config(&mut self) {
        let Some(directory) = self.file.directory(LOAD_CONFIG) else { return };
        let place = self.place(directory.address);
        let Some([size]) = self.words::<1>(place) else {
            self.warn("the load configuration is not in memory");
            return;
        };
        let members = self.members_of_config(size);
        self.mark_config(place, &members);
        let value = |name: &str| -> u64 {
            let known = members.iter().find(|member| member.0 == name);
            let value = known.and_then(|(_, _, at, length)| {
                self.read(place.checked_add(u64::from(*at))?, *length)
            });
            value.unwrap_or(0)
        };
        let handlers = (value("SEHandlerTable"), value("SEHandlerCount"));
        let functions = (value("GuardCFFunctionTable"), value("GuardCFFunctionCount"));
        let imports =
            (value("GuardAddressTakenIatEntryTable"), value("GuardAddressTakenIatEntryCount"));
        // The highest four bits say how many bytes follow each entry.
        let extra = value("GuardFlags") as u32 >> 28;
        let guards = [
            ("GuardCFCCheckFunctionPointer", "_guard_check_icall"),
            ("GuardCFDispatchFunctionPointer", "_guard_dispatch_icall"),
        ]
        .map(|(member, name)| (value(member), name));
        let failures = [
            ("GuardRFFailureRoutineFunctionPointer", "_guard_ss_verify_failure_default"),
            ("GuardRFVerifyStackPointerFunctionPointer", "_guard_ss_verify_sp_default"),
        ]
        .map(|(member, name)| (value(member), name));
        let failure = value("GuardRFFailureRoutine");
        self.mark_handlers(handlers);
        guards.into_iter().for_each(|(pointer, name)| self.mark_guard(pointer, name));
        self.mark_guarded_functions(functions, extra);
        self.mark_guarded_imports(imports);
        if failure != 0 {
            self.mark_function(Address::ram(failure & self.mask), Some("_guard_ss_verify_failure"));
        }
        failures.into_iter().for_each(|(pointer, name)| self.mark_guard(pointer, name));
    }

    /// The members that a size leaves room for.
    fn members_of_config(&self, size: u32) -> Vec<Placed> {
        let word = self.file.word() as u32;
        let mut members: Vec<Placed> = Vec::new();
        let mut at = 0;
        for (index, group) in GROUPS.iter().enumerate() {
            if index > 0 && at >= size {
                break;
            }
            for (name, kind) in *group {
                let length = match kind {
                    Word => 2,
                    Double | Guard => 4,
                    Pointer | Count => word,
                    Integrity => 12,
                };
                members.push((name, *kind, at, length));
                at += length;
            }
        }
        if !self.file.is_64 {
            // The two stand the other way round.
            let mask = members.iter().position(|member| member.0 == "ProcessAffinityMask");
            if let Some(mask) = mask
                && let Some([first, second]) = members.get_mut(mask..mask + 2)
            {
                std::mem::swap(&mut first.0, &mut second.0);
                std::mem::swap(&mut first.1, &mut second.1);
            }
        }
        members
    }

    fn mark_config(&mut self, place: Address, members: &[Placed]) {
        let flags = self.guard_flags_type();
        let integrity = self.code_integrity_type();
        let types = &self.program.types;
        let described: Vec<Member> = members
            .iter()
            .map(|(name, kind, _, length)| {
                let data_type: TypeId = match kind {
                    Word => types.builtin("word"),
                    Double => types.builtin("dword"),
                    Count if *length == 8 => types.builtin("qword"),
                    Count => types.builtin("dword"),
                    Pointer => types.builtin("pointer"),
                    Guard => flags,
                    Integrity => integrity,
                };
                (data_type, *length, *name, "")
            })
            .collect();
        let name = match self.file.is_64 {
            true => "IMAGE_LOAD_CONFIG_DIRECTORY64",
            false => "IMAGE_LOAD_CONFIG_DIRECTORY32",
        };
        let length = members.iter().map(|member| member.3).sum();
        let data_type = self.structure("/PE", name, &described);
        if !self.program.define_data(place, data_type, length) {
            return;
        }
        for (_, kind, at, length) in members.iter().filter(|member| member.1 == Pointer) {
            let from = place.wrapping_add(u64::from(*at));
            if let Some(value) = self.read(from, *length).filter(|value| *value != 0) {
                debug_assert_eq!(*kind, Pointer);
                self.refer(from, Address::ram(value & self.mask));
            }
        }
    }

    /// Handlers of exceptions that may be called, as offsets.
    fn mark_handlers(&mut self, (table, count): (u64, u64)) {
        let place = Address::ram(table & self.mask);
        if table == 0 || count > HANDLERS || !self.program.memory.contains(place) {
            return;
        }
        let (name, length) = match self.file.is_64 {
            true => ("ImageBaseOffset64", 8),
            false => ("ImageBaseOffset32", 4),
        };
        let title = format!("SEHandlerTable (0x{count:x} entries)");
        self.program.comments.insert((place, CommentKind::Plate), title.into());
        self.mark_offsets(place, count, name, length);
    }

    /// Data that are offsets from the image base, one behind the other.
    fn mark_offsets(&mut self, place: Address, count: u64, name: &str, length: u32) {
        for index in 0..self.believed(count, length) {
            let Some(at) = place.checked_add(index * u64::from(length)) else { break };
            let Some(value) = self.read(at, length) else { break };
            if !self.define(at, name) {
                break;
            }
            if value != 0 {
                self.refer(at, self.place(value as u32));
            }
        }
    }

    /// How many entries of a table are believed: memory may go on where the file does not.
    fn believed(&mut self, count: u64, length: u32) -> u64 {
        let room = self.file.bytes.len() as u64 / u64::from(length.max(1));
        if count > room {
            self.warn("the load configuration has tables larger than the file");
        }
        count.min(room)
    }

    /// A function to which a pointer leads that the system replaces.
    fn mark_guard(&mut self, pointer: u64, name: &str) {
        if pointer == 0 {
            return;
        }
        let place = Address::ram(pointer & self.mask);
        let Some(function) = self.read(place, self.file.word() as u32) else { return };
        self.mark_function(Address::ram(function & self.mask), Some(name));
    }

    /// A place at which a function starts, whether it has a name or not.
    fn mark_function(&mut self, place: Address, name: Option<&str>) {
        if let Some(name) = name
            && self.program.memory.contains(place)
        {
            self.label(place, name);
        }
        if self.is_executable(place) {
            self.start_function(place);
        }
    }

    /// Functions that may be called through pointers.
    fn mark_guarded_functions(&mut self, (table, count): (u64, u64), extra: u32) {
        if table == 0 || count == 0 {
            return;
        }
        let place = Address::ram(table & self.mask);
        if !self.program.memory.contains(place) {
            return;
        }
        self.label(place, "GuardCFFunctionTable");
        let (entry, size) = self.guard_entry_type(extra);
        let Ok(count) = u32::try_from(self.believed(count, size)) else { return };
        let array = self.program.types.array_of(entry, count);
        self.program.define_data(place, array, size * count);
        for index in 0..u64::from(count) {
            let at = place.wrapping_add(index * u64::from(size));
            let Some([offset]) = self.words::<1>(at) else { break };
            let function = self.place(offset);
            if offset != 0 {
                self.refer(at, function);
                self.mark_function(function, None);
            }
        }
    }

    /// Slots of imports whose address is taken.
    fn mark_guarded_imports(&mut self, (table, count): (u64, u64)) {
        let place = Address::ram(table & self.mask);
        if table == 0 || count == 0 || !self.program.memory.contains(place) {
            return;
        }
        self.label(place, "GuardCFAddressTakenIatTable");
        self.mark_offsets(place, count, "ImageBaseOffset32", 4);
    }
}
