//! Data types and their parts.

use crate::error::StoreError;
use crate::reader::{Checked, Fault, Reader, Row};
use crate::sheet::{Cell, Sheet};
use crate::words::builtin;
use crate::writer::{SheetWriter, Writer};
use program::data_type::{Field, FunctionType, SignatureParameter};
use program::{DataOrganization, DataType, DataTypes, Program, Table, TypeId, TypeKind};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) const TYPES: Sheet = Sheet {
    name: "data_types",
    keys: 1,
    columns: &[
        "id INTEGER",
        "category TEXT",
        "name TEXT",
        "kind TEXT",
        "length INTEGER",
        "alignment INTEGER",
        "description TEXT",
        "used INTEGER",
        "content TEXT",
        "target INTEGER",
        "count INTEGER",
        "packed INTEGER",
        "convention TEXT",
        "varargs INTEGER",
        "no_return INTEGER",
    ],
};

pub(crate) const FIELDS: Sheet = Sheet {
    name: "data_type_fields",
    keys: 2,
    columns: &[
        "data_type INTEGER",
        "number INTEGER",
        "offset INTEGER",
        "type INTEGER",
        "length INTEGER",
        "name TEXT",
        "comment TEXT",
        "low_bit INTEGER",
        "bits INTEGER",
    ],
};

pub(crate) const VALUES: Sheet = Sheet {
    name: "enum_values",
    keys: 2,
    columns: &["data_type INTEGER", "number INTEGER", "name TEXT", "value INTEGER", "comment TEXT"],
};

pub(crate) const PARAMETERS: Sheet = Sheet {
    name: "data_type_parameters",
    keys: 2,
    columns: &["data_type INTEGER", "number INTEGER", "name TEXT", "type INTEGER"],
};

struct Sheets<'w> {
    types: SheetWriter<'w>,
    fields: SheetWriter<'w>,
    values: SheetWriter<'w>,
    parameters: SheetWriter<'w>,
}

pub(super) fn save(
    writer: &Writer<'_>,
    before: Option<&Program>,
    now: &Program,
) -> rusqlite::Result<()> {
    let none = Table::new();
    let old = before.map_or(&none, |program| program.types.table());
    let mut sheets = Sheets {
        types: writer.open(&TYPES)?,
        fields: writer.open(&FIELDS)?,
        values: writer.open(&VALUES)?,
        parameters: writer.open(&PARAMETERS)?,
    };
    for change in now.types.table().changes(old) {
        let id = Cell::Int(change.key.0.into());
        if change.before.is_some() {
            sheets.types.clear(&[id])?;
            sheets.fields.clear(&[id])?;
            sheets.values.clear(&[id])?;
            sheets.parameters.clear(&[id])?;
        }
        if let Some(data_type) = change.after {
            sheets.put(id, data_type)?;
        }
    }
    Ok(())
}

/// The columns that depend on the kind.
struct Columns<'a> {
    kind: &'static str,
    content: Option<String>,
    target: Option<TypeId>,
    count: Option<u32>,
    packed: Option<bool>,
    function: Option<&'a FunctionType>,
}

fn columns(kind: &TypeKind) -> Columns<'_> {
    let plain = |kind| Columns {
        kind,
        content: None,
        target: None,
        count: None,
        packed: None,
        function: None,
    };
    match kind {
        TypeKind::Builtin(known) => {
            Columns { content: Some(builtin::write(*known)), ..plain("builtin") }
        }
        TypeKind::Pointer(target) => Columns { target: *target, ..plain("pointer") },
        TypeKind::Array { element, count } => {
            Columns { target: Some(*element), count: Some(*count), ..plain("array") }
        }
        TypeKind::Struct { packed, .. } => Columns { packed: Some(*packed), ..plain("struct") },
        TypeKind::Union { .. } => plain("union"),
        TypeKind::Enum { .. } => plain("enum"),
        TypeKind::Typedef(base) => Columns { target: Some(*base), ..plain("typedef") },
        TypeKind::Function(function) => Columns {
            target: Some(function.return_type),
            function: Some(function),
            ..plain("function")
        },
    }
}

impl Sheets<'_> {
    fn put(&mut self, id: Cell<'_>, data_type: &DataType) -> rusqlite::Result<()> {
        let DataType { category, name, length, alignment, description, kind, used } = data_type;
        let Columns { kind: word, content, target, count, packed, function } = columns(kind);
        self.types.put(&[
            id,
            Cell::Text(category),
            Cell::Text(name),
            Cell::Text(word),
            Cell::maybe_int(*length),
            Cell::Int((*alignment).into()),
            Cell::Text(description),
            Cell::flag(*used),
            Cell::maybe(content.as_deref()),
            Cell::maybe_int(target.map(|target| target.0)),
            Cell::maybe_int(count),
            Cell::maybe_int(packed),
            Cell::maybe(function.and_then(|function| function.convention.as_deref())),
            Cell::maybe_int(function.map(|function| function.varargs)),
            Cell::maybe_int(function.map(|function| function.no_return)),
        ])?;
        match kind {
            TypeKind::Struct { fields, .. } | TypeKind::Union { fields } => {
                for (number, field) in (0..).zip(fields) {
                    self.put_field(id, number, field)?;
                }
            }
            TypeKind::Enum { values } => {
                for (number, (name, value, comment)) in (0..).zip(values) {
                    let value = [Cell::Text(name), Cell::Int(*value), Cell::Text(comment)];
                    self.values.put(&[id, Cell::Int(number), value[0], value[1], value[2]])?;
                }
            }
            TypeKind::Function(function) => {
                for (number, parameter) in (0..).zip(&function.parameters) {
                    let SignatureParameter { name, data_type } = parameter;
                    let data_type = Cell::Int(data_type.0.into());
                    self.parameters.put(&[id, Cell::Int(number), Cell::Text(name), data_type])?;
                }
            }
            TypeKind::Builtin(_)
            | TypeKind::Pointer(_)
            | TypeKind::Array { .. }
            | TypeKind::Typedef(_) => {}
        }
        Ok(())
    }

    fn put_field(&mut self, id: Cell<'_>, number: i64, field: &Field) -> rusqlite::Result<()> {
        let Field { offset, data_type, length, name, comment, bits } = field;
        self.fields.put(&[
            id,
            Cell::Int(number),
            Cell::Int((*offset).into()),
            Cell::Int(data_type.0.into()),
            Cell::Int((*length).into()),
            Cell::Text(name),
            Cell::Text(comment),
            Cell::maybe_int(bits.map(|(low, _)| low)),
            Cell::maybe_int(bits.map(|(_, width)| width)),
        ])
    }
}

pub(super) fn load(
    reader: &Reader<'_>,
    organization: DataOrganization,
    last_id: u32,
) -> Result<DataTypes, StoreError> {
    let mut types: BTreeMap<TypeId, DataType> = BTreeMap::new();
    reader.each(&TYPES, |row| {
        types.insert(TypeId(row.number(0)?), data_type(row)?);
        Ok(())
    })?;
    let mut owner = |row: &Row<'_>, add: &mut dyn FnMut(&mut TypeKind) -> Checked<()>| {
        let owner = types.get_mut(&TypeId(row.number(0)?));
        add(&mut owner.ok_or(Fault("a part belongs to no type"))?.kind)
    };
    reader.each(&FIELDS, |row| {
        owner(row, &mut |kind| match kind {
            TypeKind::Struct { fields, .. } | TypeKind::Union { fields } => {
                in_order(row, fields.len())?;
                fields.push(field(row)?);
                Ok(())
            }
            _ => Err(Fault("a field belongs to no structure")),
        })
    })?;
    reader.each(&VALUES, |row| {
        owner(row, &mut |kind| match kind {
            TypeKind::Enum { values } => {
                in_order(row, values.len())?;
                values.push((row.text(2)?.into(), row.int(3)?, row.text(4)?.into()));
                Ok(())
            }
            _ => Err(Fault("a value belongs to no enum")),
        })
    })?;
    reader.each(&PARAMETERS, |row| {
        owner(row, &mut |kind| match kind {
            TypeKind::Function(function) => {
                in_order(row, function.parameters.len())?;
                let (name, data_type) = (row.text(2)?.into(), TypeId(row.number(3)?));
                function.parameters.push(SignatureParameter { name, data_type });
                Ok(())
            }
            _ => Err(Fault("a parameter belongs to no function type")),
        })
    })?;
    let types: Table<TypeId, Arc<DataType>> =
        types.into_iter().map(|(id, data_type)| (id, Arc::new(data_type))).collect();
    DataTypes::restore(organization, types, last_id)
        .ok_or_else(|| reader.damaged(&TYPES, "the data types do not fit together"))
}

fn in_order(row: &Row<'_>, known: usize) -> Checked<()> {
    if row.number::<usize>(1)? == known { Ok(()) } else { Err(Fault("a part is missing")) }
}

fn data_type(row: &Row<'_>) -> Checked<DataType> {
    let target = row.maybe_number(9)?.map(TypeId);
    let made_of = || target.ok_or(Fault("a type is made of nothing"));
    let kind = match row.text(3)? {
        "builtin" => TypeKind::Builtin(row.word(8, builtin::read)?),
        "pointer" => TypeKind::Pointer(target),
        "array" => TypeKind::Array { element: made_of()?, count: row.number(10)? },
        "struct" => TypeKind::Struct { fields: Vec::new(), packed: row.flag(11)? },
        "union" => TypeKind::Union { fields: Vec::new() },
        "enum" => TypeKind::Enum { values: Vec::new() },
        "typedef" => TypeKind::Typedef(made_of()?),
        "function" => TypeKind::Function(FunctionType {
            return_type: made_of()?,
            parameters: Vec::new(),
            convention: row.maybe_text(12)?.map(Arc::from),
            varargs: row.flag(13)?,
            no_return: row.flag(14)?,
        }),
        _ => return Err(Fault("a word is not known")),
    };
    Ok(DataType {
        category: row.text(1)?.into(),
        name: row.text(2)?.into(),
        length: row.maybe_number(4)?,
        alignment: row.number(5)?,
        description: row.text(6)?.into(),
        kind,
        used: row.flag(7)?,
    })
}

fn field(row: &Row<'_>) -> Checked<Field> {
    let bits = match (row.maybe_number(7)?, row.maybe_number(8)?) {
        (None, None) => None,
        (Some(low), Some(width)) => Some((low, width)),
        _ => return Err(Fault("a bit-field is half one")),
    };
    Ok(Field {
        offset: row.number(2)?,
        data_type: TypeId(row.number(3)?),
        length: row.number(4)?,
        name: row.text(5)?.into(),
        comment: row.text(6)?.into(),
        bits,
    })
}
