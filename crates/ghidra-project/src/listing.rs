//! Code units: instructions are decoded again from their bytes in the context that each was decoded
//! in; data has its type, and its length where the type does not say it.

use std::collections::HashMap;

use decompiler::{Context, Decoder};
use program::{Address, DataUnit, FlowOverride, Instruction};

use crate::import::Importer;

/// The longest instruction with its delay slots.
const MOST_BYTES: usize = 64;

/// What instructions of one form share.
struct Form {
    context: Context,
    mode: u8,
    in_delay_slot: bool,
}

impl Importer<'_> {
    /// Takes over instructions and data. Cost: one decoding for each instruction.
    pub(crate) fn listing(&mut self) {
        self.instructions();
        self.data();
    }

    fn forms(&mut self) -> HashMap<i64, Form> {
        let contexts: HashMap<i64, Context> = self
            .rows("ContextTable")
            .iter()
            .filter_map(|row| Some((row.key(), self.context(row.text("Register Context")?)?)))
            .collect();
        let default = self.language.default_context();
        let rows = self.rows("Prototypes");
        let forms = rows.iter().map(|row| {
            let context = contexts.get(&row.key()).copied().unwrap_or(default);
            let in_delay_slot = row.int("InDelaySlot") != 0;
            (row.key(), Form { context, mode: self.mode_of(context), in_delay_slot })
        });
        forms.collect()
    }

    /// A context as the decimal number of its register.
    fn context(&self, text: &str) -> Option<Context> {
        let value: u64 = text.parse().ok()?;
        let words = self.language.context_words().clamp(1, 2);
        Some(Context::from_bits(value << (64 - 32 * words)))
    }

    /// The mode that stands for a context in a listing.
    fn mode_of(&self, context: Context) -> u8 {
        if let Some(mode) = self.language.context_mode(context) {
            return mode;
        }
        let other = ["TMode", "ISA_MODE", "vle"].iter().find_map(|field| {
            let here = self.language.context_value(context, field)?;
            let usual = self.language.context_value(self.language.default_context(), field)?;
            Some(here != usual)
        });
        u8::from(other == Some(true))
    }

    fn instructions(&mut self) {
        let forms = self.forms();
        let mut decoder = Decoder::new(&self.language);
        let mut undecoded = Vec::new();
        let mut units: Vec<(Address, Instruction)> = Vec::new();
        for row in self.rows("Instructions").iter() {
            let Some(address) = self.addresses.decode(row.key()) else { continue };
            let Some(form) = forms.get(&row.int("Proto ID")) else { continue };
            let mut bytes = [0; MOST_BYTES];
            let there = self.program.memory.read(address, &mut bytes).unwrap_or(0);
            let offset = address.offset;
            let decoded = match decoder.decode(&bytes[..there], offset, form.context) {
                Ok(decoded) => decoded,
                Err(error) => {
                    undecoded.push(format!("{} ({error})", self.program.spaces.print(address)));
                    continue;
                }
            };
            let flags = row.int("Flags");
            let length = match flags >> 4 & 7 {
                0 => decoded.length,
                shorter => shorter as u8,
            };
            let unit = Instruction {
                length,
                delay_slots: decoded.delay_slots,
                in_delay_slot: form.in_delay_slot,
                mode: form.mode,
                flow: decoded.flow,
                flow_override: match flags >> 1 & 7 {
                    1 => FlowOverride::Branch,
                    2 => FlowOverride::Call,
                    3 => FlowOverride::CallReturn,
                    4 => FlowOverride::Return,
                    _ => FlowOverride::None,
                },
            };
            units.push((address, unit));
        }
        if let Some(first) = undecoded.first() {
            self.notices.push(format!(
                "{} instructions are left out, which do not decode here; the first is at {first}.",
                undecoded.len()
            ));
        }
        units.sort_by_key(|(address, _)| *address);
        units.dedup_by(|after, before| {
            let distance = after.0.distance_from(before.0);
            distance.is_some_and(|distance| distance < u64::from(before.1.length))
        });
        for (address, unit) in &units {
            if unit.mode != self.program.mode_at(*address) {
                let end = address.wrapping_add(u64::from(unit.length) - 1);
                if let Some(range) = program::AddressRange::new(*address, end) {
                    self.program.set_mode(range, unit.mode);
                }
            }
        }
        self.program.listing.instructions = units.into_iter().collect();
    }

    fn data(&mut self) {
        let lengths: HashMap<Address, u32> = self
            .rows("Property Map - Lengths")
            .iter()
            .filter_map(|row| {
                let length = u32::try_from(row.int("Value")).ok()?;
                Some((self.addresses.decode(row.key())?, length))
            })
            .collect();
        let mut units: Vec<(Address, DataUnit)> = Vec::new();
        for row in self.rows("Data").iter() {
            let Some(address) = self.addresses.decode(row.key()) else { continue };
            let data_type = self.type_of(row.int("Data Type ID"));
            let length = match lengths.get(&address) {
                Some(&length) => Some(length),
                None => self.program.length_at(data_type, address),
            };
            units.push((address, DataUnit { data_type, length: length.unwrap_or(1).max(1) }));
        }
        units.sort_by_key(|(address, _)| *address);
        // Where our idea of a length reaches into the next unit, the next one stands.
        for index in 1..units.len() {
            let (next, before) = (units[index].0, &mut units[index - 1]);
            if let Some(distance) = next.distance_from(before.0)
                && distance < u64::from(before.1.length)
            {
                before.1.length = distance.max(1) as u32;
            }
        }
        let instructions = &self.program.listing.instructions;
        units.retain(|(address, unit)| {
            let end = address.wrapping_add(u64::from(unit.length) - 1);
            instructions.range(*address..=end).next().is_none()
        });
        self.program.listing.data = units.into_iter().collect();
    }
}
