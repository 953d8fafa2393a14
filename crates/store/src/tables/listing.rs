//! Instructions and data. Instructions are many and small, so they are stored by
//! pages of 4096 addresses: eight bytes each, packed with zlib.

use super::contents::{pack, unpack};
use crate::error::StoreError;
use crate::reader::{Checked, Fault, Reader};
use crate::sheet::{Cell, Sheet};
use crate::words::{flow, flow_override};
use crate::writer::Writer;
use program::{
    Address, DataUnit, FlowOverride, Instruction, Listing, Program, SpaceId, Table, TypeId,
};
use std::collections::BTreeSet;

pub(crate) const INSTRUCTIONS: Sheet = Sheet {
    name: "instructions",
    keys: 2,
    columns: &["space INTEGER", "page INTEGER", "count INTEGER", "data BLOB"],
};

pub(crate) const OVERRIDES: Sheet = Sheet {
    name: "flow_overrides",
    keys: 2,
    columns: &["space INTEGER", "offset INTEGER", "type TEXT"],
};

pub(crate) const DATA: Sheet = Sheet {
    name: "data",
    keys: 2,
    columns: &["space INTEGER", "offset INTEGER", "type INTEGER", "length INTEGER"],
};

/// Addresses of one page, as a power of two.
const PAGE_BITS: u32 = 12;

/// Bytes of one instruction: offset in the page (2), length, delay slots, mode,
/// flow, whether it is in a delay slot, and one that is 0.
const RECORD: usize = 8;

pub(super) fn save(
    writer: &Writer<'_>,
    before: Option<&Program>,
    now: &Program,
) -> rusqlite::Result<()> {
    let before = before.map(|program| &program.listing);
    save_instructions(writer, before, &now.listing)?;
    let none = Table::new();
    let mut sheet = writer.open(&DATA)?;
    let old = before.map_or(&none, |listing| &listing.data);
    for change in now.listing.data.changes(old) {
        let key = [Cell::Int(change.key.space.0.into()), Cell::bits(change.key.offset)];
        if change.before.is_some() {
            sheet.clear(&key)?;
        }
        if let Some(DataUnit { data_type, length }) = change.after {
            let unit = [Cell::Int(data_type.0.into()), Cell::Int((*length).into())];
            sheet.put(&[key[0], key[1], unit[0], unit[1]])?;
        }
    }
    Ok(())
}

fn save_instructions(
    writer: &Writer<'_>,
    before: Option<&Listing>,
    now: &Listing,
) -> rusqlite::Result<()> {
    let none = Table::new();
    let old = before.map_or(&none, |listing| &listing.instructions);
    let mut pages = BTreeSet::new();
    let mut overrides = writer.open(&OVERRIDES)?;
    for change in now.instructions.changes(old) {
        let Address { space, offset } = *change.key;
        pages.insert((space, offset >> PAGE_BITS));
        let key = [Cell::Int(space.0.into()), Cell::bits(offset)];
        if change.before.is_some_and(|unit| unit.flow_override != FlowOverride::None) {
            overrides.clear(&key)?;
        }
        if let Some(unit) = change.after.filter(|unit| unit.flow_override != FlowOverride::None) {
            let word = flow_override::write(unit.flow_override);
            overrides.put(&[key[0], key[1], Cell::Text(word)])?;
        }
    }
    let mut sheet = writer.open(&INSTRUCTIONS)?;
    let mut records = Vec::new();
    for (space, page) in pages {
        let key = [Cell::Int(space.0.into()), Cell::bits(page)];
        sheet.clear(&key)?;
        let start = Address::new(space, page << PAGE_BITS);
        let last = Address::new(space, start.offset | ((1 << PAGE_BITS) - 1));
        records.clear();
        for (address, unit) in now.instructions.range(start..=last) {
            records.extend_from_slice(&record(address.offset - start.offset, unit));
        }
        if !records.is_empty() {
            let count = Cell::Int((records.len() / RECORD) as i64);
            sheet.put(&[key[0], key[1], count, Cell::Blob(&pack(&records))])?;
        }
    }
    Ok(())
}

fn record(offset: u64, unit: &Instruction) -> [u8; RECORD] {
    let Instruction { length, delay_slots, in_delay_slot, mode, flow, flow_override: _ } = *unit;
    let [low, high] = (offset as u16).to_le_bytes();
    let flow = flow::write(flow);
    [low, high, length, delay_slots, mode, flow, u8::from(in_delay_slot), 0]
}

fn instruction(record: &[u8]) -> Checked<(u64, Instruction)> {
    let &[low, high, length, delay_slots, mode, flow, in_delay_slot, 0] = record else {
        return Err(Fault("an instruction is not one"));
    };
    let offset = u64::from(u16::from_le_bytes([low, high]));
    if offset >> PAGE_BITS != 0 || in_delay_slot > 1 {
        return Err(Fault("an instruction is not one"));
    }
    let unit = Instruction {
        length,
        delay_slots,
        in_delay_slot: in_delay_slot == 1,
        mode,
        flow: flow::read(flow).ok_or(Fault("a flow is not known"))?,
        flow_override: FlowOverride::None,
    };
    Ok((offset, unit))
}

pub(super) fn load(reader: &Reader<'_>) -> Result<Listing, StoreError> {
    let mut instructions = Vec::new();
    reader.each(&INSTRUCTIONS, |row| {
        let (space, page) = (SpaceId(row.number(0)?), row.bits(1)?);
        let count: usize = row.number(2)?;
        if page >> (u64::BITS - PAGE_BITS) != 0 || count > 1 << PAGE_BITS {
            return Err(Fault("a page is not one"));
        }
        for record in unpack(row.blob(3)?, count * RECORD)?.chunks_exact(RECORD) {
            let (offset, unit) = instruction(record)?;
            instructions.push((Address::new(space, (page << PAGE_BITS) | offset), unit));
        }
        Ok(())
    })?;
    let mut instructions: Table<Address, Instruction> = instructions.into_iter().collect();
    reader.each(&OVERRIDES, |row| {
        let unit = instructions.get_mut(&row.address(0)?);
        let unit = unit.ok_or(Fault("an override has no instruction"))?;
        unit.flow_override = row.word(2, flow_override::read)?;
        Ok(())
    })?;
    let mut data = Vec::with_capacity(reader.rows(&DATA));
    reader.each(&DATA, |row| {
        let data_type = TypeId(row.number(2)?);
        data.push((row.address(0)?, DataUnit { data_type, length: row.number(3)? }));
        Ok(())
    })?;
    Ok(Listing { instructions, data: data.into_iter().collect() })
}
