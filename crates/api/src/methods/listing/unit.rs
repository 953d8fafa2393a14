//! Code units of every kind, and defined data.

use engine::InstructionPrinter;
use program::{Address, CodeUnit as Unit, Program, TypeId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bytes;
use crate::error::{BridgeError, ErrorCode};
use crate::method::{Answer, Method};
use crate::methods::data_type::reference::DataTypeReference;
use crate::methods::name;
use crate::shapes::{ByteSequence, Encoding, Reply, Scan, ScanPage};
use crate::view::{Place, View};
use crate::walk::{OpenEnd, Walk, position};

/// Most bytes of one unit that are answered; larger arrays are read with `memory.read`.
const MAX_UNIT_BYTES: u64 = 4096;

pub(crate) fn methods() -> Vec<Method> {
    vec![
        Method::read(
            "code_unit.list",
            "Walk instructions, data and undefined bytes in address order.",
            code_list,
        )
        .brief(&["text"])
        .cost("Grows with the units walked over."),
        Method::read("data_unit.list", "Walk defined data in address order.", data_list)
            .brief(&["value"])
            .cost(
                "Grows with the data items walked over, matching or not; `text` also reads every string.",
            ),
    ]
}

fn code_list(view: &View<'_>, request: Scan<CodeUnitFilter>) -> Answer<ScanPage<CodeUnit>> {
    let kind = request.filter.unwrap_or_default().kind.unwrap_or_default();
    let walk = Walk::new(view, request.page.as_ref(), request.scan.as_ref(), OpenEnd::OfSpace)?;
    let mut printer = InstructionPrinter::new(view.bridge.session());
    let listing = &view.program.listing;
    let describe = |(address, unit)| Ok(Some(CodeUnit::of(view, &mut printer, address, unit)));
    match kind {
        UnitKind::All => {
            let range = walk.next_address().map(|start| (start, walk.last()));
            let units = range.into_iter().flat_map(|(from, to)| view.program.units(from, to));
            walk.run(view, units.map(|(at, unit)| (position(at, 0), (at, unit))), describe)
        }
        UnitKind::Instruction => {
            let found = listing.instructions.range(walk.addresses());
            let units = found.map(|(at, unit)| (*at, Unit::Instruction(*unit)));
            walk.run(view, units.map(|(at, unit)| (position(at, 0), (at, unit))), describe)
        }
        UnitKind::Data => {
            let found = listing.data.range(walk.addresses());
            let units = found.map(|(at, unit)| (*at, Unit::Data(*unit)));
            walk.run(view, units.map(|(at, unit)| (position(at, 0), (at, unit))), describe)
        }
    }
}

fn data_list(view: &View<'_>, request: Scan<DataUnitFilter>) -> Answer<ScanPage<DataUnit>> {
    let filter = request.filter.unwrap_or_default();
    let program = &view.program;
    let types = filter.data_type.as_deref().map(|name| types_called(program, name)).transpose()?;
    let part = name::Part::exact(filter.text.as_deref(), filter.case_sensitive.unwrap_or(false));
    let walk = Walk::new(view, request.page.as_ref(), request.scan.as_ref(), OpenEnd::OfSpace)?;
    let found = program.listing.data.range(walk.addresses());
    let candidates = found.map(|(address, unit)| (position(*address, 0), (*address, unit)));
    walk.run(view, candidates, |(address, unit)| {
        let fits = types.as_ref().is_none_or(|types| types.contains(&unit.data_type))
            && filter.string.is_none_or(|text| text == program.is_text_type(unit.data_type))
            && (part.is_empty() || holds_text(program, address, unit, &part));
        Ok(fits.then(|| DataUnit::of(view, address, unit)))
    })
}

/// Whether a data item is a string that holds a text.
fn holds_text(
    program: &Program,
    address: Address,
    unit: &program::DataUnit,
    part: &name::Part<'_>,
) -> bool {
    program.is_text_type(unit.data_type)
        && part.is_in(&program.data_value(address, unit.data_type, unit.length))
}

/// The types of a path, or of a name.
fn types_called(program: &Program, name: &str) -> Answer<Vec<TypeId>> {
    let name = name.trim();
    let at_path = program.types.at_path(name);
    let found: Vec<TypeId> = at_path.into_iter().chain(program.types.named(name)).collect();
    if found.is_empty() {
        let message = format!(
            "no data type has the name or path {}; data_type.list shows those in use",
            name.chars().take(64).collect::<String>()
        );
        return Err(BridgeError::new(ErrorCode::InvalidDataType, message).at("/filter/data_type"));
    }
    Ok(found)
}

/// The bytes of a unit, as far as memory holds them; cut for very large units.
pub(super) fn unit_bytes(program: &Program, address: Address, length: u64) -> Option<ByteSequence> {
    let mut data = vec![0; length.min(MAX_UNIT_BYTES) as usize];
    let read = program.memory.read(address, &mut data).ok()?;
    Some(bytes::encode(&data[..read], Encoding::Hex))
}

/// The bytes of a unit, if they will be answered.
fn wanted_bytes(view: &View<'_>, address: Address, length: u64) -> Option<ByteSequence> {
    view.wants("bytes").then(|| unit_bytes(&view.program, address, length)).flatten()
}

/// True when a unit's bytes are asked for and longer than what is answered.
fn bytes_cut(view: &View<'_>, length: u64) -> bool {
    length > MAX_UNIT_BYTES && view.wants("bytes")
}

/// True when a unit's text is longer than what is answered.
fn text_cut(view: &View<'_>, address: Address, unit: &program::DataUnit) -> bool {
    view.program.is_text_cut(address, unit.data_type, unit.length)
}

/// Which code units to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct CodeUnitFilter {
    /// All units, instructions only, or defined data only.
    kind: Option<UnitKind>,
}

/// Kinds of code units one may ask for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum UnitKind {
    #[default]
    All,
    Data,
    Instruction,
}

/// One code unit.
#[derive(Debug, Serialize, JsonSchema)]
struct CodeUnit {
    /// Where it starts.
    address: String,
    /// `instruction`, `data` or `undefined`.
    kind: &'static str,
    /// Its length in bytes.
    length: u64,
    /// Its bytes; absent where memory holds none.
    bytes: Option<ByteSequence>,
    /// As it is shown in a listing.
    text: String,
    /// The instruction's name.
    mnemonic: Option<String>,
    /// The instruction's operands as text.
    operands: Option<Vec<String>>,
    /// The data's type.
    data_type: Option<DataTypeReference>,
    /// True when `bytes` or `text` is only the unit's beginning; `memory.read` gives the rest.
    truncated: Option<bool>,
}

impl CodeUnit {
    fn of(
        view: &View<'_>,
        printer: &mut InstructionPrinter,
        address: Address,
        unit: Unit,
    ) -> CodeUnit {
        let row = CodeUnit {
            address: view.print(address),
            kind: "undefined",
            length: unit.length(),
            bytes: wanted_bytes(view, address, unit.length()),
            text: String::new(),
            mnemonic: None,
            operands: None,
            data_type: None,
            truncated: bytes_cut(view, unit.length()).then_some(true),
        };
        match unit {
            Unit::Instruction(instruction) => {
                let shown = printer.text(&view.program, address, &instruction).unwrap_or_default();
                let (mnemonic, operands) = (Some(shown.mnemonic), Some(shown.operands));
                CodeUnit { kind: "instruction", text: shown.text, mnemonic, operands, ..row }
            }
            Unit::Data(data) => {
                let data_type = Some(DataTypeReference::of(&view.program, data.data_type));
                let text = view.program.data_text(address, data.data_type, data.length);
                let cut = text_cut(view, address, &data);
                let truncated = row.truncated.or(cut.then_some(true));
                CodeUnit { kind: "data", text, data_type, truncated, ..row }
            }
            Unit::Undefined => {
                let undefined = view.program.types.builtin("undefined1");
                let shown = view.program.data_representation(address, undefined, 1);
                CodeUnit { text: format!("?? {shown}"), ..row }
            }
        }
    }
}

impl Reply for CodeUnit {
    const IDENTITY: &'static [&'static str] = &["address"];
}

/// Which data to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct DataUnitFilter {
    /// Only data of this type, by name or path.
    #[schemars(length(min = 1))]
    data_type: Option<String>,
    /// True for strings only, false for everything else.
    string: Option<bool>,
    /// Only strings that hold this text, in their first 64 KiB.
    #[schemars(length(min = 1, max = 1024))]
    text: Option<String>,
    /// True to match `text` in its case only; false when absent.
    case_sensitive: Option<bool>,
}

/// One defined data item.
#[derive(Debug, Serialize, JsonSchema)]
struct DataUnit {
    /// Where it starts.
    address: String,
    /// Its length in bytes.
    length: u64,
    /// Its type.
    data_type: DataTypeReference,
    /// Its value as text; the content of a string.
    value: String,
    /// Its value as a listing shows it.
    representation: String,
    /// The name shown at its address.
    name: Option<String>,
    /// What it refers to: a pointer's place, the import of an import slot.
    target: Option<Place>,
    /// Its bytes; absent where memory holds none.
    bytes: Option<ByteSequence>,
    /// True when `bytes`, `value` or `representation` is only the item's beginning;
    /// `memory.read` gives the rest.
    truncated: Option<bool>,
}

impl DataUnit {
    fn of(view: &View<'_>, address: Address, unit: &program::DataUnit) -> DataUnit {
        let program = &view.program;
        DataUnit {
            address: view.print(address),
            length: u64::from(unit.length),
            data_type: DataTypeReference::of(program, unit.data_type),
            value: program.data_value(address, unit.data_type, unit.length),
            representation: program.data_representation(address, unit.data_type, unit.length),
            name: view.wants("name").then(|| program.label_at(address)).flatten(),
            target: view.wants("target").then(|| target(view, address)).flatten(),
            bytes: wanted_bytes(view, address, u64::from(unit.length)),
            truncated: (bytes_cut(view, u64::from(unit.length)) || text_cut(view, address, unit))
                .then_some(true),
        }
    }
}

/// What the data at an address refers to.
fn target(view: &View<'_>, address: Address) -> Option<Place> {
    let mut references = view.program.references.from(address);
    references.find(|reference| reference.info.primary).map(|reference| view.place(reference.to))
}

impl Reply for DataUnit {
    const IDENTITY: &'static [&'static str] = &["address"];
}
