use std::collections::HashSet;

use claimstream_ports::StoreError;
use sea_orm::{
    DbErr, RuntimeErr,
    sqlx::{self, Row as _},
};

use super::RESHARD;
use crate::database::{Database, classify::classify, deadline::in_time, link::Link, server::server_name};

/// The prepared XA transactions that were there when this looked first.
///
/// On MariaDB one whose client is gone holds no lock on the tables that it has used, so a trigger is made in spite of it, and XA COMMIT
/// brings in what it has written by the old count. MySQL waits for it as for any other.
#[derive(Default)]
pub(super) struct Prepared {
    first: Option<HashSet<Vec<u8>>>,
}

impl Prepared {
    /// Whether all of these have ended; those that were prepared since do not matter.
    pub(super) async fn have_ended(&mut self, db: &Database) -> Result<bool, StoreError> {
        if self.first.as_ref().is_some_and(HashSet::is_empty) {
            return Ok(true);
        }
        let now = match server_name(db.relay(), db.sql).await?.starts_with("MariaDB") {
            true => prepared(db).await?,
            false => HashSet::new(),
        };
        let left = match &self.first {
            None => now,
            Some(first) => first.intersection(&now).cloned().collect(),
        };
        Ok(self.first.insert(left).is_empty())
    }
}

/// Their ids. Not every server prepares this statement, so it is sent as text.
async fn prepared(db: &Database) -> Result<HashSet<Vec<u8>>, StoreError> {
    let ask = async {
        let mut on = Link::of_pool(db.relay(), db.dialect, db.timer()).await?;
        let found = match &mut on {
            Link::MySql(on) => {
                sqlx::raw_sql(db.sql.resharding.prepared.text()).fetch_all(&mut **on).await.map_err(driver)?
            }
            #[cfg(feature = "sqlite")]
            Link::Sqlite(_) => Vec::new(),
        };
        found.iter().map(|row| row.try_get_unchecked("data").map_err(driver)).collect()
    };
    in_time(RESHARD, ask, classify).await
}

fn driver(error: sqlx::Error) -> DbErr {
    DbErr::Query(RuntimeErr::SqlxError(error.into()))
}
