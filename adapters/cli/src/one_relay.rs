use std::{convert::Infallible, sync::Arc, time::Duration};

use claimstream::ConcurrencyShare;
use claimstream_metrics::{DatabaseLabel, begin_at_zero_in};
use claimstream_ports::{Observe, StoreError, Telemetry, Timer};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;
use tokio::sync::watch;

use crate::{
    OpenError,
    config::{Config, DatabaseName},
    emptied::emptied,
    failure::Failure,
    notification_relay::Surroundings,
    open_databases::OpenDatabases,
    probing::Counting,
    relay_log::announce,
    tally::Tally,
    wakeups::Wakeups,
    work::{Purpose, WorkReport},
};

/// The relay on one of several databases: it waits for a database that is away, and ends when `stop` says so.
pub(crate) struct OneRelay {
    pub(crate) name: DatabaseName,
    /// The configuration as if it had this database alone.
    pub(crate) config: Config,
    pub(crate) timer: TokioTimer,
    pub(crate) purpose: Purpose,
    pub(crate) until: Until,
    /// Whether the database is being emptied.
    pub(crate) drain: watch::Receiver<bool>,
    pub(crate) stop: watch::Receiver<bool>,
    pub(crate) telemetry: Option<Arc<dyn Telemetry>>,
    pub(crate) counting: Option<Counting>,
    pub(crate) share: Option<ConcurrencyShare>,
    pub(crate) wakeups: Arc<Wakeups>,
    pub(crate) databases: OpenDatabases,
}

/// When a relay ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Until {
    /// When the process ends or the database is taken out of the configuration.
    Stopped,
    /// When nothing is due or leased any more; a database that is away is an error then.
    Empty,
}

/// How a relay on one database has ended.
#[derive(Default)]
pub(crate) struct RelayEnd {
    /// What became of its messages; nothing if it never began.
    pub(crate) report: Option<WorkReport>,
    /// Whether messages are left that a broker has not taken.
    pub(crate) is_unpublished: bool,
}

impl OneRelay {
    /// The longest wait before a database that is away is asked again.
    const LONGEST_WAIT: Duration = Duration::from_secs(5);
    /// A database that stays away is logged once in so many attempts.
    const LOGGED: u32 = 12;

    /// Relays until it has to stop, or until nothing is left.
    pub(crate) async fn run(mut self) -> Result<RelayEnd, Failure> {
        let Some(outbox) = self.open().await? else { return Ok(RelayEnd::default()) };
        let tally = Arc::new(Tally::of(Some(self.name.clone()), self.timer));
        let telemetry = Some(tally.and(self.telemetry.clone()));
        let around = Surroundings { wakeups: self.wakeups.clone(), telemetry, share: self.share.clone() };
        let relay = self.purpose.work(&around, &outbox, &self.config)?;
        if self.counting.is_some() {
            let label = DatabaseLabel::named(self.name.as_str());
            relay.monitors().iter().for_each(|(queue, _)| begin_at_zero_in(&label, queue));
        }
        let queues: Vec<String> = relay.monitors().into_iter().map(|(queue, _)| queue).collect();
        self.databases.enter(&self.name, relay.monitors());
        announce(&self.config.database, &outbox);
        let (mut stop, until, timer) = (self.stop.clone(), self.until, self.timer);
        let unpublished = relay.unpublished();
        let shutdown = async {
            tokio::select! {
                () = stopped(&mut stop) => (),
                () = emptied(&queues, &unpublished, &outbox, &outbox, &timer), if until == Until::Empty => tracing::info!("nothing is due or leased"),
            }
        };
        let report = tokio::select! {
            report = relay.run_until(shutdown) => report?,
            never = tally.log_regularly() => match never {},
            never = outbox.sweep_regularly() => match never {},
            never = count(self.counting.take(), &outbox) => match never {},
            never = say_when_drained(&outbox, self.drain.clone(), timer) => match never {},
        };
        tally.log();
        let mut ended = RelayEnd { report: Some(report), ..RelayEnd::default() };
        if self.until == Until::Empty {
            outbox.sweep().await?;
            ended.is_unpublished = unpublished.is_left(&outbox).await?;
        }
        Ok(ended)
    }

    /// Opens the database, as often as it takes; `None` if the relay has to stop before.
    async fn open(&mut self) -> Result<Option<SeaOrmOutbox>, Failure> {
        let mut stop = self.stop.clone();
        let database = self.purpose.database(&self.config);
        for attempt in 0_u32.. {
            let opened = tokio::select! {
                opened = database.open_one_of_several(self.telemetry.clone()) => opened,
                () = stopped(&mut stop) => return Ok(None),
            };
            let error = match opened {
                Ok(outbox) => return Ok(Some(outbox)),
                Err(error @ OpenError::Config(_)) => return Err(error.into()),
                Err(error) if self.until == Until::Empty => return Err(error.into()),
                Err(error) => error,
            };
            if attempt % Self::LOGGED == 0 {
                tracing::error!(%error, attempts = attempt + 1, "the database cannot be opened and is tried again; others go on");
            }
            let wait = Duration::from_millis(250).saturating_mul(attempt + 1).min(Self::LONGEST_WAIT);
            tokio::select! {
                () = self.timer.sleep(wait) => (),
                () = stopped(&mut stop) => return Ok(None),
            }
        }
        Ok(None)
    }
}

/// Ends when the relay has to stop; an error says that the sender is gone.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn count(counting: Option<Counting>, outbox: &SeaOrmOutbox) -> Infallible {
    match counting {
        Some(counting) => counting.run(outbox).await,
        None => std::future::pending().await,
    }
}

/// Says once that a database that is being emptied is empty, and again if it was not for a while.
async fn say_when_drained(
    outbox: &SeaOrmOutbox,
    mut drain: watch::Receiver<bool>,
    timer: TokioTimer,
) -> Infallible {
    let mut was_empty = 0;
    loop {
        if drain.wait_for(|drain| *drain).await.is_err() {
            std::future::pending::<()>().await;
        }
        // A message that is written while the queues are counted is seen by the next count.
        match left(outbox).await {
            Ok((0, dead_letters)) => {
                was_empty += 1;
                if was_empty == 2 {
                    tracing::info!(
                        dead_letters,
                        "the database is empty; it can be taken out of the configuration"
                    );
                }
            }
            Ok(_) => was_empty = 0,
            Err(error) => tracing::warn!(%error, "it is not known whether the database is empty"),
        }
        timer.sleep(Duration::from_secs(1)).await;
    }
}

/// How many messages all queues hold, those of a later time included, and how many dead letters there are.
async fn left(outbox: &SeaOrmOutbox) -> Result<(u64, u64), StoreError> {
    let queues = outbox.observe().await?;
    Ok((queues.iter().map(|status| status.depth).sum(), queues.iter().map(|status| status.dead).sum()))
}
