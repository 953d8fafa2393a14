//! Reading recordings back.

use super::{Entry, FORMAT, Side};
use crate::json::{self, Json};
use crate::message::{Kind, Message};
use std::path::Path;

/// A recording that was read.
#[derive(Debug, Clone)]
pub struct Recording {
    /// What was recorded, from the first line.
    pub target: Json,
    /// Everything else.
    pub entries: Vec<Entry>,
    /// Lines that could not be read.
    pub broken_lines: usize,
    /// Where in `entries` another connection begins: a file may hold several
    /// runs, one after the other.
    pub starts: Vec<usize>,
}

/// One request with what was answered to it.
#[derive(Debug, Clone)]
pub struct Pair<'a> {
    /// The request.
    pub request: &'a Entry,
    /// Its answer.
    pub answer: Option<&'a Entry>,
}

impl Pair<'_> {
    /// Time to the answer, in microseconds.
    pub fn duration_us(&self) -> Option<u64> {
        self.answer.map(|answer| answer.mono_us.saturating_sub(self.request.mono_us))
    }
}

/// Reads a file, if its first line says that it is a recording.
pub fn read_recording(path: &Path) -> Result<Option<Recording>, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let Some(first) = lines.clone().next().and_then(|line| json::parse(line).ok()) else {
        return Ok(None);
    };
    if Entry::from_json(&first).is_none() {
        return Ok(None);
    }
    let mut recording =
        Recording { target: Json::Null, entries: Vec::new(), broken_lines: 0, starts: Vec::new() };
    lines.by_ref().for_each(|line| recording.add(line));
    Ok(Some(recording))
}

impl Recording {
    fn add(&mut self, line: &[u8]) {
        let Some(mut entry) = json::parse(line).ok().as_ref().and_then(Entry::from_json) else {
            self.broken_lines += 1;
            return;
        };
        if entry.note.as_deref() == Some("start") {
            if let Ok(about) = json::parse(&entry.raw)
                && about.text_at("format") == Some(FORMAT)
            {
                self.target = about.get("target").cloned().unwrap_or_default();
            }
            self.starts.push(self.entries.len());
            return;
        }
        // Numbers begin again with each run; here they must be unique.
        entry.seq = self.entries.len() as u64 + 1;
        self.entries.push(entry);
    }

    /// Messages that one side sent, read.
    pub fn messages(&self, side: Side) -> impl Iterator<Item = (&Entry, Message)> {
        self.entries
            .iter()
            .filter(move |entry| entry.side == side && !entry.is(Kind::SideLog))
            .map(|entry| (entry, Message::read(entry.raw.clone())))
    }

    /// Requests of either side in order, each with the next answer of the other
    /// side that has its id.
    pub fn pairs(&self) -> Vec<Pair<'_>> {
        let mut pairs: Vec<Pair<'_>> = Vec::new();
        let mut open: std::collections::HashMap<(bool, String), Vec<usize>> = Default::default();
        for (index, entry) in self.entries.iter().enumerate() {
            if self.starts.contains(&index) {
                open.clear();
            }
            let Some(id) = entry.id.as_ref().map(Json::to_string) else {
                continue;
            };
            let of_client = entry.side == Side::Client;
            if entry.is(Kind::Request) {
                open.entry((of_client, id)).or_default().push(pairs.len());
                pairs.push(Pair { request: entry, answer: None });
            } else if (entry.is(Kind::Response) || entry.is(Kind::Error))
                && let Some(waiting) = open.get_mut(&(!of_client, id))
                && !waiting.is_empty()
            {
                let index = waiting.remove(0);
                pairs[index].answer = Some(entry);
            }
        }
        pairs
    }
}
