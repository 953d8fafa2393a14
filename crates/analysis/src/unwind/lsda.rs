//! Reads the language-specific data area of a function: which call sites are
//! guarded, where their landing pads are and which types those catch.

use super::encoding::{Encoding, Source};
use super::sink::{Shape, Sink};
use super::{CallSite, Catch};
use program::{Address, AddressRange, CommentKind, RefType};

/// Most links of a chain of actions that are followed.
const CHAIN: usize = 64;

/// What a call site says before its actions are looked up.
struct Site {
    range: AddressRange,
    landing_pad: Option<Address>,
    action: u64,
}

/// One action: where it stands, its length, its filter, and the next one.
struct Action {
    at: Address,
    length: u32,
    filter: i64,
    next: Option<Address>,
}

/// Where the parts of a data area are.
struct Header {
    landing_base: Address,
    types: Option<(Encoding, Address)>,
    sites: (Encoding, Address, u64),
}

/// Reads data areas; spends one unit of `budget` a field, so that areas which
/// overlap on purpose cannot cost more than the file is long.
pub(super) struct Reader<'a, S: Sink> {
    pub source: Source<'a>,
    pub sink: &'a mut S,
    pub budget: &'a mut u64,
}

impl<S: Sink> Reader<'_, S> {
    /// The call sites of the function that `body` covers, as the area at `at`
    /// tells; empty as soon as it makes no sense.
    pub fn read(&mut self, at: Address, body: AddressRange) -> Vec<CallSite> {
        self.read_area(at, body).unwrap_or_default()
    }

    fn read_area(&mut self, at: Address, body: AddressRange) -> Option<Vec<CallSite>> {
        let header = self.header(at, body.start)?;
        self.sink.comment(at, CommentKind::Plate, "Language-Specific Data Area");
        let (encoding, first, length) = header.sites;
        if length == 0 {
            return Some(Vec::new());
        }
        let (sites, after) = self.sites(encoding, first, length, header.landing_base)?;
        let farthest = sites.iter().map(|site| site.action).max().unwrap_or(0);
        let (actions, after) = match farthest {
            0 => (Vec::new(), after),
            _ => self.actions(after, farthest)?,
        };
        let types = match header.types {
            Some((encoding, end)) => self.types(encoding, after, end),
            None => Vec::new(),
        };
        let known = header.types.is_some() && !actions.is_empty();
        let finish = |site: Site| CallSite {
            range: site.range,
            landing_pad: site.landing_pad,
            catches: if known { catches(&actions, &types, site.action) } else { Vec::new() },
        };
        Some(sites.into_iter().map(finish).collect())
    }

    fn header(&mut self, start: Address, function: Address) -> Option<Header> {
        let landing = Encoding(self.source.byte(start)?);
        self.sink.noted(start, Shape::Encoding, 1, "(LSDA) LPStart Encoding");
        let mut at = start.checked_add(1)?;
        let mut landing_base = function;
        if !landing.is_omitted() {
            let (base, length) = self.source.pointer_at(at, landing, function)?;
            let shape = Shape::of(landing, self.source.pointer)?;
            self.sink.noted(at, shape, length, "(LSDA) LPStart Offset");
            landing_base = base;
            at = at.checked_add(u64::from(length))?;
        }
        let encoding = Encoding(self.source.byte(at)?);
        self.sink.noted(at, Shape::Encoding, 1, "(LSDA) TType Encoding");
        at = at.checked_add(1)?;
        let mut types = None;
        if !encoding.is_omitted() {
            let offset = self.source.unsigned_leb128(at)?;
            self.sink.noted(at, Shape::Unsigned, offset.length, "(LSDA) TType Offset");
            at = at.checked_add(u64::from(offset.length))?;
            types = Some((encoding, at.checked_add(offset.number)?));
        }
        let sites = Encoding(self.source.byte(at)?);
        self.sink.noted(at, Shape::Encoding, 1, "(LSDA) Call Site Table Encoding");
        at = at.checked_add(1)?;
        let length = self.source.unsigned_leb128(at)?;
        self.sink.noted(at, Shape::Unsigned, length.length, "(LSDA) Call Site Table Length");
        at = at.checked_add(u64::from(length.length))?;
        self.sink.label(start, "lsda_exception_table_");
        Some(Header { landing_base, types, sites: (sites, at, length.number) })
    }

    fn sites(
        &mut self,
        encoding: Encoding,
        first: Address,
        length: u64,
        base: Address,
    ) -> Option<(Vec<Site>, Address)> {
        self.source.memory.block_at(first)?;
        let end = first.checked_add(length)?;
        let mut sites = Vec::new();
        let mut at = first;
        while at < end {
            *self.budget = self.budget.checked_sub(1)?;
            let (site, next) = self.site(encoding, at, base)?;
            sites.push(site);
            at = next;
        }
        Some((sites, at))
    }

    fn site(
        &mut self,
        encoding: Encoding,
        start: Address,
        base: Address,
    ) -> Option<(Site, Address)> {
        // The numbers are plain whatever the encoding says they apply to.
        let plain = Encoding(encoding.0 & 0x0f);
        let shape = Shape::of(plain, self.source.pointer)?;
        let mut at = start;
        let mut numbers = [0u64; 3];
        let mut places = [start; 3];
        let texts = ["IP Offset", "IP Range Length", "Landing Pad Address"];
        for (index, text) in texts.into_iter().enumerate() {
            let value = self.source.raw(at, plain)?;
            let text = format!("(LSDA Call Site) {text}");
            self.sink.noted(at, shape, value.length, &text);
            (numbers[index], places[index]) = (value.number, at);
            at = at.checked_add(u64::from(value.length))?;
        }
        let action = self.source.unsigned_leb128(at)?;
        let text = match action.number {
            0 => "(LSDA Call Site) Action Table Offset (No action -- cleanup)",
            _ => "(LSDA Call Site) Action Table Offset",
        };
        self.sink.noted(at, Shape::Unsigned, action.length, text);
        at = at.checked_add(u64::from(action.length))?;
        self.sink.comment(start, CommentKind::Plate, "(LSDA) Call Site Record");
        let from = base.checked_add(numbers[0])?;
        let range = AddressRange::with_length(from, numbers[1].max(1))?;
        let landing = base.checked_add(numbers[2])?;
        for (place, target) in [(places[0], from), (places[2], landing)] {
            if self.source.memory.contains(target) {
                self.sink.refer(place, target, RefType::Data);
            }
        }
        let landing_pad = (numbers[2] != 0).then_some(landing);
        Some((Site { range, landing_pad, action: action.number }, at))
    }

    fn actions(&mut self, first: Address, farthest: u64) -> Option<(Vec<Action>, Address)> {
        let last = first.checked_add(farthest)?;
        let mut actions = Vec::new();
        let mut at = first;
        while at <= last {
            *self.budget = self.budget.checked_sub(1)?;
            let filter = self.source.signed_leb128(at)?;
            self.sink.noted(at, Shape::Signed, filter.length, "(LSDA Action Table) Type Filter");
            let link_at = at.checked_add(u64::from(filter.length))?;
            let link = self.source.signed_leb128(link_at)?;
            let text = "(LSDA Action Table) Next-Action Reference";
            self.sink.noted(link_at, Shape::Signed, link.length, text);
            self.sink.comment(at, CommentKind::Plate, "(LSDA) Action Record");
            actions.push(Action {
                at,
                length: filter.length + link.length,
                filter: filter.number as i64,
                next: (link.number != 0).then(|| link_at.wrapping_add(link.number)),
            });
            at = link_at.checked_add(u64::from(link.length))?;
        }
        self.sink.comment(first, CommentKind::Plate, "(LSDA) Action Table");
        Some((actions, at))
    }

    /// The types that filters count, nearest to `end` first.
    fn types(&mut self, encoding: Encoding, first: Address, end: Address) -> Vec<Option<Address>> {
        let mut types = Vec::new();
        let Some(super::encoding::Format::Fixed { size, .. }) =
            encoding.format(self.source.pointer)
        else {
            return types;
        };
        let Some(shape) = Shape::of(encoding, self.source.pointer) else { return types };
        let padding = first.offset.wrapping_neg() & 3;
        let Some(first) = first.checked_add(padding) else { return types };
        if padding > 0 {
            let pad = first.wrapping_add(padding.wrapping_neg());
            let length = padding as u32;
            self.sink.noted(pad, Shape::Bytes(length), length, " -- alignment pad");
        }
        let mut next = end.checked_sub(u64::from(size));
        while let Some(at) = next.filter(|at| *at >= first) {
            let Some(left) = self.budget.checked_sub(1) else { break };
            *self.budget = left;
            let target = self.source.pointer_at(at, encoding, first).map(|(target, _)| target);
            match target {
                Some(target) => {
                    self.sink.noted(at, shape, size, "Type Reference");
                    if target.offset != 0 {
                        self.sink.refer(at, target, RefType::Data);
                    }
                }
                None => self.sink.comment(at, CommentKind::Eol, "Unable to resolve pointer"),
            }
            types.push(target);
            next = at.checked_sub(u64::from(size));
        }
        self.sink.comment(first, CommentKind::Plate, "(LSDA) Type Table");
        types
    }
}

/// What the chain of actions catches that begins with the one at `offset`.
fn catches(actions: &[Action], types: &[Option<Address>], offset: u64) -> Vec<Catch> {
    let mut found = Vec::new();
    let Some(first) = actions.first() else { return found };
    let wanted = first.at.wrapping_add(offset);
    let mut at = actions.partition_point(|a| a.at.wrapping_add(u64::from(a.length)) <= wanted);
    while let Some(action) = actions.get(at).filter(|_| found.len() < CHAIN) {
        let index = usize::try_from(action.filter).ok().and_then(|n| n.checked_sub(1));
        let type_info = index.and_then(|n| types.get(n).copied().flatten());
        found.push(Catch { filter: action.filter, type_info });
        // A link back to the first action ends the chain.
        let next = action.next.filter(|next| *next != first.at);
        let Some(next) = next.and_then(|n| actions.binary_search_by(|a| a.at.cmp(&n)).ok()) else {
            break;
        };
        at = next;
    }
    found
}
