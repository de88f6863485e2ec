//! Along which index the statements of a claim walk.
//! Promise: a claim's statements use the primary key, sort nothing, and lock at most 2 x batch + 2 rows

use claimstream_sea_orm::Strategy;
use sea_orm::{ConnectionTrait, QueryResult, Statement, Value, Values};
use uuid::Uuid;

use super::{
    place::{BATCH, Place},
    rows::{args, instance, rows, text},
    setup::Setup,
};
use crate::statement::{Args, bind, bytes, sql, sql_of_shards};

impl Place {
    pub(super) async fn walks_the_primary_key(&self) {
        let setup = self.setup().await;
        let mut names = vec![
            "claim/take",
            "claim/read",
            "claim/peek",
            "settle/done",
            "settle/find",
            "settle/standing",
            "settle/renew",
        ];
        if self.strategy == Strategy::SkipLocked {
            names.extend(["claim/lock", "claim/mark"]);
        }
        let args = self.args_of_a_claim(&setup).await;
        self.all_walk(&setup, &names, &args).await;
        let sorting = "SELECT id FROM claimstream_queue WHERE queue = :queue ORDER BY attempts, id LIMIT 9";
        assert!(!walks(&setup.explain(bind(sorting, &args)).await), "a sort goes unseen");
        self.a_look_reads_one_entry_of_each_shard(&setup, "claim/peek", &args).await;
    }

    /// These statements read the queue's table along its primary key and sort nothing.
    pub(super) async fn all_walk(&self, setup: &Setup, names: &[&str], args: &Args) {
        let mut wrong = Vec::new();
        for name in names {
            let plan = setup.explain(sql(name, args)).await;
            self.figure(&format!("{name}: {plan:?}"));
            if !walks(&plan) {
                wrong.push(format!("{name}: {plan:?}"));
            }
        }
        assert!(wrong.is_empty(), "not along the primary key, or sorted: {wrong:#?}");
    }

    /// Statistics that know few shards with many messages, as when nearly all wait in one, do not make a look for due shards read
    /// them all. On MySQL one of a million took three seconds.
    pub(super) async fn a_look_reads_one_entry_of_each_shard(&self, setup: &Setup, name: &str, args: &Args) {
        let db = setup.a.connection();
        for known in FEW_SHARDS_WITH_A_MILLION {
            db.execute_unprepared(known).await.expect("statistics");
        }
        self.all_walk(setup, &[name], args).await;
    }

    /// A claim of several shards walks along the primary keys. The joint write of sixteen leases touches no other one, however
    /// small the table is: here it has eight of another queue.
    pub(super) async fn several_shards_are_ranges(&self, setup: &Setup, args: &Args) {
        let read = sql("shard_lease/read", args);
        let twice = Statement {
            sql: format!("({}) UNION ALL ({})", read.sql, read.sql),
            values: read.values.map(|Values(one)| Values([one.clone(), one].concat())),
            ..read
        };
        let plan = setup.explain(twice).await;
        assert!(walks(&plan), "{plan:?}");
        let db = setup.a.connection();
        db.execute_unprepared("DELETE FROM claimstream_lease").await.expect("no lease");
        for (queue, count) in [("'other'", 8), (":queue", 16)] {
            for shard in 0..count {
                let sql = format!(
                    "INSERT INTO claimstream_lease (queue, shard, fence, held_until, in_flight, token) \
                     VALUES ({queue}, {shard}, 1, '2000-01-01', 0, 0)"
                );
                db.execute_raw(bind(&sql, args)).await.expect("a lease");
            }
        }
        db.execute_unprepared("ANALYZE TABLE claimstream_lease").await.expect("statistics");
        let plan = setup.explain(sql_of_shards("shard_lease/write_all", args, 16)).await;
        self.figure(&format!("write_all: {plan:?}"));
        let is_range = |step: &Step| (&*step.way, &*step.key) == ("range", "PRIMARY") && step.rows <= 16;
        assert!(plan.len() == 1 && plan.iter().all(is_range), "{plan:?}");
    }

    /// Values for every statement, taken from a real claim out of many messages.
    async fn args_of_a_claim(&self, setup: &Setup) -> Args {
        let queue = setup.fill().await;
        let claimed = instance(2, &setup.b, &queue).claim(BATCH as u32).await;
        let receipt = &claimed[0].receipt;
        let ids = claimed.iter().filter(|c| c.receipt.shard == receipt.shard);
        let mut args = args(&queue, receipt.shard.number(), receipt.claim.uuid(), BATCH);
        args.extend([
            ("ids", ids.map(|c| bytes(c.message.id.uuid())).collect()),
            ("shards", (0..4_u16).map(Value::from).collect()),
            ("lease_end", vec![receipt.locator.0.into()]),
            ("new_end", vec![(receipt.locator.0 + 1_000_000).into()]),
        ]);
        if self.strategy == Strategy::SkipLocked {
            let fresh = self::args(&queue, receipt.shard.number(), Uuid::from_u128(7), BATCH);
            let locked = rows(setup.a.connection(), sql("claim/lock", &fresh)).await;
            let due = |row: &QueryResult| vec![row.try_get_by_index::<i64>(1).expect("due_at").into()];
            args.extend([("first", due(&locked[0])), ("last", due(&locked[locked.len() - 1]))]);
        }
        args
    }
}

impl Setup {
    async fn explain(&self, statement: Statement) -> Vec<Step> {
        let sql = format!("EXPLAIN FORMAT=TRADITIONAL {}", statement.sql);
        let found = rows(self.a.connection(), Statement { sql, ..statement }).await;
        let step = |row: &QueryResult| Step {
            table: text(row, "table"),
            way: text(row, "type"),
            key: text(row, "key"),
            rows: count(row),
            extra: text(row, "Extra"),
        };
        found.iter().map(step).collect()
    }
}

/// Makes the server believe that of a table.
const FEW_SHARDS_WITH_A_MILLION: [&str; 3] = [
    "UPDATE mysql.innodb_table_stats SET n_rows = 1000000, clustered_index_size = 5000 \
      WHERE database_name = DATABASE() AND table_name = 'claimstream_queue'",
    "UPDATE mysql.innodb_index_stats \
        SET stat_value = CASE stat_name WHEN 'n_diff_pfx01' THEN 1 WHEN 'n_diff_pfx02' THEN 2 \
                                        WHEN 'n_diff_pfx03' THEN 2000 WHEN 'n_diff_pfx04' THEN 1000000 \
                                        WHEN 'n_leaf_pages' THEN 4200 WHEN 'size' THEN 5000 ELSE stat_value END \
      WHERE database_name = DATABASE() AND table_name = 'claimstream_queue' AND index_name = 'PRIMARY'",
    "FLUSH TABLE claimstream_queue",
];

/// How many rows a step is thought to read: a number, or text in the answers of MariaDB.
fn count(row: &QueryResult) -> u64 {
    row.try_get("", "rows").unwrap_or_else(|_| text(row, "rows").parse().unwrap_or_default())
}

/// A line of a plan.
#[derive(Debug)]
struct Step {
    table: String,
    way: String,
    key: String,
    rows: u64,
    extra: String,
}

/// Whether the queue's table is read along its primary key and nothing is sorted.
fn walks(plan: &[Step]) -> bool {
    let queue: Vec<_> = plan.iter().filter(|s| ["q", "claimstream_queue"].contains(&&*s.table)).collect();
    let sorts = plan.iter().any(|step| step.extra.contains("filesort"));
    let reads_all = queue.iter().any(|step| step.extra.contains("skip scan"));
    !queue.is_empty() && queue.iter().all(|step| step.key == "PRIMARY") && !sorts && !reads_all
}
