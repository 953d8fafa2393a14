//! The instructions with which compilers begin functions, and those that stand before them, for
//! processors whose instructions have few lengths: what they look like, and what follows from them.
//!
//! A start is looked for behind the end of other code, or by its own instructions alone where
//! these leave no doubt. The bits that are fixed decide: a short beginning needs a clear end
//! before it.

use decompiler::Language;

/// What one instruction (or half of one) is like: the bits that matter, and what they are.
pub(crate) type Bits = (u32, u32);
/// Instructions that follow each other.
type Words = &'static [Bits];

/// What must stand right before a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    Anything,
    /// Code or data.
    Defined,
    Data,
    Function,
}

/// What follows from a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// A function begins there.
    Function,
    /// So does one if nobody branches there on a condition.
    Perhaps,
    /// There is code.
    Code,
}

/// Beginnings with the same meaning.
pub(crate) struct Rule {
    /// Ends of other code, one of which must stand before; none means that any may.
    before: &'static [Words],
    from: &'static [Words],
    /// Bits that must be fixed in both together, and in the beginning.
    least: (u32, u32),
    pub(crate) after: After,
    pub(crate) claim: Claim,
    /// There is code in any case.
    pub(crate) code: bool,
    /// Instructions that must be good ones.
    pub(crate) good: usize,
    /// Whether the first instruction may be any before the one that makes the frame.
    pub(crate) frame_follows: bool,
}

/// Rules for code of one decoding mode.
pub(crate) struct Rules {
    /// Bytes of what one pair of bits describes.
    unit: usize,
    pub(crate) alignment: u64,
    pub(crate) mode: u8,
    big_endian: bool,
    rules: &'static [Rule],
}

impl Rules {
    /// The rules of a processor; none for those that are known by other means.
    pub(crate) fn of(language: &Language) -> Vec<Rules> {
        let big_endian = language.language_id().contains(":BE:");
        let words = |rules| Rules { unit: 4, alignment: 4, mode: 0, big_endian, rules };
        match (language.processor(), big_endian) {
            ("AARCH64", false) => vec![words(AARCH64)],
            ("MIPS", true) => vec![words(MIPS_BIG)],
            ("MIPS", false) => vec![words(MIPS_LITTLE)],
            ("PowerPC", _) => vec![words(POWERPC)],
            ("ARM", false) => {
                let thumb = language.thumb_mode().unwrap_or(1);
                let arm = 1 - thumb;
                let halves = Rules { unit: 2, alignment: 2, mode: thumb, big_endian, rules: THUMB };
                vec![halves, Rules { mode: arm, ..words(ARM) }]
            }
            _ => Vec::new(),
        }
    }

    /// Whether any rule's beginning fits; cheaper than to look at what stands before as well.
    pub(crate) fn may_begin(&self, from: &[u8]) -> bool {
        self.rules.iter().flat_map(|rule| rule.from).any(|words| self.begins(words, from))
    }

    /// The rules that fit bytes from a place on and those up to it.
    pub(crate) fn fitting<'a>(
        &'a self,
        before: &'a [u8],
        from: &'a [u8],
    ) -> impl Iterator<Item = &'a Rule> {
        self.rules.iter().filter(move |rule| {
            let beginnings = rule.from.iter().filter(|words| self.begins(words, from));
            beginnings.map(|words| fixed(words)).any(|begin| {
                begin >= rule.least.1
                    && (rule.before.is_empty()
                        || rule.before.iter().any(|words| {
                            fixed(words) + begin >= rule.least.0 && self.ends(words, before)
                        }))
            })
        })
    }

    fn begins(&self, words: &[Bits], bytes: &[u8]) -> bool {
        let mut units = bytes.chunks_exact(self.unit);
        words.iter().all(|bits| units.next().is_some_and(|unit| self.is_like(unit, *bits)))
    }

    fn ends(&self, words: &[Bits], bytes: &[u8]) -> bool {
        let start = bytes.len().checked_sub(words.len() * self.unit);
        start.is_some_and(|start| self.begins(words, &bytes[start..]))
    }

    fn is_like(&self, unit: &[u8], (mask, value): Bits) -> bool {
        let add = |number, byte: &u8| number << 8 | u32::from(*byte);
        let number = match self.big_endian {
            true => unit.iter().fold(0, add),
            false => unit.iter().rev().fold(0, add),
        };
        number & mask == value
    }
}

/// Bits that are fixed in some instructions.
fn fixed(words: &[Bits]) -> u32 {
    words.iter().map(|(mask, _)| mask.count_ones()).sum()
}

const ANY: Bits = (0, 0);

/// A rule for beginnings behind the end of other code.
const fn behind(before: &'static [Words], from: &'static [Words], claim: Claim) -> Rule {
    let least = (32, 16);
    Rule {
        before,
        from,
        least,
        after: After::Anything,
        claim,
        code: false,
        good: 0,
        frame_follows: false,
    }
}

/// A rule for beginnings that are known by themselves.
const fn alone(from: &'static [Words], after: After, claim: Claim) -> Rule {
    Rule {
        before: &[],
        from,
        least: (0, 0),
        after,
        claim,
        code: false,
        good: 0,
        frame_follows: false,
    }
}

/// The same; there is code in any case.
const fn code(rule: Rule) -> Rule {
    Rule { code: true, ..rule }
}

/// The same, if so many instructions are good ones.
const fn good(good: usize, rule: Rule) -> Rule {
    Rule { good, ..rule }
}

const fn one(word: u32) -> Bits {
    (u32::MAX, word)
}

/// Registers stored below the stack pointer, which moves there, and the like.
const STP_FRAME: Bits = one(0xa9bf_7bfd);
const STP_PUSH: Bits = (0xffc0_43e0, 0xa980_43e0);
const STR_LINK: Bits = (0xfff0_7fff, 0xf810_0ffe);
const PACIBSP: Bits = one(0xd503_237f);

static AARCH64: &[Rule] = &[
    code(behind(
        // RET, RETAB, B, BRK.
        &[
            &[one(0xd65f_03c0)],
            &[one(0xd65f_0fff)],
            &[(0xfc00_0000, 0x1400_0000)],
            &[one(0xd420_0020)],
        ],
        &[
            &[STP_FRAME],
            &[STR_LINK],
            &[STP_PUSH],
            // Floating-point registers stored; a frame made; a return address signed.
            &[(0xfff0_e7f9, 0x6db0_23e9)],
            &[(0xffe0_3fff, 0xd100_03ff)],
            &[PACIBSP],
        ],
        Claim::Perhaps,
    )),
    good(3, alone(&[&[STP_PUSH], &[STR_LINK]], After::Defined, Claim::Perhaps)),
    Rule {
        frame_follows: true,
        ..good(3, alone(&[&[ANY, STP_PUSH], &[ANY, STR_LINK]], After::Defined, Claim::Perhaps))
    },
    code(alone(
        &[&[STP_FRAME, one(0x9100_03fd)], &[PACIBSP, (0xfff8_3fff, 0xd100_03ff)]],
        After::Anything,
        Claim::Perhaps,
    )),
];

const BLR: Bits = one(0x4e80_0020);
const B: Bits = (0xfc00_0003, 0x4800_0000);
const STWU: Bits = (0xffff_c007, 0x9421_c000);
const MFLR: Bits = (0xfc1f_ffff, 0x7c08_02a6);
const LARGE_FRAME: Words = &[one(0x7c2c_0b78), (0xffff_0000, 0x3821_0000), one(0x9181_0000)];

static POWERPC: &[Rule] = &[
    code(behind(&[&[BLR], &[B]], &[&[STWU], LARGE_FRAME], Claim::Perhaps)),
    code(behind(
        &[&[B]],
        &[&[STWU, MFLR], &[STWU, ANY, MFLR], &[STWU, ANY, ANY, MFLR], LARGE_FRAME],
        Claim::Perhaps,
    )),
    code(alone(&[&[STWU, MFLR]], After::Defined, Claim::Perhaps)),
];

const JR_RA: Bits = one(0x03e0_0008);
const FILLER: Bits = one(0);
const MIPS_J: Bits = (0xfc00_0000, 0x0800_0000);
const MIPS_B: Bits = (0xffff_0000, 0x1000_0000);
const JR_T9: Bits = (0xffff_f83f, 0x0320_0008);
const POP_FRAME: Bits = (0xbfff_8003, 0x27bd_0000);
const ADDIU_SP: Bits = (0xffff_8003, 0x27bd_8000);
/// `ADDIU` or `DADDIU`.
const ADD_SP: Bits = (0xbfff_8003, 0x27bd_8000);
const LUI: Bits = (0xff00_0000, 0x3c00_0000);
const LW: Bits = (0xfc00_0000, 0x8c00_0000);
const GP: Words = &[(0xffff_0000, 0x3c1c_0000), (0xbfff_0000, 0x279c_0000)];
const LUI_A2: Words = &[(0xffff_0000, 0x3c06_0000)];

/// A return with its delay slot, and what fills the space behind it.
const MIPS_RETURNS: [Words; 4] = [
    &[JR_RA, ANY],
    &[JR_RA, ANY, FILLER],
    &[JR_RA, ANY, FILLER, FILLER],
    &[JR_RA, ANY, FILLER, FILLER, FILLER],
];
const MIPS_LITTLE_ENDS: &[Words] = &[
    MIPS_RETURNS[0],
    MIPS_RETURNS[1],
    MIPS_RETURNS[2],
    MIPS_RETURNS[3],
    &[MIPS_J, POP_FRAME],
    &[MIPS_B, POP_FRAME],
    &[JR_T9, (0xbfff_00f0, 0x27bd_0000)],
];
const MIPS_BIG_ENDS: &[Words] = &[
    MIPS_RETURNS[0],
    MIPS_RETURNS[1],
    MIPS_RETURNS[2],
    MIPS_RETURNS[3],
    &[MIPS_J, POP_FRAME],
    &[MIPS_J, POP_FRAME, FILLER],
    &[MIPS_B, POP_FRAME],
    &[MIPS_B, POP_FRAME, FILLER],
    &[JR_T9, (0xbfff_f000, 0x27bd_0000)],
];
/// The global pointer kept in a new frame.
const MIPS_KEEPS_GP: Rule = good(
    6,
    alone(
        &[
            &[(0xffff_8003, 0x67bd_8000), (0xffff_8003, 0xffbc_0000)],
            &[ADDIU_SP, (0xffff_8003, 0xafbc_0000)],
        ],
        After::Anything,
        Claim::Function,
    ),
);

static MIPS_LITTLE: &[Rule] = &[
    behind(
        MIPS_LITTLE_ENDS,
        &[&[ADDIU_SP], &[LUI, ADDIU_SP], &[LW, ADDIU_SP], &[LUI, LW, ADDIU_SP], GP],
        Claim::Function,
    ),
    behind(MIPS_LITTLE_ENDS, &[LUI_A2], Claim::Perhaps),
    MIPS_KEEPS_GP,
];

static MIPS_BIG: &[Rule] = &[
    behind(
        MIPS_BIG_ENDS,
        &[&[ADD_SP], &[LUI, ADD_SP], &[LW, ADD_SP], &[LUI, LW, ADD_SP], GP],
        Claim::Function,
    ),
    behind(MIPS_BIG_ENDS, &[LUI_A2], Claim::Perhaps),
    MIPS_KEEPS_GP,
];

const SUB_SP: Bits = (0xffff_f000, 0xe24d_d000);
/// The link register pushed with others, from R4 on or any.
const STM_FROM_R4: Bits = (0xffff_400f, 0xe92d_4000);
const STM_LINK: Bits = (0xffff_4000, 0xe92d_4000);
const STR_LR: Bits = (0xffff_f000, 0xe52d_e000);
const ARM_NOP: Bits = one(0xe1a0_0000);

static ARM: &[Rule] = &[
    behind(
        &[
            // BX, with a filler; B; LDM, LDR and MOV to PC; fillers.
            &[(0xffff_fff0, 0xe12f_ff10)],
            &[one(0xe12f_ff1e), ARM_NOP],
            &[(0xff00_0000, 0xea00_0000)],
            &[(0xffdf_d000, 0xe89d_8000)],
            &[one(0xe49d_f008)],
            &[one(0xe1a0_f00e)],
            &[one(0xe320_f000), ARM_NOP],
            &[ARM_NOP],
        ],
        &[
            &[SUB_SP, STM_FROM_R4],
            &[STM_FROM_R4, SUB_SP],
            &[STM_FROM_R4, ANY, SUB_SP],
            &[STM_FROM_R4, (0xffff_effe, 0xe1a0_4000)],
            &[STM_FROM_R4],
            &[SUB_SP, STR_LR],
            &[(0xffff_4000, 0xe92d_0000), (0xffff_ff03, 0xe52d_e000)],
            &[STR_LR, SUB_SP],
            &[STR_LR, ANY, SUB_SP],
            &[one(0xe52d_e008)],
            &[one(0xe1a0_c00d), (0xffff_0000, 0xe92d_0000)],
            &[STM_LINK],
        ],
        Claim::Perhaps,
    ),
    code(alone(&[&[SUB_SP, STM_FROM_R4], &[SUB_SP, STR_LR]], After::Defined, Claim::Perhaps)),
    alone(&[&[STM_FROM_R4], &[STR_LR, ANY, SUB_SP]], After::Data, Claim::Perhaps),
    good(40, alone(&[&[STM_LINK]], After::Defined, Claim::Function)),
    code(alone(&[&[STR_LR, SUB_SP], &[STM_FROM_R4, ANY, SUB_SP]], After::Data, Claim::Perhaps)),
    alone(&[&[one(0xe1a0_c00d), (0xffff_0000, 0xe92d_0000)]], After::Anything, Claim::Code),
];

/// One halfword.
const fn half(word: u32) -> Bits {
    (0xffff, word)
}

const POP_PC: Bits = (0xff01, 0xbd00);
const BX_LR: Bits = half(0x4770);
const NOP: Bits = half(0xbf00);
const MOV_R8: Bits = half(0x46c0);
const PUSH_LR: Bits = (0xff00, 0xb500);
/// R4 and higher registers pushed with the link register.
const PUSH_HIGH: Bits = (0xff0f, 0xb500);
const SUB_FRAME: Bits = (0xff80, 0xb080);
const MOV_LOW: Bits = (0xffc0, 0x1c00);
const MOV_ANY: Bits = (0xff00, 0x4600);
const LDR_PC: Bits = (0xd800, 0x4800);
const LDR: Bits = (0xff00, 0x6800);
const PUSH_WIDE: Words = &[half(0xe92d), (0xe000, 0x4000)];

static THUMB: &[Rule] = &[
    behind(
        &[
            &[POP_PC],
            &[POP_PC, half(0)],
            &[POP_PC, NOP],
            &[POP_PC, MOV_R8],
            &[half(0xffff)],
            &[MOV_R8],
            &[BX_LR],
            &[BX_LR, half(0)],
            &[BX_LR, MOV_R8],
            &[(0xffe0, 0xb000), (0xff0f, 0xbd00)],
            &[NOP],
            &[half(0xf3af), half(0x8000)],
            &[half(0xe8bd), (0x8000, 0x8000)],
            &[half(0xf85d), (0xff80, 0xfb00)],
        ],
        &[
            &[PUSH_LR, SUB_FRAME],
            &[PUSH_LR, MOV_LOW],
            &[PUSH_LR, MOV_ANY],
            &[PUSH_LR, LDR],
            &[PUSH_LR, LDR_PC, (0xffc0, 0xb080)],
            &[(0xff80, 0xb580), (0xff00, 0xaf00)],
            &[(0xffe0, 0xb080), PUSH_HIGH],
            &[MOV_LOW, PUSH_HIGH],
            &[LDR_PC, PUSH_HIGH],
            &[LDR, PUSH_HIGH],
            PUSH_WIDE,
        ],
        Claim::Function,
    ),
    alone(
        &[
            &[PUSH_HIGH, SUB_FRAME],
            PUSH_WIDE,
            &[PUSH_HIGH, MOV_LOW],
            &[PUSH_HIGH, MOV_ANY],
            &[PUSH_HIGH, LDR_PC],
            &[PUSH_HIGH, LDR],
            &[(0xff8f, 0xb580), (0xff00, 0xaf00)],
        ],
        After::Defined,
        Claim::Perhaps,
    ),
    Rule {
        before: &[&[POP_PC], &[POP_PC, NOP], &[BX_LR], &[BX_LR, NOP]],
        from: &[&[(0xff01, 0xb500)]],
        least: (16, 8),
        ..alone(&[], After::Function, Claim::Function)
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(id: &str, before: &[u8], from: &[u8]) -> Vec<Claim> {
        let language = Language::open(id, "default").unwrap();
        let rules = Rules::of(&language);
        rules.iter().flat_map(|r| r.fitting(before, from).map(|rule| rule.claim)).collect()
    }

    #[test]
    fn a_frame_behind_a_return_begins_a_function_on_powerpc() {
        let stwu = [0x94, 0x21, 0xff, 0xe0, 0x90, 0x01, 0, 0x14];
        let found = claims("PowerPC:BE:32:default", &[0x4e, 0x80, 0, 0x20], &stwu);
        assert_eq!(found, [Claim::Perhaps]);
        // A jump says less than a return.
        assert_eq!(claims("PowerPC:BE:32:default", &[0x48, 0, 0, 0x20], &stwu), []);
    }

    #[test]
    fn a_global_pointer_made_behind_a_return_begins_a_function_on_mips() {
        let gp = [0x3c, 0x1c, 0, 2, 0x27, 0x9c, 0x80, 0x10];
        let returns = [0x03, 0xe0, 0, 8, 0, 0, 0, 0];
        assert_eq!(claims("MIPS:BE:32:default", &returns, &gp), [Claim::Function]);
        assert_eq!(claims("MIPS:BE:32:default", &[0; 8], &gp), []);
        let turned: Vec<u8> = gp.chunks(4).flat_map(|w| w.iter().rev().copied()).collect();
        let returns = [8, 0, 0xe0, 0x03, 0, 0, 0, 0];
        assert_eq!(claims("MIPS:LE:32:default", &returns, &turned), [Claim::Function]);
    }

    #[test]
    fn pushed_registers_behind_a_return_begin_a_function_in_thumb_code() {
        let push_and_move = [0x10, 0xb5, 0x04, 0x46];
        let found = claims("ARM:LE:32:v8", &[0x70, 0x47], &push_and_move);
        assert_eq!(found, [Claim::Function, Claim::Perhaps, Claim::Function]);
        assert_eq!(claims("ARM:LE:32:v8", &[0x04, 0x46], &push_and_move), [Claim::Perhaps]);
    }
}
