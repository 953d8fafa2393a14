//! What following values needs to know about a program's processor and conventions.

use decompiler::{Convention, Endian, Language, RegisterVarnode, ValuePlace};
use program::{Address, Function, Program, SourceType, SpaceId};

/// Processors with habits of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    X86,
    Arm,
    Mips,
    Other,
}

/// Facts that hold for the whole program.
pub(crate) struct Machine {
    pub(crate) family: Family,
    pub(crate) big_endian: bool,
    pub(crate) pointer_size: u32,
    pub(crate) address_mask: u64,
    pub(crate) stack: Option<RegisterVarnode>,
    pub(crate) program_counter: Option<RegisterVarnode>,
    /// Numbers below this are no addresses unless the code uses them as such.
    pub(crate) least_guess: u64,
    /// Bytes of the return address that a call leaves on the stack.
    pub(crate) call_push: i64,
    /// Where the parameters on the stack begin, seen from the function's entry.
    pub(crate) parameters_at: i64,
    /// Registers with a value of their own at each function's entry.
    pub(crate) global_pointer: Option<(RegisterVarnode, u64)>,
    /// The register that holds a called function's address, by convention.
    pub(crate) call_register: Option<RegisterVarnode>,
    /// The register that holds the address of the global offset table in linkage stubs, and
    /// that address.
    pub(crate) stub_base: Option<(RegisterVarnode, u64)>,
    /// The register that says how much room on the stack a probe of it makes, on 32-bit x86.
    pub(crate) probe_size: Option<RegisterVarnode>,
    /// The register that holds the base of the thread environment block, and that base.
    pub(crate) thread_base: Option<(RegisterVarnode, u64)>,
    language: Language,
    default: Option<Convention>,
    conventions: Vec<Convention>,
}

impl Machine {
    /// The decoding mode of Thumb code.
    pub(crate) fn thumb_mode(&self) -> Option<u8> {
        self.language.thumb_mode()
    }

    pub(crate) fn new(program: &Program, language: &Language) -> Machine {
        let family = match language.processor() {
            "x86" => Family::X86,
            "ARM" => Family::Arm,
            "MIPS" => Family::Mips,
            _ => Family::Other,
        };
        let pointer_size = language.pointer_size();
        let bits = pointer_size.saturating_mul(8).min(64);
        let conventions: Vec<Convention> = language
            .calling_conventions()
            .iter()
            .filter_map(|name| language.convention(name).cloned())
            .collect();
        let default = language.default_convention().and_then(|name| language.convention(name));
        let call_push = if family == Family::X86 { i64::from(pointer_size) } else { 0 };
        let on_stack = default.and_then(|convention| {
            convention.arguments.iter().find_map(|place| match place {
                ValuePlace::Stack(offset) => Some(*offset),
                ValuePlace::Register(_) => None,
            })
        });
        Machine {
            family,
            big_endian: language.endian() == Endian::Big,
            pointer_size,
            address_mask: if bits == 64 { u64::MAX } else { (1 << bits) - 1 },
            stack: language.stack_pointer(),
            program_counter: language.program_counter(),
            least_guess: u64::from(bits) * 16,
            call_push,
            parameters_at: on_stack.unwrap_or(call_push),
            global_pointer: global_pointer(program, language, family),
            call_register: call_register(program, language, family),
            stub_base: stub_base_of(program, language),
            probe_size: language
                .register("EAX")
                .filter(|_| family == Family::X86 && pointer_size == 4),
            thread_base: thread_base(program, language),
            language: language.clone(),
            default: default.cloned(),
            conventions,
        }
    }

    /// The convention of a function, or the one of functions that state none.
    pub(crate) fn convention(&self, function: Option<&Function>) -> Option<&Convention> {
        let name = function.and_then(|f| f.signature.convention.as_deref());
        let known = name.and_then(|name| self.conventions.iter().find(|c| c.name == name));
        known.or(self.default.as_ref())
    }

    /// Whether an address lies in the linkage stubs of x86.
    pub(crate) fn is_stub(&self, program: &Program, at: u64) -> bool {
        let block = program.memory.block_at(Address::ram(at));
        self.family == Family::X86 && block.is_some_and(|block| block.name.starts_with(".plt"))
    }

    /// The register of twice the width that begins with a register, if there is one.
    pub(crate) fn wider(&self, register: RegisterVarnode) -> Option<RegisterVarnode> {
        let size = register.size.checked_mul(2).filter(|size| *size <= 8)?;
        let offset = match self.big_endian {
            true => register.offset.checked_sub(u64::from(register.size))?,
            false => register.offset,
        };
        self.language.register_name(offset, size)?;
        Some(RegisterVarnode { offset, size })
    }

    /// The offset of a stack place, with its sign.
    pub(crate) fn stack_offset(&self, offset: u64) -> i64 {
        let size = self.stack.map_or(8, |stack| stack.size);
        crate::values::sign_extend(offset, size) as i64
    }
}

/// The value that the global pointer has in every function, if a symbol tells it.
pub(crate) fn global_pointer_of(
    program: &Program,
    language: &Language,
) -> Option<(RegisterVarnode, u64)> {
    let family = if language.processor() == "MIPS" { Family::Mips } else { Family::Other };
    global_pointer(program, language, family)
}

/// The same for a family that is known.
fn global_pointer(
    program: &Program,
    language: &Language,
    family: Family,
) -> Option<(RegisterVarnode, u64)> {
    let (register, names): (&str, &[&str]) = match (family, language.processor()) {
        (Family::Mips, _) => ("gp", &["_mips_gp_value", "_gp"]),
        (_, "RISCV") => ("gp", &["__global_pointer$"]),
        (_, "PowerPC") if language.pointer_size() == 8 => ("r2", &["TOC_BASE"]),
        (_, "PowerPC") => ("r13", &["_SDA_BASE_"]),
        _ => return None,
    };
    // Small data is found by a register where relocations made its base, in object files.
    let known = |source| register != "r13" || source == SourceType::Analysis;
    let found = names.iter().find_map(|name| {
        let symbols = program.symbols.named(name).filter(|(_, symbol)| known(symbol.source));
        let mut places = symbols.map(|(_, symbol)| symbol.address);
        places.find(|at: &Address| at.space == SpaceId::RAM)
    });
    Some((language.register(register)?, found?.offset))
}

/// The register that holds the address of a function when it is called. On 64-bit PowerPC only
/// where functions have no descriptors.
fn call_register(
    program: &Program,
    language: &Language,
    family: Family,
) -> Option<RegisterVarnode> {
    let wide = language.pointer_size() == 8 && program.memory.block_named(".opd").is_none();
    match (family, language.processor()) {
        (Family::Mips, _) => language.register("t9"),
        (_, "PowerPC") if wide => language.register("r12"),
        _ => None,
    }
}

/// The base of the segment by which Windows programs reach their thread environment block.
fn thread_base(program: &Program, language: &Language) -> Option<(RegisterVarnode, u64)> {
    let base = program.thread_block()?;
    let register = if language.pointer_size() == 8 { "GS_OFFSET" } else { "FS_OFFSET" };
    Some((language.register(register)?, base.offset))
}

/// Stubs of position-independent code for 32-bit x86 find the global offset table in EBX.
pub(crate) fn stub_base_of(
    program: &Program,
    language: &Language,
) -> Option<(RegisterVarnode, u64)> {
    if language.processor() != "x86" || language.pointer_size() != 4 {
        return None;
    }
    let table = [".got.plt", ".got"].iter().find_map(|name| program.memory.block_named(name))?;
    Some((language.register("EBX")?, table.start.offset))
}
