//! Whether two C texts are equal, or equal but for the names of variables.

use std::collections::{BTreeSet, HashMap};

/// How two C texts of one function relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// They say different things.
    Different,
    /// They say the same with other names for some variables.
    EqualButNames,
    /// They are the same text.
    Equal,
}

/// Compares our text with Ghidra's, whose variables are called `variables`.
///
/// Only those names may differ, each always in the same way. White space counts
/// for nothing then, since longer names break lines elsewhere.
pub fn likeness(ours: &str, theirs: &str, variables: &BTreeSet<&str>) -> Likeness {
    if ours.trim() == theirs.trim() {
        return Likeness::Equal;
    }
    let (ours, theirs) = (tokens(ours), tokens(theirs));
    if ours.len() != theirs.len() {
        return Likeness::Different;
    }
    let mut forth: HashMap<&str, &str> = HashMap::new();
    let mut back: HashMap<&str, &str> = HashMap::new();
    for (our, their) in ours.into_iter().zip(theirs) {
        let agree = if variables.contains(their) && is_word(our) {
            *forth.entry(their).or_insert(our) == our && *back.entry(our).or_insert(their) == their
        } else {
            our == their
        };
        if !agree {
            return Likeness::Different;
        }
    }
    Likeness::EqualButNames
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Words, numbers, whole literals and single signs, white space left out.
fn tokens(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' | '\'' => literal_length(rest, first),
            c if is_part(c) => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        found.push(token);
        rest = after.trim_start();
    }
    found
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn literal_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(ours: &str, theirs: &str) -> Likeness {
        likeness(ours, theirs, &BTreeSet::from(["iVar1", "iVar2"]))
    }

    #[test]
    fn outer_white_space_counts_for_nothing() {
        assert_eq!(judge("\nint f(void)\n", "int f(void)"), Likeness::Equal);
        assert_eq!(judge("int  f(void)", "int f(void)"), Likeness::EqualButNames);
    }

    #[test]
    fn variables_may_be_renamed_one_to_one() {
        let theirs = "iVar1 = iVar2 + 1; return iVar1;";
        assert_eq!(judge("x = y + 1;\n return x;", theirs), Likeness::EqualButNames);
        assert_eq!(judge("iVar2 = iVar1 + 1; return iVar2;", theirs), Likeness::EqualButNames);
        assert_eq!(judge("x = y + 1; return y;", theirs), Likeness::Different);
        assert_eq!(judge("x = x + 1; return x;", theirs), Likeness::Different);
        assert_eq!(judge("x = y + 2; return x;", theirs), Likeness::Different);
        assert_eq!(judge("3 = y + 1; return 3;", theirs), Likeness::Different);
    }

    #[test]
    fn functions_and_literals_may_not_differ() {
        assert_eq!(judge("iVar1 = g();", "iVar1 = f();"), Likeness::Different);
        let (ours, theirs) = ("puts(\"a \\\" iVar1\");", "puts(\"a \\\" iVar2\");");
        assert_eq!(judge(ours, theirs), Likeness::Different);
        assert_eq!(judge("puts(\"a  b\");", "puts(\"a b\");"), Likeness::Different);
    }
}
