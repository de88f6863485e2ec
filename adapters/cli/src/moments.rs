use std::time::{Duration, SystemTime, UNIX_EPOCH};

use claimstream_ports::{StoreError, notification::MessageRepository};
use humantime::format_rfc3339_millis;

/// Turns durations into moments by the store's clock, as RFC 3339 writes them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    now: SystemTime,
}

impl Moments {
    /// By the clock of this store.
    pub(crate) async fn of(store: &impl MessageRepository) -> Result<Self, StoreError> {
        Ok(Self { now: UNIX_EPOCH + store.since_1970().await? })
    }

    /// The present moment.
    pub(crate) fn now(self) -> String {
        self.ahead(Duration::ZERO)
    }

    /// The moment so long ago.
    pub(crate) fn ago(self, duration: Duration) -> String {
        written(self.now.checked_sub(duration))
    }

    /// The moment that is so far ahead; moments beyond the year 9999 are its end.
    pub(crate) fn ahead(self, duration: Duration) -> String {
        written(self.now.checked_add(duration))
    }
}

/// The last second that RFC 3339 can write.
const LAST: Duration = Duration::from_secs(253_402_300_799);

fn written(moment: Option<SystemTime>) -> String {
    let end = UNIX_EPOCH + LAST;
    format_rfc3339_millis(moment.unwrap_or(end).clamp(UNIX_EPOCH, end)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_in_utc_and_never_beyond_what_can_be_written() {
        let moments = Moments { now: UNIX_EPOCH + Duration::from_millis(86_400_250) };
        assert_eq!(moments.now(), "1970-01-02T00:00:00.250Z");
        assert_eq!(moments.ago(Duration::from_secs(1)), "1970-01-01T23:59:59.250Z");
        assert_eq!(moments.ago(Duration::from_secs(86_401)), "1970-01-01T00:00:00.000Z");
        assert_eq!(moments.ahead(Duration::MAX), "9999-12-31T23:59:59.000Z");
    }
}
