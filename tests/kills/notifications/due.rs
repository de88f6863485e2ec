use claimstream_domain::notification::NotificationRequest;

/// When a request that was committed at `submitted` is to be delivered, both in microseconds since 1970.
pub(crate) fn due(request: &NotificationRequest, submitted: u64) -> u64 {
    let delay = request.delay_ms.unwrap_or(0).saturating_mul(1000);
    let scheduled = request.scheduled_at.and_then(|at| u64::try_from(at.as_micros()).ok());
    submitted.saturating_add(delay).max(scheduled.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use claimstream_domain::Timestamp;

    use super::*;
    use crate::load::generated;

    #[test]
    fn a_request_is_due_at_once_or_after_its_delay_or_at_its_time_if_that_is_to_come() {
        let now = 1_000_000;
        let scheduled = |at| Some(Timestamp::from_micros(at).unwrap());
        let request = || generated(1);
        assert_eq!(due(&request(), now), now);
        assert_eq!(due(&NotificationRequest { delay_ms: Some(3), ..request() }, now), now + 3_000);
        assert_eq!(due(&NotificationRequest { delay_ms: Some(u64::MAX), ..request() }, now), u64::MAX);
        assert_eq!(
            due(&NotificationRequest { scheduled_at: scheduled(9_000_000), ..request() }, now),
            9_000_000
        );
        assert_eq!(due(&NotificationRequest { scheduled_at: scheduled(7), ..request() }, now), now);
    }
}
