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
    assert_eq!((node.path().as_str(), node.length), ("/demo/Node", Some(32)));
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
            ("tail", 26, None)
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

/// What a text is refused with.
fn refusal(text: &str) -> String {
    let mut t = types();
    match parse(text, &mut t, "/") {
        Ok(made) => panic!("{text} was taken: {made:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_not_understood_is_refused_with_its_place() {
    for (text, said) in [
        (
            "int a;\nstruct s { int x; } __attribute__((frobnicate));",
            "line 2, column 36: the attribute frobnicate",
        ),
        ("#pragma pack(3)\nstruct s { int x; };", "line 1, column 1: write pack(n)"),
        (
            "#pragma scalar_storage_order big-endian\n",
            "line 1, column 1: #pragma scalar_storage_order",
        ),
        (
            "#define F(x) x\nstruct s { int a[F(3)]; };",
            "line 2, column 18: F is a macro with arguments",
        ),
        ("#ifdef __x86_64__\n#endif", "whether __x86_64__ is defined"),
        ("#if 1\nint f(void);", "line 1, column 1: this has no #endif"),
        ("#error stop here", "line 1, column 1: #error stop here"),
        (
            "_Static_assert(sizeof(int) == 8, \"wide\");",
            "line 1, column 1: this assertion does not hold \"wide\"",
        ),
        ("struct s { int x; }; struct s { char y; };", "line 1, column 29: s was defined before"),
        ("typedef int T; typedef char T;", "line 1, column 29: T was declared before"),
        ("enum { A }; enum { B, A };", "line 1, column 23: A has another value"),
        ("struct s { int x; }; union s;", "line 1, column 28: s was declared before"),
        ("int f(int); char *f(int, int);", "line 1, column 19: f was declared before"),
        ("_Decimal64 d;", "line 1, column 1: _Decimal64 is a type that is not understood"),
        ("typedef int v __attribute__((vector_size(12)));", "power of two of them"),
        ("struct s { _Alignas(3) int x; };", "line 1, column 12: an alignment is a power of two"),
        ("struct s { int x[1 / 0]; };", "line 1, column 20: this constant has no value"),
        ("struct s { struct t y; };", "line 1, column 21: t has no size yet"),
        ("struct s { int uint; unsigned int; };", "this declares nothing"),
        ("int x[UNKNOWN];", "line 1, column 7: no enum value or constant is called UNKNOWN"),
        (
            "# 7 \"other.h\"\nstruct s { nope x; };",
            "line 2, column 12: no type is called nope (other.h, line 7)",
        ),
        ("int f(void) { return 1;", "line 1, column 13: what begins here has no end"),
        ("struct s { _Atomic struct { char a[3]; } x; };", "this _Atomic type"),
    ] {
        let error = refusal(text);
        assert!(error.contains(said), "{text}\n  {error}");
    }
}

#[test]
fn declarations_of_headers_are_read() {
    let mut t = types();
    let text = "#ifndef GUARD_H\n#define GUARD_H\n#include <stdint.h>\n\
        # 1 \"a.h\" 1 3 4\nextern \"C\" {\n\
        struct a; struct b { struct a *p; };\n\
        typedef unsigned int uint32_t; typedef unsigned char byte;\n\
        extern struct b *table[8], first;\n\
        static inline int twice(int x) { return x * 2; }\n\
        int twice(int);\n\
        int printf(const char *restrict format, ...) __attribute__((format(printf, 1, 2)));\n\
        _Noreturn void stop(int code) __asm__(\"stop2\");\n\
        __extension__ typedef long long ll;\n\
        struct stat { int x; }; int stat(const char *, struct stat *);\n\
        }\n#endif\n";
    let made = parse(text, &mut t, "/").unwrap();
    let functions: Vec<_> = made
        .iter()
        .filter_map(|one| match one {
            Declaration::Function(prototype) => Some(prototype.name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(functions, ["twice", "printf", "stop", "stat"]);
    let variables = made.iter().filter(|one| matches!(one, Declaration::Variable { .. }));
    assert_eq!(variables.count(), 2);
    let a = t.at_path("/a").unwrap();
    assert!(made.contains(&Declaration::Type(a)), "what is only named is told as well");
    assert_eq!(t.length(a), None);
    assert!(matches!(t.get(t.at_path("/uint32_t").unwrap()).unwrap().kind, TypeKind::Builtin(_)));
}

#[test]
fn tags_and_names_of_one_spelling_stay_apart() {
    let mut t = types();
    let text = "struct node { int x; }; typedef struct node *node; struct list { node first; };";
    parse(text, &mut t, "/").unwrap();
    let tag = t.at_path("/node").unwrap();
    let name = t.at_path("/typedefs/node").unwrap();
    assert_eq!((t.length(tag), t.length(name)), (Some(4), Some(8)));
    assert_eq!(t.length(t.at_path("/list").unwrap()), Some(8));
}

#[test]
fn conventions_of_function_pointers_are_part_of_their_type() {
    let mut t = types();
    let text =
        "typedef int (__stdcall *A)(int); typedef int (*B)(int); typedef int (__cdecl *C)(int);";
    parse(text, &mut t, "/").unwrap();
    let convention = |name: &str| {
        let id = t.at_path(name).unwrap();
        let TypeKind::Typedef(id) = t.get(id).unwrap().kind else { panic!() };
        let TypeKind::Pointer(Some(id)) = t.get(id).unwrap().kind else { panic!() };
        let TypeKind::Function(function) = &t.get(id).unwrap().kind else { panic!() };
        function.convention.clone()
    };
    assert_eq!(convention("/A").as_deref(), Some("__stdcall"));
    assert_eq!(convention("/B"), None);
    assert_eq!(convention("/C").as_deref(), Some("__cdecl"));
}

#[test]
fn windows_words_mean_something_in_windows_programs() {
    let mut sizes =
        DataOrganization { long: 4, wide_char: 2, long_double: 8, ..Default::default() };
    sizes.compiler.rules = program::RecordRules::Microsoft;
    sizes.compiler.long = 4;
    let mut t = DataTypes::new(sizes);
    let text = "typedef void *HANDLE; int WINAPI wait(IN HANDLE one, _In_opt_ const char *two, \
                _Out_writes_(3) int *three, size_t four);";
    let made = parse(text, &mut t, "/").unwrap();
    let Some(Declaration::Function(wait)) = made.last() else { panic!("{made:?}") };
    assert_eq!(wait.function.convention.as_deref(), Some("__stdcall"));
    let lengths: Vec<_> = wait.function.parameters.iter().map(|p| t.length(p.data_type)).collect();
    assert_eq!(lengths, [Some(8); 4], "size_t is as wide as a pointer where long is not");
    let names: Vec<_> = wait.function.parameters.iter().map(|p| &*p.name).collect();
    assert_eq!(names, ["one", "two", "three", "four"]);
}

#[test]
fn a_header_of_many_lines_is_read_in_linear_time() {
    let header = |lines: usize| {
        let mut text = String::from("# 1 \"many.h\"\n");
        for n in 0..lines / 5 {
            text.push_str(&format!(
                "struct s{n} {{ int a; struct s{n} *next; char name[{len}]; }};\n\
                 typedef struct s{n} t{n}, *p{n};\n\
                 enum e{n} {{ A{n} = {n}, B{n} = A{n} + 1 }};\n\
                 typedef int (*f{n})(t{n} *, enum e{n}, const char *);\n\
                 extern p{n} get{n}(f{n} callback, unsigned long flags, int table[B{n}]);\n",
                len = n % 50 + 1,
            ));
        }
        text
    };
    let time = |lines: usize| {
        let text = header(lines);
        let mut t = types();
        let start = std::time::Instant::now();
        let made = parse(&text, &mut t, "/").unwrap();
        assert!(made.len() >= lines);
        start.elapsed().as_secs_f64()
    };
    time(500);
    let (small, large) = (time(2_500), time(20_000));
    assert!(large < 40.0 * small + 0.5, "{small} s for 2,500 lines, {large} s for 20,000");
    assert!(large < 10.0, "{large} s");
}

#[test]
fn nesting_and_expansion_are_bounded() {
    for text in [
        "struct { ".repeat(50_000),
        format!("int x = {}", "(".repeat(100_000)),
        format!("int x[{}1];", "-".repeat(100_000)),
        format!("int x[{}1];", "(".repeat(100_000)),
        "#if 1\n".repeat(100_000),
        format!("#if {}1\n#endif", "(".repeat(100_000)),
        format!("typedef int T{};", "(*)(int)".repeat(10_000)),
        format!("void f({}", "void (*)(".repeat(10_000)),
        (0..60).fold("#define A0 1\n".to_owned(), |all, n| {
            format!("{all}#define A{} A{n}, A{n}\n", n + 1)
        }) + "enum { x = A60 };",
        format!("{} int x;", "__attribute__((aligned(8)))".repeat(10_000)),
    ] {
        let start = std::time::Instant::now();
        let _ = parse(&text, &mut types(), "/");
        let shown: String = text.chars().take(40).collect();
        assert!(start.elapsed().as_secs() < 20, "{shown}");
    }
}
