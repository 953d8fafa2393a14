//! The memory of a program as a map: for every block what its bytes are, and how disordered they
//! are (entropy), which shows what is packed or encrypted.

use super::svg::{FONT, LINE, Theme, escape, open, text as write_text};
use crate::cli::program::{Program, text};
use serde_json::{Value, json};
use std::fmt::Write;

/// Cells of a row.
const CELLS: usize = 160;

/// Bytes of a cell at least: of fewer, entropy tells nothing.
const SMALLEST: u64 = 64;

/// Width of a row.
const WIDTH: f64 = 960.0;

const BAR: f64 = 18.0;
const CURVE: f64 = 26.0;
const ROW: f64 = LINE + BAR + CURVE + 18.0;
const MARGIN: f64 = 24.0;

/// Bytes that are read at once.
const CHUNK: u64 = 65_536;

/// What a byte is.
const KINDS: [&str; 5] = ["none", "unknown", "data", "string", "code"];

/// One block, cut into cells.
struct Row {
    title: String,
    start: u64,
    length: u64,
    /// Bytes of each kind in each cell.
    kinds: Vec<[u64; KINDS.len()]>,
    /// Counts of byte values in each cell.
    values: Vec<[u32; 256]>,
}

impl Row {
    fn cell(&self, offset: u64) -> usize {
        let cell = u128::from(offset) * self.kinds.len() as u128 / u128::from(self.length.max(1));
        (cell as usize).min(self.kinds.len() - 1)
    }

    /// Notes that bytes are of a kind.
    fn mark(&mut self, address: u64, length: u64, kind: usize) {
        let Some(offset) = address.checked_sub(self.start).filter(|offset| *offset < self.length)
        else {
            return;
        };
        let end = offset.saturating_add(length).min(self.length);
        let cells = self.kinds.len() as u64;
        let mut at = offset;
        while at < end {
            let cell = self.cell(at);
            // The first offset of the next cell.
            let next = ((cell as u64 + 1) * self.length).div_ceil(cells).clamp(at + 1, end);
            let count = next - at;
            self.kinds[cell][kind] += count;
            self.kinds[cell][1] = self.kinds[cell][1].saturating_sub(count);
            at = next;
        }
    }
}

/// The map of a program.
pub fn draw(program: &Program, theme: Theme) -> anyhow::Result<String> {
    let about = program.call("program.get", json!({}))?;
    let mut rows = rows(program)?;
    mark(program, &mut rows)?;
    let height = MARGIN * 2.0 + 60.0 + rows.len() as f64 * ROW;
    let mut out = open(WIDTH + 2.0 * MARGIN, height, theme);
    let heading = format!("Memory of {}", text(&about, "name"));
    write_text(&mut out, MARGIN, MARGIN + 12.0, "heading", &heading);
    legend(&mut out);
    for (at, row) in rows.iter().enumerate() {
        draw_row(&mut out, row, MARGIN + 60.0 + at as f64 * ROW);
    }
    out.push_str("</svg>\n");
    Ok(out)
}

/// The blocks of the program's memory, each with the counts of its bytes.
fn rows(program: &Program) -> anyhow::Result<Vec<Row>> {
    let mut blocks = program.all("memory_block.list", json!({}))?;
    blocks.retain(|block| !program.place(text(block, "start")).contains(':'));
    blocks.sort_by_key(|block| number(program, text(block, "start")));
    blocks.iter().map(|block| row(program, block)).collect()
}

fn row(program: &Program, block: &Value) -> anyhow::Result<Row> {
    let start = number(program, text(block, "start"));
    let length = block["length"].as_u64().unwrap_or_default().max(1);
    let cells = CELLS.min(usize::try_from(length / SMALLEST).unwrap_or(CELLS)).max(1);
    let flag = |member: &str, letter| if block[member] == true { letter } else { '-' };
    let flags: String =
        [flag("read", 'r'), flag("write", 'w'), flag("execute", 'x')].into_iter().collect();
    let title = format!(
        "{}  {} .. {}  {length} bytes  {flags}",
        text(block, "name"),
        program.place(text(block, "start")),
        program.place(text(block, "end")),
    );
    let mut row = Row {
        title,
        start,
        length,
        kinds: vec![[0; KINDS.len()]; cells],
        values: vec![[0; 256]; cells],
    };
    let initialized = block["initialized"] == true;
    let kind = usize::from(initialized);
    for offset in 0..cells as u64 {
        let (first, next) = (
            (offset * length).div_ceil(cells as u64),
            ((offset + 1) * length).div_ceil(cells as u64),
        );
        row.kinds[offset as usize][kind] = next - first;
    }
    if initialized {
        count(program, &mut row)?;
    }
    Ok(row)
}

/// Counts the byte values of a block.
fn count(program: &Program, row: &mut Row) -> anyhow::Result<()> {
    let mut offset = 0;
    while offset < row.length {
        let length = CHUNK.min(row.length - offset);
        let address = format!("{:x}", row.start + offset);
        let params = json!({ "selector": { "address": address }, "length": length });
        let answer = program.call("memory.read", params)?;
        let digits = text(&answer["bytes"], "data").as_bytes();
        for (at, pair) in digits.chunks_exact(2).enumerate() {
            let value = pair.iter().fold(0, |value, digit| {
                value * 16 + char::from(*digit).to_digit(16).unwrap_or_default()
            });
            let cell = row.cell(offset + at as u64);
            row.values[cell][value as usize] += 1;
        }
        offset += length;
    }
    Ok(())
}

/// Marks what analysis found: instructions, texts and other data.
fn mark(program: &Program, rows: &mut [Row]) -> anyhow::Result<()> {
    let mut note = |row: &Value, kind: usize| {
        let address = program.place(text(row, "address"));
        if address.contains(':') {
            return Ok(true);
        }
        let address = number(program, address);
        let after = rows.partition_point(|row| row.start <= address);
        if let Some(row_of) = after.checked_sub(1).and_then(|at| rows.get_mut(at)) {
            row_of.mark(address, row["length"].as_u64().unwrap_or(1), kind);
        }
        Ok(true)
    };
    let fields = json!({ "fields": ["length"] });
    program.each("instruction.list", json!({ "projection": fields }), |row| note(row, 4))?;
    for (string, kind) in [(false, 2), (true, 3)] {
        let params = json!({ "filter": { "string": string }, "projection": fields });
        program.each("data_unit.list", params, |row| note(row, kind))?;
    }
    Ok(())
}

fn number(program: &Program, address: &str) -> u64 {
    u64::from_str_radix(program.place(address), 16).unwrap_or_default()
}

fn legend(out: &mut String) {
    let mut x = MARGIN;
    let names = [
        ("code", "code"),
        ("data", "data"),
        ("string", "text"),
        ("unknown", "unknown"),
        ("none", "no bytes"),
    ];
    for (kind, name) in names {
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\" style=\"fill:var(--{kind});stroke:var(--rim)\"/>",
            MARGIN + 24.0
        );
        write_text(out, x + 18.0, MARGIN + 34.0, "quiet", name);
        x += 18.0 + (name.len() as f64 + 2.0) * FONT * 0.605;
    }
    write_text(out, x + 12.0, MARGIN + 34.0, "quiet", "below: entropy, 0 to 8 bits a byte");
}

fn draw_row(out: &mut String, row: &Row, top: f64) {
    write_text(out, MARGIN, top + FONT, "", &row.title);
    let width = WIDTH / row.kinds.len() as f64;
    let _ = writeln!(out, "<g><title>{}</title>", escape(&row.title));
    for (at, kinds) in row.kinds.iter().enumerate() {
        // From the bottom of the bar up, each kind by its share.
        let all: u64 = kinds.iter().sum::<u64>().max(1);
        let mut bottom = top + LINE + BAR;
        for (kind, count) in KINDS.iter().zip(kinds).filter(|(_, count)| **count > 0) {
            let height = BAR * *count as f64 / all as f64;
            bottom -= height;
            let _ = writeln!(
                out,
                "<rect x=\"{:.2}\" y=\"{bottom:.2}\" width=\"{:.2}\" height=\"{height:.2}\" style=\"fill:var(--{kind})\"/>",
                MARGIN + at as f64 * width,
                width + 0.3,
            );
        }
    }
    out.push_str("</g>\n");
    let base = top + LINE + BAR + 2.0 + CURVE;
    let mut curve = format!("M{MARGIN:.1} {base:.1}");
    for (at, values) in row.values.iter().enumerate() {
        let y = base - CURVE * entropy(values) / 8.0;
        let x = MARGIN + at as f64 * width;
        let _ = write!(curve, "L{x:.1} {y:.1}L{:.1} {y:.1}", x + width);
    }
    let _ = write!(curve, "L{:.1} {base:.1}Z", MARGIN + WIDTH);
    let _ = writeln!(
        out,
        "<path d=\"{curve}\" style=\"fill:var(--quiet);fill-opacity:.35;stroke:var(--quiet)\"/>"
    );
}

/// Shannon's entropy in bits a byte.
fn entropy(values: &[u32; 256]) -> f64 {
    let all: f64 = values.iter().map(|count| f64::from(*count)).sum();
    if all == 0.0 {
        return 0.0;
    }
    let part = |count: &u32| {
        let share = f64::from(*count) / all;
        if *count == 0 { 0.0 } else { -share * share.log2() }
    };
    values.iter().map(part).sum()
}

#[cfg(test)]
mod tests {
    use super::{KINDS, Row, entropy};

    #[test]
    fn entropy_is_that_of_shannon() {
        assert!(entropy(&[0; 256]).abs() < 1e-9);
        let mut one = [0; 256];
        one[7] = 1000;
        assert!(entropy(&one).abs() < 1e-9);
        assert!((entropy(&[3; 256]) - 8.0).abs() < 1e-9);
        one[8] = 1000;
        assert!((entropy(&one) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn every_byte_is_counted_once() {
        for (length, cells) in [(1, 1), (7, 3), (160, 160), (1000, 160), (12_345, 160)] {
            let kinds = vec![[0; KINDS.len()]; cells];
            let mut row =
                Row { title: String::new(), start: 100, length, kinds, values: Vec::new() };
            row.mark(90, 5, 4);
            row.mark(100, length + 50, 2);
            let sum: u64 = row.kinds.iter().map(|kinds| kinds[2]).sum();
            assert_eq!(sum, length, "{cells} cells");
            assert!(row.kinds.iter().all(|kinds| kinds[4] == 0));
        }
    }
}
