use claimstream_domain::notification::{ReceiptCounts, ReceiptKind};
use serde::Serialize;
use utoipa::ToSchema;

/// Of how many messages providers said what after they had taken them. A message counts once for each that was said of it.
#[derive(Serialize, ToSchema)]
pub(super) struct ReceiptsCounted {
    /// The provider has handed them on.
    sent: u64,
    /// They were not taken at once; the provider tries again.
    soft_bounced: u64,
    /// They have arrived.
    delivered: u64,
    /// Their recipients have looked at them.
    opened: u64,
    /// Their recipients want no more of them.
    unsubscribed: u64,
    /// There is no such address.
    bounced: u64,
    /// Their recipients reported them as spam.
    complained: u64,
}

impl ReceiptsCounted {
    /// Shows these counts.
    pub(super) fn of(counts: &ReceiptCounts) -> Self {
        Self {
            sent: counts.of(ReceiptKind::Sent),
            soft_bounced: counts.of(ReceiptKind::SoftBounced),
            delivered: counts.of(ReceiptKind::Delivered),
            opened: counts.of(ReceiptKind::Opened),
            unsubscribed: counts.of(ReceiptKind::Unsubscribed),
            bounced: counts.of(ReceiptKind::Bounced),
            complained: counts.of(ReceiptKind::Complained),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_shown_under_its_name() {
        let mut counts = ReceiptCounts::default();
        ReceiptKind::ALL.into_iter().zip(1..).for_each(|(kind, messages)| counts.count(kind, messages));
        let shown = serde_json::to_value(ReceiptsCounted::of(&counts)).unwrap();
        let expected: serde_json::Value =
            ReceiptKind::ALL.into_iter().zip(1..).map(|(kind, n)| (kind.name().to_owned(), n)).collect();
        assert_eq!(shown, expected);
    }
}
