//! Functions whose calls a compiler specification replaces, by their names.

use std::collections::HashMap;

use ghidra_decompiler::xml::Element;

use crate::language::Language;

/// From the names of functions to the names of what replaces their calls.
pub(crate) type CallFixups = HashMap<String, String>;

/// Reads a compiler specification.
pub(crate) fn read(specification: &Element) -> CallFixups {
    let mut found = CallFixups::new();
    for fixup in specification.get_children().iter().filter(|c| c.get_name() == "callfixup") {
        let Ok(name) = fixup.get_attribute_value("name") else { continue };
        let targets = fixup.get_children().iter().filter(|child| child.get_name() == "target");
        for target in targets.filter_map(|target| target.get_attribute_value("name").ok()) {
            found.insert(target.to_string(), name.to_string());
        }
    }
    found
}

impl Language {
    /// What replaces the calls of a function of this name, if anything does.
    pub fn call_fixup(&self, function: &str) -> Option<&str> {
        self.call_fixups().get(function).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_tell_the_names_of_functions_that_probe_the_stack() {
        let windows = Language::open("x86:LE:64:default", "windows").expect("is built in");
        assert_eq!(windows.call_fixup("___chkstk_ms"), Some("alloca_probe"));
        assert_eq!(windows.call_fixup("main"), None);
        let gcc = Language::open("x86:LE:32:default", "gcc").expect("is built in");
        assert_eq!(gcc.call_fixup("__x86.get_pc_thunk.bx"), Some("get_pc_thunk_bx"));
    }
}
