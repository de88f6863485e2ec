use std::collections::HashSet;

use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{ConnectionTrait, Statement};
use uuid::Uuid;

use super::{
    Database,
    args::{Args, bytes},
    unit::{rows, run},
};
use crate::database::sql::Sql;

/// Inserts of several rows.
impl Database {
    /// Inserts rows by id and returns of each whether it was inserted; one whose id is known is left out.
    ///
    /// Ids are hardly ever known, so the insert decides, not a read before it. A failed insert leaves the transaction as
    /// it was, except for a shared lock on the row it met; nothing here asks for more than that, because two that have
    /// it and want more would wait for each other.
    pub(crate) async fn insert_new(
        &self,
        on: &impl ConnectionTrait,
        operation: &'static str,
        insert: &Sql,
        lookup: &Sql,
        ids: &[Uuid],
        rows: &[Args],
    ) -> Result<Vec<bool>, StoreError> {
        let mut new = vec![true; rows.len()];
        for part in self.limits.packet.cut(insert.row_bytes(rows)) {
            if self.is_inserted(on, operation, insert, &rows[part.clone()]).await? {
                continue;
            }
            if part.len() == 1 {
                new[part.start] = false;
                continue;
            }
            let known = self.known(on, operation, lookup, &ids[part.clone()]).await?;
            part.clone().for_each(|n| new[n] = !known.contains(&ids[n]));
            let rest: Vec<usize> = part.filter(|n| new[*n]).collect();
            let rest_rows: Vec<Args> = rest.iter().map(|n| rows[*n].clone()).collect();
            for part in self.limits.packet.cut(insert.row_bytes(&rest_rows)) {
                if self.is_inserted(on, operation, insert, &rest_rows[part.clone()]).await? {
                    continue;
                }
                // What others committed after this transaction's snapshot, and a second row of one id.
                for n in part {
                    new[rest[n]] = self.is_inserted(on, operation, insert, &rest_rows[n..=n]).await?;
                }
            }
        }
        Ok(new)
    }

    /// Whether rows were inserted, or left out because one of them is known.
    async fn is_inserted(
        &self,
        on: &impl ConnectionTrait,
        operation: &'static str,
        insert: &Sql,
        rows: &[Args],
    ) -> Result<bool, StoreError> {
        match run(on, operation, insert.bind_rows(&self.args(), rows)).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == StoreErrorKind::Conflict => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Which ids are known for certain; takes no lock.
    async fn known(
        &self,
        on: &impl ConnectionTrait,
        operation: &'static str,
        lookup: &Sql,
        ids: &[Uuid],
    ) -> Result<HashSet<Uuid>, StoreError> {
        let args = self.args().with_list("ids", ids.iter().copied().map(bytes));
        rows(on, operation, lookup.bind(&args)).await?.iter().map(|row| row.uuid("id")).collect()
    }

    /// Inserts of several rows each.
    pub(crate) fn inserts(&self, insert: &Sql, rows: &[Args]) -> Vec<Statement> {
        let common = self.args();
        let parts = self.limits.packet.cut(insert.row_bytes(rows));
        parts.into_iter().map(|part| insert.bind_rows(&common, &rows[part])).collect()
    }
}
