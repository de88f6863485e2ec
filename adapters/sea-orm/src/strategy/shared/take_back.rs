use claimstream_domain::{Disposition, Receipt, Settled, Settlement};

use crate::{
    database::{Database, sql::Sql, unit::run},
    strategy::shared::group::Group,
};

const TAKE_BACK: &str = "take an attempt back";

/// Takes back the attempts that were counted for messages that are given back here and had been claimed again, or taken over,
/// before. If that fails they stay counted.
pub(crate) async fn take_back(db: &Database, sql: &Sql, settlements: &[Settlement], settled: &[Settled]) {
    for group in Group::of(too_late(settlements, settled)) {
        let args = group.args(db);
        let taken = db.restarting(|| run(db.relay(), TAKE_BACK, sql.bind(&args))).await;
        match taken {
            Ok(count) => tracing::debug!(count, "attempts are taken back"),
            Err(error) => {
                tracing::warn!(%error, count = group.len(), "attempts of messages given back late could not be taken back; they stay counted")
            }
        }
    }
}

/// The receipts that were to be given back and had been lost before.
fn too_late<'a>(settlements: &'a [Settlement], settled: &'a [Settled]) -> impl Iterator<Item = &'a Receipt> {
    let is_late = |(one, settled): &(&Settlement, &Settled)| {
        one.disposition == Disposition::Returned && **settled == Settled::Superseded
    };
    settlements.iter().zip(settled).filter(is_late).map(|(one, _)| &one.receipt)
}
