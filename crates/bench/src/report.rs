//! Scores of samples as a table.

use std::fmt::Write;
use std::time::Duration;

use crate::category::Category;
use crate::score::Tally;

/// The scores of one sample.
#[derive(Debug, Clone)]
pub struct Scored {
    /// The sample's name.
    pub name: String,
    /// A tally a category, in the order asked for.
    pub tallies: Vec<(Category, Tally)>,
    /// Wall time of opening and analysing it.
    pub elapsed: Duration,
    /// Why it could not be opened or analysed.
    pub failure: Option<String>,
}

/// Sums of all samples, a category each.
pub fn totals(samples: &[Scored]) -> Vec<(Category, Tally)> {
    let mut sums: Vec<(Category, Tally)> = Vec::new();
    for (category, tally) in samples.iter().flat_map(|sample| &sample.tallies) {
        match sums.iter_mut().find(|(known, _)| known == category) {
            Some((_, sum)) => *sum += *tally,
            None => sums.push((*category, *tally)),
        }
    }
    sums
}

/// Sums of the functions' entries, of the samples that kept their symbols and of those that were
/// stripped: finding a function is another task where no symbol names it.
pub fn functions_by_symbols(samples: &[Scored]) -> [(&'static str, Tally); 2] {
    let mut sums = [("with symbols", Tally::default()), ("stripped", Tally::default())];
    for sample in samples {
        let stripped = usize::from(sample.name.contains(".stripped"));
        for (_, tally) in sample.tallies.iter().filter(|(c, _)| *c == Category::Functions) {
            sums[stripped].1 += *tally;
        }
    }
    sums
}

/// One row a sample with precision and recall, then the totals with F1.
pub fn table(samples: &[Scored]) -> String {
    let mut text = String::new();
    let width = samples.iter().map(|sample| sample.name.len()).max().unwrap_or(0).max(8);
    let categories: Vec<Category> = totals(samples).iter().map(|(c, _)| *c).collect();
    let _ = write!(text, "{:width$}", "sample");
    for category in &categories {
        let _ = write!(text, " {:>11}", category.title());
    }
    text.push_str("      ms\n");
    for sample in samples {
        let _ = write!(text, "{:width$}", sample.name);
        for (category, tally) in &sample.tallies {
            let _ = write!(text, " {:>11}", cell(*category, tally));
        }
        let _ = write!(text, " {:7}", sample.elapsed.as_millis());
        match &sample.failure {
            Some(reason) => {
                let _ = writeln!(text, "  FAILED: {reason}");
            }
            None => text.push('\n'),
        }
    }
    text.push_str("(each cell: precision/recall in percent)\n\n");
    text.push_str(&summary(samples));
    text
}

/// The totals alone.
fn summary(samples: &[Scored]) -> String {
    let mut text = format!(
        "{:12} {:>10} {:>8} {:>7} {:>8} {:>8} {:>8}\n",
        "total", "precision", "recall", "F1", "shared", "ours", "Ghidra's"
    );
    let mut rows: Vec<(&str, Tally)> = Vec::new();
    for (category, tally) in totals(samples) {
        rows.push((category.title(), tally));
        if category == Category::Functions {
            rows.extend(functions_by_symbols(samples));
        }
    }
    for (title, tally) in rows {
        let _ = writeln!(
            text,
            "{:12} {:>10} {:>8} {:>7} {:>8} {:>8} {:>8}",
            title,
            percent(tally.precision()),
            percent(tally.recall()),
            percent(tally.f1()),
            tally.shared,
            tally.ours,
            tally.theirs,
        );
    }
    text
}

fn cell(category: Category, tally: &Tally) -> String {
    match category {
        // Every function of Ghidra's counts; ours beside it is no error of text.
        Category::Text | Category::TextButNames | Category::Explained => percent(tally.recall()),
        _ => format!("{}/{}", percent(tally.precision()), percent(tally.recall())),
    }
}

/// A share in percent, cut rather than rounded: 100 means all of it.
pub fn percent(share: f64) -> String {
    if share >= 1.0 {
        return "100".into();
    }
    format!("{:.1}", (share * 1000.0).floor() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearly_all_is_not_all() {
        assert_eq!(percent(1.0), "100");
        assert_eq!(percent(0.99999), "99.9");
        assert_eq!(percent(0.0), "0.0");
    }

    #[test]
    fn stripped_samples_are_summed_apart() {
        let sample = |name: &str, shared| Scored {
            name: name.into(),
            tallies: vec![(Category::Functions, Tally { shared, ours: 4, theirs: 5 })],
            elapsed: Duration::ZERO,
            failure: None,
        };
        let samples = [sample("a.x64.O2", 1), sample("a.x64.O2.stripped.exe", 2)];
        let shared = functions_by_symbols(&samples).map(|(_, tally)| tally.shared);
        assert_eq!(shared, [1, 2]);
    }

    #[test]
    fn totals_add_up_over_samples() {
        let sample = |shared| Scored {
            name: "a".into(),
            tallies: vec![(Category::Blocks, Tally { shared, ours: 4, theirs: 5 })],
            elapsed: Duration::ZERO,
            failure: None,
        };
        let sums = totals(&[sample(1), sample(2)]);
        assert_eq!(sums, [(Category::Blocks, Tally { shared: 3, ours: 8, theirs: 10 })]);
        let text = table(&[sample(4)]);
        assert!(text.contains("100/80.0"), "{text}");
    }
}
