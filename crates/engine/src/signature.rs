//! Prototypes that people edit: where their values pass, and what the decompiler knows of them
//! while nobody said anything.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use decompiler::{Decompilation, Limits, PassedStorage, Passing, assign_storage};
use program::{
    Address, Function, Parameter, Program, Signature, SourceType, Storage, SymbolKind, TypeId,
    TypeKind,
};

use crate::Session;

/// The convention that says nothing but "the usual one".
const DEFAULT_CONVENTION: &str = "default";
/// The convention of methods, which pass their object first.
const THIS_CALL: &str = "__thiscall";

/// The parameter by which the caller says where to put a result.
const RETURN_POINTER: &str = "__return_storage_ptr__";

fn stated_convention(signature: &Signature) -> Option<&str> {
    signature.convention.as_deref().filter(|name| *name != DEFAULT_CONVENTION)
}

/// Whether a function has a prototype with values that have no storage yet.
fn is_without_storage(program: &Program, function: &Function) -> bool {
    let signature = &function.signature;
    let open = |storage: &Storage| *storage == Storage::Unassigned;
    let result = open(&signature.return_storage);
    signature.source != SourceType::Default
        && !signature.custom_storage
        && function.thunk_of.is_none()
        && (result && !program.types.is_undefined(signature.return_type)
            || signature.parameters.iter().any(|parameter| open(&parameter.storage)))
}

impl Session {
    /// Decompiles inside of an edit, with the usual limits.
    pub fn decompile_now(&self, program: &Program, entry: Address) -> Decompilation {
        let never = Arc::new(AtomicBool::new(false));
        self.decompile(program, entry, &Limits::default(), &never)
    }

    /// Gives the values of a function's prototype their storage by its convention, with the
    /// parameters that the convention adds. Storage that was set by hand stays.
    ///
    /// # Errors
    /// Why the convention cannot pass these values.
    pub fn lay_out_signature(&self, program: &mut Program, entry: Address) -> Result<(), String> {
        let Some(function) = program.functions.at(entry).cloned() else { return Ok(()) };
        if function.signature.custom_storage {
            return Ok(());
        }
        let mut signature = function.signature.clone();
        signature.parameters.retain(|parameter| !parameter.automatic);
        let object = (signature.convention.as_deref() == Some(THIS_CALL))
            .then(|| object_type(program, &function));
        let written = signature.parameters.iter().map(|parameter| parameter.data_type);
        let types: Vec<TypeId> = object.into_iter().chain(written).collect();
        let passed = self.passed(program, &signature, &types)?;
        let mut next = function.next_variable;
        let mut storages = passed.parameters.into_iter();
        let mut automatic = Vec::new();
        let mut add = |name: &str, data_type: TypeId, storage: Storage| {
            let known = function.signature.parameters.iter();
            let known = known.clone().find(|p| p.automatic && &*p.name == name).map(|p| p.id);
            automatic.push(Parameter {
                name: name.into(),
                data_type,
                storage,
                source: SourceType::Analysis,
                automatic: true,
                id: known.unwrap_or_else(|| {
                    next += 1;
                    next - 1
                }),
            });
        };
        if let Some(storage) = passed.return_pointer {
            let pointer = program.types.pointer_to(signature.return_type);
            add(RETURN_POINTER, pointer, storage);
        }
        if let Some(object) = object {
            add("this", object, storages.next().unwrap_or_default());
        }
        for (parameter, storage) in signature.parameters.iter_mut().zip(storages) {
            parameter.storage = storage;
        }
        let undefined = program.types.is_undefined(signature.return_type);
        let unsaid = undefined && signature.source == SourceType::Default;
        signature.return_storage = if unsaid { Storage::Unassigned } else { passed.returned };
        automatic.append(&mut signature.parameters);
        signature.parameters = automatic;
        program.functions.edit(entry, |function| {
            function.signature = signature;
            function.next_variable = next;
        });
        Ok(())
    }

    /// The program with storage for the values of prototypes that analysis found, by their
    /// conventions; a result of which nobody said anything has none, as in Ghidra. Prototypes that
    /// the convention cannot pass stay without. Cost: linear in the functions with prototypes.
    pub(crate) fn laid_out(&self, mut program: Program) -> Program {
        let open: Vec<Arc<Function>> =
            program.functions.iter().filter(|f| is_without_storage(&program, f)).cloned().collect();
        if open.is_empty() {
            return program;
        }
        let Ok(mut passing) = Passing::new(self.language(), &program) else { return program };
        for function in open {
            let mut signature = function.signature.clone();
            let is_given = |parameter: &Parameter| &*parameter.name != RETURN_POINTER;
            let types: Vec<TypeId> =
                signature.parameters.iter().filter(|p| is_given(p)).map(|p| p.data_type).collect();
            let convention = stated_convention(&signature);
            let (returned, varargs) = (signature.return_type, signature.varargs);
            let passed = passing.assign(&program.types, convention, returned, &types, varargs);
            let Ok(passed) = passed else { continue };
            let mut storages = passed.parameters.into_iter();
            for parameter in &mut signature.parameters {
                let storage = if is_given(parameter) {
                    storages.next()
                } else {
                    passed.return_pointer.clone()
                };
                if parameter.storage == Storage::Unassigned {
                    parameter.storage = storage.unwrap_or_default();
                }
            }
            let is_open = signature.return_storage == Storage::Unassigned;
            if is_open && !program.types.is_undefined(returned) {
                signature.return_storage = passed.returned;
            }
            program.functions.edit(function.entry, |function| function.signature = signature);
        }
        program
    }

    fn passed(
        &self,
        program: &Program,
        signature: &Signature,
        types: &[TypeId],
    ) -> Result<PassedStorage, String> {
        let (convention, returned) = (stated_convention(signature), signature.return_type);
        assign_storage(self.language(), program, convention, returned, types, signature.varargs)
    }

    /// Keeps the parameters that the decompiler found for a function of which nobody said what it
    /// takes: their places only, or their types as well, which are then taken for granted.
    /// Parameters that are kept already keep their names. False when it cannot be decompiled.
    pub fn keep_found_parameters(
        &self,
        program: &mut Program,
        entry: Address,
        with_types: bool,
    ) -> bool {
        let Some(function) = program.functions.at(entry).cloned() else { return false };
        if function.signature.source != SourceType::Default {
            return true;
        }
        let found = self.decompile_now(program, entry);
        if !found.completed {
            return false;
        }
        let mut parameters = function.signature.parameters.clone();
        let mut next = function.next_variable;
        for (ordinal, variable) in found.parameters.iter().enumerate() {
            let data_type = match with_types {
                true => variable.type_of.intern(&mut program.types),
                false => bytes_type(program, variable.size),
            };
            match parameters.get_mut(ordinal) {
                Some(known) if with_types => known.data_type = data_type,
                Some(_) => {}
                None => {
                    parameters.push(Parameter {
                        name: "".into(),
                        data_type,
                        storage: variable.storage.clone(),
                        source: SourceType::Default,
                        automatic: false,
                        id: next,
                    });
                    next += 1;
                }
            }
        }
        parameters.iter().for_each(|parameter| program.types.mark_used(parameter.data_type));
        program.functions.edit(entry, |function| {
            function.signature.parameters = parameters;
            function.next_variable = next;
            if with_types {
                function.signature.source = SourceType::UserDefined;
            }
        });
        true
    }
}

/// Bytes of which only the number is known.
pub fn bytes_type(program: &mut Program, size: u32) -> TypeId {
    decompiler::TypeOf::Undefined(size).intern(&mut program.types)
}

/// What `this` points to: the structure that bears the name of the function's class, if there
/// is one.
fn object_type(program: &mut Program, function: &Function) -> TypeId {
    let class = program.symbols.get(program.function_namespace(function.entry));
    let class = class.filter(|symbol| symbol.kind == SymbolKind::Class);
    let name = class.map(|symbol| Arc::clone(&symbol.name)).unwrap_or_default();
    let structure = program.types.named(&name).find(|id| {
        program.types.get(*id).is_some_and(|t| matches!(t.kind, TypeKind::Struct { .. }))
    });
    let target = structure.unwrap_or_else(|| program.types.builtin("void"));
    program.types.pointer_to(target)
}
