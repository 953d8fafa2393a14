//! Which imports of Windows programs are functions. The assembly stands beside its bytes.

use std::sync::Arc;

use program::{Address, AddressSet, RefType, SourceType, SymbolKind};

use crate::image::{Image, bytes};

const SLOTS: u64 = 0x40_2000;

#[test]
fn imports_that_nothing_calls_are_places_of_no_known_kind() {
    let mut image = Image::new("x86:LE:32:default", "windows");
    Arc::make_mut(&mut image.program.info).executable_format =
        "Portable Executable (PE)".to_owned();
    // call [402000]; mov eax,[402004]; call 401020; ret; fillers   401020 jmp [402008]
    let code = bytes(
        "ff 15 00 20 40 00  a1 04 20 40 00  e8 10 00 00 00 c3  90 90 90 90 90 90 90 90 90 90 90 90 \
         90 90 90  ff 25 08 20 40 00 90 90",
    );
    image.block(".text", 0x40_1000, &code, true);
    image.block(".idata", SLOTS, &[0; 0x10], false);
    image.entry(0x40_1000);
    for (index, name) in ["called", "read", "passed_on", "unused"].into_iter().enumerate() {
        let import = Address::external(index as u64 + 1);
        let program = &mut image.program;
        program.add_function(import, AddressSet::new());
        let symbol = program.functions.at(import).expect("was just made").symbol;
        program.symbols.edit(symbol, |s| {
            s.name = name.into();
            s.source = SourceType::Imported;
        });
        let slot = Address::ram(SLOTS + 4 * index as u64);
        program.add_reference(slot, import, RefType::Data, 0, SourceType::Imported);
    }
    let program = image.analysed();
    let is_function = |index| program.functions.at(Address::external(index)).is_some();
    assert_eq!([1, 2, 3, 4].map(is_function), [true, false, true, false]);
    let (_, unused) = program.symbols.primary_at(Address::external(4)).expect("keeps its name");
    assert_eq!((&*unused.name, unused.kind), ("unused", SymbolKind::Label));
}

#[test]
fn slots_of_32_bit_programs_are_as_wide_as_addresses() {
    let mut image = Image::new("x86:LE:32:default", "windows");
    Arc::make_mut(&mut image.program.info).executable_format =
        "Portable Executable (PE)".to_owned();
    // mov eax,[402004]; mov eax,[eax]; ret
    image.block(".text", 0x40_1000, &bytes("a1 04 20 40 00  8b 00 c3"), true);
    image.block(".idata", SLOTS, &[0; 0x10], false);
    image.entry(0x40_1000);
    for (index, name) in ["first", "second"].into_iter().enumerate() {
        let import = Address::external(index as u64 + 1);
        image.program.add_label(import, name, program::SymbolId::GLOBAL, SourceType::Imported);
        let slot = Address::ram(SLOTS + 4 * index as u64);
        let pointer = image.program.types.builtin("pointer");
        image.program.define_data(slot, pointer, 4);
        image.program.add_reference(slot, import, RefType::Data, 0, SourceType::Imported);
    }
    let program = image.analysed();
    let decompiler = decompiler::Decompiler::new();
    let entry = Address::ram(0x40_1000);
    let text = decompiler.decompile(&program, entry, &Default::default(), &Default::default()).c;
    assert!(text.contains("return *(undefined4 *)second_exref;"), "{text}");
}
