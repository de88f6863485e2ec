use claimstream_domain::{Enqueued, Invalid, NewMessage, QueueName, timer_event::Tick};
use claimstream_ports::StoreError;

use super::{EventStore, halt::corrupt};

/// Sees that each of these ticks has its message in the queue.
///
/// Where its id is taken it is enqueued once more under an id of the queue's own: the one that has the id may lie in a queue that the timer had
/// before, where it is not read. If it lies in this one, the dedup key says so, and nothing is enqueued.
pub(super) async fn enqueue_ticks<S: EventStore>(
    store: &S,
    tx: &S::Tx,
    queue: &QueueName,
    ticks: &[Tick],
) -> Result<(), StoreError> {
    let messages = written(ticks.iter(), |tick| tick.message(queue))?;
    let answers = store.enqueue(tx, &messages).await?;
    let taken = ticks.iter().zip(answers).filter(|(_, answer)| *answer == Enqueued::Duplicate);
    let of_queue = written(taken.map(|(tick, _)| tick), |tick| tick.message_of_queue(queue))?;
    if !of_queue.is_empty() {
        store.enqueue(tx, &of_queue).await?;
    }
    Ok(())
}

fn written<'a>(
    ticks: impl Iterator<Item = &'a Tick>,
    write: impl Fn(&Tick) -> Result<NewMessage, Invalid>,
) -> Result<Vec<NewMessage>, StoreError> {
    ticks.map(write).collect::<Result<_, _>>().map_err(corrupt)
}
