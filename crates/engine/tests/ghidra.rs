//! Programs out of Ghidra's own files: opened as they were left, edited beside them, and never
//! written to.

use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::program::{CommentKind, Program};
use engine::{AnalysisKind, AnalysisState, LoadOptions, OpenOptions, ProjectChoice, Session};
use testkit::projects::Projects;

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/ghidra/structs.x64.O2.gzf")
}

fn at(project: &Path) -> OpenOptions {
    OpenOptions { project: ProjectChoice::File(project.to_owned()), ..OpenOptions::default() }
}

fn refusal(path: &Path, options: &OpenOptions) -> String {
    Session::open(path, options).expect_err("it is refused").to_string()
}

#[test]
fn a_packed_program_opens_as_ghidra_left_it() {
    let session = Session::open(&fixture(), &OpenOptions::default()).expect("it opens");
    let program = session.snapshot();
    assert_eq!(program.info.name, "structs.x64.O2");
    assert_eq!(program.info.language_id, "x86:LE:64:default");
    assert_eq!(program.info.warnings, Vec::<String>::new());
    assert!(program.functions.len() > 20 && program.listing.data.len() > 100);
    let status = session.analysis_status();
    assert_eq!((status.state, status.analyzed), (AnalysisState::Idle, false));
    assert!(!session.wants_analysis(), "analysis must not begin by itself");
    assert_eq!(program.verify(), []);
}

#[test]
fn edits_are_kept_beside_the_file_with_all_that_ghidra_had() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("work.gzf");
    std::fs::copy(fixture(), &file).unwrap();
    let project = folder.path().join("work.gbproject");
    let before = std::fs::read(&file).unwrap();
    let session = Session::open(&file, &at(&project)).expect("it opens");
    let entry = session.snapshot().functions.iter().next().expect("a function").entry;
    session
        .write(|program| {
            program.comments.insert((entry, CommentKind::Plate), "seen".into());
            Ok::<(), ()>(())
        })
        .expect("an edit");
    let edited = session.snapshot();
    assert!(session.save().expect("it is saved"));
    drop(session);
    assert_eq!(std::fs::read(&file).unwrap(), before, "the original is never written");
    let again = Session::open(&file, &at(&project)).expect("it opens again");
    assert!(again.is_restored() && !again.wants_analysis());
    assert_eq!(*again.snapshot(), *edited);
    drop(again);
    std::fs::remove_file(&file).unwrap();
    let alone = Session::open(&project, &OpenOptions::default()).expect("without the file too");
    assert_eq!(alone.snapshot().origin.as_deref(), Some(&before[..]));
    assert_eq!(*alone.snapshot(), *edited);
}

#[test]
fn what_a_file_of_ghidras_states_need_not_be_said() {
    let load = LoadOptions { base: Some(0x4000), ..LoadOptions::default() };
    let said = refusal(&fixture(), &OpenOptions { load, ..OpenOptions::default() });
    assert!(said.ends_with("states its base itself; leave base out"), "{said}");
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(fixture()).unwrap();
    let cut = folder.path().join("cut.gzf");
    std::fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    let said = refusal(&cut, &OpenOptions::default());
    assert!(said.ends_with("packed Ghidra file: its content is cut off or damaged"), "{said}");
}

/// A project folder made of the fixture's content, with the programs named.
fn project(place: &Path, names: &[&str]) -> PathBuf {
    let packed = ghidra_db::Packed::read(&fixture()).unwrap();
    for (number, name) in names.iter().enumerate() {
        let bucket = place.join("work.rep/idata/00");
        let folder = bucket.join(format!("~{number:08x}.db"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("db.1.gbf"), &packed.content).unwrap();
        let properties = format!(
            "<FILE_INFO><BASIC_INFO><STATE NAME=\"CONTENT_TYPE\" VALUE=\"Program\"/>\
             <STATE NAME=\"PARENT\" VALUE=\"/a\"/><STATE NAME=\"NAME\" VALUE=\"{name}\"/>\
             </BASIC_INFO></FILE_INFO>"
        );
        std::fs::write(bucket.join(format!("{number:08x}.prp")), properties).unwrap();
    }
    let file = place.join("work.gpr");
    std::fs::write(&file, "").unwrap();
    file
}

#[test]
fn programs_of_a_project_are_named_within_it() {
    let place = tempfile::tempdir().unwrap();
    let file = project(place.path(), &["one"]);
    let open = |path: PathBuf| Session::open(&path, &OpenOptions::default());
    let within = |name: &str| PathBuf::from(format!("{}!/{name}", file.display()));
    for path in [file.clone(), file.with_extension("rep"), within("a/one")] {
        let session = open(path).expect("it opens");
        assert_eq!(session.snapshot().info.name, "structs.x64.O2");
    }
    project(place.path(), &["one", "two"]);
    assert!(open(within("a/two")).is_ok());
    let said = refusal(&file, &OpenOptions::default());
    let both = format!("{0}!/a/one, {0}!/a/two", file.display());
    assert!(said.ends_with(&format!("the project holds several programs: {both}")), "{said}");
    let said = refusal(&within("a/three"), &OpenOptions::default());
    assert!(said.contains("no such file; its programs:"), "{said}");
}

#[test]
fn a_project_that_ghidra_has_open_is_only_read() {
    let place = tempfile::tempdir().unwrap();
    let file = project(place.path(), &["one"]);
    std::fs::write(place.path().join("work.lock"), "held").unwrap();
    let session = Session::open(&file, &OpenOptions::default()).expect("it opens");
    let notices = session.project_notices();
    assert!(notices.iter().any(|notice| notice.contains("is open in a Ghidra")), "{notices:?}");
    let mut entries: Vec<_> =
        std::fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    entries.sort();
    assert_eq!(entries, ["work.gpr", "work.lock", "work.rep"]);
}

#[test]
fn analysis_on_demand_leaves_what_is_there() {
    let Some(projects) = Projects::find("analysis_on_demand") else { return };
    for name in projects.names().unwrap() {
        let path = projects.packed(&name);
        let session = Session::open(&path, &OpenOptions::default()).expect("it opens");
        let before = session.snapshot();
        session.start_analysis(AnalysisKind::Ghidra, None).expect("it starts");
        assert!(session.wait_for_analysis(Duration::from_secs(120)));
        let after = session.snapshot();
        assert_eq!(after.verify(), [], "{name}");
        let lost = lost(&before, &after);
        assert_eq!(lost, Vec::<String>::new(), "{name}");
    }
}

/// Facts of `before` that are others in `after`, or missing.
fn lost(before: &Program, after: &Program) -> Vec<String> {
    let mut lost = Vec::new();
    for function in before.functions.iter() {
        if after.functions.at(function.entry) != Some(function) {
            let now = after.functions.at(function.entry);
            lost.push(format!("function {:x}: {function:?} is {now:?}", function.entry.offset));
        }
    }
    for (id, symbol) in before.symbols.iter() {
        if after.symbols.get(id) != Some(symbol) {
            lost.push(format!("symbol {symbol:?} is {:?}", after.symbols.get(id)));
        }
    }
    for (key, text) in before.comments.iter() {
        if after.comments.get(key) != Some(text) {
            lost.push(format!("comment {key:?}"));
        }
    }
    for (at, unit) in before.listing.data.iter() {
        if after.listing.data.get(at) != Some(unit) {
            lost.push(format!("data {at:?} {unit:?} is {:?}", after.listing.data.get(at)));
        }
    }
    for (at, unit) in before.listing.instructions.iter() {
        if after.listing.instructions.get(at) != Some(unit) {
            let now = after.listing.instructions.get(at);
            lost.push(format!("instruction {:x}: {unit:?} is {now:?}", at.offset));
        }
    }
    for reference in before.references.iter() {
        if !after.references.from(reference.from).any(|other| other == reference) {
            lost.push(format!("reference {reference:?}"));
        }
    }
    for (id, data_type) in before.types.iter().filter(|(_, t)| t.used) {
        if after.types.get(id) != Some(data_type) {
            lost.push(format!("type {}", data_type.path()));
        }
    }
    lost
}
