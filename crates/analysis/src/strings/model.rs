//! How much a run of printable characters looks like a text: the mean
//! likelihood of its trigrams, against a threshold that eases with length.
//!
//! The trigrams are those that are common in the texts of some 1,200 programs
//! and libraries of a Linux distribution; rows of a sign that only tables hold
//! are left out. A line of `trigrams.txt` holds the negated decimal logarithm of
//! their frequency in tenths, a blank, and the trigrams, lower case; `S` stands
//! for a blank, `B` and `E` for the ends.

use std::sync::OnceLock;

const TRIGRAMS: &str = include_str!("trigrams.txt");

/// The likelihood of trigrams that are not listed.
const RARE: f32 = -5.63;
/// The threshold for long texts, and what short ones must have on top of it.
const THRESHOLD: f32 = -5.5;
const SHORT: f32 = 9.5;
/// Trigrams by which every text counts as longer than it is.
const LONGER: f32 = 2.0;
/// Longer texts are judged by this many characters.
const JUDGED: usize = 1 << 12;

/// Symbols of trigrams: blank, the 94 visible characters, and the two ends.
const SYMBOLS: usize = 97;
const BEGIN: usize = 95;
const END: usize = 96;

/// The likelihoods, in tenths and negated, by three symbols; zero if rare.
fn model() -> &'static [u8] {
    static MODEL: OnceLock<Vec<u8>> = OnceLock::new();
    MODEL.get_or_init(|| {
        let mut model = vec![0u8; SYMBOLS * SYMBOLS * SYMBOLS];
        for line in TRIGRAMS.lines() {
            let Some((level, trigrams)) = line.split_once(' ') else { continue };
            let level = level.parse().unwrap_or(0);
            for trigram in trigrams.as_bytes().chunks_exact(3) {
                let [a, b, c] = [trigram[0], trigram[1], trigram[2]].map(listed_symbol);
                model[index(a, b, c)] = level;
            }
        }
        model
    })
}

fn index(a: usize, b: usize, c: usize) -> usize {
    (a * SYMBOLS + b) * SYMBOLS + c
}

fn listed_symbol(byte: u8) -> usize {
    match byte {
        b'S' => 0,
        b'B' => BEGIN,
        b'E' => END,
        other => symbol(other),
    }
}

/// Blanks of any kind are one symbol, upper case counts as lower case.
fn symbol(byte: u8) -> usize {
    match byte.to_ascii_lowercase() {
        byte @ b'!'..=b'~' => usize::from(byte - b' '),
        _ => 0,
    }
}

/// Adds up the likelihoods of a text's trigrams.
struct Score {
    model: &'static [u8],
    last: [usize; 2],
    sum: f32,
    trigrams: u16,
}

impl Score {
    fn push(&mut self, next: usize) {
        let [a, b] = self.last;
        self.last = [b, next];
        if b == BEGIN {
            return;
        }
        self.trigrams += 1;
        self.sum += match self.model[index(a, b, next)] {
            0 => RARE,
            level => -f32::from(level) / 10.0,
        };
    }
}

/// Whether `text`, all of it printable, looks like a text.
pub(super) fn is_text(text: &[u8]) -> bool {
    let mut score = Score { model: model(), last: [BEGIN, BEGIN], sum: 0.0, trigrams: 0 };
    // A run of blanks counts once, at the ends not at all.
    let mut blank = false;
    for byte in &text[..text.len().min(JUDGED)] {
        match symbol(*byte) {
            0 => blank = true,
            next => {
                if std::mem::take(&mut blank) && score.last[1] != BEGIN {
                    score.push(0);
                }
                score.push(next);
            }
        }
    }
    score.push(END);
    let count = f32::from(score.trigrams);
    count >= 4.0 && score.sum / count > THRESHOLD + SHORT / (count + LONGER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_formats_are_texts() {
        for text in ["out of memory\n", "%-16s %s %d,%d\n", "invalid option", "green", "  string "]
        {
            assert!(is_text(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn long_texts_may_hold_numbers() {
        for text in ["GCC: (GNU) 12 20220819", "GCC: (GNU) 12-win32"] {
            assert!(is_text(text.as_bytes()), "{text}");
        }
        for text in ["ISO-10646/UTF-8/", "10646-1:1993/UCS4/", "ANSI_X3.4-1968//"] {
            assert!(!is_text(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn rows_of_equal_entries_of_tables_are_not() {
        for text in [[b'@'; 128], [b'"'; 128], [b'('; 128]] {
            assert!(!is_text(&text), "{}", char::from(text[0]));
        }
        assert!(!is_text(b"******\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\""));
        assert!(is_text(b"--------------------"));
    }

    #[test]
    fn random_printable_bytes_are_not() {
        for text in ["aZ3 +!", "?Q=zx", "@8f!k", "    ", "", "\t\n", "}|{~^%`", "AWAVI"] {
            assert!(!is_text(text.as_bytes()), "{text}");
        }
    }
}
