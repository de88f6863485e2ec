use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use claimstream::{LocalWakeup, Relay, RelayConfig, handler_fn};
use claimstream_domain::{MessageId, Verdict};
use claimstream_ports::{Timer, Wakeup};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;

use super::{enqueueing::messages, figures::Times};
use crate::failure::Failure;

const QUEUE: &str = "bench-latency";
/// Fifty a second: no queue builds up.
const BETWEEN: Duration = Duration::from_millis(20);
/// How much longer than asked it takes, if no message has come to its handler.
const AT_MOST: Duration = Duration::from_secs(60);

/// When each message was handed in, and how long it took from there to its handler.
#[derive(Default)]
struct DeliveryTimes {
    begun: HashMap<MessageId, Duration>,
    times: Times,
}

/// Enqueues a message now and then, and times it from the call to the handler of an idle pipeline.
///
/// The pipeline is in the same process and is woken by it. A relay elsewhere is woken through Redis, or looks by itself.
pub(super) async fn measure(
    outbox: &Arc<SeaOrmOutbox>,
    each: Duration,
    timer: TokioTimer,
) -> Result<Times, Failure> {
    let seen = Arc::new(Mutex::new(DeliveryTimes::default()));
    let at_handler = seen.clone();
    let handler = handler_fn(move |claimed| {
        let now = timer.now();
        let mut seen = at_handler.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(begun) = seen.begun.remove(&claimed.message.id) {
            seen.times.add(now - begun);
        }
        async { Verdict::ack() }
    });
    let wakeup = Arc::new(LocalWakeup::new());
    let relay = Relay::new(outbox.clone(), timer, RelayConfig::default());
    let pipeline = relay.with_wakeup(wakeup.clone()).pipeline(QUEUE, handler)?;
    let mut produced = Ok(());
    let producing = async { produced = produce(outbox, &seen, &wakeup, each, timer).await };
    pipeline.run_until(producing).await?;
    produced?;
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(std::mem::take(&mut seen.times))
}

async fn produce(
    outbox: &SeaOrmOutbox,
    seen: &Mutex<DeliveryTimes>,
    wakeup: &LocalWakeup,
    each: Duration,
    timer: TokioTimer,
) -> Result<(), Failure> {
    let began = timer.now();
    let is_measured = || !seen.lock().unwrap_or_else(PoisonError::into_inner).times.is_empty();
    while timer.now() - began < each || (timer.now() - began < each + AT_MOST && !is_measured()) {
        let batch = messages(QUEUE, 1)?;
        for message in &batch {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.begun.insert(message.id, timer.now());
        }
        outbox.enqueue_now(&batch).await?;
        for message in &batch {
            wakeup.wake(&message.queue).await?;
        }
        timer.sleep(BETWEEN).await;
    }
    Ok(())
}
