//! What stands at single places: comments, relocations, the parts of memory that look constant.

use std::sync::Arc;

use program::{CommentKind, Relocation};

use crate::import::Importer;

/// Columns of the table of comments.
const KINDS: [(&str, CommentKind); 5] = [
    ("EOL", CommentKind::Eol),
    ("Pre", CommentKind::Pre),
    ("Post", CommentKind::Post),
    ("Plate", CommentKind::Plate),
    ("Repeatable", CommentKind::Repeatable),
];

/// Statuses of a relocation: carried out by the loader, or by another.
const APPLIED: [i64; 2] = [5, 6];

impl Importer<'_> {
    /// Takes over comments and relocations.
    pub(crate) fn facts(&mut self) {
        for row in self.rows("Comments").iter() {
            let Some(address) = self.addresses.decode(row.key()) else { continue };
            for (column, kind) in KINDS {
                if let Some(text) = row.text(column) {
                    self.program.comments.insert((address, kind), text.into());
                }
            }
        }
        let rows = self.rows("Relocations");
        let mut relocations: Vec<Relocation> = rows
            .iter()
            .filter_map(|row| {
                let address = self.addresses.decode(row.int("Address"))?;
                let status = row.number("Status").or(row.number("Flags")).unwrap_or(0) as u8;
                let length = match status >> 3 {
                    0 => u8::try_from(row.bytes("Bytes").len()).unwrap_or(0),
                    length => length,
                };
                Some(Relocation {
                    address,
                    kind: row.int("Type") as u32,
                    symbol: row.word("Symbol Name").into(),
                    length,
                    applied: APPLIED.contains(&i64::from(status & 7)),
                })
            })
            .collect();
        relocations.sort_by_key(|relocation| relocation.address);
        self.program.relocations = Arc::new(relocations);
    }
}
