//! Regular expressions that strangers write: matched in linear time, and refused when they would
//! take much memory.

use regex::{Regex, RegexBuilder};

/// Most bytes that a compiled expression may take.
const MAX_SIZE: usize = 1 << 20;

/// A regular expression without look-around and back references.
#[derive(Debug, Clone)]
pub struct Pattern(Regex);

/// What is wrong with an expression, in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PatternError(String);

impl Pattern {
    /// Reads an expression. `^` and `$` stand for the ends of a line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(expression: &str, case_sensitive: bool) -> Result<Pattern, PatternError> {
        let built = RegexBuilder::new(expression)
            .case_insensitive(!case_sensitive)
            .multi_line(true)
            .size_limit(MAX_SIZE)
            .dfa_size_limit(MAX_SIZE)
            .build();
        built.map(Pattern).map_err(|error| {
            let text = match error {
                regex::Error::CompiledTooBig(_) => {
                    "it takes too much memory; make it shorter".to_owned()
                }
                other => other.to_string(),
            };
            let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
            PatternError(last.trim().trim_start_matches("error: ").to_owned())
        })
    }

    /// Whether the text holds a match.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// Where the matches in a text start and end, in bytes.
    pub fn matches<'t>(
        &self,
        text: &'t str,
    ) -> impl Iterator<Item = std::ops::Range<usize>> + use<'_, 't> {
        self.0.find_iter(text).map(|found| found.range())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_read_or_refused_in_one_line() {
        let pattern = Pattern::new("^mem(cpy|set)$", false).expect("an expression");
        assert!(pattern.is_in("a\nMEMCPY\nb") && !pattern.is_in("xmemcpy"));
        assert_eq!(pattern.matches("memset\nmemcpy").collect::<Vec<_>>(), [0..6, 7..13]);
        assert!(!Pattern::new("a", true).expect("an expression").is_in("A"));
        for (bad, why) in
            [("(", "unclosed group"), ("(a)\\1", "backreferences"), ("(?=a)", "look-around")]
        {
            let fault = Pattern::new(bad, true).expect_err("is refused").to_string();
            assert!(fault.contains(why) && !fault.contains('\n'), "{fault}");
        }
        let huge = Pattern::new("(a{1000}){1000}", true).expect_err("is refused").to_string();
        assert!(huge.contains("memory"), "{huge}");
    }
}
