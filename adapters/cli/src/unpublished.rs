use claimstream_domain::QueueName;
use claimstream_ports::{Observe, StoreError};
use claimstream_publishing::BrokerStanding;

use crate::config::TargetName;

/// The queues that a relay publishes, and how the brokers stand that take them; none for a relay that publishes nothing.
#[derive(Default)]
pub(crate) struct Unpublished(Vec<(QueueName, TargetName, BrokerStanding)>);

impl Unpublished {
    pub(crate) fn of(brokers: Vec<(QueueName, TargetName, BrokerStanding)>) -> Self {
        Self(brokers)
    }

    /// Whether the relay publishes this queue.
    pub(crate) fn publishes(&self, queue: &str) -> bool {
        self.0.iter().any(|(known, ..)| known.as_str() == queue)
    }

    /// Whether waiting for this queue to be empty is to wait for a broker.
    pub(crate) fn waits_for_its_broker(&self, queue: &str) -> bool {
        self.0.iter().any(|(known, _, broker)| known.as_str() == queue && broker.stays_away())
    }

    /// Whether messages are left that their broker has not taken; says which.
    pub(crate) async fn is_left(&self, queues: &impl Observe) -> Result<bool, StoreError> {
        let away: Vec<_> = self.0.iter().filter(|(.., broker)| broker.is_away()).collect();
        if away.is_empty() {
            return Ok(false);
        }
        let mut is_left = false;
        for status in queues.observe().await?.iter().filter(|status| status.depth > 0) {
            for (queue, target, _) in away.iter().filter(|(queue, ..)| *queue == status.queue) {
                is_left = true;
                tracing::error!(
                    %queue, target_name = %target, messages = status.depth,
                    "messages were not published, because the broker confirms nothing; run the relay again when it does"
                );
            }
        }
        Ok(is_left)
    }
}
