use claimstream_domain::{LeaseRelease, QueueName, Shard};
use claimstream_ports::{StoreError, StoreErrorKind};

use crate::{
    database::{
        Database,
        args::Args,
        capability::{Capability, rows_of},
        classify::is_locked_by_another,
        held::Held,
        typed_row::row,
        unit::run,
    },
    strategy::shard_lease::{
        in_flight_list,
        lease::{args::next_token, charge::charge, lost_answer::has_token, written::Written},
    },
};

/// The operation that errors of a release name.
pub(crate) const RELEASE: &str = "release lease";

/// Takes the lease of a shard from its holder, if it has the fence that an operator was shown.
///
/// It is a take-over that waits for no end and leaves the shard free: the new fence, not the end, is what keeps a renewal from bringing the lease
/// back. It belongs to no instance, so whatever the strategy of this outbox is, and whether it holds the lease itself, does not matter: its
/// state learns of the new fence as that of any other holder does.
pub(crate) async fn release(
    db: &Database,
    queue: &QueueName,
    shard: Shard,
    fence: i64,
) -> Result<LeaseRelease, StoreError> {
    let args = db.args().with("queue", queue.as_str()).with("shard", shard.number()).with("fence", fence);
    let args = args.with("new_fence", fence.saturating_add(1)).with("token", next_token());
    let once = || async {
        let on = Held::new(db);
        let ended = end(db, &on, &args).await;
        if ended.is_err() {
            on.undo().await;
        }
        match ended {
            // It has waited for the row: a session that stands still would be waited for again and again.
            Err(locked) if is_locked_by_another(&locked) => Ok(None),
            ended => ended.map(Some),
        }
    };
    let Some((written, cut_off)) = db.restarting(once).await? else { return Err(locked(queue, shard)) };
    let is_released = match written {
        Written::Yes => true,
        Written::No => false,
        Written::Unknown(lost) => has_token(db, &args, lost).await?,
    };
    Ok(if is_released { LeaseRelease::Released { cut_off } } else { LeaseRelease::Changed })
}

/// Ends the lease, and answers for how many messages an attempt was counted.
async fn end(db: &Database, on: &Held<'_>, args: &Args) -> Result<(Written, u64), StoreError> {
    let sql = &db.sql.shard_lease;
    db.begin_held(RELEASE, on).await?;
    let found = rows_of(on, RELEASE, db.sql, Capability::ShardLease, sql.release.bind(args)).await?;
    let Some(row) = found.first() else {
        db.roll_back_held(RELEASE, on).await?;
        return Ok((Written::No, 0));
    };
    let Flights { flights } = Flights::read(row)?;
    let in_flight = in_flight_list::decode(&flights.unwrap_or_default());
    let cut_off = charge(on, &sql.charge, args, &in_flight).await?;
    run(on, RELEASE, sql.end.bind(args)).await?;
    Ok((Written::by_commit(db.commit_held(RELEASE, on).await)?, cut_off))
}

fn locked(queue: &QueueName, shard: Shard) -> StoreError {
    let shard = shard.number();
    let why = format!(
        "another session has locked the lease of shard {shard} of queue {queue}; try again, and end that session if it stands still"
    );
    StoreError::new(StoreErrorKind::Transient, RELEASE, why)
}

row! {
    /// What is in flight under the lease.
    struct Flights of "shard_lease/release" { flights: Option<Vec<u8>> }
}
