//! How long to wait and how much to take.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The limits of one run.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Longest silence while waiting for an answer.
    pub idle: Duration,
    /// Longest time for an answer, silence or not.
    pub total: Duration,
    /// Longest message that is read.
    pub max_message: usize,
    /// Most messages that may come instead of an answer.
    pub max_unrelated: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            idle: Duration::from_secs(30),
            total: Duration::from_secs(60),
            max_message: 256 << 20,
            max_unrelated: 20_000,
        }
    }
}

impl Limits {
    /// Time for opening a connection.
    pub fn connect(&self) -> Duration {
        self.idle.min(Duration::from_secs(10))
    }

    /// As printed beside results.
    pub fn describe(&self) -> String {
        format!("idle {} / total {}", seconds(self.idle), seconds(self.total))
    }
}

/// A duration as people write it.
pub fn seconds(time: Duration) -> String {
    let millis = time.as_millis();
    match millis {
        0 => format!("{} us", time.as_micros()),
        1..1000 => format!("{millis} ms"),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

/// Reads `5`, `5s`, `500ms`, `2m`.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: f64 = digits.parse().map_err(|_| format!("{text:?} is no time span"))?;
    let factor = match &text[digits.len()..] {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" => 60.0,
        unit => return Err(format!("unknown unit {unit:?}; use ms, s or m")),
    };
    let seconds = number * factor;
    if !(0.001..=86_400.0).contains(&seconds) {
        return Err(format!("{text:?} is out of range"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// When bytes last arrived; shared between a connection and who waits on it.
#[derive(Debug, Clone)]
pub struct Activity {
    start: Instant,
    last: Arc<AtomicU64>,
}

impl Default for Activity {
    fn default() -> Self {
        Activity { start: Instant::now(), last: Arc::default() }
    }
}

impl Activity {
    /// Something arrived.
    pub fn touch(&self) {
        self.last.store(self.start.elapsed().as_micros() as u64, Ordering::Relaxed);
    }

    /// When something last arrived.
    pub fn last(&self) -> Instant {
        self.start + Duration::from_micros(self.last.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_spans() {
        assert_eq!(parse_duration("5"), Ok(Duration::from_secs(5)));
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_duration("1.5m"), Ok(Duration::from_secs(90)));
        assert!(parse_duration("0").is_err());
        assert!(parse_duration("5h").is_err());
        assert!(parse_duration("-1").is_err());
    }
}
