//! The scores that were reached once and may not be lost: a file of totals that
//! only rises.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result};

use crate::category::Category;
use crate::score::Tally;

/// The score of each category, in hundredths of a percent, by its title.
///
/// The score is F1, since a new pass may well trade a little precision for much
/// recall; for C text it is the share of functions that are right.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Floor {
    rows: BTreeMap<String, u32>,
}

impl Floor {
    /// Reads the file's text: `title = score`, `#` for notes.
    pub fn parse(text: &str) -> Result<Self> {
        let mut rows = BTreeMap::new();
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            let row = parse_row(line).with_context(|| format!("not a row: {line}"))?;
            rows.insert(row.0, row.1);
        }
        Ok(Self { rows })
    }

    /// What fell below the floor, a sentence each.
    pub fn losses(&self, totals: &[(Category, Tally)]) -> Vec<String> {
        self.losses_beyond(totals, 0)
    }

    /// The same, where that many hundredths of a percent may be lost.
    pub fn losses_beyond(&self, totals: &[(Category, Tally)], slack: u32) -> Vec<String> {
        let mut losses = Vec::new();
        for (category, tally) in totals {
            let title = category.title();
            let floor = self.rows.get(title).copied().unwrap_or_default();
            let now = score(*category, tally);
            if now + slack < floor {
                losses.push(format!("{title} fell from {} to {}", show(floor), show(now)));
            }
        }
        losses
    }

    /// Raises every row to what was reached; nothing falls.
    pub fn raise(&mut self, totals: &[(Category, Tally)]) {
        for (category, tally) in totals {
            let row = self.rows.entry(category.title().to_owned()).or_default();
            *row = (*row).max(score(*category, tally));
        }
    }

    /// The file's text.
    pub fn print(&self) -> String {
        let mut text = String::from(
            "# Totals over all samples that may not be lost: F1 (of C text: the share that is\n\
             # equal) in percent.\n\
             # Raise them with: UPDATE_FLOOR=1 cargo test -p bench --test floor\n",
        );
        for (title, score) in &self.rows {
            let _ = writeln!(text, "{title} = {}", show(*score));
        }
        text
    }
}

/// Cut, not rounded, so that what was reached is never more than what was.
fn score(category: Category, tally: &Tally) -> u32 {
    let share = if category.is_text() { tally.recall() } else { tally.f1() };
    (share * 10000.0).floor() as u32
}

fn show(hundredths: u32) -> String {
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

fn parse_row(line: &str) -> Option<(String, u32)> {
    let (title, score) = line.split_once('=')?;
    Some((title.trim().to_owned(), parse_share(score)?))
}

fn parse_share(text: &str) -> Option<u32> {
    let (whole, part) = text.trim().split_once('.')?;
    let (whole, part): (u32, u32) = (whole.parse().ok()?, part.parse().ok()?);
    (whole <= 100 && part < 100).then_some(whole * 100 + part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(shared: u64) -> Vec<(Category, Tally)> {
        let tally = Tally { shared, ours: 1000, theirs: 2000 };
        vec![(Category::Text, tally), (Category::Data, tally)]
    }

    #[test]
    fn the_floor_only_rises() {
        let mut floor = Floor::default();
        assert!(floor.losses(&totals(0)).is_empty());
        floor.raise(&totals(505));
        assert!(floor.print().ends_with("C text = 25.25\ndata = 33.66\n"), "{}", floor.print());
        assert_eq!(Floor::parse(&floor.print()).expect("its own text"), floor);
        assert!(floor.losses(&totals(505)).is_empty());
        assert_eq!(floor.losses(&totals(504)).len(), 2);
        assert_eq!(floor.losses_beyond(&totals(504), 10).len(), 0);
        assert_eq!(floor.losses_beyond(&totals(500), 10).len(), 2);
        let before = floor.clone();
        floor.raise(&totals(3));
        assert_eq!(floor, before);
    }

    #[test]
    fn broken_rows_are_refused() {
        assert!(Floor::parse("refs 1.00").is_err());
        assert!(Floor::parse("refs = 101.00").is_err());
        assert!(Floor::parse("# note\n\nrefs = 2.50\n").is_ok());
    }
}
