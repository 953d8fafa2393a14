//! Files that are not what was saved: refused with a reason, never half read.

use crate::sample::{differences, program, record};
use program::Program;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use store::{Project, StoreError};

/// The bytes of a sound project, and its program.
static SOUND: LazyLock<(Vec<u8>, Program)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p");
    let program = program();
    Project::claim(&path).expect("is free").save(&program, &record()).expect("it saves");
    (std::fs::read(&path).expect("it is there"), program)
});

struct Copy {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn copy(bytes: &[u8]) -> Copy {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p");
    std::fs::write(&path, bytes).expect("a file");
    Copy { _folder: folder, path }
}

fn edited(sql: &str) -> StoreError {
    let copy = copy(&SOUND.0);
    let connection = rusqlite::Connection::open(&copy.path).expect("it opens");
    connection.execute_batch(sql).expect("it can be edited");
    drop(connection);
    load(&copy.path).map(|_| ()).expect_err(sql)
}

fn load(path: &Path) -> Result<Program, StoreError> {
    Project::unclaimed(path).load(None).map(|(program, _)| program)
}

/// Refused, or exactly what was saved.
fn is_whole_or_refused(bytes: &[u8]) -> Result<(), TestCaseError> {
    match load(&copy(bytes).path) {
        Ok(found) => prop_assert!(differences(&SOUND.1, &found).is_empty()),
        Err(error) => prop_assert!(!error.to_string().contains('\n')),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn flipped_bytes_are_noticed(
        flips in proptest::collection::vec((any::<prop::sample::Index>(), 1u8..=255), 1..4),
    ) {
        let mut bytes = SOUND.0.clone();
        for (place, bits) in flips {
            let place = place.index(bytes.len());
            bytes[place] ^= bits;
        }
        is_whole_or_refused(&bytes)?;
    }

    #[test]
    fn overwritten_pages_are_noticed(
        from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>(), zero in any::<bool>(),
    ) {
        let mut bytes = SOUND.0.clone();
        let pages = bytes.len() / 4096;
        let (from, to) = (from.index(pages) * 4096, to.index(pages) * 4096);
        if zero { bytes[to..to + 4096].fill(0) } else { bytes.copy_within(from..from + 4096, to) }
        is_whole_or_refused(&bytes)?;
    }

    #[test]
    fn cut_files_are_refused(length in any::<prop::sample::Index>()) {
        let bytes = &SOUND.0;
        let cut = &bytes[..length.index(bytes.len())];
        prop_assert!(load(&copy(cut).path).is_err());
    }

    #[test]
    fn random_bytes_are_refused(
        bytes in proptest::collection::vec(any::<u8>(), 0..20_000), header in 0usize..200,
    ) {
        let mut file = bytes;
        // With a true beginning it gets further.
        let header = header.min(file.len());
        file[..header].copy_from_slice(&SOUND.0[..header]);
        prop_assert!(load(&copy(&file).path).is_err());
        prop_assert!(store::peek(&copy(&file).path).is_err());
    }
}

#[test]
fn rows_changed_by_hand_are_noticed() {
    for sql in [
        "UPDATE symbols SET name = name || 'x' WHERE id = (SELECT min(id) FROM symbols)",
        "DELETE FROM comments WHERE offset = (SELECT max(offset) FROM comments)",
        "INSERT INTO entry_points VALUES (0, 77)",
        "UPDATE info SET value = 'other' WHERE name = 'name'",
        "UPDATE checks SET sum = sum + 1 WHERE name = 'data'",
        "UPDATE contents SET data = zeroblob(100)",
        "UPDATE \"references\" SET operand = 'text'",
        "DELETE FROM reference_types",
    ] {
        let error = edited(sql);
        assert!(matches!(error, StoreError::Damaged { .. }), "{sql}: {error}");
        assert!(error.to_string().contains("damaged"), "{error}");
    }
}

#[test]
fn layouts_that_could_act_on_their_own_are_refused() {
    for sql in [
        "CREATE TRIGGER t AFTER INSERT ON comments BEGIN DELETE FROM symbols; END",
        "DROP TABLE comments; CREATE VIEW comments AS
         WITH RECURSIVE n(space) AS (SELECT 1 UNION ALL SELECT space + 1 FROM n)
         SELECT space, 1 AS offset, 'eol' AS type, 'x' AS text FROM n",
        "ALTER TABLE comments ADD COLUMN more",
        "DROP TABLE modes",
    ] {
        let error = edited(sql);
        assert!(matches!(error, StoreError::Damaged { .. }), "{sql}: {error}");
    }
}

#[test]
fn other_files_and_other_versions_are_told_apart() {
    let not_ours = edited("PRAGMA application_id = 5");
    assert!(matches!(not_ours, StoreError::NotAProject { .. }), "{not_ours}");
    let text = load(&copy(b"some notes\n").path).expect_err("is no project");
    assert!(matches!(text, StoreError::NotAProject { .. }), "{text}");
    let new = edited("PRAGMA user_version = 2");
    assert!(matches!(new, StoreError::TooNew { version: 2, .. }), "{new}");
    assert!(new.to_string().contains("newer ghidra-bridge"), "{new}");
    let missing = load(Path::new("/nonexistent/project")).expect_err("is not there");
    assert!(matches!(missing, StoreError::Read { .. }), "{missing}");
}

#[test]
fn damage_that_was_not_read_does_not_spread() {
    let copy = copy(&SOUND.0);
    let mut project = Project::claim(&copy.path).expect("is free");
    let (mut program, record) = project.load(None).expect("it loads");
    // Free pages are no part of what was read, but the next save would use them.
    let connection = rusqlite::Connection::open(&copy.path).expect("it opens");
    connection
        .execute_batch("CREATE TABLE more AS SELECT * FROM comments; DROP TABLE more")
        .unwrap();
    drop(connection);
    let mut bytes = std::fs::read(&copy.path).expect("it is there");
    let trunk = u32::from_be_bytes(bytes[32..36].try_into().expect("four")) as usize;
    assert!(trunk > 0, "there are free pages");
    // The list of free pages now names one that is in use.
    let start = (trunk - 1) * 4096;
    bytes[start + 4..start + 12].copy_from_slice(&[0, 0, 0, 1, 0, 0, 0, 2]);
    std::fs::write(&copy.path, &bytes).expect("it is written");
    let (found, _) = project.load(None).expect("what is used is sound");
    assert!(differences(&program, &found).is_empty());
    for n in 0..2000 {
        crate::sample::apply(&mut program, 0, n * 13, 1);
    }
    project.save(&program, &record).expect("it saves");
    let restored = load(&copy.path).expect("it loads");
    assert!(differences(&program, &restored).is_empty());
}
