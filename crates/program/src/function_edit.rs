//! Edits of functions that people make: names, variables, whether they return.

use crate::Program;
use crate::address::{Address, AddressRange, AddressSet, SpaceId};
use crate::flow::FlowOverride;
use crate::function::{Function, LocalVariable};
use crate::symbol::{SourceType, SymbolKind};
use std::sync::Arc;

impl Program {
    /// Names a function. Its symbol keeps its id; the name that somebody gave it before stays at
    /// the entry as another label. False when no function starts there.
    pub fn rename_function(&mut self, entry: Address, name: &str) -> bool {
        let Some(id) = self.functions.at(entry).map(|function| function.symbol) else {
            return false;
        };
        let Some(symbol) = self.symbols.get(id).cloned() else { return false };
        if &*symbol.name == name {
            return true;
        }
        let same = |s: &crate::Symbol| s.kind == SymbolKind::Label && &*s.name == name;
        let labels: Vec<_> =
            self.symbols.at(entry).filter(|(_, s)| same(s)).map(|(id, _)| id).collect();
        for label in labels {
            self.symbols.remove(label);
        }
        self.symbols.edit(id, |symbol| {
            symbol.name = name.into();
            symbol.source = SourceType::UserDefined;
        });
        if !symbol.name.is_empty() {
            self.add_label(entry, &symbol.name, symbol.parent, symbol.source);
        }
        true
    }

    /// Stores a local variable, in place of the one with its id. Default variables of the stack
    /// frame that it covers make way for it; another variable in its place is given back.
    pub fn put_local(
        &mut self,
        entry: Address,
        local: LocalVariable,
    ) -> Result<(), Option<LocalVariable>> {
        let Some(function) = self.functions.at(entry) else { return Err(None) };
        let others = || function.locals.iter().filter(|other| other.id != local.id);
        let covered = |other: &&LocalVariable| overlap_on_stack(&local, other);
        let is_default = |other: &LocalVariable| {
            other.source == SourceType::Default && self.types.is_undefined(other.data_type)
        };
        if let Some(taken) = others().filter(covered).find(|other| !is_default(other)) {
            return Err(Some(taken.clone()));
        }
        let gone: Vec<u32> = others().filter(covered).map(|other| other.id).collect();
        self.types.mark_used(local.data_type);
        self.functions.edit(entry, |function| {
            function.locals.retain(|other| !gone.contains(&other.id));
            match function.locals.iter_mut().find(|other| other.id == local.id) {
                Some(known) => *known = local,
                None => function.locals.push(local),
            }
        });
        Ok(())
    }

    /// Says whether a function comes back. Calls that were taken to end their path because it
    /// does not are ordinary calls again when it does.
    pub fn set_no_return(&mut self, entry: Address, no_return: bool) {
        self.functions.edit(entry, |function| function.no_return = no_return);
        if no_return {
            if self.info.returning.contains(&entry) {
                Arc::make_mut(&mut self.info).returning.remove(&entry);
            }
            return;
        }
        Arc::make_mut(&mut self.info).returning.insert(entry);
        let mut names: Vec<Address> = vec![entry];
        let thunks = self.functions.iter().filter(|f| f.thunk_of.is_some());
        let passes_on = |f: &&Arc<Function>| self.thunked(f.entry).map(|t| t.entry) == Some(entry);
        names.extend(thunks.filter(passes_on).map(|f| f.entry));
        for thunk in names.iter().skip(1) {
            self.functions.edit(*thunk, |function| function.no_return = false);
        }
        let calls: Vec<Address> = names
            .iter()
            .flat_map(|name| self.references.to(*name))
            .filter(|reference| reference.info.kind.is_call())
            .map(|reference| reference.from)
            .collect();
        for call in calls {
            let instruction = self.listing.instructions.get(&call);
            let ended = instruction
                .is_some_and(|i| i.flow.is_call() && i.flow_override == FlowOverride::CallReturn);
            if ended {
                self.set_flow_override(call, FlowOverride::None);
            }
        }
    }

    /// Makes a function of a body, or gives the one at the entry that body. Its code goes over
    /// from the function that the entry lies in; what belongs to others stays theirs.
    pub fn create_function(&mut self, entry: Address, body: AddressSet) -> Arc<Function> {
        let known = self.functions.take(entry);
        let owner = self.functions.containing(entry).map(|function| function.entry);
        if let Some(owner) = owner
            && let Some(function) = self.functions.take(owner)
        {
            let mut function = Arc::unwrap_or_clone(function);
            body.ranges().iter().for_each(|range| function.body.remove(range));
            self.functions.put(function);
        }
        if let Some(known) = known {
            let mut known = Arc::unwrap_or_clone(known);
            known.body = body.clone();
            self.functions.put(known);
        }
        self.add_function(entry, body)
    }
}

fn overlap_on_stack(one: &LocalVariable, other: &LocalVariable) -> bool {
    let range = |local: &LocalVariable| {
        let piece = local.storage.pieces().first().filter(|_| local.hash == 0)?;
        let on_stack = piece.address.space == SpaceId::STACK;
        on_stack.then(|| {
            let start = piece.address.offset as i64;
            (start, start.saturating_add(i64::from(piece.size)))
        })
    };
    match (range(one), range(other)) {
        (Some((start, end)), Some((from, to))) => start < to && from < end,
        _ => false,
    }
}

impl crate::Functions {
    /// The functions whose bodies share an address with a range, one by one.
    pub fn overlapping<'a>(
        &'a self,
        range: &'a AddressRange,
    ) -> impl Iterator<Item = &'a Arc<Function>> {
        let mut next = Some(range.start);
        std::iter::from_fn(move || {
            let at = next.filter(|at| *at <= range.end)?;
            let (function, end) = self.body_part(at, range.end)?;
            next = end.checked_add(1);
            Some(function)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::Storage;
    use crate::{
        BlockSource, DataOrganization, FlowType, Instruction, MemoryBlock, ProgramInfo, RefType,
        SymbolId,
    };

    fn program() -> Program {
        let info = ProgramInfo { address_bits: 64, ..ProgramInfo::default() };
        let mut p = Program::new(info, false, DataOrganization::default());
        let source =
            BlockSource::Bytes { bytes: [0x90; 64].as_slice().into(), offset: 0, length: 64 };
        p.memory.add_block(MemoryBlock::new("b", at(0x1000), 64, source)).expect("is free");
        p
    }

    fn at(offset: u64) -> Address {
        Address::ram(offset)
    }

    fn body(start: u64, end: u64) -> AddressSet {
        AddressRange::new(at(start), at(end)).into_iter().collect()
    }

    #[test]
    fn a_renamed_function_keeps_its_symbol_and_its_given_name_as_a_label() {
        let mut p = program();
        let symbol = p.add_function(at(0x1000), body(0x1000, 0x100f)).symbol;
        assert!(p.rename_function(at(0x1000), "one"));
        assert_eq!(p.symbols.at(at(0x1000)).count(), 1, "a default name leaves none");
        assert!(p.rename_function(at(0x1000), "two"));
        assert_eq!(p.functions.at(at(0x1000)).unwrap().symbol, symbol);
        let names: Vec<_> =
            p.symbols.at(at(0x1000)).map(|(_, s)| (s.name.to_string(), s.primary)).collect();
        assert_eq!(names, [("two".to_owned(), true), ("one".to_owned(), false)]);
        assert!(p.rename_function(at(0x1000), "one"), "the label gives its name back");
        assert_eq!(p.symbols.at(at(0x1000)).count(), 2);
        assert!(!p.rename_function(at(0x1001), "none"));
    }

    #[test]
    fn variables_that_people_made_do_not_give_way() {
        let mut p = program();
        p.add_function(at(0x1000), body(0x1000, 0x100f));
        let (undefined, long) = (p.types.builtin("undefined4"), p.types.builtin("long"));
        let local = |offset: i64, size: u32, id: u32, source, data_type| LocalVariable {
            name: "v".into(),
            data_type,
            storage: Storage::at(Address::stack(offset), size),
            first_use: 0,
            hash: 0,
            source,
            type_locked: false,
            id,
        };
        let (default, user) = (SourceType::Default, SourceType::UserDefined);
        let put = |p: &mut Program, local| p.put_local(at(0x1000), local);
        assert_eq!(put(&mut p, local(-0x14, 4, 1, default, undefined)), Ok(()));
        assert_eq!(put(&mut p, local(-0x18, 8, 2, user, long)), Ok(()));
        let locals = &p.functions.at(at(0x1000)).unwrap().locals;
        assert_eq!(locals.iter().map(|l| l.id).collect::<Vec<_>>(), [2]);
        let refused = put(&mut p, local(-0x14, 4, 3, user, undefined)).unwrap_err();
        assert_eq!(refused.map(|taken| taken.id), Some(2));
    }

    #[test]
    fn a_function_that_returns_after_all_lets_its_callers_go_on() {
        let mut p = program();
        for entry in [0x1000, 0x1020] {
            p.add_function(at(entry), body(entry, entry + 0xf));
        }
        p.functions.edit(at(0x1020), |f| f.no_return = true);
        let call = Instruction {
            length: 5,
            delay_slots: 0,
            in_delay_slot: false,
            mode: 0,
            flow: FlowType::UnconditionalCall,
            flow_override: FlowOverride::CallReturn,
        };
        p.listing.instructions.insert(at(0x1000), call);
        let kind = RefType::Flow(call.effective_flow());
        p.add_reference(at(0x1000), at(0x1020), kind, 0, SourceType::Analysis);
        p.set_no_return(at(0x1020), false);
        let now = p.listing.instructions.get(&at(0x1000)).unwrap();
        assert_eq!(now.flow_override, FlowOverride::None);
    }

    #[test]
    fn a_new_function_takes_its_code_from_the_one_it_lies_in() {
        let mut p = program();
        p.add_function(at(0x1000), body(0x1000, 0x102f));
        p.create_function(at(0x1010), body(0x1010, 0x101f));
        let owner = |p: &Program, a| p.functions.containing(at(a)).map(|f| f.entry.offset);
        assert_eq!(owner(&p, 0x100f), Some(0x1000));
        assert_eq!(owner(&p, 0x1015), Some(0x1010));
        assert_eq!(owner(&p, 0x1020), Some(0x1000));
        let range = AddressRange::new(at(0x1008), at(0x1030)).unwrap();
        let found: Vec<_> = p.functions.overlapping(&range).map(|f| f.entry.offset).collect();
        assert_eq!(found, [0x1000, 0x1010, 0x1000]);
        assert_eq!(p.symbols.get(SymbolId(1)).map(|s| s.address), Some(at(0x1000)));
    }
}
