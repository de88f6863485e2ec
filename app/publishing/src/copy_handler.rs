use async_trait::async_trait;
use claimstream_domain::{Claimed, QueueName, Reason, Verdict, publishing::copy_for};
use claimstream_ports::{BatchHandler, Verdicts};

/// Finishes each message with a copy of it in every one of some queues.
///
/// The copies are enqueued in the transaction that finishes the message, so there are all of them or none. Each has the key and the
/// payload of the message, and is published under the message's id.
#[derive(Clone, Debug)]
pub struct CopyHandler {
    queues: Vec<QueueName>,
}

impl CopyHandler {
    /// Copies messages into these queues.
    pub fn new(queues: Vec<QueueName>) -> Self {
        Self { queues }
    }

    fn verdict(&self, claimed: &Claimed) -> Verdict {
        let copies = self.queues.iter().map(|queue| copy_for(&claimed.message, queue));
        match copies.collect::<Result<_, Reason>>() {
            Ok(emit) => Verdict::Ack { emit },
            Err(reason) => Verdict::Bury { reason },
        }
    }
}

#[async_trait]
impl BatchHandler for CopyHandler {
    async fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts) {
        for (index, claimed) in batch.iter().enumerate() {
            verdicts.give(index, self.verdict(claimed));
        }
    }
}
