//! Records and the values in them.

use crate::bytes::Bytes;
use crate::{FieldType, Schema};

/// One value of a key or column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Nothing: null text or bytes, or a sparse column that the record is without.
    Null,
    /// See [`FieldType::Byte`].
    Byte(i8),
    /// See [`FieldType::Short`].
    Short(i16),
    /// See [`FieldType::Int`].
    Int(i32),
    /// See [`FieldType::Long`].
    Long(i64),
    /// See [`FieldType::Text`]; what is not UTF-8 is replaced.
    Text(String),
    /// See [`FieldType::Binary`].
    Binary(Vec<u8>),
    /// See [`FieldType::Boolean`].
    Boolean(bool),
    /// See [`FieldType::Fixed10`].
    Fixed10([u8; 10]),
    /// See [`FieldType::Index`].
    Index(Box<(Value, Value)>),
}

impl Value {
    pub(crate) fn read(field: &FieldType, bytes: &mut Bytes<'_>) -> Option<Self> {
        Some(match field {
            FieldType::Byte => Self::Byte(bytes.u8()?.cast_signed()),
            FieldType::Short => Self::Short(bytes.u16()?.cast_signed()),
            FieldType::Int => Self::Int(bytes.i32()?),
            FieldType::Long => Self::Long(bytes.i64()?),
            FieldType::Text => match bytes.sized()? {
                Some(text) => Self::Text(String::from_utf8_lossy(text).into_owned()),
                None => Self::Null,
            },
            FieldType::Binary => match bytes.sized()? {
                Some(data) => Self::Binary(data.to_vec()),
                None => Self::Null,
            },
            FieldType::Boolean => Self::Boolean(bytes.u8()? != 0),
            FieldType::Fixed10 => Self::Fixed10(bytes.take(10)?.try_into().ok()?),
            // Its parts are never index fields themselves.
            FieldType::Index(parts) => {
                let indexed = Self::read(&parts.0, bytes)?;
                Self::Index(Box::new((indexed, Self::read(&parts.1, bytes)?)))
            }
        })
    }

    /// A whole number of any size; a boolean as 0 or 1.
    pub fn number(&self) -> Option<i64> {
        match *self {
            Self::Byte(value) => Some(value.into()),
            Self::Short(value) => Some(value.into()),
            Self::Int(value) => Some(value.into()),
            Self::Long(value) => Some(value),
            Self::Boolean(value) => Some(value.into()),
            _ => None,
        }
    }

    /// Text that is not null.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Bytes that are not null.
    pub fn binary(&self) -> Option<&[u8]> {
        match self {
            Self::Binary(data) => Some(data),
            Self::Fixed10(data) => Some(data),
            _ => None,
        }
    }
}

/// One record of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// What it is found by.
    pub key: Value,
    /// One value for each column of the schema.
    pub values: Vec<Value>,
}

impl Record {
    /// The key, where it is a number.
    pub fn long_key(&self) -> Option<i64> {
        self.key.number()
    }

    /// The number in a column.
    pub fn number(&self, column: usize) -> Option<i64> {
        self.values.get(column)?.number()
    }

    /// The text in a column.
    pub fn text(&self, column: usize) -> Option<&str> {
        self.values.get(column)?.text()
    }

    /// The bytes in a column.
    pub fn binary(&self, column: usize) -> Option<&[u8]> {
        self.values.get(column)?.binary()
    }

    /// Reads the columns of a record.
    pub(crate) fn values(schema: &Schema, bytes: &mut Bytes<'_>) -> Option<Vec<Value>> {
        let mut values = Vec::with_capacity(schema.columns.len());
        for column in &schema.columns {
            values.push(match column.sparse {
                true => Value::Null,
                false => Value::read(&column.field, bytes)?,
            });
        }
        if schema.is_sparse() {
            for _ in 0..bytes.u8()? {
                let index = usize::from(bytes.u8()?);
                let column = schema.columns.get(index).filter(|column| column.sparse)?;
                values[index] = Value::read(&column.field, bytes)?;
            }
        }
        Some(values)
    }
}
