//! Where a project cannot be kept: clear errors, and the session goes on.

use crate::sample::{apply, differences, program, record};
use std::path::Path;
use std::process::Command;
use store::{Project, StoreError};

#[test]
fn a_place_that_cannot_be_written_is_named() {
    // Nobody can make files there, whoever runs this.
    let path = Path::new("/proc/self/project");
    let error = Project::claim(path).expect_err("no files there").to_string();
    assert!(error.contains("/proc/self/project") && error.contains("cannot be saved"), "{error}");
    let mut project = Project::unclaimed(path);
    let error = project.save(&program(), &record()).expect_err("no files there");
    assert!(matches!(error, StoreError::Write { .. }), "{error}");
}

#[test]
fn two_users_of_one_project_do_not_overwrite_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p");
    let mut first = Project::claim(&path).expect("is free");
    let mut current = program();
    first.save(&current, &record()).expect("it saves");
    let Err(StoreError::Held { holder, .. }) = Project::claim(&path) else { panic!("held twice") };
    assert_eq!(holder.process, Some(std::process::id()));
    let mut second = Project::unclaimed(&path);
    let (mut theirs, theirs_record) = second.load(None).expect("it may be read");
    apply(&mut theirs, 0, 1, 1);
    let error = second.save(&theirs, &theirs_record).expect_err("is held");
    assert!(matches!(error, StoreError::Held { .. }), "{error}");
    apply(&mut current, 0, 2, 2);
    first.save(&current, &record()).expect("it saves");
    drop(first);
    let error = second.save(&theirs, &theirs_record).expect_err("was written meanwhile");
    assert!(error.to_string().contains("another process has saved"), "{error}");
    let (found, _) = Project::unclaimed(&path).load(None).expect("it loads");
    assert!(differences(&current, &found).is_empty());
    let late = Project::unclaimed(&path).save(&theirs, &theirs_record);
    assert!(late.is_err(), "what was never read is not overwritten");
}

/// Runs in a process whose files may not grow: see the test below.
#[test]
fn child_with_little_space() {
    let Some(path) = std::env::var_os("STORE_TEST_FULL") else { return };
    let mut project = Project::claim(Path::new(&path)).expect("is free");
    let (saved, record) = project.load(None).expect("it loads");
    let mut large = saved.clone();
    for n in 0..40_000 {
        apply(&mut large, 0, n * 5, n * 4 + 1);
    }
    let error = project.save(&large, &record).expect_err("there is no room");
    println!("said: {error}");
    assert!(!project.holds(&large, &record));
    let (found, _) = Project::unclaimed(Path::new(&path)).load(None).expect("it loads");
    assert!(differences(&saved, &found).is_empty(), "the old state is still there");
    let mut small = saved.clone();
    apply(&mut small, 0, 5, 1);
    project.save(&small, &record).expect("there is room for less");
    println!("went on");
}

#[test]
#[cfg(unix)]
fn no_more_space_is_an_error_and_not_an_end() {
    let folder = tempfile::tempdir().expect("a folder");
    for first in ["change", "whole"] {
        let path = folder.path().join(first);
        Project::claim(&path).expect("is free").save(&program(), &record()).expect("it saves");
        let blocks = std::fs::metadata(&path).expect("it is there").len() / 512 + 200;
        // The limit is refused writes, as on a full disk, once its signal is ignored.
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let output = Command::new("sh")
            .args(["-c", &script])
            .arg(std::env::current_exe().expect("a test"))
            .args(["places::child_with_little_space", "--exact", "--nocapture"])
            .env("STORE_TEST_FULL", &path)
            .output()
            .expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains("cannot be saved: the disk") && text.contains("went on"), "{text}");
        let (found, _) = Project::unclaimed(&path).load(None).expect("it loads");
        assert!(!differences(&program(), &found).is_empty(), "the small edit is there");
    }
}
