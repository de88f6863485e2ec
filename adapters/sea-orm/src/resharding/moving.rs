use claimstream_domain::{MessageId, Resharding, Shard};
use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use super::RESHARD;
use crate::{
    database::{
        Database,
        args::{Args, bytes},
        transaction::Transaction,
        typed_row::row,
        unit::{rows, run},
    },
    strategy::shard_lease::{
        lease::args::{next_token, span},
        shard_key::ShardKey,
    },
};

/// How many messages one transaction looks at.
const PAGE: usize = 500;

/// A place in a shard, by due time and id.
#[derive(Clone, Copy)]
struct Place {
    due: i64,
    id: Uuid,
}

impl Place {
    /// Behind everything.
    const END: Self = Self { due: 253_402_300_799_999_999, id: Uuid::max() };
}

/// What became of a walk through a shard.
pub(super) enum Moved {
    /// All that waited and belonged elsewhere was moved.
    All(u64),
    /// Something is in flight under the lease of the shard; so many were moved before.
    Held(u64),
}

/// Moves what waits in a shard and belongs elsewhere, the youngest first.
///
/// Each page is a transaction that takes the lease of the shard first: nothing is in flight while it moves, and a relay that has read the
/// shard before finds another fence. Of a key the youngest messages leave first, because the others are claimed from the old shard, which
/// is open, and the new one is not.
pub(super) async fn move_all(
    db: &Database,
    resharding: Resharding,
    key: &ShardKey,
) -> Result<Moved, StoreError> {
    let (mut below, mut moved) = (Place::END, 0);
    loop {
        match db.restarting(|| move_page(db, resharding, key, below)).await? {
            Page::Held => return Ok(Moved::Held(moved)),
            Page::Moved { count, next } => {
                moved += count;
                match next {
                    Some(next) => below = next,
                    None => return Ok(Moved::All(moved)),
                }
            }
        }
    }
}

enum Page {
    Held,
    Moved { count: u64, next: Option<Place> },
}

async fn move_page(
    db: &Database,
    resharding: Resharding,
    key: &ShardKey,
    below: Place,
) -> Result<Page, StoreError> {
    let on = db.begin(RESHARD).await?;
    if !take_lease(db, &on, key).await? {
        db.roll_back(RESHARD, on).await?;
        return Ok(Page::Held);
    }
    let args = of_shard(db, key).with("below", below.due).with("id", bytes(below.id));
    let args = args.with("limit", PAGE as i64);
    let found = rows(&on, RESHARD, db.sql.resharding.page.bind(&args)).await?;
    let found = found.iter().map(PageRow::read).collect::<Result<Vec<_>, _>>()?;
    let next = found.last().filter(|_| found.len() == PAGE);
    let next = next.map(|last| Place { due: last.due_at, id: last.id });
    let mut count = 0;
    for heir in targets(resharding, key.shard, &found) {
        let waits = found.iter().filter(|row| row.target(resharding, key.shard) == Some(heir));
        count += move_to(db, &on, key, heir, &waits.collect::<Vec<_>>()).await?;
    }
    db.commit(RESHARD, on).await?;
    Ok(Page::Moved { count, next })
}

fn targets(resharding: Resharding, shard: Shard, found: &[PageRow]) -> Vec<Shard> {
    let mut targets: Vec<Shard> = found.iter().filter_map(|row| row.target(resharding, shard)).collect();
    targets.sort();
    targets.dedup();
    targets
}

async fn move_to(
    db: &Database,
    on: &Transaction<'_>,
    key: &ShardKey,
    heir: Shard,
    waits: &[&PageRow],
) -> Result<u64, StoreError> {
    let messages = waits.iter().map(|row| (row.due_at, MessageId::new(row.id)));
    let args = span(of_shard(db, key).with("target", heir.number()), messages);
    let moved = run(on, RESHARD, db.sql.resharding.move_rows.bind(&args)).await?;
    run(on, RESHARD, db.sql.resharding.move_bodies.bind(&args)).await?;
    Ok(moved)
}

/// Takes the lease under a new fence, and keeps it locked until the transaction ends; `false` if something is in flight.
async fn take_lease(db: &Database, on: &impl ConnectionTrait, key: &ShardKey) -> Result<bool, StoreError> {
    let args = of_shard(db, key).with("token", next_token());
    let found = rows(on, RESHARD, db.sql.resharding.lease.bind(&args)).await?;
    if let Some(row) = found.first() {
        let args = args.with("fence", Fence::read(row)?.fence);
        return Ok(run(on, RESHARD, db.sql.resharding.take.bind(&args)).await? > 0);
    }
    // A relay may make it at the same moment.
    match run(on, RESHARD, db.sql.shard_lease.insert.bind(&args)).await {
        Err(made) if made.kind() == StoreErrorKind::Conflict => Ok(false),
        made => made.map(|_| true),
    }
}

pub(super) fn of_shard(db: &Database, key: &ShardKey) -> Args {
    db.args().with("queue", key.queue.as_str()).with("shard", key.shard.number())
}

row! {
    struct PageRow of "resharding/page" {
        id: Uuid,
        due_at: i64,
        ordering_key: Option<Vec<u8>>,
        is_claimed: bool,
    }
}

row! {
    struct Fence of "resharding/lease" { fence: i64 }
}

impl PageRow {
    /// Where the message moves, if it does.
    fn target(&self, resharding: Resharding, shard: Shard) -> Option<Shard> {
        let key = self.ordering_key.as_deref().filter(|_| !self.is_claimed)?;
        resharding.target(shard, key)
    }
}
