use std::{collections::BTreeMap, sync::Arc, time::Duration};

use claimstream_domain::{QueueName, Receipt, Shard};
use claimstream_ports::{StoreError, StoreErrorKind};

use crate::{
    database::classify::Unanswered,
    strategy::{shard_lease::leases::ShardLease, shared::answers::as_far_as_known},
};

/// How a call is done in each of its shards.
pub(crate) struct EachShard<A> {
    pub(crate) operation: &'static str,
    /// The answer to entries of which nothing is known.
    pub(crate) unknown: A,
    /// How long the call waits for its shards.
    pub(crate) within: Duration,
}

impl<A: Clone + PartialEq + Send + 'static> EachShard<A> {
    /// Does a part of a call in each shard, all at a time. An error in one shard leaves only its own part `unknown`, and so
    /// does a part that is not done in time; its work continues.
    pub(crate) async fn run<E, W>(
        self,
        store: &Arc<ShardLease>,
        entries: &[E],
        parts: Vec<Vec<usize>>,
        work: impl Fn(Arc<ShardLease>, Vec<E>) -> W,
    ) -> Result<Vec<A>, StoreError>
    where
        E: Clone,
        W: Future<Output = Result<Vec<A>, StoreError>> + Send + 'static,
    {
        let Self { operation, unknown, within } = self;
        let begin = |part: &Vec<usize>| {
            let part = part.iter().map(|n| entries[*n].clone()).collect();
            let (own, work) = (Arc::clone(store), work(Arc::clone(store), part));
            store.db.runtime.spawn(async move { own.db.detached(operation, work).await })
        };
        let begun: Vec<_> = parts.iter().map(begin).collect();
        let since = store.db.timer().stopwatch();
        let (mut answers, mut trouble) = (vec![unknown.clone(); entries.len()], None);
        for (part, done) in parts.into_iter().zip(begun) {
            let left = within.saturating_sub(since.elapsed());
            let done = match store.db.timer().timeout(left, done).await {
                Some(Ok(done)) => done,
                Some(Err(lost)) => Err(StoreError::new(StoreErrorKind::Unavailable, operation, lost)),
                None => Err(StoreError::new(
                    StoreErrorKind::Unavailable,
                    operation,
                    Unanswered::TookTooLong(within),
                )),
            };
            match done {
                Ok(known) => part.into_iter().zip(known).for_each(|(n, answer)| answers[n] = answer),
                Err(error) => trouble = trouble.or(Some(error)),
            }
        }
        as_far_as_known(answers, &unknown, trouble)
    }
}

/// Which entries lie in each shard.
pub(crate) fn by_shard<E>(entries: &[E], receipt: impl Fn(&E) -> &Receipt) -> Vec<Vec<usize>> {
    let mut parts: BTreeMap<(&QueueName, Shard), Vec<usize>> = BTreeMap::new();
    for (n, entry) in entries.iter().enumerate() {
        let Receipt { queue, shard, .. } = receipt(entry);
        parts.entry((queue, *shard)).or_default().push(n);
    }
    parts.into_values().collect()
}
