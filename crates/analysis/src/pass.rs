//! The table of passes, and how they are run.

use crate::debug_files::{DebugFiles, NoDebugFiles};
use crate::switches::Told;
use decompiler::{Decompiler, Language};
use program::Program;

/// Why a run ended early.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// The monitor asked for it; what was found so far stays.
    #[error("cancelled")]
    Cancelled,
    /// A selected pass does not exist.
    #[error("no analyzer is called \"{0}\"")]
    UnknownPass(String),
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
            crate::unwind::mark_up(analysis.program);
            Ok(())
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
        name: "Apply Library Prototypes",
        description: "Gives imported functions of known names their prototypes.",
        run: crate::prototypes::run,
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
    let decompiler = Decompiler::new();
    let mut told = Told::default();
    for (done, pass) in passes.iter().enumerate() {
        monitor.phase(pass.name, done, passes.len());
        let began = std::time::Instant::now();
        let mut analysis = Analysis {
            program: &mut *program,
            language,
            decompiler: &decompiler,
            told: &mut told,
            monitor: &mut *monitor,
            files,
        };
        analysis.check()?;
        (pass.run)(&mut analysis)?;
        tracing::debug!(pass = pass.name, elapsed = ?began.elapsed(), "pass finished");
        monitor.publish(program);
    }
    Ok(())
}
