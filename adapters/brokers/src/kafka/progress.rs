use std::collections::{BTreeMap, VecDeque};

/// How far a member is in each partition that it has: which records are in hand, and up to which all are done.
#[derive(Default, Debug)]
pub(super) struct PartitionProgress {
    partitions: BTreeMap<i32, Partition>,
    terms: u64,
}

/// A record in hand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct InHand {
    pub(super) partition: i32,
    pub(super) offset: i64,
    /// Since when the member has had the partition; what was in hand before it lost the partition is of an earlier term.
    term: u64,
}

/// What it means that a record is done.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Done {
    /// All records up to this offset are done.
    UpTo(i64),
    /// A record before it is still in hand.
    BehindAnother,
    /// The partition was taken from the member meanwhile.
    Gone,
}

#[derive(Debug)]
struct Partition {
    term: u64,
    /// The records in the order in which they came, and whether each is done; the first is not.
    records: VecDeque<(i64, bool)>,
}

impl PartitionProgress {
    /// Notes a record that the broker has given.
    pub(super) fn take(&mut self, partition: i32, offset: i64) -> InHand {
        let terms = &mut self.terms;
        let kept = self.partitions.entry(partition).or_insert_with(|| {
            *terms += 1;
            Partition { term: *terms, records: VecDeque::new() }
        });
        kept.records.push_back((offset, false));
        InHand { partition, offset, term: kept.term }
    }

    /// Notes that a record is done.
    pub(super) fn finish(&mut self, record: InHand) -> Done {
        let Some(kept) = self.partitions.get_mut(&record.partition).filter(|it| it.term == record.term)
        else {
            return Done::Gone;
        };
        if let Some((_, is_done)) = kept.records.iter_mut().find(|(offset, _)| *offset == record.offset) {
            *is_done = true;
        }
        let mut last = None;
        while let Some((offset, true)) = kept.records.front() {
            last = Some(*offset);
            kept.records.pop_front();
        }
        last.map_or(Done::BehindAnother, Done::UpTo)
    }

    /// Whether the member still has the partition of a record.
    pub(super) fn has(&self, record: InHand) -> bool {
        self.partitions.get(&record.partition).is_some_and(|kept| kept.term == record.term)
    }

    /// Forgets a partition that was taken from the member.
    pub(super) fn lose(&mut self, partition: i32) {
        self.partitions.remove(&partition);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_was_in_hand_when_a_partition_was_lost_ends_nothing_later() {
        let mut progress = PartitionProgress::default();
        let lost = progress.take(0, 5);
        progress.lose(0);
        assert_eq!((progress.has(lost), progress.finish(lost)), (false, Done::Gone));
        let again = progress.take(0, 5);
        let next = progress.take(0, 6);
        assert_eq!(progress.finish(lost), Done::Gone);
        assert_eq!(progress.finish(next), Done::BehindAnother);
        assert_eq!(progress.finish(again), Done::UpTo(6));
    }

    proptest! {
        #[test]
        fn nothing_is_ended_beyond_a_record_that_is_in_hand(gaps in prop::collection::vec(1_i64..5, 1..30), seed: u64) {
            let mut progress = PartitionProgress::default();
            let mut offset = 0;
            let mut open: Vec<InHand> = gaps.iter().map(|gap| { offset += gap; progress.take(3, offset) }).collect();
            let last = open[open.len() - 1].offset;
            let (mut draw, mut ended) = (seed, 0);
            while !open.is_empty() {
                draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let record = open.remove((draw >> 33) as usize % open.len());
                if let Done::UpTo(offset) = progress.finish(record) {
                    prop_assert!(offset > ended, "{offset} after {ended}");
                    prop_assert!(open.iter().all(|it| it.offset > offset), "{offset} with {open:?} in hand");
                    ended = offset;
                }
            }
            prop_assert_eq!(ended, last);
        }
    }
}
