//! PDB files: what they bring into a program, and which of them are used.

use engine::program::data_type::Field;
use engine::program::{
    Address, CommentKind, Program, SourceType, Storage, SymbolKind, TypeId, TypeKind,
};
use engine::{AnalysisKind, AnalysisState, OpenError, OpenOptions, ProjectChoice, Session};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

fn fixture(name: &str) -> PathBuf {
    testkit::fixture(&format!("../pdb/{name}"))
}

fn analyse(session: &Session) -> Arc<Program> {
    session.start_analysis(AnalysisKind::Ghidra, None).expect("nothing runs yet");
    assert!(session.wait_for_analysis(Duration::from_secs(120)));
    assert_eq!(session.analysis_status().state, AnalysisState::Completed);
    session.snapshot()
}

fn analysed(path: &Path, pdb: Option<PathBuf>) -> Arc<Program> {
    let options = OpenOptions { pdb, ..OpenOptions::default() };
    analyse(&Session::open(path, &options).expect("the fixture opens"))
}

/// A copy of a program in a folder without its PDB file.
fn alone(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::copy(fixture(name), &path).expect("copied");
    (folder, path)
}

fn function_at(program: &Program, name: &str) -> Arc<engine::program::Function> {
    let found = program.symbols.named(name).find(|(_, s)| s.kind == SymbolKind::Function);
    let (_, symbol) = found.unwrap_or_else(|| panic!("no function {name}"));
    Arc::clone(program.functions.at(symbol.address).expect("a function"))
}

/// Namespaces, convention, name and parameters of a function.
fn signature(program: &Program, name: &str) -> String {
    let function = function_at(program, name);
    let signature = &function.signature;
    let parent = program.symbols.get(function.symbol).expect("a symbol").parent;
    let path: Vec<String> = program.symbols.path(parent).iter().map(|p| format!("{p}::")).collect();
    let kind = |id| program.types.name(id).to_owned();
    let parameters = signature.parameters.iter();
    let mut parameters: Vec<String> =
        parameters.map(|p| format!("{} {}", kind(p.data_type), p.name)).collect();
    parameters.extend(signature.varargs.then(|| "...".to_owned()));
    let convention = signature.convention.as_deref().unwrap_or("unknown");
    let returned = kind(signature.return_type);
    format!("{returned} {convention} {}{name}({})", path.concat(), parameters.join(", "))
}

fn locals(program: &Program, name: &str) -> Vec<(String, String, i64)> {
    let function = function_at(program, name);
    let locked = function.locals.iter().filter(|local| local.type_locked);
    let placed = locked.filter_map(|local| match &local.storage {
        Storage::Pieces(pieces) => {
            let kind = program.types.name(local.data_type).to_owned();
            Some((local.name.to_string(), kind, pieces[0].address.offset as i64))
        }
        _ => None,
    });
    placed.collect()
}

fn type_at(program: &Program, path: &str) -> TypeId {
    program.types.at_path(path).unwrap_or_else(|| panic!("no type {path}"))
}

fn fields(program: &Program, path: &str) -> Vec<Field> {
    match &program.types.get(type_at(program, path)).expect("a type").kind {
        TypeKind::Struct { fields, .. } | TypeKind::Union { fields } => fields.clone(),
        other => panic!("{path} is {other:?}"),
    }
}

/// Offset, type and name of each member, and its bits.
fn members(program: &Program, path: &str) -> Vec<String> {
    let member = |f: &Field| {
        let bits = f.bits.map(|(low, width)| format!(" : {low}+{width}")).unwrap_or_default();
        format!("{} {} {}{bits}", f.offset, program.types.name(f.data_type), f.name)
    };
    fields(program, path).iter().map(member).collect()
}

fn warnings(program: &Program) -> Vec<&String> {
    program.info.warnings.iter().filter(|text| text.starts_with("PDB")).collect()
}

#[test]
fn functions_get_their_prototypes() {
    let program = analysed(&fixture("shop.x64.exe"), None);
    assert!(warnings(&program).is_empty(), "{:?}", warnings(&program));
    let expected = [
        ("name_of", "char * __cdecl shop::name_of(int index)"),
        ("mean", "double __cdecl shop::mean(double * values, int n)"),
        ("made", "int __cdecl shop::Item::made()"),
        ("many", "int __cdecl many(int n, ...)"),
        ("visit", "int __cdecl visit(_func_int_int_void_ptr * callback, void * data, int n)"),
        ("make", "Hidden __cdecl make(Hidden * __return_storage_ptr__, int n)"),
        ("add", "int __cdecl add(int i, void * data)"),
        ("Item", "undefined __thiscall shop::Item::Item(Item * this, int id, Kind kind)"),
        ("Crate", "undefined __thiscall shop::Crate::Crate(Crate * this, int id, int n)"),
    ];
    for (name, text) in expected {
        assert_eq!(signature(&program, name), text);
        assert_eq!(function_at(&program, name).signature.source, SourceType::Imported);
    }
    let (_, class) =
        program.symbols.named("Item").find(|(_, s)| s.address == Address::MAX).unwrap();
    assert_eq!(class.kind, SymbolKind::Class);
    assert!(function_at(&program, "halt").no_return);
    // The loader's name for the entry stays, and the file's is beside it.
    let entry = function_at(&program, "entry").entry;
    assert!(program.symbols.at(entry).any(|(_, s)| &*s.name == "start" && !s.primary));
    // Mangled names are second names.
    let total = program.symbols.named("?total@Item@shop@@UEBAHH@Z").next().expect("is there").1;
    assert!(!total.primary);
}

#[test]
fn conventions_of_32_bits_are_told_apart() {
    let program = analysed(&fixture("shop.x86.exe"), None);
    assert_eq!(signature(&program, "scaled"), "int __stdcall scaled(int value, int factor)");
    assert_eq!(signature(&program, "quick"), "int __fastcall quick(int one, int two)");
    assert_eq!(signature(&program, "name_of"), "char * __cdecl shop::name_of(int index)");
    let local = |name: &str, kind: &str, at| (name.to_owned(), kind.to_owned(), at);
    assert_eq!(locals(&program, "scaled"), [local("local", "int", -8)]);
    // It aligns its frame to eight bytes, wherever it begins.
    assert_eq!(locals(&program, "mean"), []);
}

#[test]
fn variables_have_names_types_and_places() {
    let program = analysed(&fixture("shop.x64.exe"), None);
    let local = |name: &str, kind: &str, at| (name.to_owned(), kind.to_owned(), at);
    let expected = [
        local("values_local", "double *", -0x10),
        local("n_local", "int", -4),
        local("sum", "double", -0x18),
        local("i", "int", -0x1c),
    ];
    assert_eq!(locals(&program, "mean"), expected);
    assert!(locals(&program, "entry").contains(&local("crate", "Crate", -0x48)));
    // A reference, whatever size the compiler wrote for it.
    assert!(locals(&program, "make").contains(&local("made", "Hidden *", -8)));
}

#[test]
fn types_are_under_the_name_of_the_file() {
    let program = analysed(&fixture("shop.x64.exe"), None);
    let root = "/shop.x64.pdb";
    let crate_members = ["0 Item super_Item", "32 int[4] slots", "48 Label label"];
    assert_eq!(members(&program, &format!("{root}/shop/Crate")), crate_members);
    let item = ["0 pointer * VFTablePtr0", "8 Price price", "20 int id_", "24 Kind kind_"];
    let item: Vec<String> = item.iter().map(|text| (*text).to_owned()).collect();
    let found = members(&program, &format!("{root}/shop/Item"));
    assert_eq!(found[1..], item[1..]);
    assert!(found[0].ends_with("VFTablePtr0"), "{found:?}");
    let price = ["0 int whole", "4 uchar cents", "8 uint flag : 0+3", "8 uint level : 3+5"];
    assert_eq!(members(&program, &format!("{root}/shop/Price")), price);
    let label = members(&program, &format!("{root}/shop/Crate/Label"));
    assert_eq!(label, ["0 char[12] text", "16 Label * next"]);
    let kind = program.types.get(type_at(&program, &format!("{root}/shop/Kind"))).unwrap();
    let TypeKind::Enum { values } = &kind.kind else { panic!("{kind:?}") };
    let values: Vec<(&str, i64)> = values.iter().map(|(name, n, _)| (&**name, *n)).collect();
    assert_eq!(values, [("Fruit", 1), ("Tool", 2), ("Toy", 40)]);
    assert_eq!(kind.length, Some(4));
    let tag = program.types.get(type_at(&program, &format!("{root}/PriceTag"))).unwrap();
    assert_eq!(tag.kind, TypeKind::Typedef(type_at(&program, &format!("{root}/shop/Price"))));
    assert!(
        program.types.at_path(&format!("{root}/!_anon_funcs_/_func_int_int_void_ptr")).is_some()
    );
}

/// A union without a name leaves members that share their bytes.
#[test]
fn members_that_share_bytes_are_those_of_a_union() {
    let program = analysed(&fixture("shop.x64.exe"), None);
    let mixed = fields(&program, "/shop.x64.pdb/Mixed");
    let shape: Vec<(u32, u32)> = mixed.iter().map(|f| (f.offset, f.length)).collect();
    assert_eq!(shape, [(0, 4), (4, 4), (8, 8)]);
    let path = program.types.get(mixed[1].data_type).unwrap().path();
    let inner = members(&program, &path);
    assert_eq!(inner[..2], ["0 int whole", "0 float part"]);
    let last = fields(&program, &path)[2].data_type;
    let last = program.types.get(last).unwrap().path();
    assert_eq!(members(&program, &last), ["0 short low", "2 short high"]);
}

#[test]
fn data_has_types_and_names() {
    let program = analysed(&fixture("shop.x64.exe"), None);
    let at = |name: &str| {
        let (_, symbol) = program.symbols.named(name).next().unwrap_or_else(|| panic!("no {name}"));
        assert!(symbol.primary, "{name}");
        symbol.address
    };
    let kind = |name: &str| {
        let unit = program.listing.data.get(&at(name)).expect("data");
        program.types.name(unit.data_type).to_owned()
    };
    let expected =
        [("counter", "int"), ("names", "char *[3]"), ("hidden", "Hidden"), ("tags", "Price[2]")];
    for (name, text) in expected {
        assert_eq!(kind(name), text, "{name}");
    }
    assert_eq!(kind("last"), "int");
    let comment = program.comments.get(&(at("last"), CommentKind::Plate)).expect("a comment");
    assert!(comment.contains("static local") && comment.contains("next_number"), "{comment}");
}

#[test]
fn public_names_alone_are_demangled() {
    let program = analysed(&fixture("plain.x64.exe"), None);
    // Their prototypes come with them; of parameters only types are told.
    let expected = [
        ("mean", "double __cdecl shop::mean(double * , int )"),
        ("name_of", "char * __cdecl shop::name_of(int )"),
        ("made", "int __cdecl shop::Item::made()"),
        ("Item", "undefined __thiscall shop::Item::Item(Item * this, int , Kind )"),
        ("~Item", "void __thiscall shop::Item::~Item(Item * this)"),
    ];
    for (name, text) in expected {
        assert_eq!(signature(&program, name), text);
    }
    assert!(program.symbols.named("many").any(|(_, s)| s.kind == SymbolKind::Function));
    assert!(program.symbols.named("counter").any(|(_, s)| s.primary));
}

#[test]
fn a_file_of_another_build_is_used_only_when_it_is_chosen() {
    let (folder, program) = alone("shop.x64.exe");
    assert!(analysed(&program, None).symbols.named("mean").next().is_none());
    std::fs::copy(fixture("plain.x64.pdb"), folder.path().join("shop.x64.pdb")).expect("copied");
    let passed_over = analysed(&program, None);
    assert!(passed_over.symbols.named("many").next().is_none());
    assert!(warnings(&passed_over)[0].contains("was not read"), "{:?}", warnings(&passed_over));
    let used = analysed(&program, Some(fixture("plain.x64.pdb")));
    assert!(used.symbols.named("many").next().is_some());
    assert!(warnings(&used)[0].contains("another build"), "{:?}", warnings(&used));
    let right = analysed(&program, Some(fixture("shop.x64.pdb")));
    assert!(warnings(&right).is_empty(), "{:?}", warnings(&right));
    assert_eq!(signature(&right, "add"), "int __cdecl add(int i, void * data)");
}

#[test]
fn what_is_no_pdb_file_is_refused_at_once() {
    let open = |program: &Path, pdb: PathBuf| {
        let options = OpenOptions { pdb: Some(pdb), ..OpenOptions::default() };
        Session::open(program, &options).expect_err("is refused")
    };
    let program = fixture("shop.x64.exe");
    let refused = |error: OpenError, what: &str| {
        assert!(matches!(error, OpenError::Pdb(_)), "{error:?}");
        assert!(error.to_string().contains(what), "{error}");
    };
    refused(open(&program, program.clone()), "is no PDB file: it does not begin like one");
    refused(open(&program, program.with_file_name("missing.pdb")), "cannot be read");
    refused(open(&program, program.parent().unwrap().to_owned()), "no file of bearable size");
    refused(open(&testkit::fixture("tiny.x64.O2.static"), fixture("shop.x64.pdb")), "only Windows");
}

#[test]
fn a_damaged_file_is_told_and_harms_nobody() {
    let (folder, program) = alone("shop.x64.exe");
    let whole = std::fs::read(fixture("shop.x64.pdb")).expect("read");
    let pdb = folder.path().join("shop.x64.pdb");
    for kept in [0, 100, 4096, whole.len() / 2, whole.len() - 4096] {
        std::fs::write(&pdb, &whole[..kept]).expect("written");
        let program = analysed(&program, None);
        let told = warnings(&program);
        assert!(!told.is_empty(), "{kept} bytes");
        assert!(told.iter().all(|text| text.contains("PDB file") || text.contains("damaged")));
    }
}

/// As with a language: what is asked for decides which project goes on.
#[test]
fn a_project_remembers_the_chosen_file() {
    let (folder, program) = alone("shop.x64.exe");
    let within = |pdb: Option<PathBuf>| OpenOptions {
        pdb,
        project: ProjectChoice::Folder(folder.path().join("projects")),
        ..OpenOptions::default()
    };
    let session = Session::open(&program, &within(None)).expect("opens");
    analyse(&session);
    session.save().expect("saved");
    drop(session);
    let chosen = within(Some(fixture("shop.x64.pdb")));
    let session = Session::open(&program, &chosen).expect("opens");
    assert!(!session.is_restored());
    analyse(&session);
    let path = session.project_path().expect("a project").to_owned();
    session.save().expect("saved");
    drop(session);
    let session = Session::open(&program, &chosen).expect("opens");
    assert!(session.is_restored());
    assert_eq!(signature(&session.snapshot(), "quick"), "int __cdecl quick(int one, int two)");
    drop(session);
    let other = OpenOptions { pdb: Some(fixture("plain.x64.pdb")), ..OpenOptions::default() };
    let other = OpenOptions { project: ProjectChoice::File(path), ..other };
    let error = Session::open(&program, &other).expect_err("is refused");
    assert!(matches!(error, OpenError::OtherOptions { argument: "pdb", .. }), "{error:?}");
}

#[test]
fn variables_of_every_processor_have_places() {
    let local = |name: &str, kind: &str, at| (name.to_owned(), kind.to_owned(), at);
    let places = |kind: &str| {
        let program = analysed(&fixture(&format!("frames.{kind}.exe")), None);
        assert!(warnings(&program).is_empty(), "{kind}: {:?}", warnings(&program));
        let mut found = locals(&program, "sum");
        found.retain(|(name, ..)| !name.ends_with("_local"));
        found
    };
    let expected = |total, i, value| {
        [local("total", "int", total), local("i", "int", i), local("value", "int", value)]
    };
    assert_eq!(places("x64"), expected(-0x14, -0x18, -0x1c));
    assert_eq!(places("x86"), expected(-8, -0xc, -0x10));
    assert_eq!(places("arm64"), expected(-0x14, -0x18, -0x1c));
}

/// Where the stack is aligned to when a function begins is not known before it runs.
#[test]
fn variables_of_aligned_frames_have_no_place() {
    for kind in ["x64", "x86"] {
        let program = analysed(&fixture(&format!("frames.{kind}.exe")), None);
        let found = locals(&program, "aligned");
        assert!(!found.iter().any(|(name, ..)| name == "buffer" || name == "i"), "{found:?}");
    }
}

#[test]
fn values_of_enumerations_may_be_negative() {
    let program = analysed(&fixture("frames.x64.exe"), None);
    let sign = program.types.get(type_at(&program, "/frames.x64.pdb/Sign")).unwrap();
    let TypeKind::Enum { values } = &sign.kind else { panic!("{sign:?}") };
    let values: Vec<(&str, i64)> = values.iter().map(|(name, n, _)| (&**name, *n)).collect();
    assert_eq!(values, [("Minus", -1), ("Zero", 0), ("Plus", 1)]);
}
