use claimstream_domain::{Resharding, Shard};
use claimstream_ports::StoreError;
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use super::{RESHARD, of_shard};
use crate::{
    database::{Database, args::bytes, typed_row::row, unit::rows},
    strategy::shard_lease::shard_key::ShardKey,
};

/// A place in a shard, by due time and id.
#[derive(Clone, Copy)]
pub(super) struct Place {
    due: i64,
    id: Uuid,
}

impl Place {
    /// Behind everything.
    pub(super) const END: Self = Self { due: 253_402_300_799_999_999, id: Uuid::max() };
}

/// The youngest messages of a shard below a place.
pub(super) struct Page {
    pub(super) rows: Vec<PageRow>,
    /// Where the next page begins, unless this was the last.
    pub(super) next: Option<Place>,
}

/// Reads so many messages of a shard below a place, the youngest first.
pub(super) async fn page(
    db: &Database,
    on: &impl ConnectionTrait,
    key: &ShardKey,
    below: Place,
    most: usize,
) -> Result<Page, StoreError> {
    let args = of_shard(db, key).with("below", below.due).with("id", bytes(below.id));
    let args = args.with("limit", most as i64);
    let found = rows(on, RESHARD, db.sql.resharding.page.bind(&args)).await?;
    let found = found.iter().map(PageRow::read).collect::<Result<Vec<_>, _>>()?;
    let next = found.last().filter(|_| found.len() == most);
    let next = next.map(|last| Place { due: last.due_at, id: last.id });
    Ok(Page { rows: found, next })
}

row! {
    pub(super) struct PageRow of "resharding/page" {
        id: Uuid,
        due_at: i64,
        ordering_key: Option<Vec<u8>>,
        is_claimed: bool,
    }
}

impl PageRow {
    pub(super) fn id(&self) -> Uuid {
        self.id
    }

    pub(super) fn due_at(&self) -> i64 {
        self.due_at
    }

    /// Where the message belongs, if that is not where it is.
    pub(super) fn home(&self, resharding: Resharding, shard: Shard) -> Option<Shard> {
        resharding.target(shard, self.ordering_key.as_deref()?)
    }

    /// Where the message moves now: nowhere while it is in hand.
    pub(super) fn target(&self, resharding: Resharding, shard: Shard) -> Option<Shard> {
        self.home(resharding, shard).filter(|_| !self.is_claimed)
    }
}
