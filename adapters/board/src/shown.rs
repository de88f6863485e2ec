//! How numbers and durations are written on pages.

use std::time::Duration;

/// A count with its thousands apart, such as `12,345`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A duration by its two largest units, such as `3h 12m`.
pub(crate) fn span(duration: Duration) -> String {
    if duration < Duration::from_secs(1) {
        return format!("{}ms", duration.as_millis());
    }
    let whole = humantime::format_duration(Duration::from_secs(duration.as_secs())).to_string();
    whole.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(
            [count(0), count(999), count(1_000), count(1_234_567)],
            ["0", "999", "1,000", "1,234,567"]
        );
        let span = |millis| span(Duration::from_millis(millis));
        assert_eq!(
            [span(0), span(999), span(61_500), span(90_061_000)],
            ["0ms", "999ms", "1m 1s", "1day 1h"]
        );
    }
}
