use std::{
    collections::HashSet,
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use claimstream_domain::{Retention, SweepPace};
use claimstream_ports::StoreError;
use uuid::Uuid;

use super::{
    SWEEP, Swept,
    chunk::{Left, Stretch},
};
use crate::{clock::micros, unit::Store};

/// Instances are kept at least that long, for people who look at what happened.
const KEEP_INSTANCES: Duration = Duration::from_secs(24 * 3600);

/// A lock that nobody has held for that long is forgotten; its fence then goes on from the time.
const KEEP_LOCKS: Duration = Duration::from_secs(24 * 3600);

/// Chunks that follow each other at a pace, as long as the database can bear it.
///
/// Each chunk is a unit of work; whoever drops a round lets the one that is under way come to its end.
pub(super) struct Round {
    store: Arc<Store>,
    pace: SweepPace,
    looked: Option<Instant>,
}

impl Round {
    const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

    pub(super) fn of(store: &Arc<Store>) -> Self {
        Self { store: Arc::clone(store), pace: SweepPace::default(), looked: None }
    }

    /// One chunk of what this process has finished; `None` if there is nothing.
    pub(super) async fn leftovers(&mut self) -> Result<Option<Left>, StoreError> {
        if self.store.upkeep.leftovers.len() == 0 {
            return Ok(None);
        }
        let chunk = |store: Arc<Store>, most| async move { store.sweep_leftovers(most).await };
        self.chunk(chunk).await.map(Some)
    }

    /// One bound for all of it: what is live is read after the bound was, so that nothing that is stored before the bound
    /// and not among the live can become live again, unless by a revival, which stores it anew.
    pub(super) async fn all(&mut self) -> Result<Swept, StoreError> {
        self.bearable().await?;
        let retention = self.store.upkeep.retention;
        let now = self.unit(|store| async move { store.fresh_now().await }).await?;
        let before = |keep: Duration| now.saturating_sub(micros(keep)).max(0);
        let bodies = self.bodies(before(retention.of_bodies())).await?;
        let dedup_keys = self.dedup_keys(before(retention.of_keys())).await?;
        let instances = before(retention.of_keys().max(KEEP_INSTANCES));
        self.unit(move |store| async move { store.sweep_instances(instances).await }).await?;
        self.locks(before(KEEP_LOCKS)).await?;
        let steps = self.steps(before(self.store.upkeep.step_retention)).await?;
        tracing::info!(bodies, dedup_keys, steps, "swept");
        Ok(Swept { bodies, dedup_keys, steps })
    }

    /// Ids that tell their time show where to stop: those made after the bound are passed over, and only ids that lie
    /// beyond all times, such as random ones, are looked at behind them.
    async fn bodies(&mut self, bound: i64) -> Result<u64, StoreError> {
        let live: HashSet<Uuid> = self.unit(|store| async move { store.live().await }).await?;
        let live = Arc::new(live);
        let tomorrow = self.store.clock.local().max(bound).saturating_add(micros(KEEP_INSTANCES));
        let stretch = |after, last| Stretch { after, last, bound, live: Arc::clone(&live) };
        let told = self.stretch(stretch(Uuid::nil(), first_id_of(bound))).await?;
        let untold = self.stretch(stretch(first_id_of(tomorrow), Uuid::max())).await?;
        Ok(told + untold)
    }

    async fn stretch(&mut self, mut stretch: Stretch) -> Result<u64, StoreError> {
        let mut swept = 0;
        loop {
            let part = stretch.clone();
            let chunk = move |store: Arc<Store>, most| async move { store.sweep_stretch(&part, most).await };
            let Some((newest, deleted)) = self.chunk(chunk).await? else { return Ok(swept) };
            stretch.after = newest;
            swept += deleted;
        }
    }

    /// Bodies have been swept by this bound or a later one: a message that still has one is live, or was revived.
    async fn dedup_keys(&mut self, bound: i64) -> Result<u64, StoreError> {
        let (mut from, mut swept) = (0, 0);
        loop {
            let chunk =
                move |store: Arc<Store>, most| async move { store.sweep_dedup_keys(from, bound, most).await };
            let Some((newest, deleted)) = self.chunk(chunk).await? else { return Ok(swept) };
            from = newest;
            swept += deleted;
        }
    }

    async fn locks(&mut self, bound: i64) -> Result<(), StoreError> {
        let chunk = |store: Arc<Store>, most| async move { store.sweep_locks(bound, most).await };
        while self.chunk(chunk).await? > 0 {}
        Ok(())
    }

    /// Steps that were last changed before the bound, and before the oldest message that may still come for one of them;
    /// runs go whole.
    pub(super) async fn steps(&mut self, bound: i64) -> Result<u64, StoreError> {
        if !self.unit(move |store| async move { store.has_old_steps(bound).await }).await? {
            return Ok(0);
        }
        let alive = self.unit(|store| async move { store.oldest_alive().await }).await?;
        let bound = alive.map_or(bound, |alive| bound.min(alive.saturating_sub(micros(Retention::SHORTEST))));
        let (mut from, mut swept) = (0, 0);
        loop {
            let chunk =
                move |store: Arc<Store>, most| async move { store.sweep_steps(from, bound, most).await };
            let Some((newest, deleted)) = self.chunk(chunk).await? else { return Ok(swept) };
            from = newest;
            swept += deleted;
        }
    }

    /// Does a chunk of work of a size that suits, once the database can bear it, and rests.
    async fn chunk<T, F>(&mut self, work: impl FnOnce(Arc<Store>, u32) -> F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        self.bearable().await?;
        let (begun, most) = (Instant::now(), self.pace.chunk());
        let done = self.unit(|store| work(store, most)).await?;
        let (pace, rest) = self.pace.after(begun.elapsed());
        self.pace = pace;
        self.store.rest(rest).await;
        Ok(done)
    }

    /// Waits as long as the database is under more strain than is allowed; it looks once a second at most.
    async fn bearable(&mut self) -> Result<(), StoreError> {
        if self.looked.is_some_and(|looked| looked.elapsed() < Self::BETWEEN_LOOKS) {
            return Ok(());
        }
        let limit = self.store.upkeep.limit;
        let mut waits = false;
        loop {
            let strain = self.unit(|store| async move { store.strain().await }).await?;
            self.looked = Some(Instant::now());
            if limit.allows(strain) {
                return Ok(());
            }
            if !std::mem::replace(&mut waits, true) {
                tracing::info!(?strain, ?limit, "a sweep waits");
            }
            self.store.rest(Self::BETWEEN_LOOKS).await;
        }
    }

    async fn unit<T, F>(&self, work: impl FnOnce(Arc<Store>) -> F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        self.store.detached(SWEEP, work(Arc::clone(&self.store))).await
    }
}

impl Store {
    /// Lets time pass, on whatever executor the caller runs.
    pub(super) async fn rest(&self, time: Duration) {
        if self.runtime.spawn(tokio::time::sleep(time)).await.is_err() {
            // The runtime has ended, and with it all work.
            std::future::pending::<()>().await;
        }
    }
}

/// The least id that a version 7 or a ULID of this moment can be.
fn first_id_of(micros: i64) -> Uuid {
    let millis = u64::try_from(micros / 1000).unwrap_or_default().min((1 << 48) - 1);
    Uuid::from_u128(u128::from(millis) << 80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_a_moment_begin_with_it() {
        let id = Uuid::now_v7();
        let micros = (id.as_u128() >> 80) as i64 * 1000;
        assert!(first_id_of(micros) <= id && id < first_id_of(micros + 1000));
        assert_eq!(first_id_of(-1), Uuid::nil());
    }
}
