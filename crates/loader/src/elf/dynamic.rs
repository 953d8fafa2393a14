//! Marks up the dynamic table, names what it points at and lists the libraries
//! that it needs.

use super::Loader;
use super::dynamic_tags::{self, DynamicValue};
use program::Address;
use std::sync::Arc;

impl Loader {
    pub(super) fn mark_dynamic(&mut self) {
        let file = Arc::clone(&self.file);
        let Some(dynamic) = &file.dynamic else { return };
        let Some(place) = self.file_place(dynamic.offset, 1) else {
            self.warn("the dynamic table is not in memory");
            return;
        };
        self.label(place, "_DYNAMIC", false);
        let element = self.dynamic_type();
        let defined = self.define_array(place, element, dynamic.entries.len() as u64);
        let stride = 2 * file.word();
        for (index, (tag, value)) in dynamic.entries.iter().enumerate() {
            if !defined {
                break;
            }
            let Some(at) = place.checked_add(index as u64 * stride) else { break };
            self.mark_entry(at, *tag, *value);
        }
        self.add_libraries();
    }

    fn mark_entry(&mut self, at: Address, tag: u64, value: u64) {
        let known = dynamic_tags::find(self.file.header.machine, tag);
        let Some((_, name, description, kind)) = known else {
            self.comment(at, &format!("DT_0x{tag:08x}"));
            return;
        };
        self.comment(at, &format!("{name} - {description}"));
        let Some(value_at) = at.checked_add(self.file.word()) else { return };
        match kind {
            DynamicValue::Address if value != 0 => {
                let target = self.ram(value);
                self.refer(value_at, target);
                if self.program.symbols.primary_at(target).is_none() {
                    self.label(target, &format!("__{name}"), false);
                }
            }
            DynamicValue::Text => {
                let text = self.file.dynamic_strings.and_then(|t| self.file.string(&t, value));
                if let Some(text) = text.filter(|t| !t.is_empty()) {
                    self.comment(value_at, &text);
                }
            }
            DynamicValue::Address | DynamicValue::Value => {}
        }
    }

    fn add_libraries(&mut self) {
        let file = Arc::clone(&self.file);
        let (Some(dynamic), Some(strings)) = (&file.dynamic, &file.dynamic_strings) else {
            return;
        };
        let needed =
            dynamic.entries.iter().filter(|(t, _)| *t == u64::from(object::elf::DT_NEEDED));
        for (_, at) in needed.take(1000) {
            if let Some(name) = file.string(strings, *at).filter(|n| !n.is_empty()) {
                self.library(&name);
            }
        }
    }
}
