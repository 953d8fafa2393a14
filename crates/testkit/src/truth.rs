//! Sample programs and what Ghidra 12.2 says about them: where they are, and the
//! facts as typed values. The samples stand beside the checkout, not in it.

mod dump;
mod listing;

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};

pub use dump::{
    Block, Bookmark, Case, Comment, Data, DataType, Decompilation, Field, Frame, Function,
    JumpTable, Local, Parameter, ProgramDump, ProgramFacts, Reference, Relocation, Returned,
    StringItem, Symbol,
};
pub use listing::Instruction;

/// The folder of samples and facts.
#[derive(Debug, Clone)]
pub struct Truth {
    folder: PathBuf,
}

/// One sample program and the files that describe it.
#[derive(Debug, Clone)]
pub struct Sample {
    /// `sample.arch.opt[.variant]`, the name of its binary.
    pub name: String,
    folder: PathBuf,
    binary: PathBuf,
}

impl Truth {
    /// Finds the folder: the one `GHIDRA_TRUTH` names, or `../shared/ghidra-truth`
    /// beside the checkout.
    ///
    /// Without it, prints that `test` is skipped and returns `None`.
    ///
    /// # Panics
    ///
    /// When the folder is absent and `CI` is `true`: there, nothing may be skipped.
    pub fn find(test: &str) -> Option<Self> {
        let found = Self::locate();
        if found.is_none() {
            let required = std::env::var("CI").is_ok_and(|value| value == "true");
            assert!(!required, "{test}: the sample programs are required in CI");
            println!("{test}: skipped, no sample programs (set GHIDRA_TRUTH to their folder)");
        }
        found
    }

    /// Finds the folder without saying anything when it is absent.
    pub fn locate() -> Option<Self> {
        let folder = match std::env::var_os("GHIDRA_TRUTH") {
            Some(folder) => PathBuf::from(folder),
            None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ghidra-truth"),
        };
        folder.join("dumps").is_dir().then_some(Self { folder })
    }

    /// Every sample whose binary is kept, in order of their names.
    pub fn samples(&self) -> Result<Vec<Sample>> {
        let folder = self.folder.join("bin");
        let entries = std::fs::read_dir(&folder)
            .with_context(|| format!("{} cannot be listed", folder.display()))?;
        let mut samples = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            samples.push(self.sample(&name.to_string_lossy())?);
        }
        samples.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(samples)
    }

    /// The sample called `name`.
    pub fn sample(&self, name: &str) -> Result<Sample> {
        let binary = self.folder.join("bin").join(name);
        if !binary.is_file() {
            return Err(anyhow!("there is no sample {}", binary.display()));
        }
        Ok(Sample { name: name.to_owned(), folder: self.folder.join("dumps"), binary })
    }

    /// Programs of other people, out of public packages, whose facts are at hand and whose files
    /// lie in `files` as `bin/NAME/FILE`, in order of their names. A dump without its file is left out.
    pub fn real(&self, files: &Path) -> Result<Vec<Sample>> {
        let folder = self.folder.join("real");
        let mut samples = Vec::new();
        for name in self.real_names()? {
            let Ok(kept) = std::fs::read_dir(files.join("bin").join(&name)) else { continue };
            for binary in kept {
                let (name, binary) = (name.clone(), binary?.path());
                samples.push(Sample { name, folder: folder.clone(), binary });
            }
        }
        Ok(samples)
    }

    /// The names of the programs of other people whose facts are at hand, in order.
    pub fn real_names(&self) -> Result<Vec<String>> {
        let folder = self.folder.join("real");
        let entries = std::fs::read_dir(&folder)
            .with_context(|| format!("{} cannot be listed", folder.display()))?;
        let mut names = Vec::new();
        for entry in entries {
            let file = entry?.file_name().to_string_lossy().into_owned();
            names.extend(file.strip_suffix(".program.json.xz").map(str::to_owned));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// A large system file by name (`ls`, `libsqlite3.so.0.8.6`) whose bytes on
    /// this machine are the ones described; `None` when they are not.
    pub fn large(&self, name: &str, binary: &Path) -> Option<Sample> {
        let sample = Sample {
            name: name.to_owned(),
            folder: self.folder.join("large"),
            binary: binary.to_owned(),
        };
        binary.is_file().then_some(sample)
    }
}

impl Sample {
    /// The program file that was analysed.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// The processor's short name in the sample's name, such as `x64`.
    pub fn arch(&self) -> &str {
        self.name
            .split('.')
            .find(|part| {
                matches!(
                    *part,
                    "x64" | "x86" | "aarch64" | "arm" | "riscv64" | "mips" | "win64" | "win32"
                )
            })
            .unwrap_or("")
    }

    /// The language that Ghidra was given by hand, for a file that does not say its processor.
    pub fn given_language(&self) -> Result<Option<String>> {
        let path = self.folder.join("index.json");
        let Ok(text) = std::fs::read(&path) else { return Ok(None) };
        let index: serde_json::Value =
            serde_json::from_slice(&text).with_context(|| format!("{}", path.display()))?;
        let mut programs = index["programs"].as_array().into_iter().flatten();
        let options = programs
            .find(|program| program["name"] == *self.name)
            .and_then(|program| program["import_options"].as_str());
        let words = options.unwrap_or_default().split_whitespace();
        Ok(words.skip_while(|word| *word != "-processor").nth(1).map(str::to_owned))
    }

    /// What Ghidra says about the program, C text apart.
    pub fn program(&self) -> Result<ProgramDump> {
        self.read_json("program.json.xz")
    }

    /// What Ghidra's decompiler says, a record a function.
    pub fn decompilations(&self) -> Result<Vec<Decompilation>> {
        self.read_json("decomp.json.xz")
    }

    /// Every instruction with its raw p-code.
    pub fn listing(&self) -> Result<Vec<Instruction>> {
        let mut text = String::new();
        self.open("listing.txt.xz")?.read_to_string(&mut text)?;
        listing::parse(&text).with_context(|| format!("listing of {}", self.name))
    }

    fn open(&self, kind: &str) -> Result<xz2::read::XzDecoder<BufReader<File>>> {
        let path = self.folder.join(format!("{}.{kind}", self.name));
        let file =
            File::open(&path).with_context(|| format!("{} cannot be opened", path.display()))?;
        Ok(xz2::read::XzDecoder::new(BufReader::new(file)))
    }

    fn read_json<T: serde::de::DeserializeOwned>(&self, kind: &str) -> Result<T> {
        let mut bytes = Vec::new();
        self.open(kind)?.read_to_end(&mut bytes)?;
        serde_json::from_slice(&bytes).with_context(|| format!("{kind} of {}", self.name))
    }
}
