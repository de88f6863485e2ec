use std::{pin::pin, sync::Arc};

use async_trait::async_trait;
use claimstream::LocalWakeup;
use claimstream_domain::QueueName;
use claimstream_ports::{StoreError, Wakeup};
use futures::future::pending;

use crate::{binlog::binlog_wakeup, config::Config, redis::wakeup_on};

/// What wakes the relay of this process: its own writes, and where they are configured, the binary log and a Redis with those of others.
pub(crate) struct Wakeups {
    local: Arc<dyn Wakeup>,
    redis: Option<Arc<dyn Wakeup>>,
}

impl Wakeups {
    /// Those of a process with a relay. A binary log that cannot be read is none: one warning says why.
    pub(crate) fn of_relay(config: &Config) -> Self {
        let local: Arc<dyn Wakeup> = Arc::new(LocalWakeup::new());
        if !config.relay.wakeup.binlog {
            return Self::on(local, config);
        }
        match binlog_wakeup(config, Arc::clone(&local)) {
            Ok(binlog) => Self::on(binlog, config),
            Err(why) => {
                tracing::warn!(
                    why,
                    "no binary log wakes this relay; it looks by itself, every relay.idle_max at least"
                );
                Self::on(local, config)
            }
        }
    }

    /// Those of a process that only writes, and reads no log.
    #[cfg(feature = "http")]
    pub(crate) fn of_writer(config: &Config) -> Self {
        Self::on(Arc::new(LocalWakeup::new()), config)
    }

    fn on(local: Arc<dyn Wakeup>, config: &Config) -> Self {
        let redis = config.relay.wakeup.redis.as_ref().map(wakeup_on);
        Self { local, redis }
    }

    /// Wakes the relays of all processes, without waiting for Redis.
    #[cfg(feature = "http")]
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
        let redis = async {
            match &self.redis {
                Some(redis) => redis.wait(queue).await,
                None => pending().await,
            }
        };
        let (local, other) = (pin!(self.local.wait(queue)), pin!(redis));
        tokio::select! {
            () = local => (),
            () = other => (),
        }
    }

    async fn wake(&self, queue: &QueueName) -> Result<(), StoreError> {
        self.local.wake(queue).await
    }
}
