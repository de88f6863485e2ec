use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use claimstream_domain::Received;
use rdkafka::{
    ClientContext,
    consumer::{BaseConsumer, Consumer, ConsumerContext, Rebalance, StreamConsumer},
};
use tokio::sync::Notify;

use super::progress::{Done, InHand, PartitionProgress};

/// A member of a consumer group, and what it has in hand. The client tells it which partitions it loses.
#[derive(Default)]
pub(super) struct GroupMember {
    state: Mutex<MemberState>,
    /// A record was given back.
    given_back: Notify,
}

#[derive(Default)]
struct MemberState {
    progress: PartitionProgress,
    /// Records that are handed over again, by partition and offset, because they were not finished.
    again: BTreeMap<(i32, i64), (InHand, Received)>,
}

impl GroupMember {
    /// Notes a record that the broker has given.
    pub(super) fn take(&self, partition: i32, offset: i64) -> InHand {
        self.state().progress.take(partition, offset)
    }

    /// The next of the records that were given back, in the order of their partitions; only of those that the member still has.
    pub(super) fn again(&self) -> Option<(InHand, Received)> {
        let mut state = self.state();
        while let Some((_, (record, received))) = state.again.pop_first() {
            if state.progress.has(record) {
                return Some((record, received));
            }
        }
        None
    }

    /// Waits until a record is given back.
    pub(super) async fn until_given_back(&self) {
        self.given_back.notified().await;
    }

    /// Has a record handed over again, unless the member has lost its partition.
    pub(super) fn give_back(&self, record: InHand, received: Received) {
        let mut state = self.state();
        if state.progress.has(record) {
            state.again.insert((record.partition, record.offset), (record, received));
            self.given_back.notify_one();
        }
    }

    /// Whether the member still has the partition of a record.
    pub(super) fn has(&self, record: InHand) -> bool {
        self.state().progress.has(record)
    }

    /// Notes that a record is done, and what may be committed by that; false if the member has lost its partition.
    ///
    /// A partition cannot be lost in between: a later member's progress would be set back. A member that has not asked for records in time
    /// has lost all of its partitions, and the client says so before it calls.
    pub(super) fn finish(&self, consumer: &StreamConsumer<Self>, topic: &str, record: InHand) -> bool {
        let mut state = self.state();
        if consumer.assignment_lost() {
            return false;
        }
        match state.progress.finish(record) {
            Done::UpTo(offset) => consumer.store_offset(topic, record.partition, offset).is_ok(),
            Done::BehindAnother => true,
            Done::Gone => false,
        }
    }

    fn state(&self) -> MutexGuard<'_, MemberState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientContext for GroupMember {}

impl ConsumerContext for GroupMember {
    fn pre_rebalance(&self, _consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Revoke(partitions) = rebalance {
            let mut state = self.state();
            partitions.elements().iter().for_each(|lost| state.progress.lose(lost.partition()));
        }
    }
}
