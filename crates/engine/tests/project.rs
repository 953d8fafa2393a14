//! Sessions over their project files, on real small programs: everything comes
//! back, and what cannot be kept is said.

use engine::program::{Address, CommentKind, FlowOverride, FlowType, Program, SourceType};
use engine::{
    AnalysisKind, AnalysisState, LoadOptions, OpenError, OpenOptions, ProjectChoice, SaveError,
    Session, StoreError,
};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SAMPLE: &str = "inventory.x64.O2";

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn within(folder: &Path) -> OpenOptions {
    OpenOptions { project: ProjectChoice::Folder(folder.to_owned()), ..OpenOptions::default() }
}

fn at(file: &Path) -> OpenOptions {
    OpenOptions { project: ProjectChoice::File(file.to_owned()), ..OpenOptions::default() }
}

fn open(file: &Path, options: &OpenOptions) -> Session {
    Session::open(file, options).expect("it opens")
}

fn analyse(session: &Session) {
    session.start_analysis(AnalysisKind::Ghidra, None).expect("nothing runs yet");
    assert!(session.wait_for_analysis(Duration::from_secs(120)));
    assert_eq!(session.analysis_status().state, AnalysisState::Completed);
}

/// Edits of every kind that the program offers by itself.
fn edit(session: &Session) {
    let edit = |p: &mut Program| {
        let entries: Vec<Address> = p.functions.iter().map(|f| f.entry).collect();
        let entry = *entries.iter().find(|a| p.memory.contains(**a)).ok_or("no function")?;
        p.comments.insert((entry, CommentKind::Plate), "line one\nline two".into());
        p.name_place(entry.wrapping_add(1), "a_place");
        p.functions.edit(entry, |f| f.no_return = true);
        p.add_label(entry, "alias", engine::program::SymbolId::GLOBAL, SourceType::UserDefined);
        let call =
            p.listing.instructions.iter().find(|(_, i)| i.flow == FlowType::UnconditionalCall);
        if let Some(call) = call.map(|(address, _)| *address) {
            p.set_flow_override(call, FlowOverride::Branch);
        }
        let data = p.memory.blocks().iter().find(|b| b.permissions.write).map(|b| b.start);
        p.memory.write(data.unwrap_or(entry), b"patched").map_err(|_| "cannot be written")?;
        Ok::<_, &str>(())
    };
    session.write(edit).expect("it can be edited");
}

#[test]
fn every_fixture_comes_back_with_analysis_and_edits() {
    for path in testkit::fixtures() {
        let folder = folder();
        let options = within(folder.path());
        let session = open(&path, &options);
        assert!(!session.is_restored() && !session.has_unsaved_changes());
        analyse(&session);
        edit(&session);
        assert!(session.has_unsaved_changes());
        assert!(session.save_at_end().expect("it saves"));
        assert!(!session.has_unsaved_changes());
        let (before, status) = (session.snapshot(), session.analysis_status());
        let project = session.project_path().expect("it has one").to_owned();
        drop(session);
        for opened in [&path, &project] {
            let session = open(opened, &options);
            assert!(session.is_restored() && session.has_claimed_project());
            assert!(session.snapshot() == before, "{} differs", path.display());
            let restored = session.analysis_status();
            assert!(restored.analyzed && restored.state == AnalysisState::Completed);
            assert_eq!(restored.task_id, status.task_id);
            assert_eq!(restored.finished, status.finished);
            assert!(!session.save_at_end().expect("nothing to do"), "nothing changed");
        }
    }
}

#[test]
fn a_file_that_nobody_touched_leaves_no_project() {
    let folder = folder();
    let session = open(&testkit::fixture(SAMPLE), &within(folder.path()));
    assert!(!session.save_at_end().expect("nothing to do"));
    assert!(session.save().expect("it saves when told to"));
    assert!(session.project_path().expect("it has one").is_file());
}

/// Starts an analysis and ends it once so many analyzers are over; false when it was faster.
fn interrupt(session: &Session, over: usize) -> bool {
    session.start_analysis(AnalysisKind::Ghidra, None).expect("nothing runs yet");
    while session.analysis_status().passes.len() < over && session.analysis_status().is_running() {
        std::thread::yield_now();
    }
    session.close();
    session.analysis_status().state == AnalysisState::Cancelled
}

#[test]
fn an_analysis_that_was_cut_short_goes_on() {
    let folder = folder();
    let file = testkit::fixture("inventory.aarch64.O0.g");
    let whole = open(&file, &OpenOptions::default());
    analyse(&whole);
    let mut interrupted = 0;
    for over in [1, 3, 9, 10, 14, 20] {
        let options = at(&folder.path().join(over.to_string()));
        let session = open(&file, &options);
        let cut_short = interrupt(&session, over);
        session.save_at_end().expect("it saves");
        let found = session.analysis_status().interrupted;
        drop(session);
        let session = open(&file, &options);
        let status = session.analysis_status();
        assert_eq!(status.interrupted, found, "after {over}");
        if cut_short {
            interrupted += 1;
            let done = &found.expect("some were over").done;
            assert!(done.len() >= over && !status.analyzed, "{done:?}");
            assert_eq!(status.state, AnalysisState::Cancelled);
            session.start_analysis(AnalysisKind::Ghidra, None).expect("nothing runs yet");
            assert!(session.wait_for_analysis(Duration::from_secs(120)));
            let left: Vec<&str> = session.analysis_status().passes.iter().map(|p| p.name).collect();
            assert_eq!(left.len() + done.len(), engine::PASSES.len());
        }
        let status = session.analysis_status();
        assert!(status.analyzed && status.interrupted.is_none());
        assert!(session.snapshot().listing == whole.snapshot().listing, "after {over}");
        assert!(session.snapshot().functions == whole.snapshot().functions, "after {over}");
    }
    assert!(interrupted > 0, "the machine was too fast each time");
}

#[test]
fn chosen_analyzers_do_not_end_an_analysis_that_was_cut_short() {
    let session = open(&testkit::fixture("inventory.aarch64.O0.g"), &OpenOptions::default());
    if !interrupt(&session, 2) {
        println!("skipped: the analysis was done before it could be ended");
        return;
    }
    let before = session.analysis_status().interrupted.expect("some were over");
    let chosen = Some(vec!["ASCII Strings".to_owned()]);
    session.start_analysis(AnalysisKind::Bridge, chosen).expect("nothing runs yet");
    assert!(session.wait_for_analysis(Duration::from_secs(120)));
    let status = session.analysis_status();
    assert_eq!(status.state, AnalysisState::Completed);
    assert!(!status.analyzed && status.interrupted == Some(before));
    analyse(&session);
    assert!(session.analysis_status().analyzed);
}

#[test]
fn an_analysis_of_which_nothing_is_over_begins_anew() {
    let folder = folder();
    let options = within(folder.path());
    let session = open(&testkit::fixture("tiny.x64.O2.static"), &options);
    let note = |p: &mut Program| {
        p.comments.insert((Address::ram(1), CommentKind::Eol), "before".into());
        Ok::<_, ()>(())
    };
    session.write(note).expect("it can be edited");
    let before = session.snapshot();
    session.start_analysis(AnalysisKind::Ghidra, None).expect("nothing runs yet");
    session.close();
    let status = session.analysis_status();
    if status.state != AnalysisState::Cancelled || status.interrupted.is_some() {
        println!("skipped: the first analyzer was over before it could be ended");
        return;
    }
    assert!(session.save_at_end().expect("it saves"));
    drop(session);
    let session = open(&testkit::fixture("tiny.x64.O2.static"), &options);
    assert!(session.snapshot() == before, "the edit, and nothing half found");
    assert!(!session.analysis_status().analyzed);
}

#[test]
fn the_second_user_is_told_who_has_the_project() {
    let folder = folder();
    let file = testkit::fixture(SAMPLE);
    let named = folder.path().join("p");
    for options in [within(folder.path()), at(&named)] {
        let first = open(&file, &options);
        first.save().expect("it saves");
        match (Session::open(&file, &options), &options.project) {
            (Err(OpenError::Project(StoreError::Held { holder, .. })), ProjectChoice::File(_)) => {
                assert_eq!(holder.process, Some(std::process::id()));
                assert_eq!(holder.program, SAMPLE);
            }
            (Ok(second), ProjectChoice::Folder(_)) => {
                let notices = second.project_notices().join(" ");
                assert!(notices.contains(&format!("process {}", std::process::id())), "{notices}");
                assert!(second.is_restored() && !second.has_claimed_project());
                assert!(matches!(second.save(), Err(SaveError::Store(StoreError::Held { .. }))));
            }
            (other, _) => panic!("{other:?}"),
        }
        let looking = OpenOptions { read_only: true, ..options.clone() };
        let looker = open(&file, &looking);
        assert!(looker.is_restored());
        let notices = looker.project_notices().join(" ");
        assert!(notices.contains(&format!("process {}", std::process::id())), "{notices}");
        assert!(matches!(looker.save(), Err(SaveError::ReadOnly)));
    }
}

#[test]
fn who_looks_before_the_first_save_is_told_that_there_is_none() {
    let folder = folder();
    let file = testkit::fixture(SAMPLE);
    for options in [within(folder.path()), at(&folder.path().join("p"))] {
        let first = open(&file, &options);
        let looking = OpenOptions { read_only: true, ..options };
        let looker = open(&file, &looking);
        assert!(!looker.is_restored() && !looker.has_claimed_project());
        let notices = looker.project_notices().join(" ");
        assert!(notices.contains("has saved nothing yet"), "{notices}");
        analyse(&looker);
        drop((first, looker));
        assert!(open(&file, &looking).project_notices().is_empty(), "nobody has it");
    }
}

#[test]
fn a_changed_file_is_told_from_the_one_the_project_was_made_from() {
    let folder = folder();
    let file = folder.path().join("program");
    let project = folder.path().join("p");
    std::fs::copy(testkit::fixture(SAMPLE), &file).expect("a copy");
    let session = open(&file, &at(&project));
    session.save().expect("it saves");
    drop(session);
    let session = open(&file, &within(folder.path()));
    session.save().expect("it saves");
    drop(session);
    let mut bytes = std::fs::read(&file).expect("is there");
    bytes.push(0);
    std::fs::write(&file, bytes).expect("it is written");
    let error = Session::open(&file, &at(&project)).expect_err("another content").to_string();
    assert!(error.contains("its content differs") && error.contains("program"), "{error}");
    let notices = open(&file, &within(folder.path())).project_notices().join(" ");
    assert!(notices.contains("has changed since"), "{notices}");
    let notices = open(&project, &within(folder.path())).project_notices().join(" ");
    assert!(notices.contains("has changed since"), "{notices}");
}

#[test]
fn a_moved_file_finds_its_project_again() {
    let folder = folder();
    let file = folder.path().join("one");
    std::fs::copy(testkit::fixture(SAMPLE), &file).expect("a copy");
    let session = open(&file, &within(folder.path()));
    edit(&session);
    session.save().expect("it saves");
    drop(session);
    let moved = folder.path().join("two");
    std::fs::rename(&file, &moved).expect("it moves");
    let session = open(&moved, &within(folder.path()));
    assert!(session.is_restored());
    assert_eq!(session.snapshot().info.executable_path, moved.to_string_lossy());
}

#[test]
fn other_ways_to_load_a_file_have_projects_of_their_own() {
    let folder = folder();
    let file = testkit::fixture(SAMPLE);
    let project = folder.path().join("p");
    open(&file, &at(&project)).save().expect("it saves");
    open(&file, &within(folder.path())).save().expect("it saves");
    let load = LoadOptions { base: Some(0x70_0000), ..LoadOptions::default() };
    let error = Session::open(&file, &OpenOptions { load: load.clone(), ..at(&project) });
    let error = error.expect_err("another base").to_string();
    assert!(error.contains("leave base out"), "{error}");
    let session = open(&file, &OpenOptions { load, ..within(folder.path()) });
    assert!(!session.is_restored());
    assert_eq!(session.snapshot().info.image_base, 0x70_0000);
}

#[test]
fn a_project_opens_without_its_file_and_none_keeps_nothing() {
    let folder = folder();
    let file = folder.path().join("program");
    let project = folder.path().join("p");
    std::fs::copy(testkit::fixture(SAMPLE), &file).expect("a copy");
    let session = open(&file, &at(&project));
    edit(&session);
    session.save().expect("it saves");
    let before = session.snapshot();
    drop(session);
    std::fs::remove_file(&file).expect("it is there");
    let session = open(&project, &OpenOptions::default());
    assert!(session.snapshot() == before && session.project_path().is_none());
    assert!(matches!(session.save(), Err(SaveError::NoProject)));
    let error = Session::open(&project, &at(&folder.path().join("q"))).expect_err("two projects");
    assert!(error.to_string().contains("is a project itself"), "{error}");
}

#[test]
fn a_file_that_is_no_project_is_left_alone() {
    let folder = folder();
    let notes = folder.path().join("notes.txt");
    std::fs::write(&notes, "remember the milk").expect("a file");
    let error = Session::open(&testkit::fixture(SAMPLE), &at(&notes)).expect_err("is no project");
    assert!(error.to_string().contains("is not a project file"), "{error}");
    assert_eq!(std::fs::read(&notes).expect("is there"), b"remember the milk");
}

/// The blocks of SQL of the document.
fn documented_queries() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/project-format.md");
    let text = std::fs::read_to_string(path).expect("the document");
    let blocks = text.split("```sql\n").skip(1);
    blocks.map(|block| block.split("```").next().expect("an end").to_owned()).collect()
}

#[test]
fn the_documented_queries_answer() {
    if Command::new("sqlite3").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "the sqlite3 shell is missing");
        println!("skipped: the sqlite3 shell is missing");
        return;
    }
    let folder = folder();
    let project: PathBuf = folder.path().join("p");
    let file = testkit::fixture("inventory.x64.O0");
    let session = open(&file, &at(&project));
    analyse(&session);
    edit(&session);
    session.save().expect("it saves");
    let queries = documented_queries();
    assert!(queries.len() >= 8);
    for query in &queries {
        let began = Instant::now();
        let output = Command::new("sqlite3")
            .args(["-readonly", "-bail"])
            .arg(&project)
            .arg(query)
            .current_dir(folder.path())
            .output()
            .expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{query}: {errors}");
        // The sample has no structure of its own.
        let may_be_empty = query.contains("data_type_fields");
        assert!(may_be_empty || !text.trim().is_empty(), "{query} answers nothing");
        assert!(began.elapsed() < Duration::from_secs(20), "{query}: {:?}", began.elapsed());
        if query.contains("callee = 'printf'") {
            assert!(text.lines().any(|line| line == "main"), "{text}");
        }
    }
    let original = std::fs::read(folder.path().join("original")).expect("it was written");
    assert!(original == std::fs::read(&file).expect("is there"), "the file itself");
}

#[test]
fn writers_do_not_wait_for_a_save() {
    let folder = folder();
    let session = open(&testkit::fixture(SAMPLE), &within(folder.path()));
    analyse(&session);
    let saving = {
        let session = session.clone();
        std::thread::spawn(move || session.save().expect("it saves"))
    };
    for n in 0..100u32 {
        let note = |p: &mut Program| {
            p.comments.insert((Address::ram(n.into()), CommentKind::Eol), Arc::from(n.to_string()));
            Ok::<_, ()>(())
        };
        session.write(note).expect("it can be edited");
    }
    saving.join().expect("no panic");
    session.save().expect("it saves");
    let project = session.project_path().expect("it has one").to_owned();
    let before = session.snapshot();
    drop(session);
    assert!(open(&project, &OpenOptions::default()).snapshot() == before);
}
