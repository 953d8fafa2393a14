//! Type information of Windows programs: what it names, what it refers to, what it makes of code.

use crate::windows::{analysed, bytes};
use program::{Address, CommentKind, Program, SourceType, SymbolKind};

const PASS: &str = "Windows x86 PE RTTI Analyzer";

fn at(offset: u64) -> Address {
    Address::ram(offset)
}

/// Address, namespaces and name of every name that type information gave.
fn names(program: &Program) -> Vec<String> {
    let ours = |name: &str| name.starts_with("RTTI_") || name.starts_with("vftable");
    let mut found: Vec<(Address, String)> = Vec::new();
    for (_, symbol) in program.symbols.iter().filter(|(_, s)| ours(&s.name)) {
        assert_eq!(symbol.source, SourceType::Imported);
        let path: String =
            program.symbols.path(symbol.parent).iter().map(|p| format!("{p}::")).collect();
        found.push((symbol.address, format!("{:x} {path}{}", symbol.address.offset, symbol.name)));
    }
    found.sort();
    found.into_iter().map(|(_, line)| line).collect()
}

/// Type and length of the data at a place.
fn data(program: &Program, offset: u64) -> (String, u32) {
    let unit = program.listing.data.get(&at(offset)).expect("data");
    (program.types.name(unit.data_type).to_owned(), unit.length)
}

/// What a place refers to.
fn target(program: &Program, offset: u64) -> Option<u64> {
    program.references.from(at(offset)).next().map(|reference| reference.to.offset)
}

/// What the linker's map says of the classes, in the order of addresses.
const WIDE: &[&str] = &[
    "140002000 type_info::vftable",
    "140002010 zoo::Animal::vftable_meta_ptr",
    "140002018 zoo::Animal::vftable",
    "140002030 zoo::Animal::RTTI_Complete_Object_Locator",
    "140002048 zoo::Animal::RTTI_Class_Hierarchy_Descriptor",
    "140002058 zoo::Animal::RTTI_Base_Class_Array",
    "140002060 zoo::Animal::RTTI_Base_Class_Descriptor_at_(0,-1,0,64)",
    "140002080 zoo::Dog::vftable_meta_ptr",
    "140002088 zoo::Dog::vftable",
    "1400020a0 zoo::Dog::RTTI_Complete_Object_Locator",
    "1400020b8 zoo::Dog::RTTI_Class_Hierarchy_Descriptor",
    "1400020c8 zoo::Dog::RTTI_Base_Class_Array",
    "1400020e0 zoo::Dog::RTTI_Base_Class_Descriptor_at_(0,-1,0,64)",
    "140002100 zoo::Duck::vftable_meta_ptr",
    "140002108 zoo::Duck::vftable",
    "140002120 zoo::Duck::vftable_meta_ptr",
    "140002128 zoo::Duck::vftable",
    "140002130 zoo::Duck::RTTI_Complete_Object_Locator",
    "140002148 zoo::Duck::RTTI_Class_Hierarchy_Descriptor",
    "140002158 zoo::Duck::RTTI_Base_Class_Array",
    "140002170 zoo::Duck::RTTI_Base_Class_Descriptor_at_(0,-1,0,64)",
    "140002190 zoo::Swimmer::RTTI_Base_Class_Descriptor_at_(16,-1,0,64)",
    "1400021b0 zoo::Swimmer::RTTI_Class_Hierarchy_Descriptor",
    "1400021c0 zoo::Swimmer::RTTI_Base_Class_Array",
    "1400021d0 zoo::Swimmer::RTTI_Base_Class_Descriptor_at_(0,-1,0,64)",
    "1400021f0 zoo::Duck::RTTI_Complete_Object_Locator",
    "140002210 zoo::Frog::vftable_meta_ptr",
    "140002218 zoo::Frog::vftable",
    "140002230 zoo::Frog::RTTI_Complete_Object_Locator",
    "140002248 zoo::Frog::RTTI_Class_Hierarchy_Descriptor",
    "140002258 zoo::Frog::RTTI_Base_Class_Array",
    "140002270 zoo::Frog::RTTI_Base_Class_Descriptor_at_(0,-1,0,64)",
    "140002290 zoo::Animal::RTTI_Base_Class_Descriptor_at_(0,0,4,80)",
    "1400022b0 zoo::Cage<class_zoo::Dog>::vftable_meta_ptr",
    "1400022b8 zoo::Cage<class_zoo::Dog>::vftable",
    "1400022c0 zoo::Cage<class_zoo::Dog>::RTTI_Complete_Object_Locator",
    "1400022d8 zoo::Cage<class_zoo::Dog>::RTTI_Class_Hierarchy_Descriptor",
    "1400022e8 zoo::Cage<class_zoo::Dog>::RTTI_Base_Class_Array",
    "140002300 zoo::Cage<class_zoo::Dog>::RTTI_Base_Class_Descriptor_at_(0,-1,0,64)",
    "140003000 zoo::Animal::RTTI_Type_Descriptor",
    "140003030 zoo::Dog::RTTI_Type_Descriptor",
    "140003050 zoo::Duck::RTTI_Type_Descriptor",
    "140003070 zoo::Swimmer::RTTI_Type_Descriptor",
    "1400030a0 zoo::Frog::RTTI_Type_Descriptor",
    "1400030c0 zoo::Cage<class_zoo::Dog>::RTTI_Type_Descriptor",
];

#[test]
fn classes_of_64_bits_are_described() {
    let program = analysed(bytes("kinds.x64.exe"), None);
    assert_eq!(names(&program), WIDE);
    let entry = "RTTIBaseClassDescriptor *32 __((image-base-relative))";
    let expected = [
        (0x140002100, "pointer", 8),
        (0x140002108, "pointer[3]", 24),
        (0x140002128, "pointer[1]", 8),
        (0x140002130, "RTTICompleteObjectLocator", 20),
        (0x140002148, "RTTIClassHierarchyDescriptor", 16),
        (0x140002158, &format!("{entry}[3]"), 12),
        (0x140002170, "RTTIBaseClassDescriptor", 28),
        (0x140003070, "TypeDescriptor", 16),
        (0x140003080, "char[24]", 24),
    ];
    for (place, kind, length) in expected {
        assert_eq!(data(&program, place), (kind.to_owned(), length), "{place:x}");
    }
    // The table's head, its second entry, the locator, the array, a base, the type.
    let references = [
        (0x140002120, 0x1400021f0),
        (0x140002110, 0x140001070),
        (0x14000213c, 0x140003050),
        (0x140002140, 0x140002148),
        (0x140002154, 0x140002158),
        (0x140002160, 0x140002190),
        (0x140002190, 0x140003070),
        (0x1400021a8, 0x1400021b0),
        (0x140003070, 0x140002000),
    ];
    for (from, to) in references {
        assert_eq!(target(&program, from), Some(to), "{from:x}");
    }
    let class = program.symbols.named("Dog").next().expect("a namespace").1;
    assert_eq!(class.kind, SymbolKind::Class);
    let comment = |place, kind| program.comments.get(&(at(place), kind)).map(|text| &**text);
    let plate = |place| comment(place, CommentKind::Plate);
    assert_eq!(plate(0x140003030), Some("class zoo::Dog RTTI Type Descriptor"));
    assert_eq!(plate(0x140002088), Some("const zoo::Dog::vftable"));
    assert_eq!(plate(0x140002080), Some("meta pointer for zoo::Dog::vftable"));
    assert_eq!(comment(0x140003040, CommentKind::Eol), Some("TypeDescriptor.name"));
}

#[test]
fn classes_of_32_bits_are_described() {
    let program = analysed(bytes("kinds.x86.exe"), None);
    let narrow = names(&program);
    let without_place = |line: &str| line.split_once(' ').map(|(_, name)| name.to_owned());
    let mut same: Vec<_> = narrow.iter().filter_map(|line| without_place(line)).collect();
    let mut wide: Vec<_> = WIDE.iter().filter_map(|line| without_place(line)).collect();
    // Where a base lies depends on the size of pointers.
    wide.iter_mut().for_each(|name| *name = name.replace("(16,", "(8,"));
    same.sort();
    wide.sort();
    assert_eq!(same, wide);
    let expected = [
        (0x402070, "pointer[3]", 12),
        (0x40207c, "pointer", 4),
        (0x402114, "RTTIBaseClassDescriptor *[3]", 12),
        (0x402150, "RTTIBaseClassDescriptor", 28),
        (0x403060, "TypeDescriptor", 8),
        (0x403068, "char[20]", 20),
    ];
    for (place, kind, length) in expected {
        assert_eq!(data(&program, place), (kind.to_owned(), length), "{place:x}");
    }
    let references = [(0x402074, 0x401060), (0x402118, 0x402050), (0x402168, 0x40216c)];
    for (from, to) in references {
        assert_eq!(target(&program, from), Some(to), "{from:x}");
    }
    let end = program.comments.get(&(at(0x40207c), CommentKind::Eol)).expect("a comment");
    assert_eq!(&**end, "terminator for class zoo::Dog::vftable");
}

#[test]
fn entries_of_tables_become_functions() {
    for (name, entries) in [
        ("kinds.x64.exe", [0x140001060, 0x140001070, 0x140001080, 0x140001090, 0x1400012c0]),
        ("kinds.x86.exe", [0x401060, 0x401070, 0x401080, 0x401090, 0x401250]),
    ] {
        let program = analysed(bytes(name), Some(&[PASS]));
        for entry in entries {
            assert!(program.functions.at(at(entry)).is_some(), "{name} {entry:x}");
            assert!(program.listing.instructions.contains_key(&at(entry)), "{name} {entry:x}");
        }
    }
}

/// The 64-bit program with four bytes changed.
fn changed(place: u64, value: u32) -> Program {
    let mut bytes = bytes("kinds.x64.exe");
    let offset = file_offset(&bytes, place);
    bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
    analysed(bytes, Some(&[PASS]))
}

/// Where a place in `.rdata` or `.data` is in the file.
pub(crate) fn file_offset(bytes: &[u8], place: u64) -> usize {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four")) as usize;
    let sections = 0x78 + 24 + 240;
    let offset = (place - 0x1_4000_0000) as usize;
    let inside = |at: &usize| (word(at + 12)..word(at + 12) + 0x1000).contains(&offset);
    let section = (0..5).map(|index| sections + 40 * index).find(inside).expect("a section");
    offset - word(section + 12) + word(section + 20)
}

fn has(program: &Program, place: u64) -> bool {
    program.symbols.at(at(place)).next().is_some()
}

#[test]
fn what_does_not_fit_is_left_alone() {
    let duck = 0x140002148;
    assert!(has(&changed(duck, 0), duck));
    // Counts beyond memory and reason, negative ones, none.
    for count in [1001, 1000, u32::MAX, 0x8000_0000, 0x4000_0000, 0] {
        let program = changed(duck + 8, count);
        assert!(!has(&program, duck) && !has(&program, 0x140002108), "{count}");
        // Other classes do not suffer.
        assert!(has(&program, 0x1400020b8), "{count}");
    }
    // A base that is none: its place is negative, or its type unknown.
    assert!(!has(&changed(0x140002190 + 8, u32::MAX), duck));
    assert!(!has(&changed(0x140002190, 0x2000), duck));
    // An array that leads to itself, and a class that descends from itself.
    assert!(!has(&changed(0x140002158 + 4, 0x2158), duck));
    assert!(has(&changed(0x140002190 + 24, 0x2148), duck));
    // A type without the common table, and one whose name is none.
    assert!(!has(&changed(0x140003050, 0), 0x140003050));
    assert!(!has(&changed(0x140003060, 0x2041_3f2e), 0x140003050));
}

/// Runs a pass over a program in which words are copied about, among so many from a place on.
pub(crate) fn shuffle(name: &str, place: u64, words: usize, pass: &str) {
    let original = bytes(name);
    let start = file_offset(&original, place);
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 8) as usize % below
    };
    for _ in 0..60 {
        let mut bytes = original.clone();
        for _ in 0..12 {
            let place = start + 4 * next(words);
            let other = start + 4 * next(words);
            let word: [u8; 4] = bytes[other..other + 4].try_into().expect("four");
            bytes[place..place + 4].copy_from_slice(&word);
        }
        let program = analysed(bytes, Some(&[pass]));
        for (at, unit) in program.listing.data.iter() {
            let end = at.wrapping_add(u64::from(unit.length) - 1);
            assert!(program.memory.contains(end), "{:x}", at.offset);
        }
    }
}

#[test]
fn random_descriptions_harm_nobody() {
    shuffle("kinds.x64.exe", 0x1_4000_2000, 0x140, PASS);
}

#[test]
fn programs_of_other_compilers_are_left_alone() {
    let mut bytes = bytes("kinds.x64.exe");
    // Not what any of them lets the DOS program say.
    bytes[0x50] ^= 1;
    let program = analysed(bytes, Some(&[PASS]));
    assert_eq!(names(&program), [""; 0]);
}
