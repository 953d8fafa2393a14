//! The versions of each table that are understood: those of Ghidra 10.0 to 12.2.

use ghidra_db::Database;

use crate::ImportError;

/// Table, oldest and newest version. Tables that are not listed are kept and not understood.
const KNOWN: &[(&str, i32, i32)] = &[
    ("ADDRESS MAP", 1, 1),
    ("Arrays", 1, 1),
    ("Built-in datatypes", 0, 0),
    ("Calling Conventions", 0, 0),
    ("Categories", 0, 0),
    ("Comments", 1, 1),
    ("Component Data Types", 0, 0),
    ("Composite Data Types", 5, 6),
    ("ContextTable", 1, 1),
    ("Data", 0, 0),
    ("DataTypeManager", 0, 0),
    ("Enumeration Data Types", 1, 1),
    ("Enumeration Values", 0, 1),
    ("FROM REFS", 0, 0),
    ("File Bytes", 0, 0),
    ("Function Data", 2, 3),
    ("Function Definitions", 1, 2),
    ("Function Parameters", 1, 1),
    ("Function Tag Map", 0, 0),
    ("Function Tags", 0, 0),
    ("Instructions", 1, 1),
    ("Memory Blocks", 3, 3),
    ("Overlay Spaces", 0, 1),
    ("Pointers", 2, 2),
    ("Program", 0, 0),
    ("Property Table", 0, 0),
    ("Prototypes", 1, 1),
    ("Relocations", 4, 6),
    ("Sub Memory Blocks", 3, 3),
    ("Symbols", 3, 5),
    ("Thunk Functions", 0, 0),
    ("Typedefs", 1, 2),
    ("Variable Storage", 2, 2),
];

/// Refuses tables of versions that would be misunderstood.
pub(crate) fn check(database: &Database, ghidra: &str) -> Result<(), ImportError> {
    for &(name, oldest, newest) in KNOWN {
        let Some(table) = database.table(name) else { continue };
        let found = table.schema.version;
        if !(oldest..=newest).contains(&found) {
            let (table, ghidra) = (name.to_owned(), ghidra.to_owned());
            return Err(ImportError::UnknownVersion { table, found, oldest, newest, ghidra });
        }
    }
    Ok(())
}
