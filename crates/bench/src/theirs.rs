//! Facts as Ghidra's dumps state them.

use anyhow::Result;
use testkit::truth::{ProgramDump, Sample};

use crate::category::{Category, Facts, plain_address};

/// The facts of one category in a dump; text is compared elsewhere.
pub fn facts(sample: &Sample, dump: &ProgramDump, category: Category) -> Result<Facts> {
    let in_memory = || dump.functions.iter().filter(|function| !function.external);
    Ok(match category {
        Category::Blocks => blocks(dump),
        Category::Instructions => instructions(sample)?,
        Category::Functions => in_memory().map(|f| plain_address(&f.entry)).collect(),
        Category::Names => in_memory()
            .map(|f| format!("{} {}::{}", plain_address(&f.entry), f.namespace, f.name))
            .collect(),
        Category::Bodies => in_memory().flat_map(|f| bodies(&f.entry, &f.body)).collect(),
        Category::NoReturn => {
            in_memory().filter(|f| f.noreturn).map(|f| plain_address(&f.entry)).collect()
        }
        Category::Symbols => dump
            .symbols
            .iter()
            .map(|s| format!("{} {} {}", plain_address(&s.address), s.name, s.kind))
            .collect(),
        Category::References => dump
            .references
            .iter()
            .map(|r| format!("{} {} {}", plain_address(&r.from), plain_address(&r.to), r.kind))
            .collect(),
        Category::Data => dump
            .data
            .iter()
            .map(|d| format!("{} {} {}", plain_address(&d.address), d.data_type, d.length))
            .collect(),
        Category::Strings => dump
            .strings
            .iter()
            .map(|s| format!("{} {}", plain_address(&s.address), s.length))
            .collect(),
        Category::Text | Category::TextButNames | Category::Explained => Facts::new(),
    })
}

fn blocks(dump: &ProgramDump) -> Facts {
    let mut rows = Facts::new();
    for block in &dump.memory_blocks {
        rows.push(format!(
            "{} {}-{} {} {}",
            block.name,
            plain_address(&block.start),
            plain_address(&block.end),
            block.perms,
            if block.initialized { "initialized" } else { "uninitialized" },
        ));
    }
    rows
}

fn bodies(entry: &str, body: &[String]) -> Vec<String> {
    let entry = plain_address(entry);
    let row = |range: &String| {
        let (start, end) = range.rsplit_once('-').unwrap_or((range, range));
        format!("{entry} {}-{}", plain_address(start), plain_address(end))
    };
    body.iter().map(row).collect()
}

fn instructions(sample: &Sample) -> Result<Facts> {
    let listing = sample.listing()?;
    Ok(listing.iter().map(|i| format!("{} {}", plain_address(&i.address), i.bytes.len())).collect())
}
