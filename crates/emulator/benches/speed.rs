//! How fast functions are emulated: instructions a second, by the processor.

#![allow(missing_docs)] // of what `criterion_group!` makes

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use decompiler::Language;
use emulator::{Argument, Emulator, Limits, Request, Stop};
use program::SpaceId;

/// A function of the fixtures and what it is called with.
const CALLS: [(&str, &str, &[u64]); 6] = [
    ("x64.O2", "fibonacci", &[22]),
    ("x64.O2", "queens", &[7]),
    ("x64.O0", "queens", &[7]),
    ("aarch64.O2", "queens", &[7]),
    ("arm.O2", "queens", &[7]),
    ("mips.O2", "fibonacci", &[22]),
];

fn calls(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("instructions");
    for (build, function, arguments) in CALLS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../fixtures/routines")
            .join(format!("{build}.so"));
        let bytes = std::fs::read(&path).expect("the fixture is there");
        let mut program = loader::load("routines", "", bytes.into(), &Default::default())
            .expect("the fixture loads");
        let info = &program.info;
        let language = Language::open(&info.language_id, &info.compiler_spec_id)
            .expect("the language is built in");
        language.settle_entries(&mut program);
        let mut named = program.symbols.named(function).map(|(_, symbol)| symbol.address);
        let entry = named
            .find(|at| at.space == SpaceId::RAM && program.memory.contains(*at))
            .expect("the function is there");
        let argument = |value: &u64| Argument::Integer { value: *value, size: None };
        let request = Request {
            entry: entry.offset,
            arguments: arguments.iter().map(argument).collect(),
            ..Request::default()
        };
        let limits = Limits { instructions: u64::MAX, ..Limits::default() };
        let emulator = Emulator::new(&program, &language).expect("it can be emulated");
        let outcome = emulator.run(&request, &limits);
        assert_eq!(outcome.stop, Stop::Returned, "{build} {function}");
        group.throughput(Throughput::Elements(outcome.instructions));
        group.bench_function(format!("{function} {build}"), |bencher| {
            bencher.iter(|| black_box(emulator.run(&request, &limits)));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = calls
}
criterion_main!(benches);
