//! Which crate may depend on which: the layers of the architecture as a table.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::Finding;

/// Ordinary dependencies each crate may have on others of this workspace.
const LAYERS: &[(&str, &[&str])] = &[
    ("program", &[]),
    ("demangler", &["program"]),
    ("loader", &["program", "demangler"]),
    ("decompiler", &["program"]),
    ("declarations", &["program"]),
    ("analysis", &["program", "decompiler", "declarations", "demangler"]),
    ("emulator", &["program", "decompiler"]),
    ("store", &["program"]),
    ("ghidra-db", &[]),
    ("ghidra-project", &["program", "decompiler", "ghidra-db"]),
    (
        "engine",
        &[
            "program",
            "loader",
            "decompiler",
            "declarations",
            "analysis",
            "emulator",
            "store",
            "ghidra-db",
            "ghidra-project",
        ],
    ),
    ("api", &["engine", "program"]),
    ("jsonrpc", &[]),
    ("mcp", &["jsonrpc"]),
    ("server", &["api", "jsonrpc", "mcp", "engine"]),
    ("ghidra-bridge", &["server", "api", "engine"]),
    ("mcp-probe", &[]),
];

/// What the tests of a crate may use beyond its own layer and `testkit`: an analysis
/// is tested on programs that were really loaded.
const FOR_TESTS: &[(&str, &str)] = &[
    ("analysis", "loader"),
    ("decompiler", "loader"),
    ("emulator", "loader"),
    ("emulator", "analysis"),
];

/// Crates for development only; they may depend on any other.
const TOOLS: &[&str] = &["testkit", "trials", "bench", "xtask"];

/// Foreign crates that only some of ours may name. Tools may name them all,
/// except where `tools` says otherwise.
const LIMITED: &[Limit] = &[
    Limit {
        crates: &["serde_json", "schemars", "jsonschema"],
        allowed: &["api", "jsonrpc", "mcp", "server", "ghidra-bridge", "mcp-probe"],
        tools: true,
        why: "below `api` nothing knows JSON",
    },
    Limit {
        crates: &[
            "axum",
            "futures-util",
            "hyper",
            "reqwest",
            "tokio",
            "tokio-tungstenite",
            "tokio-util",
            "tower",
        ],
        allowed: &["server", "ghidra-bridge", "mcp-probe"],
        tools: true,
        why: "below `server` nothing knows HTTP or async",
    },
    Limit {
        crates: &["ghidra-decompiler"],
        allowed: &["decompiler"],
        tools: false,
        why: "the adapter `decompiler` is the only door to the engine crate",
    },
];

struct Limit {
    crates: &'static [&'static str],
    allowed: &'static [&'static str],
    tools: bool,
    why: &'static str,
}

/// A workspace member as `cargo metadata` describes it.
#[derive(Debug, Clone, Deserialize)]
pub struct Package {
    /// The crate's name.
    pub name: String,
    /// Its direct dependencies of every kind.
    pub dependencies: Vec<Dependency>,
}

/// One direct dependency of a [`Package`].
#[derive(Debug, Clone, Deserialize)]
pub struct Dependency {
    /// The name of the crate depended on.
    pub name: String,
    /// `None` for ordinary dependencies, else `dev` or `build`.
    pub kind: Option<String>,
    /// Set for crates of this workspace.
    pub path: Option<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

/// Asks cargo for the members of the workspace at `root`.
pub(super) fn read_packages(root: &Path) -> Result<Vec<Package>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(root)
        .output()
        .context("cargo metadata could not be started")?;
    ensure!(
        output.status.success(),
        "cargo metadata failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let metadata: Metadata =
        serde_json::from_slice(&output.stdout).context("cargo metadata printed no JSON")?;
    Ok(metadata.packages)
}

pub(super) fn check(packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        let place = format!("crates/{}/Cargo.toml", package.name);
        let mut report = |problem: String| findings.push(Finding::new(place.clone(), problem));
        let is_tool = TOOLS.contains(&package.name.as_str());
        let layer = LAYERS.iter().find(|(name, _)| *name == package.name);
        if layer.is_none() && !is_tool {
            report("has no row in the layer table of xtask/src/tidy/layers.rs".into());
        }
        for dependency in &package.dependencies {
            let allowed = layer.map(|(_, to)| *to);
            if let Some(problem) = judge_inner(&package.name, dependency, allowed, is_tool) {
                report(problem);
            }
            if let Some(problem) = judge_foreign(&package.name, dependency, is_tool) {
                report(problem);
            }
        }
    }
    findings
}

/// Judges a dependency on another crate of the workspace.
fn judge_inner(
    package: &str,
    dependency: &Dependency,
    allowed: Option<&[&str]>,
    is_tool: bool,
) -> Option<String> {
    dependency.path.as_ref()?;
    let name = dependency.name.as_str();
    let for_tests = dependency.kind.as_deref() == Some("dev");
    let fine = is_tool
        || allowed.is_some_and(|allowed| allowed.contains(&name))
        || (for_tests && (name == "testkit" || FOR_TESTS.contains(&(package, name))));
    (!fine).then(|| format!("may not depend on `{name}`: see the layers in ARCHITECTURE.md"))
}

/// Judges a dependency on a crate from elsewhere. Tests may use what they like,
/// but the engine crate stays behind its adapter even there.
fn judge_foreign(package: &str, dependency: &Dependency, is_tool: bool) -> Option<String> {
    let name = dependency.name.as_str();
    let limit = LIMITED.iter().find(|limit| limit.crates.contains(&name))?;
    let for_tests = dependency.kind.as_deref() == Some("dev");
    let fine = limit.allowed.contains(&package) || (limit.tools && (is_tool || for_tests));
    (!fine).then(|| format!("may not depend on `{name}`: {}", limit.why))
}
