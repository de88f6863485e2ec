use claimstream_domain::{ClaimId, Disposition, Locator, MessageId, QueueName, Receipt, Settlement, Shard};
use uuid::Uuid;

use crate::database::{
    Database,
    args::{Args, bytes},
};

/// Rows of one claim in one place that are written by one statement.
///
/// Groups, and the rows within each, always come in the order of the clustered key. Of two transactions that want the same
/// rows one then waits for the other, and never each for the other.
pub(crate) struct Group<'a> {
    receipt: &'a Receipt,
    messages: Vec<MessageId>,
}

impl<'a> Group<'a> {
    pub(crate) fn one(receipt: &'a Receipt) -> Self {
        Self { receipt, messages: vec![receipt.message] }
    }

    /// Receipts by claim and place.
    pub(crate) fn of(receipts: impl Iterator<Item = &'a Receipt>) -> Vec<Self> {
        let groups = in_order(receipts.map(|receipt| ((), receipt)), |(), ()| true);
        groups.into_iter().map(|((), group)| group).collect()
    }

    /// Settlements by claim, place and disposition.
    pub(crate) fn of_settlements(settlements: &'a [Settlement]) -> Vec<(&'a Disposition, Self)> {
        let settlements = settlements.iter().map(|settlement| (&settlement.disposition, &settlement.receipt));
        in_order(settlements, |one, other| written_alike(one, other))
    }

    pub(crate) fn len(&self) -> u64 {
        self.messages.len() as u64
    }

    pub(crate) fn ids(&self) -> Vec<Uuid> {
        self.messages.iter().map(|message| message.uuid()).collect()
    }

    /// The end of the lease that its claim got.
    pub(crate) fn lease_end(&self) -> i64 {
        self.receipt.locator.0
    }

    /// The claim, the shard and the messages.
    pub(crate) fn claimed(&self) -> (ClaimId, Shard, &[MessageId]) {
        (self.receipt.claim, self.receipt.shard, &self.messages)
    }

    pub(crate) fn args(&self, db: &Database) -> Args {
        let (queue, shard, locator, claim) = self.place();
        db.args()
            .with("queue", queue.as_str())
            .with("shard", shard.number())
            .with("claim", bytes(claim.uuid()))
            .with("lease_end", locator.0)
            .with_list("ids", self.ids().into_iter().map(bytes))
    }

    /// Where its rows lie together, as the clustered key has it, and whose they are.
    fn place(&self) -> (&'a QueueName, Shard, Locator, ClaimId) {
        place(self.receipt)
    }
}

fn place(receipt: &Receipt) -> (&QueueName, Shard, Locator, ClaimId) {
    (&receipt.queue, receipt.shard, receipt.locator, receipt.claim)
}

/// Groups of rows that are alike and stand in one place. Their order does not depend on the order in which they were given.
fn in_order<'a, K>(
    rows: impl Iterator<Item = (K, &'a Receipt)>,
    alike: impl Fn(&K, &K) -> bool,
) -> Vec<(K, Group<'a>)> {
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by_key(|(_, receipt)| (place(receipt), receipt.message));
    let mut groups: Vec<(K, Group<'a>)> = Vec::new();
    for (kind, receipt) in rows {
        let mut here = groups.iter_mut().rev().take_while(|(_, group)| group.place() == place(receipt));
        match here.find(|(known, _)| alike(known, &kind)) {
            Some((_, group)) => group.messages.push(receipt.message),
            None => groups.push((kind, Group::one(receipt))),
        }
    }
    groups
}

/// Whether one statement can write both.
pub(crate) fn written_alike(one: &Disposition, other: &Disposition) -> bool {
    match (one, other) {
        (Disposition::Done { .. }, Disposition::Done { .. }) => true,
        (Disposition::Dead { reason: one, .. }, Disposition::Dead { reason: other, .. }) => one == other,
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, time::Duration};

    use claimstream_domain::{InstanceId, Reason};
    use proptest::{collection::vec, prelude::*};

    use super::*;

    /// Few of each, so that they meet; a message stands in one place.
    fn receipt() -> impl Strategy<Value = Receipt> {
        (0_u128..40, 0..2_u8, 0..3_u16, 0..3_u64, 0..3_i64).prop_map(|(id, queue, shard, claim, locator)| {
            Receipt {
                message: MessageId::new(Uuid::from_u128(id)),
                queue: QueueName::new(&format!("queue-{queue}")).expect("a name"),
                shard: Shard::from_number(shard),
                claim: ClaimId::new(InstanceId(1), claim),
                locator: Locator(locator),
            }
        })
    }

    fn disposition() -> impl Strategy<Value = Disposition> {
        let retry = |reason: &str| Disposition::Retry { after: Duration::ZERO, reason: Reason::new(reason) };
        prop_oneof![
            Just(Disposition::Done { emit: vec![] }),
            Just(Disposition::Returned),
            Just(retry("one")),
            Just(retry("other")),
        ]
    }

    /// Settlements of messages that differ, and the same in another order.
    fn shuffled() -> impl Strategy<Value = (Vec<Settlement>, Vec<Settlement>)> {
        let some = vec((receipt(), disposition()), 0..40).prop_map(|all| {
            let settlements =
                all.into_iter().map(|(receipt, disposition)| Settlement { receipt, disposition });
            let by_id: BTreeMap<_, _> = settlements.map(|s| (s.receipt.message, s)).collect();
            by_id.into_values().collect::<Vec<_>>()
        });
        some.prop_flat_map(|some| (Just(some.clone()), Just(some).prop_shuffle()))
    }

    fn rows<'a>(group: &Group<'a>) -> Vec<(&'a QueueName, Shard, Locator, ClaimId, MessageId)> {
        let (queue, shard, locator, claim) = group.place();
        group.messages.iter().map(|id| (queue, shard, locator, claim, *id)).collect()
    }

    proptest! {
        #[test]
        fn the_order_of_receipts_is_not_the_order_of_locks((some, same) in shuffled()) {
            let receipts = |all: &[Settlement]| all.iter().map(|s| s.receipt.clone()).collect::<Vec<_>>();
            let (some_receipts, same_receipts) = (receipts(&some), receipts(&same));
            let locked = |all: &[Receipt]| {
                let groups = Group::of(all.iter());
                groups.iter().flat_map(rows).map(|(q, s, l, c, id)| (q.clone(), s, l, c, id)).collect::<Vec<_>>()
            };
            let renewed = locked(&some_receipts);
            prop_assert_eq!(&renewed, &locked(&same_receipts));
            prop_assert!(renewed.is_sorted());
            prop_assert_eq!(renewed.len(), some.len());

            let settled = |all: &[Settlement]| {
                let groups = Group::of_settlements(all);
                groups.iter().map(|(how, group)| ((*how).clone(), format!("{:?}", rows(group)))).collect::<Vec<_>>()
            };
            prop_assert_eq!(settled(&some), settled(&same));
            let places: Vec<_> = Group::of_settlements(&same).iter().map(|(_, group)| rows(group)).collect();
            prop_assert!(places.iter().all(|rows| rows.is_sorted()));
            prop_assert!(Group::of_settlements(&same).iter().map(|(_, group)| group.place()).is_sorted());
            prop_assert_eq!(places.iter().map(Vec::len).sum::<usize>(), some.len());
        }
    }
}
