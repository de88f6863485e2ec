use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// The longest wait that an answer can ask for.
const CAP: Duration = Duration::from_secs(24 * 3_600);

/// How long an answer asks to wait, in seconds or until a date, at most a day; `None` if it asks for no wait.
///
/// Source: RFC 9110, section 10.2.3.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let asked = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) if is_number(text) => CAP,
        Err(_) => httpdate::parse_http_date(text).ok()?.duration_since(now).ok()?,
    };
    (!asked.is_zero()).then(|| asked.min(CAP))
}

/// Whether it is a number of seconds, however large.
fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn asked(text: &str) -> Option<u64> {
        let headers: HeaderMap = [(RETRY_AFTER, text.parse().unwrap())].into_iter().collect();
        // Sun, 06 Nov 1994 08:49:37 GMT
        let now = UNIX_EPOCH + Duration::from_secs(784_111_777);
        retry_after(&headers, now).map(|wait| wait.as_secs())
    }

    #[test]
    fn reads_seconds_and_dates_up_to_a_day() {
        assert_eq!(asked("120"), Some(120));
        assert_eq!(asked("Sun, 06 Nov 1994 08:51:37 GMT"), Some(120));
        assert_eq!(asked("Sunday, 06-Nov-94 08:51:37 GMT"), Some(120));
        for long in ["86401", "99999999999999999999999999", "Tue, 06 Nov 2001 08:51:37 GMT"] {
            assert_eq!(asked(long), Some(86_400), "{long}");
        }
    }

    #[test]
    fn what_asks_for_no_wait_leaves_it_to_the_policy() {
        for none in
            ["0", "", "soon", "-1", "1.5", "Sun, 06 Nov 1994 08:49:37 GMT", "Sat, 05 Nov 1994 08:49:37 GMT"]
        {
            assert_eq!(asked(none), None, "{none}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), UNIX_EPOCH), None);
    }
}
