//! Processor time and peak memory of this process, as the kernel counts them.

use std::time::Duration;

use anyhow::{Context, Result};

/// Kernel clock ticks a second in `/proc/PID/stat`; fixed on Linux.
const TICKS: u64 = 100;

/// Processor time used so far by all threads, in steps of 10 ms.
pub fn processor_time() -> Result<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    parse_processor_time(&stat).context("/proc/self/stat has another form")
}

fn parse_processor_time(stat: &str) -> Option<Duration> {
    // The second field is the name in brackets and may hold anything.
    let after_name = stat.get(stat.rfind(')')? + 1..)?;
    let mut fields = after_name.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(Duration::from_millis((user + system) * 1000 / TICKS))
}

/// Most memory that was resident at once, in bytes.
pub fn peak_memory() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    parse_peak_memory(&status).context("/proc/self/status has no VmHWM")
}

fn parse_peak_memory(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_confuse() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 150 25 0 0";
        assert_eq!(parse_processor_time(stat), Some(Duration::from_millis(1750)));
    }

    #[test]
    fn peak_memory_is_in_bytes() {
        assert_eq!(parse_peak_memory("Name: x\nVmHWM:\t    2048 kB\n"), Some(2 << 20));
        assert_eq!(parse_peak_memory("Name: x\n"), None);
    }

    #[test]
    fn this_process_has_a_cost() {
        assert!(peak_memory().expect("VmHWM") > 1 << 20);
        processor_time().expect("times");
    }
}
