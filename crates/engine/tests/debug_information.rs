//! Debug information in all the ways it is packed: the same program must give the same facts.

use engine::program::data_type::Field;
use engine::program::{Program, SpaceId, Storage, Symbol, TypeKind};
use engine::{AnalysisKind, OpenOptions, Session};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

fn packed(name: &str) -> PathBuf {
    let name = format!("../debug/inventory.{name}");
    testkit::fixture(&name)
}

fn analysed(path: &Path) -> std::sync::Arc<Program> {
    let session = Session::open(path, &OpenOptions::default()).expect("the fixture opens");
    session.start_analysis(AnalysisKind::Ghidra, None).expect("nothing runs yet");
    assert!(session.wait_for_analysis(Duration::from_secs(120)));
    session.snapshot()
}

/// Prototypes, places of variables, structures and typed data, as lines.
fn facts(program: &Program) -> Vec<String> {
    let mut lines = Vec::new();
    for function in program.functions.iter().filter(|f| f.thunk_of.is_none()) {
        let name = program.function_name(function.entry);
        let kind = program.types.name(function.signature.return_type);
        let parameters = function.signature.parameters.iter();
        let parameters: Vec<String> =
            parameters.map(|p| format!("{} {}", program.types.name(p.data_type), p.name)).collect();
        lines.push(format!("{kind} {name}({})", parameters.join(", ")));
        for local in function.locals.iter().filter(|local| local.type_locked) {
            let Storage::Unassigned = local.storage else {
                let kind = program.types.name(local.data_type);
                lines.push(format!("{name}: {kind} {} at {:?}", local.name, local.storage));
                continue;
            };
        }
    }
    lines
}

fn warnings(program: &Program) -> Vec<&String> {
    program.info.warnings.iter().filter(|text| text.starts_with("DWARF")).collect()
}

/// The facts that every way to pack them must give.
fn expected() -> Vec<String> {
    let lines = facts(&analysed(&packed("dwarf5")));
    assert!(lines.iter().any(|line| line.contains("item")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains(" at ")), "{lines:#?}");
    lines
}

#[test]
fn every_version_says_the_same() {
    let expected = expected();
    for name in ["dwarf2", "dwarf3", "dwarf4"] {
        let program = analysed(&packed(name));
        assert_eq!(facts(&program), expected, "{name}");
    }
}

#[test]
fn types_in_units_of_their_own_say_the_same() {
    let expected = expected();
    for name in ["types4", "types5"] {
        let program = analysed(&packed(name));
        assert_eq!(facts(&program), expected, "{name}");
        let item = program.types.named("item").next().expect("the structure");
        let item = program.types.get(item).expect("known");
        assert_eq!(&*item.category, "/DWARF/inventory.c", "{name}");
    }
}

fn packed_post(name: &str) -> PathBuf {
    testkit::fixture(&format!("../debug/post.{name}"))
}

/// What a program in two units says, whichever unit says it.
fn post(program: &Program) -> Vec<String> {
    let wanted = [" main(", " charge("];
    let lines = facts(program);
    let mut found: Vec<String> =
        lines.into_iter().filter(|line| wanted.iter().any(|name| line.contains(name))).collect();
    found.sort();
    found
}

#[test]
fn units_that_speak_of_one_another_are_read_together() {
    let program = analysed(&packed_post("lto"));
    assert_eq!(post(&program), ["int main()", "uint charge(parcel * parcels, int count)"]);
    let comments: Vec<&str> = program.comments.values().map(|text| &**text).collect();
    // A variable of a function of the other unit, inlined into this one.
    let inlined = "Unresolved local var: parcel * * end@[???]";
    assert!(comments.iter().any(|text| text.contains(inlined)), "{comments:#?}");
    let (_, depot) = program.symbols.named("depot").next().expect("a global structure");
    let data = program.listing.data.get(&depot.address).expect("it is defined");
    assert_eq!(program.types.name(data.data_type), "depot");
}

fn split_post(kind: &str) -> PathBuf {
    testkit::fixture(&format!("../debug/{kind}/post"))
}

/// Everything that debug information says of the program in two parts.
fn all_of_post(program: &Program) -> (Vec<String>, Vec<String>, Vec<String>) {
    let mut lines = facts(program);
    lines.sort();
    let comments = program.comments.iter();
    let comments = comments.filter(|(_, text)| text.starts_with("Unresolved"));
    let comments = comments.map(|((at, _), text)| format!("{at:?} {text}")).collect();
    let mut types: Vec<String> = ["parcel", "depot", "size"]
        .iter()
        .flat_map(|name| program.types.named(name))
        .filter_map(|id| program.types.get(id))
        .map(|known| format!("{}/{} {:?}", known.category, known.name, known.length))
        .collect();
    types.sort();
    (lines, comments, types)
}

#[test]
fn split_debug_information_says_the_same() {
    let whole = all_of_post(&analysed(&packed_post("whole")));
    assert!(whole.0.iter().any(|l| l.contains("uint[4] sums at")), "{whole:#?}");
    assert_eq!(
        whole.2,
        [
            "/DWARF/parcel.h/depot Some(16)",
            "/DWARF/parcel.h/parcel Some(24)",
            "/DWARF/parcel.h/size Some(4)"
        ]
    );
    let kinds = ["split4", "split5", "types4", "types5"];
    let packed = ["split4.packed", "split5.packed", "types4.packed"];
    for kind in kinds.into_iter().chain(packed) {
        let program = analysed(&split_post(kind));
        assert_eq!(all_of_post(&program), whole, "{kind}");
        assert!(warnings(&program).is_empty(), "{kind}: {:?}", warnings(&program));
    }
}

#[test]
fn what_clang_splits_off_says_the_same() {
    let whole = all_of_post(&analysed(&packed_post("clang")));
    assert!(whole.0.iter().any(|line| line.starts_with("uint postage(parcel *")), "{whole:#?}");
    for kind in ["clang", "clang.packed"] {
        let program = analysed(&split_post(kind));
        assert_eq!(all_of_post(&program), whole, "{kind}");
        assert!(warnings(&program).is_empty(), "{kind}: {:?}", warnings(&program));
    }
}

#[test]
fn what_programs_share_is_found_in_a_file_of_its_own() {
    let whole = all_of_post(&analysed(&packed_post("whole")));
    for kind in ["shared4", "shared5"] {
        let program = analysed(&split_post(kind));
        assert_eq!(all_of_post(&program), whole, "{kind}");
        assert!(warnings(&program).is_empty(), "{kind}: {:?}", warnings(&program));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let lonely = folder.path().join("post");
    std::fs::copy(split_post("shared4"), &lonely).expect("copied");
    let program = analysed(&lonely);
    let told = warnings(&program);
    assert!(told.len() == 1 && told[0].contains("post.shared"), "{told:?}");
}

/// A part of another build has another id; parts that are missing are told of once.
#[test]
fn parts_that_are_missing_or_do_not_fit_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("post");
    std::fs::copy(split_post("split5"), &program).expect("copied");
    let alone = analysed(&program);
    let told = warnings(&alone);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("2 of 2 files") && told[0].contains("post.dwp"), "{told:?}");
    let other = split_post("types5").with_file_name("post-post.dwo");
    std::fs::copy(other, folder.path().join("post-post.dwo")).expect("copied");
    let right = split_post("split5").with_file_name("post-parcel.dwo");
    std::fs::copy(right, folder.path().join("post-parcel.dwo")).expect("copied");
    let half = analysed(&program);
    let told = warnings(&half);
    assert!(told.iter().any(|text| text.contains("another build")), "{told:?}");
    let lines = facts(&half);
    assert!(lines.iter().any(|line| line.starts_with("uint postage(parcel *")), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.contains("sums")), "{lines:#?}");
}

/// C has no wide character of its own: behind the typedef of one, Ghidra takes every `int` for it.
#[test]
fn whatever_comes_behind_a_wide_character_is_one() {
    let program = analysed(&testkit::fixture("../debug/wide"));
    let told = facts(&program);
    let line = |name: &str| told.iter().find(|line| line.contains(name)).map(String::as_str);
    assert_eq!(line(" main("), Some("wchar_t main(wchar_t argc, char * * argv)"), "{told:#?}");
    let field = program.types.named("reporter").next().expect("the structure");
    let field = program.types.get(field).expect("known");
    let program::TypeKind::Struct { fields, .. } = &field.kind else { panic!("{field:?}") };
    assert_eq!(program.types.name(fields[1].data_type), "wchar_t");
}

#[test]
fn functions_of_any_arguments_are_named_so() {
    let program = analysed(&testkit::fixture("../debug/wide"));
    let name = "_func_wchar_t_char_ptr_varargs";
    assert!(program.types.named(name).next().is_some());
}

#[test]
fn static_variables_are_named_after_their_function_and_block() {
    let program = analysed(&testkit::fixture("../debug/wide"));
    let path = |name: &str| {
        let (_, symbol) = program.symbols.named(name).find(|(_, s)| s.primary).expect(name);
        program.symbols.path(symbol.parent).join("::")
    };
    assert_eq!(path("asked"), "widest");
    assert_eq!(path("seen"), "widest::lexical_block_0::lexical_block_0_0");
}

#[test]
fn compressed_sections_say_the_same() {
    let expected = expected();
    for name in ["zlib", "zdebug", "zstd"] {
        let program = analysed(&packed(name));
        assert_eq!(facts(&program), expected, "{name}");
        assert!(warnings(&program).is_empty(), "{name}: {:?}", warnings(&program));
    }
}

#[test]
fn a_separate_file_is_found_by_link_and_by_build_id() {
    let expected = expected();
    for name in ["linked", "identified"] {
        let program = analysed(&packed(name));
        assert_eq!(facts(&program), expected, "{name}");
        assert!(warnings(&program).is_empty(), "{name}: {:?}", warnings(&program));
    }
}

/// Where functions begin, and where data lies.
fn places(program: &Program) -> Vec<(u64, u32)> {
    let functions = program.functions.iter().filter(|f| !f.is_external());
    let data = program.listing.data.iter().filter(|(at, _)| at.space == SpaceId::RAM);
    let data = data.map(|(at, unit)| (at.offset, unit.length));
    functions.map(|f| (f.entry.offset, 0)).chain(data).collect()
}

/// The names of functions and data, with their namespaces; those to show, or all.
fn names(program: &Program, all: bool) -> BTreeSet<(u64, String)> {
    let places: BTreeSet<u64> = places(program).into_iter().map(|(at, _)| at).collect();
    let symbols = program.symbols.iter().map(|(_, symbol)| symbol);
    let symbols = symbols.filter(|s| (all || s.primary) && places.contains(&s.address.offset));
    let is_own = |s: &&Symbol| s.address.space == SpaceId::RAM && !s.name.is_empty();
    let symbols = symbols.filter(|s| s.is_in_memory()).filter(is_own);
    let named = |s: &Symbol| {
        let path = program.symbols.path(s.parent);
        (s.address.offset, format!("{path:?} {}", s.name))
    };
    symbols.map(named).collect()
}

/// The program keeps the names that it has (`entry`), and has the others as further ones, as in
/// Ghidra.
#[test]
fn a_separate_file_gives_its_symbols_too() {
    let whole = analysed(&packed("dwarf5"));
    let bare = analysed(&packed("bare"));
    assert!(warnings(&bare).is_empty(), "{:?}", warnings(&bare));
    assert_eq!(places(&bare), places(&whole));
    let missing: Vec<_> = names(&whole, false).difference(&names(&bare, true)).cloned().collect();
    assert!(missing.is_empty(), "{missing:#?}");
    let own = |name: &str| bare.symbols.named(name).any(|(_, s)| s.primary);
    assert!(own("entry") && !own("_start") && own("add_item"));
    let typed = |program| {
        let lines = facts(program).into_iter();
        // A library function of the name that the stripped program does not show.
        let known = |line: &String| line.starts_with("undefined ") || line.contains("_init(");
        lines.filter(|line| !known(line)).collect::<Vec<_>>()
    };
    assert_eq!(typed(&bare), typed(&whole));
    let whole = analysed(&testkit::fixture("shapes.x64.O0"));
    let bare = analysed(&testkit::fixture("../debug/shapes.bare"));
    assert!(
        names(&whole, false).iter().any(|(_, name)| name.contains("\"Circle\"]")),
        "{:#?}",
        names(&whole, false)
    );
    let missing: Vec<_> = names(&whole, false).difference(&names(&bare, true)).cloned().collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

/// The file beside the program belongs to another build: the one in `.debug` is right.
#[test]
fn a_separate_file_that_does_not_fit_is_told_and_passed_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("inventory.linked");
    std::fs::copy(packed("linked"), &program).expect("copied");
    std::fs::copy(packed("zlib"), folder.path().join("inventory.linked.debug")).expect("copied");
    let alone = analysed(&program);
    assert!(warnings(&alone).iter().any(|w| w.contains("its checksum is another")));
    assert!(!facts(&alone).iter().any(|line| line.contains(" at ")));
    std::fs::create_dir(folder.path().join(".debug")).expect("made");
    let right = folder.path().join(".debug/inventory.linked.debug");
    std::fs::copy(packed("linked.debug"), right).expect("copied");
    assert_eq!(facts(&analysed(&program)), expected());
}

/// Paths of structures, unions, enumerations, typedefs and functions, each with its size and what
/// it is of, and members with offset, type and name.
fn described(program: &Program) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for (_, known) in program.types.iter().filter(|(_, t)| t.category.starts_with("/DWARF")) {
        let length = known.length.unwrap_or(0);
        let lines = match &known.kind {
            TypeKind::Struct { fields, .. } | TypeKind::Union { fields } => {
                let kind = if matches!(known.kind, TypeKind::Union { .. }) {
                    "union"
                } else {
                    "structure"
                };
                let line = |f: &Field| {
                    let bits = f.bits.map(|(low, width)| format!(" {low}+{width}"));
                    let kind = program.types.name(f.data_type);
                    format!("{} {kind} {}{}", f.offset, f.name, bits.unwrap_or_default())
                };
                let head = format!("{kind} {length}");
                std::iter::once(head).chain(fields.iter().map(line)).collect()
            }
            TypeKind::Enum { values } => {
                let values = values.iter().map(|(name, value, _)| format!("{name}={value}"));
                std::iter::once(format!("enum {length}")).chain(values).collect()
            }
            TypeKind::Typedef(to) => {
                let to = program.types.get(*to).map(|t| t.path()).unwrap_or_default();
                vec![format!("typedef {length} {to}")]
            }
            TypeKind::Function(_) => vec!["function".to_owned()],
            _ => continue,
        };
        found.insert(known.path(), lines);
    }
    found
}

/// The same out of what Ghidra says of a sample.
fn described_by_ghidra(sample: &testkit::truth::Sample) -> BTreeMap<String, Vec<String>> {
    let dump = sample.program().expect("the dump is read");
    let mut found = BTreeMap::new();
    for known in dump.data_types.iter().filter(|t| t.path.starts_with("/DWARF")) {
        let head = format!("{} {}", known.kind, known.length);
        let lines = match &*known.kind {
            "structure" | "union" => std::iter::once(head).chain(known.members()).collect(),
            "enum" => continue,
            "typedef" => vec![format!("{head} {}", known.of.as_deref().unwrap_or_default())],
            "function" => vec!["function".to_owned()],
            _ => continue,
        };
        found.entry(known.path.clone()).or_insert(lines);
    }
    found
}

#[test]
fn types_are_those_that_ghidra_makes() {
    let Some(truth) = testkit::truth::Truth::find("types_are_those_that_ghidra_makes") else {
        return;
    };
    for name in ["classes.x64.O0.g", "structs.x64.O0.g", "structs.x64.O2.g", "globals.x64.O2.g"] {
        let sample = truth.sample(name).expect("a sample");
        let mut ours = described(&analysed(sample.binary()));
        ours.retain(|_, lines| !lines[0].starts_with("enum"));
        let theirs = described_by_ghidra(&sample);
        assert!(theirs.len() > 10, "{name}: {theirs:?}");
        assert_eq!(ours, theirs, "{name}");
    }
}

fn depot(kind: &str) -> BTreeMap<String, Vec<String>> {
    described(&analysed(&testkit::fixture(&format!("../debug/depot.{kind}"))))
}

#[test]
fn types_of_cpp_are_in_their_namespaces() {
    let root = "/DWARF/depot.cc";
    for kind in ["dwarf2", "dwarf4", "dwarf5", "types4", "types5", "clang"] {
        let found = depot(kind);
        let of = |path: &str| -> Vec<&str> {
            let lines = found.get(&format!("{root}/{path}"));
            let lines = lines.unwrap_or_else(|| panic!("{kind}: {path} among {:#?}", found.keys()));
            lines.iter().map(String::as_str).collect()
        };
        let whole = of("depot/Crate");
        // What pads the end of a base holds members; a base without members takes no room.
        let first = ["structure 64", "0 Base super_Base", "13 char more", "14 short weight"];
        assert_eq!(whole[..4], first, "{kind}");
        let union = whole[4].strip_prefix("16 ").and_then(|rest| rest.strip_suffix(" field_2"));
        let union = union.unwrap_or_else(|| panic!("{kind}: {whole:?}"));
        // Types without a name are called after what is in them and the members that are of them,
        // if these are in the same unit.
        let own_units = kind.starts_with("types");
        let place = if own_units { "" } else { "_for_place" };
        let place = format!("anon_struct_8_2_947311e6{place}");
        assert_eq!(whole[5], format!("20 {place} place"), "{kind}");
        let rest = [
            "28 uint few 0+3",
            "28 uint some 3+5",
            "32 longlong wide 0+40",
            "40 Mode mode",
            "48 offset_in_Base_to_int member",
            "56 Crate * next",
        ];
        // Behind the typedef of that name in the same unit, plain numbers of its kind have it.
        let others: Vec<String> =
            whole[6..].iter().map(|line| line.replace("uint32_t", "uint")).collect();
        assert_eq!(others, rest, "{kind}");
        let nameless = |name: &str| {
            let named = |path: &&String| path.rsplit('/').next() == Some(name);
            let path = found.keys().find(named).unwrap_or_else(|| panic!("{kind}: {name}"));
            assert!(own_units || *path == format!("{root}/depot/Crate/{name}"), "{path}");
            &found[path]
        };
        assert_eq!(nameless(union)[..2], ["union 4", "0 int whole"], "{kind}");
        assert_eq!(nameless(&place)[..], ["structure 8", "0 int x", "4 int y"], "{kind}");
        assert_eq!(of("depot/Kind"), ["enum 1", "Fruit=1", "Tool=200"], "{kind}");
        assert_eq!(of("depot/Crate/Mode"), ["enum 4", "Off=0", "On=1"], "{kind}");
        assert_eq!(of("counted/Local"), ["structure 4", "0 int sum"], "{kind}");
        let stack = ["structure 20", "0 int[4] items", "16 int count"];
        assert_eq!(of("depot/Stack<int,_4>"), stack, "{kind}");
        let hidden = found.keys().find(|path| path.ends_with("/Hidden")).expect("it is known");
        assert!(hidden.starts_with(&format!("{root}/depot/anon_unknown_")), "{kind}: {hidden}");
        for function in ["depot/priced", "over", "over.conflict", "depot/Stack<int,_4>/push"] {
            assert_eq!(of(function), ["function"], "{kind}");
        }
        assert_eq!(of("Rule"), ["function"], "{kind}");
    }
}

#[test]
fn another_analysis_leaves_types_as_they_are() {
    let path = testkit::fixture("../debug/depot.dwarf5");
    let session = Session::open(&path, &OpenOptions::default()).expect("the fixture opens");
    let analysed = || {
        session.start_analysis(AnalysisKind::Ghidra, None).expect("nothing runs yet");
        assert!(session.wait_for_analysis(Duration::from_secs(120)));
        session.snapshot()
    };
    let first = described(&analysed());
    assert_eq!(described(&analysed()), first);
}

/// The prototype that debug information gives a function of `passed.c`, hidden parameters among the
/// others, and its variables.
fn passed(program: &Program, name: &str) -> (String, Vec<String>) {
    let function = program.functions.iter().find(|f| *program.function_name(f.entry) == *name);
    let function = function.expect("debug information tells of it");
    let written = |data_type, name: &str| format!("{} {name}", program.types.name(data_type));
    let parameters = function.signature.parameters.iter();
    let parameters: Vec<String> = parameters.map(|p| written(p.data_type, &p.name)).collect();
    let locals = function.locals.iter().filter(|local| local.type_locked);
    let locals = locals.map(|local| written(local.data_type, &local.name)).collect();
    (written(function.signature.return_type, &format!("({})", parameters.join(", "))), locals)
}

#[test]
fn structures_come_back_where_the_convention_says() {
    let program = |kind: &str| analysed(&testkit::fixture(&format!("../debug/passed.{kind}")));
    let plain = "pair (int first, int second)";
    let hidden = "pair (pair * __return_storage_ptr__, int first, int second)";
    let (x64, aarch64, mips) = (program("x64"), program("aarch64"), program("mips"));
    // On MIPS, no structure comes back in registers.
    for (program, expected) in [(&x64, plain), (&aarch64, plain), (&mips, hidden)] {
        assert_eq!(passed(program, "make_pair").0, expected);
    }
    // On AArch64, one of up to four equal numbers does, whatever its size.
    let plain = "square (double side)";
    let hidden = "square (square * __return_storage_ptr__, double side)";
    for (program, expected) in [(&x64, hidden), (&aarch64, plain), (&mips, hidden)] {
        assert_eq!(passed(program, "make_square").0, expected);
    }
}

#[test]
fn a_variable_that_begins_as_part_of_a_parameter_is_no_variable_of_its_own() {
    let program = analysed(&testkit::fixture("../debug/passed.x64"));
    // At the entry, `total` lies where `row` does.
    assert_eq!(passed(&program, "sum"), ("long (row row, int times)".to_owned(), Vec::new()));
}

#[test]
fn a_long_double_is_compared_as_the_number_it_is() {
    let path = testkit::fixture("../debug/passed.x64");
    let session = Session::open(&path, &OpenOptions::default()).expect("the fixture opens");
    session.start_analysis(AnalysisKind::Ghidra, None).expect("nothing runs yet");
    assert!(session.wait_for_analysis(Duration::from_secs(120)));
    let program = session.snapshot();
    let mut entries = program.functions.iter().map(|function| function.entry);
    let entry = entries.find(|entry| *program.function_name(*entry) == *"above");
    let text = session.decompile_now(&program, entry.expect("debug information tells of it")).c;
    assert!(text.contains("int above(longdouble value,int bound)"), "{text}");
    assert!(text.contains("(longdouble)bound < value"), "{text}");
}

#[test]
fn a_block_begins_where_its_first_range_does_be_it_empty() {
    let Some(truth) = testkit::truth::Truth::find("empty ranges") else { return };
    let sample = truth.sample("structs.x64.O2.g").expect("is kept");
    let program = analysed(sample.binary());
    let comments = program.comments.iter().filter(|(_, text)| text.starts_with("Unresolved"));
    let ours: Vec<(String, String)> =
        comments.map(|((at, _), text)| (format!("{:08x}", at.offset), text.to_string())).collect();
    let theirs = sample.program().expect("is kept").comments;
    let theirs = theirs.into_iter().filter(|comment| comment.text.starts_with("Unresolved"));
    let theirs: Vec<(String, String)> = theirs.map(|c| (c.address, c.text)).collect();
    assert_eq!(ours, theirs);
}

/// What functions of `meter.cc` are called, with the namespaces they are in.
fn qualified(program: &Program) -> BTreeMap<String, engine::program::Address> {
    let functions = program.functions.iter();
    let named = functions.filter_map(|f| Some((program.symbols.get(f.symbol)?, f.entry)));
    named
        .map(|(symbol, entry)| {
            let mut path = program.symbols.path(symbol.parent);
            path.push(symbol.name.clone());
            (path.join("::"), entry)
        })
        .collect()
}

fn meter() -> std::sync::Arc<Program> {
    analysed(&testkit::fixture("../debug/meter"))
}

fn plate(program: &Program, at: engine::program::Address) -> Option<&str> {
    program.comments.get(&(at, engine::program::CommentKind::Plate)).map(|text| &**text)
}

#[test]
fn functions_are_named_as_they_were_declared() {
    let program = meter();
    let names = qualified(&program);
    for expected in ["box::Shelf<long_int,_4>::at", "box::weigh<char,_2>", "fold", "parted"] {
        assert!(names.contains_key(expected), "{expected}: {names:?}");
    }
    let hidden = names.keys().find(|name| name.ends_with("::Meter::tick"));
    assert!(hidden.is_some_and(|name| name.starts_with("anon_unknown.dwarf_")), "{names:?}");
    let lambda = names.keys().find(|name| name.ends_with("::operator()"));
    assert!(lambda.is_some_and(|name| name.starts_with("fold::anon_struct_4_1_")), "{names:?}");
    // The linker's name is kept, what it was read as is not.
    let weigh = names["box::weigh<char,_2>"];
    let there: BTreeSet<&str> = program.symbols.at(weigh).map(|(_, s)| &*s.name).collect();
    assert_eq!(there, BTreeSet::from(["_ZN3box5weighIcLi2EEEiT_", "weigh<char,_2>"]));
    assert_eq!(plate(&program, weigh), Some("DWARF original name: weigh<char, 2>"));
}

#[test]
fn variables_are_named_as_they_were_declared() {
    let program = meter();
    let primary = |name: &str| {
        let mut named = program.symbols.named(name).filter(|(_, s)| s.primary);
        let (_, symbol) = named.next().unwrap_or_else(|| panic!("no {name}"));
        program.symbols.path(symbol.parent).join("::")
    };
    assert_eq!(primary("made"), "box::Shelf<long_int,_4>");
    assert_eq!(primary("folds"), "fold");
    assert!(primary("spare").starts_with("anon_unknown.dwarf_"), "{}", primary("spare"));
}

#[test]
fn the_object_of_a_lambda_is_this() {
    let program = meter();
    let names = qualified(&program);
    let (_, lambda) = names.iter().find(|(name, _)| name.ends_with("operator()")).expect("one");
    let function = program.functions.at(*lambda).expect("known");
    assert_eq!(function.signature.convention.as_deref(), Some("__thiscall"));
    let first = function.signature.parameters.first().expect("it has parameters");
    assert!(first.automatic && &*first.name == "this", "{first:?}");
    let text = plate(&program, *lambda).expect("a comment");
    assert!(text.starts_with("DWARF original prototype: int operator()("), "{text}");
    assert!(text.ends_with(" * __closure, int k)"), "{text}");
}

#[test]
fn a_function_declared_so_never_returns() {
    let program = meter();
    let names = qualified(&program);
    assert!(program.functions.at(names["leave"]).expect("known").no_return);
    assert!(!program.functions.at(names["measure"]).expect("known").no_return);
}

#[test]
fn the_parts_of_a_function_are_told() {
    let program = meter();
    let entry = qualified(&program)["parted"];
    let cold = program.symbols.named("_Z6partedi.cold").next().expect("a part").1.address;
    let (at, apart) = (entry.offset, cold.offset);
    let expected = format!(
        "DWARF func body range[0]: {{@address {apart:#x} {apart:08x}}} (25 bytes)\n\
         DWARF func body range[1]: {{@address {at:#x} {at:08x}}} (16 bytes)\n\
         DWARF: {{@address {at:#x} parted}} disjoint block 1"
    );
    assert_eq!(plate(&program, entry), Some(&*expected));
}

#[test]
fn parameters_without_names_are_called_after_their_place() {
    let program = meter();
    let path = program.types.named("measure").find_map(|id| {
        let kind = &program.types.get(id)?.kind;
        let TypeKind::Function(kind) = kind else { return None };
        Some(kind.parameters.iter().map(|p| p.name.to_string()).collect::<Vec<_>>())
    });
    assert_eq!(path.expect("a prototype"), ["n", "param_1"]);
}

#[test]
fn a_variable_in_a_register_is_told_with_its_name() {
    let program = meter();
    let at = (qualified(&program)["extent"], engine::program::CommentKind::Pre);
    let text = program.comments.get(&at).map(|text| &**text);
    assert_eq!(text, Some("Unresolved local var: char * end@[DW_OP_reg5(RDI)]"));
}

#[test]
fn a_variable_whose_place_the_frame_holds_is_a_pointer() {
    let program = meter();
    let function = program.functions.at(qualified(&program)["spread"]).expect("known");
    let row = function.locals.iter().find(|local| &*local.name == "row").expect("a variable");
    assert_eq!(program.types.name(row.data_type), "int[0] *");
}

#[test]
fn what_is_said_of_an_entry_from_other_files_holds_behind_it() {
    let program = analysed(&testkit::fixture("../debug/wide.powerpc64le"));
    // Two instructions for callers in other files come before the function itself.
    let named = program.functions.at(qualified(&program)["shown"]).expect("known");
    let target = program.functions.at(named.thunk_of.expect("it passes on")).expect("known");
    let parameters = target.signature.parameters.iter();
    let parameters: Vec<&str> = parameters.map(|p| &*p.name).collect();
    assert_eq!(parameters, ["reporter", "count"]);
}

/// The C text of a function of `kiosk.rs`.
fn kiosk(variant: &str, name: &str) -> (std::sync::Arc<Program>, engine::program::Address, String) {
    let path = testkit::fixture(&format!("../debug/kiosk{variant}"));
    let session = Session::open(&path, &OpenOptions::default()).expect("the fixture opens");
    session.start_analysis(AnalysisKind::Ghidra, None).expect("nothing runs yet");
    assert!(session.wait_for_analysis(Duration::from_secs(120)));
    let program = session.snapshot();
    let names = qualified(&program);
    let entry = *names.get(name).unwrap_or_else(|| panic!("no {name}: {names:?}"));
    let text = session.decompile_now(&program, entry).c;
    (program, entry, text)
}

#[test]
fn functions_of_rust_are_called_as_rust_does() {
    let (program, entry, text) = kiosk("", "kiosk::Kiosk::sell");
    let function = program.functions.at(entry).expect("known");
    assert_eq!(function.signature.convention.as_deref(), Some("__rustcall"));
    let expected = "DWARF original prototype: u64 sell(Kiosk * self, u32 count)";
    assert_eq!(plate(&program, entry), Some(expected));
    assert!(text.contains("u64 __rustcall kiosk::Kiosk::sell(Kiosk *self,u32 count)"), "{text}");
    let (.., text) = kiosk("", "kiosk::row");
    assert!(text.contains("(u64 (*__return_storage_ptr__) [4],u64 start)"), "{text}");
    // A slice is as long as two registers.
    let (.., text) = kiosk("", "kiosk::widest");
    assert!(text.contains("usize __rustcall kiosk::widest(&[&str] texts)"), "{text}");
}

#[test]
fn names_of_rust_tell_its_convention() {
    let (program, entry, text) = kiosk(".bare", "kiosk::row");
    let signature = &program.functions.at(entry).expect("known").signature;
    assert_eq!(signature.convention.as_deref(), Some("__rustcall"));
    assert!(text.contains("__rustcall kiosk::row("), "{text}");
    // What other languages call is not named so.
    let (program, entry, _) = kiosk(".bare", "stand");
    assert_eq!(program.functions.at(entry).expect("known").signature.convention, None);
}
