use claimstream_domain::{Resharding, Shard, ShardCount};
use claimstream_ports::{StoreError, StoreErrorKind};

#[cfg(feature = "mysql")]
use super::triggers::{TRIGGERS, Trigger, made};
use super::{
    RESHARD,
    cut::{file_trigger, file_without_trigger},
    run::{another, closed, refused},
    shards::status,
    status::ShardStatus,
};
use crate::database::{Database, dialect::Dialect};

/// What would be done about the number of shards.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReshardPlan {
    /// What it would be.
    pub action: ReshardAction,
    /// From how many shards to how many.
    pub resharding: Resharding,
    /// The statements that would make triggers or take them away, in their order. Triggers that this user may not see are taken for missing.
    pub statements: Vec<String>,
    /// The old shards whose messages would be read, in each queue; those that belong elsewhere would be moved.
    pub emptied: Vec<Shard>,
    /// The new shards that would be opened.
    pub opened: Vec<Shard>,
}

/// What is done with a resharding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReshardAction {
    /// It begins.
    Begin,
    /// It was begun, and goes on until all shards are open.
    Continue,
    /// Its triggers are taken away, and dead letters and stored messages note their new shards.
    End,
    /// It is taken back, because messages are written by the old number still.
    TakeBack,
}

impl ReshardAction {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::Continue => "continue",
            Self::End => "end",
            Self::TakeBack => "take back",
        }
    }
}

/// What a resharding to so many shards would do now; refuses what could not begin or continue.
pub(crate) async fn plan(db: &Database, to: ShardCount) -> Result<ReshardPlan, StoreError> {
    let (now, _) = status(db.relay(), db.sql).await?;
    let (action, resharding) = match now.resharding {
        Some(begun) if begun.to() != to => return Err(another(&now)),
        Some(begun) => (ReshardAction::Continue, begun),
        None => (ReshardAction::Begin, Resharding::new(now.count, to).map_err(refused)?),
    };
    let statements = match now.is_cut {
        true => Vec::new(),
        false => missing_triggers(db, to).await?,
    };
    let emptied = closed(db, resharding).await?;
    let mut opened: Vec<Shard> = emptied.iter().flat_map(|shard| resharding.heirs(*shard)).collect();
    opened.sort();
    Ok(ReshardPlan { action, resharding, statements, emptied, opened })
}

/// What the end of the resharding would do now; `None` if there is none.
pub(crate) async fn plan_end(db: &Database) -> Result<Option<ReshardPlan>, StoreError> {
    let (now, _) = status(db.relay(), db.sql).await?;
    let Some(resharding) = now.resharding else { return Ok(None) };
    let action = match now.is_cut {
        true => ReshardAction::End,
        false => ReshardAction::TakeBack,
    };
    if now.is_cut {
        must_be_open(&now, resharding)?;
    }
    let statements = drops(db, resharding.to(), now.is_cut).await?;
    Ok(Some(ReshardPlan { action, resharding, statements, emptied: Vec::new(), opened: Vec::new() }))
}

/// Refuses to end a resharding before all its shards are open.
pub(crate) fn must_be_open(now: &ShardStatus, resharding: Resharding) -> Result<(), StoreError> {
    if now.is_open() {
        return Ok(());
    }
    let (open, to) = (now.open, resharding.to().get());
    let why =
        format!("{open} of {to} shards are open; run `claimstream schema reshard {to} --yes` until it ends");
    Err(StoreError::new(StoreErrorKind::Misconfigured, RESHARD, why))
}

async fn missing_triggers(db: &Database, to: ShardCount) -> Result<Vec<String>, StoreError> {
    match db.dialect {
        #[cfg(feature = "mysql")]
        Dialect::MySql => {
            let made = made(db, db.relay(), to).await?;
            let missing = TRIGGERS.into_iter().filter(|trigger| !made.contains(trigger));
            Ok(missing.map(|trigger| trigger.made_for(to)).collect())
        }
        #[cfg(not(feature = "mysql"))]
        Dialect::MySql => Ok(Vec::new()),
        Dialect::Sqlite => Ok(vec![file_trigger(to)]),
    }
}

async fn drops(db: &Database, to: ShardCount, is_cut: bool) -> Result<Vec<String>, StoreError> {
    match (db.dialect, is_cut) {
        #[cfg(feature = "mysql")]
        (Dialect::MySql, _) => {
            let there: Vec<Trigger> = match is_cut {
                true => TRIGGERS.into(),
                false => made(db, db.relay(), to).await?,
            };
            Ok(there.iter().rev().map(|trigger| trigger.dropped_for(to)).collect())
        }
        (Dialect::Sqlite, true) => Ok(vec![file_without_trigger(to)]),
        _ => Ok(Vec::new()),
    }
}
