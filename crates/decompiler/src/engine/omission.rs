//! Facts left out: where something that a program knows defeats the engine, the run is repeated
//! without it, and the answer says so.

/// What an engine is not told. Each kind leaves out what those before it do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Omission {
    /// It is told everything.
    #[default]
    Nothing,
    /// What unions are made of.
    Unions,
    /// What structures are made of.
    Structures,
    /// Prototypes, of the function itself as well.
    Prototypes,
}

impl Omission {
    /// What to try one after the other when all facts together do not work.
    pub(crate) const TRIED: [Omission; 3] =
        [Omission::Unions, Omission::Structures, Omission::Prototypes];

    /// A warning about it.
    pub(crate) fn warning(self) -> Option<&'static str> {
        match self {
            Omission::Nothing => None,
            Omission::Unions => Some(
                "decompiled without the members of unions, which the decompiler cannot follow here",
            ),
            Omission::Structures => Some(
                "decompiled without the members of structures and unions, which the decompiler cannot follow here",
            ),
            Omission::Prototypes => Some(
                "decompiled without prototypes and without the members of structures and unions, which the decompiler cannot follow here",
            ),
        }
    }
}
