//! All methods in their published order, found by name: one registry for each surface.
//!
//! A registry exists without a program: documents, help and tool lists are
//! made from it alone. Which surface is served is decided at the start; what answers about
//! methods asks the registry in hand.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::method::Method;
use crate::methods;

/// One family of methods; each is one MCP tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domain {
    /// Its name, without prefix.
    pub name: &'static str,
    /// One line on what it is for.
    pub text: &'static str,
}

/// Which methods are served. Each surface holds all of those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Surface {
    /// The document's methods, exactly as it describes them.
    #[default]
    Document,
    /// Also the extended methods that ask one program.
    Extensions,
    /// Also those that open and close programs.
    Workspace,
}

/// Every method of a surface.
pub struct Registry {
    surface: Surface,
    methods: Vec<Method>,
    index: HashMap<&'static str, usize>,
}

/// The registry of the document's surface.
#[must_use]
pub fn registry() -> &'static Registry {
    Registry::of(Surface::Document)
}

impl Registry {
    /// The registry of a surface; made when it is first asked for.
    #[must_use]
    pub fn of(surface: Surface) -> &'static Registry {
        static DOCUMENT: OnceLock<Registry> = OnceLock::new();
        static EXTENSIONS: OnceLock<Registry> = OnceLock::new();
        static WORKSPACE: OnceLock<Registry> = OnceLock::new();
        let registry = match surface {
            Surface::Document => &DOCUMENT,
            Surface::Extensions => &EXTENSIONS,
            Surface::Workspace => &WORKSPACE,
        };
        registry.get_or_init(|| Registry::build(surface))
    }

    fn build(surface: Surface) -> Registry {
        let mut methods = Vec::new();
        for (domain, rows) in methods::groups(surface) {
            for method in rows() {
                let operation = operation(domain, method.name());
                methods.push(method.filed(domain, operation));
            }
        }
        methods::finish(surface, &mut methods);
        let mut index = HashMap::new();
        for (position, method) in methods.iter().enumerate() {
            index.insert(method.static_name(), position);
        }
        Registry { surface, methods, index }
    }

    /// Which methods these are.
    #[must_use]
    pub fn surface(&self) -> Surface {
        self.surface
    }

    /// The version of the contract that this surface is published as.
    #[must_use]
    pub fn interface_version(&self) -> &'static str {
        match self.surface {
            Surface::Document => crate::INTERFACE_VERSION,
            Surface::Extensions | Surface::Workspace => crate::EXTENDED_VERSION,
        }
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
        methods::domains(self.surface).map(|(name, text)| Domain { name, text }).collect()
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
