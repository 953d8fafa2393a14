//! A process that is killed while it saves: the state saved last is there, or the
//! one that was just being saved, and nothing between.

use crate::sample::{program, record};
use program::{Address, CommentKind, SourceType, SymbolId};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use store::Project;

const ROUNDS: u64 = 30;
const PLACE: Address = Address::ram(0x1000);

/// The number that a program was marked with, when all marks agree.
fn mark(program: &program::Program) -> u64 {
    let comment = program.comments.get(&(PLACE, CommentKind::Plate));
    let number: u64 = comment.map_or(0, |text| text.parse().expect("a number"));
    if number > 0 {
        let bytes = program.memory.read_array::<8>(PLACE).expect("there are bytes");
        assert_eq!(u64::from_le_bytes(bytes), number, "memory and comment disagree");
        let names = program.symbols.at(PLACE).filter(|(_, s)| s.name.starts_with("mark")).count();
        assert_eq!(names, 1, "symbols and comment disagree");
        assert_eq!(program.symbols.named(&format!("mark{number}")).count(), 1);
    }
    number
}

fn set_mark(program: &mut program::Program, number: u64) {
    let old: Vec<SymbolId> = program
        .symbols
        .at(PLACE)
        .filter(|(_, symbol)| symbol.name.starts_with("mark"))
        .map(|(id, _)| id)
        .collect();
    old.into_iter().for_each(|id| {
        program.symbols.remove(id);
    });
    program.add_label(PLACE, &format!("mark{number}"), SymbolId::GLOBAL, SourceType::UserDefined);
    program.comments.insert((PLACE, CommentKind::Plate), number.to_string().into());
    program.memory.write(PLACE, &number.to_le_bytes()).expect("there are bytes");
    for n in 0..number % 200 {
        crate::sample::apply(program, 6, number * 1000 + n, n);
    }
}

/// Saves again and again until it is killed.
#[test]
fn child_that_saves() {
    let Some(path) = std::env::var_os("STORE_TEST_CRASH") else { return };
    let mut project = Project::claim(Path::new(&path)).expect("is free");
    let (mut program, record) = match project.exists() {
        true => project.load(None).expect("it loads"),
        false => (program(), record()),
    };
    for number in mark(&program) + 1.. {
        set_mark(&mut program, number);
        if number % 9 == 0 {
            // Unknown to this value, the file is written as a whole.
            drop(project);
            project = Project::claim(Path::new(&path)).expect("is free");
        }
        project.save(&program, &record).expect("it saves");
        println!("saved {number}");
    }
}

#[test]
fn killed_while_saving_loses_nothing_that_was_saved() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p");
    let mut seed = u64::from(std::process::id()) * 7919;
    let mut reached = 0;
    for _ in 0..ROUNDS {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let mut child = Command::new(std::env::current_exe().expect("a test"))
            .args(["crash::child_that_saves", "--exact", "--nocapture"])
            .env("STORE_TEST_CRASH", &path)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut last = None;
        let mut note = |line: &str| {
            if let Some(number) = line.strip_prefix("saved ") {
                last = Some(number.parse::<u64>().expect("a number"));
            }
        };
        // It is at work once the first save is told.
        for line in lines.by_ref().map_while(Result::ok) {
            note(&line);
            if line.starts_with("saved ") {
                break;
            }
        }
        std::thread::sleep(Duration::from_micros(seed >> 33 & 0x7fff));
        child.kill().expect("it runs");
        child.wait().expect("it ended");
        lines.map_while(Result::ok).for_each(|line| note(&line));
        let told = last.expect("it saved");
        let (found, _) = Project::unclaimed(&path).load(None).expect("it loads");
        let found = mark(&found);
        assert!(found == told || found == told + 1, "saved {told}, found {found}");
        assert!(found > reached, "it goes on from where it was");
        reached = found;
    }
}
