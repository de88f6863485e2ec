use claimstream_domain::ShardCount;
use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{DbErr, Statement};
use uuid::Uuid;

use super::RESHARD;
use crate::database::{
    Database,
    args::{Args, bytes},
    classify::refusal,
    transaction::Transaction,
    unit::run,
};

/// Proves that the user may send each statement of a resharding, in a transaction that is taken back.
pub(super) async fn prove(db: &Database, to: ShardCount) -> Result<(), StoreError> {
    db.restarting(|| async {
        let on = db.begin(RESHARD).await?;
        let missing = missing(db, &on, to).await;
        db.roll_back(RESHARD, on).await?;
        match missing?.as_slice() {
            [] => Ok(()),
            missing => {
                let why = format!(
                    "the user lacks rights that a resharding takes; {}, or run the command as another user; nothing has been changed",
                    missing.join(", ")
                );
                Err(StoreError::new(StoreErrorKind::Misconfigured, RESHARD, why))
            }
        }
    })
    .await
}

async fn missing(db: &Database, on: &Transaction<'_>, to: ShardCount) -> Result<Vec<String>, StoreError> {
    let mut missing = Vec::new();
    for (right, table, statement) in statements(db, to) {
        match run(on, RESHARD, statement).await {
            Err(error) if is_right(&error) => missing.push(format!("GRANT {right} ON {table}")),
            done => done.map(|_| ())?,
        }
    }
    Ok(missing)
}

/// What is sent, of no queue and of no message, each with the rights that it takes.
fn statements(db: &Database, to: ShardCount) -> Vec<(&'static str, &'static str, Statement)> {
    let (sql, lease) = (&db.sql.resharding, &db.sql.shard_lease);
    let args = db.args().with("queue", "").with("shard", 0).with("target", 0).with("after", 0);
    let args = args.with("first", 0).with("last", 0).with("below", 0).with("id", bytes(Uuid::nil()));
    let args = args.with("fence", 0).with("token", 0).with("limit", 1);
    let args = args.with_list("ids", [bytes(Uuid::nil())]);
    let count = |shards: u16| db.args().with("shards", shards).with("from_shards", 0);
    let new = [Args::new().with("shard", i64::from(u16::MAX))];
    let letters = db.args().with("after", bytes(Uuid::max())).with("limit", 1);
    vec![
        ("UPDATE", "claimstream_schema", sql.cut.bind(&count(0))),
        ("INSERT, UPDATE", "claimstream_schema", sql.begin.bind(&count(to.get()))),
        ("DELETE", "claimstream_schema", sql.end.bind(&count(0))),
        ("INSERT", "claimstream_shard", db.sql.schema.shard_insert.bind_rows(&Args::new(), &new)),
        ("INSERT, UPDATE", "claimstream_pause", sql.close.bind(&args)),
        ("DELETE", "claimstream_pause", sql.let_go.bind(&args)),
        ("SELECT", "claimstream_lease", sql.lease.bind(&args)),
        ("INSERT", "claimstream_lease", lease.insert.bind(&args)),
        ("UPDATE", "claimstream_lease", sql.take.bind(&args)),
        ("SELECT", "claimstream_queue and claimstream_message", sql.page.bind(&args)),
        ("UPDATE", "claimstream_queue", sql.move_rows.bind(&args)),
        ("UPDATE", "claimstream_message", sql.move_bodies.bind(&args)),
        ("SELECT", "claimstream_dead", sql.letters.bind(&letters)),
        ("UPDATE", "claimstream_dead", sql.mend_letters.bind_each(std::slice::from_ref(&args))),
    ]
}

fn is_right(error: &StoreError) -> bool {
    let refused = error.get_ref().downcast_ref::<DbErr>().and_then(refusal);
    matches!(refused, Some(1142 | 1143))
}
