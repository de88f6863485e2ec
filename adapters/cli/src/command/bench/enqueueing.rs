use std::time::Duration;

use claimstream::Compose;
use claimstream_domain::NewMessage;
use claimstream_ports::Timer;
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;
use futures::future::try_join_all;

use super::figures::{Enqueueing, Times};
use crate::failure::Failure;

/// Enqueues for so long, each producer one transaction after the other.
pub(super) async fn measure(
    outbox: &SeaOrmOutbox,
    (producers, per_transaction): (u64, u64),
    each: Duration,
    timer: TokioTimer,
) -> Result<Enqueueing, Failure> {
    let one = messages("bench-enqueue", 1)?;
    outbox.enqueue_now(&one).await?;
    let began = timer.now();
    let produce = |_| produce(outbox, per_transaction, began + each, timer);
    let all = try_join_all((0..producers).map(produce)).await?;
    let took = timer.now() - began;
    let mut times = Times::default();
    all.into_iter().for_each(|one| times.join(one));
    let messages = times.count() * per_transaction;
    Ok(Enqueueing { producers, per_transaction, messages, took, times })
}

async fn produce(
    outbox: &SeaOrmOutbox,
    per_transaction: u64,
    until: Duration,
    timer: TokioTimer,
) -> Result<Times, Failure> {
    let mut times = Times::default();
    while timer.now() < until {
        let batch = messages("bench-enqueue", per_transaction)?;
        let begun = timer.now();
        outbox.enqueue_now(&batch).await?;
        times.add(timer.now() - begun);
    }
    Ok(times)
}

/// Messages of 200 bytes, as of an order.
pub(super) fn messages(queue: &str, count: u64) -> Result<Vec<NewMessage>, Failure> {
    let one = |_| {
        NewMessage::json(queue, &PAYLOAD)
            .map_err(|e| Failure::Refused(format!("no message can be made: {e}")))
    };
    (0..count).map(one).collect()
}

const PAYLOAD: &str = "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\
                       01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_two_hundred_bytes() {
        let one = &messages("bench", 3).unwrap()[0];
        assert_eq!(one.payload.bytes().len(), 200);
    }
}
