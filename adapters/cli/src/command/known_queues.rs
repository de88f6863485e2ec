use std::{
    collections::BTreeSet,
    io::{Write, stderr},
    time::Duration,
};

use claimstream_domain::{QueueName, notification::Priority};
use claimstream_ports::{ListInstances, Observe, PauseQueues, StoreError, within};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;

use crate::config::{Config, copy_queue, nearest};

/// How long the counting of queues may take that only a remark is made of.
const TIMEOUT: Duration = Duration::from_secs(2);

/// How many leases are looked at for the names of their queues.
const LEASES: u32 = 1000;

/// Says on the standard error that nothing is known of a queue, whose name may be misspelt. It changes nothing: a queue may be paused before
/// its first message, and a database that does not answer in time leaves the remark out.
pub(super) async fn remark_if_unknown(
    queue: &QueueName,
    outbox: &SeaOrmOutbox,
    config: &Config,
    timer: TokioTimer,
) {
    let known = configured(config);
    if known.contains(queue) {
        return;
    }
    let found = within(&timer, TIMEOUT, found(queue, outbox)).await;
    let Some(Ok(found)) = found else { return };
    if found.contains(queue) {
        return;
    }
    let names = known.iter().chain(&found).map(QueueName::as_str);
    // Of several databases, each speaks for itself.
    let place = config.database.url.as_ref().map(|url| format!(" in {url}")).unwrap_or_default();
    let _ = writeln!(stderr(), "{}", remark(queue, &place, nearest(queue.as_str(), names)));
}

fn remark(queue: &QueueName, place: &str, meant: Option<&str>) -> String {
    let hint = meant.map(|meant| format!(" did you mean {meant}?")).unwrap_or_default();
    format!(
        "nothing is known of the queue {queue}{place}: it has no message, no dead letter and no lease; is its name right?{hint}"
    )
}

/// The queues that the configuration names, and those of notifications.
fn configured(config: &Config) -> BTreeSet<QueueName> {
    let own = Priority::ALL.into_iter().flat_map(|it| [it.request_queue(), it.message_queue()]);
    let own = own.filter_map(|name| QueueName::new(name).ok());
    let published = config.publish.by_queue().into_iter().flat_map(|(queue, targets)| {
        let copied = targets.iter().filter(|_| targets.len() > 1);
        let copies = copied.filter_map(|name| copy_queue(&queue, name).ok());
        copies.chain([queue.clone()]).collect::<Vec<_>>()
    });
    own.chain(published).chain(config.relay.dead_letter_events.clone()).collect()
}

/// The queues that the database knows. The queue itself counts only by what it holds, because a pause that was just made says nothing of its
/// name.
async fn found(queue: &QueueName, outbox: &SeaOrmOutbox) -> Result<BTreeSet<QueueName>, StoreError> {
    let leased = outbox.leases_of(queue).await?.into_iter().chain(outbox.leases(None, LEASES).await?);
    let mut found: BTreeSet<QueueName> = leased.map(|lease| lease.queue).collect();
    if !found.contains(queue) {
        let paused = outbox.paused().await?.into_iter().map(|paused| paused.queue);
        found.extend(paused.filter(|paused| paused != queue));
        found.extend(outbox.observe().await?.into_iter().map(|status| status.queue));
    }
    Ok(found)
}
