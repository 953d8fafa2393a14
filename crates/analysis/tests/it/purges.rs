//! What functions of 32-bit Windows programs leave of the stack. The assembly stands beside its
//! bytes.

use program::{Address, AddressSet, Program, RefType, SourceType, SpaceId};

use crate::image::{Image, bytes};

/// Frame places that the instruction at an address refers to.
fn frame(program: &Program, at: u64) -> Vec<i64> {
    let found = program.references.from(Address::ram(at));
    found.filter(|r| r.to.space == SpaceId::STACK).map(|r| r.to.offset as i64).collect()
}

#[test]
fn a_last_call_leaves_the_stack_as_its_callee_does() {
    let mut image = Image::new("x86:LE:32:default", "windows");
    // 1000: ret 4   1008: call 1000; ret   1010: xor eax,eax; jmp 1000 (over 1008, which is called)
    // 1020: sub esp,0xc; mov [esp],1; call 1010; mov [esp],2; add esp,8; ret
    let code = bytes(
        "c2 04 00 90 90 90 90 90  e8 f3 ff ff ff c3 90 90  31 c0 eb ec 90 90 90 90 90 90 90 90 90 90 90 90 \
         83 ec 0c  c7 04 24 01 00 00 00  e8 e1 ff ff ff  c7 04 24 02 00 00 00  83 c4 08 c3",
    );
    image.block(".text", 0x1000, &code, true);
    for entry in [0x1000, 0x1008, 0x1020] {
        image.entry(entry);
    }
    let program = image.analysed();
    let purge = |at| program.functions.at(Address::ram(at)).and_then(|f| f.stack_purge);
    assert_eq!((purge(0x1000), purge(0x1010)), (Some(4), Some(4)));
    assert_eq!(frame(&program, 0x1023), [-0xc]);
    assert_eq!(frame(&program, 0x102f), [-8], "the callee took four bytes away");
}

#[test]
fn a_function_that_data_leads_to_tells_its_callers_late_what_it_leaves() {
    let mut image = Image::new("x86:LE:32:default", "windows");
    // 1000: sub esp,0xc; mov [esp],1; call 1020; mov [esp],2; add esp,0xc; ret
    // 1020: jmp [2000]   1030: push ebp; mov ebp,esp; xor eax,eax; pop ebp; ret
    let code = bytes(
        "83 ec 0c  c7 04 24 01 00 00 00  e8 11 00 00 00  c7 04 24 02 00 00 00  83 c4 0c c3  90 90 90 \
         90 90 90  ff 25 00 20 00 00 90 90 90 90 90 90 90 90 90 90  55 89 e5 31 c0 5d c3 90",
    );
    image.block(".text", 0x1000, &code, true);
    image.changing_pointer(0x2000, 0x1030);
    image.entry(0x1000);
    let program = image.analysed();
    assert_eq!(frame(&program, 0x1003), [-0xc]);
    assert_eq!(frame(&program, 0x100f), [-0xc], "the callee takes nothing away");
}

#[test]
fn a_thunk_leaves_the_stack_as_what_it_stands_for() {
    let mut image = Image::new("x86:LE:32:default", "windows");
    // 1000: sub esp,0xc; mov [esp],1; call 1020; mov [esp],2; add esp,0xc; ret
    // 1020: jmp [2000]
    let code = bytes(
        "83 ec 0c  c7 04 24 01 00 00 00  e8 11 00 00 00  c7 04 24 02 00 00 00  83 c4 0c c3  90 90 90 \
         90 90 90  ff 25 00 20 00 00",
    );
    image.block(".text", 0x1000, &code, true);
    image.block(".idata", 0x2000, &[0; 4], false);
    image.entry(0x1000);
    let import = Address::external(1);
    image.program.add_function(import, AddressSet::new());
    image.program.functions.edit(import, |f| f.signature.convention = Some("__cdecl".into()));
    let slot = Address::ram(0x2000);
    image.program.add_reference(slot, import, RefType::Data, 0, SourceType::Imported);
    let program = image.analysed();
    assert_eq!(frame(&program, 0x100f), [-0xc], "the caller takes its arguments away");
}

#[test]
fn parameters_are_found_behind_calls_of_functions_that_take_nothing_away() {
    let mut image = Image::new("x86:LE:32:default", "windows");
    std::sync::Arc::make_mut(&mut image.program.info).executable_format =
        "Portable Executable (PE)".to_owned();
    // 1000: sub esp,0xc; call 1020; mov eax,[esp+0x10]; add esp,0xc; ret   1020: mov eax,[2000]; ret
    let code = bytes(
        "83 ec 0c  e8 18 00 00 00  8b 44 24 10  83 c4 0c c3  90 90 90 90 90 90 90 90 90 90 90 90 90 \
         90 90 90  a1 00 20 00 00 c3",
    );
    image.block(".text", 0x1000, &code, true);
    image.changing_pointer(0x2000, 0);
    image.entry(0x1000);
    let program = image.analysed();
    let signature = &program.functions.at(Address::ram(0x1000)).expect("a function").signature;
    let places: Vec<_> = signature.parameters.iter().map(|p| p.storage.pieces()).collect();
    let [[place]] = places.as_slice() else { panic!("one parameter in one piece: {places:?}") };
    assert_eq!((place.address, place.size), (Address::stack(4), 4));
}
