use std::{collections::HashMap, time::Duration};

use claimstream_ports::StoreError;
use sea_orm::Value;

use crate::{
    database::{
        args::Args,
        classify::{is_locked_by_another, may_have_committed},
        held::Held,
        separate_connection::rows_on_separate_connection,
        typed_row::row,
        unit::{Row, rows, run},
    },
    strategy::shard_lease::{
        lease::{args::LEASE, lost_answer::in_doubt, written::Written},
        leases::ShardLease,
        shard_key::ShardKey,
    },
};

/// How the write of one lease ended that was written together with others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// It was written, under the fence we knew.
    Written,
    /// Its fence is another one; this one was not written.
    NotOurs,
    /// The answer was lost, and the row does not show that it was written.
    InDoubt,
}

/// Leases of one queue that are written by one statement.
impl ShardLease {
    /// The most leases that one statement writes.
    pub(crate) const TOGETHER: usize = 32;
    /// The most messages in flight that one of them lists: a longer list is written alone.
    pub(crate) const LISTED: usize = 64;
    /// Longer than another session takes to write a row.
    const MOMENT: Duration = Duration::from_millis(20);

    /// Writes leases, and answers how many were still ours; the first of `leases` has the token of all.
    pub(crate) async fn write_leases(&self, on: &Held<'_>, leases: &[Args]) -> Result<u64, StoreError> {
        run(on, LEASE, self.db.sql.shard_lease.write_all.bind_each(leases)).await
    }

    /// Writes leases by a statement that commits itself, and says of each whether it was written: it is read back which ones
    /// were, if not all of them or if the answer was lost.
    pub(crate) async fn write_leases_at_once(
        &self,
        on: &Held<'_>,
        leases: &[Args],
    ) -> Result<Vec<Outcome>, StoreError> {
        let write = || async {
            match self.write_leases(on, leases).await {
                Ok(count) if count == leases.len() as u64 => Ok(Written::Yes),
                Ok(_) => Ok(Written::No),
                Err(lost) if may_have_committed(&lost) => Ok(Written::Unknown(lost)),
                Err(error) => Err(error),
            }
        };
        let question = || self.db.sql.shard_lease.tokens.bind(&self.tokens_args(leases));
        match self.written_whole(on, write).await? {
            Written::Yes => Ok(vec![Outcome::Written; leases.len()]),
            Written::No => outcomes_of(leases, &rows(on, LEASE, question()).await?, Outcome::NotOurs),
            Written::Unknown(lost) => {
                self.db.note_trouble(&lost);
                // The states are locked meanwhile, so it is asked on a separate connection.
                let answer =
                    self.db.asking_back(|| rows_on_separate_connection(&self.db, LEASE, question())).await;
                let outcomes = outcomes_of(leases, &answer.unwrap_or_default(), Outcome::InDoubt)?;
                match outcomes.contains(&Outcome::Written) {
                    true => Ok(outcomes),
                    false => Err(in_doubt(&lost)),
                }
            }
        }
    }

    /// Notes which lease row is locked, after a statement over all of them has waited for one: the calls that follow ask for that
    /// row before they write it, and for no other.
    pub(crate) async fn note_locked(&self, on: &Held<'_>, keys: &[ShardKey]) {
        for key in keys {
            if self.stays_locked(on, key).await {
                self.owned.found_locked(key, self.db.clock.elapsed());
                // One row explains one wait.
                return;
            }
        }
    }

    /// Whether another session has locked a row, and still has a moment later: one that only writes it is done by then.
    async fn stays_locked(&self, on: &Held<'_>, key: &ShardKey) -> bool {
        if !self.is_locked(on, key).await {
            return false;
        }
        self.db.timer().sleep(Self::MOMENT).await;
        self.is_locked(on, key).await
    }

    /// Asks for a row without a wait, and lets go of it at once.
    async fn is_locked(&self, on: &Held<'_>, key: &ShardKey) -> bool {
        if self.db.begin_held(LEASE, on).await.is_err() {
            return false;
        }
        let asked = rows(on, LEASE, self.db.sql.shard_lease.lock.bind(&self.shard_args(key))).await;
        on.undo().await;
        asked.as_ref().is_err_and(is_locked_by_another)
    }

    fn tokens_args(&self, leases: &[Args]) -> Args {
        let args = self.db.args();
        let Some(first) = leases.first() else { return args };
        args.or(first).with_list("shards", leases.iter().filter_map(|lease| lease.one("shard").cloned()))
    }
}

/// What the rows show of each lease; those that do not show the write are `otherwise`.
fn outcomes_of(leases: &[Args], found: &[Row], otherwise: Outcome) -> Result<Vec<Outcome>, StoreError> {
    let found = found.iter().map(|row| {
        let Standing { shard, fence, token } = Standing::read(row)?;
        Ok((shard, (fence, token)))
    });
    let found: HashMap<i64, (i64, i64)> = found.collect::<Result<_, StoreError>>()?;
    let token = leases.first().map(|first| number(first, "token"));
    Ok(leases
        .iter()
        .map(|lease| {
            let expected = token.map(|token| (number(lease, "new_fence"), token));
            match found.get(&number(lease, "shard")).copied() == expected {
                true => Outcome::Written,
                false => otherwise,
            }
        })
        .collect())
}

fn number(args: &Args, name: &str) -> i64 {
    match args.one(name) {
        Some(Value::BigInt(Some(number))) => *number,
        Some(Value::SmallUnsigned(Some(number))) => i64::from(*number),
        _ => 0,
    }
}

row! {
    /// What the newest write of each lease row has left there.
    struct Standing of "shard_lease/tokens" { shard: i64, fence: i64, token: i64 }
}
