use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use claimstream::{Relay, RelayConfig, handler_fn};
use claimstream_domain::Verdict;
use claimstream_ports::{StoreErrorKind, Timer, within};
use claimstream_sea_orm::{BenchPlace, OpenOptions, SeaOrmOutbox, Strategy, StrategyChoice};
use claimstream_tokio::TokioTimer;
use tokio::sync::Notify;

use super::{enqueueing::messages, figures::Drained};
use crate::{failure::Failure, progress::Progress};

const STRATEGIES: [Strategy; 3] = [Strategy::SkipLocked, Strategy::PreemptiveUpdate, Strategy::ShardLease];

/// The most messages that a strategy has to drain.
const MOST: u64 = 50_000;

/// Fills a queue for each strategy and has a pipeline empty it whose handler does nothing, for so long at most.
pub(super) async fn measure(
    place: &BenchPlace,
    each: Duration,
    timer: TokioTimer,
    progress: &Progress,
) -> Result<Vec<(Strategy, Drained)>, Failure> {
    let mut drained = Vec::new();
    for strategy in STRATEGIES {
        place.keep().await?;
        let options = OpenOptions { strategy: StrategyChoice::Exactly(strategy), ..OpenOptions::default() };
        let of = match SeaOrmOutbox::open(place.url(), options).await {
            Ok(outbox) => drain(place, Arc::new(outbox), strategy, (each, timer), progress).await?,
            Err(refused) if refused.kind() == StoreErrorKind::Unsupported => {
                progress.advance(2);
                Drained::Unsupported(refused.get_ref().to_string())
            }
            Err(error) => return Err(error.into()),
        };
        drained.push((strategy, of));
    }
    Ok(drained)
}

async fn drain(
    place: &BenchPlace,
    outbox: Arc<SeaOrmOutbox>,
    strategy: Strategy,
    (each, timer): (Duration, TokioTimer),
    progress: &Progress,
) -> Result<Drained, Failure> {
    let queue = format!("bench-{}", strategy.name().replace('_', "-"));
    let filled = fill(&outbox, &queue, each, timer).await?;
    place.keep().await?;
    progress.advance(1);
    let (handled, all_done) = (Arc::new(AtomicU64::new(0)), Arc::new(Notify::new()));
    let (count, done) = (handled.clone(), all_done.clone());
    let handler = handler_fn(move |_| {
        let (count, done) = (count.clone(), done.clone());
        async move {
            if count.fetch_add(1, Ordering::Relaxed) + 1 == filled {
                done.notify_one();
            }
            Verdict::ack()
        }
    });
    let relay = Relay::new(outbox, timer, RelayConfig::default());
    let began = timer.now();
    let over = async {
        // The last ones are settled before a pipeline has ended.
        let _ = within(&timer, each, all_done.notified()).await;
    };
    let report = relay.pipeline(queue.as_str(), handler)?.run_until(over).await?;
    let took = timer.now() - began;
    progress.advance(1);
    Ok(Drained::Done { messages: report.acked, took })
}

async fn fill(outbox: &SeaOrmOutbox, queue: &str, each: Duration, timer: TokioTimer) -> Result<u64, Failure> {
    const BATCH: u64 = 500;
    let (began, mut filled) = (timer.now(), 0);
    while filled < MOST && timer.now() - began < each || filled == 0 {
        outbox.enqueue_now(&messages(queue, BATCH)?).await?;
        filled += BATCH;
    }
    Ok(filled)
}
