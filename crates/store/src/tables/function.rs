//! Functions with their bodies, parameters, variables and tags.

use crate::error::StoreError;
use crate::reader::{Checked, Fault, Reader, Row};
use crate::sheet::{Cell, Sheet};
use crate::words::{source, storage};
use crate::writer::{SheetWriter, Writer};
use program::{
    Address, AddressRange, AddressSet, Function, Functions, LocalVariable, Parameter, Program,
    Signature, SymbolId, Table, TypeId,
};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) const FUNCTIONS: Sheet = Sheet {
    name: "functions",
    keys: 2,
    columns: &[
        "space INTEGER",
        "entry INTEGER",
        "symbol INTEGER",
        "thunk_space INTEGER",
        "thunk_entry INTEGER",
        "return_type INTEGER",
        "return_storage TEXT",
        "varargs INTEGER",
        "convention TEXT",
        "custom_storage INTEGER",
        "source TEXT",
        "no_return INTEGER",
        "inline INTEGER",
        "call_fixup TEXT",
        "stack_purge INTEGER",
        "next_variable INTEGER",
    ],
};

pub(crate) const RANGES: Sheet = Sheet {
    name: "function_ranges",
    keys: 4,
    columns: &[
        "space INTEGER",
        "entry INTEGER",
        "range_space INTEGER",
        "first INTEGER",
        "last INTEGER",
    ],
};

pub(crate) const PARAMETERS: Sheet = Sheet {
    name: "parameters",
    keys: 3,
    columns: &[
        "space INTEGER",
        "entry INTEGER",
        "number INTEGER",
        "name TEXT",
        "type INTEGER",
        "storage TEXT",
        "source TEXT",
        "automatic INTEGER",
        "id INTEGER",
    ],
};

pub(crate) const VARIABLES: Sheet = Sheet {
    name: "variables",
    keys: 3,
    columns: &[
        "space INTEGER",
        "entry INTEGER",
        "number INTEGER",
        "name TEXT",
        "type INTEGER",
        "storage TEXT",
        "first_use INTEGER",
        "hash INTEGER",
        "source TEXT",
        "type_locked INTEGER",
        "id INTEGER",
    ],
};

pub(crate) const TAGS: Sheet = Sheet {
    name: "function_tags",
    keys: 3,
    columns: &["space INTEGER", "entry INTEGER", "number INTEGER", "tag TEXT"],
};

struct Sheets<'w> {
    functions: SheetWriter<'w>,
    ranges: SheetWriter<'w>,
    parameters: SheetWriter<'w>,
    variables: SheetWriter<'w>,
    tags: SheetWriter<'w>,
}

pub(super) fn save(
    writer: &Writer<'_>,
    before: Option<&Program>,
    now: &Program,
) -> rusqlite::Result<()> {
    let none = Table::new();
    let old = before.map_or(&none, |program| program.functions.table());
    let mut sheets = Sheets {
        functions: writer.open(&FUNCTIONS)?,
        ranges: writer.open(&RANGES)?,
        parameters: writer.open(&PARAMETERS)?,
        variables: writer.open(&VARIABLES)?,
        tags: writer.open(&TAGS)?,
    };
    for change in now.functions.table().changes(old) {
        if change.before.is_some() {
            sheets.clear(*change.key)?;
        }
        if let Some(function) = change.after {
            sheets.put(function)?;
        }
    }
    Ok(())
}

fn key(entry: Address) -> [Cell<'static>; 2] {
    [Cell::Int(entry.space.0.into()), Cell::bits(entry.offset)]
}

impl Sheets<'_> {
    fn clear(&mut self, entry: Address) -> rusqlite::Result<()> {
        let key = key(entry);
        self.functions.clear(&key)?;
        self.ranges.clear(&key)?;
        self.parameters.clear(&key)?;
        self.variables.clear(&key)?;
        self.tags.clear(&key)
    }

    fn put(&mut self, function: &Function) -> rusqlite::Result<()> {
        let Function {
            entry,
            symbol,
            body,
            thunk_of,
            signature,
            locals,
            no_return,
            inline,
            call_fixup,
            stack_purge,
            tags,
            next_variable,
        } = function;
        let Signature {
            return_type,
            return_storage,
            parameters,
            varargs,
            convention,
            custom_storage,
            source: by,
        } = signature;
        let [space, offset] = key(*entry);
        let return_storage = storage::write(return_storage);
        self.functions.put(&[
            space,
            offset,
            Cell::bits(symbol.0),
            Cell::maybe_int(thunk_of.map(|thunked| thunked.space.0)),
            thunk_of.map_or(Cell::Null, |thunked| Cell::bits(thunked.offset)),
            Cell::Int(return_type.0.into()),
            Cell::maybe(return_storage.as_deref()),
            Cell::flag(*varargs),
            Cell::maybe(convention.as_deref()),
            Cell::flag(*custom_storage),
            Cell::Text(source::write(*by)),
            Cell::flag(*no_return),
            Cell::flag(*inline),
            Cell::maybe(call_fixup.as_deref()),
            Cell::maybe_int(*stack_purge),
            Cell::Int((*next_variable).into()),
        ])?;
        for AddressRange { start, end } in body.ranges() {
            let range = [Cell::Int(start.space.0.into()), Cell::bits(start.offset)];
            self.ranges.put(&[space, offset, range[0], range[1], Cell::bits(end.offset)])?;
        }
        for (number, parameter) in (0..).zip(parameters) {
            self.put_parameter(*entry, number, parameter)?;
        }
        for (number, variable) in (0..).zip(locals) {
            self.put_variable(*entry, number, variable)?;
        }
        for (number, tag) in (0..).zip(tags) {
            self.tags.put(&[space, offset, Cell::Int(number), Cell::Text(tag)])?;
        }
        Ok(())
    }

    fn put_parameter(
        &mut self,
        entry: Address,
        number: i64,
        parameter: &Parameter,
    ) -> rusqlite::Result<()> {
        let Parameter { name, data_type, storage: place, source: by, automatic, id } = parameter;
        let [space, offset] = key(entry);
        self.parameters.put(&[
            space,
            offset,
            Cell::Int(number),
            Cell::Text(name),
            Cell::Int(data_type.0.into()),
            Cell::maybe(storage::write(place).as_deref()),
            Cell::Text(source::write(*by)),
            Cell::flag(*automatic),
            Cell::Int((*id).into()),
        ])
    }

    fn put_variable(
        &mut self,
        entry: Address,
        number: i64,
        variable: &LocalVariable,
    ) -> rusqlite::Result<()> {
        let LocalVariable {
            name,
            data_type,
            storage: place,
            first_use,
            hash,
            source: by,
            type_locked,
            id,
        } = variable;
        let [space, offset] = key(entry);
        self.variables.put(&[
            space,
            offset,
            Cell::Int(number),
            Cell::Text(name),
            Cell::Int(data_type.0.into()),
            Cell::maybe(storage::write(place).as_deref()),
            Cell::Int((*first_use).into()),
            Cell::bits(*hash),
            Cell::Text(source::write(*by)),
            Cell::flag(*type_locked),
            Cell::Int((*id).into()),
        ])
    }
}

pub(super) fn load(reader: &Reader<'_>) -> Result<Functions, StoreError> {
    let mut functions: BTreeMap<Address, Function> = BTreeMap::new();
    reader.each(&FUNCTIONS, |row| {
        let function = function(row)?;
        functions.insert(function.entry, function);
        Ok(())
    })?;
    let mut owner = |row: &Row<'_>, add: &mut dyn FnMut(&mut Function) -> Checked<()>| {
        let function = functions.get_mut(&row.address(0)?);
        add(function.ok_or(Fault("a part belongs to no function"))?)
    };
    reader.each(&RANGES, |row| {
        let start = row.address(2)?;
        let end = Address::new(start.space, row.bits(4)?);
        let range = AddressRange::new(start, end).ok_or(Fault("a range is not one"))?;
        owner(row, &mut |function| {
            function.body.insert(range);
            Ok(())
        })
    })?;
    reader.each(&PARAMETERS, |row| {
        owner(row, &mut |function| {
            in_order(row, function.signature.parameters.len())?;
            function.signature.parameters.push(parameter(row)?);
            Ok(())
        })
    })?;
    reader.each(&VARIABLES, |row| {
        owner(row, &mut |function| {
            in_order(row, function.locals.len())?;
            function.locals.push(variable(row)?);
            Ok(())
        })
    })?;
    reader.each(&TAGS, |row| {
        owner(row, &mut |function| {
            in_order(row, function.tags.len())?;
            function.tags.push(row.text(3)?.into());
            Ok(())
        })
    })?;
    let functions = functions.into_iter().map(|(entry, function)| (entry, Arc::new(function)));
    Functions::restore(functions.collect()).ok_or_else(|| reader.damaged(&RANGES, "bodies overlap"))
}

fn in_order(row: &Row<'_>, known: usize) -> Checked<()> {
    if row.number::<usize>(2)? == known { Ok(()) } else { Err(Fault("a part is missing")) }
}

fn function(row: &Row<'_>) -> Checked<Function> {
    let thunk_of = match row.maybe_number::<u16>(3)? {
        Some(_) => Some(row.address(3)?),
        None => None,
    };
    Ok(Function {
        entry: row.address(0)?,
        symbol: SymbolId(row.number(2)?),
        body: AddressSet::new(),
        thunk_of,
        signature: Signature {
            return_type: TypeId(row.number(5)?),
            return_storage: storage::read(row.maybe_text(6)?).ok_or(Fault("a place is not one"))?,
            parameters: Vec::new(),
            varargs: row.flag(7)?,
            convention: row.maybe_text(8)?.map(Arc::from),
            custom_storage: row.flag(9)?,
            source: row.word(10, source::read)?,
        },
        locals: Vec::new(),
        no_return: row.flag(11)?,
        inline: row.flag(12)?,
        call_fixup: row.maybe_text(13)?.map(Arc::from),
        stack_purge: row.maybe_number(14)?,
        tags: Vec::new(),
        next_variable: row.number(15)?,
    })
}

fn parameter(row: &Row<'_>) -> Checked<Parameter> {
    Ok(Parameter {
        name: row.text(3)?.into(),
        data_type: TypeId(row.number(4)?),
        storage: storage::read(row.maybe_text(5)?).ok_or(Fault("a place is not one"))?,
        source: row.word(6, source::read)?,
        automatic: row.flag(7)?,
        id: row.number(8)?,
    })
}

fn variable(row: &Row<'_>) -> Checked<LocalVariable> {
    Ok(LocalVariable {
        name: row.text(3)?.into(),
        data_type: TypeId(row.number(4)?),
        storage: storage::read(row.maybe_text(5)?).ok_or(Fault("a place is not one"))?,
        first_use: row.number(6)?,
        hash: row.bits(7)?,
        source: row.word(8, source::read)?,
        type_locked: row.flag(9)?,
        id: row.number(10)?,
    })
}
