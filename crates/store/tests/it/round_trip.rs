//! What is saved comes back, whether it was written at once or change by change.

use crate::sample::{apply, differences, program, record};
use program::{Address, BlockSource, Program};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use store::Project;

const NOTHING: [&str; 0] = [];

fn reopened(path: &Path) -> Program {
    let (program, found) = Project::unclaimed(path).load(None).expect("it loads");
    assert_eq!(found.load, record().load);
    program
}

#[test]
fn everything_comes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p");
    let program = program();
    for (name, count) in [
        ("functions", program.functions.len()),
        ("references", program.references.len()),
        ("instructions", program.listing.instructions.len()),
        ("data", program.listing.data.len()),
        ("comments", program.comments.len()),
        ("symbols", program.symbols.len()),
        ("modes", program.modes.len()),
    ] {
        assert!(count > 5, "the sample has only {count} {name}");
    }
    let mut project = Project::claim(&path).expect("is free");
    assert!(!project.exists() && !project.holds(&program, &record()));
    project.save(&program, &record()).expect("it saves");
    assert!(project.exists() && project.holds(&program, &record()));
    let (restored, found) = Project::unclaimed(&path).load(None).expect("it loads");
    assert_eq!(found, record());
    assert_eq!(differences(&program, &restored), NOTHING);
    let summary = store::peek(&path).expect("it can be looked at");
    assert_eq!((&*summary.name, &*summary.executable_path), ("sämple", "/some/where"));
    let names: Vec<_> = folder.path().read_dir().expect("a folder").flatten().collect();
    assert_eq!(names.len(), 2, "the project and its lock: {names:?}");
}

#[test]
fn a_program_without_anything_comes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p");
    let empty = Program::new(Default::default(), false, Default::default());
    Project::claim(&path).expect("is free").save(&empty, &record()).expect("it saves");
    assert_eq!(differences(&empty, &reopened(&path)), NOTHING);
}

#[test]
fn bytes_at_hand_stand_for_stored_ones_only_when_they_are_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p");
    let program = program();
    Project::claim(&path).expect("is free").save(&program, &record()).expect("it saves");
    let bytes = |program: &Program| match program.memory.blocks()[0].source() {
        BlockSource::Bytes { bytes, .. } => Arc::clone(bytes),
        other => panic!("not from the file: {other:?}"),
    };
    let file = bytes(&program);
    let sha256 = record().load.file_sha256;
    let load = |file: &Arc<[u8]>, sha256: &str| {
        let loaded = Project::unclaimed(&path).load(Some((file, sha256)));
        loaded.expect("it loads").0
    };
    let shared = load(&file, &sha256);
    assert!(Arc::ptr_eq(&bytes(&shared), &file), "no second copy");
    assert_eq!(differences(&program, &shared), NOTHING);
    let mut other = file.to_vec();
    other[30_000] ^= 1;
    let other: Arc<[u8]> = other.into();
    for (file, sha256) in [(&file, "another"), (&other, &*sha256)] {
        assert_eq!(differences(&program, &load(file, sha256)), NOTHING);
    }
    let longer: Arc<[u8]> = [&*file, b"more"].concat().into();
    assert_eq!(differences(&program, &load(&longer, &sha256)), NOTHING);
}

#[test]
fn blocks_may_come_go_and_change() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p");
    let mut program = program();
    let mut project = Project::claim(&path).expect("is free");
    project.save(&program, &record()).expect("it saves");
    program.memory.edit_block(Address::ram(0x1000), |block| block.name = "renamed".into());
    program.memory.edit_block(Address::ram(0x20_0000), program::MemoryBlock::initialize);
    program.memory.write(Address::ram(0x30_0000), b"now there").expect("it has bytes");
    let bytes: Arc<[u8]> = vec![7; 5000].into();
    let source = BlockSource::Bytes { bytes, offset: 1, length: 4000 };
    let block = program::MemoryBlock::new("new", Address::ram(0x40), 4000, source);
    program.memory.add_block(block).expect("is free");
    project.save(&program, &record()).expect("it saves");
    assert_eq!(differences(&program, &reopened(&path)), NOTHING);
}

#[test]
fn what_somebody_changed_by_hand_is_written_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p");
    let mut program = program();
    let mut project = Project::claim(&path).expect("is free");
    project.save(&program, &record()).expect("it saves");
    let by_hand = rusqlite::Connection::open(&path).expect("it opens");
    by_hand.execute("DELETE FROM comments", []).expect("it may be edited");
    drop(by_hand);
    apply(&mut program, 0, 5, 5);
    project.save(&program, &record()).expect("it saves");
    assert_eq!(differences(&program, &reopened(&path)), NOTHING);
    std::fs::remove_file(&path).expect("it is there");
    project.save(&program, &record()).expect("it saves");
    assert_eq!(differences(&program, &reopened(&path)), NOTHING);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn saving_change_by_change_is_like_saving_at_once(
        rounds in proptest::collection::vec(
            (proptest::collection::vec((any::<u8>(), any::<u64>(), 0u64..100_000), 0..60), any::<bool>()),
            1..5,
        ),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("p");
        let mut current = program();
        let mut project = Project::claim(&path).expect("is free");
        project.save(&current, &record()).expect("it saves");
        for (edits, reopen) in rounds {
            for (kind, a, b) in edits {
                apply(&mut current, kind, a, b);
            }
            let mut now = record();
            now.analysis.message = Some(format!("{} comments", current.comments.len()));
            project.save(&current, &now).expect("it saves");
            let restored = reopened(&path);
            prop_assert_eq!(differences(&current, &restored), NOTHING);
            if reopen {
                drop(project);
                project = Project::claim(&path).expect("is free again");
                let (program, found) = project.load(None).expect("it loads");
                prop_assert_eq!(found, now);
                current = program;
            }
        }
    }
}
