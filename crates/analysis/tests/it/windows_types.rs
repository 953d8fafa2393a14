//! Types and prototypes of the Windows programming interface in programs that call it.

use crate::windows::{analysed, bytes};
use decompiler::{Decompiler, Limits};
use program::{Function, Program};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The import of a name.
fn import<'a>(program: &'a Program, name: &str) -> &'a Function {
    let mut imports = program.functions.iter().filter(|f| f.is_external());
    imports.find(|f| program.function_name(f.entry) == name).expect(name)
}

/// The C text of everything, function after function.
fn text(program: &Program) -> String {
    let decompiler = Decompiler::new();
    let never = Arc::new(AtomicBool::new(false));
    let own = program.functions.iter().filter(|f| !f.is_external());
    own.map(|f| decompiler.decompile(program, f.entry, &Limits::default(), &never).c).collect()
}

#[test]
fn calls_of_the_system_have_its_types() {
    for name in ["errand.x64.exe", "errand.x86.exe"] {
        let program = analysed(bytes(name), None);
        let text = text(&program);
        for part in [
            "pvVar1 = CreateFileW(param_1,0x80000000,1,(LPSECURITY_ATTRIBUTES)0x0,3,0,(HANDLE)0x0);",
            "ReadFile(",
            "(LPOVERLAPPED)&",
            "send(",
            "WSAData local_",
            "= WSAStartup(0x202,&local_",
            "_SYSTEMTIME local_",
            // The members that were passed on are those that the source names.
            ".wHour,",
            ".wMinute)",
            "\"%u bytes at %u:%u\",",
            "MessageBoxA((HWND)0x0,",
            "(L\"errand.txt\")",
        ] {
            assert!(text.contains(part), "{name} lacks {part}:\n{text}");
        }
    }
}

#[test]
fn functions_of_the_system_take_their_arguments_off_the_stack() {
    let program = analysed(bytes("errand.x86.exe"), None);
    let said = |name: &str| {
        let function = import(&program, name);
        let convention = function.signature.convention.as_deref().unwrap_or_default();
        (convention.to_owned(), function.stack_purge)
    };
    assert_eq!(said("CreateFileW"), ("__stdcall".to_owned(), Some(28)));
    assert_eq!(said("GetLastError"), ("__stdcall".to_owned(), Some(0)));
    assert_eq!(said("wsprintfA"), ("__cdecl".to_owned(), Some(0)));
    assert!(import(&program, "ExitProcess").no_return);
}

#[test]
fn a_library_of_another_maker_keeps_its_functions() {
    let program = analysed(bytes("latch.x64.exe"), None);
    assert!(program.types.named("DWORD").next().is_none(), "nothing asks for types of Windows");
}
