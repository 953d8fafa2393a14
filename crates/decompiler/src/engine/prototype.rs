//! Prototypes, told to the engine for the function decompiled and for those it calls.

use ghidra_decompiler::address::Address;
use ghidra_decompiler::architecture::Architecture;
use ghidra_decompiler::error::Result;
use ghidra_decompiler::fspec::{
    FuncProto, ModelId, ParameterPieces, ProtoModel, PrototypePieces, assign_storage_glb,
};
use ghidra_decompiler::funcdata::Funcdata;
use ghidra_decompiler::types::{TypeId as EngineType, TypeMetatype};
use program::{
    Function, Program, Signature, SourceType, SpaceId, Storage, TypeId, TypeKind, parameter_name,
};

use super::types::TypeMap;
use super::variables::has_names_only;

/// Bytes of the return address on the stack, where conventions differ in who takes arguments away:
/// on 32-bit x86.
const RETURN_ADDRESS: i32 = 4;

/// Whether a function has anything to say that the engine would not assume.
pub(crate) fn is_telling(program: &Program, function: &Function) -> bool {
    says_types(program, &function.signature)
        || function.no_return
        || function.inline
        || function.call_fixup.is_some()
        || function.signature.convention.is_some()
        || function.stack_purge.is_some()
}

/// Whether anything is known about what a function takes and returns, names aside.
fn says_types(program: &Program, signature: &Signature) -> bool {
    signature.source != SourceType::Default
        || signature.varargs
        || !program.types.is_undefined(signature.return_type)
        || !has_names_only(program, signature)
}

/// Whether nobody said what a function takes: the engine finds out, whatever it returns.
fn takes_anything(program: &Program, signature: &Signature) -> bool {
    has_names_only(program, signature) && !signature.varargs
}

/// Whether nothing speaks against the usual convention: a user's prototype is laid out by it, and
/// the engine finds out by itself what a function of any parameters takes.
fn is_laid_out(program: &Program, signature: &Signature) -> bool {
    signature.source == SourceType::UserDefined || takes_anything(program, signature)
}

/// Sets what is known about how a function is called; how many parameters had to be left out.
pub(crate) fn feed(
    data: &mut Funcdata,
    architecture: &mut Architecture,
    program: &Program,
    types: &mut TypeMap,
    function: &Function,
) -> Result<usize> {
    let signature = &function.signature;
    let model = match &signature.convention {
        Some(name) => Some(named_model(architecture, name)?),
        None if says_types(program, signature) && !is_laid_out(program, signature) => {
            Some(unknown_model(architecture)?)
        }
        None => None,
    };
    if model.is_some() {
        data.get_func_proto_mut().set_model(model, architecture);
        data.get_func_proto_mut().set_model_lock(signature.convention.is_some());
    }
    let mut unplaced = 0;
    if says_types(program, signature) {
        unplaced = feed_signature(data, architecture, program, types, signature)?;
    }
    let prototype = data.get_func_proto_mut();
    if function.no_return {
        prototype.set_no_return(true);
    }
    if function.inline {
        prototype.set_inline(true);
    }
    if let Some(purge) = function.stack_purge {
        let model = architecture.defaultfp.and_then(|id| architecture.proto_models.try_get(id));
        let pop = model.map(|model| model.get_extra_pop());
        // What a call leaves behind when nothing is purged: the return address, where it is
        // on the stack. Conventions by which callees purge do not tell.
        let known = pop.filter(|pop| *pop != ProtoModel::EXTRAPOP_UNKNOWN);
        let plain = known.unwrap_or(RETURN_ADDRESS);
        prototype.set_extra_pop(plain.saturating_add(purge));
    }
    if let Some(fixup) = &function.call_fixup {
        feed_call_fixup(data, architecture, fixup);
    }
    Ok(unplaced)
}

/// Whether nothing is known about a result, not even its size.
fn is_open(program: &Program, returned: TypeId) -> bool {
    program.types.get(returned).is_none_or(|known| &*known.name == "undefined")
}

/// The model of functions whose parameters are known but not how they are passed.
fn unknown_model(architecture: &mut Architecture) -> Result<ModelId> {
    named_model(architecture, "unknown")
}

/// The model of a name. One that the processor does not know is its usual one under that name.
fn named_model(architecture: &mut Architecture, name: &str) -> Result<ModelId> {
    match architecture.get_model(name) {
        Some(known) => Ok(known),
        None => architecture.create_unknown_model(name),
    }
}

/// How many parameters come before the first of which only a name is known; `None` where there is
/// no such one.
pub(crate) fn known_before(program: &Program, signature: &Signature) -> Option<usize> {
    let parameters = &signature.parameters;
    let unknown = parameters.iter().position(|p| program.types.is_stand_in(p.data_type));
    unknown.filter(|_| !signature.custom_storage)
}

fn feed_signature(
    data: &mut Funcdata,
    architecture: &mut Architecture,
    program: &Program,
    types: &mut TypeMap,
    signature: &Signature,
) -> Result<usize> {
    let takes_anything = takes_anything(program, signature);
    let partial = known_before(program, signature);
    let kept = match partial {
        _ if takes_anything => &[],
        Some(known) => signature.parameters.get(..known).unwrap_or_default(),
        None => signature.parameters.as_slice(),
    };
    let written = kept.iter();
    // A structure returned through a hidden pointer: what really comes back is that pointer.
    let hidden = written.clone().find(|parameter| {
        parameter.automatic && parameter.name.starts_with("__return_storage_ptr")
    });
    let returned = hidden.map_or(signature.return_type, |parameter| parameter.data_type);
    let mut pieces = PrototypePieces {
        model: data.get_func_proto().get_model().or(architecture.defaultfp),
        name: data.get_name().to_string(),
        outtype: Some(types.get(architecture, &program.types, returned)?),
        intypes: Vec::new(),
        innames: Vec::new(),
        first_var_arg_slot: -1,
    };
    let mut meant = Vec::new();
    for (index, parameter) in written.clone().enumerate() {
        let data_type = types.get(architecture, &program.types, parameter.data_type)?;
        meant.push(data_type);
        let passed = passed_as(architecture, program, parameter.data_type)?.unwrap_or(data_type);
        pieces.intypes.push(passed);
        pieces.innames.push(match partial {
            Some(_) => parameter_name(&signature.parameters, index),
            None => parameter.name.to_string(),
        });
    }
    let unplaced = leave_out_unplaced(&mut pieces, architecture)?;
    meant.truncate(pieces.intypes.len());
    if signature.varargs {
        pieces.first_var_arg_slot = i32::try_from(pieces.intypes.len()).unwrap_or(i32::MAX);
    }
    let mut prototype = std::mem::take(data.get_func_proto_mut());
    let set = prototype.set_pieces(&pieces, architecture);
    // Known parameters keep the model, known or not, as they are.
    let locked = signature.convention.is_some() || prototype.is_input_locked(architecture);
    prototype.set_model_lock(locked);
    if set.is_ok() && is_open(program, signature.return_type) {
        prototype.set_output_lock(false, architecture);
    }
    if set.is_ok() && takes_anything {
        prototype.set_input_lock(false, architecture);
    }
    if set.is_ok() && partial.is_some() {
        // What is known is offered; the engine finds out how it goes on.
        prototype.set_input_lock(false, architecture);
        for index in 0..prototype.num_params(architecture) {
            offer_name(&mut prototype, index, architecture);
        }
    } else if set.is_ok() {
        for (index, (parameter, data_type)) in written.zip(meant).enumerate() {
            let differs = pieces.intypes[index] != data_type;
            let number = i32::try_from(index).unwrap_or(i32::MAX);
            let set_by_hand = signature.custom_storage.then_some(&parameter.storage);
            let address = match set_by_hand.and_then(|storage| place(architecture, storage)) {
                Some(address) => address,
                None if differs => match prototype.get_param(number, architecture) {
                    Some(known) => known.get_address(architecture),
                    None => continue,
                },
                None => continue,
            };
            let piece = ParameterPieces {
                addr: address,
                tp: Some(data_type),
                flags: ParameterPieces::TYPELOCK | ParameterPieces::NAMELOCK,
            };
            prototype.set_param(number, &parameter.name, &piece, architecture)?;
        }
    }
    *data.get_func_proto_mut() = prototype;
    set.map(|()| unplaced)
}

/// Keeps the name of a parameter of which the engine may find another type.
fn offer_name(prototype: &mut FuncProto, index: i32, architecture: &mut Architecture) {
    if let Some(parameter) = prototype.get_param(index, architecture) {
        parameter.set_name_lock(true, architecture);
    }
}

/// The type by which a value is passed whose own the engine cannot look into: it sees nothing of
/// fields that are less than a byte.
fn passed_as(
    architecture: &mut Architecture,
    program: &Program,
    data_type: TypeId,
) -> Result<Option<EngineType>> {
    let known = program.types.get(program.types.resolve(data_type));
    let Some(TypeKind::Struct { fields, .. }) = known.map(|known| &known.kind) else {
        return Ok(None);
    };
    let length = known.and_then(|known| known.length).unwrap_or(0);
    if !(1..=16).contains(&length) || fields.iter().all(|field| field.bits.is_none()) {
        return Ok(None);
    }
    let factory = architecture.types_mut()?;
    let (element, count) = match length {
        1 | 2 | 4 | 8 => (length, 1),
        _ => (1, length),
    };
    let size = |number: u32| i32::try_from(number).unwrap_or(1);
    let element = factory.get_base(size(element), TypeMetatype::Uint)?;
    match count {
        1 => Ok(Some(element)),
        _ => factory.get_type_array(size(count), element).map(Some),
    }
}

/// Takes out the parameters from the first one on that the convention has no place for, which the
/// engine cannot bear; how many they are.
fn leave_out_unplaced(
    pieces: &mut PrototypePieces,
    architecture: &mut Architecture,
) -> Result<usize> {
    let Some(model) = pieces.model else { return Ok(0) };
    let mut passed = Vec::new();
    assign_storage_glb(model, pieces, &mut passed, true, architecture)?;
    let count = pieces.intypes.len();
    // The result comes first, and a hidden pointer to it may follow.
    let inputs = &passed[passed.len().saturating_sub(count)..];
    let placed = inputs.iter().position(|piece| piece.addr.is_invalid()).unwrap_or(count);
    pieces.intypes.truncate(placed);
    pieces.innames.truncate(placed);
    Ok(count - placed)
}

/// Where a value of one piece lives, in the engine's terms.
pub(crate) fn place(architecture: &Architecture, storage: &Storage) -> Option<Address> {
    let [piece] = storage.pieces() else { return None };
    let manager = &architecture.manager;
    let space = match piece.address.space {
        SpaceId::RAM => manager.get_default_data_space(),
        SpaceId::STACK => manager.get_stack_space(),
        SpaceId::REGISTER => manager.get_space_by_name("register"),
        _ => None,
    }?;
    let offset = space.wrap_offset(piece.address.offset);
    Some(Address::new(space, offset))
}

fn feed_call_fixup(data: &mut Funcdata, architecture: &mut Architecture, name: &str) {
    use ghidra_decompiler::pcodeinject::CALLFIXUP_TYPE;
    let library = architecture.pcodeinjectlib.as_deref();
    let id = library.map_or(-1, |library| library.get_payload_id(CALLFIXUP_TYPE, name));
    if id >= 0 {
        data.get_func_proto_mut().set_inject_id(id);
    }
}
