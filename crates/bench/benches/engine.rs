//! How long the engine's steps take on the fixtures: load, decode, analyse,
//! decompile, one call, one page of a scan.
// The benchmark macros write public functions without a text.
#![allow(missing_docs)]

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use api::{Bridge, BridgeOptions, CallContext, Transport};
use bench::subject::{Depth, Opened};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use decompiler::{Decoder, Decompiler, Language, Limits};
use engine::{AnalysisKind, OpenOptions, Session};
use program::{Address, Program};
use serde_json::{Value, json};

/// The fixture that the benches run on.
const FIXTURE: &str = "inventory.x64.O2";

fn main_of(program: &Program) -> Address {
    let (_, symbol) = program.symbols.named("main").next().expect("the fixture has a main");
    symbol.address
}

fn load_and_analyse(criterion: &mut Criterion) {
    let path = testkit::fixture(FIXTURE);
    let open = |depth| Opened::open(&path, depth).expect("the fixture opens");
    criterion.bench_function("load", |bench| bench.iter(|| open(Depth::Loaded)));
    criterion.bench_function("load and analyse", |bench| bench.iter(|| open(Depth::Analysed)));
}

fn decode(criterion: &mut Criterion) {
    let opened = Opened::open(&testkit::fixture(FIXTURE), Depth::Loaded).expect("opens");
    let info = &opened.program.info;
    let language = Language::open(&info.language_id, &info.compiler_spec_id).expect("built in");
    let text = opened.program.memory.block_named(".text").expect("a .text");
    let mut bytes = vec![0; text.length as usize];
    opened.program.memory.read(text.start, &mut bytes).expect("code can be read");
    let mut decoder = Decoder::new(&language);
    let context = language.default_context();

    let mut group = criterion.benchmark_group("decode");
    group.throughput(Throughput::Bytes(text.length));
    group.bench_function(".text", |bench| {
        bench.iter(|| {
            let mut at = 0;
            while at < bytes.len() {
                let address = text.start.offset + at as u64;
                let decoded = decoder.decode(&bytes[at..], address, context);
                at += decoded.map_or(1, |decoded| decoded.length as usize).max(1);
                black_box(at);
            }
        });
    });
    group.finish();
}

fn decompile(criterion: &mut Criterion) {
    let opened = Opened::open(&testkit::fixture(FIXTURE), Depth::Analysed).expect("opens");
    let entry = main_of(&opened.program);
    let decompiler = Decompiler::new();
    criterion.bench_function("decompile main", |bench| {
        bench.iter(|| {
            let cancel = Arc::new(AtomicBool::new(false));
            decompiler.decompile(&opened.program, entry, &Limits::default(), &cancel)
        });
    });
}

fn calls(criterion: &mut Criterion) {
    let session = Session::open(&testkit::fixture(FIXTURE), &OpenOptions::default());
    let session = session.expect("the fixture opens");
    session.start_analysis(AnalysisKind::Ghidra, None).expect("nothing else runs");
    assert!(session.wait_for_analysis(std::time::Duration::from_secs(60)));
    let entry = format!("{:x}", main_of(&session.snapshot()).offset);
    let bridge = Bridge::new(session, BridgeOptions::default());
    let call = |method: &str, params: Value| {
        let context = CallContext::new(Transport::WebSocket);
        bridge.call(method, params, &context).unwrap_or_else(|error| panic!("{error:?}"))
    };
    let read = json!({"selector": {"address": entry}, "length": 64});
    criterion.bench_function("call memory.read", |bench| {
        bench.iter(|| call("memory.read", read.clone()));
    });
    let page = json!({"page": {"limit": 100}});
    criterion.bench_function("page of symbol.list", |bench| {
        bench.iter(|| call("symbol.list", page.clone()));
    });
}

criterion_group!(benches, load_and_analyse, decode, decompile, calls);
criterion_main!(benches);
