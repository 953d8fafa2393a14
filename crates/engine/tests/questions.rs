//! Questions over whole programs: call and flow graphs, linkage, strings, code and C text.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::program::{Address, Program};
use engine::{
    AnalysisKind, CTexts, CallGraph, CallKind, CodeQuery, CodeSearcher, OpenOptions, Relro,
    Session, call_arguments, entropy, exports, flow_graph, has_stack_canary, imports, packer_hints,
    protections, references_into, string_of, strings_used_in, telling_strings,
};

fn analysed(name: &str) -> Session {
    let session = Session::open(&testkit::fixture(name), &OpenOptions::default()).expect(name);
    session.start_analysis(AnalysisKind::Ghidra, None).expect("nothing runs yet");
    assert!(session.wait_for_analysis(Duration::from_secs(120)));
    session
}

fn entry(program: &Program, name: &str) -> Address {
    let named = program.functions.iter().find(|f| program.function_name(f.entry) == name);
    named.unwrap_or_else(|| panic!("no function {name}")).entry
}

#[test]
fn calls_are_the_same_from_both_ends() {
    for name in ["inventory.x64.O2", "inventory.aarch64.O0", "shapes.x64.O0"] {
        let program = analysed(name).snapshot();
        let graph = CallGraph::new(&program);
        let mut ahead = BTreeSet::new();
        for function in program.functions.iter().filter(|f| f.thunk_of.is_none()) {
            for ((callee, kind), sites) in graph.callees(function) {
                ahead.extend(sites.into_iter().map(|site| (function.entry, callee, kind, site)));
            }
        }
        let mut back = BTreeSet::new();
        for callee in program.functions.iter().filter(|f| f.thunk_of.is_none()) {
            for ((caller, kind), sites) in graph.callers(callee.entry) {
                back.extend(sites.into_iter().map(|site| (caller, callee.entry, kind, site)));
            }
        }
        assert!(ahead.len() > 10, "{name}: {} calls", ahead.len());
        assert_eq!(ahead, back, "{name}");
        assert!(ahead.iter().any(|(.., kind, _)| *kind == CallKind::Call));
    }
}

#[test]
fn every_instruction_of_a_function_is_in_one_block() {
    for path in testkit::fixtures() {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let program = analysed(&name).snapshot();
        for function in program.functions.iter() {
            let graph = flow_graph(&program, function);
            let parts = function.body.ranges().iter();
            let all = parts.flat_map(|r| program.listing.instructions.range(r.start..=r.end));
            let instructions: u32 = graph.blocks.iter().map(|block| block.instructions).sum();
            assert_eq!(instructions as usize, all.count(), "{name} {:?}", function.entry);
            assert!(graph.blocks.windows(2).all(|pair| pair[0].end < pair[1].start), "{name}");
            let starts: BTreeSet<Address> = graph.blocks.iter().map(|block| block.start).collect();
            for edge in &graph.edges {
                assert!(starts.contains(&edge.from) && starts.contains(&edge.to), "{edge:?}");
            }
        }
    }
}

#[test]
fn imports_have_their_slots_and_exports_their_names() {
    let program = analysed("inventory.x64.O2").snapshot();
    let graph = CallGraph::new(&program);
    let found = imports(&program, &graph);
    let puts = found.iter().find(|import| import.name == "puts").expect("it is called");
    let slot = puts.slot.expect("its address is kept");
    assert!(program.memory.block_at(slot).expect("in memory").name.contains("got"));
    assert!(graph.caller_count(puts.address) >= 1);
    let library = analysed("libchecksum.x64.O2.stripped.so").snapshot();
    let names: Vec<String> = exports(&library).into_iter().map(|export| export.name).collect();
    assert!(names.iter().any(|name| name.contains("checksum")), "{names:?}");
}

#[test]
fn strings_know_who_uses_them() {
    let program = analysed("inventory.aarch64.O2").snapshot();
    let function = program.functions.at(entry(&program, "weight_of")).expect("a function");
    let used = strings_used_in(&program, function);
    let texts: Vec<String> = used
        .iter()
        .map(|at| string_of(&program, *at, program.listing.data.get(at).expect("data")))
        .map(|found| found.expect("a text").text)
        .collect();
    assert!(texts.contains(&"unknown kind".to_owned()), "{texts:?}");
    for at in &used {
        let unit = program.listing.data.get(at).expect("data");
        let mut users = references_into(&program, *at, unit.length);
        assert!(users.any(|reference| function.body.contains(reference.from)));
    }
}

#[test]
fn constants_are_found_with_either_sign() {
    let session = analysed("inventory.x64.O0");
    let program = session.snapshot();
    let mut searcher = CodeSearcher::new(&session);
    let mut found = |constant: i128| {
        let query = CodeQuery { constant: Some(constant), ..CodeQuery::default() };
        let listing = program.listing.instructions.iter();
        listing.filter(|(at, i)| searcher.find(&program, **at, i, &query).is_some()).count()
    };
    assert_eq!(found(1021), 1);
    assert_eq!(found(0x1234_5678_9abc), 0);
    // The alignment of the stack, as it is written and as it is meant.
    assert!(found(-16) > 0 && found(-16) == found(0xffff_ffff_ffff_fff0));
}

#[test]
fn texts_come_in_order_and_show_the_arguments_of_calls() {
    let session = analysed("inventory.x64.O2");
    let program = session.snapshot();
    let entries: Vec<Address> =
        program.functions.iter().filter(|f| !f.is_external()).map(|f| f.entry).collect();
    let never = Arc::new(AtomicBool::new(false));
    let texts: Vec<_> = CTexts::new(&session, &program, entries.iter().copied(), never).collect();
    assert_eq!(texts.iter().map(|(entry, _)| *entry).collect::<Vec<_>>(), entries);
    let graph = CallGraph::new(&program);
    let callee = entry(&program, "give_up");
    let mut seen = 0;
    for ((caller, _), sites) in graph.callers(callee) {
        let text = &texts.iter().find(|(entry, _)| *entry == caller).expect("it was made").1;
        for site in sites {
            let Some(arguments) = call_arguments(text, site) else { continue };
            assert_eq!(arguments.len(), 2, "{arguments:?}");
            assert!(arguments[0].starts_with('"') && arguments[1].parse::<u32>().is_ok());
            seen += 1;
        }
    }
    assert!(seen >= 2, "{seen} calls shown");
}

#[test]
fn protections_are_those_of_the_header() {
    for (name, pie, relro) in [
        ("inventory.x64.O0", true, Relro::Partial),
        ("inventory.aarch64.O2", true, Relro::Partial),
        ("inventory.x64.O2.nopie", false, Relro::Partial),
        ("tiny.x64.O2.static", false, Relro::None),
    ] {
        let session = Session::open(&testkit::fixture(name), &OpenOptions::default()).expect(name);
        let found = protections(&session.snapshot());
        assert_eq!(
            (found.nx, found.pie, found.relro),
            (Some(true), Some(pie), Some(relro)),
            "{name}"
        );
        assert_eq!(found.signed, None, "{name}");
    }
    let efi = testkit::fixture("../windows/boot.x64.efi");
    let session = Session::open(&efi, &OpenOptions::default()).expect("a PE file");
    assert_eq!(protections(&session.snapshot()).signed, Some(false));
}

#[test]
fn plain_code_is_not_taken_for_packed() {
    let program = analysed("inventory.x64.O2").snapshot();
    assert_eq!(packer_hints(&program), Vec::<String>::new());
    let text = program.memory.block_named(".text").expect("has code");
    let bits = entropy(&program, text).expect("has bytes");
    assert!((4.0..7.2).contains(&bits), "{bits}");
    let bss = program.memory.block_named(".bss").expect("has zeroes");
    assert_eq!(entropy(&program, bss), None);
    assert!(!has_stack_canary(&program));
    assert!(telling_strings(&program, 3).len() <= 3);
}
