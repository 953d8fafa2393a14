//! What the engine costs on large real files, beside what Ghidra costs there.

pub mod cost;
pub mod edits;
pub mod latency;
pub mod load;

use std::path::{Path, PathBuf};

/// A real file to measure on, and what Ghidra 12.2 needs for it without its
/// window on a machine of the same kind.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Short name.
    pub name: &'static str,
    /// Where Debian puts it.
    pub path: &'static str,
    /// What Ghidra needs.
    pub ghidra: GhidraCost,
}

/// What Ghidra needs for one file.
#[derive(Debug, Clone, Copy)]
pub struct GhidraCost {
    /// Processor seconds of import and analysis.
    pub analysis_seconds: f64,
    /// Peak memory in megabytes.
    pub peak_megabytes: f64,
    /// Seconds to decompile every function.
    pub decompile_seconds: f64,
}

/// The files that figures are reported for.
pub const TARGETS: [Target; 3] = [
    Target {
        name: "ls",
        path: "/bin/ls",
        ghidra: GhidraCost {
            analysis_seconds: 20.0,
            peak_megabytes: 580.0,
            decompile_seconds: 6.0,
        },
    },
    Target {
        name: "libsqlite3",
        path: "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0.8.6",
        ghidra: GhidraCost {
            analysis_seconds: 85.0,
            peak_megabytes: 1100.0,
            decompile_seconds: 42.0,
        },
    },
    Target {
        name: "bash",
        path: "/bin/bash",
        ghidra: GhidraCost {
            analysis_seconds: 92.0,
            peak_megabytes: 1000.0,
            decompile_seconds: 49.0,
        },
    },
];

impl Target {
    /// The file, where this machine has it.
    pub fn file(&self) -> Option<PathBuf> {
        let path = Path::new(self.path);
        path.is_file().then(|| path.to_owned())
    }
}
