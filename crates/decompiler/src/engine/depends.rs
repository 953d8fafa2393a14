//! What a decompilation was made from: the places and types that the engine may have looked at.

use std::collections::HashSet;

use ghidra_decompiler::architecture::Architecture;
use ghidra_decompiler::funcdata::Funcdata;
use program::{
    Address as Place, AddressRange, AddressSet, Changes, Function, Program, SpaceId, TypeId,
    TypeKind,
};

use super::reach::Reach;

/// Types looked through at most.
const MAX_TYPES: usize = 1 << 14;

/// What one decompilation depends on. It may hold more than the engine looked at, never less.
#[derive(Debug, Clone, Default)]
pub(crate) struct Depends {
    /// The function.
    entry: Option<Place>,
    /// Its code.
    body: AddressSet,
    /// Its code, and what else it runs on into.
    code: AddressSet,
    /// Places that it may refer to.
    places: AddressSet,
    /// Bytes that were read.
    reads: AddressSet,
    /// Types of variables, data and signatures; what they are made of counts as well.
    types: Vec<TypeId>,
}

impl Depends {
    /// Collects what a finished run depends on. `reads` are the bytes that were read meanwhile.
    pub(crate) fn collect(
        data: &Funcdata,
        architecture: &Architecture,
        program: &Program,
        (function, reach): (&Function, &Reach),
        reads: &[(u64, u32)],
    ) -> Depends {
        let mut places = Places::default();
        places.add_varnodes(data, architecture);
        places.add_calls(data);
        places.points.insert(function.entry);
        places.add_code(program, &reach.code);
        places.add_what_they_lead_to(program);
        let mut types: Vec<TypeId> = function.locals.iter().map(|local| local.data_type).collect();
        places.add_types(program, &mut types);
        types.sort_unstable();
        types.dedup();
        let body = function.body.clone();
        let reads = reads.iter().filter_map(|(offset, length)| {
            AddressRange::with_length(Place::ram(*offset), u64::from(*length))
        });
        Depends {
            entry: Some(function.entry),
            body,
            code: reach.code.clone(),
            places: places.into_set(),
            reads: set(reads.collect()),
            types,
        }
    }

    /// Whether a change of the program may show. `old` is the state that the types are of.
    pub(crate) fn touched(&self, changes: &Changes, touched: &AddressSet, old: &Program) -> bool {
        // A run follows flow, which may leave what is stated to be the function's body.
        let in_code = |at: &Place| self.code.contains(*at) || self.places.contains(*at);
        changes.everything
            || self.entry.is_none_or(|entry| changes.functions.binary_search(&entry).is_ok())
            || changes.comments.iter().any(|at| self.body.contains(*at))
            || changes.instructions.iter().any(in_code)
            || changes.references_from.iter().any(in_code)
            || changes.memory.ranges().iter().any(|range| self.reads.intersects(range))
            || touched.ranges().iter().any(|range| self.places.intersects(range))
            || (!changes.types.is_empty() && self.reaches_type(changes, old))
    }

    fn reaches_type(&self, changes: &Changes, old: &Program) -> bool {
        let mut seen: HashSet<TypeId> = HashSet::new();
        let mut next = self.types.clone();
        while let Some(id) = next.pop() {
            if changes.types.binary_search(&id).is_ok() {
                return true;
            }
            if seen.len() >= MAX_TYPES {
                return true;
            }
            if seen.insert(id) {
                parts(old, id, &mut next);
            }
        }
        false
    }
}

/// The types that a type is made of.
fn parts(program: &Program, id: TypeId, out: &mut Vec<TypeId>) {
    let Some(data_type) = program.types.get(id) else { return };
    match &data_type.kind {
        TypeKind::Pointer(Some(inner))
        | TypeKind::Array { element: inner, .. }
        | TypeKind::Typedef(inner) => out.push(*inner),
        TypeKind::Struct { fields, .. } | TypeKind::Union { fields } => {
            out.extend(fields.iter().map(|field| field.data_type));
        }
        TypeKind::Function(function) => {
            out.push(function.return_type);
            out.extend(function.parameters.iter().map(|parameter| parameter.data_type));
        }
        TypeKind::Pointer(None) | TypeKind::Builtin(_) | TypeKind::Enum { .. } => {}
    }
}

/// Places in the making.
#[derive(Default)]
struct Places {
    ranges: Vec<AddressRange>,
    /// Single places at which symbols may stand.
    points: HashSet<Place>,
}

impl Places {
    fn add(&mut self, start: Place, length: u64) {
        self.ranges.extend(AddressRange::with_length(start, length.max(1)));
        self.points.insert(start);
    }

    /// Every place that the engine's operations name: in memory, as numbers, as code.
    fn add_varnodes(&mut self, data: &Funcdata, architecture: &Architecture) {
        let code = architecture.manager.get_default_code_space();
        let code = code.map(|space| (space.get_index(), space.get_addr_size()));
        let Some((ram, pointer)) = code else { return };
        for id in data.vbank.loc_range(&data.begin_loc(), &data.end_loc()) {
            let varnode = data.vn(id);
            let Some(space) = varnode.get_addr().get_space() else { continue };
            let offset = varnode.get_offset();
            let size = u32::try_from(varnode.get_size()).unwrap_or(1);
            if space.get_index() == ram {
                self.add(Place::ram(offset), u64::from(size));
            } else if varnode.is_constant() && size <= pointer && offset > 0xff {
                self.points.insert(Place::ram(offset));
            }
            if let Some(op) = varnode.get_def() {
                let at = data.op(op).get_addr();
                if at.get_space().is_some_and(|space| space.get_index() == ram) {
                    self.points.insert(Place::ram(at.get_offset()));
                }
            }
        }
    }

    /// Calls, and the functions that they are known to reach.
    fn add_calls(&mut self, data: &Funcdata) {
        for index in 0..data.num_calls() {
            let call = data.call_spec(data.get_call_specs(index));
            self.points.insert(Place::ram(data.op(call.get_op()).get_addr().get_offset()));
            let entry = call.get_entry_address();
            if !entry.is_invalid() && !entry.is_constant() {
                self.points.insert(Place::ram(entry.get_offset()));
            }
        }
    }

    /// Code and all that it refers to.
    fn add_code(&mut self, program: &Program, code: &AddressSet) {
        for range in code.ranges() {
            self.ranges.push(*range);
            let references = program.references.between(range.start, range.end);
            self.points.extend(references.map(|reference| reference.to));
        }
    }

    /// The data that places lie in, what stands behind pointers there, and what thunks lead to.
    fn add_what_they_lead_to(&mut self, program: &Program) {
        let mut all: Vec<Place> = self.points.iter().copied().collect();
        let mut next = 0;
        // Twice is enough: a pointer leads to a place, and that to its function.
        let mut round = 0;
        while next < all.len() && round < 3 {
            let end = all.len();
            for index in next..end {
                let place = all[index];
                let mut found: Vec<Place> = Vec::new();
                if let Some((start, _)) = program.listing.data_containing(place) {
                    found.push(start);
                    found.extend(program.references.from(start).map(|reference| reference.to));
                }
                let mut at = place;
                for _ in 0..16 {
                    match program.functions.at(at).and_then(|function| function.thunk_of) {
                        Some(target) => at = target,
                        None => break,
                    }
                    found.push(at);
                }
                found.retain(|place| self.points.insert(*place));
                all.extend(found);
            }
            next = end;
            round += 1;
        }
    }

    fn add_types(&self, program: &Program, types: &mut Vec<TypeId>) {
        for place in &self.points {
            types.extend(program.listing.data.get(place).map(|unit| unit.data_type));
            if let Some(function) = program.functions.at(*place) {
                types.push(function.signature.return_type);
                types.extend(function.signature.parameters.iter().map(|p| p.data_type));
            }
        }
    }

    fn into_set(self) -> AddressSet {
        let points = self.points.into_iter().filter_map(|place| AddressRange::new(place, place));
        let all = self.ranges.into_iter().chain(points);
        set(all.filter(|range| range.start.space != SpaceId::STACK).collect())
    }
}

/// Ranges as a set: in order, so that each is added at the end.
fn set(mut ranges: Vec<AddressRange>) -> AddressSet {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    ranges.into_iter().collect()
}
