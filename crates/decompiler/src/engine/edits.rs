//! What is known about one function only, told to the engine before it decompiles it: variables,
//! flow overrides, comments.

use ghidra_decompiler::address::Address;
use ghidra_decompiler::architecture::Architecture;
use ghidra_decompiler::comment::Comment;
use ghidra_decompiler::database::{Database, ScopeId};
use ghidra_decompiler::error::Result;
use ghidra_decompiler::funcdata::Funcdata;
use ghidra_decompiler::varnode::Varnode;
use program::{Address as Place, CommentKind, Function, LocalVariable, Program};

use super::prototype::place;
use super::reach::Reach;
use super::symbols::{Symbols, engine_name, is_undefined};
use super::types::TypeMap;
use super::variables::is_named_late;

/// The engine's category of parameters.
const PARAMETERS: i32 = 0;

/// Keeps what has a type of its own apart: the engine gives such variables no other values, unless
/// the code itself does.
fn isolate_parameters(architecture: &mut Architecture, scope: ScopeId) {
    let Architecture { symboltab, types, .. } = architecture;
    let (Some(database), Some(factory)) = (symboltab.as_deref_mut(), types.as_deref()) else {
        return;
    };
    for index in 0..database.scope_get_category_size(scope, PARAMETERS) {
        let Some(symbol) = database.scope_get_category_symbol(scope, PARAMETERS, index) else {
            continue;
        };
        let symbol = database.symbol_mut(symbol);
        if symbol.is_type_locked() {
            symbol.set_isolated(true, factory);
        }
    }
}

/// Tells the engine about a function's variables.
pub(crate) fn feed_locals(
    data: &mut Funcdata,
    architecture: &mut Architecture,
    program: &Program,
    types: &mut TypeMap,
    symbols: &Symbols,
    function: &Function,
) -> Result<()> {
    let Some(scope) = data.get_scope_local() else { return Ok(()) };
    isolate_parameters(architecture, scope);
    let mut named = false;
    for local in &function.locals {
        let Ok(data_type) = types.get(architecture, &program.types, local.data_type) else {
            continue;
        };
        let undefined = is_undefined(&program.types, local.data_type);
        let locked = local.type_locked || !undefined;
        let late = is_named_late(local);
        if late && !locked {
            continue;
        }
        let (name, named_now) =
            if late { (String::new(), 0) } else { (engine_name(&local.name), Varnode::NAMELOCK) };
        let flags = if locked { named_now | Varnode::TYPELOCK } else { named_now };
        let first_use = first_use(symbols, function.entry, local);
        let symbol = if local.hash != 0 {
            let Architecture { symboltab, types, .. } = architecture;
            let (Some(database), Some(factory)) = (symboltab.as_deref_mut(), types.as_deref())
            else {
                continue;
            };
            database.scope_add_dynamic_symbol(
                scope,
                &name,
                Some(data_type),
                &first_use,
                local.hash,
                factory,
            )?
        } else {
            let Some(address) = place(architecture, &local.storage) else { continue };
            let added = Database::scope_add_symbol_at(
                architecture,
                scope,
                &name,
                Some(data_type),
                &address,
                &first_use,
            );
            // Variables that overlap are no error of the function's.
            let Ok(entry) = added else { continue };
            architecture.symboltab_ref()?.entry(entry).get_symbol()
        };
        let Architecture { symboltab, types, .. } = architecture;
        if let (Some(database), Some(factory)) = (symboltab.as_deref_mut(), types.as_deref()) {
            database.scope_set_attribute(factory, scope, symbol, flags);
            if locked {
                database.symbol_mut(symbol).set_isolated(true, factory);
            }
        }
        named |= !locked;
    }
    if named {
        let Architecture { symboltab, types, .. } = architecture;
        if let (Some(database), Some(factory)) = (symboltab.as_deref_mut(), types.as_deref()) {
            database.local_collect_name_recs(scope, factory)?;
        }
    }
    Ok(())
}

fn first_use(symbols: &Symbols, entry: Place, local: &LocalVariable) -> Address {
    let on_stack = local
        .storage
        .pieces()
        .first()
        .is_some_and(|piece| piece.address.space == program::SpaceId::STACK);
    if on_stack && local.hash == 0 {
        return Address::invalid();
    }
    let offset = entry.offset.wrapping_add_signed(i64::from(local.first_use as i32));
    symbols.address(Place::new(entry.space, offset))
}

/// Tells the engine about flow that is not what the instructions say, wherever the function runs.
pub(crate) fn feed_flow(data: &mut Funcdata, symbols: &Symbols, reach: &Reach) -> Result<()> {
    for (at, change) in &reach.changes {
        data.get_override().insert_flow_override(&symbols.address(*at), change)?;
    }
    Ok(())
}

/// Tells the engine about the comments it prints: those above instructions, and the one that
/// stands before the function. They come after the engine's own at the same place.
pub(crate) fn feed_comments(
    architecture: &mut Architecture,
    program: &Program,
    symbols: &Symbols,
    function: &Function,
) {
    let entry = symbols.address(function.entry);
    let Some(database) = architecture.commentdb.as_deref_mut() else { return };
    for range in function.body.ranges() {
        let first = (range.start, CommentKind::Eol);
        let last = (range.end, CommentKind::Repeatable);
        for ((address, kind), text) in program.comments.range(first..=last) {
            let printed = match kind {
                CommentKind::Pre => Comment::USER2,
                CommentKind::Plate if *address == function.entry => Comment::HEADER,
                _ => continue,
            };
            database.add_comment(printed, &entry, &symbols.address(*address), text);
        }
    }
}
