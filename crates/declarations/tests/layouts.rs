//! Record layout conformance (ABI tests): our sizes, alignments, offsets and bit positions against
//! what compilers answered for the same declarations (`fixtures/declarations/measure.py`).

use program::data_type::{DataOrganization, DataTypes, Field, TypeKind};
use program::{ProgramInfo, RecordRules, TypeId};
use std::collections::{BTreeMap, HashMap};

fn fixture(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/declarations/");
    std::fs::read_to_string(format!("{folder}{name}")).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// What a loader would say of a program that such a compiler made.
fn organization(target: &str) -> DataOrganization {
    let (processor, endian, bits, spec, long_double) = match target {
        "x86_64-gcc" => ("x86", "LE", 64, "gcc", 16),
        "i386-gcc" => ("x86", "LE", 32, "gcc", 12),
        "x86_64-mingw" | "x86_64-msvc" => ("x86", "LE", 64, "windows", 8),
        "i386-mingw" | "i386-msvc" => ("x86", "LE", 32, "windows", 8),
        "arm-gcc" => ("ARM", "LE", 32, "default", 8),
        "aarch64-gcc" => ("AARCH64", "LE", 64, "default", 16),
        "mips-gcc" => ("MIPS", "BE", 32, "default", 8),
        "m68k-gcc" => ("68000", "BE", 32, "default", 10),
        "avr-gcc" => ("AVR8", "LE", 16, "gcc", 8),
        _ => panic!("{target}"),
    };
    let info = ProgramInfo {
        language_id: format!("{processor}:{endian}:{bits}:default"),
        compiler_spec_id: spec.to_owned(),
        processor: processor.to_owned(),
        address_bits: bits,
        ..ProgramInfo::default()
    };
    let windows = spec == "windows";
    let pointer = bits / 8;
    let mut organization = DataOrganization {
        pointer,
        long: if windows { 4 } else { pointer.max(4) },
        wide_char: if windows { 2 } else { 4 },
        long_double,
        ..DataOrganization::default()
    };
    if target.ends_with("mingw") {
        organization.compiler.rules = RecordRules::MinGw;
    }
    organization.made_for(&info)
}

/// The texts of the cases by name.
fn cases() -> HashMap<String, String> {
    let all = format!("{}\n{}", fixture("cases.h"), fixture("random.h"));
    let parts = all.split("//@ ").skip(1);
    let one = |part: &str| {
        let (head, text) = part.split_once('\n')?;
        Some((head.split(' ').next()?.to_owned(), text.to_owned()))
    };
    parts.filter_map(one).collect()
}

/// A member by its path, also in members without a name.
fn member(types: &DataTypes, id: TypeId, path: &str) -> Option<(u32, Field)> {
    let known = types.get(types.resolve(id))?;
    let (TypeKind::Struct { fields, .. } | TypeKind::Union { fields }) = &known.kind else {
        return None;
    };
    let (name, rest) = path.split_once('.').unwrap_or((path, ""));
    if let Some(field) = fields.iter().find(|field| &*field.name == name) {
        if rest.is_empty() {
            return Some((field.offset, field.clone()));
        }
        let (offset, found) = member(types, field.data_type, rest)?;
        return Some((field.offset + offset, found));
    }
    fields.iter().filter(|field| field.name.is_empty()).find_map(|field| {
        let (offset, found) = member(types, field.data_type, path)?;
        Some((field.offset + offset, found))
    })
}

/// `name=offset` or `name=first:width`, bits counted as the byte order does.
fn place(types: &DataTypes, id: TypeId, name: &str) -> String {
    let Some((offset, field)) = member(types, id, name) else { return format!("{name}=?") };
    match field.bits {
        None => format!("{name}={offset}"),
        Some((low, width)) => {
            let inside = match types.organization().compiler.big_endian {
                true => field.length * 8 - u32::from(low) - u32::from(width),
                false => u32::from(low),
            };
            format!("{name}={}:{width}", offset * 8 + inside)
        }
    }
}

#[test]
fn layouts_are_those_of_the_compilers() {
    let cases = cases();
    let table = fixture("layouts.tsv");
    let mut by_target: BTreeMap<&str, (DataTypes, usize)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for row in table.lines().skip(1) {
        let cells: Vec<&str> = row.split('\t').collect();
        let [target, case, kind, size, alignment, members] = cells[..] else { panic!("{row}") };
        let (empty, count) =
            by_target.entry(target).or_insert_with(|| (DataTypes::new(organization(target)), 0));
        *count += 1;
        let mut types = empty.clone();
        if let Err(error) = declarations::parse(&cases[case], &mut types, "/") {
            wrong.push(format!("{target} {case}: {error}"));
            continue;
        }
        let name = kind.split(' ').next_back().unwrap_or(kind);
        let id = types.at_path(&format!("/{name}")).unwrap_or_else(|| panic!("{target} {case}"));
        let known = types.get(id).unwrap();
        let places = members.split(' ').filter(|member| !member.is_empty());
        let places: Vec<String> = places
            .map(|member| place(&types, id, member.split('=').next().unwrap_or(member)))
            .collect();
        let (own, told) = (
            format!("{} {} {}", known.length.unwrap_or(0), known.alignment, places.join(" ")),
            format!("{size} {alignment} {members}"),
        );
        if own != told {
            wrong.push(format!("{target} {case}: {own}\n    compiler: {told}"));
        }
    }
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
    let counts: Vec<usize> = by_target.values().map(|(_, count)| *count).collect();
    assert!(counts.len() == 11 && counts.iter().all(|count| *count >= 200), "{counts:?}");
}
