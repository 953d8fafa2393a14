//! All methods in their published order, found by name.
//!
//! The registry exists without a program: documents, help and tool lists are
//! made from it alone.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::method::Method;
use crate::methods;

/// One of the fourteen families of methods; each is one MCP tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domain {
    /// Its name, without prefix.
    pub name: &'static str,
    /// One line on what it is for.
    pub text: &'static str,
}

/// Every method of the contract.
pub struct Registry {
    methods: Vec<Method>,
    index: HashMap<&'static str, usize>,
}

/// The one registry.
#[must_use]
pub fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(Registry::build)
}

impl Registry {
    fn build() -> Registry {
        let mut methods = Vec::new();
        for (domain, rows) in methods::GROUPS {
            for method in rows() {
                let operation = operation(domain, method.name());
                methods.push(method.filed(domain, operation));
            }
        }
        methods::finish(&mut methods);
        let mut index = HashMap::new();
        for (position, method) in methods.iter().enumerate() {
            index.insert(method.static_name(), position);
        }
        Registry { methods, index }
    }

    /// All methods in their published order.
    #[must_use]
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// The method of this dotted name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Method> {
        self.index.get(name).map(|position| &self.methods[*position])
    }

    /// The domains in their published order.
    #[must_use]
    pub fn domains(&self) -> Vec<Domain> {
        methods::DOMAINS.iter().map(|&(name, text)| Domain { name, text }).collect()
    }

    /// The methods of one domain that MCP offers, in order.
    pub fn operations<'a>(&'a self, domain: &'a str) -> impl Iterator<Item = &'a Method> {
        self.methods
            .iter()
            .filter(move |method| method.domain() == domain && !method.websocket_only())
    }

    /// The method that a domain's tool runs for an operation name.
    #[must_use]
    pub fn operation(&self, domain: &str, operation: &str) -> Option<&Method> {
        self.methods.iter().find(|method| {
            method.domain() == domain && method.operation() == operation && !method.websocket_only()
        })
    }
}

/// A method's name inside its domain's tool: without the domain's own noun.
fn operation(domain: &str, name: &str) -> String {
    // The session is the bridge's noun; the listing keeps its nouns whole.
    let noun = if domain == "bridge" { "session" } else { domain };
    match name.strip_prefix(noun).and_then(|rest| rest.strip_prefix(['.', '_'])) {
        Some(rest) => rest.to_owned(),
        None => name.to_owned(),
    }
}
