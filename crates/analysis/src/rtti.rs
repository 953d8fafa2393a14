//! Descriptions of types that Microsoft's C++ compilers lay down for `dynamic_cast` and `typeid`,
//! and the tables of virtual functions that lead to them, found by their content alone.
//!
//! Cost: linear in the data and code blocks, each word of which is looked at three times; no
//! description is read more often than it has words.

pub(crate) mod compiler;
pub(crate) mod describe;
pub(crate) mod image;
pub(crate) mod model;
mod tables;
pub(crate) mod types;

use crate::pass::{Analysis, Stopped};
use describe::Describer;
use image::Image;
use model::Model;
use program::{SourceType, SymbolId, SymbolKind};
use std::collections::BTreeSet;

/// Runs the pass: type descriptors, what belongs to their classes, at last the tables, the places
/// in which become functions.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    if !compiler::lays_down_descriptions(analysis.program) {
        return Ok(());
    }
    let image = Image::of(analysis.program);
    let Some(info_table) = image.table_of_type_info() else { return Ok(()) };
    let symbols = &mut analysis.program.symbols;
    let class = symbols.namespace("type_info", SymbolId::GLOBAL, SymbolKind::Class);
    let imported = SourceType::Imported;
    analysis.program.add_label(info_table, "vftable", class, imported);
    analysis.step(0.1)?;
    let mut model = Model::new(image, info_table);
    let locators = model.locators();
    analysis.step(0.3)?;
    let mut describer = Describer::new(analysis.program, &model);
    describer.describe_types(analysis.program, &model);
    for locator in &locators {
        describer.describe_class(analysis.program, &mut model, locator);
    }
    analysis.step(0.6)?;
    let tables = tables::find(analysis.program, analysis.language, &model.image, &locators);
    let mut code = BTreeSet::new();
    for table in &tables {
        describer.describe_table(analysis.program, table);
        code.extend(table.entries.iter().copied());
    }
    analysis.step(0.8)?;
    code.retain(|at| analysis.program.functions.at(*at).is_none());
    if code.is_empty() {
        return Ok(());
    }
    let code: Vec<_> = code.into_iter().collect();
    crate::functions::explore(analysis, &code, &[])?;
    crate::functions::run_called(analysis)
}
