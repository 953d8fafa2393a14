//! Comments on addresses.

/// Where a comment is shown. Declared in the order of their wire names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CommentKind {
    /// At the end of the line.
    Eol,
    /// In a box above.
    Plate,
    /// Below.
    Post,
    /// Above.
    Pre,
    /// Repeated wherever the address is referred to.
    Repeatable,
}

impl CommentKind {
    /// All kinds, in name order.
    pub const ALL: [CommentKind; 5] =
        [Self::Eol, Self::Plate, Self::Post, Self::Pre, Self::Repeatable];

    /// The lower-case name.
    pub fn name(self) -> &'static str {
        match self {
            CommentKind::Eol => "eol",
            CommentKind::Plate => "plate",
            CommentKind::Post => "post",
            CommentKind::Pre => "pre",
            CommentKind::Repeatable => "repeatable",
        }
    }
}
