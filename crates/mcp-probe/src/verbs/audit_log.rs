//! `audit-log`: recordings searched and summed up. Five things of each exchange:
//! direction, id and method, duration, error or not, summary.

use crate::cli::AuditArgs;
use crate::client::clip;
use crate::finding::Severity;
use crate::json::Json;
use crate::message::{Kind, Message};
use crate::obj;
use crate::run::{Exit, Failure, Run};
use crate::screen::{Screen, count, progress};
use crate::trail::{Recording, read_recording};
use std::collections::BTreeMap;

/// Searches and sums up.
pub fn run(args: &AuditArgs, run: &Run) -> Result<Exit, Failure> {
    let bar = progress(args.recordings.len() as u64, "recordings");
    let mut rows = Vec::new();
    let mut notes = 0;
    for path in &args.recordings {
        let recording =
            read_recording(path)?.ok_or(format!("{} is no recording", path.display()))?;
        let name = path
            .file_stem()
            .map_or_else(|| path.display().to_string(), |stem| stem.to_string_lossy().into_owned());
        notes += recording.entries.iter().filter(|entry| entry.is(Kind::Notification)).count();
        rows.extend(read(&name, &recording));
        bar.inc(1);
    }
    bar.finish_and_clear();
    rows.retain(|row| row.passes(args));
    if let Some(most) = args.slowest {
        rows.sort_by_key(|row| std::cmp::Reverse(row.duration_us));
        rows.truncate(most);
    }
    let failed = rows.iter().filter(|row| row.is_error).count();
    match (args.servers, args.methods) {
        (true, _) => show_groups(run, "server", &group(&rows, |row| row.server.clone()))?,
        (_, true) => show_groups(run, "method", &group(&rows, |row| row.method.clone()))?,
        _ => show_rows(run, &rows, notes)?,
    }
    Ok(Exit::found(failed > 0))
}

struct Row {
    server: String,
    wall: String,
    direction: &'static str,
    id: String,
    method: String,
    duration_us: Option<u64>,
    is_error: bool,
    summary: String,
    text: String,
}

impl Row {
    fn passes(&self, args: &AuditArgs) -> bool {
        args.method.as_ref().is_none_or(|method| *method == self.method)
            && args.direction.as_ref().is_none_or(|direction| *direction == self.direction)
            && (!args.errors || self.is_error)
            && args.grep.as_ref().is_none_or(|text| self.text.contains(text.as_str()))
    }

    fn to_json(&self) -> Json {
        obj! { "server": &self.server, "wall": &self.wall, "direction": self.direction, "id": &self.id, "method": &self.method }
            .with("ms", self.duration_us.map(|us| us as f64 / 1000.0))
            .with("error", self.is_error)
            .with("summary", &self.summary)
    }
}

fn read(server: &str, recording: &Recording) -> Vec<Row> {
    let pairs = recording.pairs();
    pairs
        .iter()
        .map(|pair| {
            let answer = pair.answer.map(|answer| Message::read(answer.raw.clone()));
            let (is_error, said) = judge(answer.as_ref());
            let request = pair.request.text();
            let mut text = request.to_string();
            if let Some(answer) = pair.answer {
                text.push_str(&answer.text());
            }
            let id = pair.request.id.as_ref().map(Json::to_string).unwrap_or_default();
            Row {
                server: server.into(),
                wall: pair.request.wall.clone(),
                direction: pair.request.side.name(),
                id,
                method: pair.request.method.clone().unwrap_or_default(),
                duration_us: pair.duration_us(),
                is_error,
                summary: said,
                text,
            }
        })
        .collect()
}

fn judge(answer: Option<&Message>) -> (bool, String) {
    let Some(answer) = answer else { return (true, "no answer".into()) };
    if let Some(error) = answer.json.get("error") {
        let code = error.get("code").map(Json::to_string).unwrap_or_default();
        return (
            true,
            format!("error {code}: {}", clip(error.text_at("message").unwrap_or_default(), 80)),
        );
    }
    let result = answer.json.get("result").unwrap_or(&Json::Null);
    if result.get("isError").and_then(Json::as_bool) == Some(true) {
        let text = result.text_at("content/0/text").unwrap_or_default();
        return (true, format!("isError: {}", clip(text, 80)));
    }
    let parts: Vec<String> = result
        .members()
        .iter()
        .map(|(name, value)| match value {
            Json::Array(items) => format!("{} {}", items.len(), name.as_str()),
            _ => name.as_str().to_string(),
        })
        .collect();
    (false, clip(&parts.join(", "), 80))
}

struct Group {
    name: String,
    calls: usize,
    errors: usize,
    times: Vec<u64>,
}

impl Group {
    /// The time below which this share of calls stays, by the nearest rank.
    fn percentile(&self, share: f64) -> Option<u64> {
        let rank = (share * self.times.len() as f64).ceil() as usize;
        self.times.get(rank.clamp(1, self.times.len().max(1)) - 1).copied()
    }
}

fn group(rows: &[Row], name: impl Fn(&Row) -> String) -> Vec<Group> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for row in rows {
        let key = name(row);
        let group = groups.entry(key.clone()).or_insert(Group {
            name: key,
            calls: 0,
            errors: 0,
            times: Vec::new(),
        });
        group.calls += 1;
        group.errors += usize::from(row.is_error);
        group.times.extend(row.duration_us);
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.iter_mut().for_each(|group| group.times.sort_unstable());
    groups
}

fn ms(time: Option<u64>) -> String {
    time.map_or("-".into(), |us| format!("{:.2}", us as f64 / 1000.0))
}

fn show_groups(run: &Run, what: &str, groups: &[Group]) -> Result<(), Failure> {
    if run.common.json {
        let row = |group: &Group| {
            let time = |share| group.percentile(share).map(|us| us as f64 / 1000.0);
            obj! { what: &group.name, "calls": group.calls, "errors": group.errors, "p50": time(0.5), "p95": time(0.95), "p99": time(0.99) }
        };
        return run.emit_json(&Json::Array(groups.iter().map(row).collect()));
    }
    let mut screen = run.screen();
    let errors: usize = groups.iter().map(|group| group.errors).sum();
    let worst = (errors > 0).then_some(Severity::Medium);
    screen.verdict(
        worst,
        &format!("{}, {} failed", count(groups.len(), what), count(errors, "exchange")),
    );
    let mut table =
        vec![[what, "calls", "errors", "p50 ms", "p95 ms", "p99 ms"].map(String::from).to_vec()];
    table.extend(groups.iter().map(|group| {
        let time = |share| ms(group.percentile(share));
        vec![
            group.name.clone(),
            group.calls.to_string(),
            group.errors.to_string(),
            time(0.5),
            time(0.95),
            time(0.99),
        ]
    }));
    screen.table(&table);
    run.emit(&screen.finish())
}

fn show_rows(run: &Run, rows: &[Row], notes: usize) -> Result<(), Failure> {
    if run.common.json {
        return run.emit_json(&Json::Array(rows.iter().map(Row::to_json).collect()));
    }
    let mut screen: Screen = run.screen();
    let errors = rows.iter().filter(|row| row.is_error).count();
    let worst = (errors > 0).then_some(Severity::Medium);
    screen.verdict(
        worst,
        &format!(
            "{}, {errors} failed, {} in the recordings",
            count(rows.len(), "exchange"),
            count(notes, "notification")
        ),
    );
    let mut table =
        vec![["time", "from", "id", "method", "ms", "", "summary"].map(String::from).to_vec()];
    table.extend(rows.iter().map(|row| {
        let mark = if row.is_error { "✖" } else { "" };
        vec![
            row.wall.clone(),
            row.direction.into(),
            clip(&row.id, 20),
            row.method.clone(),
            ms(row.duration_us),
            mark.into(),
            row.summary.clone(),
        ]
    }));
    screen.table(&table);
    run.emit(&screen.finish())
}

#[cfg(test)]
mod tests {
    use super::Group;

    #[test]
    fn percentiles_by_nearest_rank() {
        let group = Group { name: String::new(), calls: 0, errors: 0, times: (1..=100).collect() };
        assert_eq!(group.percentile(0.5), Some(50));
        assert_eq!(group.percentile(0.95), Some(95));
        assert_eq!(group.percentile(0.99), Some(99));
        let one = Group { times: vec![7], ..group };
        assert_eq!(one.percentile(0.99), Some(7));
        let none = Group { times: vec![], ..one };
        assert_eq!(none.percentile(0.5), None);
    }
}
