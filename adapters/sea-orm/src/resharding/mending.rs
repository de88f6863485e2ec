use claimstream_domain::Resharding;
use claimstream_ports::StoreError;
use uuid::Uuid;

use super::RESHARD;
use crate::database::{
    Database,
    args::bytes,
    sql::Sql,
    typed_row::row,
    unit::{rows, run},
};

/// How many rows one statement reads.
const PAGE: usize = 500;

/// Notes the new shards of dead letters and of bodies that are in no queue: one that is made to live again goes where it says, once no
/// trigger corrects that.
pub(crate) async fn mend(db: &Database, resharding: Resharding) -> Result<(), StoreError> {
    let sql = &db.sql.resharding;
    mend_all(db, resharding, &sql.bodies, &sql.mend_bodies).await?;
    mend_all(db, resharding, &sql.letters, &sql.mend_letters).await
}

async fn mend_all(db: &Database, resharding: Resharding, page: &Sql, mend: &Sql) -> Result<(), StoreError> {
    let mut after = Uuid::nil();
    loop {
        let args = db.args().with("after", bytes(after)).with("limit", PAGE as i64);
        let found = db.restarting(|| rows(db.relay(), RESHARD, page.bind(&args))).await?;
        let found = found.iter().map(StoredRow::read).collect::<Result<Vec<_>, _>>()?;
        let wrong = found.iter().filter_map(|row| {
            let target = resharding.to().shard_of_bytes(row.ordering_key.as_deref()?).number();
            (row.shard != i64::from(target)).then_some((row.id, target))
        });
        let wrong: Vec<(Uuid, u16)> = wrong.collect();
        let each = wrong.iter().map(|(id, target)| {
            let args = db.args().with("id", bytes(*id)).with("target", *target);
            args.with_list("ids", wrong.iter().map(|(id, _)| bytes(*id)))
        });
        let each: Vec<_> = each.collect();
        if !each.is_empty() {
            db.restarting(|| run(db.relay(), RESHARD, mend.bind_each(&each))).await?;
        }
        match found.last().filter(|_| found.len() == PAGE) {
            Some(last) => after = last.id,
            None => return Ok(()),
        }
    }
}

row! {
    struct StoredRow of "resharding/bodies", "resharding/letters" {
        id: Uuid,
        shard: i64,
        ordering_key: Option<Vec<u8>>,
    }
}
