use std::sync::Arc;

use crate::{
    caller_transactions::begun::CallerTransactions,
    database::Database,
    enqueue::rows::Enqueueing,
    failover::Failover,
    notifications::{fan_outs::FanOuts, records::Records, requests::Requests},
    strategy::{choice::Strategy, contract::ClaimStrategy},
    sweep::sweeper::Sweeper,
};

/// The rooms of one outbox; all of its handles share them.
pub(crate) struct Rooms {
    pub(crate) db: Arc<Database>,
    pub(crate) transactions: CallerTransactions,
    pub(crate) enqueueing: Arc<Enqueueing>,
    pub(crate) notifications: Notifications,
    /// The strategy by its name.
    pub(crate) strategy: Strategy,
    pub(crate) claims: Arc<dyn ClaimStrategy>,
    pub(crate) failover: Failover,
    pub(crate) sweeper: Arc<Sweeper>,
}

/// The rooms of notifications.
pub(crate) struct Notifications {
    pub(crate) requests: Requests,
    pub(crate) records: Arc<Records>,
    pub(crate) fan_outs: FanOuts,
}

impl Notifications {
    pub(crate) fn of(enqueueing: &Arc<Enqueueing>) -> Self {
        let db = &enqueueing.db;
        let records = Arc::new(Records::of(Arc::clone(db)));
        Self {
            requests: Requests { db: Arc::clone(db), enqueueing: Arc::clone(enqueueing) },
            fan_outs: FanOuts { db: Arc::clone(db), records: Arc::clone(&records) },
            records,
        }
    }
}
