//! Text for people: a verdict first, evidence below, colour only on a terminal,
//! and a bar on long work.

use crate::finding::{Finding, Severity};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt::Write as _;
use std::io::IsTerminal;

/// Characters that steer a terminal, or turn and hide what stands beside them.
pub fn is_steering(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// A foreign text as it may reach a terminal: what steers is spelled out.
pub fn visible(text: &str) -> String {
    if !text.contains(is_steering) {
        return text.to_string();
    }
    let shown = |c: char| match is_steering(c) {
        true => format!("\\u{{{:x}}}", u32::from(c)),
        false => c.to_string(),
    };
    text.chars().map(shown).collect()
}

/// Printed JSON that means the same and holds nothing that steers: such
/// characters can only stand in strings, where they have an escaped form.
pub fn escape_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match is_steering(c) {
            true => c
                .encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| out.push_str(&format!("\\u{unit:04x}"))),
            false => out.push(c),
        }
    }
    out
}

/// The text being put together.
#[derive(Debug)]
pub struct Screen {
    text: String,
    colour: bool,
}

impl Screen {
    /// For standard output, or for a file when `to_file`.
    pub fn new(to_file: bool) -> Screen {
        let plain = to_file || std::env::var_os("NO_COLOR").is_some();
        Screen { text: String::new(), colour: !plain && std::io::stdout().is_terminal() }
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }

    /// The first line: how it went.
    pub fn verdict(&mut self, worst: Option<Severity>, text: &str) {
        let (code, mark) = match worst {
            None | Some(Severity::Info) => ("1;32", "✔"),
            Some(Severity::Low) => ("1;33", "!"),
            Some(_) => ("1;31", "✖"),
        };
        let line = self.paint(code, &format!("{mark} {}", visible(text)));
        self.put(&line);
    }

    /// A line.
    pub fn line(&mut self, text: &str) {
        self.put(&visible(text));
    }

    /// A line that is made of our own and of cleaned texts.
    fn put(&mut self, text: &str) {
        let _ = writeln!(self.text, "{text}");
    }

    /// A heading after an empty line.
    pub fn heading(&mut self, text: &str) {
        let line = self.paint("1", &visible(text));
        let _ = writeln!(self.text, "\n{line}");
    }

    /// A faint line.
    pub fn faint(&mut self, text: &str) {
        let line = self.paint("2", &visible(text));
        self.put(&line);
    }

    /// A finding with all that belongs to it.
    pub fn finding(&mut self, finding: &Finding) {
        let code = match finding.severity {
            Severity::Info => "36",
            Severity::Low => "33",
            Severity::Medium => "35",
            Severity::High => "31",
        };
        let tag = self.paint(code, &format!("{:<6}", finding.severity.name()));
        let place = finding.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
        let what = visible(&format!("{place}{}", finding.title));
        let rule = self.paint("2", &format!("[{}]", finding.rule));
        let _ = writeln!(self.text, "{tag} {what} {rule}");
        for evidence in &finding.evidence {
            self.faint(&format!("         {evidence}"));
        }
        if let Some(advice) = &finding.advice {
            let _ = writeln!(self.text, "       → {}", visible(advice));
        }
    }

    /// Rows in aligned columns, the first row being the heading.
    pub fn table(&mut self, rows: &[Vec<String>]) {
        let one_line = |cell: &String| visible(cell).replace(['\n', '\t'], " ");
        let rows: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(one_line).collect()).collect();
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            rows.iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for (number, row) in rows.iter().enumerate() {
            let cells = row.iter().zip(&widths).map(|(cell, width)| {
                let gap = width - cell.chars().count();
                format!("{cell}{}", " ".repeat(gap))
            });
            let line = cells.collect::<Vec<_>>().join("  ").trim_end().to_string();
            let line = if number == 0 { self.paint("1", &line) } else { line };
            self.put(&line);
        }
    }

    /// The whole text.
    pub fn finish(self) -> String {
        self.text
    }
}

/// A bar on the error output, drawn only on a terminal.
pub fn progress(length: u64, what: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) = ProgressStyle::with_template("{msg:24} {bar:32} {pos}/{len} {elapsed}") {
        bar.set_style(style);
    }
    bar.set_message(what.to_string());
    bar
}

/// A count with the right form of the noun.
pub fn count(number: usize, one: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ if one.ends_with('y') => format!("{number} {}ies", &one[..one.len() - 1]),
        _ => format!("{number} {one}s"),
    }
}
