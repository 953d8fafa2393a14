//! References for what calls pass to functions whose prototypes are known. The assembly stands
//! beside its words.

use program::{Address, AddressSet, Parameter, RefType, Signature, SourceType, Storage, TypeId};

use crate::image::Image;

fn little(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Whether the instruction at 1000 or 1004 passes the address of 2010 on to a function that takes
/// these types.
fn passes(language: &str, code: &[u32], callee: u64, types: &[&str]) -> bool {
    let mut image = Image::new(language, "default");
    image.block(".text", 0x1000, &little(code), true);
    image.block(".rodata", 0x2000, &[0; 0x20], false);
    image.entry(0x1000);
    let program = &mut image.program;
    let char_type = program.types.builtin("char");
    let text = program.types.pointer_to(char_type);
    let type_of = |name: &&str| -> TypeId {
        if *name == "text" { text } else { program.types.builtin(name) }
    };
    let parameters: Vec<TypeId> = types.iter().map(type_of).collect();
    let returned = program.types.builtin("int");
    let at = Address::ram(callee);
    program.add_function(at, AddressSet::new());
    program.functions.edit(at, |function| {
        let parameter = |data_type| Parameter {
            name: "".into(),
            data_type,
            storage: Storage::Unassigned,
            source: SourceType::Imported,
            automatic: false,
            id: function.new_variable_id(),
        };
        let parameters = parameters.into_iter().map(parameter).collect();
        function.signature = Signature {
            return_type: returned,
            parameters,
            source: SourceType::Imported,
            ..function.signature.clone()
        };
    });
    let program = image.analysed();
    let found = [0x1000, 0x1004].map(Address::ram);
    let mut references = found.iter().flat_map(|at| program.references.from(*at));
    references.any(|r| r.to == Address::ram(0x2010) && r.info.kind == RefType::Param)
}

#[test]
fn an_address_passed_to_a_known_function_is_referred_to() {
    let code = [
        0xb000_0001, // 1000 adrp x1,2000
        0x9100_4021, // 1004 add x1,x1,#10h
        0x5280_0020, // 1008 mov w0,#1
        0x9400_0005, // 100c bl 1020
        0xd65f_03c0, // 1010 ret
        0xd503_201f,
        0xd503_201f,
        0xd503_201f,
        0x5280_0000, // 1020 mov w0,#0
        0xd65f_03c0, // 1024 ret
    ];
    let passes = |types: &[&str]| passes("AARCH64:LE:64:v8A", &code, 0x1020, types);
    assert!(passes(&["int", "text"]));
    assert!(!passes(&["text"]), "it takes one pointer alone");
}

#[test]
fn a_wide_number_takes_two_registers_before_a_pointer() {
    let code = [
        0xe59f_2004, // 1000 ldr r2,[100c]
        0xeb00_0001, // 1004 bl 1010
        0xe12f_ff1e, // 1008 bx lr
        0x0000_2010, // 100c
        0xe12f_ff1e, // 1010 bx lr
    ];
    let passes = |types: &[&str]| passes("ARM:LE:32:v8", &code, 0x1010, types);
    assert!(passes(&["longlong", "text"]));
    assert!(passes(&["text", "int", "text"]));
    assert!(!passes(&["int", "text"]), "that is passed in r1");
}
