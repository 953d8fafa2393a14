//! Recursive descent: from known starts to instructions, functions and the
//! knowledge which functions return.
//!
//! "Returns" is a least fixpoint. A path that calls a function waits at the
//! call until that function is seen to reach a return; paths that are still
//! waiting when nothing else is left to do follow calls that never return.
//! Whatever cannot be followed (bad bytes, unresolved jumps) counts as a
//! return, so that only proven cases are called non-returning. Each
//! instruction is decoded once: the cost is linear in the code.

use crate::code::CodeReader;
use crate::no_return;
use crate::operands;
use crate::pass::{Analysis, Stopped};
use decompiler::{Context, Decoded, Opcode, PcodeOp, VarSpace};
use foldhash::{HashMap, HashSet};
use program::{
    Address, AddressRange, FlowOverride, FlowType, Instruction, Program, SourceType, SpaceId,
};
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// Instructions in the gap behind a call that are decoded.
const GAP: usize = 16;
/// Instructions decoded between two reports of progress.
const STEP: usize = 1 << 13;

/// What is known about one function while exploring.
#[derive(Debug, Default)]
struct Found {
    returns: bool,
    /// Called, named or marked as a function; otherwise only code that an
    /// unwind table speaks of.
    function: bool,
    /// Inside of a function: nothing but an exception leads there.
    landing_pad: bool,
    /// Known by name never to return, whatever its code looks like.
    never: bool,
    /// Paths in callers that go on if this function returns.
    waiting: Vec<Path>,
    /// Functions that return if this one does: they jump or fall into it.
    followers: Vec<u64>,
}

/// A place from which to decode, on behalf of a function.
#[derive(Debug, Clone, Copy)]
struct Path {
    function: u64,
    at: u64,
    context: Context,
}

/// The result of exploring, keyed by offsets in the default space.
#[derive(Debug, Default)]
pub(crate) struct Explored {
    /// Entries of functions found, and whether each returns.
    pub(crate) functions: HashMap<u64, bool>,
    /// Those of them that an earlier descent explored.
    known: HashSet<u64>,
    /// Computed jumps whose destinations are unknown, with their function.
    pub(crate) open_jumps: Vec<(u64, u64)>,
}

impl Explored {
    /// The functions that no earlier descent explored, in order, and whether each returns.
    pub(crate) fn fresh(&self) -> Vec<(u64, bool)> {
        let all = self.functions.iter().filter(|(entry, _)| !self.known.contains(entry));
        let mut fresh: Vec<(u64, bool)> = all.map(|(entry, returns)| (*entry, *returns)).collect();
        fresh.sort_unstable();
        fresh
    }
}

/// The descent over one program.
pub(crate) struct Explorer<'a, 'p> {
    analysis: &'a mut Analysis<'p>,
    reader: CodeReader,
    found: HashMap<u64, Found>,
    owner: HashMap<u64, u64>,
    work: Vec<Path>,
    explored: Explored,
    /// Functions whose code was followed further since the program was lent out.
    followed: HashSet<u64>,
    /// Direct calls by callee, to mark those that do not come back.
    calls: Vec<(u64, u64)>,
    pcode: Vec<PcodeOp>,
    decoded: usize,
    code_bytes: u64,
}

impl<'a, 'p> Explorer<'a, 'p> {
    pub(crate) fn new(analysis: &'a mut Analysis<'p>) -> Self {
        let reader = CodeReader::new(analysis.language);
        let code_bytes = analysis
            .program
            .memory
            .blocks()
            .iter()
            .filter(|b| b.permissions.execute)
            .map(|b| b.length)
            .sum();
        let mut explorer = Explorer {
            analysis,
            reader,
            found: HashMap::default(),
            owner: HashMap::default(),
            work: Vec::new(),
            explored: Explored::default(),
            followed: HashSet::default(),
            calls: Vec::new(),
            pcode: Vec::new(),
            decoded: 0,
            code_bytes,
        };
        explorer.take_in_known();
        explorer
    }

    /// Functions and instructions that the program already has.
    fn take_in_known(&mut self) {
        let program = &*self.analysis.program;
        for function in program.functions.iter() {
            if function.entry.space != SpaceId::RAM {
                continue;
            }
            let stated = no_return::is_stated_to_return(program, function.entry);
            let never =
                !stated && (function.no_return || no_return::is_known_at(program, function.entry));
            let explored = program.listing.instructions.contains_key(&function.entry);
            let known = explored || no_return::comes_back(program, function.entry);
            // Code of stubs seems to run on into the next one's.
            let is_stub = function.thunk_of.is_some_and(|of| of.space == SpaceId::EXTERNAL);
            let returns = !never && (known || is_stub || !self.holds_code(function.entry.offset));
            let found = Found { returns, never, function: true, ..Found::default() };
            if explored {
                self.explored.known.insert(function.entry.offset);
            }
            self.found.insert(function.entry.offset, found);
        }
    }

    /// Explores a start and all that it leads to.
    pub(crate) fn explore(&mut self, entry: u64, mode: u8) -> Result<(), Stopped> {
        let context = self.reader.context(mode);
        if self.holds_code(entry) && !self.owner.contains_key(&entry) {
            self.function(entry, context);
            self.drain()?;
        } else if self.holds_code(entry) {
            self.function(entry, context);
        }
        Ok(())
    }

    /// The decoding mode of a place, as far as it is known.
    pub(crate) fn mode_at(&self, at: Address) -> u8 {
        let program = &*self.analysis.program;
        program.listing.instructions.get(&at).map_or_else(|| program.mode_at(at), |i| i.mode)
    }

    /// Explores a landing pad: code inside of a function.
    pub(crate) fn explore_landing_pad(&mut self, at: u64, mode: u8) -> Result<(), Stopped> {
        if !self.owner.contains_key(&at) && self.holds_code(at) {
            self.found.entry(at).or_insert(Found { landing_pad: true, ..Found::default() });
        }
        self.explore_code(at, mode)
    }

    /// Explores a place that holds code, though nothing says that a function
    /// starts there.
    pub(crate) fn explore_code(&mut self, at: u64, mode: u8) -> Result<(), Stopped> {
        if self.owner.contains_key(&at) || !self.holds_code(at) {
            return Ok(());
        }
        let context = self.reader.context(mode);
        self.found.entry(at).or_default();
        self.work.push(Path { function: at, at, context });
        self.drain()
    }

    /// Adds destinations that were found for computed jumps, and goes on.
    pub(crate) fn resolve(&mut self, jumps: Vec<(u64, u64, Vec<u64>)>) -> Result<(), Stopped> {
        for (function, at, targets) in jumps {
            let mode = self.analysis.program.listing.instructions.get(&Address::ram(at));
            let context = self.reader.context(mode.map_or(0, |i| i.mode));
            for target in &targets {
                self.work.push(Path { function, at: *target, context });
            }
        }
        self.drain()
    }

    /// The run that this is part of; the functions found so far are not in its program.
    pub(crate) fn analysis(&mut self) -> &mut Analysis<'p> {
        self.analysis
    }

    /// The program with what was decoded so far.
    pub(crate) fn program(&self) -> &Program {
        self.analysis.program
    }

    /// The computed jumps that nobody resolved yet, taken out.
    pub(crate) fn take_open_jumps(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.explored.open_jumps)
    }

    /// Declares that functions with unresolvable jumps may return.
    pub(crate) fn give_up(&mut self, open: &[(u64, u64)]) -> Result<(), Stopped> {
        for (function, _) in open {
            self.returned(*function);
        }
        self.drain()
    }

    /// Puts the functions found so far into the program and lends it out. Those are told not to
    /// return that cannot whatever the jumps still open lead to.
    pub(crate) fn so_far(&mut self, open: BTreeSet<(u64, u64)>) -> &mut Analysis<'p> {
        let may_return = self.may_return(open);
        let functions = self.found.iter().filter(|(_, f)| f.function);
        self.explored.functions =
            functions.map(|(at, f)| (*at, f.returns || may_return.contains(at))).collect();
        let followed = std::mem::take(&mut self.followed);
        crate::functions::define(self.analysis.program, &self.explored, Some(&followed));
        self.analysis
    }

    /// Functions that might return if those with open jumps do. Cost: linear in the functions
    /// that nobody saw to return.
    fn may_return(&self, open: BTreeSet<(u64, u64)>) -> HashSet<u64> {
        let mut may_return = HashSet::default();
        let mut next: Vec<u64> = open.into_iter().map(|(function, _)| function).collect();
        while let Some(function) = next.pop() {
            if may_return.insert(function)
                && let Some(found) = self.found.get(&function).filter(|found| !found.never)
            {
                next.extend(found.waiting.iter().map(|path| path.function));
                next.extend(&found.followers);
            }
        }
        may_return
    }

    /// Marks the calls that never come back and hands over what was found.
    pub(crate) fn finish(mut self) -> Explored {
        for (at, callee) in std::mem::take(&mut self.calls) {
            if !self.found.get(&callee).is_none_or(|f| f.returns)
                && let Some(call) =
                    self.analysis.program.listing.instructions.get_mut(&Address::ram(at))
                && !call.flow.is_conditional()
            {
                call.flow_override = FlowOverride::CallReturn;
            }
        }
        let functions = self.found.iter().filter(|(_, f)| f.function);
        self.explored.functions = functions.map(|(at, f)| (*at, f.returns)).collect();
        self.explored
    }

    /// Decodes what fills the gap behind calls of some functions, up to code that something leads
    /// to: where calls prove that those never return, Ghidra has decoded it before. Cost: linear
    /// in the calls.
    pub(crate) fn fill_gaps_behind(&mut self, callees: &BTreeSet<Address>) {
        let calls: Vec<u64> = self
            .calls
            .iter()
            .filter(|(_, callee)| callees.contains(&Address::ram(*callee)))
            .map(|(at, _)| *at)
            .collect();
        for call in calls {
            let instruction = self.analysis.program.listing.instructions.get(&Address::ram(call));
            let Some((length, mode)) = instruction.map(|i| (u64::from(i.length), i.mode)) else {
                continue;
            };
            let context = self.reader.context(mode);
            let mut next = call.wrapping_add(length);
            let mut gap = Vec::new();
            while gap.len() < GAP && !self.owner.contains_key(&next) && self.holds_code(next) {
                let at = Address::ram(next);
                self.pcode.clear();
                let program = &*self.analysis.program;
                match self.reader.pcode(program, at, context, &mut self.pcode) {
                    Ok(decoded) if self.pcode.is_empty() && decoded.length > 0 => {
                        next = next.wrapping_add(u64::from(decoded.length));
                        gap.push(at.offset);
                    }
                    _ => break,
                }
            }
            let place = Address::ram(next);
            let led_to = self.analysis.program.references.to(place).any(|r| r.info.kind.is_flow());
            if self.owner.contains_key(&next) && led_to {
                for at in gap {
                    self.decode(at, context);
                }
            }
        }
    }

    fn drain(&mut self) -> Result<(), Stopped> {
        while let Some(path) = self.work.pop() {
            self.follow(path);
            if self.decoded >= STEP {
                self.decoded = 0;
                let known = self.owner.len() as u64 * 4;
                self.analysis.step(known as f32 / self.code_bytes.max(1) as f32)?;
            }
        }
        Ok(())
    }

    /// Whether instructions can be at an offset: initialised and executable.
    fn holds_code(&self, at: u64) -> bool {
        let block = self.analysis.program.memory.block_at(Address::ram(at));
        block.is_some_and(|b| b.permissions.execute && b.is_initialized())
    }

    /// Makes sure that a function is known at `entry`; queues it when new.
    fn function(&mut self, entry: u64, context: Context) {
        if !self.holds_code(entry) {
            // A call out of the code: nothing is known, so it returns.
            self.found.entry(entry).or_insert(Found { returns: true, ..Found::default() });
            return;
        }
        let fresh = !self.found.contains_key(&entry);
        if fresh {
            let program = &*self.analysis.program;
            let returns = no_return::is_stated_to_return(program, Address::ram(entry));
            let never = no_return::is_known_at(program, Address::ram(entry));
            self.found.insert(entry, Found { returns, never, ..Found::default() });
        }
        if let Some(found) = self.found.get_mut(&entry) {
            found.function = true;
            found.landing_pad = false;
        }
        match self.owner.get(&entry).copied() {
            None => self.work.push(Path { function: entry, at: entry, context }),
            // A call into the middle of another function.
            Some(owner) if fresh => self.depends(entry, owner),
            Some(_) => {}
        }
    }

    /// `follower` returns if `leader` does.
    fn depends(&mut self, follower: u64, leader: u64) {
        if follower == leader {
            return;
        }
        match self.found.get_mut(&leader) {
            Some(found) if !found.returns => found.followers.push(follower),
            _ => self.returned(follower),
        }
    }

    /// A function was seen to return: wakes everything that waited for it.
    fn returned(&mut self, function: u64) {
        let mut news = vec![function];
        while let Some(function) = news.pop() {
            let Some(found) = self.found.get_mut(&function) else { continue };
            if found.never {
                continue;
            }
            if std::mem::replace(&mut found.returns, true) {
                continue;
            }
            self.work.append(&mut found.waiting);
            news.append(&mut found.followers);
        }
    }

    /// Decodes along one path until it ends, branches off or has to wait.
    fn follow(&mut self, path: Path) {
        let Path { function, mut at, mut context } = path;
        self.followed.insert(function);
        let mut pending: SmallVec<[decompiler::ContextChange; 4]> = SmallVec::new();
        loop {
            if let Some(owner) = self.owner.get(&at).copied() {
                return self.depends(function, owner);
            }
            if at != function && self.found.contains_key(&at) {
                return self.depends(function, at);
            }
            let here = pending
                .iter()
                .filter(|change| !change.flows && change.offset == at)
                .fold(context, |context, change| context.with(change));
            let Some(decoded) = self.decode(at, here) else { return self.returned(function) };
            self.owner.insert(at, function);
            for change in &decoded.context_changes {
                if change.flows && Some(change.offset) == decoded.fall_through {
                    context = context.with(change);
                } else {
                    pending.push(*change);
                }
            }
            match self.leave(function, at, &decoded, context) {
                Some(next) => at = next,
                None => return,
            }
        }
    }

    /// Decodes one instruction (with its delay slots) into the listing.
    /// `None` when there is none, or something else stands there.
    fn decode(&mut self, at: u64, context: Context) -> Option<Decoded> {
        if !self.holds_code(at) {
            return None;
        }
        let address = Address::ram(at);
        let decoded = self.reader.decode(self.analysis.program, address, context).ok()?;
        let range = AddressRange::with_length(address, u64::from(decoded.length))?;
        let listing = &self.analysis.program.listing;
        if listing.instructions.get(&address).is_some_and(|i| i.length == decoded.length) {
            // An earlier descent was here.
            return Some(decoded);
        }
        if listing.is_defined(&range) {
            return None;
        }
        let mode = self.reader.mode(context);
        let instruction = Instruction {
            length: decoded.length,
            delay_slots: 0,
            in_delay_slot: false,
            mode,
            flow: decoded.flow,
            flow_override: FlowOverride::None,
        };
        self.analysis.program.listing.instructions.insert(address, instruction);
        self.refer(address, context, &decoded);
        self.decoded += 1;
        let slots = self.decode_delay_slots(at, &decoded, context);
        if slots > 0
            && let Some(stored) = self.analysis.program.listing.instructions.get_mut(&address)
        {
            stored.delay_slots = slots;
        }
        Some(decoded)
    }

    /// Adds the references that an instruction's operands state.
    fn refer(&mut self, at: Address, context: Context, decoded: &Decoded) {
        let program = &mut *self.analysis.program;
        let found = operands::references_of(&mut self.reader, program, at, context, decoded);
        for (to, kind, operand) in found {
            program.add_reference(at, to, kind, operand, SourceType::Default);
        }
    }

    fn decode_delay_slots(&mut self, at: u64, decoded: &Decoded, context: Context) -> u8 {
        let end = u64::from(decoded.length) + u64::from(decoded.delay_slots);
        let (mut done, mut slots) = (u64::from(decoded.length), 0);
        while done < end {
            let Some(address) = Address::ram(at).checked_add(done) else { break };
            let Ok(slot) = self.reader.decode(self.analysis.program, address, context) else {
                break;
            };
            let Some(range) = AddressRange::with_length(address, u64::from(slot.length)) else {
                break;
            };
            if self.analysis.program.listing.is_defined(&range) {
                break;
            }
            let instruction = Instruction {
                length: slot.length,
                delay_slots: 0,
                in_delay_slot: true,
                mode: self.reader.mode(context),
                flow: slot.flow,
                flow_override: FlowOverride::None,
            };
            self.analysis.program.listing.instructions.insert(address, instruction);
            self.refer(address, context, &slot);
            self.owner.insert(address.offset, self.owner.get(&at).copied().unwrap_or(at));
            done += u64::from(slot.length);
            slots += 1;
        }
        slots
    }

    /// Deals with where an instruction leads; the offset to go on at, if the
    /// path goes on.
    fn leave(
        &mut self,
        function: u64,
        at: u64,
        decoded: &Decoded,
        context: Context,
    ) -> Option<u64> {
        let flow = decoded.flow;
        let next = decoded.fall_through;
        if flow == FlowType::FallThrough {
            return self.go_on(function, next);
        }
        if flow == FlowType::Invalid {
            self.returned(function);
            return None;
        }
        if flow.is_call() {
            return self.leave_call(function, at, decoded, context);
        }
        if flow.is_computed() {
            self.leave_jump(function, at, context);
            return if flow.is_conditional() { self.go_on(function, next) } else { None };
        }
        if flow.is_terminal() {
            self.returned(function);
        }
        let only_lands = self.found.get(&function).is_some_and(|found| found.landing_pad);
        // x86 code asks where it is by a call of the next instruction, which only pushes.
        let follows = at.wrapping_add(u64::from(decoded.length));
        let leads_on = decoded.flow_targets.first() == Some(&follows);
        if flow == FlowType::UnconditionalJump
            && !only_lands
            && !leads_on
            && self.begins_with(function, at, context)
        {
            // A function that only jumps stands for another one.
            for target in &decoded.flow_targets {
                self.function(*target, target_context(decoded, *target, context));
                self.depends(function, *target);
            }
            return None;
        }
        if flow.is_jump() {
            for target in &decoded.flow_targets {
                let context = target_context(decoded, *target, context);
                if self.holds_code(*target) || self.found.contains_key(target) {
                    self.work.push(Path { function, at: *target, context });
                } else {
                    self.returned(function);
                }
            }
        }
        if flow.has_fall_through() { self.go_on(function, next) } else { None }
    }

    /// A computed jump: leads to where a constant pointer or the whole function tells, or stays
    /// open.
    fn leave_jump(&mut self, function: u64, at: u64, context: Context) {
        let mut there = context;
        let target = self.slot_target(at, context).map(|slot| self.settle(slot, &mut there));
        let target = target.or_else(|| {
            let entry = Address::ram(function);
            let passed = crate::thunks::passes_on(self.analysis.program, &mut self.reader, entry);
            let passed = passed.filter(|passed| passed.jump == Address::ram(at))?;
            there = passed.mode.map_or(context, |mode| self.reader.context(mode));
            Some(passed.target)
        });
        // The loader knows what a stub stands for that takes its pointer by a caller's register, or
        // whose pointer leads to the stub that stands for the function.
        let target = target.filter(|target| *target != Address::ram(function));
        let target = target.or_else(|| {
            let stub = self.analysis.program.functions.at(Address::ram(function))?;
            stub.thunk_of.filter(|of| of.space == SpaceId::EXTERNAL)
        });
        match target {
            Some(target) if target.space == SpaceId::RAM => {
                self.function(target.offset, there);
                self.depends(function, target.offset);
            }
            // The system fills the slot with a function of another library.
            Some(import) => {
                let program = &*self.analysis.program;
                if program.functions.at(import).is_none_or(|f| !f.no_return) {
                    self.returned(function);
                }
            }
            None => self.explored.open_jumps.push((function, at)),
        }
    }

    /// Whether nothing but a landing mark (`ENDBR64`, `BTI`) lies between a
    /// function's entry and `at`.
    fn begins_with(&mut self, function: u64, at: u64, context: Context) -> bool {
        if at == function {
            return true;
        }
        let entry = Address::ram(function);
        let first = self.analysis.program.listing.instructions.get(&entry);
        if first.is_none_or(|i| function.wrapping_add(u64::from(i.length)) != at) {
            return false;
        }
        self.pcode.clear();
        let decoded = self.reader.pcode(self.analysis.program, entry, context, &mut self.pcode);
        let silent = |op: &PcodeOp| op.opcode == Opcode::CallOther && op.output.is_none();
        decoded.is_ok() && self.pcode.iter().all(silent)
    }

    /// The next offset, or the end of what is known.
    fn go_on(&mut self, function: u64, next: Option<u64>) -> Option<u64> {
        if next.is_none() {
            self.returned(function);
        }
        next
    }

    /// A call: goes on at once, waits for the callee, or ends.
    fn leave_call(
        &mut self,
        function: u64,
        at: u64,
        decoded: &Decoded,
        context: Context,
    ) -> Option<u64> {
        let next = decoded.fall_through;
        let direct = decoded.flow_targets.first().copied();
        let target = match direct {
            Some(target) => Some(target),
            None => self.pointer_target(at, context),
        };
        let Some(target) = target else { return self.go_on(function, next) };
        if Some(target) == next {
            // A call of the next instruction only asks where it is.
            return next;
        }
        self.function(target, target_context(decoded, target, context));
        self.calls.push((at, target));
        let next = self.go_on(function, next)?;
        match self.found.get_mut(&target) {
            Some(callee) if !callee.returns && !decoded.flow.is_conditional() => {
                callee.waiting.push(Path { function, at: next, context });
                None
            }
            _ => Some(next),
        }
    }

    /// Takes the bit off a pointer that only chooses Thumb code, and chooses that.
    fn settle(&self, mut target: Address, context: &mut Context) -> Address {
        let thumb = self.reader.language().thumb_mode();
        let odd = target.space == SpaceId::RAM && target.offset & 1 == 1;
        if let Some(thumb) = thumb.filter(|_| odd) {
            target.offset &= !1;
            *context = self.reader.context(thumb);
        }
        target
    }

    /// Where a computed call or jump through a constant pointer leads.
    fn pointer_target(&mut self, at: u64, context: Context) -> Option<u64> {
        let target = self.slot_target(at, context)?;
        (target.space == SpaceId::RAM).then_some(target.offset)
    }

    /// The function bound to the slot that a computed call or jump goes through.
    fn slot_target(&mut self, at: u64, context: Context) -> Option<Address> {
        self.pcode.clear();
        let address = Address::ram(at);
        self.reader.pcode(self.analysis.program, address, context, &mut self.pcode).ok()?;
        let last = self
            .pcode
            .iter()
            .rev()
            .find(|op| matches!(op.opcode, Opcode::CallInd | Opcode::BranchInd))?;
        let mut wanted = *last.inputs.first()?;
        for op in self.pcode.iter().rev() {
            if op.output == Some(wanted) && op.opcode == Opcode::Copy {
                wanted = *op.inputs.first()?;
            }
        }
        if wanted.space != VarSpace::Ram {
            return None;
        }
        let program = &*self.analysis.program;
        import_slot(program, Address::ram(wanted.offset), wanted.size)
    }
}

/// Whether memory at an address cannot change while the program runs.
pub(crate) fn is_constant(program: &Program, at: Address) -> bool {
    let writable = program.memory.block_at(at).is_none_or(|b| b.permissions.write);
    !writable || program.protected.contains(at)
}

/// The function that a pointer in memory leads to for good: the memory is
/// constant, or the loader bound the slot to a symbol.
pub(crate) fn import_slot(program: &Program, slot: Address, size: u32) -> Option<Address> {
    // Slots that the system fills refer to what it fills them with.
    let bound =
        program.references.from(slot).map(|r| r.to).find(|to| to.space == SpaceId::EXTERNAL);
    if let Some(function) = bound.and_then(|to| program.functions.at(to)) {
        return Some(function.entry);
    }
    let target = Address::ram(program.memory.read_uint(slot, size)?);
    let block = program.memory.block_at(target)?;
    let function = program.functions.at(target).is_some();
    if block.permissions.artificial {
        return function.then_some(target);
    }
    let lasting = is_constant(program, slot) || is_bound(program, slot);
    (lasting && (function || block.permissions.execute)).then_some(target)
}

/// Whether the loader filled a slot with a symbol's address.
fn is_bound(program: &Program, slot: Address) -> bool {
    let found = program.relocations.binary_search_by_key(&slot, |r| r.address);
    found.is_ok_and(|at| {
        program.relocations[at].applied && !program.relocations[at].symbol.is_empty()
    })
}

/// The context at a destination, with the changes that the instruction makes
/// there.
fn target_context(decoded: &Decoded, target: u64, context: Context) -> Context {
    decoded
        .context_changes
        .iter()
        .filter(|change| change.offset == target)
        .fold(context, |context, change| context.with(change))
}

/// The code that belongs to each function: what its entry reaches without
/// calls and without entering another function. Linear in the code, shared
/// tails aside.
pub(crate) fn bodies(program: &Program, explored: &Explored, entry: u64) -> program::AddressSet {
    let mut seen = BTreeSet::new();
    let mut stack = vec![entry];
    while let Some(at) = stack.pop() {
        if at != entry && explored.functions.contains_key(&at) {
            continue;
        }
        let address = Address::ram(at);
        let Some(instruction) = program.listing.instructions.get(&address) else { continue };
        if !seen.insert((at, u64::from(instruction.length))) {
            continue;
        }
        let mut next = at.wrapping_add(u64::from(instruction.length));
        for _ in 0..instruction.delay_slots {
            if let Some(slot) = program.listing.instructions.get(&Address::ram(next)) {
                seen.insert((next, u64::from(slot.length)));
                next = next.wrapping_add(u64::from(slot.length));
            }
        }
        if instruction.effective_flow().has_fall_through() {
            stack.push(next);
        }
        if instruction.effective_flow().is_jump() {
            let jumps = program.references.from(address).filter(|r| r.info.kind.is_jump());
            stack.extend(jumps.filter(|r| r.to.space == SpaceId::RAM).map(|r| r.to.offset));
        }
    }
    let ranges =
        seen.into_iter().filter_map(|(at, n)| AddressRange::with_length(Address::ram(at), n));
    ranges.collect()
}
