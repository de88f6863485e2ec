use std::time::Duration;

use claimstream_domain::Resharding;
use claimstream_ports::StoreError;
use tokio::time::{Instant, sleep};

use super::{
    RESHARD,
    moving::{Moved, move_all, of_shard},
};
use crate::{
    database::{
        Database,
        typed_row::row,
        unit::{rows, run},
    },
    strategy::shard_lease::shard_key::ShardKey,
};

/// How long relays begin no claim in a shard if nobody renews that.
const CLOSED_FOR: Duration = Duration::from_secs(10);
const RENEWED_AFTER: Duration = Duration::from_secs(2);
/// Between two looks whether what is in hand has ended.
const PAUSE: Duration = Duration::from_millis(50);

/// What became of the messages of a shard that belong elsewhere.
pub(super) enum Emptied {
    /// They are there, or gone; so many were moved.
    Yes { moved: u64 },
    /// Some are in hand still.
    Later { moved: u64, held_by: Option<String> },
}

/// Whether a shard has no message, waiting or in hand, whose key belongs elsewhere. No new one comes after the cut, so this stays true.
///
/// It is one statement, because a message that is put off between two of them could be seen by neither.
pub(super) async fn is_in_order(
    db: &Database,
    resharding: Resharding,
    key: &ShardKey,
) -> Result<bool, StoreError> {
    let args = of_shard(db, key);
    let found = db.restarting(|| rows(db.relay(), RESHARD, db.sql.resharding.keys.bind(&args))).await?;
    for row in &found {
        let KeyRow { ordering_key } = KeyRow::read(row)?;
        if resharding.target(key.shard, &ordering_key).is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Moves what belongs elsewhere out of a shard, while relays begin no claim there; gives up after `patience`.
pub(super) async fn empty(
    db: &Database,
    resharding: Resharding,
    key: &ShardKey,
    patience: Duration,
) -> Result<Emptied, StoreError> {
    let emptied = empty_closed(db, resharding, key, patience).await;
    let args = of_shard(db, key);
    db.restarting(|| run(db.relay(), RESHARD, db.sql.resharding.let_go.bind(&args))).await?;
    emptied
}

async fn empty_closed(
    db: &Database,
    resharding: Resharding,
    key: &ShardKey,
    patience: Duration,
) -> Result<Emptied, StoreError> {
    let (until, mut moved, mut closed) = (Instant::now() + patience, 0, None::<Instant>);
    loop {
        if closed.is_none_or(|at| at.elapsed() > RENEWED_AFTER) {
            let args = of_shard(db, key).with("after", CLOSED_FOR.as_micros() as i64);
            db.restarting(|| run(db.relay(), RESHARD, db.sql.resharding.close.bind(&args))).await?;
            closed = Some(Instant::now());
        }
        let is_held = match move_all(db, resharding, key).await? {
            Moved::All(count) => {
                moved += count;
                false
            }
            Moved::Held(count) => {
                moved += count;
                true
            }
        };
        if !is_held && is_in_order(db, resharding, key).await? {
            return Ok(Emptied::Yes { moved });
        }
        let lease = lease(db, key).await?;
        // A relay that died has left its lease: another one has to take it over, which none does while the shard is closed.
        let is_left = is_held && lease.as_ref().is_some_and(|lease| lease.is_over);
        if is_left || Instant::now() > until {
            let held_by = lease.and_then(|lease| lease.label);
            return Ok(Emptied::Later { moved, held_by });
        }
        sleep(PAUSE).await;
    }
}

async fn lease(db: &Database, key: &ShardKey) -> Result<Option<LeaseRow>, StoreError> {
    let args = of_shard(db, key);
    let found = db.restarting(|| rows(db.relay(), RESHARD, db.sql.resharding.lease.bind(&args))).await?;
    found.first().map(LeaseRow::read).transpose()
}

row! {
    struct KeyRow of "resharding/keys" { ordering_key: Vec<u8> }
}

row! {
    struct LeaseRow of "resharding/lease" { label: Option<String>, is_over: bool }
}
