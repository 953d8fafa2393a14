//! Calling conventions as plain facts: where values pass, what a call changes.

use ghidra_decompiler::address::Address;
use ghidra_decompiler::architecture::Architecture;
use ghidra_decompiler::fspec::{
    EffectRecord, ModelId, ParameterPieces, ProtoModel, PrototypePieces, assign_storage_glb,
};
use ghidra_decompiler::space::SpaceType;
use ghidra_decompiler::types::TypeMetatype;

use crate::language::{Language, RegisterVarnode};

/// Pointer-sized arguments whose places are kept.
const ARGUMENTS: usize = 12;

/// Where an argument or result is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValuePlace {
    /// In a register.
    Register(RegisterVarnode),
    /// On the stack, at this distance from the stack pointer at the callee's entry.
    Stack(i64),
}

/// What one calling convention says, as far as analysis asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Convention {
    /// Its name.
    pub name: String,
    /// Where the first pointer-sized arguments pass.
    pub arguments: Vec<ValuePlace>,
    /// Where a pointer-sized result is returned.
    pub result: Option<ValuePlace>,
    /// Registers that do not survive a call.
    pub killed: Vec<RegisterVarnode>,
    /// Registers that hold the same after a call as before.
    pub preserved: Vec<RegisterVarnode>,
    /// Bytes that a call leaves the stack pointer higher by; `None` when the callee decides.
    pub extra_pop: Option<i32>,
}

impl Language {
    /// The facts of a calling convention, by name.
    pub fn convention(&self, name: &str) -> Option<&Convention> {
        self.tables.convention_facts.iter().find(|known| known.name == name)
    }
}

/// The facts of all named conventions of an architecture.
pub(crate) fn read(architecture: &mut Architecture, names: &[String]) -> Vec<Convention> {
    let models: Vec<(String, ModelId)> = names
        .iter()
        .filter_map(|name| Some((name.clone(), *architecture.proto_model_map.get(name)?)))
        .collect();
    models.into_iter().map(|(name, model)| convention(architecture, name, model)).collect()
}

fn convention(architecture: &mut Architecture, name: String, model: ModelId) -> Convention {
    let pieces = storage(architecture, model).unwrap_or_default();
    let place = |piece: &ParameterPieces| value_place(&piece.addr, architecture);
    let result = pieces.first().and_then(place);
    let arguments = pieces.iter().skip(1).map_while(place).collect();
    let model = architecture.proto_models.try_get(model);
    let effects = model.map(ProtoModel::get_effects).unwrap_or_default();
    let registers = |kind: u32| {
        let chosen = effects.iter().filter(|effect| effect.get_type() == kind);
        let register = |effect: &EffectRecord| {
            let ValuePlace::Register(register) = value_place(&effect.get_address(), architecture)?
            else {
                return None;
            };
            let size = u32::try_from(effect.get_size()).ok()?;
            Some(RegisterVarnode { offset: register.offset, size })
        };
        chosen.filter_map(register).collect()
    };
    let killed = registers(EffectRecord::KILLEDBYCALL);
    let preserved = registers(EffectRecord::UNAFFECTED);
    let pop = model.map_or(ProtoModel::EXTRAPOP_UNKNOWN, ProtoModel::get_extra_pop);
    let extra_pop = (pop != ProtoModel::EXTRAPOP_UNKNOWN).then_some(pop);
    Convention { name, arguments, result, killed, preserved, extra_pop }
}

/// The places of a pointer-sized result and of as many pointer-sized arguments as fit.
fn storage(architecture: &mut Architecture, model: ModelId) -> Option<Vec<ParameterPieces>> {
    let size = architecture.manager.get_default_code_space()?.get_addr_size();
    let types = architecture.types.as_deref_mut()?;
    let word = types.get_base(i32::try_from(size).ok()?, TypeMetatype::Uint).ok()?;
    // Conventions without a stack take fewer arguments.
    (0..=ARGUMENTS).rev().find_map(|count| {
        let prototype = PrototypePieces {
            model: Some(model),
            name: String::new(),
            outtype: Some(word),
            intypes: vec![word; count],
            innames: vec![String::new(); count],
            first_var_arg_slot: -1,
        };
        let mut pieces = Vec::new();
        assign_storage_glb(model, &prototype, &mut pieces, true, architecture).ok()?;
        Some(pieces)
    })
}

fn value_place(address: &Address, architecture: &Architecture) -> Option<ValuePlace> {
    let space = address.get_space()?;
    let size = architecture.manager.get_default_code_space()?.get_addr_size();
    match space.get_type() {
        SpaceType::Spacebase => Some(ValuePlace::Stack(address.get_offset() as i64)),
        SpaceType::Processor if space.get_name() == "register" => {
            Some(ValuePlace::Register(RegisterVarnode { offset: address.get_offset(), size }))
        }
        _ => None,
    }
}
