//! The life of a project file: claimed, loaded, saved.
//!
//! A first save writes a whole new file beside and renames it into place: what was
//! only read may be damaged where nobody looked. Later ones change only the rows
//! that differ, in one transaction of SQLite, whose journal makes it whole or
//! undone; they do so only in the very file that was written last.

use crate::error::StoreError;
use crate::lock::{Holder, Lock, beside};
use crate::reader::Reader;
use crate::record::Record;
use crate::schema;
use crate::tables;
use crate::writer::{Sums, Writer};
use program::Program;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How an SQLite file begins.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Where its header counts the transactions.
const CHANGE_COUNTER: std::ops::Range<usize> = 24..28;

/// Where its header names the application.
const APPLICATION_ID: std::ops::Range<usize> = 68..72;

/// How long to wait for somebody who is looking at the file.
const PATIENCE: Duration = Duration::from_secs(5);

/// Longest text or blob that is read.
const MAX_VALUE: i32 = 64 << 20;

/// A place for a program on disk.
#[derive(Debug)]
pub struct Project {
    path: PathBuf,
    lock: Option<Lock>,
    saved: Option<Saved>,
}

/// What is in the file, as far as this process knows.
#[derive(Debug)]
struct Saved {
    program: Program,
    record: Record,
    sums: Sums,
    /// The file's header then, by which it is known again.
    header: Vec<u8>,
    /// Whether this process wrote it, so that rows may be changed in it.
    own: bool,
}

/// What a project says of itself without being loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The program's name.
    pub name: String,
    /// Where it was read from.
    pub executable_path: String,
    /// What is remembered beside the program.
    pub record: Record,
}

/// Whether a file's first bytes are those of a project.
pub fn is_project(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
        && bytes.get(APPLICATION_ID) == Some(&schema::APPLICATION_ID.to_be_bytes()[..])
}

/// Reads what a project says of itself.
pub fn peek(path: &Path) -> Result<Summary, StoreError> {
    let connection = open_to_read(path)?;
    let reader = Reader::new(&connection, path)?;
    let info = tables::info::load(&reader)?;
    Ok(Summary {
        name: info.program.name,
        executable_path: info.program.executable_path,
        record: info.record,
    })
}

/// Who has the project at a place now, if anybody has. It is neither claimed nor read.
pub fn holder(path: &Path) -> Option<Holder> {
    Lock::holder(&true_path(path))
}

impl Project {
    /// Claims a place for this process; the file need not be there yet.
    pub fn claim(path: &Path) -> Result<Project, StoreError> {
        let path = true_path(path);
        let lock = Lock::take(&path)?;
        Ok(Project { path, lock: Some(lock), saved: None })
    }

    /// A place that nobody claims, to read from.
    pub fn unclaimed(path: &Path) -> Project {
        Project { path: true_path(path), lock: None, saved: None }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a program has been saved here. An empty file counts as none.
    pub fn exists(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|metadata| metadata.len() > 0)
            || journal(&self.path).exists()
    }

    /// Whether this process has it to itself, so that it can be saved.
    pub fn is_claimed(&self) -> bool {
        self.lock.is_some()
    }

    /// Tells those who ask for this project what it is used for.
    pub fn describe(&self, program: &str) {
        if let Some(lock) = &self.lock {
            lock.describe(program);
        }
    }

    /// Reads the program. `file` are bytes with their SHA-256 that serve in place
    /// of the stored ones, when they are the same.
    pub fn load(
        &mut self,
        file: Option<(&Arc<[u8]>, &str)>,
    ) -> Result<(Program, Record), StoreError> {
        let connection = open_to_read(&self.path)?;
        // One transaction, so that nobody changes the file between two tables.
        connection
            .execute_batch("BEGIN")
            .map_err(|error| StoreError::reading(&self.path, &error))?;
        let reader = Reader::new(&connection, &self.path)?;
        let (program, record) = tables::load(&reader, file)?;
        let sums = reader.into_sums();
        drop(connection);
        let header = header(&self.path)
            .map_err(|error| StoreError::Read { path: self.path.clone(), reason: error })?;
        let (kept, known) = (program.clone(), record.clone());
        self.saved = Some(Saved { program: kept, record: known, sums, header, own: false });
        Ok((program, record))
    }

    /// Whether the file holds exactly this state. False is no proof of a difference.
    pub fn holds(&self, program: &Program, record: &Record) -> bool {
        let same = |saved: &Saved| saved.program.same(program) && saved.record == *record;
        self.saved.as_ref().is_some_and(same)
    }

    /// Writes the program. When this fails, the file holds what it held before.
    pub fn save(&mut self, program: &Program, record: &Record) -> Result<(), StoreError> {
        if self.lock.is_none() {
            let lock = Lock::take(&self.path)?;
            self.refuse_to_overwrite()?;
            self.lock = Some(lock);
        }
        let as_left =
            |saved: &&Saved| saved.own && header(&self.path).is_ok_and(|now| now == saved.header);
        let changed = match self.saved.as_ref().filter(as_left) {
            Some(saved) => self.change(saved, program, record)?,
            None => None,
        };
        let sums = match changed {
            Some(sums) => sums,
            None => self.write_new(program, record)?,
        };
        let header = header(&self.path)
            .map_err(|reason| StoreError::Write { path: self.path.clone(), reason })?;
        let (program, record) = (program.clone(), record.clone());
        self.saved = Some(Saved { program, record, sums, header, own: true });
        Ok(())
    }

    /// A place that was not claimed may have been written by others meanwhile.
    fn refuse_to_overwrite(&self) -> Result<(), StoreError> {
        let as_known = match &self.saved {
            Some(saved) => header(&self.path).is_ok_and(|header| header == saved.header),
            None => !self.exists(),
        };
        if as_known {
            return Ok(());
        }
        let reason = "another process has saved to it since it was opened here";
        Err(StoreError::Write { path: self.path.clone(), reason: reason.to_owned() })
    }

    /// Changes the rows that differ from what was saved. `None` when the file
    /// turns out not to be in order.
    fn change(
        &self,
        saved: &Saved,
        program: &Program,
        record: &Record,
    ) -> Result<Option<Sums>, StoreError> {
        let failed = |error: rusqlite::Error| StoreError::writing(&self.path, &error);
        let mut connection =
            connect(&self.path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
        connection.pragma_update(None, "journal_mode", "DELETE").map_err(failed)?;
        // The journal's end is what makes a save final: it must reach the disk too.
        connection.pragma_update(None, "synchronous", "EXTRA").map_err(failed)?;
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let writer = Writer::new(&transaction, Some(saved.sums.clone()));
        let before = Some((&saved.program, &saved.record));
        let written = tables::save(&writer, before, program, record).and_then(|()| writer.finish());
        let sums = match written {
            Ok(sums) => sums,
            Err(error) if is_corrupt(&error) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        transaction.commit().map_err(failed)?;
        connection.close().map_err(|(_, error)| failed(error))?;
        Ok(Some(sums))
    }

    /// Writes everything into a new file and puts it in place.
    fn write_new(&self, program: &Program, record: &Record) -> Result<Sums, StoreError> {
        let path = beside(&self.path, "new");
        let result = self.fill(&path, program, record).and_then(|sums| {
            self.put_in_place(&path).map_err(|error| StoreError::system(&self.path, &error))?;
            Ok(sums)
        });
        if result.is_err() {
            let _ = std::fs::remove_file(&path);
        }
        result
    }

    fn fill(&self, path: &Path, program: &Program, record: &Record) -> Result<Sums, StoreError> {
        let failed = |error: rusqlite::Error| StoreError::writing(&self.path, &error);
        // Left by a process that ended while it wrote.
        let _ = std::fs::remove_file(path);
        let file =
            File::create_new(path).map_err(|error| StoreError::system(&self.path, &error))?;
        if let Ok(metadata) = std::fs::metadata(&self.path) {
            // Who may read it is decided by those who have it.
            let _ = file.set_permissions(metadata.permissions());
        }
        drop(file);
        let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
        // Nobody knows this file yet: it is thrown away when anything fails.
        connection.pragma_update(None, "journal_mode", "OFF").map_err(failed)?;
        connection.pragma_update(None, "synchronous", "OFF").map_err(failed)?;
        let transaction = connection.transaction().map_err(failed)?;
        schema::create(&transaction).map_err(failed)?;
        let writer = Writer::new(&transaction, None);
        tables::save(&writer, None, program, record).map_err(failed)?;
        let sums = writer.finish().map_err(failed)?;
        transaction.commit().map_err(failed)?;
        connection.close().map_err(|(_, error)| failed(error))?;
        Ok(sums)
    }

    fn put_in_place(&self, path: &Path) -> std::io::Result<()> {
        File::open(path)?.sync_all()?;
        // A journal belongs to the file that is replaced; beside the new one it
        // would undo what was never done to it.
        match std::fs::remove_file(journal(&self.path)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        std::fs::rename(path, &self.path)?;
        match self.path.parent() {
            Some(folder) if cfg!(unix) => {
                let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
                File::open(folder)?.sync_all()
            }
            _ => Ok(()),
        }
    }
}

/// Where a path leads: a new file replaces the project, not a link to it.
fn true_path(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn journal(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-journal");
    PathBuf::from(name)
}

/// The part of the file's header that changes with every transaction.
fn header(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; 100];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| crate::error::plain(&error))?;
    let mut header = bytes[CHANGE_COUNTER].to_vec();
    header.extend_from_slice(&bytes[28..48]);
    header.extend(identity(path));
    Ok(header)
}

/// What tells a file from another one at the same place.
#[cfg(unix)]
fn identity(path: &Path) -> Vec<u8> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path);
    metadata.map_or(Vec::new(), |m| [m.dev().to_le_bytes(), m.ino().to_le_bytes()].concat())
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Vec<u8> {
    let metadata = std::fs::metadata(path);
    metadata.map_or(Vec::new(), |m| m.len().to_le_bytes().to_vec())
}

fn connect(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_PRIVATE_CACHE;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(128);
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE)?;
    // The file may come from anywhere: what stands in its schema is not to run.
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    Ok(connection)
}

/// Opens a project, and checks that it is one that this version can read.
fn open_to_read(path: &Path) -> Result<Connection, StoreError> {
    let read = |error: &std::io::Error| StoreError::Read {
        path: path.to_owned(),
        reason: crate::error::plain(error),
    };
    let mut start = Vec::new();
    let file = File::open(path).map_err(|error| read(&error))?;
    file.take(100).read_to_end(&mut start).map_err(|error| read(&error))?;
    // An interrupted save may have left the very first page half written; its
    // journal mends it when the file is opened.
    if !is_project(&start) && !journal(path).exists() {
        return Err(StoreError::NotAProject { path: path.to_owned() });
    }
    let failed = |error: rusqlite::Error| StoreError::reading(path, &error);
    // Writable, so that an interrupted save can be undone; where the system
    // forbids that, SQLite opens it to read only.
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if number("application_id").map_err(failed)? != i64::from(schema::APPLICATION_ID) {
        return Err(StoreError::NotAProject { path: path.to_owned() });
    }
    match number("user_version").map_err(failed)? {
        schema::VERSION => {}
        version if version > schema::VERSION => {
            return Err(StoreError::TooNew { path: path.to_owned(), version });
        }
        _ => return Err(StoreError::damaged(path, "its format has no such number")),
    }
    if !schema::is_intact(&connection).map_err(failed)? {
        return Err(StoreError::damaged(path, "its tables are not laid out as they should be"));
    }
    Ok(connection)
}

fn is_corrupt(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{ConstraintViolation, DatabaseCorrupt, NotADatabase};
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase | ConstraintViolation))
}
