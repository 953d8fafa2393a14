//! Where debug information says that a variable lies, as text: for what lies in a register.

use program::Program;

/// Operations of one expression that are written down.
const MOST: usize = 64;
/// The last operation of a kind that has one for each of 32 registers or numbers.
const LAST: u8 = 31;

const LIT0: u8 = 0x30;
const REG0: u8 = 0x50;
const BREG0: u8 = 0x70;
const FBREG: u8 = 0x91;

/// Registers by their numbers in debug information, those that a first byte can name.
const X64: [&str; 32] = [
    "RAX", "RDX", "RCX", "RBX", "RSI", "RDI", "RBP", "RSP", "R8", "R9", "R10", "R11", "R12", "R13",
    "R14", "R15", "RIP", "XMM0", "XMM1", "XMM2", "XMM3", "XMM4", "XMM5", "XMM6", "XMM7", "XMM8",
    "XMM9", "XMM10", "XMM11", "XMM12", "XMM13", "XMM14",
];
const X86: [&str; 32] = [
    "EAX", "ECX", "EDX", "EBX", "ESP", "EBP", "ESI", "EDI", "EIP", "eflags", "", "ST0", "ST1",
    "ST2", "ST3", "ST4", "ST5", "ST6", "ST7", "", "", "XMM0", "XMM1", "XMM2", "XMM3", "XMM4",
    "XMM5", "XMM6", "XMM7", "MM0", "MM1", "MM2",
];
const ARM: [&str; 18] = [
    "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "sp", "lr",
    "pc", "fpsr", "cpsr",
];
const MIPS: [&str; 32] = [
    "zero", "at", "v0", "v1", "a0", "a1", "a2", "a3", "t0", "t1", "t2", "t3", "t4", "t5", "t6",
    "t7", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "t8", "t9", "k0", "k1", "gp", "sp", "s8",
    "ra",
];
const RISCV: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4",
    "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
    "t5", "t6",
];

/// What a register is called that debug information knows by a number.
fn register(language: &str, number: u8) -> Option<String> {
    let listed = |names: &[&str]| {
        let name = names.get(usize::from(number)).filter(|name| !name.is_empty())?;
        Some((*name).to_owned())
    };
    match language.split(':').next()? {
        "x86" if language.starts_with("x86:LE:64") => listed(&X64),
        "x86" => listed(&X86),
        "AARCH64" if number == LAST => Some("sp".into()),
        "AARCH64" => Some(format!("x{number}")),
        "ARM" => listed(&ARM),
        "MIPS" => listed(&MIPS),
        "PowerPC" => Some(format!("r{number}")),
        "RISCV" => listed(&RISCV),
        _ => None,
    }
}

/// How an operand is written.
#[derive(Clone, Copy)]
enum Operand {
    /// As many bytes as an address.
    Address,
    /// A number of that many bytes, and whether it may be negative.
    Number(usize, bool),
    Unsigned,
    Signed,
    /// As many bytes as the operand before says.
    Bytes,
}

/// The name and operands of an operation that is no register or small number.
fn operation(code: u8) -> Option<(&'static str, &'static [Operand])> {
    use Operand::{Address, Bytes, Number, Signed, Unsigned};
    Some(match code {
        0x03 => ("addr", &[Address]),
        0x06 => ("deref", &[]),
        0x08 => ("const1u", &[Number(1, false)]),
        0x09 => ("const1s", &[Number(1, true)]),
        0x0a => ("const2u", &[Number(2, false)]),
        0x0b => ("const2s", &[Number(2, true)]),
        0x0c => ("const4u", &[Number(4, false)]),
        0x0d => ("const4s", &[Number(4, true)]),
        0x0e => ("const8u", &[Number(8, false)]),
        0x0f => ("const8s", &[Number(8, true)]),
        0x10 => ("constu", &[Unsigned]),
        0x11 => ("consts", &[Signed]),
        0x12 => ("dup", &[]),
        0x13 => ("drop", &[]),
        0x14 => ("over", &[]),
        0x15 => ("pick", &[Number(1, false)]),
        0x16 => ("swap", &[]),
        0x17 => ("rot", &[]),
        0x19 => ("abs", &[]),
        0x1a => ("and", &[]),
        0x1b => ("div", &[]),
        0x1c => ("minus", &[]),
        0x1d => ("mod", &[]),
        0x1e => ("mul", &[]),
        0x1f => ("neg", &[]),
        0x20 => ("not", &[]),
        0x21 => ("or", &[]),
        0x22 => ("plus", &[]),
        0x23 => ("plus_uconst", &[Unsigned]),
        0x24 => ("shl", &[]),
        0x25 => ("shr", &[]),
        0x26 => ("shra", &[]),
        0x27 => ("xor", &[]),
        0x29 => ("eq", &[]),
        0x2a => ("ge", &[]),
        0x2b => ("gt", &[]),
        0x2c => ("le", &[]),
        0x2d => ("lt", &[]),
        0x2e => ("ne", &[]),
        FBREG => ("fbreg", &[Signed]),
        0x92 => ("bregx", &[Unsigned, Signed]),
        0x93 => ("piece", &[Unsigned]),
        0x94 => ("deref_size", &[Number(1, false)]),
        0x96 => ("nop", &[]),
        0x9c => ("call_frame_cfa", &[]),
        0x9d => ("bit_piece", &[Unsigned, Unsigned]),
        0x9e => ("implicit_value", &[Unsigned, Bytes]),
        0x9f => ("stack_value", &[]),
        0xa3 => ("entry_value", &[Unsigned, Bytes]),
        0xa8 => ("convert", &[Unsigned]),
        0xa9 => ("reinterpret", &[Unsigned]),
        _ => return None,
    })
}

/// Whether an operation only reckons with numbers.
fn reckons(code: u8) -> bool {
    matches!(code, 0x08..=0x17 | 0x19..=0x27 | 0x29..=0x2e | 0x96)
        || (LIT0..=LIT0 + LAST).contains(&code)
}

/// The bytes of an expression.
struct Reader<'d> {
    left: &'d [u8],
    big_endian: bool,
    address: usize,
}

impl Reader<'_> {
    fn bytes(&mut self, count: usize) -> Option<&[u8]> {
        let (first, rest) = self.left.split_at_checked(count)?;
        self.left = rest;
        Some(first)
    }

    fn number(&mut self, count: usize) -> Option<u64> {
        let big_endian = self.big_endian;
        let bytes = self.bytes(count).filter(|bytes| bytes.len() <= 8)?;
        let join = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        Some(match big_endian {
            true => bytes.iter().fold(0, join),
            false => bytes.iter().rev().fold(0, join),
        })
    }

    fn leb(&mut self, signed: bool) -> Option<u64> {
        let (mut value, mut shift) = (0u64, 0u32);
        loop {
            let byte = self.number(1)?;
            value |= (byte & 0x7f).checked_shl(shift).unwrap_or(0);
            shift = shift.saturating_add(7);
            if byte & 0x80 == 0 {
                let negative = signed && byte & 0x40 != 0 && shift < 64;
                return Some(if negative { value | u64::MAX << shift } else { value });
            }
        }
    }

    fn operand(&mut self, kind: Operand, before: u64) -> Option<(String, u64)> {
        let signed = |value: u64| match value as i64 {
            value @ 1.. => format!("+{value}"),
            value => value.to_string(),
        };
        Some(match kind {
            Operand::Address => {
                let value = self.number(self.address)?;
                (format!("{value:x}"), value)
            }
            Operand::Number(count, false) => {
                let value = self.number(count)?;
                (value.to_string(), value)
            }
            Operand::Number(count, true) => {
                let unused = 64u32.saturating_sub(8 * count as u32);
                let value = ((self.number(count)? << unused) as i64 >> unused) as u64;
                (signed(value), value)
            }
            Operand::Unsigned => {
                let value = self.leb(false)?;
                (value.to_string(), value)
            }
            Operand::Signed => {
                let value = self.leb(true)?;
                (signed(value), value)
            }
            Operand::Bytes => {
                let bytes = self.bytes(usize::try_from(before).ok()?)?;
                let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                (bytes.join(" "), 0)
            }
        })
    }
}

/// An expression that a debugger would look into a register for, as text; nothing for all others.
/// `has_frame` tells whether places in the frame are known.
pub(super) fn in_register(program: &Program, expression: &[u8], has_frame: bool) -> Option<String> {
    let language = &program.info.language_id;
    let mut reader = Reader {
        left: expression,
        big_endian: program.memory.big_endian(),
        address: program.types.organization().pointer as usize,
    };
    let mut parts: Vec<String> = Vec::new();
    let mut looks = false;
    while let Some(code) = reader.bytes(1).and_then(|bytes| bytes.first().copied()) {
        let (name, operands) = match code {
            LIT0..=0x4f => (format!("lit{}", code - LIT0), &[][..]),
            REG0..=0x6f => (of_register(language, "reg", code - REG0, looks)?, &[][..]),
            BREG0..=0x8f => {
                (of_register(language, "breg", code - BREG0, looks)?, &[Operand::Signed][..])
            }
            _ => {
                let (name, operands) = operation(code)?;
                (name.to_owned(), operands)
            }
        };
        looks |= (REG0..=0x8f).contains(&code);
        let goes_on = looks || reckons(code) || code == FBREG && has_frame;
        if parts.len() >= MOST || !goes_on {
            return None;
        }
        let mut text = format!("DW_OP_{name}");
        let mut before = 0;
        for (index, operand) in operands.iter().enumerate() {
            let (shown, value) = reader.operand(*operand, before)?;
            before = value;
            text.push_str(if index == 0 { ": " } else { " " });
            text.push_str(&shown);
        }
        parts.push(text);
    }
    looks.then(|| parts.join("; "))
}

/// An operation with a register. The first one that is looked into must be known.
fn of_register(language: &str, kind: &str, number: u8, looks: bool) -> Option<String> {
    match register(language, number) {
        Some(name) => Some(format!("{kind}{number}({name})")),
        None => looks.then(|| format!("{kind}{number}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use program::{DataOrganization, ProgramInfo};

    fn text(language: &str, expression: &[u8]) -> Option<String> {
        let info = ProgramInfo {
            address_bits: 64,
            language_id: language.into(),
            ..ProgramInfo::default()
        };
        let program = Program::new(info, false, DataOrganization::default());
        in_register(&program, expression, true)
    }

    #[test]
    fn registers_are_told_with_their_names() {
        let x64 = |expression: &[u8]| text("x86:LE:64:default", expression);
        let pair = "DW_OP_reg5(RDI); DW_OP_piece: 4; DW_OP_reg4(RSI); DW_OP_piece: 4";
        assert_eq!(x64(&[0x55, 0x93, 4, 0x54, 0x93, 4]).as_deref(), Some(pair));
        assert_eq!(x64(&[0x77, 0x90, 1]).as_deref(), Some("DW_OP_breg7(RSP): +144"));
        assert_eq!(
            x64(&[0x31, 0x73, 0x7f, 0x22, 0x9f]).as_deref(),
            Some("DW_OP_lit1; DW_OP_breg3(RBX): -1; DW_OP_plus; DW_OP_stack_value")
        );
        let aarch64 = text("AARCH64:LE:64:v8A", &[0x8f, 16]);
        assert_eq!(aarch64.as_deref(), Some("DW_OP_breg31(sp): +16"));
        let arm = text("ARM:LE:32:v8", &[0x70, 0]);
        assert_eq!(arm.as_deref(), Some("DW_OP_breg0(r0): 0"));
        assert_eq!(text("RISCV:LE:64:RV64GC", &[0x5a]).as_deref(), Some("DW_OP_reg10(a0)"));
    }

    #[test]
    fn what_lies_in_no_register_is_not_told() {
        let x64 = |expression: &[u8]| text("x86:LE:64:default", expression);
        // A number, a value at the entry, a part without a place, damage, nothing at all.
        let others: [&[u8]; 5] = [&[0x30, 0x9f], &[0xa3, 1, 0x55], &[0x93, 8], &[0x77, 0x90], &[]];
        for expression in others {
            assert_eq!(x64(expression), None, "{expression:x?}");
        }
        assert_eq!(text("x86:LE:32:default", &[0x5a]), None);
        assert_eq!(text("V850:LE:32:default", &[0x50]), None);
    }
}
