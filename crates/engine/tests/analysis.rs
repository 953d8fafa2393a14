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

/// Firmware of a Cortex-M0, a line of Intel HEX for each 16 bytes. Its reset handler jumps on
/// through a number, behind a branch, to code that calls 130.
fn firmware() -> String {
    let mut image = vec![0_u8; 0x134];
    let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
    for (at, vector) in [(0, 0x2000_1000_u32), (4, 0x101), (8, 0x111), (12, 0x113)] {
        put(at, &vector.to_le_bytes());
    }
    // 100 ldr r0,[10c]; cmp r0,0; beq 108; nop   108 bx r0; nop; 121   110 b 110   112 b 112
    put(0x100, &[0x02, 0x48, 0x00, 0x28, 0x00, 0xd0, 0xc0, 0x46, 0x00, 0x47, 0xc0, 0x46]);
    put(0x10c, &[0x21, 0x01, 0x00, 0x00, 0xfe, 0xe7, 0xfe, 0xe7]);
    // 120 movs r0,1; bl 130; b 126   130 movs r0,2; bx lr
    put(0x120, &[0x01, 0x20, 0x00, 0xf0, 0x05, 0xf8, 0xfe, 0xe7]);
    put(0x130, &[0x02, 0x20, 0x70, 0x47]);
    let line = |at: u16, kind: u8, bytes: &[u8]| {
        let mut record = vec![bytes.len() as u8, (at >> 8) as u8, at as u8, kind];
        record.extend(bytes);
        let sum = record.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        record.push(sum.wrapping_neg());
        record.iter().fold(String::from(":"), |text, byte| format!("{text}{byte:02X}")) + "\n"
    };
    let records = image.chunks(16).enumerate();
    let mut text: String = records.map(|(n, bytes)| line(16 * n as u16, 0, bytes)).collect();
    text += &line(0, 5, &0x101_u32.to_be_bytes());
    text + &line(0, 1, &[])
}

#[test]
fn firmware_begins_at_its_vectors_and_at_the_entry_of_its_records() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("firmware.hex");
    std::fs::write(&path, firmware()).expect("is written");
    let mut options = OpenOptions::default();
    options.load.language = Some("ARM:LE:32:Cortex".to_owned());
    let session = Session::open(&path, &options).expect("opens");
    session.start_analysis(AnalysisKind::Ghidra, None).expect("nothing runs yet");
    assert!(session.wait_for_analysis(Duration::from_secs(120)));
    let program = session.snapshot();
    let reset = Address::ram(0x100);
    assert_eq!(program.function_name(reset), "entry");
    assert!(program.functions.at(reset).is_some() && program.entry_points.contains_key(&reset));
    let vector = program.listing.data.get(&Address::ram(4)).expect("a vector");
    assert_eq!(program.types.name(vector.data_type), "pointer32");
    assert!(
        program.listing.instructions.contains_key(&Address::ram(0x110)),
        "a vector leads there"
    );
    let jump: Vec<u64> =
        program.references.from(Address::ram(0x108)).map(|r| r.to.offset).collect();
    assert_eq!(jump, [0x120], "behind a branch, too");
    assert!(program.functions.at(Address::ram(0x130)).is_some(), "code behind the jump calls it");
}

/// Whoever states that a function returns is believed against its name and its code, and the
/// statement outlives the project file and another analysis.
#[test]
fn functions_that_are_stated_to_return_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let project = engine::ProjectChoice::Folder(folder.path().to_owned());
    let options = OpenOptions { project, ..OpenOptions::default() };
    let file = testkit::fixture("inventory.x64.O2");
    let session = Session::open(&file, &options).expect("it opens");
    let analyse = |session: &Session| {
        session.start_analysis(AnalysisKind::Ghidra, None).expect("nothing runs yet");
        assert!(session.wait_for_analysis(Duration::from_secs(120)));
    };
    analyse(&session);
    let ends = entry(&session.snapshot(), "give_up");
    assert!(session.snapshot().functions.at(ends).expect("a function").no_return);
    let state = |program: &mut Program| {
        program.set_no_return(ends, false);
        Ok::<_, std::convert::Infallible>(())
    };
    session.write(state).expect("is stated");
    session.save_at_end().expect("it saves");
    drop(session);
    let session = Session::open(&file, &options).expect("it opens again");
    analyse(&session);
    assert!(!session.snapshot().functions.at(ends).expect("a function").no_return);
    let withdraw = |program: &mut Program| {
        program.set_no_return(ends, true);
        Ok::<_, std::convert::Infallible>(())
    };
    session.write(withdraw).expect("is withdrawn");
    assert!(session.snapshot().info.returning.is_empty());
}

/// What start-up code runs is called `main` where no symbol says so: the same place as in the program
/// before it was stripped.
#[test]
fn stripped_programs_have_a_main_function() {
    for (stripped, full) in [
        ("inventory.x64.O2.stripped", "inventory.x64.O2"),
        ("inventory.aarch64.O2.stripped", "inventory.aarch64.O2"),
    ] {
        let main = entry(&analysed(full), "main");
        assert_eq!(entry(&analysed(stripped), "main"), main, "{stripped}");
    }
}
