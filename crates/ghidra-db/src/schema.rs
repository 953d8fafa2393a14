//! A table's schema, as the master table spells it: types of key and columns, their names, and
//! which columns are sparse.

use std::collections::BTreeSet;

use crate::Error;

/// Begins an extension of the list of types.
const EXTENSION: u8 = 0xff;
const SPARSE_COLUMNS: u8 = 1;
/// The primary key's type in an index field of databases before indexes had types of their own.
const LEGACY_LONG: u8 = 8;

/// What a key or column holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldType {
    /// One signed byte.
    Byte,
    /// Two bytes, signed.
    Short,
    /// Four bytes, signed.
    Int,
    /// Eight bytes, signed.
    Long,
    /// Text or null.
    Text,
    /// Bytes or null.
    Binary,
    /// True or false.
    Boolean,
    /// Ten bytes.
    Fixed10,
    /// The key of an index: the value indexed and the key of the record that has it.
    Index(Box<(FieldType, FieldType)>),
}

impl FieldType {
    pub(crate) fn parse(code: u8) -> Result<Self, Error> {
        let simple = |code| {
            Ok(match code {
                0 => Self::Byte,
                1 => Self::Short,
                2 => Self::Int,
                3 => Self::Long,
                4 => Self::Text,
                5 => Self::Binary,
                6 => Self::Boolean,
                7 => Self::Fixed10,
                _ => return Err(Error::Schema(format!("field type {code:#04x} is unknown"))),
            })
        };
        match (code >> 4, code & 0xf) {
            (0, indexed) => simple(indexed),
            (LEGACY_LONG, indexed) => Ok(Self::Index(Box::new((simple(indexed)?, Self::Long)))),
            (key, indexed) => Ok(Self::Index(Box::new((simple(indexed)?, simple(key)?)))),
        }
    }

    /// Bytes that every value takes, `None` where values differ.
    pub fn size(&self) -> Option<usize> {
        Some(match self {
            Self::Byte | Self::Boolean => 1,
            Self::Short => 2,
            Self::Int => 4,
            Self::Long => 8,
            Self::Fixed10 => 10,
            Self::Text | Self::Binary => return None,
            Self::Index(parts) => parts.0.size()? + parts.1.size()?,
        })
    }
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name as the table gives it.
    pub name: String,
    /// What it holds.
    pub field: FieldType,
    /// Whether records may be without it.
    pub sparse: bool,
}

/// Key and columns of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// The version of the table's layout.
    pub version: i32,
    /// The key's name.
    pub key_name: String,
    /// The key's type.
    pub key: FieldType,
    /// The columns in their order.
    pub columns: Vec<Column>,
}

impl Schema {
    pub(crate) fn parse(version: i32, key: u8, types: &[u8], names: &str) -> Result<Self, Error> {
        let (plain, extensions) =
            types.split_at(types.iter().position(|&code| code == EXTENSION).unwrap_or(types.len()));
        let sparse = sparse_columns(extensions)?;
        let mut names = names.split(';').filter(|name| !name.is_empty());
        let key_name = names.next().unwrap_or_default().to_owned();
        let mut columns = Vec::with_capacity(plain.len());
        for (index, &code) in plain.iter().enumerate() {
            let name = names.next().map_or_else(|| format!("column {index}"), str::to_owned);
            let sparse = sparse.contains(&index);
            columns.push(Column { name, field: FieldType::parse(code)?, sparse });
        }
        if sparse.iter().any(|&index| index >= columns.len()) {
            return Err(Error::Schema("a sparse column does not exist".into()));
        }
        Ok(Self { version, key_name, key: FieldType::parse(key)?, columns })
    }

    /// The place of the column called `name`.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Bytes of every record without its key, `None` where records differ.
    pub(crate) fn record_size(&self) -> Option<usize> {
        self.columns
            .iter()
            .map(|column| column.field.size().filter(|_| !column.sparse))
            .sum::<Option<usize>>()
    }

    pub(crate) fn is_sparse(&self) -> bool {
        self.columns.iter().any(|column| column.sparse)
    }
}

fn sparse_columns(extensions: &[u8]) -> Result<BTreeSet<usize>, Error> {
    match extensions {
        [] => Ok(BTreeSet::new()),
        [EXTENSION, SPARSE_COLUMNS, columns @ ..] if !columns.contains(&EXTENSION) => {
            Ok(columns.iter().map(|&column| usize::from(column)).collect())
        }
        _ => Err(Error::Schema("it has an unknown extension".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_names_and_sparse_columns_are_read() {
        let schema = Schema::parse(3, 3, &[4, 3, 2, 0xff, 1, 2], "Key;Name;At;Extra;").unwrap();
        assert_eq!((schema.version, &*schema.key_name), (3, "Key"));
        let columns: Vec<_> = schema.columns.iter().map(|c| (&*c.name, c.sparse)).collect();
        assert_eq!(columns, [("Name", false), ("At", false), ("Extra", true)]);
        assert_eq!(schema.record_size(), None);
        assert_eq!(Schema::parse(0, 3, &[0, 1, 6], "K;a;b;c;").unwrap().record_size(), Some(4));
    }

    #[test]
    fn index_keys_have_two_parts() {
        let parts = |code| FieldType::parse(code).unwrap();
        assert_eq!(parts(0x34), FieldType::Index(Box::new((FieldType::Text, FieldType::Long))));
        assert_eq!(parts(0x83), FieldType::Index(Box::new((FieldType::Long, FieldType::Long))));
        assert_eq!(parts(0x83).size(), Some(16));
    }

    #[test]
    fn what_is_unknown_is_refused() {
        assert!(FieldType::parse(0x0f).is_err());
        assert!(Schema::parse(0, 3, &[3, 0xff, 2], "K;a;").is_err());
        assert!(Schema::parse(0, 3, &[3, 0xff, 1, 9], "K;a;").is_err());
    }
}
