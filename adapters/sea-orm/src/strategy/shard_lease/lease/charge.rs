use claimstream_domain::MessageId;
use claimstream_ports::StoreError;

use crate::{
    database::{args::Args, held::Held, sql::Sql, unit::run},
    strategy::shard_lease::lease::args::{LEASE, span},
};

/// Counts an attempt, by a statement, for messages whose claim has expired, and answers how many of them were still there.
pub(crate) async fn charge(
    on: &Held<'_>,
    sql: &Sql,
    shard: &Args,
    messages: &[(i64, MessageId)],
) -> Result<u64, StoreError> {
    let mut counted = 0;
    for some in messages.chunks(512) {
        let args = span(shard.clone(), some.iter().copied());
        counted += run(on, LEASE, sql.bind(&args)).await?;
    }
    Ok(counted)
}
