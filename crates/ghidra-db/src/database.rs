//! The database in a buffer file: its parameters, the master table, and every table that it lists.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::bytes::Bytes;
use crate::chained::ChainedBuffer;
use crate::node::{Content, Leaf, Node};
use crate::version_file::Buffers;
use crate::{BufferFile, Error, FieldType, Record, Schema, Value};

/// The parameters' buffer, and what it begins with.
const PARAMETERS: i32 = 0;
const PARAMETERS_KIND: u8 = 9;
const PARAMETERS_FORMAT: u8 = 1;

/// A database, wholly in memory. Tables are listed when it is opened, and read when asked for.
#[derive(Debug, Clone)]
pub struct Database {
    buffers: Buffers,
    tables: Vec<Table>,
    indexes: Vec<Table>,
    unreadable: Vec<Unreadable>,
    /// The number that all copies of a database share.
    pub id: i64,
}

/// A table, or an index of one.
#[derive(Debug, Clone)]
pub struct Table {
    /// Its name; an index has that of its table.
    pub name: String,
    /// Its number in the master table.
    pub number: i64,
    /// Key and columns.
    pub schema: Schema,
    /// How many records it says it has.
    pub record_count: i32,
    /// The highest number that was ever a key.
    pub max_key: i64,
    /// The columns that have an index, of an index the one column.
    pub indexed: Vec<usize>,
    root: i32,
}

/// A table that cannot be used, and why.
#[derive(Debug, Clone)]
pub struct Unreadable {
    /// The table's name.
    pub name: String,
    /// What is wrong.
    pub error: String,
}

impl Database {
    /// Opens the database in the bytes of a buffer file.
    ///
    /// # Errors
    ///
    /// When the file, its parameters or its master table cannot be read. Other tables that cannot
    /// are left out and listed by [`Self::unreadable`].
    pub fn parse(bytes: Vec<u8>) -> Result<Self, Error> {
        Self::open(Buffers::newest(BufferFile::parse(bytes)?))
    }

    /// Opens an older version: the newest file and the version files that lead back from it, the
    /// oldest first.
    ///
    /// # Errors
    ///
    /// As [`Self::parse`], and when the files do not belong together.
    pub fn parse_older(newest: Vec<u8>, versions: Vec<Vec<u8>>) -> Result<Self, Error> {
        let versions = versions.into_iter().map(BufferFile::parse).collect::<Result<_, _>>()?;
        Self::open(Buffers::older(BufferFile::parse(newest)?, versions)?)
    }

    fn open(buffers: Buffers) -> Result<Self, Error> {
        let (root, id) = parameters(&buffers)?;
        let master = Table {
            name: "MASTER".into(),
            number: -1,
            schema: master_schema(),
            record_count: 0,
            max_key: 0,
            indexed: Vec::new(),
            root,
        };
        let (mut tables, mut indexes, mut unreadable) = (Vec::new(), Vec::new(), Vec::new());
        for record in Records::new(&buffers, &master) {
            let record = record?;
            match Table::from_master(&record) {
                Ok((table, None)) => tables.push(table),
                Ok((table, Some(column))) => {
                    indexes.push(Table { indexed: vec![column], ..table });
                }
                Err(error) => {
                    let name = record.text(0).unwrap_or("?").to_owned();
                    unreadable.push(Unreadable { name, error: error.to_string() });
                }
            }
        }
        for index in &indexes {
            if let Some(table) = tables.iter_mut().find(|table| table.name == index.name) {
                table.indexed.extend(&index.indexed);
            }
        }
        Ok(Self { buffers, tables, indexes, unreadable, id })
    }

    /// The tables in the order of their making.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The indexes. Their keys are [`Value::Index`]; they have no columns.
    pub fn indexes(&self) -> &[Table] {
        &self.indexes
    }

    /// The table called `name`.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// Tables whose schema could not be understood.
    pub fn unreadable(&self) -> &[Unreadable] {
        &self.unreadable
    }

    /// Whether the file ends within a buffer, so that something may be missing.
    pub fn is_truncated(&self) -> bool {
        self.buffers.truncated()
    }

    /// The records of a table of this database, in the order of their keys. Costs one pass over
    /// its buffers. Nothing comes after the first error.
    pub fn records<'a>(&'a self, table: &'a Table) -> Records<'a> {
        Records::new(&self.buffers, table)
    }

    /// All records of a table.
    ///
    /// # Errors
    ///
    /// The first thing that does not hold, with the table's name.
    pub fn read(&self, table: &Table) -> Result<Vec<Record>, Error> {
        self.records(table).collect()
    }

    /// The chained buffer that begins at a buffer, as columns of some tables name it.
    ///
    /// # Errors
    ///
    /// [`Error::Buffer`] when none begins there.
    pub fn chained(&self, buffer: i32) -> Result<ChainedBuffer<'_>, Error> {
        ChainedBuffer::open(&self.buffers, buffer)
    }
}

/// The master table's root and the database's number.
fn parameters(buffers: &Buffers) -> Result<(i32, i64), Error> {
    let bad = |problem| Error::Buffer { buffer: PARAMETERS, problem };
    let mut bytes = Bytes::new(buffers.buffer(PARAMETERS)?);
    let cut = || bad("the database's parameters are cut off");
    let kind = bytes.u8().ok_or_else(cut)?;
    let length = bytes.i32().ok_or_else(cut)?;
    let format = bytes.u8().ok_or_else(cut)?;
    if kind != PARAMETERS_KIND {
        return Err(bad("it does not hold the database's parameters"));
    }
    if format != PARAMETERS_FORMAT {
        return Err(bad("the parameters' format is unknown"));
    }
    if length < 5 {
        return Err(bad("the database has no master table"));
    }
    let root = bytes.i32().ok_or_else(cut)?;
    let id = if length < 13 { 0 } else { bytes.i64().ok_or_else(cut)? };
    Ok((root, id))
}

fn master_schema() -> Schema {
    use FieldType::{Binary, Byte, Int, Long, Text};
    let columns = [
        ("TableName", Text),
        ("SchemaVersion", Int),
        ("RootBufferId", Int),
        ("KeyType", Byte),
        ("FieldTypes", Binary),
        ("FieldNames", Text),
        ("IndexColumn", Int),
        ("MaxKey", Long),
        ("RecordCount", Int),
    ];
    let column =
        |(name, field): (&str, _)| crate::Column { name: name.to_owned(), field, sparse: false };
    Schema {
        version: 0,
        key_name: "TableNum".into(),
        key: Long,
        columns: columns.map(column).into(),
    }
}

impl Table {
    /// A table from its record, with the column that it indexes if it is an index.
    fn from_master(record: &Record) -> Result<(Self, Option<usize>), Error> {
        let number = |column| record.number(column).unwrap_or(0) as i32;
        let name = record.text(0).unwrap_or_default().to_owned();
        let key = number(3) as u8;
        let (types, names) = (record.binary(4).unwrap_or_default(), record.text(5));
        let schema = Schema::parse(number(1), key, types, names.unwrap_or_default())
            .map_err(|error| error.in_table(&name))?;
        let table = Self {
            name,
            number: record.long_key().unwrap_or(0),
            schema,
            record_count: number(8),
            max_key: record.number(7).unwrap_or(0),
            indexed: Vec::new(),
            root: number(2),
        };
        Ok((table, usize::try_from(number(6)).ok()))
    }
}

/// The records of a table, see [`Database::records`].
pub struct Records<'a> {
    buffers: &'a Buffers,
    table: &'a Table,
    /// Nodes to be visited, the next one last.
    pending: Vec<i32>,
    leaf: Option<(Leaf<'a>, usize)>,
    /// Every buffer visited: one that comes again would lead round in circles, or let few bytes
    /// stand for many.
    seen: HashSet<i32>,
}

impl<'a> Records<'a> {
    fn new(buffers: &'a Buffers, table: &'a Table) -> Self {
        let pending = if table.root < 0 { Vec::new() } else { vec![table.root] };
        Self { buffers, table, pending, leaf: None, seen: HashSet::new() }
    }

    fn advance(&mut self) -> Result<Option<Record>, Error> {
        loop {
            if let Some((leaf, next)) = &mut self.leaf {
                if *next < leaf.count {
                    let index = *next;
                    *next += 1;
                    let (key, content) = leaf.entry(index, &self.table.schema)?;
                    let buffer = leaf.buffer;
                    return self.record(key, content, buffer, index).map(Some);
                }
                self.leaf = None;
            }
            let Some(buffer) = self.pending.pop() else { return Ok(None) };
            self.visit(buffer)?;
            match Node::parse(buffer, self.buffers.buffer(buffer)?, &self.table.schema)? {
                Node::Interior(children) => self.pending.extend(children.into_iter().rev()),
                Node::Leaf(leaf) => self.leaf = Some((leaf, 0)),
            }
        }
    }

    fn visit(&mut self, buffer: i32) -> Result<(), Error> {
        match self.seen.insert(buffer) {
            true => Ok(()),
            false => Err(Error::Buffer { buffer, problem: "the table leads to it twice" }),
        }
    }

    fn record(
        &mut self,
        key: Value,
        content: Content<'_>,
        buffer: i32,
        index: usize,
    ) -> Result<Record, Error> {
        let bytes = match content {
            Content::Here(bytes) => Cow::Borrowed(bytes),
            Content::Chain(first) => {
                self.visit(first)?;
                Cow::Owned(ChainedBuffer::open(self.buffers, first)?.to_vec()?)
            }
        };
        let values = Record::values(&self.table.schema, &mut Bytes::new(&bytes));
        let problem = "it does not hold what its schema says";
        let values = values.ok_or(Error::Record { buffer, index, problem })?;
        Ok(Record { key, values })
    }
}

impl Iterator for Records<'_> {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance().map_err(|error| error.in_table(&self.table.name));
        if next.is_err() {
            self.pending.clear();
            self.leaf = None;
        }
        next.transpose()
    }
}
