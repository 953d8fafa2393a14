//! A project: a `.gpr` file that marks it, and a `.rep` folder of items, each a property file beside
//! a folder with the buffer files of its versions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::{Database, Error, property_file};

/// The parts of a project that hold items: the user's own, and those under version control.
const PRIVATE: &str = "idata";
const VERSIONED: &str = "versioned";
/// A property file is small.
const MOST_PROPERTIES: u64 = 1 << 20;

/// A project, as its folder tells. It is only read: nothing is locked, repaired or written.
#[derive(Debug, Clone)]
pub struct Project {
    /// The `.rep` folder.
    pub folder: PathBuf,
    /// The project's name.
    pub name: String,
    /// Who made it.
    pub owner: Option<String>,
    /// Whether a lock file says that a Ghidra has it open. What that Ghidra has not saved is not here.
    pub locked: bool,
    /// The items by their paths.
    pub items: Vec<Item>,
    /// Property files that could not be read.
    pub problems: Vec<String>,
}

/// One file of a project.
#[derive(Debug, Clone)]
pub struct Item {
    /// Its folder and name: `/folder/name`.
    pub path: String,
    /// `Program`, `Archive` ...
    pub content_type: String,
    /// The number that names the file for life.
    pub file_id: Option<String>,
    /// The user's own copy: the file of a project without version control, or one checked out.
    pub private: Option<Storage>,
    /// The file under version control.
    pub versioned: Option<Storage>,
    /// The version that the user's own copy was checked out from.
    pub checked_out: Option<u32>,
}

/// The folder of an item's buffer files.
#[derive(Debug, Clone)]
pub struct Storage {
    /// `~XXXXXXXX.db`.
    pub folder: PathBuf,
    /// The number of the newest buffer file.
    pub newest: u32,
    /// The oldest version that version files lead back to.
    pub oldest: u32,
}

/// A database out of a project, and where it was.
#[derive(Debug)]
pub struct Opened {
    /// The database.
    pub database: Database,
    /// The buffer file that it was read from.
    pub file: PathBuf,
}

impl Project {
    /// Whether a path names a project: a `.gpr` file or a `.rep` folder.
    pub fn is_project(path: &Path) -> bool {
        let extension = path.extension().and_then(|extension| extension.to_str());
        match extension {
            Some("gpr") => path.with_extension("rep").is_dir(),
            Some("rep") => path.is_dir(),
            _ => false,
        }
    }

    /// Lists a project, given its `.gpr` file or its `.rep` folder. Costs one small file for each item.
    ///
    /// # Errors
    ///
    /// [`Error::Project`] when it is none, [`Error::Io`] when its folder cannot be listed.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let problem = |problem: &str| Error::Project { path: path.into(), problem: problem.into() };
        if !Self::is_project(path) {
            return Err(problem("there is no folder `.rep` that belongs to it"));
        }
        let folder = path.with_extension("rep");
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut found = BTreeMap::new();
        let mut problems = Vec::new();
        let mut parts = 0;
        for part in [PRIVATE, VERSIONED] {
            let part = folder.join(part);
            if part.is_dir() {
                parts += 1;
                list(&part, &mut found, &mut problems)?;
            }
        }
        if parts == 0 {
            return Err(problem("it has neither `idata` nor `versioned`"));
        }
        let owner = properties(&folder.join("project.prp")).ok();
        let locked = [".lock", ".lock~"]
            .iter()
            .any(|end| folder.with_file_name(format!("{name}{end}")).exists());
        Ok(Self {
            owner: owner.and_then(|mut states| states.remove("OWNER")),
            items: found.into_values().collect(),
            folder,
            name,
            locked,
            problems,
        })
    }

    /// The item at `/folder/name`; the slash in front may be missing.
    pub fn find(&self, path: &str) -> Option<&Item> {
        let path = path.trim_start_matches('/');
        self.items.iter().find(|item| item.path.trim_start_matches('/') == path)
    }

    /// The items that are programs.
    pub fn programs(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| item.content_type == "Program")
    }
}

/// Adds the items of one part of a project: property files in folders of two hexadecimal digits.
fn list(
    part: &Path,
    found: &mut BTreeMap<String, Item>,
    problems: &mut Vec<String>,
) -> Result<(), Error> {
    for bucket in entries(part)? {
        if !bucket.is_dir() {
            continue;
        }
        for file in entries(&bucket)? {
            if file.extension().is_none_or(|extension| extension != "prp") {
                continue;
            }
            match properties(&file) {
                Ok(states) => add(&file, &states, part.ends_with(VERSIONED), found),
                Err(error) => problems.push(error.to_string()),
            }
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = std::fs::read_dir(folder).map_err(Error::io(folder))?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(Error::io(folder))?.path());
    }
    paths.sort();
    Ok(paths)
}

type States = std::collections::HashMap<String, String>;

fn properties(path: &Path) -> Result<States, Error> {
    let size = std::fs::metadata(path).map_err(Error::io(path))?.len();
    let bad = || Error::Project { path: path.into(), problem: "it is no property file".into() };
    if size > MOST_PROPERTIES {
        return Err(bad());
    }
    let text = std::fs::read(path).map_err(Error::io(path))?;
    property_file::states(&String::from_utf8_lossy(&text)).ok_or_else(bad)
}

fn add(file: &Path, states: &States, versioned: bool, found: &mut BTreeMap<String, Item>) {
    let storage_name = file.file_stem().unwrap_or_default().to_string_lossy();
    let name = states.get("NAME").map_or(&*storage_name, String::as_str);
    let parent = states.get("PARENT").map_or("/", String::as_str).trim_end_matches('/');
    let path = format!("{parent}/{name}");
    let item = found.entry(path.clone()).or_insert_with(|| Item {
        path,
        content_type: states.get("CONTENT_TYPE").cloned().unwrap_or_default(),
        file_id: states.get("FILE_ID").cloned(),
        private: None,
        versioned: None,
        checked_out: None,
    });
    let storage = Storage::scan(&file.with_file_name(format!("~{storage_name}.db")));
    if versioned {
        item.versioned = item.versioned.take().or(storage);
    } else if item.private.is_none() {
        item.private = storage;
        let version = states.get("CHECKOUT_VERSION").and_then(|text| text.parse().ok());
        item.checked_out = version.filter(|_| states.contains_key("CHECKOUT_ID"));
    }
}

impl Storage {
    /// What buffer files a folder has; `None` where it has no database.
    fn scan(folder: &Path) -> Option<Self> {
        let (mut newest, mut versions) = (None, Vec::new());
        for entry in std::fs::read_dir(folder).ok()? {
            let name = entry.ok()?.file_name();
            let name = name.to_string_lossy();
            let Some(stem) = name.strip_suffix(".gbf") else { continue };
            let number = |prefix| stem.strip_prefix(prefix)?.parse::<u32>().ok();
            newest = newest.max(number("db."));
            versions.extend(number("ver."));
        }
        let newest = newest?;
        let mut oldest = newest;
        while oldest > 1 && versions.contains(&(oldest - 1)) {
            oldest -= 1;
        }
        Some(Self { folder: folder.to_owned(), newest, oldest })
    }

    fn open(&self, version: u32) -> Result<Opened, Error> {
        let read = |name: String| {
            let path = self.folder.join(name);
            std::fs::read(&path).map_err(Error::io(&path))
        };
        let newest = read(format!("db.{}.gbf", self.newest))?;
        let database = if version == self.newest {
            Database::parse(newest)?
        } else {
            let steps = (version..self.newest).map(|step| read(format!("ver.{step}.gbf")));
            Database::parse_older(newest, steps.collect::<Result<_, _>>()?)?
        };
        Ok(Opened { database, file: self.folder.join(format!("db.{}.gbf", self.newest)) })
    }
}

impl Item {
    /// The versions under version control that can be opened.
    pub fn versions(&self) -> Option<std::ops::RangeInclusive<u32>> {
        self.versioned.as_ref().map(|storage| storage.oldest..=storage.newest)
    }

    /// The buffer file of the file as its user sees it: of the user's own copy, else of the newest
    /// version.
    pub fn newest_file(&self) -> Option<PathBuf> {
        let storage = self.private.as_ref().or(self.versioned.as_ref())?;
        Some(storage.folder.join(format!("db.{}.gbf", storage.newest)))
    }

    /// Opens the file as its user sees it: the user's own copy, else the newest version; or a
    /// certain version.
    ///
    /// # Errors
    ///
    /// [`Error::Project`] when there is no such version or no database, else what is wrong with it.
    pub fn open(&self, version: Option<u32>) -> Result<Opened, Error> {
        let missing = |problem: String| Error::Project { path: self.path.clone().into(), problem };
        let Some(version) = version else {
            let storage = self.private.as_ref().or(self.versioned.as_ref());
            let storage = storage.ok_or_else(|| missing("it holds no database here".into()))?;
            return storage.open(storage.newest);
        };
        match (&self.versioned, self.versions()) {
            (Some(storage), Some(known)) if known.contains(&version) => storage.open(version),
            (_, known) => {
                let known =
                    known.map_or("none".into(), |k| format!("{} to {}", k.start(), k.end()));
                Err(missing(format!("version {version} is not there (versions: {known})")))
            }
        }
    }
}
