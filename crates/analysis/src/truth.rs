//! References against what Ghidra found: the sample programs with Ghidra's own instructions and
//! functions, so that only this crate's references are judged.

use crate::code::CodeReader;
use crate::operands;
use crate::pass::{Monitor, run};
use anyhow::Result;
use decompiler::Language;
use program::{
    Address, AddressRange, AddressSet, FlowOverride, FlowType, Function, Instruction, Parameter,
    Program, RefType, SourceType, Storage, TypeId,
};
use std::collections::{BTreeMap, BTreeSet};
use testkit::truth::{ProgramDump, Sample, Truth};

struct Silent;

impl Monitor for Silent {
    fn phase(&mut self, _: &'static str, _: usize, _: usize) {}
    fn progress(&mut self, _: f32) {}
    fn cancelled(&self) -> bool {
        false
    }
    fn publish(&mut self, _: &Program) {}
}

/// One reference in a form that both sides have.
type Line = (u64, String, String, i8);

/// References from instructions: found, wrong and missed, by kind.
#[derive(Debug, Default, Clone)]
struct Score {
    kinds: BTreeMap<String, [usize; 3]>,
    locals: [usize; 3],
}

impl Score {
    fn add(&mut self, other: &Score) {
        for (kind, counts) in &other.kinds {
            let known = self.kinds.entry(kind.clone()).or_default();
            known.iter_mut().zip(counts).for_each(|(a, b)| *a += b);
        }
        self.locals.iter_mut().zip(other.locals).for_each(|(a, b)| *a += b);
    }

    fn total(&self) -> [usize; 3] {
        self.kinds.values().fold([0; 3], |mut sum, counts| {
            sum.iter_mut().zip(counts).for_each(|(a, b)| *a += b);
            sum
        })
    }
}

/// What is reached; only ever raised.
const REFERENCES: f64 = 99.8;
const LOCALS: f64 = 97.5;

/// Precision and recall as one number, in percent.
fn f1([right, wrong, missed]: [usize; 3]) -> f64 {
    if right == 0 { 0.0 } else { 200.0 * right as f64 / (2 * right + wrong + missed) as f64 }
}

#[test]
fn references_equal_ghidras() -> Result<()> {
    let Some(truth) = Truth::find("references_equal_ghidras") else { return Ok(()) };
    let only = std::env::var("SAMPLE").ok();
    let mut all = Score::default();
    for sample in truth.samples()? {
        if only.as_ref().is_some_and(|only| !sample.name.contains(only.as_str())) {
            continue;
        }
        match judge(&sample) {
            Ok(score) => {
                let locals = f1(score.locals);
                println!("{:7.2} {locals:7.2} {}", f1(score.total()), sample.name);
                all.add(&score);
            }
            Err(error) => println!("   -    {}: {error:#}", sample.name),
        }
    }
    for (kind, counts) in &all.kinds {
        println!("{:7.2} {counts:6?} {kind}", f1(*counts));
    }
    println!(
        "{:7.2} {:6?} total; locals {:.2} {:?}",
        f1(all.total()),
        all.total(),
        f1(all.locals),
        all.locals
    );
    if only.is_none() {
        assert!(f1(all.total()) >= REFERENCES, "references: {:.2} %", f1(all.total()));
        assert!(f1(all.locals) >= LOCALS, "stack variables: {:.2} %", f1(all.locals));
    }
    Ok(())
}

fn judge(sample: &Sample) -> Result<Score> {
    let dump = sample.program()?;
    let bytes: std::sync::Arc<[u8]> = std::fs::read(sample.binary())?.into();
    let options = loader::LoadOptions::default();
    let mut program = loader::load(&sample.name, "", bytes, &options)?;
    let language = Language::open(&dump.program.language, &dump.program.compiler_spec)?;
    let code = take_over(&mut program, &language, sample, &dump)?;
    let began = std::time::Instant::now();
    let selected = ["Constant References".to_owned()];
    run(&mut program, &language, Some(&selected), &mut Silent)?;
    if std::env::var("TIMES").is_ok() {
        println!("{:?}", began.elapsed());
    }
    let expected: BTreeSet<Line> = dump
        .references
        .iter()
        .filter_map(|r| {
            let from = u64::from_str_radix(plain(&r.from), 16).ok()?;
            code.contains(&from)
                .then(|| (from, plain(&r.to).to_owned(), r.kind.clone(), r.operand as i8))
        })
        .collect();
    let found: BTreeSet<Line> = program
        .references
        .iter()
        .filter(|r| r.from.space == program::SpaceId::RAM && code.contains(&r.from.offset))
        .map(|r| (r.from.offset, place(&program, r.to), r.info.kind.name().into(), r.operand))
        .collect();
    let mut score = Score::default();
    let show = std::env::var("DIFF").is_ok();
    for line in expected.union(&found) {
        let group =
            if line.1.starts_with("Stack") { format!("{} stack", line.2) } else { line.2.clone() };
        let counts = score.kinds.entry(group).or_default();
        let index = match (expected.contains(line), found.contains(line)) {
            (true, true) => 0,
            (false, _) => 1,
            (true, false) => 2,
        };
        counts[index] += 1;
        if show && index > 0 {
            let sign = if index == 1 { '+' } else { '-' };
            println!("{sign} {:08x} {} {} {}", line.0, line.1, line.2, line.3);
        }
    }
    judge_locals(&program, &dump, &mut score, show);
    Ok(score)
}

fn judge_locals(program: &Program, dump: &ProgramDump, score: &mut Score, show: bool) {
    for function in dump.functions.iter().filter(|f| !f.external && !f.thunk) {
        let Ok(entry) = u64::from_str_radix(plain(&function.entry), 16) else { continue };
        let expected: BTreeSet<String> = function
            .locals
            .iter()
            .filter(|l| l.source == "DEFAULT" && l.storage.starts_with("Stack"))
            .map(|l| format!("{} {} {}", l.name, l.data_type, l.storage))
            .collect();
        let known = program.functions.at(Address::ram(entry));
        let found: BTreeSet<String> = known
            .iter()
            .flat_map(|f| &f.locals)
            .map(|l| {
                let piece = l.storage.pieces()[0];
                let storage = program.spaces.print(piece.address).to_string();
                format!("{} {} {}:{}", l.name, program.types.name(l.data_type), storage, piece.size)
            })
            .collect();
        for line in expected.union(&found) {
            let index = match (expected.contains(line), found.contains(line)) {
                (true, true) => 0,
                (false, _) => 1,
                (true, false) => 2,
            };
            score.locals[index] += 1;
            if show && index > 0 {
                println!("{} {} {line}", if index == 1 { "L+" } else { "L-" }, function.entry);
            }
        }
    }
}

fn place(program: &Program, address: Address) -> String {
    match address.space {
        program::SpaceId::RAM => format!("{:08x}", address.offset),
        _ => program.spaces.print(address).to_string(),
    }
}

/// Puts Ghidra's instructions, functions and jump tables into a loaded program.
fn take_over(
    program: &mut Program,
    language: &Language,
    sample: &Sample,
    dump: &ProgramDump,
) -> Result<BTreeSet<u64>> {
    let mut reader = CodeReader::new(language);
    let mut code = BTreeSet::new();
    program.listing.instructions = program::Table::new();
    for line in sample.listing()? {
        let offset = u64::from_str_radix(plain(&line.address), 16)?;
        code.insert(offset);
        let at = Address::ram(offset);
        let mode = mode_for(&mut reader, program, at, line.bytes.len());
        let context = reader.context(mode);
        let Ok(decoded) = reader.decode(program, at, context) else { continue };
        let shown = FlowType::from_name(&line.flow).unwrap_or(decoded.flow);
        let flow_override = match line.flow_override.as_deref() {
            Some("BRANCH") => FlowOverride::Branch,
            Some("CALL") => FlowOverride::Call,
            Some("CALL_RETURN") => FlowOverride::CallReturn,
            Some("RETURN") => FlowOverride::Return,
            _ => FlowOverride::None,
        };
        let _ = shown;
        let in_delay_slot = line.plain.starts_with('_');
        let instruction = Instruction {
            length: line.bytes.len() as u8,
            delay_slots: u8::from(decoded.delay_slots > 0),
            in_delay_slot,
            mode,
            flow: decoded.flow,
            flow_override,
        };
        program.listing.instructions.insert(at, instruction);
        for (to, kind, operand) in
            operands::references_of(&mut reader, program, at, context, &decoded)
        {
            let kind = match kind {
                RefType::Flow(_)
                    if flow_override != FlowOverride::None
                        && kind != RefType::Flow(FlowType::Indirection) =>
                {
                    operands::plain_flow(instruction.effective_flow())
                }
                kind => kind,
            };
            program.add_reference(at, to, kind, operand, SourceType::Default);
        }
    }
    for reference in &dump.references {
        let Ok(from) = u64::from_str_radix(plain(&reference.from), 16) else { continue };
        if code.contains(&from)
            && reference.kind == "COMPUTED_JUMP"
            && reference.operand == -1
            && let Ok(to) = u64::from_str_radix(plain(&reference.to), 16)
            && dump
                .references
                .iter()
                .filter(|r| r.from == reference.from && r.kind == "COMPUTED_JUMP")
                .count()
                > 1
        {
            let kind = RefType::Flow(FlowType::ComputedJump);
            program.add_reference(
                Address::ram(from),
                Address::ram(to),
                kind,
                -1,
                SourceType::Analysis,
            );
        }
    }
    take_over_functions(program, language, dump)?;
    Ok(code)
}

fn mode_for(reader: &mut CodeReader, program: &Program, at: Address, length: usize) -> u8 {
    let preferred = program.mode_at(at);
    for mode in [preferred, 0, 1] {
        let context = reader.context(mode);
        if reader.decode(program, at, context).is_ok_and(|d| usize::from(d.length) == length) {
            return mode;
        }
    }
    preferred
}

fn take_over_functions(
    program: &mut Program,
    language: &Language,
    dump: &ProgramDump,
) -> Result<()> {
    let known: Vec<Address> = program.functions.iter().map(|f| f.entry).collect();
    known.into_iter().for_each(|entry| {
        program.functions.take(entry);
    });
    for f in &dump.functions {
        let Some(entry) = address(&f.entry) else { continue };
        let body: AddressSet = f
            .body
            .iter()
            .filter_map(|range| {
                let (from, to) = range.split_once('-')?;
                AddressRange::new(address(from)?, address(to)?)
            })
            .collect();
        let undefined = program.types.builtin("undefined");
        program.functions.take(entry);
        let symbol = program.add_function(entry, body.clone()).symbol;
        let mut function = Function::new(entry, symbol, body, undefined);
        function.thunk_of = f.thunk_of_address.as_deref().and_then(address);
        function.no_return = f.noreturn;
        function.stack_purge = f.stack_purge.parse().ok();
        function.signature.varargs = f.varargs;
        function.signature.source = match f.signature_source.as_str() {
            "DEFAULT" => SourceType::Default,
            "ANALYSIS" => SourceType::Analysis,
            "IMPORTED" => SourceType::Imported,
            _ => SourceType::UserDefined,
        };
        if f.calling_convention != "unknown" {
            function.signature.convention = Some(f.calling_convention.as_str().into());
        }
        function.signature.return_type =
            data_type(program, &f.returned.data_type, &f.returned.storage);
        for parameter in &f.params {
            let data_type = data_type(program, &parameter.data_type, &parameter.storage);
            let storage = storage(language, &parameter.storage).unwrap_or_default();
            function.signature.parameters.push(Parameter {
                name: parameter.name.as_str().into(),
                data_type,
                storage,
                source: SourceType::Imported,
                automatic: false,
                id: 0,
            });
        }
        program.functions.put(function);
    }
    Ok(())
}

/// An address without the name of the default space, which some languages print.
fn plain(text: &str) -> &str {
    text.strip_prefix("ram:").unwrap_or(text)
}

fn address(text: &str) -> Option<Address> {
    let text = plain(text);
    match text.split_once(':') {
        Some(("EXTERNAL", offset)) => {
            Some(Address::external(u64::from_str_radix(offset, 16).ok()?))
        }
        Some(_) => None,
        None => Some(Address::ram(u64::from_str_radix(text, 16).ok()?)),
    }
}

fn data_type(program: &mut Program, name: &str, storage: &str) -> TypeId {
    let size = storage.rsplit_once(':').and_then(|(_, size)| size.parse().ok()).unwrap_or(8u32);
    if name.contains('*') {
        let void = program.types.builtin("void");
        return program.types.pointer_to(void);
    }
    match name {
        "undefined" | "undefined1" | "undefined2" | "undefined4" | "undefined8" | "int"
        | "void" | "double" | "float" => program.types.builtin(name),
        _ => program.types.builtin(match size {
            1 => "uchar",
            2 => "ushort",
            4 => "uint",
            _ => "ulonglong",
        }),
    }
}

fn storage(language: &Language, text: &str) -> Option<Storage> {
    let (place, size) = text.rsplit_once(':')?;
    let size = size.parse().ok()?;
    if let Some(offset) = place.strip_prefix("Stack[").and_then(|rest| rest.strip_suffix(']')) {
        let offset = match offset.strip_prefix("-0x") {
            Some(digits) => -i64::from_str_radix(digits, 16).ok()?,
            None => i64::from_str_radix(offset.trim_start_matches("0x"), 16).ok()?,
        };
        return Some(Storage::at(Address::stack(offset), size));
    }
    let register = language.register(place)?;
    let at = Address::new(program::SpaceId::REGISTER, register.offset);
    Some(Storage::at(at, register.size.min(size)))
}
