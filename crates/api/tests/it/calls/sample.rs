//! The sample program: two functions that call each other's kin, data, names and comments.

use std::sync::Arc;

use program::{
    Address, AddressRange, AddressSet, BlockSource, CommentKind, DataOrganization, FlowType,
    Instruction, MemoryBlock, Permissions, Program, ProgramInfo, RefType, SourceType, SpaceId,
    SymbolId,
};

const CODE: &[u8] = &[
    0x55, // 1000 PUSH RBP
    0x48, 0x89, 0xe5, // 1001 MOV RBP,RSP
    0xe8, 0x17, 0x00, 0x00, 0x00, // 1004 CALL 1020
    0x8b, 0x45, 0xec, // 1009 MOV EAX,dword ptr [RBP + -0x14]
    0x5d, // 100c POP RBP
    0xc3, // 100d RET
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    // 100e
    0xc3, // 1020 RET
];

const DATA: &[u8] = b"Hello, world!\0\0\0\x2a\0\0\0\x20\x10\0\0\0\0\0\0";

fn instruction(length: u8, flow: FlowType) -> Instruction {
    Instruction {
        length,
        delay_slots: 0,
        in_delay_slot: false,
        mode: 0,
        flow,
        flow_override: program::FlowOverride::None,
    }
}

fn block(name: &str, start: Address, bytes: &[u8], permissions: Permissions) -> MemoryBlock {
    let length = bytes.len();
    let source = BlockSource::Bytes { bytes: bytes.into(), offset: 0, length };
    let mut block = MemoryBlock::new(name, start, length as u64, source);
    block.permissions = permissions;
    block
}

fn body(start: u64, end: u64) -> AddressSet {
    AddressRange::new(Address::ram(start), Address::ram(end)).into_iter().collect()
}

/// The sample program.
pub(super) fn program() -> Program {
    let info = ProgramInfo {
        name: "sample".to_owned(),
        executable_path: "/bin/sample".to_owned(),
        executable_format: "Raw Binary".to_owned(),
        image_base: 0x1000,
        language_id: "x86:LE:64:default".to_owned(),
        compiler_spec_id: "gcc".to_owned(),
        processor: "x86".to_owned(),
        address_bits: 64,
        ..ProgramInfo::default()
    };
    let mut p = Program::new(info, false, DataOrganization::default());
    memory(&mut p);
    code(&mut p);
    data(&mut p);
    p.comments.insert((Address::ram(0x1000), CommentKind::Plate), "The entry".into());
    p.comments.insert((Address::ram(0x1000), CommentKind::Eol), "saves RBP".into());
    p.comments.insert((Address::ram(0x2000), CommentKind::Pre), "a greeting".into());
    p
}

fn memory(p: &mut Program) {
    let code = Permissions { read: true, execute: true, ..Permissions::default() };
    let data = Permissions { read: true, write: true, ..Permissions::default() };
    let overlay =
        Arc::make_mut(&mut p.spaces).add_overlay(".comment", SpaceId::OTHER).expect("free");
    let blocks = [
        block(".text", Address::ram(0x1000), CODE, code),
        block(".data", Address::ram(0x2000), DATA, data),
        MemoryBlock::new(".bss", Address::ram(0x3000), 0x10, BlockSource::Uninitialized),
        block(".comment", Address::new(overlay, 0), b"GCC", Permissions::default()),
    ];
    for block in blocks {
        p.memory.add_block(block).expect("blocks do not overlap");
    }
}

fn code(p: &mut Program) {
    let listing = [
        (0x1000, 1, FlowType::FallThrough),
        (0x1001, 3, FlowType::FallThrough),
        (0x1004, 5, FlowType::UnconditionalCall),
        (0x1009, 3, FlowType::FallThrough),
        (0x100c, 1, FlowType::FallThrough),
        (0x100d, 1, FlowType::Terminator),
        (0x1020, 1, FlowType::Terminator),
    ];
    for (at, length, flow) in listing {
        p.listing.instructions.insert(Address::ram(at), instruction(length, flow));
    }
    p.add_label(Address::ram(0x1000), "main", SymbolId::GLOBAL, SourceType::Imported);
    p.add_function(Address::ram(0x1000), body(0x1000, 0x100d));
    p.add_function(Address::ram(0x1020), body(0x1020, 0x1020));
    let call = RefType::Flow(FlowType::UnconditionalCall);
    p.add_reference(Address::ram(0x1004), Address::ram(0x1020), call, 0, SourceType::Analysis);
    p.add_reference(
        Address::ram(0x1009),
        Address::ram(0x2000),
        RefType::Read,
        1,
        SourceType::Analysis,
    );
    p.add_reference(
        Address::ram(0x1009),
        Address::stack(-0x14),
        RefType::Read,
        1,
        SourceType::Analysis,
    );
}

fn data(p: &mut Program) {
    let (string, int) = (p.types.builtin("string"), p.types.builtin("int"));
    assert!(p.define_data(Address::ram(0x2000), string, 14));
    assert!(p.define_data(Address::ram(0x2010), int, 4));
    let int_pointer = p.types.pointer_to(int);
    assert!(p.define_data(Address::ram(0x2014), int_pointer, 8));
    let user = SourceType::UserDefined;
    p.add_label(Address::ram(0x2010), "answer", SymbolId::GLOBAL, user);
}

/// Adds a block at 10000 with one item: text, or bytes, of the length asked for.
pub(super) fn add_long_item(p: &mut Program, text: bool, length: u32) {
    let mut bytes = vec![if text { b'a' } else { 1 }; length as usize];
    bytes[length as usize - 1] = 0;
    let data = Permissions { read: true, ..Permissions::default() };
    p.memory.add_block(block(".long", Address::ram(0x1_0000), &bytes, data)).expect("is free");
    let kind = match text {
        true => p.types.builtin("string"),
        false => {
            let byte = p.types.builtin("byte");
            p.types.array_of(byte, length)
        }
    };
    assert!(p.define_data(Address::ram(0x1_0000), kind, length));
}
