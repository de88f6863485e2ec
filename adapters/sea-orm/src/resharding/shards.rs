use claimstream_domain::{Resharding, ShardCount};
use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::ConnectionTrait;

use super::status::ShardStatus;
use crate::database::{args::Args, classify::corrupt, statements::Statements, typed_row::row, unit::rows};

const SHARDS: &str = "shards";

/// Into how many shards queues are cut now.
pub(crate) async fn count(on: &impl ConnectionTrait, sql: &Statements) -> Result<ShardCount, StoreError> {
    Ok(status(on, sql).await?.0.count)
}

/// How many shards there are, and the numbers of those that are open.
pub(crate) async fn status(
    on: &impl ConnectionTrait,
    sql: &Statements,
) -> Result<(ShardStatus, Vec<u16>), StoreError> {
    let found = rows(on, SHARDS, sql.resharding.shards.bind(&Args::new())).await?;
    let found = found.iter().map(ShardRow::read).collect::<Result<Vec<_>, _>>()?;
    let numbers: Vec<u16> = found.iter().map(|row| row.shard).collect();
    let begun = found.first().and_then(|row| row.shards.zip(row.from_shards).map(|pair| (pair, row.is_cut)));
    let (resharding, is_cut) = match begun {
        None => (None, false),
        Some(((to, from), is_cut)) => (Some(resharding(from, to)?), is_cut),
    };
    let before = resharding.map_or(numbers.len(), |resharding| usize::from(resharding.from().get()));
    let after = resharding.filter(|_| is_cut).map_or(before, |resharding| resharding.to().get().into());
    let count = u16::try_from(after).ok().and_then(|count| ShardCount::new(count).ok());
    let has_all = numbers.iter().take(before).map(|number| usize::from(*number)).eq(0..before);
    let has_no_other = numbers.last().is_some_and(|last| usize::from(*last) < after);
    let open = numbers.len() as u16;
    match count {
        Some(count) if has_all && has_no_other => {
            Ok((ShardStatus { count, open, resharding, is_cut }, numbers))
        }
        _ => Err(StoreError::new(
            StoreErrorKind::Corrupt,
            "schema",
            format!("claimstream_shard must hold the numbers 0 to n-1, it holds {numbers:?}"),
        )),
    }
}

fn resharding(from: i64, to: i64) -> Result<Resharding, StoreError> {
    let count = |number: i64| {
        let number = u16::try_from(number).map_err(|e| corrupt(SHARDS, e))?;
        ShardCount::new(number).map_err(|e| corrupt(SHARDS, e))
    };
    Resharding::new(count(from)?, count(to)?).map_err(|e| corrupt(SHARDS, e))
}

row! {
    struct ShardRow of "resharding/shards" {
        shard: u16,
        shards: Option<i64>,
        from_shards: Option<i64>,
        is_cut: bool,
    }
}
