//! Tests of the declaration reader over whole texts.

use crate::{Declaration, parse, parse_prototype, parse_type};
use program::data_type::{DataOrganization, DataTypes, TypeKind};
use proptest::prelude::*;

fn types() -> DataTypes {
    DataTypes::new(DataOrganization::default())
}

#[test]
fn types_as_people_write_them() {
    let mut t = types();
    for (text, name, length) in [
        ("unsigned char *[4]", "uchar *[4]", Some(32)),
        ("const char * const *", "char * *", Some(8)),
        ("long long unsigned int", "ulonglong", Some(8)),
        ("int (*)[3]", "int[3] *", Some(8)),
        ("int[2][3]", "int[2][3]", Some(24)),
        ("void *", "void *", Some(8)),
        ("uint32_t", "uint32_t", Some(4)),
        ("int (*)(const char *, ...)", "_func_int(char *,...) *", Some(8)),
        ("long double", "longdouble", Some(16)),
    ] {
        let id = parse_type(text, &mut t).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!((t.name(id), t.length(id)), (name, length), "{text}");
    }
}

#[test]
fn prototypes_with_conventions_and_varargs() {
    let mut t = types();
    let p = parse_prototype("int parse(const char *s, size_t n)", &mut t).unwrap();
    assert_eq!(p.name, "parse");
    let names: Vec<_> =
        p.function.parameters.iter().map(|p| (&*p.name, t.name(p.data_type))).collect();
    assert_eq!(names, [("s", "char *"), ("n", "ulong")]);
    let p = parse_prototype("void __stdcall f(int a[10], int (*cb)(void), ...);", &mut t).unwrap();
    assert_eq!(p.function.convention.as_deref(), Some("__stdcall"));
    assert!(p.function.varargs && p.function.parameters.len() == 2);
    assert_eq!(t.name(p.function.parameters[0].data_type), "int *");
    let p = parse_prototype("char *(*pick(int which))(int)", &mut t).unwrap();
    assert_eq!((p.name.as_str(), p.function.parameters.len()), ("pick", 1));
    assert!(
        parse_prototype("__attribute__((noreturn)) void die(void)", &mut t)
            .unwrap()
            .function
            .no_return
    );
}

#[test]
fn composites_are_laid_out_by_the_rules_of_c() {
    let mut t = types();
    let text = "struct Node { char tag; struct Node *next; union { int i; double d; } v; \
                unsigned a : 3, b : 5; short tail[3]; };";
    let made = parse(text, &mut t, "/demo").unwrap();
    let Some(Declaration::Type(id)) = made.last() else { panic!("{made:?}") };
    let node = t.get(*id).unwrap().clone();
    assert_eq!((node.path().as_str(), node.length), ("/demo/Node", Some(40)));
    let TypeKind::Struct { fields, .. } = &node.kind else { panic!() };
    let offsets: Vec<_> = fields.iter().map(|f| (&*f.name, f.offset, f.bits)).collect();
    assert_eq!(
        offsets,
        [
            ("tag", 0, None),
            ("next", 8, None),
            ("v", 16, None),
            ("a", 24, Some((0, 3))),
            ("b", 24, Some((3, 5))),
            ("tail", 28, None)
        ]
    );
    assert_eq!(t.name(fields[1].data_type), "Node *");
    let packed =
        parse("struct __attribute__((packed)) P { char c; int i; };", &mut t, "/").unwrap();
    let Some(Declaration::Type(id)) = packed.last() else { panic!() };
    assert_eq!(t.length(*id), Some(5));
}

#[test]
fn enums_and_typedefs() {
    let mut t = types();
    let text =
        "typedef enum { RED, GREEN = 5, BLUE } Color; typedef struct { Color c[BLUE]; } Palette;";
    parse(text, &mut t, "/").unwrap();
    let palette = t.at_path("/Palette").unwrap();
    assert_eq!(t.length(palette), Some(24));
    let color = t.get(t.at_path("/Color").unwrap()).unwrap();
    let TypeKind::Enum { values } = &color.kind else { panic!("{color:?}") };
    assert_eq!(
        values.iter().map(|(n, v, _)| (&**n, *v)).collect::<Vec<_>>(),
        [("RED", 0), ("GREEN", 5), ("BLUE", 6)]
    );
}

#[test]
fn errors_say_where_and_what() {
    let mut t = types();
    let error = |text: &str, t: &mut DataTypes| parse(text, t, "/").unwrap_err().to_string();
    assert_eq!(
        error("int x\nint y;", &mut t),
        "line 2, column 1: ; after the declaration was expected, not int"
    );
    assert!(error("strct S { int x; };", &mut t).contains("no type is called strct"));
    assert!(error("struct S { struct S inner; };", &mut t).contains("no size yet"));
    assert!(error("struct B { int x : 40; };", &mut t).contains("0 to 32 bits"));
    assert!(parse_type("int[99999999999]", &mut t).is_err());
    assert!(parse_type(&"(".repeat(100_000), &mut t).is_err());
    assert!(parse_type(&format!("int {}", "*".repeat(100_000)), &mut t).is_err());
}

#[test]
fn a_text_read_again_defines_nothing_twice() {
    let mut t = types();
    let text = "typedef enum { A, B } Letter; \
                typedef struct { union { int i; float f; } v; Letter l; } Cell; \
                struct Row { struct { char c; } first; Cell *cells; };";
    parse(text, &mut t, "/").unwrap();
    let paths = |t: &DataTypes| t.by_path().map(|(path, _)| path.to_string()).collect::<Vec<_>>();
    let (once, cell) = (paths(&t), t.at_path("/Cell"));
    parse(text, &mut t, "/").unwrap();
    assert_eq!((paths(&t), t.at_path("/Cell")), (once, cell));
    parse("struct Other { union { long n; } v; };", &mut t, "/").unwrap();
    assert_eq!(t.length(t.at_path("/anonymous_union_2").unwrap()), Some(4), "is another union");
}

#[test]
fn built_in_types_are_not_defined_again() {
    let mut t = types();
    for text in
        ["typedef long byte;", "struct word { int x; };", "typedef struct { int x; } qword;"]
    {
        let error = parse(text, &mut t, "/").unwrap_err().to_string();
        assert!(error.contains("is a built-in type"), "{text}: {error}");
    }
    parse("struct word { int x; };", &mut t, "/mine").unwrap();
    assert!(parse("struct F { float f : 3; };", &mut t, "/").is_err(), "no bits of a float");
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[a-z*(){}\\[\\];,:0-9 =~+<&/.-]{0,80}") {
        let _ = parse(&text, &mut types(), "/");
    }

    #[test]
    fn no_mix_of_words_makes_it_panic(words in proptest::collection::vec(
        prop_oneof!["int", "char", "struct", "enum", "union", "typedef", "S", "\\*", "\\(", "\\)", "\\{", "\\}", "\\[", "\\]", ";", ",", ":", "3", "sizeof", "unsigned"], 0..40)) {
        let _ = parse(&words.join(" "), &mut types(), "/");
    }
}
