use claimstream_domain::Resharding;
use claimstream_ports::StoreError;
use sea_orm::{ConnectionTrait, DatabaseTransaction, IsolationLevel, TransactionTrait};

use super::{
    RESHARD,
    page::{Place, page},
};
use crate::{
    database::{Database, classify::classify, deadline::in_time, dialect::Dialect, transaction::Transaction},
    strategy::shard_lease::shard_key::ShardKey,
};

/// How many messages one statement reads.
const PAGE: usize = 5_000;

/// Whether a shard has no message, waiting or in hand, whose key belongs elsewhere. No new one comes after the cut, so this stays true.
///
/// All pages are as of one moment, because a message that is put off between two of them could be on neither. A shard of a million messages
/// takes many pages, and no statement is long.
pub(super) async fn is_in_order(
    db: &Database,
    resharding: Resharding,
    key: &ShardKey,
) -> Result<bool, StoreError> {
    let look = || async {
        let snapshot = snapshot(db).await?;
        let looked = has_only_its_own(db, &snapshot, resharding, key).await;
        db.roll_back(RESHARD, Transaction::of_pool(snapshot)).await?;
        looked
    };
    db.restarting(look).await
}

/// Ends at the first that belongs elsewhere.
async fn has_only_its_own(
    db: &Database,
    snapshot: &impl ConnectionTrait,
    resharding: Resharding,
    key: &ShardKey,
) -> Result<bool, StoreError> {
    let mut below = Some(Place::END);
    while let Some(place) = below {
        let found = page(db, snapshot, key, place, PAGE).await?;
        if found.rows.iter().any(|row| row.home(resharding, key.shard).is_some()) {
            return Ok(false);
        }
        below = found.next;
    }
    Ok(true)
}

/// A transaction in which everything is as of one moment.
async fn snapshot(db: &Database) -> Result<DatabaseTransaction, StoreError> {
    let isolation = (db.dialect == Dialect::MySql).then_some(IsolationLevel::RepeatableRead);
    in_time(RESHARD, db.relay().begin_with_config(isolation, None), classify).await
}
