use std::{pin::pin, sync::Arc, time::Duration};

use claimstream::{LocalWakeup, Relay};
use claimstream_domain::QueueName;
use claimstream_ports::{Enqueue, Wakeup};
use claimstream_tokio::TokioTimer;
use futures::StreamExt;

use crate::{
    Failure,
    contender::Own,
    job::{Job, unix_micros},
    library::{self, Tally},
    parent,
};

/// An instance that has been idle for ten seconds, in whose process messages are then enqueued one by one, each waking it
/// after its commit.
pub(crate) async fn run(job: &str) -> Result<(), Failure> {
    let job: Job = serde_json::from_str(job)?;
    let own = Own::named(&job.contender)?;
    let outbox = Arc::new(library::open(&job.url, own, 4).await?);
    let (wakeup, queue) = (Arc::new(LocalWakeup::new()), QueueName::new(library::QUEUE)?);
    let relay = Relay::new(outbox.clone(), TokioTimer::new(), library::relay_config(&job));
    let claims = relay.with_wakeup(wakeup.clone()).claims(library::QUEUE)?;
    parent::wait_for_go()?;
    let tally = Tally::begin();
    let producing = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        for number in 0..job.backlog {
            let message = library::message(number, unix_micros(), &job)?;
            let transaction = outbox.begin().await?;
            outbox.enqueue(&transaction, &[message]).await?;
            transaction.commit().await?;
            wakeup.wake(&queue).await?;
            // Waits of different lengths, so that nothing falls into step.
            tokio::time::sleep(Duration::from_millis(50 + number * 37 % 200)).await;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok::<_, Failure>(())
    };
    let handling = claims.for_each_concurrent(64, |claim| tally.handle(claim));
    match futures::future::select(pin!(producing), pin!(handling)).await {
        futures::future::Either::Left((produced, _)) => produced?,
        futures::future::Either::Right(_) => return Err("the stream has ended".into()),
    }
    parent::report(&tally.end())
}
