use claimstream_ports::{StoreError, StoreErrorKind};

use super::RESHARD;
use crate::database::{Database, topology::read::place};

/// Refuses a cut that would be none: a trigger that a member of a group makes waits for the transactions of that member alone, and the
/// others commit afterwards what they have written by the old count.
pub(super) async fn refuse_many_primaries(db: &Database) -> Result<(), StoreError> {
    match place(db.relay(), db.sql).await?.is_of_many_primaries() {
        true => Err(StoreError::new(StoreErrorKind::Misconfigured, RESHARD, MANY)),
        false => Ok(()),
    }
}

const MANY: &str = "each member of this group takes writes, and a trigger that one of them makes does not wait for transactions of the others. \
                    SELECT group_replication_switch_to_single_primary_mode(), run the command on the primary until all shards are open, and \
                    then SELECT group_replication_switch_to_multi_primary_mode(); messages are written as before";
