use claimstream_domain::{MessageId, Resharding, Shard};
use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::ConnectionTrait;

use super::{
    RESHARD,
    closing::Closed,
    of_shard,
    page::{PageRow, Place, page},
};
use crate::{
    database::{
        Database,
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

/// A way through a shard, the youngest messages first, that goes on where it was stopped.
pub(super) struct Walk {
    below: Place,
    moved: u64,
    pages: u64,
}

impl Walk {
    pub(super) fn new() -> Self {
        Self { below: Place::END, moved: 0, pages: 0 }
    }

    /// How many messages it has moved.
    pub(super) fn moved(&self) -> u64 {
        self.moved
    }

    /// How many pages it has behind it.
    pub(super) fn pages(&self) -> u64 {
        self.pages
    }

    /// Moves what waits in a shard and belongs elsewhere, the youngest first; `false` if something is in flight under the lease of the
    /// shard, and the rest is to be moved later.
    ///
    /// Each page is a transaction that takes the lease of the shard first: nothing is in flight while it moves, and a relay that has
    /// read the shard before finds another fence. Of a key the youngest messages leave first, because the others are claimed from the
    /// old shard, which is open, and the new one is not.
    pub(super) async fn go_on(
        &mut self,
        db: &Database,
        resharding: Resharding,
        key: &ShardKey,
        closed: &mut Closed<'_>,
    ) -> Result<bool, StoreError> {
        loop {
            closed.renew().await?;
            let Some(page) = db.restarting(|| move_page(db, resharding, key, self.below)).await? else {
                return Ok(false);
            };
            (self.moved, self.pages) = (self.moved + page.moved, self.pages + 1);
            match page.next {
                Some(next) => self.below = next,
                None => return Ok(true),
            }
        }
    }
}

struct MovedPage {
    moved: u64,
    next: Option<Place>,
}

/// Moves what is on a page; `None` if something is in flight.
async fn move_page(
    db: &Database,
    resharding: Resharding,
    key: &ShardKey,
    below: Place,
) -> Result<Option<MovedPage>, StoreError> {
    let on = db.begin(RESHARD).await?;
    if !take_lease(db, &on, key).await? {
        db.roll_back(RESHARD, on).await?;
        return Ok(None);
    }
    let found = page(db, &on, key, below, PAGE).await?;
    let mut moved = 0;
    for heir in targets(resharding, key.shard, &found.rows) {
        let waits = found.rows.iter().filter(|row| row.target(resharding, key.shard) == Some(heir));
        moved += move_to(db, &on, key, heir, &waits.collect::<Vec<_>>()).await?;
    }
    db.commit(RESHARD, on).await?;
    Ok(Some(MovedPage { moved, next: found.next }))
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
    let messages = waits.iter().map(|row| (row.due_at(), MessageId::new(row.id())));
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

row! {
    struct Fence of "resharding/lease" { fence: i64 }
}
