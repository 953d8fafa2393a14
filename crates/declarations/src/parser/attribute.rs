//! Attributes of gcc, Microsoft and C23 that change layouts or calls; the harmless ones are known
//! by name, and others are refused.

use std::sync::Arc;

use super::Parser;
use crate::CError;
use crate::lexer::Kind;

/// Largest alignment, in bytes.
const MAX_ALIGNMENT: i128 = 1 << 28;

/// Attributes that change neither layouts nor calls.
const HARMLESS: &str = "access alias alloc_align alloc_size allocate allocator always_inline \
    artificial assume_aligned availability bitwise btf_decl_tag btf_type_tag carries_dependency \
    cleanup cold common const constructor copy counted_by code_seg deprecated designated_init \
    destructor diagnose_as_builtin diagnose_if disable_tail_calls dllexport dllimport enable_if \
    empty_bases enum_extensibility error externally_visible fallthrough fd_arg fd_arg_read \
    fd_arg_write flag_enum flatten force format format_arg gnu_inline gnu_printf guard hot ifunc \
    internal_linkage interrupt intrin_type iocb io io_low is_msvc_asm jitintrinsic latent_entropy \
    leaf likely lto_visibility_public malloc maybe_unused may_alias minsize naked no_address_safety_analysis \
    no_icf no_instrument_function no_profile_instrument_function no_randomize_layout no_reorder \
    no_sanitize no_sanitize_address no_sanitize_memory no_sanitize_thread no_sanitize_undefined \
    no_split_stack no_stack_limit no_stack_protector no_unique_address noalias nocf_check noclone \
    nocommon nodebug nodiscard noescape noinit noinline noipa nonnull nonstring noplt nothrow \
    novtable nsobject optimize ordered_by overloadable owner ownership_holds ownership_returns \
    ownership_takes pass_object_size patchable_function_entry pcs persistent pointer \
    preserve_access_index process progmem pt_guarded_var pure randomize_layout reproducible \
    restrict retain returns_nonnull returns_twice safebuffers sal_annotation section selectany \
    sentinel signal spectre stack_protect strict_gs_check swift_name symver tainted_args \
    target target_clones thread tls_model transparent_union type_visibility uninitialized unlikely \
    unsequenced unused used uuid visibility volatile warn_if_not_aligned warn_unused \
    warn_unused_result warning weak weakref zero_call_used_regs guarded_by swift_newtype swiftself \
    cf_returns_retained objc_boxable strong unavailable swift_private swift_bridge address_safe";

/// What attributes say.
#[derive(Debug, Clone, Default)]
pub(super) struct Attributes {
    /// No filler.
    pub(super) packed: bool,
    /// Alignment in bytes; 0 when none is stated.
    pub(super) aligned: u32,
    /// Bytes of a vector; 0 when it is none.
    pub(super) vector: u32,
    /// A machine mode that replaces the type.
    pub(super) mode: Option<&'static str>,
    pub(super) no_return: bool,
    pub(super) convention: Option<Arc<str>>,
    pub(super) ms_struct: Option<bool>,
    /// Where the last of them stands.
    pub(super) offset: usize,
}

impl Attributes {
    /// These and others.
    pub(super) fn merged(mut self, other: Attributes) -> Attributes {
        self.packed |= other.packed;
        self.aligned = self.aligned.max(other.aligned);
        self.vector = self.vector.max(other.vector);
        self.mode = other.mode.or(self.mode);
        self.no_return |= other.no_return;
        self.convention = other.convention.or(self.convention);
        self.ms_struct = other.ms_struct.or(self.ms_struct);
        self.offset = self.offset.max(other.offset);
        self
    }
}

impl<'a> Parser<'a> {
    /// Reads attributes; whether one stood here.
    pub(super) fn attributes(&mut self, into: &mut Attributes) -> Result<bool, CError> {
        let mut any = false;
        loop {
            match self.peek() {
                Kind::Word("__attribute__" | "__attribute") => {
                    self.bump();
                    self.expect("(")?;
                    self.expect("(")?;
                    self.attribute_list(into, ")")?;
                    self.expect(")")?;
                }
                Kind::Word("__declspec" | "_declspec") => {
                    self.bump();
                    self.expect("(")?;
                    self.attribute_list(into, ")")?;
                }
                Kind::Sign("[") if self.ahead(1) == Kind::Sign("[") => {
                    self.bump();
                    self.bump();
                    self.attribute_list(into, "]")?;
                    self.expect("]")?;
                }
                Kind::Word("_Alignas" | "alignas") => self.alignas(into)?,
                // The name that an assembler sees.
                Kind::Word("__asm__" | "asm" | "__asm")
                    if self.ahead(1) == Kind::Sign("(")
                        && matches!(self.ahead(2), Kind::Text(_)) =>
                {
                    self.bump();
                    self.skip_balanced()?;
                }
                _ => return Ok(any),
            }
            any = true;
        }
    }

    fn attribute_list(&mut self, into: &mut Attributes, end: &'static str) -> Result<(), CError> {
        while !self.accept(end) {
            if self.accept(",") {
                continue;
            }
            let Kind::Word(mut word) = self.peek() else {
                return Err(self.unexpected("an attribute"));
            };
            into.offset = self.offset();
            self.bump();
            if self.accept("::") {
                let Kind::Word(inner) = self.peek() else {
                    return Err(self.unexpected("an attribute"));
                };
                word = inner;
                self.bump();
            }
            self.attribute(word.trim_start_matches("__").trim_end_matches("__"), into)?;
        }
        Ok(())
    }

    fn attribute(&mut self, name: &'a str, into: &mut Attributes) -> Result<(), CError> {
        let start = into.offset;
        match name {
            "packed" => into.packed = true,
            "aligned" if self.peek() != Kind::Sign("(") => {
                let biggest = self.types.organization().compiler.biggest_alignment;
                into.aligned = into.aligned.max(biggest);
            }
            "aligned" | "align" => {
                self.expect("(")?;
                let value = self.constant()?.number;
                self.expect(")")?;
                into.aligned = into.aligned.max(self.alignment(value, start)?);
            }
            "vector_size" => into.vector = self.count()?,
            "mode" => {
                self.expect("(")?;
                let Kind::Word(mode) = self.peek() else { return Err(self.unexpected("a mode")) };
                self.bump();
                self.expect(")")?;
                into.mode = Some(known_mode(mode).ok_or_else(|| {
                    self.error_at(start, format!("the mode {mode} is not understood"))
                })?);
            }
            "noreturn" | "_Noreturn" => into.no_return = true,
            "ms_struct" => into.ms_struct = Some(true),
            "gcc_struct" => into.ms_struct = Some(false),
            "cdecl" | "stdcall" | "fastcall" | "thiscall" | "vectorcall" | "regcall" => {
                into.convention = Some(format!("__{name}").into());
            }
            "ms_abi" => into.convention = Some("MSABI".into()),
            "sysv_abi" if self.types.organization().compiler.rules.is_windows() => {
                let message = "functions called as on System V are not understood in this program";
                return Err(self.error_at(start, message));
            }
            "sysv_abi" => into.convention = None,
            "regparm" => {
                let count = self.count()?;
                into.convention = (count > 0).then(|| format!("__regparm{count}").into());
            }
            _ if HARMLESS.split_ascii_whitespace().any(|known| known == name) => {
                if self.peek() == Kind::Sign("(") {
                    self.skip_balanced()?;
                }
            }
            _ => {
                let message = format!("the attribute {name} is not understood; leave it out");
                return Err(self.error_at(start, message));
            }
        }
        Ok(())
    }

    /// A small number in parentheses.
    fn count(&mut self) -> Result<u32, CError> {
        let start = self.offset();
        self.expect("(")?;
        let value = self.constant()?.number;
        self.expect(")")?;
        let fits = u32::try_from(value).ok().filter(|value| *value <= 1 << 20);
        fits.ok_or_else(|| self.error_at(start, "this number is too large"))
    }

    /// `_Alignas(8)` or `_Alignas(double)`.
    fn alignas(&mut self, into: &mut Attributes) -> Result<(), CError> {
        let start = self.offset();
        into.offset = start;
        self.bump();
        self.expect("(")?;
        let value = if self.begins_type(0) {
            let data_type = self.abstract_type()?;
            i128::from(self.types.get(data_type).map_or(1, |known| known.alignment))
        } else {
            self.constant()?.number
        };
        self.expect(")")?;
        if value != 0 {
            into.aligned = into.aligned.max(self.alignment(value, start)?);
        }
        Ok(())
    }

    fn alignment(&self, value: i128, start: usize) -> Result<u32, CError> {
        let fits = (1..=MAX_ALIGNMENT).contains(&value) && value.count_ones() == 1;
        let value = u32::try_from(value).ok().filter(|_| fits);
        value.ok_or_else(|| {
            self.error_at(start, format!("an alignment is a power of two up to {MAX_ALIGNMENT}"))
        })
    }
}

fn known_mode(mode: &str) -> Option<&'static str> {
    const MODES: [&str; 12] =
        ["QI", "HI", "SI", "DI", "TI", "SF", "DF", "XF", "TF", "byte", "word", "pointer"];
    let mode = mode.trim_matches('_');
    let mode = if mode == "unwind_word" { "word" } else { mode };
    MODES.into_iter().find(|known| *known == mode)
}
