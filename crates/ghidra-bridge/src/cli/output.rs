//! Standard output of the verbs: lines for people or JSON lines for programs, colours on a
//! terminal only, and a quiet end when nobody reads any more.

use anyhow::Context;
use clap::ValueEnum;
use console::Style;
use serde_json::Value;
use std::io::{BufWriter, IsTerminal, Stdout, Write};

/// When text is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Where a verb prints.
pub struct Output {
    out: BufWriter<Stdout>,
    is_terminal: bool,
    json: bool,
    colours: bool,
    found: bool,
}

impl Output {
    pub fn new(json: bool, colour: Colour) -> Output {
        let is_terminal = std::io::stdout().is_terminal();
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|word| word.is_empty())
            && std::env::var_os("TERM").is_none_or(|word| word != "dumb");
        let colours = match colour {
            Colour::Auto => is_terminal && wanted,
            Colour::Always => true,
            Colour::Never => false,
        };
        let out = BufWriter::with_capacity(64 << 10, std::io::stdout());
        Output { out, is_terminal, json, colours, found: false }
    }

    /// Whether programs read along.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Whether text is coloured.
    pub fn has_colours(&self) -> bool {
        self.colours
    }

    /// Whether anything was found so far.
    pub fn has_found(&self) -> bool {
        self.found
    }

    /// One thing that was found: the row as it was answered, or its line for people.
    pub fn row(&mut self, row: &Value, line: impl FnOnce(&Output) -> String) -> anyhow::Result<()> {
        self.found = true;
        if self.json {
            let text = row.to_string();
            return self.write(&text);
        }
        let line = line(self);
        self.write(&line)
    }

    /// A line beside the rows, for people only.
    pub fn line(&mut self, line: &str) -> anyhow::Result<()> {
        if self.json { Ok(()) } else { self.write(line) }
    }

    /// Text with a style, when there are colours.
    pub fn paint(&self, style: &Style, text: &str) -> String {
        if self.colours && !text.is_empty() {
            return style.clone().force_styling(true).apply_to(text).to_string();
        }
        text.to_owned()
    }

    fn write(&mut self, line: &str) -> anyhow::Result<()> {
        let mut written = self.out.write_all(line.as_bytes());
        written = written.and_then(|()| self.out.write_all(b"\n"));
        if self.is_terminal {
            written = written.and_then(|()| self.out.flush());
        }
        written.context("standard output")
    }

    /// Sends what is still held back.
    pub fn finish(&mut self) -> anyhow::Result<()> {
        self.out.flush().context("standard output")
    }
}

/// True for the error of an output that nobody reads any more.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let kind = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    kind.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Text of a program as one line that does nothing to a terminal: control characters and those
/// that turn the direction of writing are spelled out.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                out.extend(c.escape_unicode());
            }
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn nothing_of_a_program_reaches_the_terminal_as_a_command() {
        assert_eq!(plain("a\u{1b}[31mb\u{9b}c\n"), "a\\u{1b}[31mb\\u{9b}c\\n");
        assert_eq!(plain("\u{202e}txt.exe"), "\\u{202e}txt.exe");
        assert_eq!(plain("größe 名前"), "größe 名前");
    }
}
