use claimstream_domain::Shard;
use claimstream_ports::StoreError;

use crate::{
    database::{args::Args, sql::Sql, statements::Statements},
    strategy::rows::row_claim::Call,
};

/// How a claim makes the due rows of a shard its own.
pub(crate) trait Marking: Send + Sync + 'static {
    /// Marks due rows of a shard, at most as many as the arguments say, and returns how many, and the end of their lease.
    ///
    /// `known` is the end of the lease that other shards have got in this call, and 0 if none has.
    fn mark(
        &self,
        call: &Call<'_>,
        shard: Shard,
        args: &Args,
        known: i64,
    ) -> impl Future<Output = Result<(u32, i64), StoreError>> + Send;

    /// The statement that finds due rows, by its name.
    fn due_statement<'a>(&self, sql: &'a Statements) -> (&'static str, &'a Sql);
}
