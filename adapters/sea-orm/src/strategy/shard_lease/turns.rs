use std::time::Duration;

use claimstream_ports::{StoreError, StoreErrorKind};

use crate::{
    database::{classify::classify, deadline::in_time, held::Held, retries::Busy},
    strategy::shard_lease::{leases::ShardLease, shard_key::ShardKey, turn::Turn},
};

impl ShardLease {
    /// How long a call waits for a shard that it can do without for now, or that keeps it from others.
    pub(crate) const SOON: Duration = Duration::from_secs(1);

    /// Waits for the turn in all of the shards, no longer than `timeout`, and then for a connection. A connection that `on`
    /// has already goes back before the call waits for anything. Every call names its shards in one order.
    pub(crate) async fn turn(
        &self,
        operation: &'static str,
        keys: &[ShardKey],
        on: &Held<'_>,
        timeout: Duration,
    ) -> Result<Turn, StoreError> {
        let turn = self.wait_for_turn(keys, on, timeout).await;
        let turn = turn.map_err(|busy| StoreError::new(StoreErrorKind::Transient, operation, busy))?;
        in_time(operation, on.connect(), classify).await?;
        Ok(turn)
    }

    /// The turn of a call that can skip the shard; none if other calls are at work there for longer than `timeout`.
    pub(crate) async fn turn_soon(
        &self,
        operation: &'static str,
        key: &ShardKey,
        on: &Held<'_>,
        timeout: Duration,
    ) -> Result<Option<Turn>, StoreError> {
        match self.wait_for_turn(std::slice::from_ref(key), on, timeout).await {
            Err(busy) => {
                tracing::debug!(%busy, "shard skipped");
                Ok(None)
            }
            Ok(turn) => {
                in_time(operation, on.connect(), classify).await?;
                Ok(Some(turn))
            }
        }
    }

    async fn wait_for_turn(&self, keys: &[ShardKey], on: &Held<'_>, timeout: Duration) -> Result<Turn, Busy> {
        match self.owned.turn_now(keys) {
            Some(turn) => Ok(turn),
            None => {
                on.rest();
                self.owned.turn(self.db.timer(), keys, timeout).await
            }
        }
    }
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use std::sync::Arc;

    use claimstream_domain::{
        ByteBudget, ClaimId, ClaimRequest, InstanceId, Lease, MessageId, NewMessage, Owner, Payload,
        QueueName, Shard,
    };
    use uuid::Uuid;

    use claimstream_ports::Timer;

    use super::*;
    use crate::{
        OpenOptions, Order, SeaOrmOutbox, StoreTimer, Strategy, StrategyChoice,
        strategy::shard_lease::claim::claim,
    };

    #[tokio::test(flavor = "multi_thread")]
    async fn a_busy_shard_is_named_to_the_call_that_waits_for_it_and_skipped_by_claims() {
        let file = std::env::temp_dir().join(format!("claimstream-lines-{}.db", Uuid::now_v7()));
        let strategy = StrategyChoice::Exactly(Strategy::ShardLease);
        let (timer, hand) = StoreTimer::by_hand();
        // A claim that waited for as long would not end, because time is not turned so far.
        let acquire_timeout = Duration::from_secs(600);
        let options = OpenOptions { strategy, acquire_timeout, timer, ..OpenOptions::default() };
        let outbox = SeaOrmOutbox::open(&format!("sqlite://{}", file.display()), options).await.unwrap();
        let queue = QueueName::new("orders").unwrap();
        let message = |n: u128| {
            NewMessage::new(MessageId::new(Uuid::from_u128(n << 64)), queue.clone(), Payload::json("{}"))
        };
        outbox.enqueue_now(&(1..=100).map(message).collect::<Vec<_>>()).await.unwrap();
        let (busy, me) = (Shard::from_number(3), InstanceId(1));
        let request = |limit, sequence| ClaimRequest {
            queue: queue.clone(),
            limit,
            lease: Lease::default(),
            claim: ClaimId::new(me, sequence),
            owner: Owner::new(me, "me").unwrap(),
            budget: ByteBudget::default(),
            runs: None,
        };
        let state = &outbox.state;
        let lease = ShardLease::of(
            Arc::clone(&state.db),
            Arc::clone(&state.enqueueing),
            state.failover.clone(),
            Order::None,
        );
        let lease = Arc::new(lease);
        let (at_work, waits) = (Held::new(&state.db), Held::new(&state.db));
        let (key, timeout) = (ShardKey { queue: queue.clone(), shard: busy }, Duration::from_millis(30));
        let turn = lease.turn("settle", std::slice::from_ref(&key), &at_work, timeout).await;
        let turn = turn.ok().unwrap();
        let turned = async |by| {
            hand.asleep_until(hand.now() + by).await;
            hand.advance(by);
        };
        let wait = lease.turn("settle", std::slice::from_ref(&key), &waits, timeout);
        let (waited, ()) = tokio::join!(wait, turned(timeout));
        let error = waited.err().unwrap();
        assert_eq!(error.kind(), StoreErrorKind::Transient, "{error}");
        let text = "other calls of this process were at work in shard 3 of queue orders for 30ms";
        assert_eq!(error.to_string(), format!("settle: {}: {text}", error.kind()));
        // It need not wait for the busy shard once it has messages of others.
        let turning = async {
            turned(ShardLease::SOON).await;
            std::future::pending().await
        };
        let claimed = tokio::select! {
            claimed = claim(&lease, request(100, 1)) => claimed.unwrap(),
            never = turning => never,
        };
        assert!(!claimed.is_empty() && claimed.iter().all(|one| one.receipt.shard != busy));
        drop(turn);
        let rest = claim(&lease, request(100, 2)).await.unwrap();
        assert_eq!(claimed.len() + rest.len(), 100);
        assert!(rest.iter().all(|one| one.receipt.shard == busy));
        drop((at_work, waits));
        drop(outbox);
        let _ = std::fs::remove_file(file);
    }
}
