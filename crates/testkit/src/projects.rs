//! Projects of real Ghidra 12.2 and what they hold, table by table and item by item: where they
//! are. They stand beside the checkout, not in it.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The folder of projects and dumps.
#[derive(Debug, Clone)]
pub struct Projects {
    folder: PathBuf,
}

impl Projects {
    /// Finds the folder: the one `GHIDRA_PROJECTS` names, or `../shared/ghidra-projects` beside the
    /// checkout.
    ///
    /// Without it, prints that `test` is skipped and returns `None`.
    ///
    /// # Panics
    ///
    /// When the folder is absent, `CI` is `true`, and the other samples are there or asked for by
    /// `GHIDRA_PROJECTS`: a machine that has the ones must have the others.
    pub fn find(test: &str) -> Option<Self> {
        let named = std::env::var_os("GHIDRA_PROJECTS");
        let required = named.is_some() || crate::truth::Truth::locate().is_some();
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ghidra-projects");
        let folder = named.map_or(beside, PathBuf::from);
        if folder.join("DbDump.java").is_file() {
            return Some(Self { folder });
        }
        let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!(in_ci && required), "{test}: the sample projects are required in CI");
        println!("{test}: skipped, no sample projects (set GHIDRA_PROJECTS to their folder)");
        None
    }

    /// The names of the programs, in order.
    pub fn names(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            let file = entry?.file_name().to_string_lossy().into_owned();
            names.extend(file.strip_suffix(".gzf").map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }

    /// The packed file of a program.
    pub fn packed(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.gzf"))
    }

    /// The names of those that come as whole projects too.
    pub fn unpackable(&self) -> Result<Vec<String>> {
        let mut names = self.names()?;
        names.retain(|name| self.folder.join(format!("{name}.project.tar.xz")).is_file());
        Ok(names)
    }

    /// Unpacks the whole project of a program into a folder, and returns its `.gpr` file.
    pub fn unpack(&self, name: &str, into: &Path) -> Result<PathBuf> {
        let archive = into.join("project.tar");
        std::fs::write(&archive, self.bytes(name, "project.tar.xz")?)?;
        let status = Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(into).status()?;
        ensure!(status.success(), "tar cannot unpack the project of {name}");
        Ok(into.join(format!("{name}.gpr")))
    }

    /// One of the dumps of a program: `db.json.xz` every table, `program.json.xz` what Ghidra says.
    pub fn dump(&self, name: &str, kind: &str) -> Result<serde_json::Value> {
        let bytes = self.bytes(name, kind)?;
        serde_json::from_slice(&bytes).with_context(|| format!("{kind} of {name}"))
    }

    fn bytes(&self, name: &str, kind: &str) -> Result<Vec<u8>> {
        let path = self.folder.join(format!("{name}.{kind}"));
        let file =
            File::open(&path).with_context(|| format!("{} cannot be opened", path.display()))?;
        let mut bytes = Vec::new();
        xz2::read::XzDecoder::new(BufReader::new(file)).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}
