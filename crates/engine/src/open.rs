//! From a path to a session: reading the file, with errors that say what was
//! found and what to do.

use crate::Session;
use crate::debug_files::identify_pdb;
use crate::ghidra;
use crate::project::{Opened, ProjectChoice};
use crate::worker::Worker;
use analysis::pdb::{PdbError, check_program};
use decompiler::Language;
use loader::{Format, LoadError, LoadOptions, Loaded};
use program::{Program, ProgramInfo};
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use store::{LoadRecord, Project, Record, StoreError};

/// Largest file that is opened.
const MAX_FILE: u64 = 4 << 30;

/// Formats that carry bytes and addresses only: the processor alone tells what
/// lies where.
const HEADERLESS: [&str; 3] = ["Raw Binary", "Intel Hex", "Motorola Hex"];

/// How to open a file.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// Format, language and base, where they are not to be detected.
    pub load: LoadOptions,
    /// The PDB file to analyse a Windows program with, whatever lies beside it.
    pub pdb: Option<PathBuf>,
    /// Where edits and analysis are kept.
    pub project: ProjectChoice,
    /// Look only: the project is neither claimed nor written.
    pub read_only: bool,
}

/// Why a file could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The operating system refused to read it.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// It is a folder, a device or a socket.
    #[error("{} is not a file; name the program to open", path.display())]
    NotAFile {
        /// What was named.
        path: PathBuf,
    },
    /// It is larger than this program will read.
    #[error("{} has {size} bytes; files up to {} bytes can be opened", path.display(), MAX_FILE)]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        size: u64,
    },
    /// Its content cannot be loaded.
    #[error("cannot load {}: {source}", path.display())]
    Load {
        /// The file.
        path: PathBuf,
        /// The loader's reason.
        source: LoadError,
    },
    /// It is a project of Ghidra's, or a program in one, that cannot be opened.
    #[error("cannot open {}: {reason}", path.display())]
    Ghidra {
        /// What was named.
        path: PathBuf,
        /// What is wrong, and what there is.
        reason: String,
    },
    /// A program that Ghidra made states what an argument would say.
    #[error("{} was made by Ghidra, and states its {argument} itself; leave {argument} out", path.display())]
    Stated {
        /// The file.
        path: PathBuf,
        /// The argument.
        argument: &'static str,
    },
    /// The processor's language is not built in.
    #[error("cannot open {}: {source}", path.display())]
    Language {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: decompiler::LanguageError,
    },
    /// The chosen PDB file cannot be used.
    #[error("pdb: {0}")]
    Pdb(#[from] PdbError),
    /// Its project cannot be used.
    #[error(transparent)]
    Project(#[from] StoreError),
    /// A project file was named to be opened, and another one to keep it in.
    #[error("{} is a project itself; leave project= out to go on in it, or give project=none", path.display())]
    TwoProjects {
        /// The file.
        path: PathBuf,
    },
    /// The project was made from a file with other bytes.
    #[error(
        "{} is not the file that the project {} was made from: its content differs, so the file was changed since, \
         or it is another one. To go on with the old content, open the project itself in place of the file; to begin \
         anew, name another project",
        path.display(),
        project.display()
    )]
    OtherContent {
        /// The file.
        path: PathBuf,
        /// The project.
        project: PathBuf,
    },
    /// The project was made with other start-up arguments.
    #[error(
        "the project {} was made with {made_with}; leave {argument} out, or name another project",
        project.display()
    )]
    OtherOptions {
        /// The project.
        project: PathBuf,
        /// How the file was loaded then.
        made_with: String,
        /// The argument that differs.
        argument: &'static str,
    },
}

impl Session {
    /// Opens a file without analysing it: restores it from its project when there
    /// is one, and loads it otherwise. The file may be a project itself.
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Session, OpenError> {
        let worker = Worker::default();
        let (file, options) = (path.to_owned(), options.clone());
        let (program, opened) = worker.run(move || restore_or_load(&file, &options))?;
        Session::with_project(program, opened, worker)
            .map_err(|source| OpenError::Language { path: path.to_owned(), source })
    }
}

fn restore_or_load(path: &Path, options: &OpenOptions) -> Result<(Program, Opened), OpenError> {
    let ghidra::Place { file, notices } = ghidra::locate(path)?;
    let bytes = read_file(&file)?;
    if store::is_project(&bytes) && options.load.format != Format::Raw {
        drop(bytes);
        return open_project(path, options);
    }
    let sha256 = hex(&Sha256::digest(&bytes));
    let asked = load_record(options)?;
    let mut place = Place::of(path, &sha256, options, &asked)?;
    place.notices.extend(notices);
    if let Some(project) = place.project.as_mut().filter(|project| project.exists()) {
        let (mut program, record) = project.load(Some((&bytes, &sha256)))?;
        let location = project.path().to_owned();
        if record.load.file_sha256 != sha256 {
            return Err(OpenError::OtherContent { path: path.to_owned(), project: location });
        }
        check_options(&record.load, &asked, &location)?;
        let full = absolute(path);
        if program.info.executable_path != full {
            Arc::make_mut(&mut program.info).executable_path = full;
        }
        open_language(path, &program)?;
        return Ok((program, place.opened(options, record.load, Some(record.analysis))));
    }
    let from_ghidra = ghidra::is_one(&bytes) && options.load.format != Format::Raw;
    let Loaded { program, doubts } = if from_ghidra {
        let loaded = take_over(path, &file, &bytes, &asked)?;
        place.notices.extend(loaded.program.info.warnings.iter().cloned());
        loaded
    } else {
        load(path, bytes, options)?
    };
    place.notices.extend(doubts.iter().map(|doubt| format!("Warning: {doubt}.")));
    if options.pdb.is_some() {
        check_program(&program)?;
    }
    let record = LoadRecord { file_sha256: sha256, ..asked };
    Ok((program, place.opened(options, record, None)))
}

/// The program's language, opened here so that its tables lie in this thread's heap.
fn open_language(path: &Path, program: &Program) -> Result<Language, OpenError> {
    Language::open(&program.info.language_id, &program.info.compiler_spec_id)
        .map_err(|source| OpenError::Language { path: path.to_owned(), source })
}

/// Takes a program over from Ghidra, as it was left there.
fn take_over(
    path: &Path,
    file: &Path,
    bytes: &Arc<[u8]>,
    asked: &LoadRecord,
) -> Result<Loaded, OpenError> {
    if let Some((argument, _)) = arguments(asked).into_iter().find(|(_, said)| said.is_some()) {
        return Err(OpenError::Stated { path: path.to_owned(), argument });
    }
    let mut program = ghidra::take_over(bytes)
        .map_err(|error| OpenError::Ghidra { path: path.to_owned(), reason: error.to_string() })?;
    open_language(path, &program)?;
    let info = Arc::make_mut(&mut program.info);
    info.executable_path = absolute(path);
    info.modified = std::fs::metadata(file).ok().and_then(|metadata| metadata.modified().ok());
    Ok(Loaded { doubts: Vec::new(), program })
}

/// Loads a file that has no project yet.
fn load(path: &Path, bytes: Arc<[u8]>, options: &OpenOptions) -> Result<Loaded, OpenError> {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let times =
        std::fs::metadata(path).map(|m| (m.created().ok(), m.modified().ok())).unwrap_or_default();
    let load = |options: &LoadOptions| {
        loader::load_with_doubts(&name, &absolute(path), Arc::clone(&bytes), options)
            .map_err(|source| OpenError::Load { path: path.to_owned(), source })
    };
    let mut loaded = load(&options.load)?;
    if let Some(usual) = usual_compiler(&loaded.program.info, &options.load) {
        loaded = load(&LoadOptions { compiler_spec: Some(usual), ..options.load.clone() })?;
    }
    let program = &mut loaded.program;
    let info = Arc::make_mut(&mut program.info);
    // File systems without the time of birth answer the epoch, or earlier.
    info.created = times.0.filter(|born| *born > SystemTime::UNIX_EPOCH).or(times.1);
    info.modified = times.1;
    let language = open_language(path, program)?;
    let says_nothing = HEADERLESS.contains(&&*program.info.executable_format);
    language.add_own_memory(program, says_nothing);
    language.settle_entries(program);
    Ok(loaded)
}

/// The compiler specification to take where nobody named one and the language has none by the
/// name that the format assumes: its first.
fn usual_compiler(info: &ProgramInfo, options: &LoadOptions) -> Option<String> {
    if options.compiler_spec.is_some() {
        return None;
    }
    let languages = Language::available();
    let (_, compilers) = languages.into_iter().find(|(id, _)| *id == info.language_id)?;
    let known = compilers.contains(&info.compiler_spec_id);
    compilers.into_iter().next().filter(|_| !known)
}

/// Opens a project by itself; the file that it was made from need not be there.
fn open_project(path: &Path, options: &OpenOptions) -> Result<(Program, Opened), OpenError> {
    if matches!(options.project, ProjectChoice::File(_)) {
        return Err(OpenError::TwoProjects { path: path.to_owned() });
    }
    let keeps = options.project != ProjectChoice::None;
    let mut place = if keeps && !options.read_only {
        Place::claim(path, true)?
    } else {
        Place { project: Some(Project::unclaimed(path)), notices: Vec::new() }
    };
    let project =
        place.project.as_mut().ok_or_else(|| StoreError::NotAProject { path: path.to_owned() })?;
    let (program, record) = project.load(None)?;
    check_options(&record.load, &load_record(options)?, path)?;
    place.notices.extend(changed_since(&program, &record));
    if !keeps {
        place.project = None;
    }
    open_language(path, &program)?;
    Ok((program, place.opened(options, record.load, Some(record.analysis))))
}

/// Tells when the file that a project was made from is not the same any more.
fn changed_since(program: &Program, record: &Record) -> Option<String> {
    let path = Path::new(&program.info.executable_path);
    let metadata = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    if metadata.modified().ok() == program.info.modified && program.info.modified.is_some() {
        return None;
    }
    let bytes = read_file(path).ok()?;
    let differs = hex(&Sha256::digest(&bytes)) != record.load.file_sha256;
    differs.then(|| {
        format!("{} has changed since; the project keeps its old content.", path.display())
    })
}

/// What those should know who only look, of a project that others may have.
fn look_only(project: &Path) -> Option<String> {
    let place = project.display();
    match (store::holder(project), project.exists()) {
        (Some(holder), true) => Some(format!(
            "Reads what {place} holds. It is in use by {holder}: what is edited there from now on is seen when it is \
             saved there and this is started again."
        )),
        (Some(holder), false) => Some(format!(
            "{place} is in use by {holder}, which has saved nothing yet: the program is loaded and analysed anew here, \
             and what is found or edited there is not seen."
        )),
        (None, true) => Some(format!("Reads what {place} holds.")),
        (None, false) => None,
    }
}

/// Where the project of a file is, and what there is to say about it.
#[derive(Default)]
struct Place {
    project: Option<Project>,
    notices: Vec<String>,
}

impl Place {
    fn of(
        path: &Path,
        sha256: &str,
        options: &OpenOptions,
        asked: &LoadRecord,
    ) -> Result<Place, OpenError> {
        let (file, chosen) = match &options.project {
            ProjectChoice::None => return Ok(Place::default()),
            ProjectChoice::File(file) => (file.clone(), true),
            ProjectChoice::Folder(folder) => {
                (folder::project_of(folder, path, sha256, asked), false)
            }
        };
        let mut place = if options.read_only {
            let notices = look_only(&file).into_iter().collect();
            Place { project: Some(Project::unclaimed(&file)), notices }
        } else {
            if let (false, Some(folder)) = (chosen, file.parent()) {
                // When this fails, so does the claim, which tells why.
                let _ = std::fs::create_dir_all(folder);
            }
            Place::claim(&file, chosen)?
        };
        if let ProjectChoice::Folder(folder) = &options.project
            && !file.exists()
        {
            place.notices.extend(folder::other_content(folder, path, sha256));
        }
        Ok(place)
    }

    /// Claims a project. Without a claim on one that people chose, nothing is
    /// opened; the one that is there by itself is then read, and not written.
    fn claim(file: &Path, chosen: bool) -> Result<Place, OpenError> {
        let error = match Project::claim(file) {
            Ok(project) => return Ok(Place { project: Some(project), notices: Vec::new() }),
            Err(error) => error,
        };
        let readable = file.exists();
        let notice = match &error {
            StoreError::Held { .. } if chosen => return Err(error.into()),
            StoreError::Held { .. } => {
                format!("{error}; what is edited here is not kept while that lasts.")
            }
            _ if chosen && !readable => return Err(error.into()),
            _ => format!("{error}. Edits last until the bridge ends."),
        };
        Ok(Place { project: Some(Project::unclaimed(file)), notices: vec![notice] })
    }

    fn opened(
        self,
        options: &OpenOptions,
        load: LoadRecord,
        restored: Option<store::AnalysisRecord>,
    ) -> Opened {
        let Place { project, notices } = self;
        let (read_only, pdb) = (options.read_only, options.pdb.clone());
        Opened { project, read_only, load, pdb, restored, notices }
    }
}

/// The folder that keeps the projects of files, one per content.
mod folder {
    use super::{LoadRecord, absolute};
    use std::path::{Path, PathBuf};

    /// How project files end.
    const ENDING: &str = ".gbproject";

    /// Digits of the content's hash in the name.
    const DIGITS: usize = 16;

    /// Projects of one name that are looked at.
    const MAX_LOOKED_AT: usize = 32;

    /// The project of a content. It is known by the hash, whatever the file is
    /// called today; other ways to load the file have projects of their own.
    pub(super) fn project_of(
        folder: &Path,
        file: &Path,
        sha256: &str,
        load: &LoadRecord,
    ) -> PathBuf {
        let ending = format!("-{}{}{ENDING}", &sha256[..DIGITS], variant(load));
        let known = names(folder).find(|name| name.ends_with(&ending));
        folder.join(known.unwrap_or_else(|| format!("{}{ending}", short_name(file))))
    }

    /// Tells when another content was opened from the same path before.
    pub(super) fn other_content(folder: &Path, file: &Path, sha256: &str) -> Option<String> {
        let start = format!("{}-", short_name(file));
        let full = absolute(file);
        let alike = names(folder).filter(|name| name.starts_with(&start)).take(MAX_LOOKED_AT);
        let is_other = |project: &store::Summary| {
            project.executable_path == full && project.record.load.file_sha256 != sha256
        };
        let before = alike
            .map(|name| folder.join(name))
            .find(|path| store::peek(path).is_ok_and(|project| is_other(&project)))?;
        Some(format!(
            "{full} has changed since it was opened before; what was edited then is in {}.",
            before.display()
        ))
    }

    fn names(folder: &Path) -> impl Iterator<Item = String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name.ends_with(ENDING))
            .collect();
        names.sort();
        names.into_iter()
    }

    /// The file's name as far as it makes a plain name for another file.
    fn short_name(file: &Path) -> String {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let plain = |c: char| if c.is_ascii_alphanumeric() || "._+".contains(c) { c } else { '_' };
        let name: String = name.chars().take(60).map(plain).collect();
        name.trim_start_matches('.').to_owned()
    }

    /// What tells one way to load a file from others, as part of a name.
    fn variant(load: &LoadRecord) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '_' };
        let parts = super::arguments(load);
        let parts = parts.into_iter().filter_map(|(_, part)| part);
        parts.map(|part| format!("-{}", part.chars().map(plain).collect::<String>())).collect()
    }
}

/// What was asked for; of a PDB file what tells it from others, wherever it lies.
fn load_record(options: &OpenOptions) -> Result<LoadRecord, PdbError> {
    let load = &options.load;
    let pdb = options.pdb.as_deref().map(identify_pdb).transpose()?;
    Ok(LoadRecord {
        file_sha256: String::new(),
        language: load.language.clone(),
        compiler_spec: load.compiler_spec.clone(),
        base: load.base,
        format: (load.format != Format::Auto).then(|| load.format.to_string()),
        member: load.member.clone(),
        pdb: pdb.map(|identity| identity.to_string()),
    })
}

/// What was asked for, argument by argument.
fn arguments(load: &LoadRecord) -> [(&'static str, Option<String>); 6] {
    [
        ("loader", load.format.clone()),
        ("language", load.language.clone()),
        ("compiler specification", load.compiler_spec.clone()),
        ("base", load.base.map(|base| format!("{base:#x}"))),
        ("member", load.member.clone()),
        ("pdb", load.pdb.clone()),
    ]
}

/// Arguments that a project was made with stay in force: others cannot be met any more.
fn check_options(made: &LoadRecord, asked: &LoadRecord, project: &Path) -> Result<(), OpenError> {
    for ((argument, made), (_, asked)) in arguments(made).into_iter().zip(arguments(asked)) {
        if asked.is_none() || asked == made {
            continue;
        }
        let made_with = match made {
            Some(made) => format!("{argument} {made}"),
            None if argument == "pdb" => "no chosen PDB file".to_owned(),
            None => format!("the {argument} that the file tells"),
        };
        return Err(OpenError::OtherOptions { project: project.to_owned(), made_with, argument });
    }
    Ok(())
}

fn absolute(path: &Path) -> String {
    let full = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    full.to_string_lossy().into_owned()
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The whole content of a regular file of bearable size.
fn read_file(path: &Path) -> Result<Arc<[u8]>, OpenError> {
    let read = |source| OpenError::Read { path: path.to_owned(), source };
    let metadata = std::fs::metadata(path).map_err(read)?;
    if !metadata.is_file() {
        return Err(OpenError::NotAFile { path: path.to_owned() });
    }
    if metadata.len() > MAX_FILE {
        return Err(OpenError::TooLarge { path: path.to_owned(), size: metadata.len() });
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    let file = std::fs::File::open(path).map_err(read)?;
    // A file that grows while it is read must not grow our memory.
    file.take(MAX_FILE).read_to_end(&mut bytes).map_err(read)?;
    Ok(bytes.into())
}
