use std::{convert::Infallible, time::Duration};

use claimstream_domain::Retention;
use claimstream_ports::StoreError;

use crate::{
    outbox::handle::SeaOrmOutbox,
    sweep::{round::Round, swept::Swept},
};

impl SeaOrmOutbox {
    const FIRST_SWEEP: Duration = Duration::from_secs(60);
    const BETWEEN_LEFTOVERS: Duration = Duration::from_secs(1);

    /// Deletes once what finished messages left behind and [`retention`](crate::OpenOptions::retention) does not keep:
    /// their bodies and their dedup keys; and with them the names of instances that are gone, what operators did more than a year
    /// ago, and what further [capabilities](crate::Capability) keep for a while only, such as old steps. A live message and its key are never touched.
    ///
    /// Settling a message deletes its queue entry only, because deleting the body with it would cost a quarter of the
    /// throughput; the body is left for this. Bodies go by primary key in small chunks, each a statement of its own, with
    /// rests in between; none begins while the database is under more [strain](crate::OpenOptions::strain_limit) than was
    /// allowed. A caller that stops waiting stops the sweep.
    pub async fn sweep(&self) -> Result<Swept, StoreError> {
        let mut round = Round::of(&self.state.sweeper);
        let mut finished = self.state.sweeper.leftovers.len();
        let (mut bodies, mut failed) = (0, None);
        while finished > 0 && failed.is_none() {
            match round.leftovers().await {
                Ok(None) => break,
                Ok(Some(left)) => {
                    finished = finished.saturating_sub(left.taken);
                    bodies += left.deleted;
                }
                Err(error) => failed = Some(error),
            }
        }
        let swept = self.sweep_all(&mut round).await;
        failed.map_or(swept, Err).map(|swept| Swept { bodies: bodies + swept.bodies, ..swept })
    }

    async fn sweep_all(&self, round: &mut Round) -> Result<Swept, StoreError> {
        round.all(&self.state.sweeps, &self.state.needed).await
    }

    /// Sweeps from time to time, as long as it is polled: next to a relay, or in a task of its own.
    ///
    /// One process that does it is enough for a database, and any number may; but what [`Retention::DELETE`] deletes soon
    /// after its settlement is deleted by the process that settled it. An error is logged, and a later sweep makes up for
    /// it.
    pub async fn sweep_regularly(&self) -> Infallible {
        tokio::join!(self.sweep_all_regularly(), self.sweep_leftovers_regularly()).0
    }

    async fn sweep_all_regularly(&self) -> Infallible {
        let interval = interval(self.state.sweeper.retention);
        // Soon after the start, for processes that never run for long, and not at once, for a look before anything is
        // deleted.
        self.state.sweeper.pause(Self::FIRST_SWEEP).await;
        loop {
            if let Err(error) = self.sweep_all(&mut Round::of(&self.state.sweeper)).await {
                tracing::warn!(%error, "sweep failed; it is tried again in {interval:?}");
            }
            self.state.sweeper.pause(interval).await;
        }
    }

    async fn sweep_leftovers_regularly(&self) -> Infallible {
        let mut round = Round::of(&self.state.sweeper);
        loop {
            match round.leftovers().await {
                Ok(Some(_)) => continue,
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "bodies were not deleted; a later sweep deletes them"),
            }
            self.state.sweeper.pause(Self::BETWEEN_LEFTOVERS).await;
        }
    }
}

fn interval(retention: Retention) -> Duration {
    (retention.of_bodies() / 24).clamp(Duration::from_secs(600), Duration::from_secs(3600))
}
