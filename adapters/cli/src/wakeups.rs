use std::{pin::pin, sync::Arc};

use async_trait::async_trait;
use claimstream::LocalWakeup;
use claimstream_domain::QueueName;
use claimstream_ports::{StoreError, Wakeup};
use claimstream_redis::{RedisPlace, RedisWakeup};

/// What wakes the relay of this process: its own writes, and through Redis, where one is configured, those of others.
#[derive(Debug)]
pub(crate) struct Wakeups {
    local: LocalWakeup,
    redis: Option<Arc<RedisWakeup>>,
}

impl Wakeups {
    pub(crate) fn new(redis: Option<RedisPlace>) -> Self {
        Self { local: LocalWakeup::new(), redis: redis.map(|place| Arc::new(RedisWakeup::new(place))) }
    }

    /// Wakes the relays of all processes, without waiting for Redis.
    pub(crate) async fn announce(&self, queue: &QueueName) {
        // It cannot fail, and a wakeup may be lost.
        let _ = self.local.wake(queue).await;
        let Some(redis) = self.redis.clone() else { return };
        let queue = queue.clone();
        tokio::spawn(async move {
            if let Err(error) = redis.wake(&queue).await {
                tracing::debug!(%error, "relays of other processes were not woken");
            }
        });
    }
}

/// The relay wakes itself alone: its own children are claimed by itself.
#[async_trait]
impl Wakeup for Wakeups {
    async fn wait(&self, queue: &QueueName) {
        match &self.redis {
            None => self.local.wait(queue).await,
            Some(redis) => {
                let (local, other) = (pin!(self.local.wait(queue)), pin!(redis.wait(queue)));
                tokio::select! {
                    () = local => (),
                    () = other => (),
                }
            }
        }
    }

    async fn wake(&self, queue: &QueueName) -> Result<(), StoreError> {
        self.local.wake(queue).await
    }
}
