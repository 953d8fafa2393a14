//! What the modules of a PDB file say: functions with their variables, static data, labels.

use super::frame::Frames;
use super::types::text;
use pdb2::{FallibleIterator, PdbInternalSectionOffset, Symbol, SymbolData, SymbolIter};

/// Variables of one function that are kept.
const VARIABLES: usize = 1 << 12;

/// A function that a module defines.
#[derive(Default)]
pub(super) struct Function {
    pub(super) place: PdbInternalSectionOffset,
    pub(super) name: String,
    /// 0 where it has none.
    pub(super) data_type: u32,
    pub(super) no_return: bool,
    pub(super) variables: Vec<Variable>,
    /// Whether the variables tell by themselves which of them are parameters.
    pub(super) flagged: bool,
    /// What locals and parameters are counted from.
    bases: (Option<u16>, Option<u16>),
}

/// A parameter or local variable.
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) data_type: u32,
    pub(super) parameter: bool,
    /// The register it is counted from and how far it is from there, if it stays in one place.
    pub(super) place: Option<(u16, i64)>,
    /// Ranges of code that told its place.
    told: u32,
}

/// Data of a module, or a label.
pub(super) struct Static {
    pub(super) place: PdbInternalSectionOffset,
    pub(super) name: String,
    /// `None` for a label.
    pub(super) data_type: Option<u32>,
    /// The function that it is declared in.
    pub(super) function: Option<(PdbInternalSectionOffset, String)>,
}

/// All that one module says.
#[derive(Default)]
pub(super) struct Module {
    pub(super) functions: Vec<Function>,
    pub(super) statics: Vec<Static>,
    /// Jumps that a linker put before functions, and where these are.
    pub(super) trampolines: Vec<PdbInternalSectionOffset>,
}

enum Scope {
    Function,
    /// Code of another function, whose variables are not this one's.
    Inlined,
    Block,
}

/// What a symbol says. The reader of places of variables takes their heads for granted, and counts
/// gaps behind them: those without one are damaged.
pub(super) fn parse<'s>(symbol: &Symbol<'s>) -> Option<SymbolData<'s>> {
    // With the kind before it.
    let head = match symbol.raw_kind() {
        0x113f | 0x1141 | 0x1142 => 14,
        0x1140 | 0x1143 | 0x1145 => 18,
        _ => 0,
    };
    let whole = symbol.raw_bytes().len() >= head;
    whole.then(|| symbol.parse().ok())?
}

/// Reads a module's symbols up to the first that is damaged.
pub(super) fn read(mut symbols: SymbolIter<'_>, frames: &Frames) -> Module {
    let mut module = Module::default();
    let mut scopes: Vec<Scope> = Vec::new();
    let mut open: Option<Function> = None;
    while let Ok(Some(symbol)) = symbols.next() {
        if symbol.ends_scope() {
            if let Some(Scope::Function) = scopes.pop() {
                module.functions.extend(open.take());
            }
            continue;
        }
        let inlined = scopes.iter().any(|scope| matches!(scope, Scope::Inlined));
        let scope = match parse(&symbol) {
            Some(data) => {
                let function = open.as_mut().filter(|_| !inlined);
                take(&mut module, function, &data, frames);
                match data {
                    SymbolData::Procedure(_) | SymbolData::Thunk(_) if open.is_none() => {
                        open = start(&data);
                        Scope::Function
                    }
                    SymbolData::InlineSite(_) => Scope::Inlined,
                    _ => Scope::Block,
                }
            }
            None => Scope::Block,
        };
        if symbol.starts_scope() {
            scopes.push(scope);
        }
    }
    module.functions.extend(open);
    module
}

fn start(data: &SymbolData<'_>) -> Option<Function> {
    match data {
        SymbolData::Procedure(procedure) => Some(Function {
            place: procedure.offset,
            name: text(procedure.name.as_bytes()),
            data_type: procedure.type_index.0,
            no_return: procedure.flags.never,
            ..Function::default()
        }),
        SymbolData::Thunk(thunk) => {
            let name = text(thunk.name.as_bytes());
            let name = name.strip_prefix("[thunk]:").map_or(name.clone(), str::to_owned);
            Some(Function { place: thunk.offset, name, ..Function::default() })
        }
        _ => None,
    }
}

/// Takes in what one symbol says of the module or of the open function.
fn take(
    module: &mut Module,
    function: Option<&mut Function>,
    data: &SymbolData<'_>,
    frames: &Frames,
) {
    let inside = function.as_ref().map(|function| (function.place, function.name.clone()));
    match data {
        SymbolData::Data(data) => module.statics.push(Static {
            place: data.offset,
            name: text(data.name.as_bytes()),
            data_type: Some(data.type_index.0),
            function: inside,
        }),
        SymbolData::ThreadStorage(data) => module.statics.push(Static {
            place: data.offset,
            name: text(data.name.as_bytes()),
            data_type: Some(data.type_index.0),
            function: inside,
        }),
        SymbolData::Trampoline(jump) => module.trampolines.extend([jump.thunk, jump.target]),
        // Those that compilers number stand for nothing that a reader would look for.
        SymbolData::Label(label) if is_numbered(label.name.as_bytes()) => {}
        SymbolData::Label(label) => module.statics.push(Static {
            place: label.offset,
            name: text(label.name.as_bytes()),
            data_type: None,
            function: None,
        }),
        _ => {
            if let Some(function) = function {
                function.take(data, frames);
            }
        }
    }
}

impl Function {
    /// Whether locals are counted from elsewhere than parameters: from where the stack was aligned
    /// to, which nothing tells before the program runs.
    pub(super) fn is_realigned(&self) -> bool {
        matches!(self.bases, (Some(locals), Some(parameters)) if locals != parameters)
    }

    fn take(&mut self, data: &SymbolData<'_>, frames: &Frames) {
        match data {
            SymbolData::FrameProcedure(frame) => {
                let locals = frames.base(frame.flags.encoded_local_base_pointer);
                self.bases = (locals, frames.base(frame.flags.encoded_param_base_pointer));
            }
            SymbolData::Local(local) if !local.flags.isoptimizedout || local.flags.isparam => {
                self.flagged = true;
                self.add(local.name.as_bytes(), local.type_index.0, local.flags.isparam, None);
            }
            SymbolData::Local(_) => self.flagged = true,
            SymbolData::RegisterRelative(variable) => {
                let place = (variable.register.0, i64::from(variable.offset));
                let name = variable.name.as_bytes();
                self.add(name, variable.type_index.0, false, Some(place));
            }
            SymbolData::BasePointerRelative(variable) => {
                let place = (super::frame::EBP, i64::from(variable.offset));
                let name = variable.name.as_bytes();
                self.add(name, variable.type_index.0, false, Some(place));
            }
            SymbolData::RegisterVariable(variable) => {
                self.add(variable.name.as_bytes(), variable.type_index.0, false, None);
            }
            SymbolData::DefRangeFramePointerRelative(range) => self.told(range.offset),
            SymbolData::DefRangeFramePointerRelativeFullScope(range) => self.told(range.offset),
            SymbolData::DefRangeRegisterRelative(range) => {
                let place = (range.base_register.0, i64::from(range.offset_base_pointer));
                self.tell(Some(place));
            }
            SymbolData::DefRange(_)
            | SymbolData::DefRangeSubField(_)
            | SymbolData::DefRangeRegister(_)
            | SymbolData::DefRangeSubFieldRegister(_) => self.tell(None),
            _ => {}
        }
    }

    fn add(&mut self, name: &[u8], data_type: u32, parameter: bool, place: Option<(u16, i64)>) {
        if self.variables.len() < VARIABLES {
            let name = text(name).replace(' ', "_");
            self.variables.push(Variable { name, data_type, parameter, place, told: 0 });
        }
    }

    /// The last variable is so far from where its kind is counted from.
    fn told(&mut self, offset: i32) {
        let (locals, parameters) = self.bases;
        let Some(last) = self.variables.last() else { return };
        let base = if last.parameter { parameters } else { locals };
        self.tell(base.map(|base| (base, i64::from(offset))));
    }

    /// The last variable is there for a while: it stays there if nothing else is told.
    fn tell(&mut self, place: Option<(u16, i64)>) {
        let Some(last) = self.variables.last_mut() else { return };
        last.told += 1;
        match last.told {
            1 => last.place = place,
            _ if last.place != place => last.place = None,
            _ => {}
        }
    }
}

/// Whether a label has no name, or one that a compiler counted up: `$LN5`.
fn is_numbered(name: &[u8]) -> bool {
    name.is_empty() || name.starts_with(b"$LN")
}
