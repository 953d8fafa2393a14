//! The request log: one line per request, safe to print on a terminal, never
//! with headers, bodies or tokens.

use crate::config::LogTarget;
use jsonrpc::Id;
use parking_lot::Mutex;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Where request lines go.
pub struct RequestLog(Option<Mutex<Box<dyn Write + Send>>>);

/// What an MCP line says beside the time.
#[derive(Debug, Default)]
pub(crate) struct Line<'a> {
    pub id: Option<&'a Id>,
    pub method: Option<&'a str>,
    pub tool: Option<&'a str>,
    pub ok: bool,
    pub status: u16,
    pub elapsed: Duration,
}

impl RequestLog {
    /// Opens the log.
    pub fn open(target: &LogTarget) -> io::Result<RequestLog> {
        let out: Box<dyn Write + Send> = match target {
            LogTarget::Off => return Ok(RequestLog(None)),
            LogTarget::Stderr => Box::new(io::stderr()),
            LogTarget::File(path) => {
                Box::new(std::fs::OpenOptions::new().create(true).append(true).open(path)?)
            }
        };
        Ok(RequestLog(Some(Mutex::new(out))))
    }

    pub(crate) fn websocket(
        &self,
        id: Option<&Id>,
        method: &str,
        failed: Option<u16>,
        elapsed: Duration,
    ) {
        let line = Line {
            id,
            method: Some(method),
            ok: failed.is_none(),
            status: failed.unwrap_or(200),
            elapsed,
            tool: None,
        };
        self.write("ghidra-bridge", &line);
    }

    pub(crate) fn mcp(&self, line: &Line<'_>) {
        self.write("ghidra-mcp", line);
    }

    fn write(&self, source: &str, line: &Line<'_>) {
        let Some(out) = &self.0 else { return };
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let text = render(since, source, line);
        // A full disk must not stop the service.
        let _ = out.lock().write_all(text.as_bytes());
    }
}

fn render(since: Duration, source: &str, line: &Line<'_>) -> String {
    let dash = || "-".to_owned();
    format!(
        "[{}] [{source}] id={} {} {} {} {} {}ms\n",
        timestamp(since),
        line.id.map_or_else(dash, |id| one_line(&id.to_string())),
        line.method.map_or_else(dash, one_line),
        line.tool.map_or_else(dash, one_line),
        if line.ok { "ok" } else { "error" },
        line.status,
        line.elapsed.as_millis(),
    )
}

/// Escapes whatever could break the line or a terminal, and cuts what is long.
fn one_line(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().take(160) {
        match c {
            '\\' => out.push_str("\\\\"),
            '\r' => out.push_str("\\r"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// ISO 8601 in UTC, to the millisecond.
fn timestamp(since: Duration) -> String {
    let seconds = since.as_secs();
    let (year, month, day) = date(seconds / 86_400);
    let rest = seconds % 86_400;
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        rest / 3600,
        rest / 60 % 60,
        rest % 60,
        since.subsec_millis()
    )
}

/// Days since 1970 as a date: counted in 400-year cycles that begin in March,
/// so that the leap day is the last of its year.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (cycle, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (cycle * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates() {
        let rows = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199, "2024-02-29T23:59:59.000Z"),
            (1_709_251_200, "2024-03-01T00:00:00.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ];
        for (seconds, text) in rows {
            assert_eq!(timestamp(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn lines_stay_lines() {
        let id = Id::Text("a\nb\u{1b}[31m\u{2028}\\".into());
        let line = Line {
            id: Some(&id),
            method: Some("tools/call"),
            tool: Some("ghidra.help"),
            ok: true,
            status: 200,
            elapsed: Duration::from_millis(7),
        };
        assert_eq!(
            render(Duration::ZERO, "ghidra-mcp", &line),
            "[1970-01-01T00:00:00.000Z] [ghidra-mcp] id=a\\nb\\u001b[31m\\u2028\\\\ tools/call \
             ghidra.help ok 200 7ms\n"
        );
        assert!(render(Duration::ZERO, "s", &Line::default()).contains("id=- - - error 0 0ms"));
    }
}
