use std::fmt::Display;

use claimstream_domain::{Locator, Receipt, Settlement};
use claimstream_ports::{StoreError, StoreErrorKind};

use crate::{
    database::{typed_row::row, unit::rows},
    strategy::{rows::row_strategy::RowStrategy, shared::group::Group},
};

const SETTLE: &str = "settle";

/// What the rows show of settlements and renewals whose answers were lost.
impl RowStrategy {
    /// Where a renewal has moved a claimed row to, if it did.
    pub(super) async fn trace(&self, receipt: &Receipt) -> Result<Option<Locator>, StoreError> {
        let args = Group::one(receipt).args(&self.db);
        let found = self
            .db
            .restarting(|| rows(self.db.relay(), SETTLE, self.db.sql.settle.trace.bind(&args)))
            .await?;
        for row in &found {
            let Traced { id, lease_end } = Traced::read(row)?;
            if id == receipt.message.uuid() {
                return Ok(Some(Locator(lease_end)));
            }
        }
        Ok(None)
    }

    /// Finds out whether a transaction whose commit went unanswered took effect.
    ///
    /// It was all or nothing, so one row that still carries its claim proves that it did not. Rows that are gone while
    /// their lease runs can only have been taken away by us. Rows that are gone after their lease has ended prove
    /// nothing.
    pub(super) async fn took_effect(
        &self,
        settlements: &[Settlement],
        lost: &StoreError,
    ) -> Result<bool, StoreError> {
        let mut first_end = i64::MAX;
        for group in Group::of(settlements.iter().map(|settlement| &settlement.receipt)) {
            // An error of a question says nothing about the commit, whatever its kind.
            if self.has_rows_left(&group).await.map_err(|_| unknown(lost))? {
                return Ok(false);
            }
            first_end = first_end.min(group.lease_end());
        }
        if self.still_runs(first_end).await.map_err(|_| unknown(lost))? {
            tracing::warn!(count = settlements.len(), error = %lost, "the answer to a settlement was lost; its rows were read back");
            return Ok(true);
        }
        Err(unknown(lost))
    }

    /// Whether a row is still where its claim left it; it waits for a transaction that is at work on the row.
    pub(super) async fn has_rows_left(&self, group: &Group<'_>) -> Result<bool, StoreError> {
        let args = group.args(&self.db);
        let left = self
            .db
            .asking_back(|| rows(self.db.relay(), SETTLE, self.db.sql.settle.find.bind(&args)))
            .await?;
        Ok(!left.is_empty())
    }

    /// Whether a lease still runs by the server's own clock. Until its end only this instance can have taken a row away.
    pub(super) async fn still_runs(&self, lease_end: i64) -> Result<bool, StoreError> {
        self.db.clock.forget();
        Ok(self.db.asking_back(|| self.db.now(self.db.relay(), SETTLE)).await? < lease_end)
    }
}

/// The outcome of a settlement is not known.
///
/// A row that is gone after its lease has ended proves nothing, nor does an answer of a server that lags behind.
pub(super) fn unknown(why: impl Display) -> StoreError {
    let why = format!("the outcome is unknown: {why}");
    StoreError::new(StoreErrorKind::Unavailable, SETTLE, why)
}

row! {
    /// Where a claimed row is now.
    struct Traced of "settle/trace" { id: uuid::Uuid, lease_end: i64 }
}
