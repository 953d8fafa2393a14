//! Facts about the program as a whole, by name.

use crate::error::StoreError;
use crate::reader::{Checked, Fault, Reader};
use crate::record::{AnalysisRecord, LoadRecord, Record};
use crate::sheet::{Cell, Sheet};
use crate::writer::Writer;
use program::{Address, DataOrganization, Program, ProgramInfo, RecordRules, SpaceId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

pub(crate) const INFO: Sheet = Sheet { name: "info", keys: 1, columns: &["name TEXT", "value"] };

/// The analyzers that were over when an analysis was interrupted, a line each.
const DONE: &str = "analysis_done";

/// The content that is the file which the program was taken over from, where it was from one.
const ORIGIN: &str = "origin";

/// The functions that are stated to return: space and offset in hexadecimal, a line each.
const RETURNING: &str = "returning";

/// Whether gcc made a program for Windows.
const MINGW: &str = "mingw";

pub(crate) const WARNINGS: Sheet =
    Sheet { name: "warnings", keys: 1, columns: &["number INTEGER", "text TEXT"] };

/// What the table says.
pub(crate) struct Info {
    pub program: ProgramInfo,
    pub big_endian: bool,
    pub organization: DataOrganization,
    pub last_symbol: u64,
    pub last_type: u32,
    /// Which content the program was taken over from.
    pub origin: Option<usize>,
    pub record: Record,
}

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Null,
    Int(i64),
    Text(String),
}

impl Value {
    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    fn maybe(text: Option<&String>) -> Value {
        text.map_or(Value::Null, |text| Value::Text(text.clone()))
    }

    fn time(time: Option<SystemTime>) -> Value {
        let Some(time) = time else { return Value::Null };
        let nanoseconds = match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_nanos()).ok(),
            Err(before) => i64::try_from(before.duration().as_nanos()).ok().map(|n| -n),
        };
        nanoseconds.map_or(Value::Null, Value::Int)
    }

    fn cell(&self) -> Cell<'_> {
        match self {
            Value::Null => Cell::Null,
            Value::Int(number) => Cell::Int(*number),
            Value::Text(text) => Cell::Text(text),
        }
    }
}

fn rows(program: &Program, record: &Record) -> Vec<(&'static str, Value)> {
    let ProgramInfo {
        name,
        executable_path,
        executable_format,
        image_base,
        language_id,
        compiler_spec_id,
        processor,
        address_bits,
        md5,
        sha256,
        file_size,
        created,
        modified,
        relocatable,
        warnings: _,
        returning,
    } = &*program.info;
    let DataOrganization { pointer, long, wide_char, long_double, compiler } =
        program.types.organization();
    let AnalysisRecord { analyzed, kind, state, task_id, started, finished, message, done } =
        &record.analysis;
    let LoadRecord { file_sha256, language, compiler_spec, base, format, member, pdb } =
        &record.load;
    let int = |number: u32| Value::Int(i64::from(number));
    let contents = super::contents::of(program);
    let origin = program.origin.as_ref();
    let origin = origin.and_then(|bytes| super::contents::index(&contents, bytes));
    let mut rows = vec![
        ("name", Value::text(name)),
        ("executable_path", Value::text(executable_path)),
        ("executable_format", Value::text(executable_format)),
        ("image_base", Value::Int(*image_base as i64)),
        ("language_id", Value::text(language_id)),
        ("compiler_spec_id", Value::text(compiler_spec_id)),
        ("processor", Value::text(processor)),
        ("address_bits", int(*address_bits)),
        ("md5", Value::text(md5)),
        ("sha256", Value::text(sha256)),
        ("file_size", Value::Int(*file_size as i64)),
        ("created", Value::time(*created)),
        ("modified", Value::time(*modified)),
        ("relocatable", Value::Int(i64::from(*relocatable))),
        ("big_endian", Value::Int(i64::from(program.memory.big_endian()))),
        ("pointer_size", int(*pointer)),
        ("long_size", int(*long)),
        ("wide_char_size", int(*wide_char)),
        ("long_double_size", int(*long_double)),
        (MINGW, Value::Int(i64::from(compiler.rules == RecordRules::MinGw))),
        ("last_symbol", Value::Int(program.symbols.last_id() as i64)),
        ("last_type", int(program.types.last_id())),
        ("analyzed", Value::Int(i64::from(*analyzed))),
        ("analysis_kind", Value::text(kind)),
        ("analysis_state", Value::text(state)),
        ("analysis_task", Value::maybe(task_id.as_ref())),
        ("analysis_started", Value::time(*started)),
        ("analysis_finished", Value::time(*finished)),
        ("analysis_message", Value::maybe(message.as_ref())),
        (RETURNING, Value::maybe((!returning.is_empty()).then(|| places(returning)).as_ref())),
        (DONE, Value::maybe((!done.is_empty()).then(|| done.join("\n")).as_ref())),
        ("load_sha256", Value::text(file_sha256)),
        ("load_language", Value::maybe(language.as_ref())),
        ("load_compiler_spec", Value::maybe(compiler_spec.as_ref())),
        ("load_base", base.map_or(Value::Null, |base| Value::Int(base as i64))),
        ("load_format", Value::maybe(format.as_ref())),
        ("load_member", Value::maybe(member.as_ref())),
        ("load_pdb", Value::maybe(pdb.as_ref())),
    ];
    rows.extend(origin.map(|at| (ORIGIN, Value::Int(at as i64))));
    rows
}

/// Addresses as text, a line each.
fn places(addresses: &BTreeSet<Address>) -> String {
    let lines = addresses.iter().map(|at| format!("{:x}:{:x}", at.space.0, at.offset));
    lines.collect::<Vec<_>>().join("\n")
}

fn place(line: &str) -> Option<Address> {
    let (space, offset) = line.split_once(':')?;
    let space = SpaceId(u16::from_str_radix(space, 16).ok()?);
    Some(Address::new(space, u64::from_str_radix(offset, 16).ok()?))
}

pub(super) fn save(
    writer: &Writer<'_>,
    before: Option<(&Program, &Record)>,
    program: &Program,
    record: &Record,
) -> rusqlite::Result<()> {
    let now = rows(program, record);
    if before.is_none_or(|(program, record)| rows(program, record) != now) {
        let mut sheet = writer.open(&INFO)?;
        sheet.clear(&[])?;
        for (name, value) in &now {
            sheet.put(&[Cell::Text(name), value.cell()])?;
        }
    }
    let warnings = &program.info.warnings;
    if before.is_none_or(|(program, _)| program.info.warnings != *warnings) {
        let mut sheet = writer.open(&WARNINGS)?;
        sheet.clear(&[])?;
        for (number, text) in (0..).zip(warnings) {
            sheet.put(&[Cell::Int(number), Cell::Text(text)])?;
        }
    }
    Ok(())
}

/// Reads the table, and nothing else of the file.
pub(crate) fn load(reader: &Reader<'_>) -> Result<Info, StoreError> {
    let mut values = Values(BTreeMap::new());
    reader.each(&INFO, |row| {
        let value = match row.cell(1)? {
            Cell::Null => Value::Null,
            Cell::Int(number) => Value::Int(number),
            Cell::Text(text) => Value::text(text),
            Cell::Blob(_) => return Err(Fault("bytes stand where none should")),
        };
        values.0.insert(row.text(0)?.to_owned(), value);
        Ok(())
    })?;
    let mut warnings = Vec::new();
    reader.each(&WARNINGS, |row| {
        warnings.push(row.text(1)?.to_owned());
        Ok(())
    })?;
    values.info(warnings).map_err(|Fault(what)| reader.damaged(&INFO, what))
}

struct Values(BTreeMap<String, Value>);

impl Values {
    fn get(&self, name: &str) -> Checked<&Value> {
        self.0.get(name).ok_or(Fault("a fact is missing"))
    }

    fn text(&self, name: &str) -> Checked<String> {
        self.maybe_text(name)?.ok_or(Fault("a text is missing"))
    }

    fn maybe_text(&self, name: &str) -> Checked<Option<String>> {
        match self.get(name)? {
            Value::Null => Ok(None),
            Value::Text(text) => Ok(Some(text.clone())),
            Value::Int(_) => Err(Fault("a text is not one")),
        }
    }

    /// A text that projects of before do not have.
    fn later_text(&self, name: &str) -> Checked<Option<String>> {
        if self.0.contains_key(name) { self.maybe_text(name) } else { Ok(None) }
    }

    fn lines(&self, name: &str) -> Checked<Vec<String>> {
        let text = self.later_text(name)?.unwrap_or_default();
        Ok(text.lines().map(str::to_owned).collect())
    }

    fn places(&self, name: &str) -> Checked<BTreeSet<Address>> {
        let lines = self.lines(name)?;
        let places = lines.iter().map(|line| place(line).ok_or(Fault("a place is not one")));
        places.collect()
    }

    fn maybe_int(&self, name: &str) -> Checked<Option<i64>> {
        match self.get(name)? {
            Value::Null => Ok(None),
            Value::Int(number) => Ok(Some(*number)),
            Value::Text(_) => Err(Fault("a number is not one")),
        }
    }

    fn int(&self, name: &str) -> Checked<i64> {
        self.maybe_int(name)?.ok_or(Fault("a number is missing"))
    }

    fn number<T: TryFrom<i64>>(&self, name: &str) -> Checked<T> {
        T::try_from(self.int(name)?).map_err(|_| Fault("a number is out of range"))
    }

    fn flag(&self, name: &str) -> Checked<bool> {
        Ok(self.int(name)? != 0)
    }

    fn time(&self, name: &str) -> Checked<Option<SystemTime>> {
        let Some(nanoseconds) = self.maybe_int(name)? else { return Ok(None) };
        let distance = Duration::from_nanos(nanoseconds.unsigned_abs());
        let time = if nanoseconds < 0 {
            SystemTime::UNIX_EPOCH.checked_sub(distance)
        } else {
            SystemTime::UNIX_EPOCH.checked_add(distance)
        };
        time.map(Some).ok_or(Fault("a time is out of range"))
    }

    fn info(&self, warnings: Vec<String>) -> Checked<Info> {
        let program = ProgramInfo {
            name: self.text("name")?,
            executable_path: self.text("executable_path")?,
            executable_format: self.text("executable_format")?,
            image_base: self.int("image_base")? as u64,
            language_id: self.text("language_id")?,
            compiler_spec_id: self.text("compiler_spec_id")?,
            processor: self.text("processor")?,
            address_bits: self.number("address_bits")?,
            md5: self.text("md5")?,
            sha256: self.text("sha256")?,
            file_size: self.int("file_size")? as u64,
            created: self.time("created")?,
            modified: self.time("modified")?,
            relocatable: self.flag("relocatable")?,
            warnings,
            returning: self.places(RETURNING)?,
        };
        let size = |name| {
            self.number(name).and_then(|size: u32| {
                if (1..=64).contains(&size) { Ok(size) } else { Err(Fault("a size is absurd")) }
            })
        };
        let mut organization = DataOrganization {
            pointer: size("pointer_size")?,
            long: size("long_size")?,
            wide_char: size("wide_char_size")?,
            long_double: size("long_double_size")?,
            ..DataOrganization::default()
        };
        // Older files do not say so.
        if self.0.get(MINGW) == Some(&Value::Int(1)) {
            organization.compiler.rules = RecordRules::MinGw;
        }
        let organization = organization.made_for(&program);
        Ok(Info {
            program,
            big_endian: self.flag("big_endian")?,
            organization,
            last_symbol: self.number("last_symbol")?,
            last_type: self.number("last_type")?,
            origin: match self.0.contains_key(ORIGIN) {
                true => Some(self.number(ORIGIN)?),
                false => None,
            },
            record: Record { analysis: self.analysis()?, load: self.load()? },
        })
    }

    fn analysis(&self) -> Checked<AnalysisRecord> {
        Ok(AnalysisRecord {
            analyzed: self.flag("analyzed")?,
            kind: self.text("analysis_kind")?,
            state: self.text("analysis_state")?,
            task_id: self.maybe_text("analysis_task")?,
            started: self.time("analysis_started")?,
            finished: self.time("analysis_finished")?,
            message: self.maybe_text("analysis_message")?,
            done: self.lines(DONE)?,
        })
    }

    fn load(&self) -> Checked<LoadRecord> {
        Ok(LoadRecord {
            file_sha256: self.text("load_sha256")?,
            language: self.maybe_text("load_language")?,
            compiler_spec: self.maybe_text("load_compiler_spec")?,
            base: self.maybe_int("load_base")?.map(|base| base as u64),
            format: self.maybe_text("load_format")?,
            member: self.maybe_text("load_member")?,
            pdb: self.later_text("load_pdb")?,
        })
    }
}
