use std::{future::Future, sync::Arc, time::Duration};

use claimstream_domain::SweepPace;
use claimstream_ports::{Measured, StoreError};
use uuid::Uuid;

use crate::{
    database::{clock::micros, store_timer::Stopwatch},
    sweep::{chunk::Left, sweeper::Sweeper, swept::SWEEP, window::Window},
};

/// The names of instances are kept at least that long, for later investigations.
pub(crate) const KEEP_INSTANCES: Duration = Duration::from_secs(24 * 3600);

/// Chunks that follow each other at a pace, as long as the database can bear it.
///
/// Each chunk is a unit of work; a caller that drops a round lets the chunk that is under way come to its end.
pub(crate) struct Round {
    pub(crate) sweeper: Arc<Sweeper>,
    pace: SweepPace,
    looked: Option<Stopwatch>,
    /// How many ids it holds at a time.
    window: usize,
}

impl Round {
    const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

    pub(crate) fn of(sweeper: &Arc<Sweeper>) -> Self {
        Self {
            sweeper: Arc::new(sweeper.beginning_now()),
            pace: SweepPace::default(),
            looked: None,
            window: Window::SIZE,
        }
    }

    /// One chunk of what this process has finished; `None` if there is nothing.
    pub(crate) async fn leftovers(&mut self) -> Result<Option<Left>, StoreError> {
        if self.sweeper.leftovers.len() == 0 {
            return Ok(None);
        }
        self.sweeper = Arc::new(self.sweeper.beginning_now());
        let chunk = |sweeper: Arc<Sweeper>, most| async move { sweeper.sweep_leftovers(most).await };
        let left = self.chunk(chunk).await?;
        self.sweeper.db.measure(Measured::Swept { rows: left.deleted });
        Ok(Some(left))
    }

    /// Dead letters keep their bodies, and so their ids; one that has lost it gets it back, unless its id has been used again.
    pub(super) async fn restore(&mut self) -> Result<(), StoreError> {
        let mut after = Uuid::nil();
        loop {
            let chunk =
                move |sweeper: Arc<Sweeper>, most| async move { sweeper.restore_bodies(after, most).await };
            let Some((last, restored)) = self.chunk(chunk).await? else { return Ok(()) };
            tracing::info!(restored, "dead letters had lost their bodies; the bodies were restored");
            after = last;
        }
    }

    /// Ids that contain their time show where to stop: those made after the bound are passed over, and only ids that lie
    /// beyond all times, such as random ones, are looked at behind them.
    pub(super) async fn bodies(&mut self, bound: i64) -> Result<u64, StoreError> {
        let tomorrow = self.sweeper.db.clock.local().max(bound).saturating_add(micros(KEEP_INSTANCES));
        let timed = self.stretch(Uuid::nil(), first_id_of(bound), bound).await?;
        let untimed = self.stretch(first_id_of(tomorrow), Uuid::max(), bound).await?;
        Ok(timed + untimed)
    }

    /// Sweeps window by window, so that its memory does not grow with the outbox; the live messages of a window are read after
    /// it. A message that was stored before the bound and is not live cannot become live again, except by a revival, which
    /// stores it again.
    async fn stretch(&mut self, after: Uuid, last: Uuid, bound: i64) -> Result<u64, StoreError> {
        let (mut after, mut swept) = (after, 0);
        loop {
            let mut window = self.window(after, last, bound).await?;
            let Some(newest) = window.newest() else { return Ok(swept) };
            after = newest;
            window = self.unit(|sweeper| async move { sweeper.strike_live(window).await }).await?;
            let mut finished = window.rest();
            while !finished.is_empty() {
                let chunk = move |sweeper: Arc<Sweeper>, most: u32| async move {
                    let left = finished.split_off(finished.len().min(most as usize));
                    sweeper
                        .delete_bodies(finished, bound, || sweeper.check_server())
                        .await
                        .map(|deleted| (deleted, left))
                };
                let (deleted, left) = self.chunk(chunk).await?;
                (swept, finished) = (swept + deleted, left);
            }
        }
    }

    /// The next bodies that may go.
    async fn window(&mut self, mut after: Uuid, last: Uuid, bound: i64) -> Result<Window, StoreError> {
        let mut window = Window::of(self.window);
        while window.room() > 0 {
            let room = u32::try_from(window.room()).unwrap_or(u32::MAX);
            let chunk = move |sweeper: Arc<Sweeper>, most: u32| async move {
                sweeper.old_bodies(after, last, bound, most.min(room)).await
            };
            let page = self.chunk(chunk).await?;
            let Some(newest) = page.last() else { break };
            after = *newest;
            window.add(page);
        }
        Ok(window)
    }

    /// A message that has a body is live, was revived, or has not been swept yet.
    pub(super) async fn dedup_keys(&mut self, bound: i64) -> Result<u64, StoreError> {
        let (mut from, mut swept) = (0, 0);
        loop {
            let chunk = move |sweeper: Arc<Sweeper>, most| async move {
                sweeper.sweep_dedup_keys(from, bound, most).await
            };
            let Some((next, deleted)) = self.chunk(chunk).await? else { return Ok(swept) };
            (from, swept) = (next, swept + deleted);
        }
    }

    /// Does a chunk of work of a size that suits, once the database can bear it, and rests.
    pub(crate) async fn chunk<T, F>(
        &mut self,
        work: impl FnOnce(Arc<Sweeper>, u32) -> F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        self.bearable().await?;
        let (begun, most) = (self.sweeper.db.timer().stopwatch(), self.pace.chunk());
        let done = self.unit(|sweeper| work(sweeper, most)).await?;
        let (pace, rest) = self.pace.after(begun.elapsed());
        self.pace = pace;
        self.sweeper.pause(rest).await;
        Ok(done)
    }

    /// Waits as long as the database is under more strain than is allowed; it looks once a second at most.
    pub(super) async fn bearable(&mut self) -> Result<(), StoreError> {
        if self.looked.as_ref().is_some_and(|looked| looked.elapsed() < Self::BETWEEN_LOOKS) {
            return Ok(());
        }
        let limit = self.sweeper.limit;
        let mut waits = false;
        loop {
            let strain = self.unit(|sweeper| async move { sweeper.strain().await }).await?;
            self.looked = Some(self.sweeper.db.timer().stopwatch());
            if limit.allows(strain) {
                return Ok(());
            }
            if !std::mem::replace(&mut waits, true) {
                tracing::info!(
                    history = strain.history,
                    history_limit = limit.history,
                    lag_seconds = strain.lag.map(|lag| lag.as_secs_f64()),
                    lag_limit_seconds = limit.lag.as_secs_f64(),
                    "the sweep waits until the database is under less strain"
                );
            }
            self.sweeper.pause(Self::BETWEEN_LOOKS).await;
        }
    }

    pub(crate) async fn unit<T, F>(&self, work: impl FnOnce(Arc<Sweeper>) -> F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        self.sweeper.db.detached(SWEEP, work(Arc::clone(&self.sweeper))).await
    }
}

impl Sweeper {
    /// Lets time pass, on whatever executor the caller runs.
    pub(crate) async fn pause(&self, time: Duration) {
        let timer = self.db.timer().clone();
        if self.db.runtime.spawn(async move { timer.sleep(time).await }).await.is_err() {
            // The runtime has ended, and with it all work.
            std::future::pending::<()>().await;
        }
    }
}

/// The moment that is so long before another; both in microseconds since 1970.
pub(crate) fn before(now: i64, long: Duration) -> i64 {
    now.saturating_sub(micros(long)).max(0)
}

/// The least id that a version 7 or a ULID of this moment can be.
pub(crate) fn first_id_of(micros: i64) -> Uuid {
    let millis = u64::try_from(micros / 1000).unwrap_or_default().min((1 << 48) - 1);
    Uuid::from_u128(u128::from(millis) << 80)
}

#[cfg(test)]
mod tests;
