use claimstream_domain::{PausedQueue, QueueStatus};
use claimstream_ports::StoreError;

use crate::{
    doctor::{
        examination::Examination,
        finding::{Finding, failure, good, warning},
    },
    queues::{observe::observe, pauses::paused},
};

impl Examination<'_> {
    /// Messages that nobody will ever claim, queues that nobody seems to read, and pauses that look forgotten.
    pub(crate) async fn examine_queues(&self) -> Result<Vec<Finding>, StoreError> {
        let (queues, paused) = (observe(self.db, self.shards).await?, paused(self.db).await?);
        let is_paused = |queue: &QueueStatus| paused.iter().any(|paused| paused.queue == queue.queue);
        let mut findings: Vec<Finding> =
            queues.iter().filter(|queue| queue.stray > 0).map(|queue| self.stray(queue)).collect();
        findings.extend(queues.iter().filter(|queue| queue.seems_unread() && !is_paused(queue)).map(unread));
        if findings.is_empty() {
            findings.push(good(
                "queues",
                "every message lies in a shard that is read, and no queue looks forgotten",
            ));
        }
        findings.extend(paused.iter().map(of_pause));
        Ok(findings)
    }

    fn stray(&self, queue: &QueueStatus) -> Finding {
        let (name, stray, shards) = (&queue.queue, queue.stray, self.shards.get());
        failure(
            "queues",
            format!(
                "{stray} messages of queue {name} lie in shard {shards} or above, and this outbox has {shards} shards, from 0 on: \
                 nobody claims them. They came from an outbox with more shards. Set their shard in claimstream_queue to one \
                 below {shards}"
            ),
        )
    }
}

fn of_pause(paused: &PausedQueue) -> Finding {
    let PausedQueue { queue, since, note } = paused;
    let (since, by) = (since.as_secs(), note.by());
    let why = note.why().map(|why| format!(": {why}")).unwrap_or_default();
    let detail = format!("queue {queue} has been paused for {since} s by {by}{why}");
    match paused.seems_forgotten() {
        true => warning("paused", format!("{detail}; if that is over, claimstream resume {queue}")),
        false => good("paused", detail),
    }
}

fn unread(queue: &QueueStatus) -> Finding {
    let (name, due, oldest) = (&queue.queue, queue.due, queue.oldest.unwrap_or_default().as_secs());
    warning(
        "queues",
        format!(
            "no relay seems to read queue {name}: {due} messages are due, the oldest for {oldest} s, and none is in hand; run a \
             relay for it, or look why its relay is stuck"
        ),
    )
}
