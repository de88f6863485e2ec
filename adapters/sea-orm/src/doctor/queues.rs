use std::sync::Arc;

use claimstream_domain::{PausedQueue, QueueName, QueueStatus};
use claimstream_ports::StoreError;

use crate::{
    doctor::{
        examination::Examination,
        finding::{Finding, failure, good, warning},
    },
    queues::{
        observe::{Misnamed, Observed, observe},
        pauses::paused,
    },
};

impl Examination<'_> {
    /// Messages that no relay will ever claim, queues that no relay seems to read, and pauses that look forgotten.
    pub(crate) async fn examine_queues(&self) -> Result<Vec<Finding>, StoreError> {
        let observed = match &self.counted {
            Some(counted) => Arc::clone(counted),
            None => Arc::new(observe(self.db, self.shards.count).await?),
        };
        let Observed { queues, misnamed, unreadable } = &*observed;
        let paused = paused(self.db).await?;
        let is_paused = |queue: &QueueStatus| paused.iter().any(|paused| paused.queue == queue.queue);
        let mut findings: Vec<Finding> = queues
            .iter()
            .filter_map(|queue| self.stray(queue, unreadable.get(&queue.queue).copied()))
            .collect();
        findings.extend(unreadable.iter().map(of_unreadable));
        findings.extend(queues.iter().filter(|queue| queue.seems_unread() && !is_paused(queue)).map(unread));
        findings.extend(misnamed.iter().map(of_misnamed));
        if findings.is_empty() {
            findings.push(good(
                "queues",
                "every message lies in a shard that is read, and no queue looks forgotten",
            ));
        }
        findings.extend(paused.iter().map(of_pause));
        Ok(findings)
    }

    /// Messages in shards that are not there; those that no claim can read are another finding.
    fn stray(&self, queue: &QueueStatus, unreadable: Option<u64>) -> Option<Finding> {
        let (name, shards) = (&queue.queue, self.shards.count.get());
        let stray = queue.stray.saturating_sub(unreadable.unwrap_or_default());
        let finding = || {
            failure(
                "queues",
                format!(
                    "{stray} messages of queue {name} lie in shard {shards} or above, and this outbox has {shards} shards, from 0 on: \
                 no relay claims them. They came from an outbox with more shards, or from a program that inserts rows by itself \
                 and counts shards in another way. Set their shard in claimstream_queue to one from 0 to below {shards}"
                ),
            )
        };
        (stray > 0).then(finding)
    }
}

fn of_unreadable((queue, entries): (&QueueName, &u64)) -> Finding {
    failure(
        "queues",
        format!(
            "{entries} entries of queue {queue} cannot be read by any claim: they are due before 1970, or on SQLite at no whole \
             number of microseconds, or their id has not 16 bytes. A program that inserts rows by itself has written them. Set \
             their available_at in claimstream_queue to the present moment; with a wrong id, write the message again and delete the entry"
        ),
    )
}

fn of_misnamed(misnamed: &Misnamed) -> Finding {
    let (name, why) = (misnamed.name(), &misnamed.why);
    let tables = [(misnamed.depth, "claimstream_queue"), (misnamed.dead, "claimstream_dead")];
    let lie = tables.iter().filter(|(count, _)| *count > 0);
    let lie: Vec<_> = lie.map(|(count, table)| format!("{count} messages lie in {table}")).collect();
    let lie = lie.join(" and ");
    failure(
        "queues",
        format!(
            "{lie} under the name '{name}', which no queue can have: {why}. No relay claims \
             them. A program that inserts rows by itself has written them. Set their queue there to the right one"
        ),
    )
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
