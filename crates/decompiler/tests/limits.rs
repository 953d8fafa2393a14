//! What the decompiler does when a run goes wrong: the answer says so, and the next one works.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use decompiler::{Decompiler, Limits};
use program::data_type::Field;
use program::{
    Address, AddressRange, BlockSource, DataOrganization, DataType, MemoryBlock, Parameter,
    Permissions, Program, ProgramInfo, SourceType, Storage, TypeKind,
};

const BASE: u64 = 0x40_1000;

/// An x86-64 program of one executable block, with functions at these offsets.
fn program(code: &[u8], functions: &[u64]) -> Program {
    let info = ProgramInfo {
        language_id: "x86:LE:64:default".to_string(),
        compiler_spec_id: "gcc".to_string(),
        address_bits: 64,
        ..ProgramInfo::default()
    };
    let mut program = Program::new(info, false, DataOrganization::default());
    let source = BlockSource::Bytes { bytes: code.into(), offset: 0, length: code.len() };
    let mut block = MemoryBlock::new(".text", Address::ram(BASE), code.len() as u64, source);
    block.permissions = Permissions { read: true, execute: true, ..Permissions::default() };
    program.memory.add_block(block).unwrap();
    for offset in functions {
        let entry = Address::ram(BASE + offset);
        let end = Address::ram(BASE + code.len() as u64 - 1);
        let body = AddressRange::new(entry, end).into_iter().collect();
        program.add_function(entry, body);
    }
    program
}

/// `lea eax,[rdi+rsi]; ret`
const ADD: [u8; 4] = [0x8d, 0x04, 0x37, 0xc3];

/// Code that is easy to read and slow to simplify: many branches that all change many variables.
fn slow_code() -> Vec<u8> {
    let mut code = Vec::new();
    for round in 0..3000_u32 {
        // imul eax,edi,round; xor ecx,eax; add edx,ecx; test dl,1; jz +2; add esi,edx
        code.extend([0x69, 0xc7]);
        code.extend(round.to_le_bytes());
        code.extend([0x31, 0xc1, 0x01, 0xca, 0xf6, 0xc2, 0x01, 0x74, 0x02, 0x01, 0xd6]);
        // mov [rsp-8*k],esi; add edi,[rsp-8*(k+1)]
        let slot = (round % 12 * 8) as u8;
        code.extend([0x89, 0x74, 0x24, 0x80 | slot, 0x03, 0x7c, 0x24, 0x88 | slot]);
    }
    code.extend([0x89, 0xf0, 0xc3]);
    code
}

fn running() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(false))
}

#[test]
fn a_function_decompiles() {
    let program = program(&ADD, &[0]);
    let decompiler = Decompiler::new();
    let result = decompiler.decompile(&program, Address::ram(BASE), &Limits::default(), &running());
    assert!(result.completed, "{:?}", result.warnings);
    assert!(result.c.contains("return param_1 + param_2;"), "{}", result.c);
    assert_eq!(result.signature, "int FUN_00401000(int param_1,int param_2);");
    assert_eq!(result.parameters.len(), 2);
    assert_eq!(result.parameters[0].name, "param_1");
    let joined: String = result.tokens.iter().map(|token| token.text.as_str()).collect();
    assert_eq!(joined, result.c);
    assert!(result.tokens.iter().any(|token| token.address == Some(Address::ram(BASE))));
    let last = result.tokens.last().unwrap();
    assert!(last.line > 3 && last.line <= result.line_count() + 1);
}

#[test]
fn a_deadline_ends_the_run_and_the_next_one_works() {
    let mut code = ADD.to_vec();
    code.extend(slow_code());
    let program = program(&code, &[0, 4]);
    let decompiler = Decompiler::new();
    let limits = Limits { timeout: Duration::from_millis(1), ..Limits::default() };
    let start = Instant::now();
    let result = decompiler.decompile(&program, Address::ram(BASE + 4), &limits, &running());
    assert!(!result.completed);
    assert_eq!((result.c.as_str(), result.tokens.len()), ("", 0));
    assert!(result.warnings[0].contains("timed out"), "{:?}", result.warnings);
    assert!(start.elapsed() < Duration::from_secs(20));
    let next = decompiler.decompile(&program, Address::ram(BASE), &Limits::default(), &running());
    assert!(next.completed && next.c.contains("param_1"), "{:?}", next.warnings);
}

#[test]
fn a_request_ends_the_run() {
    let code = slow_code();
    let program = program(&code, &[0]);
    let decompiler = Decompiler::new();
    let cancel = running();
    let result = std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            decompiler.decompile(&program, Address::ram(BASE), &Limits::default(), &cancel)
        });
        std::thread::sleep(Duration::from_millis(20));
        cancel.store(true, Ordering::Relaxed);
        run.join().unwrap()
    });
    assert!(!result.completed);
    assert!(result.warnings[0].contains("cancelled"), "{:?}", result.warnings);
}

#[test]
fn where_no_function_starts_nothing_is_decompiled() {
    let program = program(&ADD, &[0]);
    let decompiler = Decompiler::new();
    for entry in [Address::ram(BASE + 1), Address::ram(0x10), Address::external(3), Address::MAX] {
        let result = decompiler.decompile(&program, entry, &Limits::default(), &running());
        assert!(!result.completed && !result.warnings.is_empty());
    }
    let next = decompiler.decompile(&program, Address::ram(BASE), &Limits::default(), &running());
    assert!(next.completed);
}

#[test]
fn an_unknown_language_is_told() {
    let mut program = program(&ADD, &[0]);
    Arc::make_mut(&mut program.info).language_id = "z80:LE:16:default".to_string();
    let decompiler = Decompiler::new();
    let result = decompiler.decompile(&program, Address::ram(BASE), &Limits::default(), &running());
    assert!(!result.completed);
    assert!(result.warnings[0].contains("z80"), "{:?}", result.warnings);
}

#[test]
fn garbage_does_not_stop_the_decompiler() {
    let mut seed = 0x1234_5678_9abc_def1_u64;
    let decompiler = Decompiler::new();
    let limits = Limits { timeout: Duration::from_secs(5), ..Limits::default() };
    for _ in 0..40 {
        let code: Vec<u8> = (0..400)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (seed >> 53) as u8
            })
            .collect();
        let program = program(&code, &[0, 100, 200]);
        for offset in [0, 100, 200] {
            let entry = Address::ram(BASE + offset);
            let result = decompiler.decompile(&program, entry, &limits, &running());
            assert!(result.completed || !result.warnings.is_empty());
            decompiler.jump_tables(&program, entry, &limits, &running());
        }
    }
    let good = program(&ADD, &[0]);
    let next = decompiler.decompile(&good, Address::ram(BASE), &Limits::default(), &running());
    assert!(next.completed && next.c.contains("param_1"));
}

#[test]
fn threads_decompile_side_by_side_and_agree() {
    let mut code = ADD.to_vec();
    code.extend([0x89, 0xf8, 0x29, 0xf0, 0xc3]);
    let program = program(&code, &[0, 4]);
    let decompiler = Decompiler::new();
    let texts: Vec<String> = std::thread::scope(|scope| {
        let run = |offset| {
            let (decompiler, program) = (&decompiler, &program);
            scope.spawn(move || {
                let entry = Address::ram(BASE + offset);
                decompiler.decompile(program, entry, &Limits::default(), &running()).c
            })
        };
        let threads: Vec<_> = (0..6).map(|index| run(index % 2 * 4)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(texts.iter().all(|text| !text.is_empty()));
    assert_eq!(texts[0], texts[2]);
    assert_eq!(texts[1], texts[5]);
}

/// Code that divides by zero is decompiled like any other: the division stays as it is.
#[test]
fn a_division_by_a_constant_zero_is_shown() {
    let codes: [&[u8]; 3] = [
        // mov eax,7; xor edx,edx; xor ecx,ecx; div ecx; ret
        &[0xb8, 7, 0, 0, 0, 0x31, 0xd2, 0x31, 0xc9, 0xf7, 0xf1, 0xc3],
        // mov eax,7; cdq; mov dword [rsp-8],0; idiv dword [rsp-8]; mov eax,edx; ret
        &[
            0xb8, 7, 0, 0, 0, 0x99, 0xc7, 0x44, 0x24, 0xf8, 0, 0, 0, 0, 0xf7, 0x7c, 0x24, 0xf8,
            0x89, 0xd0, 0xc3,
        ],
        // mov eax,7; xor ecx,ecx; test ecx,ecx; jnz +2; jmp +0; cdq; idiv ecx; ret
        &[0xb8, 7, 0, 0, 0, 0x31, 0xc9, 0x85, 0xc9, 0x75, 2, 0xeb, 0, 0x99, 0xf7, 0xf9, 0xc3],
    ];
    for code in codes {
        let program = program(code, &[0]);
        let decompiler = Decompiler::new();
        let result =
            decompiler.decompile(&program, Address::ram(BASE), &Limits::default(), &running());
        assert!(result.completed, "{:?}", result.warnings);
        assert!(result.c.contains("/ 0") || result.c.contains("% 0"), "{}", result.c);
    }
}

/// A pointer that is one way to see a union defeats the engine where code counts with it.
#[test]
fn what_the_engine_cannot_follow_is_left_out_with_a_warning() {
    // mov eax,[rdi+rsi*4]; ret
    let code = [0x8b, 0x04, 0xb7, 0xc3];
    let mut program = program(&code, &[0]);
    let types = &mut program.types;
    let (int, long) = (types.builtin("int"), types.builtin("long"));
    let pointer = types.pointer_to(int);
    let field = |data_type, name: &str| Field {
        offset: 0,
        data_type,
        length: 8,
        name: name.into(),
        comment: "".into(),
        bits: None,
    };
    let union = types.add(DataType {
        category: "/".into(),
        name: "Either".into(),
        length: Some(8),
        alignment: 8,
        description: "".into(),
        kind: TypeKind::Union { fields: vec![field(pointer, "place"), field(long, "number")] },
        used: true,
    });
    let parameter = |data_type, name: &str| Parameter {
        name: name.into(),
        data_type,
        storage: Storage::Unassigned,
        source: SourceType::UserDefined,
        automatic: false,
        id: 0,
    };
    let parameters = vec![parameter(union, "either"), parameter(long, "index")];
    program.functions.edit(Address::ram(BASE), |function| {
        function.signature.return_type = int;
        function.signature.parameters = parameters;
        function.signature.source = SourceType::UserDefined;
    });
    let decompiler = Decompiler::new();
    let result = decompiler.decompile(&program, Address::ram(BASE), &Limits::default(), &running());
    assert!(result.completed, "{:?}", result.warnings);
    assert!(result.c.contains("index"), "{}", result.c);
    assert!(result.warnings.iter().any(|w| w.contains("unions")), "{:?}", result.warnings);
}
