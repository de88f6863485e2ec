use async_trait::async_trait;
use claimstream_ports::StoreError;
use claimstream_steps::tcc::{BranchCall, Resource, ResourceError};
use sea_orm::DatabaseTransaction;

use super::books::{book, execute};

/// The pieces that a branch reserves, of one item in its database.
pub(super) struct Shelf(pub(super) &'static str);

impl Shelf {
    /// Moves a piece, and notes it.
    async fn shift(
        &self,
        tx: &DatabaseTransaction,
        call: &BranchCall,
        what: &str,
        (from, to): (&str, &str),
    ) -> Result<(), StoreError> {
        let item = self.0;
        let sql = format!("UPDATE flow_stock SET {from} = {from} - 1, {to} = {to} + 1 WHERE item = '{item}'");
        execute(tx, &sql).await?;
        book(tx, &call.key.gid, &format!("{item} {what}")).await
    }
}

#[async_trait]
impl Resource<DatabaseTransaction> for Shelf {
    async fn reserve(&self, tx: &DatabaseTransaction, call: &BranchCall) -> Result<(), ResourceError> {
        if call.payload["refused"] == true {
            return Err(ResourceError::refused("it is refused"));
        }
        Ok(self.shift(tx, call, "reserved", ("available", "reserved")).await?)
    }

    async fn confirm(&self, tx: &DatabaseTransaction, call: &BranchCall) -> Result<(), ResourceError> {
        Ok(self.shift(tx, call, "sold", ("reserved", "sold")).await?)
    }

    async fn release(&self, tx: &DatabaseTransaction, call: &BranchCall) -> Result<(), ResourceError> {
        Ok(self.shift(tx, call, "released", ("reserved", "available")).await?)
    }
}
