use std::time::Duration;

use claimstream_domain::Resharding;
use claimstream_ports::StoreError;

use super::{RESHARD, closing::Closed, moving::Walk, of_shard, order::is_in_order};
use crate::{
    database::{Database, typed_row::row, unit::rows},
    strategy::shard_lease::shard_key::ShardKey,
};

/// Between two looks whether what is in hand has ended.
const PAUSE: Duration = Duration::from_millis(50);

/// What became of the messages of a shard that belong elsewhere.
pub(super) enum Emptied {
    /// They are there, or gone; so many were moved.
    Yes { moved: u64 },
    /// Some are in hand still.
    Later { moved: u64, holder: Holder },
}

/// The relay under whose lease messages are in hand.
pub(super) struct Holder {
    pub(super) label: Option<String>,
    /// Its lease has run out, so it is gone: another one has to take the shard over, which none does while the shard is closed.
    pub(super) is_gone: bool,
}

/// Moves what belongs elsewhere out of a shard, while relays begin no claim there; gives up when it has waited for so long
/// and nothing has moved.
pub(super) async fn empty(
    db: &Database,
    resharding: Resharding,
    key: &ShardKey,
    timeout: Duration,
) -> Result<Emptied, StoreError> {
    let mut closed = Closed::close(db, key).await?;
    let emptied = empty_closed(db, resharding, key, timeout, &mut closed).await;
    closed.let_go().await?;
    emptied
}

async fn empty_closed(
    db: &Database,
    resharding: Resharding,
    key: &ShardKey,
    timeout: Duration,
    closed: &mut Closed<'_>,
) -> Result<Emptied, StoreError> {
    // The timeout is for what is in hand, not for walks.
    let (mut walk, mut moved, mut waited) = (Walk::new(), 0, Duration::ZERO);
    loop {
        let before = walk.pages();
        let is_held = !walk.go_on(db, resharding, key, closed).await?;
        if is_held && walk.pages() > before {
            waited = Duration::ZERO;
        }
        if !is_held {
            moved += walk.moved();
            walk = Walk::new();
            if is_in_order(db, resharding, key).await? {
                return Ok(Emptied::Yes { moved });
            }
        }
        let lease = lease(db, key).await?;
        let is_gone = is_held && lease.as_ref().is_some_and(|lease| lease.is_left);
        if is_gone || waited > timeout {
            let label = lease.and_then(|lease| lease.label);
            return Ok(Emptied::Later { moved: moved + walk.moved(), holder: Holder { label, is_gone } });
        }
        db.timer().sleep(PAUSE).await;
        waited += PAUSE;
    }
}

async fn lease(db: &Database, key: &ShardKey) -> Result<Option<LeaseRow>, StoreError> {
    let args = of_shard(db, key);
    let found = db.restarting(|| rows(db.relay(), RESHARD, db.sql.resharding.lease.bind(&args))).await?;
    found.first().map(LeaseRow::read).transpose()
}

row! {
    struct LeaseRow of "resharding/lease" { label: Option<String>, is_left: bool }
}
