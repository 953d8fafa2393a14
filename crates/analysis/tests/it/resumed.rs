//! An analysis in two parts, as one that was interrupted between two passes is resumed, finds what
//! an analysis in one part finds.

use analysis::{Monitor, PASSES, PassReport, Stopped};
use decompiler::Language;
use loader::LoadOptions;
use program::Program;

/// Wants the run to end when so many passes are over, and keeps the state then.
struct Interrupts {
    after: usize,
    over: usize,
    kept: Option<Program>,
}

impl Monitor for Interrupts {
    fn phase(&mut self, _name: &'static str, _done: usize, _total: usize) {}
    fn progress(&mut self, _fraction: f32) {}
    fn cancelled(&self) -> bool {
        self.over >= self.after
    }
    fn publish(&mut self, _program: &Program) {}
    fn finished(&mut self, _report: PassReport, program: &Program) {
        self.over += 1;
        self.kept = Some(program.clone());
    }
}

fn loaded(name: &str) -> (Program, Language) {
    let path = testkit::fixture(name);
    let bytes = std::fs::read(&path).expect(name);
    let program = loader::load(name, name, bytes.into(), &LoadOptions::default()).expect(name);
    let info = &program.info;
    let language = Language::open(&info.language_id, &info.compiler_spec_id).expect("built in");
    (program, language)
}

#[test]
fn an_analysis_that_is_resumed_finds_the_same() {
    for name in ["inventory.x64.O2", "shapes.aarch64.O2.stripped", "../windows/latch.x64.exe"] {
        let (start, language) = loaded(name);
        let names: Vec<String> = PASSES.iter().map(|pass| pass.name.to_owned()).collect();
        let run = |program: &mut Program, passes: &[String], after: usize| {
            let mut monitor = Interrupts { after, over: 0, kept: None };
            let outcome = analysis::run(program, &language, Some(passes), &mut monitor);
            (outcome, monitor.kept)
        };
        let mut whole = start.clone();
        assert_eq!(run(&mut whole, &names, usize::MAX).0, Ok(()), "{name}");
        for after in 1..names.len() {
            let (outcome, kept) = run(&mut start.clone(), &names, after);
            assert_eq!(outcome, Err(Stopped::Cancelled), "{name}, {after}");
            let mut resumed = kept.expect("a pass was over");
            assert_eq!(run(&mut resumed, &names[after..], usize::MAX).0, Ok(()), "{name}");
            assert!(resumed == whole, "{name}: another end when {} is the last", names[after - 1]);
        }
    }
}
