//! Functions whose calls a compiler specification replaces, by their names.

use std::collections::{HashMap, HashSet};

use ghidra_decompiler::xml::Element;

use crate::language::Language;

/// What replaces calls.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallFixups {
    /// From the names of functions to the names of what replaces their calls.
    of: HashMap<String, String>,
    /// The names of those that do nothing at all, not even take a return address off the stack.
    idle: HashSet<String>,
}

/// What the code of a replacement says if it does anything: on the stack, or elsewhere.
const DOING: [&str; 6] = ["SP", "call", "return", "goto", "*:", "sp "];

/// Reads a compiler specification.
pub(crate) fn read(specification: &Element) -> CallFixups {
    let mut found = CallFixups::default();
    for fixup in specification.get_children().iter().filter(|c| c.get_name() == "callfixup") {
        let Ok(name) = fixup.get_attribute_value("name") else { continue };
        let targets = fixup.get_children().iter().filter(|child| child.get_name() == "target");
        for target in targets.filter_map(|target| target.get_attribute_value("name").ok()) {
            found.of.insert(target.to_string(), name.to_string());
        }
        let mut code = String::new();
        text_of(fixup, 0, &mut code);
        if !code.trim().is_empty() && !DOING.iter().any(|word| code.contains(word)) {
            found.idle.insert(name.to_string());
        }
    }
    found
}

/// Nested deeper than a specification ever is.
const DEEPEST: usize = 8;

/// The text of an element and of all in it.
fn text_of(element: &Element, depth: usize, out: &mut String) {
    out.push_str(element.get_content());
    for child in element.get_children().iter().filter(|_| depth < DEEPEST) {
        text_of(child, depth + 1, out);
    }
}

impl Language {
    /// What replaces the calls of a function of this name, if anything does.
    pub fn call_fixup(&self, function: &str) -> Option<&str> {
        self.call_fixups().of.get(function).map(String::as_str)
    }

    /// Whether a replacement of calls does nothing: what the call itself put on the stack stays.
    pub fn is_idle_fixup(&self, name: &str) -> bool {
        self.call_fixups().idle.contains(name)
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
        assert!(!windows.is_idle_fixup("alloca_probe"));
        let kernel = Language::open("x86:LE:64:default", "gcc").expect("is built in");
        let fixup = kernel.call_fixup("__fentry__").expect("is replaced");
        assert!(kernel.is_idle_fixup(fixup) && !kernel.is_idle_fixup("x86_return_thunk"));
        let gcc = Language::open("x86:LE:32:default", "gcc").expect("is built in");
        assert_eq!(gcc.call_fixup("__x86.get_pc_thunk.bx"), Some("get_pc_thunk_bx"));
    }
}
