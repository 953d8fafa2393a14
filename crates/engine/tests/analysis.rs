//! What analysis finds at once in real small programs, without any edit's help.

use std::time::Duration;

use engine::program::{Address, FlowType, Program, RefType};
use engine::{AnalysisKind, OpenOptions, Session};

fn analysed(name: &str) -> std::sync::Arc<Program> {
    let session = Session::open(&testkit::fixture(name), &OpenOptions::default()).expect(name);
    session.start_analysis(AnalysisKind::Ghidra, None).expect("nothing runs yet");
    assert!(session.wait_for_analysis(Duration::from_secs(120)));
    session.snapshot()
}

fn entry(program: &Program, name: &str) -> Address {
    let named = |at: &Address| program.function_name(*at) == name;
    let mut entries = program.functions.iter().filter(|f| f.thunk_of.is_none()).map(|f| f.entry);
    entries.find(named).unwrap_or_else(|| panic!("no function {name}"))
}

/// On AArch64 a stub reaches the import's slot by several instructions: whether the import
/// returns must be known all the same before anything that calls the stub is followed.
#[test]
fn code_ends_at_stubs_of_imports_that_never_return() {
    for name in ["inventory.aarch64.O2", "inventory.x64.O2"] {
        let program = analysed(name);
        let ends = entry(&program, "give_up");
        let function = program.functions.at(ends).expect("was just found");
        assert!(function.no_return, "{name}");
        let next = entry(&program, "weight_of");
        assert!(!function.body.contains(next), "{name}: swallows its neighbour");
    }
}

/// The guard of this table lies behind a call of a function that never returns.
#[test]
fn tables_behind_calls_that_never_return_are_read_at_once() {
    for name in ["inventory.aarch64.O2", "inventory.x64.O2"] {
        let program = analysed(name);
        let function = program.functions.at(entry(&program, "weight_of")).expect("was found");
        let jumps = function.body.ranges().iter().flat_map(|range| {
            let from = program.listing.instructions.range(range.start..=range.end);
            from.flat_map(|(at, _)| program.references.from(*at))
        });
        let kind = RefType::Flow(FlowType::ComputedJump);
        let cases: Vec<Address> = jumps.filter(|r| r.info.kind == kind).map(|r| r.to).collect();
        assert!(cases.len() >= 4, "{name}: {cases:x?}");
        assert!(cases.iter().all(|case| function.body.contains(*case)), "{name}: {cases:x?}");
    }
}

/// Start-up code has a function that a library declares too, with an underscore before.
#[test]
fn own_functions_of_library_names_have_their_prototypes() {
    let program = analysed("inventory.x64.O0");
    let function = program.functions.at(entry(&program, "_init")).expect("was just found");
    let signature = &function.signature;
    assert_eq!(program.types.name(signature.return_type), "int");
    let [context] = signature.parameters.as_slice() else { panic!("{signature:?}") };
    assert_eq!(&*context.name, "ctx");
    assert_eq!(program.types.name(context.data_type), "EVP_PKEY_CTX *");
    let own = program.functions.at(entry(&program, "main")).expect("was just found");
    assert_eq!(own.signature.source, engine::program::SourceType::Default);
}

/// What a mangled name of another file says is known of the import, and nobody sees how.
#[test]
fn imports_of_mangled_names_have_their_parameters() {
    let program = analysed("shapes.x64.O0");
    let import = entry(&program, "operator.delete");
    let function = program.functions.at(import).expect("was just found");
    assert_eq!(program.types.name(function.signature.return_type), "void");
    let names = function.signature.parameters.iter().map(|p| program.types.name(p.data_type));
    assert_eq!(names.collect::<Vec<_>>(), ["void *", "ulong"]);
    assert!(function.signature.convention.is_none());
    assert!(program.comments.keys().all(|(at, _)| *at != import));
}

/// A method that makes no use of its object is told from one that does by its code alone.
#[test]
fn code_tells_which_functions_take_an_object() {
    let program = analysed("shapes.x64.O0");
    let mut seen = [0, 0];
    for function in program.functions.iter().filter(|f| f.thunk_of.is_none()) {
        let space = program.symbols.get(program.function_namespace(function.entry));
        if space.is_none_or(|space| &*space.name == "geometry") || function.is_external() {
            continue;
        }
        let this = function.signature.parameters.iter().any(|p| &*p.name == "this");
        let convention = function.signature.convention.as_deref();
        assert_eq!(this, convention == Some("__thiscall"));
        seen[usize::from(this)] += 1;
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
}
