//! Code that fails, never ends, or asks for what is not there: each run ends with its reason.
//! The assembly stands beside its bytes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use decompiler::Language;
use emulator::{
    Access, AnsweredBy, Argument, Emulator, Hook, HookAction, Limits, Outcome, Request, Stop,
    ValueKind,
};
use program::{
    Address, BlockSource, DataOrganization, MemoryBlock, Permissions, Program, ProgramInfo,
};

use crate::subject::{fixtures, load, place};

const CODE: u64 = 0x40_1000;
const DATA: u64 = 0x50_0000;

/// A program for x86-64: code, and 16 MB of zeros that cannot be executed.
fn program(code: &[u8], write: bool) -> (Program, Language) {
    let language = Language::open("x86:LE:64:default", "gcc").expect("it is built in");
    let info = ProgramInfo {
        language_id: language.language_id().to_string(),
        compiler_spec_id: language.compiler_spec_id().to_string(),
        address_bits: 64,
        ..ProgramInfo::default()
    };
    let mut program = Program::new(info, false, DataOrganization::default());
    let source = BlockSource::Bytes { bytes: code.into(), offset: 0, length: code.len() };
    let mut block = MemoryBlock::new(".text", Address::ram(CODE), 0x1000, source);
    block.permissions = Permissions { read: true, execute: true, write, ..Permissions::default() };
    program.memory.add_block(block).expect("it fits");
    let mut block = MemoryBlock::new(".bss", Address::ram(DATA), 16 << 20, BlockSource::Zero);
    block.permissions = Permissions { read: true, write: true, ..Permissions::default() };
    program.memory.add_block(block).expect("it fits");
    (program, language)
}

fn run_with(code: &[u8], request: Request, limits: &Limits) -> Outcome {
    let (program, language) = program(code, false);
    let emulator = Emulator::new(&program, &language).expect("it can be emulated");
    emulator.run(&Request { entry: CODE, ..request }, limits)
}

fn run(code: &[u8]) -> Outcome {
    run_with(code, Request::default(), &Limits::default())
}

/// inc eax; jmp back
const COUNTING: &[u8] = &[0xff, 0xc0, 0xeb, 0xfc];
/// call itself
const RECURSIVE: &[u8] = &[0xe8, 0xfb, 0xff, 0xff, 0xff];

#[test]
fn a_jump_to_itself_is_an_endless_loop() {
    let outcome = run(&[0x90, 0xeb, 0xfe]); // nop; jmp itself
    assert_eq!(outcome.stop, Stop::EndlessLoop(CODE + 1));
}

#[test]
fn instructions_are_counted_and_bounded_exactly() {
    for most in [1, 2, 999, 1000] {
        let limits = Limits { instructions: most, ..Limits::default() };
        let outcome = run_with(COUNTING, Request::default(), &limits);
        assert_eq!(outcome.stop, Stop::InstructionLimit);
        assert_eq!(outcome.instructions, most);
        let rax = outcome.registers.iter().find(|register| register.name == "RAX");
        let counted = rax.and_then(|register| register.bytes.last_chunk::<4>().copied());
        let half = most.div_ceil(2) as u32;
        assert_eq!(counted.map(u32::from_be_bytes), Some(half), "{most}");
    }
}

#[test]
fn a_repeated_instruction_is_bounded_too() {
    // mov rcx,-1; rep stosb to the data, which ends
    let code = [0x48, 0xc7, 0xc1, 0xff, 0xff, 0xff, 0xff, 0xf3, 0xaa];
    let arguments = vec![Argument::Integer { value: DATA, size: None }];
    let limits = Limits { instructions: 5000, ..Limits::default() };
    let outcome = run_with(&code, Request { arguments, ..Request::default() }, &limits);
    assert_eq!(outcome.stop, Stop::InstructionLimit);
}

#[test]
fn time_is_bounded_and_a_run_can_be_cancelled() {
    let limits =
        Limits { instructions: u64::MAX, time: Duration::from_millis(50), ..Limits::default() };
    let began = Instant::now();
    assert_eq!(run_with(COUNTING, Request::default(), &limits).stop, Stop::TimeLimit);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let cancel = Some(Arc::new(AtomicBool::new(true)));
    let limits = Limits { instructions: u64::MAX, cancel, ..Limits::default() };
    assert_eq!(run_with(COUNTING, Request::default(), &limits).stop, Stop::Cancelled);
}

#[test]
fn recursion_without_end_fills_the_stack_or_is_too_deep() {
    let limits = Limits { depth: u32::MAX, ..Limits::default() };
    let outcome = run_with(RECURSIVE, Request::default(), &limits);
    assert!(matches!(outcome.stop, Stop::StackOverflow { .. }), "{:?}", outcome.stop);
    assert_eq!(outcome.address, CODE);
    let outcome = run(RECURSIVE);
    assert_eq!(outcome.stop, Stop::CallDepth);
    assert_eq!(outcome.call_count, 10_001);
    assert_eq!(outcome.calls.len(), 1000);
}

#[test]
fn reads_writes_and_jumps_to_nowhere_say_where() {
    // mov rax,[0xdad0000]
    let outcome = run(&[0x90, 0x48, 0x8b, 0x04, 0x25, 0x00, 0x00, 0xad, 0x0d]);
    assert_eq!(outcome.stop, Stop::Unmapped { address: 0xdad_0000, access: Access::Read });
    assert_eq!((outcome.address, outcome.instructions), (CODE + 1, 1));
    // mov [0xdad0000],rax
    let outcome = run(&[0x48, 0x89, 0x04, 0x25, 0x00, 0x00, 0xad, 0x0d]);
    assert_eq!(outcome.stop, Stop::Unmapped { address: 0xdad_0000, access: Access::Write });
    // mov [CODE],rax
    let outcome = run(&[0x48, 0x89, 0x04, 0x25, 0x00, 0x10, 0x40, 0x00]);
    assert_eq!(outcome.stop, Stop::Forbidden { address: CODE, access: Access::Write });
    // jmp rax
    let outcome = run(&[0xff, 0xe0]);
    assert_eq!(outcome.stop, Stop::Unmapped { address: 0, access: Access::Execute });
    // jmp rdi
    let arguments = vec![Argument::Integer { value: DATA, size: None }];
    let request = Request { arguments, ..Request::default() };
    let outcome = run_with(&[0xff, 0xe7], request, &Limits::default());
    assert_eq!(outcome.stop, Stop::Forbidden { address: DATA, access: Access::Execute });
}

#[test]
fn what_is_no_instruction_or_not_known_ends_the_run() {
    let outcome = run(&[0x90, 0x06]); // nop; push es, which 64-bit code does not have
    assert!(matches!(outcome.stop, Stop::BadInstruction { address, .. } if address == CODE + 1));
    let outcome = run(&[0x0f, 0x05]); // syscall
    assert_eq!(outcome.stop, Stop::UserOperation { name: "syscall".into() });
    // xor edx,edx; xor ecx,ecx; div ecx
    let outcome = run(&[0x31, 0xd2, 0x31, 0xc9, 0xf7, 0xf1]);
    assert_eq!((outcome.stop, outcome.address), (Stop::DivisionByZero, CODE + 4));
}

#[test]
fn memory_is_bounded() {
    // mov byte [rdi],1; add rdi,0x1000; jmp back
    let code = [0xc6, 0x07, 0x01, 0x48, 0x81, 0xc7, 0x00, 0x10, 0x00, 0x00, 0xeb, 0xf4];
    let arguments = vec![Argument::Integer { value: DATA, size: None }];
    let limits = Limits { memory: 1 << 20, ..Limits::default() };
    let outcome = run_with(&code, Request { arguments, ..Request::default() }, &limits);
    assert_eq!(outcome.stop, Stop::MemoryLimit);
    assert!(outcome.memory.len() < 256);
}

#[test]
fn code_that_changes_itself_runs_as_changed() {
    // mov byte [rip+1],42; mov eax,1; ret
    let code = [0xc6, 0x05, 1, 0, 0, 0, 42, 0xb8, 1, 0, 0, 0, 0xc3];
    let (program, language) = program(&code, true);
    let emulator = Emulator::new(&program, &language).expect("it can be emulated");
    let outcome = emulator.run(&Request { entry: CODE, ..Request::default() }, &Limits::default());
    assert_eq!(outcome.stop, Stop::Returned);
    assert_eq!(outcome.returned.and_then(|returned| returned.integer), Some(42));
    assert_eq!(outcome.instructions, 3);
    assert_eq!((outcome.memory[0].address, &*outcome.memory[0].bytes), (CODE + 8, &[42][..]));
    assert_eq!(program.memory.read_uint(Address::ram(CODE + 8), 1), Some(1), "it is a copy");
}

#[test]
fn runs_begin_with_what_is_given_and_stop_where_asked() {
    // mov eax,[rsi]; add eax,ebx; nop
    let code = [0x8b, 0x06, 0x01, 0xd8, 0x90];
    let request = Request {
        registers: vec![("RBX".into(), 5), ("rsi".into(), 0x9000)],
        memory: vec![(0x9000, vec![7, 0, 0, 0])],
        stop: vec![CODE + 4],
        watch: vec!["EAX".into()],
        ..Request::default()
    };
    let outcome = run_with(&code, request, &Limits::default());
    assert_eq!((outcome.stop, outcome.instructions), (Stop::StopAddress(CODE + 4), 2));
    assert_eq!(
        (&*outcome.registers[0].name, &*outcome.registers[0].bytes),
        ("EAX", &[0, 0, 0, 12][..])
    );
    let request = Request { registers: vec![("nothing".into(), 5)], ..Request::default() };
    let outcome = run_with(&code, request, &Limits::default());
    assert_eq!(outcome.stop, Stop::Refused("no register is called nothing".into()));
}

#[test]
fn imports_are_answered_by_hooks_or_models_or_end_the_run() {
    let (program, language) = load(&fixtures("routines").join("x64.O2.so"), None);
    let emulator = Emulator::new(&program, &language).expect("it can be emulated");
    let call = |hooks: Vec<Hook>| {
        let request = Request {
            entry: place(&program, "with_heap"),
            arguments: vec![Argument::Integer { value: 3, size: None }],
            returns: ValueKind::Integer(4),
            hooks,
            ..Request::default()
        };
        emulator.run(&request, &Limits::default())
    };
    let hook = |import: &str, action| Hook { address: None, import: Some(import.into()), action };
    let outcome = call(Vec::new());
    assert_eq!(outcome.stop, Stop::Returned);
    let seen: Vec<_> = outcome.calls.iter().map(|c| (c.name.as_deref(), &c.answered_by)).collect();
    assert_eq!(seen, [(Some("malloc"), &AnsweredBy::Model), (Some("free"), &AnsweredBy::Model)]);
    assert_eq!(outcome.calls[0].arguments, [12]);
    // No memory: the function says so.
    let outcome = call(vec![hook("malloc", HookAction::Return(0))]);
    assert_eq!(outcome.returned.and_then(|r| r.integer), Some(0xffff_ffff));
    let outcome = call(vec![hook("free", HookAction::Stop)]);
    assert!(matches!(outcome.stop, Stop::Import { ref name, .. } if name == "free"));
    let outcome = call(vec![hook("printf", HookAction::Return(0))]);
    assert_eq!(outcome.stop, Stop::Refused("no import is called printf".into()));
}
