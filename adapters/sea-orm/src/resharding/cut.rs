use claimstream_domain::ShardCount;
use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::ConnectionTrait;

use super::RESHARD;
#[cfg(feature = "mysql")]
use super::{
    prepared::Prepared,
    triggers::{CUT, TRIGGERS, Trigger, change, made, prove_right},
};
#[cfg(feature = "mysql")]
use crate::database::transaction::Transaction;
use crate::database::{
    Database, classify::classify, deadline::in_time, dialect::Dialect, sql::text, unit::run,
};

const IN_FILE: &str = include_str!("../sql/triggers/queue.sqlite.sql");

/// Has every message be written by a count, whatever count its writer knows.
#[derive(Default)]
pub(super) struct Cut {
    #[cfg(feature = "mysql")]
    before: Prepared,
    #[cfg(feature = "mysql")]
    after: Prepared,
}

impl Cut {
    /// Tries it; `false` if transactions are in the way. What has been made stays, so the next attempt is about what is missing.
    ///
    /// A server makes a trigger when each transaction has ended that has used its table. While it waits, those that begin wait behind it,
    /// so it waits for a second and no longer. The row of the resharding is locked meanwhile, so that no other call ends it.
    pub(super) async fn attempt(&mut self, db: &Database, to: ShardCount) -> Result<bool, StoreError> {
        let made = match db.dialect {
            #[cfg(feature = "mysql")]
            Dialect::MySql => self.on_server(db, to).await,
            #[cfg(not(feature = "mysql"))]
            Dialect::MySql => Ok(true),
            Dialect::Sqlite => in_file(db, to).await,
        };
        match made {
            Err(busy) if busy.kind() == StoreErrorKind::Transient => Ok(false),
            made => made,
        }
    }

    #[cfg(feature = "mysql")]
    async fn on_server(&mut self, db: &Database, to: ShardCount) -> Result<bool, StoreError> {
        let on = db.begin(RESHARD).await?;
        match self.make_while_prepared(db, &on, to).await {
            Ok(true) => db.commit(RESHARD, on).await.map(|()| true),
            not_made => {
                db.roll_back(RESHARD, on).await?;
                not_made
            }
        }
    }

    #[cfg(feature = "mysql")]
    async fn make_while_prepared(
        &mut self,
        db: &Database,
        on: &Transaction<'_>,
        to: ShardCount,
    ) -> Result<bool, StoreError> {
        let args = db.args().with("shards", to.get());
        if run(on, RESHARD, db.sql.resharding.cut.bind(&args)).await? == 0 {
            return Ok(false);
        }
        let made = made(db, on, to).await?;
        // After the trigger it would be too late to wait for one that does not end.
        if !made.contains(&CUT) && !self.before.have_ended(db).await? {
            return Ok(false);
        }
        for trigger in TRIGGERS.iter().filter(|trigger| !made.contains(trigger)) {
            if !change(db, &trigger.made_for(to)).await? {
                return Ok(false);
            }
        }
        self.after.have_ended(db).await
    }
}

/// The statement that makes the trigger of a file.
pub(super) fn file_trigger(to: ShardCount) -> String {
    text(IN_FILE).replace(":shards", &to.get().to_string())
}

/// The statement that takes it away.
pub(super) fn file_without_trigger(to: ShardCount) -> String {
    format!("DROP TRIGGER IF EXISTS claimstream_{}_shards_of_queue", to.get())
}

async fn in_file(db: &Database, to: ShardCount) -> Result<bool, StoreError> {
    let trigger = file_trigger(to);
    let args = db.args().with("shards", to.get());
    let whole = || async {
        let on = db.begin(RESHARD).await?;
        if run(&on, RESHARD, db.sql.resharding.cut.bind(&args)).await? == 0 {
            db.roll_back(RESHARD, on).await?;
            return Ok(false);
        }
        in_time(RESHARD, on.execute_unprepared(&trigger), classify).await?;
        db.commit(RESHARD, on).await.map(|()| true)
    };
    db.restarting(whole).await
}

/// What became of an attempt to take a resharding back.
pub(crate) enum Undone {
    /// It is as if it had not begun.
    Yes,
    /// Messages are written by the new count for good.
    IsCut,
    /// Open transactions are in the way, and triggers of bodies may be there still.
    Later,
}

/// Takes a resharding back whose cut is not made.
pub(crate) async fn undo(db: &Database, to: ShardCount) -> Result<Undone, StoreError> {
    // A user without the right would see no trigger where one is.
    #[cfg(feature = "mysql")]
    if db.dialect == Dialect::MySql && !prove_right(db).await? {
        return Ok(Undone::Later);
    }
    let args = db.args().with("shards", to.get());
    let whole = || async {
        let on = db.begin(RESHARD).await?;
        let undone = match run(&on, RESHARD, db.sql.resharding.undo.bind(&args)).await? {
            0 => Ok(Undone::IsCut),
            _ => withdraw(db, &on, to).await,
        };
        match undone {
            Ok(Undone::Yes) => db.commit(RESHARD, on).await.map(|()| Undone::Yes),
            other => {
                db.roll_back(RESHARD, on).await?;
                other
            }
        }
    };
    db.restarting(whole).await
}

/// Takes the triggers of an unfinished cut away. In a file they come with the cut.
#[cfg(feature = "mysql")]
async fn withdraw(db: &Database, on: &impl ConnectionTrait, to: ShardCount) -> Result<Undone, StoreError> {
    if db.dialect == Dialect::Sqlite {
        return Ok(Undone::Yes);
    }
    let made = made(db, on, to).await?;
    if made.contains(&CUT) {
        return Ok(Undone::IsCut);
    }
    match drop_all(db, &made, to).await? {
        true => Ok(Undone::Yes),
        false => Ok(Undone::Later),
    }
}

#[cfg(not(feature = "mysql"))]
async fn withdraw(_: &Database, _: &impl ConnectionTrait, _: ShardCount) -> Result<Undone, StoreError> {
    Ok(Undone::Yes)
}

#[cfg(feature = "mysql")]
async fn drop_all(db: &Database, triggers: &[Trigger], to: ShardCount) -> Result<bool, StoreError> {
    for trigger in triggers.iter().rev() {
        if !change(db, &trigger.dropped_for(to)).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Takes the triggers away, and forgets the resharding; `false` if open transactions are in the way.
pub(crate) async fn end(db: &Database, to: ShardCount) -> Result<bool, StoreError> {
    let args = db.args().with("shards", to.get());
    match db.dialect {
        #[cfg(feature = "mysql")]
        Dialect::MySql => {
            if !drop_all(db, &TRIGGERS, to).await? {
                return Ok(false);
            }
            db.restarting(|| run(db.relay(), RESHARD, db.sql.resharding.end.bind(&args))).await?;
        }
        #[cfg(not(feature = "mysql"))]
        Dialect::MySql => {}
        Dialect::Sqlite => {
            let drop = file_without_trigger(to);
            let whole = || async {
                let on = db.begin(RESHARD).await?;
                in_time(RESHARD, on.execute_unprepared(&drop), classify).await?;
                run(&on, RESHARD, db.sql.resharding.end.bind(&args)).await?;
                db.commit(RESHARD, on).await
            };
            db.restarting(whole).await?;
        }
    }
    Ok(true)
}
