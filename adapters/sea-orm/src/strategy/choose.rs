use std::sync::Arc;

use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::DatabaseConnection;

use crate::{
    database::{dialect::Dialect, probe::SkipLockedProof, statements::Statements, store_timer::StoreTimer},
    enqueue::rows::Enqueueing,
    failover::Failover,
    strategy::{
        choice::{Strategy, StrategyChoice},
        claim_strategy::ClaimStrategy,
        order::Order,
        rows::{marking::Marking, row_strategy::RowStrategy},
        shard_lease::leases::ShardLease,
    },
};

/// The strategy to open with: the one that was asked for, or what the server proves it can do.
pub(crate) async fn choose(
    db: &DatabaseConnection,
    dialect: Dialect,
    sql: &Statements,
    timer: &StoreTimer,
    choice: StrategyChoice,
) -> Result<Strategy, StoreError> {
    if let StrategyChoice::Exactly(strategy) = choice {
        // A further strategy says here what it needs of a server.
        match strategy {
            Strategy::PreemptiveUpdate | Strategy::ShardLease => return Ok(strategy),
            Strategy::SkipLocked => {}
        }
    }
    let proof = match dialect {
        Dialect::MySql => SkipLockedProof::probe(db, sql, timer).await?,
        Dialect::Sqlite => SkipLockedProof::Refused("SQLite has one lock for all rows".into()),
    };
    match (choice, proof) {
        (StrategyChoice::Auto, proof) => {
            let strategy = match proof {
                SkipLockedProof::Proven => Strategy::SkipLocked,
                _ => Strategy::PreemptiveUpdate,
            };
            tracing::info!(%strategy, why = %proof, "strategy auto");
            Ok(strategy)
        }
        (StrategyChoice::Exactly(strategy), SkipLockedProof::Proven) => Ok(strategy),
        (StrategyChoice::Exactly(strategy), proof) => Err(unsupported(format!(
            "strategy {strategy} cannot work here: {proof}; use strategy preemptive_update or auto"
        ))),
    }
}

/// Refuses an order that the strategy cannot keep.
pub(crate) fn refuse_order_without_owner(order: Order, strategy: Strategy) -> Result<(), StoreError> {
    match order.is_per_key() && strategy != Strategy::ShardLease {
        true => Err(unsupported(format!(
            "strategy {strategy} keeps no order; use strategy shard_lease with order {order}, or order none"
        ))),
        false => Ok(()),
    }
}

/// The strategy at work. This is the one place that distinguishes them.
pub(crate) fn build(
    strategy: Strategy,
    enqueueing: &Arc<Enqueueing>,
    failover: &Failover,
    order: Order,
) -> Arc<dyn ClaimStrategy> {
    let rows = |marking| RowStrategy::of(Arc::clone(enqueueing), failover.clone(), marking);
    match strategy {
        Strategy::SkipLocked => Arc::new(rows(Marking::SkipLocked)),
        Strategy::PreemptiveUpdate => Arc::new(rows(Marking::PreemptiveUpdate)),
        Strategy::ShardLease => Arc::new(ShardLease::of(
            Arc::clone(&enqueueing.db),
            Arc::clone(enqueueing),
            failover.clone(),
            order,
        )),
    }
}

fn unsupported(why: impl Into<String>) -> StoreError {
    StoreError::new(StoreErrorKind::Unsupported, "open", why.into())
}
