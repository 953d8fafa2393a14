//! The text form of the instruction dumps.

use anyhow::{Context, Result};

/// One instruction as Ghidra lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Where it stands.
    pub address: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Mnemonic and operands with plain numbers.
    pub plain: String,
    /// Mnemonic and operands with labels, as the listing shows them.
    pub labelled: String,
    /// Flow type, such as `FALL_THROUGH`.
    pub flow: String,
    /// Flow override, if any.
    pub flow_override: Option<String>,
    /// Raw p-code, one operation an entry.
    pub pcode: Vec<String>,
}

pub(super) fn parse(text: &str) -> Result<Vec<Instruction>> {
    let mut instructions: Vec<Instruction> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if let Some(operation) = line.strip_prefix('\t') {
            let last = instructions.last_mut().context("p-code before code")?;
            last.pcode.push(operation.to_owned());
        } else if !line.is_empty() {
            let parsed = parse_line(line);
            instructions.push(parsed.with_context(|| format!("line {}: {line}", number + 1))?);
        }
    }
    Ok(instructions)
}

fn parse_line(line: &str) -> Option<Instruction> {
    let mut fields = line.split('\t');
    Some(Instruction {
        address: fields.next()?.to_owned(),
        bytes: parse_bytes(fields.next()?)?,
        plain: fields.next()?.to_owned(),
        labelled: fields.next()?.to_owned(),
        flow: fields.next()?.to_owned(),
        flow_override: fields.next().filter(|f| !f.is_empty()).map(str::to_owned),
        pcode: Vec::new(),
    })
}

fn parse_bytes(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}
