//! Programs out of Ghidra's own files: a packed one, a buffer file, or one of a project folder. They
//! are only read; what is edited goes to a project file of ours, as for other programs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ghidra_db::{BufferFile, Database, Packed};
use ghidra_project::{ImportError, import};
use program::Program;

use crate::open::OpenError;

/// Stands between a project and a program in it.
const WITHIN: &str = "!/";
/// How many programs of a project are named when one has to be chosen.
const MOST_NAMED: usize = 20;

/// What stands for a path: the file to be read, and what there is to say about it.
#[derive(Debug, Default)]
pub(crate) struct Place {
    pub(crate) file: PathBuf,
    pub(crate) notices: Vec<String>,
}

/// The file that holds what a path names: `X.gpr!/folder/name`, a project with one program alone,
/// or the path itself.
pub(crate) fn locate(path: &Path) -> Result<Place, OpenError> {
    let refused = |reason: String| OpenError::Ghidra { path: path.to_owned(), reason };
    let text = path.to_string_lossy();
    let (project, program) = match text.split_once(WITHIN) {
        Some((project, program)) if ghidra_db::Project::is_project(Path::new(project)) => {
            (PathBuf::from(project), Some(program))
        }
        _ if ghidra_db::Project::is_project(path) => (path.to_owned(), None),
        _ => return Ok(Place { file: path.to_owned(), notices: Vec::new() }),
    };
    let listed = ghidra_db::Project::open(&project).map_err(|error| refused(error.to_string()))?;
    let named = || {
        let names = listed.programs().take(MOST_NAMED);
        let names: Vec<String> =
            names.map(|item| format!("{}!{}", project.display(), item.path)).collect();
        names.join(", ")
    };
    let mut programs = listed.programs();
    let item = match program {
        Some(program) => listed.find(program).ok_or_else(|| {
            refused(format!("the project has no such file; its programs: {}", named()))
        })?,
        None => match (programs.next(), programs.next()) {
            (Some(only), None) => only,
            (None, _) => return Err(refused("the project holds no program".to_owned())),
            _ => return Err(refused(format!("the project holds several programs: {}", named()))),
        },
    };
    let file = item.newest_file();
    let file = file.ok_or_else(|| {
        refused(format!("{} is a {} without a database here", item.path, item.content_type))
    })?;
    let locked = listed.locked.then(|| {
        format!(
            "{} is open in a Ghidra: what is not saved there is not seen here.",
            project.display()
        )
    });
    Ok(Place { file, notices: locked.into_iter().collect() })
}

/// Whether the bytes are a file of Ghidra's.
pub(crate) fn is_one(bytes: &[u8]) -> bool {
    Packed::is_packed(bytes) || BufferFile::is_buffer_file(bytes)
}

/// Takes a program over, with the bytes that it came from.
pub(crate) fn take_over(bytes: &Arc<[u8]>) -> Result<Program, ImportError> {
    let content =
        if Packed::is_packed(bytes) { Packed::parse(bytes)?.content } else { bytes.to_vec() };
    let database = Database::parse(content)?;
    let mut imported = import(&database)?;
    for notice in imported.notices {
        imported.program.warn(notice);
    }
    imported.program.origin = Some(Arc::clone(bytes));
    Ok(imported.program)
}
