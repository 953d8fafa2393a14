//! Functions run over a copy of the program's memory.

use std::time::Duration;

use engine::emulator::{
    AnsweredBy, Argument, Hook, HookAction, Limits, Outcome, Request as Run, Stop, ValueKind,
    model_names,
};
use engine::{MAX_NUMBER_SIZE, Number};
use program::SpaceId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bytes::decode;
use crate::error::{BridgeError, ErrorCode};
use crate::method::{Answer, Method};
use crate::shapes::{ByteSequence, Projection, Reply, Request};
use crate::view::View;

const DEFAULT_INSTRUCTIONS: u64 = 10_000_000;
const DEFAULT_TIMEOUT_MS: u32 = 10_000;
/// Calls that are told of.
const CALLS: usize = 100;
/// Bytes of changed memory that are told of.
const CHANGES: usize = 16_384;
/// Bytes of an argument that are shown as it is afterwards.
const SHOWN: usize = 1024;

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::read(
            "emulation.run",
            "Call a function with arguments, or run code from anywhere, over p-code in a copy of memory; nothing of the host or the program changes. Decodes hidden texts and hashes by running the program's own code.",
            run,
        )
        .brief(&["stop", "returned", "arguments", "memory", "calls", "truncated"])
        .cost("Grows with the instructions run, about ten million a second; bounded by `max_instructions` and `timeout_ms`.")
        .since("1.1"),
    ]
}

fn run(view: &View<'_>, request: RunRequest) -> Answer<RunResult> {
    let entry = view.code_address(&request.entry, "/entry")?;
    if entry.space != SpaceId::RAM {
        let message = "code runs in the default space; name an address or a function there";
        return Err(BridgeError::new(ErrorCode::InvalidAddress, message).at("/entry"));
    }
    let arguments = request.arguments.unwrap_or_default();
    let registers = request.registers.unwrap_or_default();
    let run = Run {
        entry: entry.offset,
        arguments: each(&arguments, "/arguments", |argument, at| argument.value(view, at))?,
        convention: None,
        returns: request.returns.unwrap_or_default().kind(),
        registers: each(&registers, "/registers", |register, at| register.value(view, at))?,
        memory: each(&request.memory.unwrap_or_default(), "/memory", |part, at| {
            let address = view.bound(&part.address, &format!("{at}/address"))?;
            Ok((address.offset, decode(&part.bytes, &format!("{at}/bytes"))?))
        })?,
        hooks: each(&request.hooks.unwrap_or_default(), "/hooks", |hook, at| hook.of(view, at))?,
        stop: each(&request.stop.unwrap_or_default(), "/stop", |text, at| {
            Ok(view.code_address(text, at)?.offset)
        })?,
        watch: request.watch.unwrap_or_default(),
    };
    let limits = Limits {
        instructions: request.max_instructions.unwrap_or(DEFAULT_INSTRUCTIONS),
        time: Duration::from_millis(request.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS).into()),
        calls: CALLS,
        changes: CHANGES,
        cancel: Some(view.cx.cancel.flag()),
        ..Limits::default()
    };
    let refuse = |reason: String| BridgeError::new(ErrorCode::InvalidRequest, reason);
    let outcome = view.bridge.session().emulate(&view.program, &run, &limits);
    let outcome = outcome.map_err(|error| refuse(error.to_string()).at("/entry"))?;
    match outcome.stop {
        Stop::Refused(reason) => Err(refuse(reason).at("")),
        _ => Ok(RunResult::of(view, &run, &outcome)),
    }
}

/// Decodes the members of a list, each with the place where it stands.
fn each<T, R>(
    all: &[T],
    place: &str,
    mut decode: impl FnMut(&T, &str) -> Answer<R>,
) -> Answer<Vec<R>> {
    all.iter().enumerate().map(|(at, one)| decode(one, &format!("{place}/{at}"))).collect()
}

/// The bits of a number that people wrote, of a width when one is given.
fn number(text: &str, size: Option<u8>, place: &str) -> Answer<u128> {
    let number = Number::parse(text, size.or(Some(MAX_NUMBER_SIZE)));
    let number = number
        .map_err(|error| BridgeError::new(ErrorCode::InvalidValue, error.to_string()).at(place))?;
    let digits = number.hex();
    Ok(u128::from_str_radix(digits.trim_start_matches("0x"), 16).unwrap_or(0))
}

/// What to run.
#[derive(Debug, Deserialize, JsonSchema)]
struct RunRequest {
    /// The function to call, or the place to begin at: an address or a name.
    entry: String,
    /// What is passed to it, by the program's calling convention.
    #[schemars(length(max = 64))]
    arguments: Option<Vec<ArgumentValue>>,
    /// Registers that begin with other values than a call gives them.
    #[schemars(length(max = 256))]
    registers: Option<Vec<RegisterSetting>>,
    /// Bytes put into memory before; where the program has none there is some then.
    #[schemars(length(max = 256))]
    memory: Option<Vec<MemoryPart>>,
    /// Functions that are answered and not run. Imports that neither a hook nor a built-in model
    /// answers end the run.
    #[schemars(length(max = 256))]
    hooks: Option<Vec<HookRule>>,
    /// Places where the run ends.
    #[schemars(length(max = 256))]
    stop: Option<Vec<String>>,
    /// Registers to answer even if they did not change, by Ghidra's names.
    #[schemars(length(max = 256))]
    watch: Option<Vec<String>>,
    /// What it returns; when absent as its prototype says, else a word.
    returns: Option<ReturnKind>,
    /// Instructions after which the run ends.
    #[schemars(range(min = 1, max = 1_000_000_000), extend("default" = 10_000_000))]
    max_instructions: Option<u64>,
    /// After this many milliseconds the run ends.
    #[schemars(range(min = 100, max = 60_000), extend("default" = 10_000))]
    timeout_ms: Option<u32>,
    /// Which members to answer; all when absent.
    #[allow(dead_code)] // read from the JSON before decoding
    projection: Option<Projection>,
}

impl Request for RunRequest {}

/// One argument: exactly one member, and `size` beside `integer` or `float`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "emulation_argument")]
struct ArgumentValue {
    /// An integer as people write it: `5`, `-1`, `0xff`.
    integer: Option<String>,
    /// A floating point number.
    float: Option<f64>,
    /// Bytes of the integer (a word when absent) or of the float (8 when absent).
    #[schemars(range(min = 1, max = 8))]
    size: Option<u8>,
    /// An address or a name in the program.
    address: Option<String>,
    /// A text, put into memory with a zero byte behind; its address is passed.
    #[schemars(length(max = 65536))]
    text: Option<String>,
    /// Bytes, put into memory; their address is passed.
    bytes: Option<ByteSequence>,
    /// Room of so many zero bytes, for what the function writes; its address is passed.
    #[schemars(range(min = 1, max = 1_048_576))]
    buffer: Option<u32>,
}

impl ArgumentValue {
    fn value(&self, view: &View<'_>, place: &str) -> Answer<Argument> {
        let within = |name: &str| format!("{place}/{name}");
        let kinds = [
            self.integer.is_some(),
            self.float.is_some(),
            self.address.is_some(),
            self.text.is_some(),
            self.bytes.is_some(),
            self.buffer.is_some(),
        ];
        if kinds.iter().filter(|given| **given).count() != 1 {
            let message =
                "give exactly one of `integer`, `float`, `address`, `text`, `bytes` and `buffer`";
            return Err(BridgeError::new(ErrorCode::InvalidUnion, message).at(place));
        }
        if let Some(text) = &self.integer {
            let bits = number(text, self.size.or(Some(8)), &within("integer"))? as u64;
            return Ok(Argument::Integer { value: bits, size: self.size.map(u32::from) });
        }
        if let Some(value) = self.float {
            let size = self.size.unwrap_or(8);
            if size != 4 && size != 8 {
                let message = "a floating point number has 4 or 8 bytes";
                return Err(BridgeError::new(ErrorCode::InvalidValue, message).at(&within("size")));
            }
            return Ok(Argument::Float { value, size: size.into() });
        }
        if let Some(address) = &self.address {
            let address = view.address(address, &within("address"))?;
            return Ok(Argument::Integer { value: address.offset, size: None });
        }
        let bytes = match (&self.text, &self.bytes, self.buffer) {
            (Some(text), ..) => [text.as_bytes(), &[0]].concat(),
            (_, Some(bytes), _) => decode(bytes, &within("bytes"))?,
            (.., length) => vec![0; length.unwrap_or(0) as usize],
        };
        Ok(Argument::Bytes(bytes))
    }
}

/// A register and its value.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "register_setting")]
struct RegisterSetting {
    /// Ghidra's name, such as `RAX`.
    name: String,
    /// The number, as people write it.
    value: String,
}

impl RegisterSetting {
    fn value(&self, view: &View<'_>, place: &str) -> Answer<(String, u128)> {
        let mut known = view.bridge.session().language().registers();
        if !known.any(|(name, _)| name.eq_ignore_ascii_case(&self.name)) {
            let message = format!("the processor has no register {}", self.name);
            return Err(BridgeError::not_found("register", message).at(&format!("{place}/name")));
        }
        Ok((self.name.clone(), number(&self.value, None, &format!("{place}/value"))?))
    }
}

/// Bytes and where they go.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "memory_part")]
struct MemoryPart {
    /// The first byte's address.
    address: String,
    /// The bytes.
    bytes: ByteSequence,
}

/// A function that is answered and not run: exactly one of `returns`, `model` and `stops`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "emulation_hook")]
struct HookRule {
    /// The name of an import, or an address or a name in the program.
    function: String,
    /// It returns this number at once.
    returns: Option<String>,
    /// A built-in model answers, named as the function that it is of: `strlen`, `memcpy`, `malloc`.
    model: Option<String>,
    /// The run ends there.
    stops: Option<bool>,
}

impl HookRule {
    fn of(&self, view: &View<'_>, place: &str) -> Answer<Hook> {
        let action = match (&self.returns, &self.model, self.stops) {
            (Some(value), None, None) => {
                HookAction::Return(number(value, Some(8), &format!("{place}/returns"))? as u64)
            }
            (None, Some(model), None) => {
                if !model_names().any(|name| name == model) {
                    let message = format!("there is no model of {model}");
                    let place = format!("{place}/model");
                    return Err(BridgeError::not_found("model", message).at(&place));
                }
                HookAction::Model(model.clone())
            }
            (None, None, Some(true)) => HookAction::Stop,
            _ => {
                let message = "give exactly one of `returns`, `model` and `stops` (true)";
                return Err(BridgeError::new(ErrorCode::InvalidUnion, message).at(place));
            }
        };
        let program = &view.program;
        let mut named = program.symbols.named(&self.function);
        if named.any(|(_, symbol)| symbol.address.space == SpaceId::EXTERNAL) {
            return Ok(Hook { address: None, import: Some(self.function.clone()), action });
        }
        let address = view.code_address(&self.function, &format!("{place}/function"))?;
        Ok(Hook { address: Some(address.offset), import: None, action })
    }
}

/// What a function returns.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "emulation_return")]
enum ReturnKind {
    /// As the prototype says, else a word.
    #[default]
    Word,
    /// An integer of four bytes.
    Int32,
    /// An integer of eight bytes.
    Int64,
    /// A floating point number of four bytes.
    Float,
    /// A floating point number of eight bytes.
    Double,
}

impl ReturnKind {
    fn kind(self) -> ValueKind {
        match self {
            ReturnKind::Word => ValueKind::Unknown,
            ReturnKind::Int32 => ValueKind::Integer(4),
            ReturnKind::Int64 => ValueKind::Integer(8),
            ReturnKind::Float => ValueKind::Float(4),
            ReturnKind::Double => ValueKind::Float(8),
        }
    }
}

/// How a run went.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "emulation_result")]
struct RunResult {
    /// Why it ended, and where.
    stop: StopReason,
    /// What the function returned, when it did.
    returned: Option<ReturnedValue>,
    /// Instructions run.
    instructions: u64,
    /// For each argument that was put into memory: where, and what is there now.
    arguments: Vec<ArgumentAfter>,
    /// Registers that changed or were asked for.
    registers: Vec<RegisterAfter>,
    /// Other memory that changed; the stack is left out.
    memory: Vec<MemoryAfter>,
    /// The first 100 calls.
    calls: Vec<CallMade>,
    /// All calls.
    call_count: u64,
    /// Present and true when more memory changed than is told.
    truncated: Option<bool>,
}

impl Reply for RunResult {
    const IDENTITY: &'static [&'static str] = &["stop"];
}

/// Why a run ended, and where.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "emulation_stop")]
struct StopReason {
    /// One word: `returned`, `stop_address`, `instruction_limit`, `endless_loop`, `time_limit`,
    /// `cancelled`, `memory_limit`, `call_depth`, `stack_overflow`, `unmapped_read`,
    /// `unmapped_write`, `unmapped_code`, `write_protected`, `not_executable`, `bad_instruction`,
    /// `import`, `user_operation`, `division_by_zero`, `unsupported`.
    reason: String,
    /// The same in a sentence.
    message: String,
    /// The instruction that failed, or the next one.
    address: String,
}

/// What a function returned.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "returned_value")]
struct ReturnedValue {
    /// The integer register, in hexadecimal.
    integer: Option<String>,
    /// The same as a signed decimal number.
    signed: Option<String>,
    /// The floating point register, where it may be meant.
    float: Option<String>,
    /// The text that the integer is the address of.
    text: Option<String>,
}

/// An argument in memory, after the run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "argument_after")]
struct ArgumentAfter {
    /// Which argument, from 0.
    index: u32,
    /// Its address.
    address: String,
    /// Whether any of it changed.
    changed: bool,
    /// Its first 1024 bytes now, in hexadecimal.
    bytes: String,
    /// The same as a text, if they are one.
    text: Option<String>,
}

/// A register, after the run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "register_after")]
struct RegisterAfter {
    /// Ghidra's name.
    name: String,
    /// Its value, in hexadecimal.
    value: String,
}

/// Memory that changed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "memory_after")]
struct MemoryAfter {
    /// The first byte's address.
    address: String,
    /// The bytes now, in hexadecimal.
    bytes: String,
    /// The same as a text, if they are one.
    text: Option<String>,
}

/// A call that was made.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "call_made")]
struct CallMade {
    /// The instruction that called.
    from: String,
    /// Where to.
    to: String,
    /// The function there.
    name: Option<String>,
    /// Calls around it.
    depth: u32,
    /// Who answered: `code`, `model`, `hook` or `nobody`.
    answered_by: &'static str,
    /// The first words passed, where the program's own code did not answer.
    arguments: Option<Vec<String>>,
    /// The word returned, where the program's own code did not answer.
    result: Option<String>,
}

impl RunResult {
    fn of(view: &View<'_>, run: &Run, outcome: &Outcome) -> RunResult {
        let print = |offset: u64| view.print(program::Address::ram(offset));
        let hex = |value: u64| format!("{value:#x}");
        let returned = outcome.returned.as_ref().map(|value| ReturnedValue {
            integer: value.integer.map(hex),
            signed: value.integer.map(|bits| signed(bits, run.returns, view).to_string()),
            float: value.float.map(|number| format!("{number:?}")),
            text: shown(&value.pointed),
        });
        let registers = outcome.registers.iter().map(|register| RegisterAfter {
            name: register.name.clone(),
            value: format!("0x{}", digits(&register.bytes)),
        });
        let memory = outcome.memory.iter().filter(|change| change.argument.is_none());
        let calls = outcome.calls.iter().map(|call| CallMade {
            from: print(call.from),
            to: print(call.to),
            name: call.name.clone(),
            depth: call.depth,
            answered_by: match call.answered_by {
                AnsweredBy::Code => "code",
                AnsweredBy::Model => "model",
                AnsweredBy::Hook => "hook",
                AnsweredBy::Nobody => "nobody",
            },
            arguments: (call.answered_by != AnsweredBy::Code)
                .then(|| call.arguments.iter().copied().map(hex).collect()),
            result: call.result.map(hex),
        });
        RunResult {
            stop: StopReason {
                reason: outcome.stop.code().to_owned(),
                message: outcome.stop.to_string(),
                address: print(outcome.address),
            },
            returned,
            instructions: outcome.instructions,
            arguments: arguments_after(view, run, outcome),
            registers: registers.collect(),
            memory: memory
                .map(|change| MemoryAfter {
                    address: print(change.address),
                    bytes: digits(&change.bytes),
                    text: shown(&change.bytes),
                })
                .collect(),
            calls: calls.collect(),
            call_count: outcome.call_count,
            truncated: outcome.memory_truncated.then_some(true),
        }
    }
}

fn arguments_after(view: &View<'_>, run: &Run, outcome: &Outcome) -> Vec<ArgumentAfter> {
    let mut all = Vec::new();
    for (index, argument) in run.arguments.iter().enumerate() {
        let address = outcome.argument_addresses.get(index).copied().flatten();
        let (Argument::Bytes(before), Some(start)) = (argument, address) else { continue };
        let mut bytes = before.clone();
        for change in outcome.memory.iter().filter(|change| change.argument == Some(index)) {
            let at = usize::try_from(change.address.saturating_sub(start)).unwrap_or(usize::MAX);
            let there = bytes.get_mut(at..).unwrap_or_default();
            for (there, byte) in there.iter_mut().zip(&change.bytes) {
                *there = *byte;
            }
        }
        let changed = bytes != *before;
        bytes.truncate(SHOWN);
        all.push(ArgumentAfter {
            index: u32::try_from(index).unwrap_or(u32::MAX),
            address: view.print(program::Address::ram(start)),
            changed,
            bytes: digits(&bytes),
            text: shown(&bytes),
        });
    }
    all
}

fn signed(bits: u64, kind: ValueKind, view: &View<'_>) -> i64 {
    let size = match kind {
        ValueKind::Integer(size) => size,
        _ => view.bridge.session().language().pointer_size(),
    };
    let shift = 64 - 8 * size.clamp(1, 8);
    ((bits << shift) as i64) >> shift
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes up to the first zero as a text; nothing when it is empty or not printable.
fn shown(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text = std::str::from_utf8(&bytes[..end]).ok().filter(|text| !text.is_empty())?;
    let printable = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    text.chars().all(printable).then(|| text.to_owned())
}
