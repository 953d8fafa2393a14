//! What stands around an entry of debug information: static variables of functions are named
//! after the function and the blocks that they are in.

use super::Entry;
use super::types::Types;
use program::{Program, SymbolId, SymbolKind};

/// One entry around another.
#[derive(Default)]
pub(super) struct Around {
    /// The name of a function or block; nothing for other entries.
    name: Option<String>,
    /// Where a function is in, if this is one.
    function_in: Option<SymbolId>,
    /// Blocks seen inside so far.
    blocks: u32,
}

impl Around {
    /// A function of a name.
    pub(super) fn function<'a>(
        program: &Program,
        types: &Types<'_, 'a>,
        entry: &Entry<'_, 'a>,
    ) -> Option<Around> {
        let start = types.source.stated_start(entry).map(|stated| types.source.shifted(stated));
        let function = start.and_then(|at| program.functions.at(at));
        let symbol = function.and_then(|f| program.symbols.get(f.symbol));
        Some(Around {
            name: Some(types.source.name(entry)?),
            function_in: Some(symbol.map_or(SymbolId::GLOBAL, |symbol| symbol.parent)),
            blocks: 0,
        })
    }

    /// The next block right inside, numbered as all around it are.
    pub(super) fn next_block(&mut self) -> Option<Around> {
        let name = match self.function_in {
            Some(_) => "lexical_block",
            None => self.name.as_deref()?,
        };
        let name = format!("{name}_{}", self.blocks);
        self.blocks += 1;
        Some(Around { name: Some(name), ..Around::default() })
    }
}

/// The namespace of what a function or a block of it declares; `None` outside of functions.
pub(super) fn namespace(program: &mut Program, around: &[Around]) -> Option<SymbolId> {
    let first = around.iter().rposition(|entry| entry.function_in.is_some())?;
    let inner = around.get(first..)?;
    let names: Option<Vec<&String>> = inner.iter().map(|entry| entry.name.as_ref()).collect();
    let mut parent = inner.first()?.function_in?;
    for name in names? {
        parent = program.symbols.namespace(name, parent, SymbolKind::Namespace);
    }
    Some(parent)
}
