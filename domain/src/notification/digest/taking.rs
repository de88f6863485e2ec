use uuid::Uuid;

use super::DigestItem;
use crate::{Timestamp, notification::DeliveryStatus};

/// An item as it is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeptItem {
    /// The item.
    pub item: DigestItem,
    /// Where its record stands.
    pub status: DeliveryStatus,
}

/// What is left to be done of a digest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DigestTaking {
    /// Where the digest stands: pending while one of its items is, or else failed if one has failed; otherwise nothing is left.
    pub status: DeliveryStatus,
    /// The items that are delivered together, in the order in which they came.
    pub items: Vec<DigestItem>,
    /// The messages that have expired.
    pub expired: Vec<Uuid>,
}

impl DigestTaking {
    /// What is left of these items at the moment `now`.
    ///
    /// An item whose record was taken back, skipped or delivered is none any more. One that has failed is tried again if it was taken up.
    pub fn of(kept: Vec<KeptItem>, now: Timestamp) -> Self {
        let has = |status| kept.iter().any(|item| item.status == status);
        let open = [DeliveryStatus::Pending, DeliveryStatus::Failed];
        let status = open.into_iter().find(|status| has(*status)).unwrap_or(DeliveryStatus::Delivered);
        let mut taking = Self { status, items: Vec::new(), expired: Vec::new() };
        let left = kept.into_iter().filter(|kept| open.contains(&kept.status));
        for KeptItem { item, .. } in left {
            match item.message.expires_at.is_some_and(|until| until < now) {
                true => taking.expired.push(item.message.id),
                false => taking.items.push(item),
            }
        }
        taking
    }

    /// The messages that are delivered.
    pub fn delivered(&self) -> impl Iterator<Item = Uuid> {
        self.items.iter().map(|item| item.message.id)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::notification::{Channel, NotificationMessage};

    fn kept(n: u128, status: DeliveryStatus, expires_at: Option<i64>) -> KeptItem {
        let frame = NotificationMessage::erased(Uuid::from_u128(n), Uuid::nil(), Channel::Email);
        let expires_at = expires_at.map(|at| Timestamp::from_micros(at).unwrap());
        let message = NotificationMessage { expires_at, ..frame };
        KeptItem { item: DigestItem { message, params: [].into(), language: None }, status }
    }

    proptest! {
        #[test]
        fn each_open_item_is_delivered_or_has_expired_and_no_other_one_is(
            all in prop::collection::vec((0..5_usize, prop::option::of(0..4_i64)), 0..12), now in 0..4_i64,
        ) {
            let all: Vec<KeptItem> = (0..).zip(&all)
                .map(|(n, (status, until))| kept(n, DeliveryStatus::ALL[*status], *until)).collect();
            let taking = DigestTaking::of(all.clone(), Timestamp::from_micros(now).unwrap());
            let delivered: Vec<Uuid> = taking.delivered().collect();
            for kept in &all {
                let (id, until) = (kept.item.message.id, kept.item.message.expires_at);
                let is_open = matches!(kept.status, DeliveryStatus::Pending | DeliveryStatus::Failed);
                let is_late = until.is_some_and(|until| until.as_micros() < now);
                prop_assert_eq!(delivered.contains(&id), is_open && !is_late);
                prop_assert_eq!(taking.expired.contains(&id), is_open && is_late);
                if kept.status == DeliveryStatus::Pending {
                    prop_assert_eq!(taking.status, DeliveryStatus::Pending);
                }
            }
            prop_assert!(delivered.is_sorted());
            let is_over = !all.iter().any(|kept| {
                matches!(kept.status, DeliveryStatus::Pending | DeliveryStatus::Failed)
            });
            prop_assert_eq!(taking.status == DeliveryStatus::Delivered, is_over);
        }
    }
}
