use claimstream_domain::{Lease, Locator, Receipt, Renewed};
use claimstream_ports::StoreError;

use crate::{
    database::{classify::may_have_committed, clock::micros, unit::run},
    strategy::{
        rows::row_strategy::RowStrategy,
        shared::{answers::as_far_as_known, group::Group},
    },
};

const RENEW: &str = "renew";

impl RowStrategy {
    /// Moves the ends of leases; receipts of one claim in one shard are written by one statement.
    pub(super) async fn renew_rows(
        &self,
        receipts: &[Receipt],
        lease: Lease,
    ) -> Result<Vec<Renewed>, StoreError> {
        match self.db.restarting(|| self.renew_together(receipts, lease)).await? {
            Some(renewed) => Ok(renewed),
            None => self.renew_one_by_one(receipts, lease).await,
        }
    }

    /// Renews all, or none if one of them is not ours any more.
    async fn renew_together(
        &self,
        receipts: &[Receipt],
        lease: Lease,
    ) -> Result<Option<Vec<Renewed>>, StoreError> {
        self.db.clock.forget();
        let new_end = self.db.now(self.db.relay(), RENEW).await? + micros(lease.duration());
        let transaction = self.db.begin(RENEW).await?;
        for group in Group::of(receipts.iter()) {
            let args = group.args(&self.db).with("new_end", new_end);
            let moved = run(&transaction, RENEW, self.db.sql.settle.renew.bind(&args)).await?;
            if moved != group.len() {
                self.db.roll_back(RENEW, transaction).await?;
                return Ok(None);
            }
        }
        let extended = || receipts.iter().map(|receipt| extended(receipt, Locator(new_end))).collect();
        match self.db.commit(RENEW, transaction).await {
            Ok(()) => Ok(Some(extended())),
            // Each row is then looked for where it was and where it should be.
            Err(lost) if may_have_committed(&lost) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn renew_one_by_one(&self, receipts: &[Receipt], lease: Lease) -> Result<Vec<Renewed>, StoreError> {
        let (mut renewed, mut trouble) = (vec![Renewed::Unknown; receipts.len()], None);
        for (receipt, answer) in receipts.iter().zip(&mut renewed) {
            match self.renew_wherever(receipt, lease).await {
                Ok(known) => *answer = known.unwrap_or(Renewed::Superseded),
                Err(error) => {
                    trouble = Some(error);
                    break;
                }
            }
        }
        as_far_as_known(renewed, &Renewed::Unknown, trouble)
    }

    /// Renews where the receipt says, or where an earlier renewal whose answer was lost has moved it.
    async fn renew_wherever(&self, receipt: &Receipt, lease: Lease) -> Result<Option<Renewed>, StoreError> {
        if let Some(renewed) = self.renew_alone(receipt, lease).await? {
            return Ok(Some(renewed));
        }
        match self.trace(receipt).await? {
            Some(locator) => self.renew_alone(&Receipt { locator, ..receipt.clone() }, lease).await,
            None => Ok(None),
        }
    }

    async fn renew_alone(&self, receipt: &Receipt, lease: Lease) -> Result<Option<Renewed>, StoreError> {
        let one = std::slice::from_ref(receipt);
        let renewed = self.db.restarting(|| self.renew_together(one, lease)).await?;
        Ok(renewed.and_then(|mut answers| answers.pop()))
    }
}

fn extended(receipt: &Receipt, locator: Locator) -> Renewed {
    Renewed::Extended(Receipt { locator, ..receipt.clone() })
}
