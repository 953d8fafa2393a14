//! Architectures of the engine crate, built on one set of tables for each language.
//!
//! The engine crate would parse a language's tables and keep them as its lists grew while it read
//! them, up to twice as large as what is in them. Here they are parsed once for each language,
//! made as small as their contents, and shared by all architectures.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use ghidra_decompiler::architecture::{Architecture, ArchitectureBuilder};
use ghidra_decompiler::error::{Error, Result};
use ghidra_decompiler::loadimage::SharedLoadImage;
use ghidra_decompiler::pcodeinject::PcodeInjectLibrary;
use ghidra_decompiler::sleigh::Sleigh;
use ghidra_decompiler::sleigh_arch::{LanguageDescription, SleighArchitecture};
use ghidra_decompiler::sleighbase::SleighBase;
use ghidra_decompiler::slghsymbol::{SymbolBody, SymbolId};
use ghidra_decompiler::translate::Translate;
use ghidra_decompiler::xml::DocumentStorage;

/// An architecture that is not yet initialised: of this language, with this memory.
pub(crate) fn prepare(
    description: &LanguageDescription,
    compiler: &str,
    image: SharedLoadImage,
) -> Architecture {
    let target = format!("{}:{compiler}", description.get_id());
    let sleigh = SleighArchitecture::new("program", &target, None);
    let builder = Builder { description: description.clone(), sleigh, image };
    let mut architecture = Architecture::new();
    architecture.builder = Some(Arc::new(builder));
    architecture.archid = target;
    architecture
}

/// Builds the parts of an architecture as the engine crate does, but for tables and memory.
struct Builder {
    description: LanguageDescription,
    sleigh: SleighArchitecture,
    image: SharedLoadImage,
}

impl Builder {
    /// The language's tables, parsed by the first that asks.
    fn tables(&self) -> Result<SleighBase> {
        static PARSED: OnceLock<Mutex<HashMap<String, SleighBase>>> = OnceLock::new();
        let parsed = PARSED.get_or_init(Mutex::default);
        // Held while parsing: two that ask at once parse once.
        let mut parsed = parsed.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(tables) = parsed.get(self.description.get_id()) {
            return Ok(tables.clone());
        }
        let file = self.file(self.description.get_sla_file())?;
        let mut tables = SleighBase::new();
        // Each architecture registers the fields of the context for itself.
        tables.decode(&file, &mut |_, _, _| Ok(()))?;
        compact(&mut tables);
        parsed.insert(self.description.get_id().to_string(), tables.clone());
        Ok(tables)
    }

    fn file(&self, name: &str) -> Result<Vec<u8>> {
        let file = self.sleigh.registry().find_file(name);
        file.ok_or_else(|| Error::Lowlevel(format!("{name} is missing")))
    }
}

/// Gives back what the lists of the tables hold in reserve: a copy is as large as its contents.
/// Small parts one after the other, so that each finds room in what the one before gave back.
fn compact(tables: &mut SleighBase) {
    let Some(symbols) = Arc::get_mut(&mut tables.symtab) else { return };
    for id in 0..symbols.num_symbols() {
        let symbol = SymbolId::try_from(id).ok().and_then(|id| symbols.get_mut(id));
        match symbol.map(|symbol| &mut symbol.body) {
            Some(SymbolBody::Subtable(table)) => {
                table.construct.iter_mut().for_each(copied);
                copied(&mut table.decisiontree);
            }
            Some(body) => copied(body),
            None => {}
        }
    }
}

fn copied<T: Clone>(part: &mut T) {
    *part = part.clone();
}

impl ArchitectureBuilder for Builder {
    fn build_translator(
        &self,
        glb: &mut Architecture,
        _store: &mut DocumentStorage,
    ) -> Result<Box<dyn Translate>> {
        let context = glb.context.clone();
        let context = context.ok_or_else(|| Error::Lowlevel("no context".to_string()))?;
        let mut sleigh = Sleigh::from_base(Arc::clone(&self.image), context, self.tables()?);
        // Only the context's fields are registered: the tables are there.
        sleigh.initialize_from_sla(&[])?;
        Ok(Box::new(sleigh))
    }

    fn build_loader(&self, glb: &mut Architecture, _store: &mut DocumentStorage) -> Result<()> {
        glb.loader = Some(Arc::clone(&self.image));
        Ok(())
    }

    fn build_instructions(
        &self,
        glb: &mut Architecture,
        store: &mut DocumentStorage,
    ) -> Result<()> {
        glb.build_instructions_base(store)?;
        self.sleigh.collect_behaviors(glb);
        Ok(())
    }

    fn get_description(&self, _glb: &Architecture) -> String {
        self.sleigh.get_description()
    }

    fn print_warning(&self, _glb: &Architecture, message: &str) {
        self.sleigh.print_warning(message);
    }

    fn resolve_architecture(&self, glb: &mut Architecture) -> Result<()> {
        self.sleigh.resolve_architecture(glb)
    }

    fn build_spec_file(&self, glb: &mut Architecture, store: &mut DocumentStorage) -> Result<()> {
        let compiler = glb.archid.rsplit(':').next().unwrap_or_default();
        let compiler = self.description.get_compiler(compiler)?;
        for name in [self.description.get_processor_spec(), compiler.get_spec()] {
            let document = store.parse_document(&self.file(name)?)?;
            store.register_tag(document.get_root());
        }
        Ok(())
    }

    fn modify_spaces(&self, glb: &mut Architecture, trans: &mut dyn Translate) -> Result<()> {
        self.sleigh.modify_spaces(glb, trans)
    }

    fn build_pcode_inject_library(
        &self,
        glb: &mut Architecture,
    ) -> Result<Box<dyn PcodeInjectLibrary>> {
        self.sleigh.build_pcode_inject_library(glb)
    }

    fn build_typegrp(&self, glb: &mut Architecture, store: &mut DocumentStorage) -> Result<()> {
        self.sleigh.build_typegrp(glb, store)
    }

    fn build_core_types(&self, glb: &mut Architecture, store: &mut DocumentStorage) -> Result<()> {
        self.sleigh.build_core_types(glb, store)
    }

    fn build_comment_db(&self, glb: &mut Architecture, store: &mut DocumentStorage) -> Result<()> {
        self.sleigh.build_comment_db(glb, store)
    }

    fn build_string_manager(
        &self,
        glb: &mut Architecture,
        store: &mut DocumentStorage,
    ) -> Result<()> {
        self.sleigh.build_string_manager(glb, store)
    }

    fn build_constant_pool(
        &self,
        glb: &mut Architecture,
        store: &mut DocumentStorage,
    ) -> Result<()> {
        self.sleigh.build_constant_pool(glb, store)
    }

    fn build_context(&self, glb: &mut Architecture, store: &mut DocumentStorage) -> Result<()> {
        self.sleigh.build_context(glb, store)
    }

    fn build_symbols(&self, glb: &mut Architecture, store: &mut DocumentStorage) -> Result<()> {
        self.sleigh.build_symbols(glb, store)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::NoImage;
    use crate::language::Language;

    #[test]
    fn architectures_of_a_language_share_its_tables() {
        let language = Language::open("x86:LE:64:default", "gcc").expect("it is built in");
        let tables = || {
            let mut architecture = prepare(language.description(), "gcc", Arc::new(NoImage));
            architecture.init(&mut DocumentStorage::new()).expect("it is complete");
            let translate = architecture.translate.expect("it was built");
            translate.as_sleigh().map(|sleigh| Arc::clone(&sleigh.base().symtab))
        };
        let (one, two) = (tables().expect("tables"), tables().expect("tables"));
        assert!(Arc::ptr_eq(&one, &two));
    }
}
