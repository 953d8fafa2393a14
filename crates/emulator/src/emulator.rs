//! What one program needs to be emulated, and one run of it.

use std::time::Instant;

use decompiler::{Language, VarSpace};
use foldhash::HashMap;
use program::{Address, Program, SpaceId};

use crate::block::{Blocks, Mode};
use crate::build::{self, Builder};
use crate::calls::{CallLog, Places, declared};
use crate::cells::{Cell, Cells};
use crate::float::FloatRules;
use crate::gates::{self, SPACING};
use crate::global_offsets;
use crate::interpreter::{Machine, Rules};
use crate::layout::{self, Sizes};
use crate::memory::{Memory, PAGE, Purpose, Region};
use crate::outcome::{Outcome, Stop};
use crate::request::{Argument, Limits, Request, ValueKind};
use crate::wide::Division;

/// Bytes of the register spaces that are held in one file.
const MOST_REGISTERS: u64 = 1 << 20;
/// Bytes between two arguments in memory.
const BETWEEN: u64 = 32;
/// Bytes of all arguments and memory given.
const MOST_GIVEN: u64 = 64 << 20;

/// Why a program cannot be emulated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("code of {language} cannot be emulated: {reason}")]
pub struct UnsupportedLanguage {
    /// The language's id.
    pub language: String,
    /// What stands in the way.
    pub reason: &'static str,
}

/// Runs functions of one program.
pub struct Emulator<'p> {
    program: &'p Program,
    language: Language,
    registers: u32,
}

/// Fields of the context that choose another instruction set.
const SETS: [&str; 2] = ["TMode", "ISA_MODE"];

impl<'p> Emulator<'p> {
    /// For a program and its language.
    ///
    /// # Errors
    /// When the language addresses memory by units of several bytes, or has too many registers.
    pub fn new(
        program: &'p Program,
        language: &Language,
    ) -> Result<Emulator<'p>, UnsupportedLanguage> {
        let refuse =
            |reason| UnsupportedLanguage { language: language.language_id().to_string(), reason };
        if language.word_size(VarSpace::Ram) != 1 {
            return Err(refuse("its addresses stand for more than one byte"));
        }
        let end = |(_, register): (&str, decompiler::RegisterVarnode)| {
            register.offset.saturating_add(u64::from(register.size))
        };
        let registers = language.registers().map(end).max().unwrap_or(0);
        if registers > MOST_REGISTERS {
            return Err(refuse("its registers lie too far apart"));
        }
        let registers = (registers as u32).next_multiple_of(16);
        Ok(Emulator { program, language: language.clone(), registers })
    }

    /// Calls a function (or begins anywhere else) and answers how it went. Whatever the code does
    /// ends within the limits.
    pub fn run(&self, request: &Request, limits: &Limits) -> Outcome {
        match self.prepare(request, limits) {
            Ok(ready) => self.finish(request, limits, ready),
            Err(reason) => refused(request.entry, reason),
        }
    }

    fn prepare(&self, request: &Request, limits: &Limits) -> Result<Ready<'p>, String> {
        let (program, language) = (self.program, &self.language);
        let highest = language.highest_offset(VarSpace::Ram);
        let function = program.functions.at(Address::ram(request.entry));
        let convention = request.convention.clone().or_else(|| {
            let named = function.and_then(|f| f.signature.convention.as_ref());
            named.map(ToString::to_string).filter(|name| language.convention(name).is_some())
        });
        let places = Places::of(language, convention.as_deref());
        let layout = self.layout(request, limits, highest)?;
        let (mut gates, mut slots) = gates::imports(program, places.word, layout.imports);
        slots.extend(global_offsets::local_entries(program, language));
        gates.end(layout.end);
        request.hooks.iter().try_for_each(|hook| gates.hook(hook))?;
        request.stop.iter().for_each(|stop| gates.stop(*stop));
        let mut regions = layout.regions;
        let heap = regions.iter().find(|r| r.purpose == Purpose::Heap).map_or(0, |r| r.start);
        let top = regions.iter().find(|r| r.purpose == Purpose::Stack);
        let top = top.map_or(0, |stack| stack.start + stack.length);
        let given = regions.iter().find(|r| r.purpose == Purpose::Given).map_or(0, |r| r.start);
        regions.extend(self.new_memory(request));
        let memory = Memory::new(program, regions, slots, limits.memory, highest);
        let now = Instant::now();
        let mut machine = Machine {
            cells: Cells::new(self.registers, program.memory.big_endian()),
            memory,
            others: HashMap::default(),
            blocks: Blocks::default(),
            builder: Builder::new(language),
            gates,
            rules: rules(language),
            calls: CallLog::new(limits.depth, limits.calls),
            switch: self.switch(),
            instructions: 0,
            limit: limits.instructions,
            next_check: 0,
            deadline: now.checked_add(limits.time).unwrap_or(now),
            cancel: limits.cancel.clone(),
            heap: (heap, HashMap::default()),
            places,
            placed: request.memory.clone(),
            language: language.clone(),
        };
        let mut mode = self.mode_at(request.entry);
        let mut entry = request.entry;
        if let Some((register, field)) = machine.switch {
            // The lowest bit of an address chooses the instruction set, as in pointers.
            if entry & 1 == 1 && language.context_value(mode.flow, field).is_some() {
                entry &= !1;
                mode = Mode::of(language.with_context(mode.flow, field, 1));
            }
            let set = language.context_value(mode.flow, field).unwrap_or(0);
            machine.cells.set(register.offset, register.size, u64::from(set));
        }
        self.begin_thread(&mut machine);
        for (address, bytes) in &request.memory {
            let placed = machine.memory.place(*address, bytes);
            placed.map_err(|_| format!("memory at {address:#x} cannot be written"))?;
        }
        let mut addresses = Vec::new();
        let mut values = Vec::new();
        let mut next = given;
        for argument in &request.arguments {
            let Argument::Bytes(bytes) = argument else {
                addresses.push(None);
                values.push(argument.clone());
                continue;
            };
            let placed = machine.memory.place(next, bytes);
            placed.map_err(|_| "there is no room for the arguments".to_string())?;
            addresses.push(Some(next));
            values.push(Argument::Integer { value: next, size: None });
            next = next.next_multiple_of(16) + (bytes.len() as u64).next_multiple_of(16) + BETWEEN;
        }
        let convention = convention.as_deref();
        machine.begin_call(program, entry, convention, &values, layout.end, top)?;
        for (name, value) in &request.registers {
            let register = self.register(name)?;
            machine.cells.set_wide(register, *value);
        }
        machine.memory.forget_writes();
        let returns = match request.returns {
            ValueKind::Unknown => declared(program, function.map(|f| &**f)),
            asked => asked,
        };
        let before = machine.cells.bytes(Cell { offset: 0, size: self.registers }).to_vec();
        let convention = convention.map(str::to_string);
        Ok(Ready { machine, entry, mode, addresses, before, convention, returns })
    }

    fn finish(&self, request: &Request, limits: &Limits, ready: Ready<'p>) -> Outcome {
        let Ready { mut machine, entry, mode, addresses, before, convention, returns } = ready;
        let (stop, address) = machine.run(entry, mode);
        let given: Vec<Option<(u64, &[u8])>> = addresses
            .iter()
            .zip(&request.arguments)
            .map(|(address, argument)| match argument {
                Argument::Bytes(bytes) => address.map(|address| (address, bytes.as_slice())),
                _ => None,
            })
            .collect();
        let (memory, memory_truncated) = machine.changed_memory(&given, limits.changes);
        let convention = convention.as_deref();
        let mut returned =
            (stop == Stop::Returned).then(|| machine.returned(self.program, convention, returns));
        if let Some(returned) = &mut returned
            && let Some(place) = returned.integer
        {
            returned.pointed = machine.pointed(place);
        }
        let registers = machine.changed_registers(&before, &request.watch);
        let mut calls = std::mem::take(&mut machine.calls.kept);
        for call in &mut calls {
            let gate = machine.gates.name(call.to).map(str::to_string);
            let place = Address::ram(call.to);
            let known =
                || self.program.functions.at(place).map(|f| self.program.function_name(f.entry));
            call.name = gate.or_else(known);
        }
        Outcome {
            stop,
            address,
            instructions: machine.instructions,
            returned,
            argument_addresses: addresses,
            registers,
            memory,
            memory_truncated,
            calls,
            call_count: machine.calls.count,
            notes: Vec::new(),
        }
    }

    fn layout(
        &self,
        request: &Request,
        limits: &Limits,
        highest: u64,
    ) -> Result<layout::Layout, String> {
        let bytes = request.arguments.iter().map(|argument| match argument {
            Argument::Bytes(bytes) => bytes.len() as u64 + 2 * BETWEEN,
            _ => 0,
        });
        let given: u64 = bytes.sum();
        let placed: u64 = request.memory.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        if given.saturating_add(placed) > MOST_GIVEN.min(limits.memory) {
            return Err("more bytes are given than the memory limit allows".into());
        }
        let functions = self.program.functions.table();
        let externals = functions.range(Address::external(0)..Address::external(u64::MAX)).count();
        let sizes = Sizes {
            stack: limits.stack,
            heap: limits.heap,
            given,
            imports: externals as u64 * SPACING + PAGE,
        };
        let taken: Vec<(u64, u64)> =
            request.memory.iter().map(|(at, bytes)| (*at, bytes.len() as u64)).collect();
        let layout = layout::place(self.program, highest, sizes, &taken);
        layout.ok_or_else(|| "the address space has no room for a stack".into())
    }

    /// Memory for bytes that are given for places where the program has nothing.
    fn new_memory(&self, request: &Request) -> Vec<Region> {
        let pages = |(at, bytes): &(u64, Vec<u8>)| {
            let first = at / PAGE;
            let last = at.saturating_add((bytes.len() as u64).max(1) - 1) / PAGE;
            first..=last
        };
        let is_new = |number: &u64| {
            let start = number * PAGE;
            let blocks = self.program.memory.blocks();
            let at = blocks.partition_point(|block| block.end() < Address::ram(start));
            !blocks.get(at).is_some_and(|block| {
                block.start.space == SpaceId::RAM && block.start.offset < start + PAGE
            })
        };
        let all = request.memory.iter().flat_map(pages).filter(is_new);
        all.map(|number| Region { start: number * PAGE, length: PAGE, purpose: Purpose::Given })
            .collect()
    }

    /// A register by Ghidra's name, in any case.
    fn register(&self, name: &str) -> Result<Cell, String> {
        let exact = self.language.register(name);
        let alike = || {
            let mut all = self.language.registers();
            all.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, place)| place)
        };
        let place = exact.or_else(alike).ok_or_else(|| format!("no register is called {name}"))?;
        Ok(Cell { offset: place.offset as u32, size: place.size })
    }

    fn switch(&self) -> Option<(Cell, &'static str)> {
        let register = build::switch(&self.language)?;
        let field = SETS.into_iter().find(|field| self.language.has_context(field))?;
        Some((Cell { offset: u32::try_from(register.offset).ok()?, size: register.size }, field))
    }

    fn mode_at(&self, address: u64) -> Mode {
        let mode = self.program.mode_at(Address::ram(address));
        Mode::of(self.language.mode_context(mode))
    }

    /// What the system sets up for a thread, as far as code looks at it, and what processors
    /// begin with.
    fn begin_thread(&self, machine: &mut Machine<'_>) {
        let Some(region) = machine.memory.region(Purpose::Thread) else { return };
        let middle = region.start + region.length / 2;
        let processor = self.language.processor();
        let windows = self.language.compiler_spec_id() == "windows";
        let word = machine.places.word;
        let known = self.program.thread_block().map(|block| block.offset);
        let own = known.unwrap_or(middle);
        let set: &[(&str, u64)] = match (processor, windows, word) {
            ("x86", true, 8) => &[("GS_OFFSET", own)],
            ("x86", true, _) => &[("FS_OFFSET", own)],
            ("x86", false, 8) => &[("FS_OFFSET", middle)],
            ("x86", false, _) => &[("GS_OFFSET", middle)],
            ("AARCH64", ..) => &[("tpidr_el0", middle)],
            ("RISCV", ..) => &[("tp", middle)],
            ("PowerPC", _, 8) => &[("r13", middle)],
            ("PowerPC", ..) => &[("r2", middle)],
            _ => &[],
        };
        let defaults: &[(&str, u64)] = match processor {
            "x86" => &[("FPUControlWord", 0x37f), ("MXCSR", 0x1f80)],
            _ => &[],
        };
        for (name, value) in set.iter().chain(defaults) {
            if let Ok(register) = self.register(name) {
                machine.cells.set_wide(register, u128::from(*value));
            }
        }
        if processor == "x86" && known.is_none() {
            // Its own address stands first, or where Windows keeps it.
            let at = if windows { middle + if word == 8 { 0x30 } else { 0x18 } } else { middle };
            let bytes = middle.to_le_bytes();
            let _ = machine.memory.place(at, &bytes[..word as usize]);
        }
    }
}

/// A run that can begin.
struct Ready<'p> {
    machine: Machine<'p>,
    entry: u64,
    mode: Mode,
    addresses: Vec<Option<u64>>,
    before: Vec<u8>,
    convention: Option<String>,
    returns: ValueKind,
}

fn rules(language: &Language) -> Rules {
    let division = match language.processor() {
        "ARM" | "AARCH64" => Division::Zero,
        "RISCV" => Division::Ones,
        _ => Division::Stops,
    };
    Rules { division, float: FloatRules::of(language) }
}

fn refused(address: u64, reason: String) -> Outcome {
    Outcome {
        stop: Stop::Refused(reason),
        address,
        instructions: 0,
        returned: None,
        argument_addresses: Vec::new(),
        registers: Vec::new(),
        memory: Vec::new(),
        memory_truncated: false,
        calls: Vec::new(),
        call_count: 0,
        notes: Vec::new(),
    }
}
