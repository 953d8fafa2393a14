//! Real projects, taken over and compared item by item with what Ghidra itself says of them.

mod facts;

use std::collections::BTreeMap;

use facts::{Items, found, stated};
use ghidra_db::{Database, Packed};
use ghidra_project::import;
use testkit::projects::Projects;

/// Items of real Ghidra that are said in another way here: `ImageBaseOffset32` is a built-in of
/// ours, and a result that the caller says where to put has its own type, not that of the pointer.
const LOST: [&str; 5] = [
    "returns: 00102b0a | Rect * | RAX:8 (ptr)",
    "alignments of types: /ImageBaseOffset32 | 4",
    "data types: /ImageBaseOffset32 | typedef",
    "lengths of types: /ImageBaseOffset32 | 4",
    "types meant: /ImageBaseOffset32 | /pointer32",
];
const ADDED: [&str; 1] = ["returns: 00102b0a | Rect | RAX:8"];

/// What one side has and the other has not.
fn without(these: &Items, those: &Items) -> Vec<String> {
    let mut missing = Vec::new();
    for (kind, items) in these {
        let mut others: Vec<&String> = those.get(kind).into_iter().flatten().collect();
        others.sort_unstable();
        for item in items {
            match others.binary_search(&item) {
                Ok(at) => drop(others.remove(at)),
                Err(_) => missing.push(format!("{kind}: {item}")),
            }
        }
    }
    missing
}

#[test]
fn programs_hold_what_ghidra_says_is_in_them() {
    let Some(projects) = Projects::find("programs_hold_what_ghidra_says") else { return };
    let (mut lost, mut added) = (Vec::new(), Vec::new());
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in projects.names().unwrap() {
        let packed = Packed::read(&projects.packed(&name)).unwrap();
        let database = Database::parse(packed.content).unwrap();
        let imported = import(&database).unwrap();
        assert_eq!(imported.notices, Vec::<String>::new(), "{name}");
        assert_eq!(imported.program.verify(), [], "{name}");
        let stated = stated(&projects.dump(&name, "program.json.xz").unwrap());
        let found = found(&imported.program);
        stated.iter().for_each(|(kind, items)| *counts.entry(kind).or_default() += items.len());
        lost.extend(without(&stated, &found));
        added.extend(without(&found, &stated));
    }
    println!("{counts:#?}");
    println!("{} of {} items are lost", lost.len(), counts.values().sum::<usize>());
    assert_eq!(lost, LOST);
    assert_eq!(added, ADDED);
}

#[test]
fn what_is_no_program_is_refused_by_what_was_found() {
    let Some(projects) = Projects::find("what_is_no_program") else { return };
    let name = &projects.names().unwrap()[0];
    let packed = Packed::read(&projects.packed(name)).unwrap();
    let refused = |table: &str, change: fn(&mut [u8])| {
        let mut content = packed.content.clone();
        // The table and its indexes, as the master table has them: name, then version.
        let name = [&(table.len() as u32).to_be_bytes()[..], table.as_bytes()].concat();
        let length = name.len() + 4;
        let mut places = content.windows(length).enumerate();
        let places: Vec<usize> = std::iter::from_fn(|| {
            places.find(|(_, part)| part.starts_with(&name)).map(|(at, _)| at)
        })
        .collect();
        places.into_iter().for_each(|at| change(&mut content[at + 4..at + length]));
        let imported = import(&Database::parse(content).unwrap());
        imported.map(|_| ()).unwrap_err().to_string()
    };
    let newer = refused("Symbols", |record| *record.last_mut().unwrap() = 9);
    let said = "table \"Symbols\" has version 9; versions 3 to 5 are known (Ghidra 10.0 to 12.2). \
                The database was written by Ghidra 12.2";
    assert_eq!(newer, said);
    let none = refused("Memory Blocks", |record| record[0] = b'X');
    assert_eq!(none, "the database holds no program: it has no table \"Memory Blocks\"");
}
