use claimstream_domain::notification::{DeliveryStatus, RequestStatus};

/// Whether what became of something is what should have become of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// It is.
    AsExpected,
    /// Something else is recorded, or was seen.
    Wrong,
    /// No recipient was notified and nothing records why.
    Lost,
}

impl Verdict {
    /// Judges a message by what the database says of it and by whether its delivery was seen.
    pub(crate) fn on_message(expected: DeliveryStatus, recorded: Option<DeliveryStatus>, seen: bool) -> Self {
        match recorded {
            None | Some(DeliveryStatus::Pending) => Self::Lost,
            Some(DeliveryStatus::Delivered) if !seen => Self::Lost,
            Some(recorded) => {
                Self::of(recorded == expected && seen == (expected == DeliveryStatus::Delivered))
            }
        }
    }

    /// Judges a request by what it says of itself: only one that cannot be fanned out may have failed.
    pub(crate) fn on_request(is_impossible: bool, recorded: RequestStatus) -> Self {
        let expected = if is_impossible { RequestStatus::Failed } else { RequestStatus::Dispatched };
        Self::of(recorded == expected)
    }

    fn of(is_as_expected: bool) -> Self {
        if is_as_expected { Self::AsExpected } else { Self::Wrong }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        DeliveryStatus::{Delivered, Failed, Pending, Skipped},
        Verdict::{AsExpected, Lost, Wrong},
        *,
    };

    #[test]
    fn a_message_must_end_as_its_address_says() {
        assert_eq!(Verdict::on_message(Delivered, Some(Delivered), true), AsExpected);
        assert_eq!(Verdict::on_message(Skipped, Some(Skipped), false), AsExpected);
        assert_eq!(Verdict::on_message(Failed, Some(Failed), false), AsExpected);
        for (expected, recorded) in
            [(Delivered, Skipped), (Delivered, Failed), (Skipped, Failed), (Failed, Skipped)]
        {
            assert_eq!(Verdict::on_message(expected, Some(recorded), false), Wrong, "{expected} {recorded}");
        }
        assert_eq!(Verdict::on_message(Skipped, Some(Delivered), true), Wrong);
        assert_eq!(Verdict::on_message(Failed, Some(Failed), true), Wrong);
    }

    #[test]
    fn a_message_is_lost_if_it_is_neither_recorded_nor_seen() {
        for expected in [Delivered, Skipped, Failed] {
            for (recorded, seen) in
                [(None, false), (None, true), (Some(Pending), false), (Some(Delivered), false)]
            {
                assert_eq!(Verdict::on_message(expected, recorded, seen), Lost, "{expected} {recorded:?}");
            }
        }
    }

    #[test]
    fn requests_that_cannot_be_fanned_out_fail_and_only_they() {
        assert_eq!(Verdict::on_request(true, RequestStatus::Failed), AsExpected);
        assert_eq!(Verdict::on_request(false, RequestStatus::Dispatched), AsExpected);
        assert_eq!(Verdict::on_request(true, RequestStatus::Dispatched), Wrong);
        assert_eq!(Verdict::on_request(false, RequestStatus::Failed), Wrong);
        assert_eq!(Verdict::on_request(false, RequestStatus::Cancelled), Wrong);
    }
}
