use std::time::Duration;

use claimstream_ports::StoreError;
use sea_orm::{ConnectionTrait, DatabaseTransaction, DbErr, IsolationLevel, TransactionTrait};
use uuid::Uuid;

use crate::{
    database::{
        args::bytes,
        classify::classify,
        deadline::in_time,
        dialect::Dialect,
        sql::Sql,
        transaction::Transaction,
        typed_row::row,
        unit::{Row, rows, run},
    },
    dead_letters::letters::{dead_among, ids_args},
    sweep::{sweeper::Sweeper, swept::SWEEP, window::Window},
};

/// How many live messages one statement reads.
const LIVE_PAGE: i64 = 10_000;

/// A chunk of what this process has finished.
pub(crate) struct Left {
    pub(crate) taken: usize,
    pub(crate) deleted: u64,
}

impl Sweeper {
    /// Deletes the bodies of the oldest messages that this process has finished.
    ///
    /// Read first, because an id may be in use again: if another sweep has deleted the body meanwhile, the same id is new
    /// to the caller that enqueues it. A body that is read is older than the settlement or stays, and a body that is deleted is as
    /// old as the one that was read. What was finished on a server that another one has replaced, or before a connection broke, is left to the
    /// whole sweep: a server that comes back may have lost its last commits, and the message may be live.
    pub(super) async fn sweep_leftovers(&self, most: u32) -> Result<Left, StoreError> {
        let mut left = self.leftovers.take(most as usize);
        let taken = left.len();
        left.retain(|left| self.check_server_since(&left.settling).is_ok());
        let oldest = left.iter().map(|left| left.settling).min_by_key(|settling| settling.at);
        let args = self.db.args().with_list("ids", left.iter().map(|left| bytes(left.id)));
        let found =
            self.db.restarting(|| rows(self.db.relay(), SWEEP, self.db.sql.sweep.left.bind(&args))).await?;
        let now = self.db.clock.elapsed();
        let (mut finished, mut newest) = (Vec::new(), i64::MIN);
        for row in &found {
            let LeftRow { id, stored_at, age } = LeftRow::read(row)?;
            let age = Duration::from_micros(u64::try_from(age).unwrap_or_default());
            if left.iter().any(|left| left.id == id && left.is_of(age, now)) {
                finished.push(id);
                newest = newest.max(stored_at);
            }
        }
        let check = || oldest.map_or(Ok(()), |oldest| self.check_server_since(&oldest));
        let deleted = self.delete_bodies(finished, newest.saturating_add(1), check).await?;
        tracing::debug!(taken, deleted, "bodies of finished messages deleted");
        Ok(Left { taken, deleted })
    }

    /// Some ids between two that have bodies stored before the bound, in order.
    pub(super) async fn old_bodies(
        &self,
        after: Uuid,
        last: Uuid,
        bound: i64,
        most: u32,
    ) -> Result<Vec<Uuid>, StoreError> {
        let args = self.db.args().with("after", bytes(after)).with("last", bytes(last));
        let args = args.with("bound", bound).with("limit", i64::from(most));
        let page =
            self.db.restarting(|| rows(self.db.relay(), SWEEP, self.db.sql.sweep.page.bind(&args))).await?;
        page.iter().map(|row| row.uuid("id")).collect()
    }

    /// Strikes the live ones out of a window.
    pub(super) async fn strike_live(&self, window: Window) -> Result<Window, StoreError> {
        self.db
            .restarting(|| async {
                let (snapshot, mut window) = (self.snapshot().await?, window.clone());
                let look = |row: &Row| {
                    window.strike(row.uuid("id")?);
                    Ok(())
                };
                let read = match self.each_live(&snapshot, &self.db.sql.sweep.live, look).await {
                    Ok(()) => self.strike_unreadable(&snapshot, &mut window).await,
                    Err(error) => Err(error),
                };
                self.db.roll_back(SWEEP, Transaction::of_pool(snapshot)).await?;
                read.map(|()| window)
            })
            .await
    }

    /// Strikes out what no claim can read: an operator may mend those rows.
    async fn strike_unreadable(
        &self,
        snapshot: &impl ConnectionTrait,
        window: &mut Window,
    ) -> Result<(), StoreError> {
        let mut after = Uuid::nil();
        loop {
            let args = self.db.args().with("after", bytes(after)).with("limit", LIVE_PAGE);
            let page = rows(snapshot, SWEEP, self.db.sql.sweep.unreadable.bind(&args)).await?;
            for row in &page {
                after = row.uuid("id")?;
                window.strike(after);
            }
            if page.is_empty() {
                return Ok(());
            }
        }
    }

    /// Deletes bodies of messages that are not live. The body of a dead letter stays: it may be revived, and while its body is
    /// there no new message can take its id. A body that was stored at the bound or later stays too.
    ///
    /// The server is checked when the connection is at hand.
    pub(super) async fn delete_bodies(
        &self,
        mut ids: Vec<Uuid>,
        bound: i64,
        check: impl Fn() -> Result<(), DbErr>,
    ) -> Result<u64, StoreError> {
        if ids.is_empty() {
            return Ok(0);
        }
        let dead = dead_among(&self.db, SWEEP, &ids).await?;
        ids.retain(|id| !dead.contains(id));
        if ids.is_empty() {
            return Ok(0);
        }
        let args = ids_args(&self.db, &ids).with("bound", bound);
        self.delete_checked(self.db.sql.sweep.delete.bind(&args), check).await
    }

    /// Gives some dead letters that have lost their bodies theirs back: the last of them and how many; `None` if there is none.
    pub(super) async fn restore_bodies(
        &self,
        after: Uuid,
        most: u32,
    ) -> Result<Option<(Uuid, u64)>, StoreError> {
        let args = self.db.args().with("after", bytes(after)).with("limit", i64::from(most));
        let page = self
            .db
            .restarting(|| rows(self.db.relay(), SWEEP, self.db.sql.dead_letters.bare.bind(&args)))
            .await?;
        let ids = page.iter().map(|row| row.uuid("id")).collect::<Result<Vec<_>, _>>()?;
        let Some(last) = ids.last().copied() else { return Ok(None) };
        let args = ids_args(&self.db, &ids);
        let restored = self
            .db
            .restarting(|| run(self.db.relay(), SWEEP, self.db.sql.dead_letters.body.bind(&args)))
            .await?;
        Ok(Some((last, restored)))
    }

    pub(super) async fn sweep_instances(&self, bound: i64) -> Result<u64, StoreError> {
        let args = self.db.args().with("bound", bound);
        self.db.restarting(|| run(self.db.relay(), SWEEP, self.db.sql.sweep.instances.bind(&args))).await
    }

    /// The server's time, asked for now.
    pub(crate) async fn fresh_now(&self) -> Result<i64, StoreError> {
        self.db.clock.forget();
        self.db.restarting(|| self.db.now(self.db.relay(), SWEEP)).await
    }

    /// A transaction in which everything is as of one moment.
    pub(super) async fn snapshot(&self) -> Result<DatabaseTransaction, StoreError> {
        let isolation = (self.db.dialect == Dialect::MySql).then_some(IsolationLevel::RepeatableRead);
        in_time(SWEEP, self.db.relay().begin_with_config(isolation, None), classify).await
    }

    /// Looks at each live message that claims can read, page by page; a page begins with id, queue, shard and due time.
    pub(super) async fn each_live(
        &self,
        snapshot: &impl ConnectionTrait,
        page_of: &Sql,
        mut look: impl FnMut(&Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let (mut queue, mut shard, mut due_at, mut after) = (Vec::<u8>::new(), i64::MIN, 0, Uuid::nil());
        loop {
            let args = self.db.args().with("queue", queue).with("shard", shard);
            let args = args.with("due_at", due_at).with("after", bytes(after)).with("limit", LIVE_PAGE);
            let page = rows(snapshot, SWEEP, page_of.bind(&args)).await?;
            let Some(last) = page.last() else { return Ok(()) };
            LiveRow { id: after, queue, shard, due_at } = LiveRow::read(last)?;
            page.iter().try_for_each(&mut look)?;
        }
    }
}

row! {
    /// A body of a message that this process has finished.
    struct LeftRow of "sweep/left" { id: Uuid, stored_at: i64, age: i64 }
}

row! {
    /// The place of a live message.
    struct LiveRow of "sweep/live", "alive/live" { id: Uuid, queue: Vec<u8>, shard: i64, due_at: i64 }
}
