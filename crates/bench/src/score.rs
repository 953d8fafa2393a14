//! Comparing two lists of facts.

use std::cmp::Ordering;
use std::ops::AddAssign;

use crate::category::Facts;

/// How well two lists of facts agree. Tallies of several programs add up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Facts that both have.
    pub shared: u64,
    /// Facts that we have.
    pub ours: u64,
    /// Facts that Ghidra has.
    pub theirs: u64,
}

impl Tally {
    /// Share of our facts that are right. Saying nothing is right only when
    /// there is nothing to say.
    pub fn precision(&self) -> f64 {
        if self.ours == 0 { self.recall() } else { share(self.shared, self.ours) }
    }

    /// Share of Ghidra's facts that we have, 1 when it states none.
    pub fn recall(&self) -> f64 {
        share(self.shared, self.theirs)
    }

    /// Harmonic mean of both.
    pub fn f1(&self) -> f64 {
        share(2 * self.shared, self.ours + self.theirs)
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.shared += other.shared;
        self.ours += other.ours;
        self.theirs += other.theirs;
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

/// Two lists of facts laid side by side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The counts.
    pub tally: Tally,
    /// Facts that only Ghidra has, in order.
    pub missing: Facts,
    /// Facts that only we have, in order.
    pub extra: Facts,
}

/// Compares as multisets: a fact stated twice must be there twice.
pub fn compare(mut ours: Facts, mut theirs: Facts) -> Comparison {
    ours.sort_unstable();
    theirs.sort_unstable();
    let mut result = Comparison {
        tally: Tally { shared: 0, ours: ours.len() as u64, theirs: theirs.len() as u64 },
        ..Comparison::default()
    };
    let mut ours = ours.into_iter().peekable();
    let mut theirs = theirs.into_iter().peekable();
    while let (Some(our), Some(their)) = (ours.peek(), theirs.peek()) {
        match our.cmp(their) {
            Ordering::Equal => {
                result.tally.shared += 1;
                ours.next();
                theirs.next();
            }
            Ordering::Less => result.extra.extend(ours.next()),
            Ordering::Greater => result.missing.extend(theirs.next()),
        }
    }
    result.extra.extend(ours);
    result.missing.extend(theirs);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Facts {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn multisets_are_compared() {
        let result = compare(rows("b a a d"), rows("a b c c"));
        assert_eq!(result.tally, Tally { shared: 2, ours: 4, theirs: 4 });
        assert_eq!(result.extra, rows("a d"));
        assert_eq!(result.missing, rows("c c"));
    }

    #[test]
    fn shares_stay_within_bounds() {
        assert_eq!(Tally::default().f1(), 1.0);
        let none = Tally { shared: 0, ours: 0, theirs: 3 };
        assert_eq!((none.precision(), none.recall(), none.f1()), (0.0, 0.0, 0.0));
        let half = Tally { shared: 1, ours: 2, theirs: 2 };
        assert_eq!(half.f1(), 0.5);
    }
}
