use std::collections::BTreeMap;

use claimstream_ports::StoreError;
use sea_orm::Value;

use crate::{
    database::{
        dialect::Dialect,
        typed_row::row,
        unit::{rows, run},
    },
    sweep::{sweeper::Sweeper, swept::SWEEP},
};

impl Sweeper {
    /// Forgets some of the oldest keys whose messages have no body: where to look next, and how many went; `None` if there is none.
    ///
    /// Keys are bytes here: what a program has written wrong is forgotten like any other.
    pub(super) async fn sweep_dedup_keys(
        &self,
        from: i64,
        bound: i64,
        most: u32,
    ) -> Result<Option<(i64, u64)>, StoreError> {
        let args = self.db.args().with("from", from).with("bound", bound).with("limit", i64::from(most));
        let page =
            self.db.restarting(|| rows(self.db.relay(), SWEEP, self.db.sql.sweep.keys.bind(&args))).await?;
        let page = page.iter().map(KeyRow::read).collect::<Result<Vec<_>, _>>()?;
        let Some(last) = page.last().map(|key| key.created_at) else { return Ok(None) };
        let swept = match self.db.dialect {
            Dialect::Sqlite => {
                let args = self.db.args().with("from", from).with("upto", last);
                self.delete(self.db.sql.sweep.dedup.bind(&args)).await?
            }
            Dialect::MySql => {
                let mut queues = BTreeMap::<Vec<u8>, Vec<Vec<u8>>>::new();
                for key in page {
                    queues.entry(key.queue).or_default().push(key.dedup_key);
                }
                let mut swept = 0;
                for (queue, keys) in &queues {
                    swept += self.db.restarting(|| self.forget_keys(queue, keys, bound)).await?;
                }
                swept
            }
        };
        // More keys of the same moment may follow, unless none of these could go.
        Ok(Some((if swept > 0 { last } else { last + 1 }, swept)))
    }

    /// Locks the keys in the order in which an enqueue locks them, then reads the bodies without locks: an enqueue writes bodies
    /// before keys. A key that an enqueue had locked is read after its body was committed.
    async fn forget_keys(&self, queue: &[u8], keys: &[Vec<u8>], bound: i64) -> Result<u64, StoreError> {
        let sql = &self.db.sql.sweep;
        let of = |keys: &[Vec<u8>]| {
            let args = self.db.args().with("queue", Value::from(queue.to_vec())).with("bound", bound);
            args.with_list("keys", keys.iter().cloned().map(Value::from))
        };
        let transaction = self.begin().await?;
        let locked = rows(&transaction, SWEEP, sql.keys_lock.bind(&of(keys))).await?;
        let locked = locked.iter().map(LockedRow::read).collect::<Result<Vec<_>, _>>()?;
        let ids = locked.iter().map(|key| Value::from(key.message_id.clone()));
        let stored = sql.left.bind(&self.db.args().with_list("ids", ids));
        let stored = rows(&transaction, SWEEP, stored).await?;
        let stored = stored.iter().map(|row| row.bytes("id")).collect::<Result<Vec<_>, _>>()?;
        let gone = locked.into_iter().filter(|key| !stored.contains(&key.message_id));
        let gone: Vec<_> = gone.map(|key| key.dedup_key).collect();
        let mut swept = 0;
        if !gone.is_empty() {
            swept = run(&transaction, SWEEP, sql.dedup.bind(&of(&gone))).await?;
        }
        self.db.commit(SWEEP, transaction).await?;
        Ok(swept)
    }
}

row! {
    struct KeyRow of "sweep/keys" { queue: Vec<u8>, dedup_key: Vec<u8>, created_at: i64 }
}

row! {
    struct LockedRow of "sweep/keys_lock" { dedup_key: Vec<u8>, message_id: Vec<u8> }
}
