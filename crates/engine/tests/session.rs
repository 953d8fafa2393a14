//! A session over real small programs: opening, analysis, snapshots, writes.

use engine::program::{Address, CommentKind, Program, SpaceId, Storage, StoragePiece};
use engine::{AnalysisKind, AnalysisState, OpenError, OpenOptions, Session, WriteError};
use std::path::Path;
use std::time::Duration;
use testkit::truth::Truth;

fn open(name: &str) -> Session {
    Session::open(&testkit::fixture(name), &OpenOptions::default()).expect(name)
}

fn analysed(name: &str) -> Session {
    let session = open(name);
    session.start_analysis(AnalysisKind::Ghidra, None).expect("nothing runs yet");
    assert!(session.wait_for_analysis(Duration::from_secs(60)));
    let status = session.analysis_status();
    assert_eq!(status.state, AnalysisState::Completed, "{name}: {:?}", status.message);
    session
}

fn entry(program: &Program, name: &str) -> Address {
    let named = program.functions.iter().find(|f| program.function_name(f.entry) == name);
    named.unwrap_or_else(|| panic!("no function {name}")).entry
}

#[test]
fn every_fixture_opens_and_analyses() {
    for path in testkit::fixtures() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let program = analysed(&name).snapshot();
        assert!(program.functions.len() >= 2, "{name}: {} functions", program.functions.len());
        assert!(program.listing.instructions.len() > 10, "{name}");
    }
}

#[test]
fn stripped_and_unstripped_twins_agree_on_where_functions_start() {
    for (full, stripped) in [
        ("inventory.x64.O2", "inventory.x64.O2.stripped"),
        ("shapes.aarch64.O2.stripped", "shapes.aarch64.O2.stripped"),
        ("tiny.x64.O2.static", "tiny.x64.O2.static.stripped"),
    ] {
        let (full, stripped) = (analysed(full).snapshot(), analysed(stripped).snapshot());
        let missing: Vec<String> = full
            .functions
            .iter()
            .filter(|f| stripped.functions.at(f.entry).is_none())
            // What is only pointed at is code, and becomes a function with its symbol.
            .filter(|f| full.references.to(f.entry).any(|r| r.info.kind.is_call()))
            .map(|f| full.function_name(f.entry))
            .collect();
        assert!(missing.is_empty(), "not found without symbols: {missing:?}");
    }
}

#[test]
fn linkage_stubs_bear_the_names_of_what_they_call() {
    for name in ["inventory.x64.O2.stripped", "inventory.aarch64.O2.stripped"] {
        let program = analysed(name).snapshot();
        let stub = program.functions.iter().find(|f| {
            f.thunk_of.is_some()
                && program.function_name(f.entry) == "printf"
                && program.memory.block_at(f.entry).is_some_and(|b| b.permissions.execute)
        });
        let stub = stub.unwrap_or_else(|| panic!("{name}: no stub of printf"));
        let target = program.thunked(stub.entry).expect("leads somewhere");
        assert!(target.is_external() && target.signature.varargs, "{name}");
    }
}

#[test]
fn an_edit_that_fails_leaves_no_trace_and_snapshots_stay_as_they_are() {
    let session = analysed("inventory.x64.O0");
    let before = session.snapshot();
    let main = entry(&before, "main");
    let refused: Result<(), WriteError<&str>> = session.write(|program| {
        program.comments.insert((main, CommentKind::Plate), "half done".into());
        Err("no")
    });
    assert_eq!(refused, Err(WriteError::Refused("no")));
    assert!(session.snapshot().comments.get(&(main, CommentKind::Plate)).is_none());
    session
        .write(|program| {
            program.comments.insert((main, CommentKind::Plate), "done".into());
            Ok::<_, &str>(())
        })
        .unwrap();
    assert!(before.comments.get(&(main, CommentKind::Plate)).is_none());
    assert!(session.snapshot().comments.get(&(main, CommentKind::Plate)).is_some());
}

#[test]
fn a_panicking_edit_leaves_the_session_usable() {
    let session = open("tiny.x64.O2.static");
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        session.write(|_| -> Result<(), &str> { panic!("in an edit") })
    }));
    assert!(panicked.is_err());
    assert!(session.write(|_| Ok::<_, &str>(())).is_ok());
}

#[test]
fn writes_are_refused_while_an_analysis_runs_and_cancelling_keeps_what_was_found() {
    let session = open("inventory.x64.O2");
    session.start_analysis(AnalysisKind::Bridge, None).unwrap();
    if session.analysis_status().is_running() {
        let refused = session.write(|_| Ok::<_, &str>(()));
        assert!(
            matches!(refused, Err(WriteError::Busy(_))) || !session.analysis_status().is_running()
        );
    }
    session.cancel_analysis();
    assert!(session.wait_for_analysis(Duration::from_secs(60)));
    let state = session.analysis_status().state;
    assert!(matches!(state, AnalysisState::Cancelled | AnalysisState::Completed));
    session.start_analysis(AnalysisKind::Bridge, None).expect("can start again");
    assert!(session.wait_for_analysis(Duration::from_secs(60)));
    assert_eq!(session.analysis_status().state, AnalysisState::Completed);
}

#[test]
fn an_unknown_analyzer_fails_the_task_and_says_which() {
    let session = open("tiny.x64.O2.static");
    session.start_analysis(AnalysisKind::Bridge, Some(vec!["No Such".into()])).unwrap();
    assert!(session.wait_for_analysis(Duration::from_secs(60)));
    let status = session.analysis_status();
    assert_eq!(status.state, AnalysisState::Failed);
    assert!(status.message.unwrap().contains("No Such"));
}

#[test]
fn what_cannot_be_opened_is_named() {
    let error = |path: &Path| Session::open(path, &OpenOptions::default()).unwrap_err();
    let folder = std::env::temp_dir();
    assert!(matches!(error(&folder), OpenError::NotAFile { .. }));
    assert!(matches!(error(&folder.join("no-such-file-here")), OpenError::Read { .. }));
    let text = testkit::fixture("tiny.x64.O2.static").with_file_name("../Makefile");
    assert!(error(&text).to_string().contains("Makefile"));
}

#[test]
fn a_language_that_does_not_fit_the_header_is_warned_about() {
    for (language, warned) in [("ARM:LE:32:v8", true), ("x86:LE:64:compat32", false)] {
        let mut options = OpenOptions::default();
        options.load.language = Some(language.to_owned());
        let session =
            Session::open(&testkit::fixture("inventory.x64.O2"), &options).expect(language);
        let notices = session.project_notices().join(" ");
        let says = "Warning: the header says x86:LE:64:default, but language=ARM:LE:32:v8";
        assert_eq!(notices.contains(says), warned, "{language}: {notices}");
    }
}

/// A raw image says no compiler, and not every language has one that is called `default`.
#[test]
fn a_raw_image_gets_a_compiler_specification_that_its_language_has() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("image.bin");
    std::fs::write(&path, [0x31, 0xc0, 0xc3]).expect("is written");
    for (language, compiler) in [
        ("x86:LE:64:default", "windows"),
        ("x86:LE:16:Real Mode", "default"),
        ("AARCH64:LE:64:v8A", "default"),
    ] {
        let mut options = OpenOptions::default();
        options.load.language = Some(language.to_owned());
        let session = Session::open(&path, &options).expect(language);
        assert_eq!(session.snapshot().info.compiler_spec_id, compiler, "{language}");
        options.load.compiler_spec = Some("no-such-compiler".to_owned());
        let error = Session::open(&path, &options).unwrap_err();
        assert!(matches!(error, OpenError::Language { .. }), "{language}: {error}");
    }
}

/// Storage as Ghidra prints it: registers by their names.
fn storage_text(session: &Session, storage: &Storage) -> String {
    let Storage::Pieces(pieces) = storage else {
        return session.snapshot().storage_text(storage);
    };
    let piece = |piece: &StoragePiece| {
        let register = session.language().register_name(piece.address.offset, piece.size);
        match register.filter(|_| piece.address.space == SpaceId::REGISTER) {
            Some(name) => format!("{name}:{}", piece.size),
            None => session.snapshot().storage_text(&Storage::Pieces(vec![*piece])),
        }
    };
    pieces.iter().map(piece).collect::<Vec<_>>().join(",")
}

#[test]
fn prototypes_that_analysis_found_say_where_their_values_pass() {
    let Some(truth) = Truth::find("storage of prototypes") else { return };
    // The convention keeps structures of bit fields out of registers here.
    let known = ["flag_total"];
    let samples = ["structs.x64.O2.g", "classes.x64.O0.g", "varargs.x86.O2.stripped"];
    for name in samples.into_iter().chain(["structs.arm.O2", "floats.aarch64.O2.stripped"]) {
        let sample = truth.sample(name).expect("a sample");
        let session = Session::open(sample.binary(), &OpenOptions::default()).expect("it opens");
        session.start_analysis(AnalysisKind::Ghidra, None).expect("nothing runs yet");
        assert!(session.wait_for_analysis(Duration::from_secs(60)));
        let program = session.snapshot();
        let mut compared = 0;
        for theirs in sample.program().expect("a dump").functions {
            let Ok(offset) = u64::from_str_radix(&theirs.entry, 16) else { continue };
            let Some(ours) = program.functions.at(Address::ram(offset)) else { continue };
            if known.contains(&&*theirs.name) {
                continue;
            }
            let signature = &program.calling_function(ours).signature;
            let parameters = signature.parameters.iter().map(|parameter| &parameter.storage);
            let ours = std::iter::once(&signature.return_storage).chain(parameters);
            let ours: Vec<String> = ours.map(|storage| storage_text(&session, storage)).collect();
            let plain = |text: &String| text.split(' ').next().unwrap_or_default().to_owned();
            let theirs_all: Vec<String> = std::iter::once(&theirs.returned.storage)
                .chain(theirs.params.iter().map(|parameter| &parameter.storage))
                .map(plain)
                .collect();
            assert_eq!(ours, theirs_all, "{name}: {} {}", theirs.entry, theirs.name);
            compared += ours.len();
        }
        assert!(compared > 40, "{name}: {compared}");
    }
}
