//! Small programs that hold at least one of everything, and random edits to them.

use program::data_type::{Field, FunctionType, SignatureParameter};
use program::{
    Address, AddressRange, AddressSet, BlockKind, BlockSource, CommentKind, DataOrganization,
    DataType, FlowOverride, FlowType, Function, Instruction, LocalVariable, MemoryBlock, Parameter,
    Permissions, Program, ProgramInfo, RefType, Relocation, SourceType, SpaceId, Storage,
    StoragePiece, Symbol, SymbolId, SymbolKind, TypeId, TypeKind,
};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use store::{AnalysisRecord, LoadRecord, Record};

/// Bytes of the large block.
const SIZE: u64 = 0x6000;

/// Where it starts: offsets of both signs, as SQLite sees them.
const STARTS: [u64; 2] = [0x1000, 0xffff_ffff_8000_0000];

pub fn record() -> Record {
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 123_456_789);
    Record {
        analysis: AnalysisRecord {
            analyzed: true,
            kind: "ghidra".into(),
            state: "completed".into(),
            task_id: Some("7".into()),
            started: Some(time),
            finished: Some(time + Duration::from_millis(1500)),
            message: None,
            done: vec!["DWARF".into(), "Create Thunks".into()],
        },
        load: LoadRecord {
            file_sha256: "ab".repeat(32),
            base: Some(u64::MAX - 0xfff),
            ..LoadRecord::default()
        },
    }
}

pub fn at(offset: u64) -> Address {
    let start = STARTS[(offset / SIZE % 2) as usize];
    Address::ram(start + offset % SIZE)
}

/// A program with at least one of everything.
pub fn program() -> Program {
    let before_epoch = SystemTime::UNIX_EPOCH - Duration::from_secs(5);
    let info = ProgramInfo {
        name: "sämple".into(),
        executable_path: "/some/where".into(),
        image_base: 0xffff_ffff_8000_0000,
        address_bits: 64,
        sha256: "cd".repeat(32),
        file_size: 77,
        created: Some(before_epoch),
        relocatable: true,
        ..ProgramInfo::default()
    };
    let mut p = Program::new(info, true, DataOrganization { long: 4, ..Default::default() });
    p.warn("a section was cut short");
    blocks(&mut p);
    types(&mut p);
    let mixed = |n: u64| (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24;
    for edit in 0..900u64 {
        apply(&mut p, (edit % 12) as u8, mixed(edit), mixed(edit * 31 + 7));
    }
    p.relocations = Arc::new(vec![Relocation {
        address: at(8),
        kind: 5,
        symbol: "puts".into(),
        length: 8,
        applied: true,
    }]);
    p
}

fn blocks(p: &mut Program) {
    let bytes: Arc<[u8]> = (0..40_000u32).map(|n| ((n * n) >> 7) as u8).collect();
    let derived: Arc<[u8]> = b"made of the file".as_slice().into();
    let overlay =
        Arc::make_mut(&mut p.spaces).add_overlay(".comment", SpaceId::OTHER).expect("room");
    Arc::make_mut(&mut p.spaces).add_memory("ports", 12, 2).expect("room");
    let part = |offset, length| BlockSource::Bytes { bytes: Arc::clone(&bytes), offset, length };
    let whole = BlockSource::Bytes { bytes: derived, offset: 0, length: 16 };
    for (name, start, length, source) in [
        (".text", Address::ram(STARTS[0]), SIZE, part(100, SIZE as usize)),
        (".data", Address::ram(STARTS[1]), SIZE, part(10_000, 0x123)),
        (".bss", Address::ram(0x10_0000), 0x4000, BlockSource::Zero),
        ("hole", Address::ram(0x20_0000), u64::MAX >> 8, BlockSource::Uninitialized),
        (".comment", Address::new(overlay, 0), 16, whole),
    ] {
        let mut block = MemoryBlock::new(name, start, length, source);
        block.permissions = Permissions { read: true, execute: true, ..Permissions::default() };
        block.comment = "a note".into();
        if name == ".bss" {
            block.kind = BlockKind::ByteMapped;
            block.loaded = false;
        }
        p.memory.add_block(block).expect("blocks do not overlap");
    }
}

fn named(p: &mut Program, name: &str, kind: TypeKind) -> TypeId {
    p.types.add(DataType {
        category: "/made/up".into(),
        name: name.into(),
        length: Some(12),
        alignment: 4,
        description: "what for".into(),
        kind,
        used: true,
    })
}

fn types(p: &mut Program) {
    let int = p.types.builtin("int");
    let pointer = p.types.pointer_to(int);
    let field = |offset, name: &str, bits| Field {
        offset,
        data_type: int,
        length: 4,
        name: name.into(),
        comment: "".into(),
        bits,
    };
    let fields = vec![field(0, "a", None), field(4, "flag", Some((3, 2)))];
    named(p, "s/t", TypeKind::Struct { fields: fields.clone(), packed: true });
    named(p, "u", TypeKind::Union { fields });
    named(p, "e", TypeKind::Enum { values: vec![("LOW".into(), -5, "note".into())] });
    named(p, "t", TypeKind::Typedef(pointer));
    let parameters = vec![SignatureParameter { name: "".into(), data_type: pointer }];
    let function = FunctionType {
        return_type: int,
        parameters,
        convention: Some("__stdcall".into()),
        varargs: true,
        no_return: true,
    };
    named(p, "f", TypeKind::Function(function));
    p.types.array_of(pointer, 7);
}

fn storage(seed: u64) -> Storage {
    let piece = |space, offset| StoragePiece { address: Address::new(space, offset), size: 8 };
    match seed % 4 {
        0 => Storage::Unassigned,
        1 => Storage::Void,
        2 => Storage::at(Address::stack(-(seed as i64 % 64)), 4),
        _ => Storage::Pieces(vec![piece(SpaceId::REGISTER, 0x38), piece(SpaceId::REGISTER, seed)]),
    }
}

fn source(seed: u64) -> SourceType {
    use SourceType::{Analysis, Default, Imported, UserDefined};
    [Default, Analysis, Imported, UserDefined][seed as usize % 4]
}

/// One edit of a kind, with two numbers to vary it.
pub fn apply(p: &mut Program, kind: u8, a: u64, b: u64) {
    let place = at(a);
    match kind % 12 {
        0 => comment(p, place, a, b),
        1 => {
            let _ = p.memory.write(place, &b.to_le_bytes());
        }
        2 | 3 => symbol(p, place, a, b),
        4 | 5 => function(p, place, a, b),
        6 => reference(p, place, a, b),
        7 => data_type(p, a, b),
        8 => listing(p, place, a, b),
        9 => {
            let value = [FlowOverride::Call, FlowOverride::None, FlowOverride::Return];
            p.set_flow_override(place, value[b as usize % 3]);
        }
        10 => {
            if let Some(range) = AddressRange::with_length(place, b % 90 + 1) {
                p.set_mode(range, (b % 3) as u8);
                p.protected.insert(range);
            }
        }
        _ => {
            p.entry_points.insert(place, ());
            if b.is_multiple_of(50) {
                p.warn(format!("warning {b}"));
            }
        }
    }
}

fn comment(p: &mut Program, place: Address, a: u64, b: u64) {
    let key = (place, CommentKind::ALL[a as usize % 5]);
    if b.is_multiple_of(4) {
        p.comments.remove(&key);
    } else {
        p.comments.insert(key, format!("comment {b}\n\0 „{a}“").into());
    }
}

fn symbol(p: &mut Program, place: Address, a: u64, b: u64) {
    let some = SymbolId(b % (p.symbols.last_id() + 1));
    match b % 5 {
        0 => {
            p.symbols.namespace(&format!("space{}", a % 9), SymbolId::GLOBAL, SymbolKind::Class);
        }
        1 => {
            if p.symbols.get(some).is_some_and(|symbol| symbol.kind == SymbolKind::Label) {
                p.symbols.remove(some);
            }
        }
        2 => {
            p.symbols.edit(some, |symbol| symbol.name = format!("renamed{a}").into());
        }
        3 => {
            p.symbols.add(Symbol {
                name: format!("n{b}").into(),
                address: Address::external(a),
                kind: SymbolKind::Label,
                parent: some,
                source: source(a),
                primary: false,
                external_entry: a.is_multiple_of(2),
                pinned: b.is_multiple_of(3),
            });
        }
        _ => {
            let id = p.add_label(place, &format!("label{b}"), SymbolId::GLOBAL, source(b));
            p.symbols.make_primary(id);
        }
    }
}

fn function(p: &mut Program, place: Address, a: u64, b: u64) {
    let known = p.functions.iter().nth(b as usize % p.functions.len().max(1)).map(|f| f.entry);
    let int = p.types.builtin("int");
    match (known, b % 12) {
        (Some(entry), 0) => {
            p.remove_function(entry);
        }
        (Some(entry), 1..6) => {
            p.functions.edit(entry, |function| vary(function, a, b, int));
        }
        _ => {
            let ranges =
                [AddressRange::with_length(place, 40), AddressRange::with_length(at(b), 9)];
            p.add_function(place, ranges.into_iter().flatten().collect::<AddressSet>());
        }
    }
}

fn vary(function: &mut Function, a: u64, b: u64, data_type: TypeId) {
    let id = function.new_variable_id();
    function.signature.return_storage = storage(a);
    function.signature.convention = a.is_multiple_of(2).then(|| "__cdecl".into());
    function.signature.varargs = b.is_multiple_of(2);
    function.no_return = a.is_multiple_of(3);
    function.inline = a.is_multiple_of(5);
    function.stack_purge = (a % 2 == 1).then_some(-(b as i32 % 9));
    function.call_fixup = b.is_multiple_of(3).then(|| "fixup".into());
    function.thunk_of = b.is_multiple_of(7).then(|| Address::external(b));
    function.tags = (0..b % 3).map(|n| Arc::from(format!("tag{n}"))).collect();
    if function.signature.parameters.len() > 3 {
        function.signature.parameters.clear();
        function.locals.pop();
    }
    function.signature.parameters.push(Parameter {
        name: format!("p{a}").into(),
        data_type,
        storage: storage(b),
        source: source(a),
        automatic: b % 2 == 1,
        id,
    });
    function.locals.push(LocalVariable {
        name: "".into(),
        data_type,
        storage: storage(a),
        first_use: b as u32,
        hash: a | 1 << 63,
        source: source(b),
        type_locked: a.is_multiple_of(2),
        id,
    });
}

fn reference(p: &mut Program, place: Address, a: u64, b: u64) {
    let kinds = [
        RefType::Flow(FlowType::ConditionalCall),
        RefType::Read,
        RefType::ReadWriteInd,
        RefType::Thunk,
        RefType::Param,
    ];
    match b % 4 {
        0 => p.references.remove_from(place, place.wrapping_add(0x100)),
        1 => p.add_reference(place, Address::stack(-8), RefType::Write, -1, source(b)),
        _ => p.add_reference(place, at(b * 7), kinds[a as usize % 5], (b % 3) as i8, source(a)),
    }
}

fn data_type(p: &mut Program, a: u64, b: u64) {
    let some = TypeId(b as u32 % (p.types.last_id() + 1));
    match b % 4 {
        0 => {
            p.types.pointer_to(some);
        }
        1 => {
            named(p, &format!("alias{a}"), TypeKind::Typedef(some));
        }
        2 => {
            if let Some(known) = p.types.at_path(&format!("/made/up/alias{}", a % 5)) {
                p.types.remove(known);
            }
        }
        _ => {
            let Some(known) = p.types.at_path("/made/up/e") else { return };
            let values = (0..a % 4).map(|n| (Arc::from(format!("V{n}")), n as i64, "".into()));
            let kind = TypeKind::Enum { values: values.collect() };
            let old = DataType::clone(p.types.get(known).expect("is there"));
            p.types.replace(known, DataType { kind, ..old });
        }
    }
}

fn listing(p: &mut Program, place: Address, a: u64, b: u64) {
    match b % 4 {
        0 => {
            p.listing.instructions.remove(&place);
            p.clear_data(place);
        }
        1 => {
            let data_type = p.types.builtin("uint");
            p.define_data(place, data_type, 4);
        }
        _ => {
            let flows = [FlowType::FallThrough, FlowType::ConditionalJump, FlowType::Terminator];
            let instruction = Instruction {
                length: (a % 15 + 1) as u8,
                delay_slots: (a % 2) as u8,
                in_delay_slot: a.is_multiple_of(3),
                mode: (b % 2) as u8,
                flow: flows[a as usize % 3],
                flow_override: FlowOverride::None,
            };
            p.listing.instructions.insert(place, instruction);
        }
    }
}

/// What of two programs differs, by name.
pub fn differences(a: &Program, b: &Program) -> Vec<&'static str> {
    let parts = [
        ("info", a.info == b.info),
        ("spaces", a.spaces == b.spaces),
        ("memory", a.memory == b.memory),
        ("listing", a.listing == b.listing),
        ("symbols", a.symbols == b.symbols),
        ("functions", a.functions == b.functions),
        ("references", a.references == b.references),
        ("comments", a.comments == b.comments),
        ("types", a.types == b.types),
        ("modes", a.modes == b.modes),
        ("relocations", a.relocations == b.relocations),
        ("entry points", a.entry_points == b.entry_points),
        ("protected", a.protected == b.protected),
        ("the whole", a == b),
    ];
    parts.into_iter().filter(|(_, same)| !same).map(|(name, _)| name).collect()
}
