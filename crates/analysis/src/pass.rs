//! The table of passes, and how they are run: one after the other, each guarded, so that one that
//! panics or exceeds its bounds loses its own findings only.

use crate::debug_files::{DebugFiles, NoDebugFiles};
use crate::guard::{Failure, guarded};
use crate::switches::Told;
use decompiler::{Decompiler, Language};
use program::Program;
use std::time::{Duration, Instant};

/// Why a run ended early.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// The monitor asked for it; what was found so far stays.
    #[error("cancelled")]
    Cancelled,
    /// A selected pass does not exist.
    #[error("no analyzer is called \"{0}\"; there are {names}", names = names())]
    UnknownPass(String),
}

/// The names of all passes, as messages list them.
fn names() -> String {
    PASSES.iter().map(|pass| pass.name).collect::<Vec<_>>().join(", ")
}

/// Who watches a run.
pub trait Monitor {
    /// A pass begins; `done` of `total` passes are over.
    fn phase(&mut self, name: &'static str, done: usize, total: usize);
    /// The part of the current pass that is over, 0 to 1.
    fn progress(&mut self, fraction: f32);
    /// Whether the run should end.
    fn cancelled(&self) -> bool;
    /// Makes the facts found so far visible to readers.
    fn publish(&mut self, program: &Program);
    /// A pass is over; the program is the state that it leaves.
    fn finished(&mut self, _report: PassReport, _program: &Program) {}
    /// The memory that the process holds now, in bytes, where it can be told.
    fn memory(&self) -> Option<u64> {
        None
    }
    /// What a pass may take.
    fn bounds(&self) -> Bounds {
        Bounds::default()
    }
}

/// What one pass may take before it is ended and its findings are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// How long it may run.
    pub time: Duration,
    /// How many bytes of memory the process may grow by while it runs.
    pub memory: u64,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { time: Duration::from_secs(3600), memory: u64::MAX }
    }
}

/// How a pass went.
#[derive(Debug, Clone)]
pub struct PassReport {
    /// The pass.
    pub name: &'static str,
    /// How long it ran.
    pub elapsed: Duration,
    /// Why its findings are left out, if they are.
    pub failure: Option<Failure>,
}

/// What a pass works with.
pub struct Analysis<'a> {
    /// The working copy.
    pub program: &'a mut Program,
    /// The program's processor.
    pub language: &'a Language,
    /// Follows flow where only a decompiler can tell where it leads.
    pub(crate) decompiler: &'a Decompiler,
    /// What it told so far.
    pub(crate) told: &'a mut Told,
    pub(crate) monitor: &'a mut dyn Monitor,
    /// Files apart from the program.
    pub(crate) files: &'a dyn DebugFiles,
}

impl Analysis<'_> {
    /// Ends the pass when the monitor asks for it.
    pub fn check(&self) -> Result<(), Stopped> {
        if self.monitor.cancelled() { Err(Stopped::Cancelled) } else { Ok(()) }
    }

    /// Reports how far the pass is, and publishes what it found.
    pub fn step(&mut self, fraction: f32) -> Result<(), Stopped> {
        self.check()?;
        self.monitor.progress(fraction);
        self.monitor.publish(self.program);
        Ok(())
    }
}

/// One pass.
pub struct Pass {
    /// Its name, as `analysis.start` takes it.
    pub name: &'static str,
    /// What it finds, in one sentence.
    pub description: &'static str,
    run: fn(&mut Analysis<'_>) -> Result<(), Stopped>,
}

/// All passes in the order they run.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "GCC Exception Handlers",
        description: "Marks up the exception tables that GCC lays down.",
        run: |analysis| {
            let monitor = &*analysis.monitor;
            crate::unwind::mark_up(analysis.program, &|| monitor.cancelled());
            analysis.check()
        },
    },
    Pass {
        name: "PDB Universal",
        description: "Takes names, types, prototypes and variables out of the PDB file of a Windows program.",
        run: crate::pdb::run,
    },
    Pass {
        name: "Golang Symbols",
        description: "Names the functions of Go programs by the table that their runtime has.",
        run: crate::golang::run,
    },
    Pass {
        name: "DWARF",
        description: "Takes functions, types, prototypes and variables out of debug information, and symbols out of a file apart that holds it.",
        run: crate::dwarf::run,
    },
    Pass {
        name: "Demangler GNU",
        description: "Defines the tables and names that mangled C++ symbols stand for.",
        run: crate::mangled::run,
    },
    Pass {
        name: "Windows x86 PE Exception Handling",
        description: "Marks up what Windows programs say about C++ exceptions; makes functions of what handles them.",
        run: crate::exception_data::run,
    },
    Pass {
        name: "Windows x86 Thread Environment Block (TEB) Analyzer",
        description: "Makes a block of what FS or GS points to in Windows programs.",
        run: crate::thread_block::run,
    },
    Pass {
        name: "Apply Library Prototypes",
        description: "Gives imported functions of known names their prototypes.",
        run: crate::prototypes::run,
    },
    Pass {
        name: "Windows API Prototypes",
        description: "Gives functions that are imported from libraries of Windows their prototypes and types.",
        run: crate::windows_prototypes::run,
    },
    Pass {
        name: "Disassemble Entry Points",
        description: "Follows code from known starts; finds functions and which of them return.",
        run: crate::functions::run,
    },
    Pass {
        name: "Create Thunks",
        description: "Finds functions that only pass on to another one, and names them after it.",
        run: crate::thunks::run,
    },
    Pass {
        name: "Call-Fixup Installer",
        description: "Finds functions whose calls the decompiler replaces.",
        run: crate::call_fixups::run,
    },
    Pass {
        name: "Demangler Signatures",
        description: "Takes parameters out of demangled C++ names.",
        run: crate::demangled_signatures::run,
    },
    Pass {
        name: "Constant References",
        description: "Follows constants and stack places through functions; finds references and stack variables.",
        run: crate::constants::run,
    },
    Pass {
        name: "Library Prototypes of Own Functions",
        description: "Gives the program's own functions of known names their prototypes.",
        run: crate::prototypes::run_defined,
    },
    Pass {
        name: "Subroutine References",
        description: "Makes functions of places that references call.",
        run: crate::functions::run_called,
    },
    Pass {
        name: "Windows x86 PE RTTI Analyzer",
        description: "Finds descriptions of types and tables of virtual functions in Windows programs.",
        run: crate::rtti::run,
    },
    Pass {
        name: "Shared Return Calls",
        description: "Turns jumps to other functions into calls that end the caller.",
        run: crate::shared_returns::run,
    },
    Pass {
        name: "Access Sizes",
        description: "Defines undefined data of the size that code reads or writes.",
        run: crate::accesses::run,
    },
    Pass {
        name: "Reference",
        description: "Defines texts and pointers at places that are referred to.",
        run: crate::referenced::run,
    },
    Pass {
        name: "Create Address Tables",
        description: "Finds tables of pointers in undefined data.",
        run: crate::address_tables::run,
    },
    Pass {
        name: "Data Reference",
        description: "Decodes code that only data refers to.",
        run: crate::functions::run_pointed,
    },
    Pass {
        name: "Stack",
        description: "Follows stack frames again where more is known by now about what callees leave of them.",
        run: crate::constants::run_again,
    },
    Pass {
        name: "Unused Imports",
        description: "Leaves imports of Windows programs that nothing calls as places.",
        run: crate::unused_imports::run,
    },
    Pass {
        name: "ASCII Strings",
        description: "Finds texts that nothing refers to.",
        run: crate::strings::run,
    },
    Pass {
        name: "Rust String Analyzer",
        description: "Splits the texts of Rust programs, which end in no zero.",
        run: crate::rust_strings::run,
    },
    Pass {
        name: "Main Function",
        description: "Names the function that start-up code runs as main.",
        run: crate::main_function::run,
    },
    Pass {
        name: "Demangler Microsoft",
        description: "Shows decorated C functions of Windows programs under their plain names.",
        run: crate::c_names::run,
    },
    Pass {
        name: "Decompiler Parameter ID",
        description: "Keeps the parameters that the decompiler finds in functions of Windows programs.",
        run: crate::parameter_ids::run,
    },
];

/// Runs the selected passes (all by default) in table order.
pub fn run(
    program: &mut Program,
    language: &Language,
    selected: Option<&[String]>,
    monitor: &mut dyn Monitor,
) -> Result<(), Stopped> {
    run_with_files(program, language, selected, &NoDebugFiles, monitor)
}

/// Runs the selected passes with the debug information that `files` finds apart from the program.
pub fn run_with_files(
    program: &mut Program,
    language: &Language,
    selected: Option<&[String]>,
    files: &dyn DebugFiles,
    monitor: &mut dyn Monitor,
) -> Result<(), Stopped> {
    let wanted = |pass: &Pass| selected.is_none_or(|s| s.iter().any(|name| name == pass.name));
    if let Some(unknown) =
        selected.unwrap_or_default().iter().find(|name| PASSES.iter().all(|p| p.name != *name))
    {
        return Err(Stopped::UnknownPass(unknown.clone()));
    }
    let passes: Vec<&Pass> = PASSES.iter().filter(|p| wanted(p)).collect();
    run_all(&passes, program, language, files, monitor)
}

/// Runs passes in their order. What a pass found is dropped when it fails, and the others go on
/// from the state before it; a snapshot costs nothing that grows with the program.
fn run_all(
    passes: &[&Pass],
    program: &mut Program,
    language: &Language,
    files: &dyn DebugFiles,
    monitor: &mut dyn Monitor,
) -> Result<(), Stopped> {
    let mut decompiler = Decompiler::new();
    let mut told = Told::default();
    for (done, pass) in passes.iter().enumerate() {
        monitor.phase(pass.name, done, passes.len());
        let (before, began) = (program.clone(), Instant::now());
        let outcome = guarded(monitor, |monitor| {
            let mut analysis = Analysis {
                program: &mut *program,
                language,
                decompiler: &decompiler,
                told: &mut told,
                monitor,
                files,
            };
            analysis.check()?;
            (pass.run)(&mut analysis)
        });
        let failure = match outcome {
            Ok(outcome) => {
                outcome?;
                None
            }
            Err(failure) => Some(failure),
        };
        if let Some(failure) = &failure {
            *program = before;
            // Both may be half changed.
            (decompiler, told) = (Decompiler::new(), Told::default());
            program.warn(format!("{} {failure}; its findings are left out", pass.name));
            tracing::warn!(pass = pass.name, %failure, "pass failed");
        }
        let elapsed = began.elapsed();
        if cfg!(debug_assertions) {
            let violations = program.verify();
            assert!(violations.is_empty(), "{} leaves {violations:?}", pass.name);
        }
        tracing::debug!(pass = pass.name, ?elapsed, "pass finished");
        monitor.finished(PassReport { name: pass.name, elapsed, failure }, program);
        monitor.publish(program);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use program::{Address, DataOrganization, ProgramInfo, SourceType, SymbolId};

    /// Says that the process grows while the pass "Greedy" runs.
    #[derive(Default)]
    struct Bounded {
        phase: &'static str,
        memory: std::cell::Cell<u64>,
        reports: Vec<PassReport>,
    }

    impl Monitor for Bounded {
        fn phase(&mut self, name: &'static str, _done: usize, _total: usize) {
            self.phase = name;
        }
        fn progress(&mut self, _fraction: f32) {}
        fn cancelled(&self) -> bool {
            false
        }
        fn publish(&mut self, _program: &Program) {}
        fn finished(&mut self, report: PassReport, _program: &Program) {
            self.reports.push(report);
        }
        fn memory(&self) -> Option<u64> {
            let growth = if self.phase == "Greedy" { 1000 } else { 0 };
            self.memory.set(self.memory.get() + growth);
            Some(self.memory.get())
        }
        fn bounds(&self) -> Bounds {
            Bounds { time: Duration::from_secs(1), memory: 1500 }
        }
    }

    fn mark(analysis: &mut Analysis<'_>, at: u64) {
        let place = Address::ram(at);
        let name = format!("mark_{at:x}");
        analysis.program.add_label(place, &name, SymbolId::GLOBAL, SourceType::Analysis);
    }

    const FIRST: Pass = Pass {
        name: "First",
        description: "",
        run: |analysis| {
            mark(analysis, 0x10);
            Ok(())
        },
    };
    const PANICS: Pass = Pass {
        name: "Panics",
        description: "",
        run: |analysis| {
            mark(analysis, 0x20);
            panic!("a table that is {}", "broken")
        },
    };
    const ENDLESS: Pass = Pass {
        name: "Endless",
        description: "",
        run: |analysis| {
            mark(analysis, 0x30);
            loop {
                analysis.check()?;
                std::thread::sleep(Duration::from_millis(20));
            }
        },
    };
    const GREEDY: Pass = Pass {
        name: "Greedy",
        description: "",
        run: |analysis| {
            mark(analysis, 0x40);
            loop {
                analysis.check()?;
            }
        },
    };
    const LAST: Pass = Pass {
        name: "Last",
        description: "",
        run: |analysis| {
            mark(analysis, 0x50);
            Ok(())
        },
    };

    #[test]
    fn a_pass_that_fails_costs_its_own_findings_only_and_is_named() {
        let info = ProgramInfo { address_bits: 64, ..ProgramInfo::default() };
        let mut program = Program::new(info, false, DataOrganization::default());
        let language = Language::open("x86:LE:64:default", "gcc").expect("built in");
        let mut monitor = Bounded::default();
        let passes = [&FIRST, &PANICS, &ENDLESS, &GREEDY, &LAST];
        let outcome = run_all(&passes, &mut program, &language, &NoDebugFiles, &mut monitor);
        assert_eq!(outcome, Ok(()));
        let left = |at| program.symbols.named(&format!("mark_{at:x}")).next().is_some();
        let marks = [0x10, 0x20, 0x30, 0x40, 0x50].map(left);
        assert_eq!(marks, [true, false, false, false, true]);
        let failures: Vec<bool> = monitor.reports.iter().map(|r| r.failure.is_some()).collect();
        assert_eq!(failures, [false, true, true, true, false]);
        let warnings = program.info.warnings.join("\n");
        for (name, reason) in
            [("Panics", "a table that is broken"), ("Endless", "took longer"), ("Greedy", "memory")]
        {
            let told = |line: &str| line.starts_with(name) && line.contains(reason);
            assert!(warnings.lines().any(told), "{name}: {warnings}");
        }
    }
}
