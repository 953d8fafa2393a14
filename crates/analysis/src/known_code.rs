//! Functions of compilers' runtimes that are known by their code alone: checks of security cookies,
//! probes of the stack, the ends of frames with exception handlers. Their names say how the
//! decompiler is to show calls of them, since they do not keep to any convention.

use crate::pass::Analysis;
use crate::windows_starts::Pattern;
use program::{Address, Program, SourceType};
use std::sync::LazyLock;

/// A function of a runtime.
struct Known {
    name: &'static str,
    code: Pattern,
    /// What its address is a multiple of.
    alignment: u64,
    returns: bool,
}

const fn known(name: &'static str, code: &'static str) -> (&'static str, &'static str, u64, bool) {
    (name, code, 1, true)
}

/// Name, code, alignment, whether it returns; code as in [`Pattern`].
type Row = (&'static str, &'static str, u64, bool);

/// 32-bit code of Microsoft's and Borland's.
const X86: &[Row] = &[
    // cmp ecx,[cookie]; jnz +1; ret; jmp
    known("__security_check_cookie", "3b 0d .. .. .. .. 75 01 c3 e9"),
    // The stack is touched page by page down to where it will end.
    known(
        "__alloca_probe",
        "51 8d 4c 24 04 2b c8 1b c0 f7 d0 23 c8 8b c4 25 00 f0 ff ff 3b c8 72 0a 8b c1 59 94 8b 00 \
         89 04 24 c3 2d 00 10 00 00 85 00 eb e9",
    ),
    // push ecx; lea ecx,[esp+8]; sub ecx,eax; and ecx,n; add eax,ecx; sbb ecx,ecx; or eax,ecx; pop
    // ecx; jmp
    known("__alloca_probe_16", "51 8d 4c 24 08 2b c8 83 e1 0f 03 c1 1b c9 0b c1 59 e9"),
    known("__alloca_probe_8", "51 8d 4c 24 08 2b c8 83 e1 07 03 c1 1b c9 0b c1 59 e9"),
    // mov ecx,[ebp-n]; mov fs:[0],ecx; the saved registers; mov esp,ebp; pop ebp; push ecx; ret
    known("__EH_epilog3", "8b 4d f4 64 89 0d 00 00 00 00 59 5f 5f 5e 5b 8b e5 5d 51 c3"),
    known("__SEH_epilog4", "8b 4d f0 64 89 0d 00 00 00 00 59 5f 5f 5e 5b 8b e5 5d 51 c3"),
    (
        "__CxxThrowException@8",
        "8b ff 55 8b ec 83 ec 20 8b 45 08 56 57 6a 08 59 be .. .. .. .. 8d 7d e0 f3 a5 89 45 f8 8b \
         45 0c 5f 89 45 fc 5e 85 c0 74 0c f6 00 08 74 07 c7 45 f4 .. .. .. .. 8d 45 f4 50 ff 75 f0 \
         ff 75 e4 ff 75 e0 ff 15 .. .. .. .. c9 c2 08 00",
        1,
        false,
    ),
    // int3
    ("__break", "cc", 1, false),
];

/// 64-bit code of Microsoft's.
const X64: &[Row] = &[
    // cmp rcx,[cookie]; jnz; rol rcx,16; test cx,-1; jnz; ret; ror rcx,16; jmp
    (
        "__security_check_cookie",
        "01001... 3b 0d .. .. .. .. 75 10 01001... c1 c1 10 66 f7 c1 ff ff 75 01 c3 01001... c1 c9 \
         10 e9",
        8,
        true,
    ),
];

const AARCH64: &[Row] = &[
    // sub sp,sp,#16; adrp x17; ldr x17,[x17,#n]; sub x17,sp,x17; str x17,[sp,#8]; ret
    (
        "__security_push_cookie",
        "ff 43 00 d1 ...10001 .. .. 1..10000 00110001 ......10 01...... f9 f1 63 31 cb f1 07 00 f9 \
         c0 03 5f d6",
        8,
        true,
    ),
    // adrp x17; ldr x16,[sp,#8]; ldr x17,[x17,#n]; sub x16,sp,x16; cmp x16,x17; b.ne; add
    // sp,sp,#16; ret; nop
    (
        "__security_pop_cookie",
        "...10001 .. .. 1..10000 f0 07 40 f9 00110001 ......10 01...... f9 f0 63 30 cb 1f 02 11 eb \
         ...00001 .. .. 54 ff 43 00 91 c0 03 5f d6 1f 20 03 d5",
        8,
        true,
    ),
];

fn read(rows: &[Row]) -> Vec<Known> {
    let known = |(name, code, alignment, returns): &Row| Known {
        name,
        code: Pattern::new(code),
        alignment: *alignment,
        returns: *returns,
    };
    rows.iter().map(known).collect()
}

static KNOWN: LazyLock<[Vec<Known>; 3]> = LazyLock::new(|| [read(X86), read(X64), read(AARCH64)]);

/// The functions known in code of a processor by a compiler.
fn of(program: &Program) -> &'static [Known] {
    let info = &program.info;
    let windows = info.compiler_spec_id == "windows";
    match info.language_id.as_str() {
        id if id.starts_with("x86:LE:32:")
            && (windows || info.compiler_spec_id == "borlandcpp") =>
        {
            &KNOWN[0]
        }
        id if id.starts_with("x86:LE:64:") && windows => &KNOWN[1],
        id if id.starts_with("AARCH64:LE:64:") && windows => &KNOWN[2],
        _ => &[],
    }
}

/// Names functions without a name by their code. Cost: linear in the functions.
pub(crate) fn name(analysis: &mut Analysis<'_>) {
    let program = &mut *analysis.program;
    let all = of(program);
    let nameless = |symbol| program.symbols.get(symbol).is_some_and(|s| s.name.is_empty());
    let found: Vec<(Address, &Known)> = program
        .functions
        .iter()
        .filter(|f| f.thunk_of.is_none() && !f.is_external() && nameless(f.symbol))
        .filter_map(|f| Some((f.entry, find(program, all, f.entry)?)))
        .collect();
    for (entry, known) in found {
        let Some(symbol) = program.functions.at(entry).map(|f| f.symbol) else { continue };
        program.symbols.edit(symbol, |symbol| {
            symbol.name = known.name.into();
            symbol.source = SourceType::Analysis;
        });
        if !known.returns {
            crate::no_return::mark(program, entry);
        }
    }
}

fn find(program: &Program, all: &'static [Known], at: Address) -> Option<&'static Known> {
    let bytes = program.memory.run(at);
    let mut fitting = all.iter().filter(|known| at.offset.is_multiple_of(known.alignment));
    fitting.find(|known| known.code.begins(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name known for code in a program of a language.
    fn name(all: &'static [Known], code: &[u8]) -> Option<&'static str> {
        all.iter().find(|known| known.code.begins(code)).map(|known| known.name)
    }

    #[test]
    fn a_check_of_a_cookie_is_known_whatever_its_place() {
        let check = [0x3b, 0x0d, 4, 0xf0, 0, 0x10, 0x75, 1, 0xc3, 0xe9, 1, 2, 0, 0];
        assert_eq!(name(&KNOWN[0], &check), Some("__security_check_cookie"));
        assert_eq!(name(&KNOWN[1], &check), None, "32-bit code");
        let wide = [
            0x48, 0x3b, 0x0d, 1, 2, 3, 0, 0x75, 0x10, 0x48, 0xc1, 0xc1, 0x10, 0x66, 0xf7, 0xc1,
            0xff, 0xff, 0x75, 1, 0xc3, 0x48, 0xc1, 0xc9, 0x10, 0xe9,
        ];
        assert_eq!(name(&KNOWN[1], &wide), Some("__security_check_cookie"));
        assert_eq!(name(&KNOWN[1], &wide[..20]), None, "cut off");
    }

    #[test]
    fn cookies_put_on_the_stack_of_aarch64_are_known() {
        let words = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>();
        let push =
            words(&[0xd100_43ff, 0xd000_0111, 0xf940_0a31, 0xcb31_63f1, 0xf900_07f1, 0xd65f_03c0]);
        assert_eq!(name(&KNOWN[2], &push), Some("__security_push_cookie"));
    }

    #[test]
    fn nothing_is_known_twice() {
        for all in KNOWN.iter() {
            for known in all {
                let same = all.iter().filter(|other| other.name == known.name);
                assert_eq!(same.count(), 1, "{}", known.name);
            }
        }
    }
}
