//! Wall clock times as text.

use std::time::{SystemTime, UNIX_EPOCH};

/// The time now, RFC 3339 in UTC with milliseconds.
pub fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format(since.as_secs(), since.subsec_millis())
}

fn format(seconds: u64, millis: u32) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days as i64);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{millis:03}Z",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

/// Days since 1970 to a date of the Gregorian calendar, by eras of 400 years.
fn civil(days: i64) -> (i64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year + era * 400 + i64::from(month <= 2), month as u64, day as u64)
}

#[cfg(test)]
mod tests {
    #[test]
    fn dates_are_right() {
        assert_eq!(super::format(0, 0), "1970-01-01T00:00:00.000Z");
        assert_eq!(super::format(951_827_696, 5), "2000-02-29T12:34:56.005Z");
        assert_eq!(super::format(1_785_283_199, 999), "2026-07-28T23:59:59.999Z");
    }
}
