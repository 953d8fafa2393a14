//! The scores that were reached once and may not be lost: a file of totals that
//! only rises.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result};

use crate::category::Category;
use crate::score::Tally;

/// Precision and recall, in hundredths of a percent, by category title.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Floor {
    rows: BTreeMap<String, (u32, u32)>,
}

impl Floor {
    /// Reads the file's text: `title = precision recall`, `#` for notes.
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
        let mut losses = Vec::new();
        for (category, tally) in totals {
            let title = category.title();
            let (precision, recall) = self.rows.get(title).copied().unwrap_or_default();
            let now = hundredths(tally);
            for (what, now, floor) in [("precision", now.0, precision), ("recall", now.1, recall)] {
                if now < floor {
                    losses.push(format!(
                        "{title}: {what} fell from {} to {}",
                        show(floor),
                        show(now)
                    ));
                }
            }
        }
        losses
    }

    /// Raises every row to what was reached; nothing falls.
    pub fn raise(&mut self, totals: &[(Category, Tally)]) {
        for (category, tally) in totals {
            let row = self.rows.entry(category.title().to_owned()).or_default();
            let now = hundredths(tally);
            *row = (row.0.max(now.0), row.1.max(now.1));
        }
    }

    /// The file's text.
    pub fn print(&self) -> String {
        let mut text = String::from(
            "# Totals over all samples that may not be lost: precision and recall in percent.\n\
             # Raise them with: UPDATE_FLOOR=1 cargo test -p bench --test floor\n",
        );
        for (title, (precision, recall)) in &self.rows {
            let _ = writeln!(text, "{title} = {} {}", show(*precision), show(*recall));
        }
        text
    }
}

/// Cut, not rounded, so that what was reached is never more than what was.
fn hundredths(tally: &Tally) -> (u32, u32) {
    let cut = |share: f64| (share * 10000.0).floor() as u32;
    (cut(tally.precision()), cut(tally.recall()))
}

fn show(hundredths: u32) -> String {
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

fn parse_row(line: &str) -> Option<(String, (u32, u32))> {
    let (title, shares) = line.split_once('=')?;
    let (precision, recall) = shares.trim().split_once(' ')?;
    Some((title.trim().to_owned(), (parse_share(precision)?, parse_share(recall)?)))
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
        vec![(Category::Text, Tally { shared, ours: 1000, theirs: 2000 })]
    }

    #[test]
    fn the_floor_only_rises() {
        let mut floor = Floor::default();
        assert!(floor.losses(&totals(0)).is_empty());
        floor.raise(&totals(505));
        assert!(floor.print().ends_with("C text = 50.50 25.25\n"), "{}", floor.print());
        assert_eq!(Floor::parse(&floor.print()).expect("its own text"), floor);
        assert!(floor.losses(&totals(505)).is_empty());
        assert_eq!(floor.losses(&totals(504)).len(), 2);
        let before = floor.clone();
        floor.raise(&totals(3));
        assert_eq!(floor, before);
    }

    #[test]
    fn broken_rows_are_refused() {
        assert!(Floor::parse("refs = 1.00").is_err());
        assert!(Floor::parse("refs = 101.00 1.00").is_err());
        assert!(Floor::parse("# note\n\nrefs = 1.00 2.50\n").is_ok());
    }
}
