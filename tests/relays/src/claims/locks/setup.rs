use claimstream_domain::{ClaimId, InstanceId, MessageId, NewMessage, QueueName};
use claimstream_sea_orm::SeaOrmOutbox;
use sea_orm::{DatabaseTransaction, DbBackend, Statement};
use uuid::Uuid;

use super::{
    rows::{args, id, instance, message, rows},
    transactions::fresh_transactions,
};
use crate::{
    Fixture, Instance,
    backend::SeaOrmBackend,
    fixture::Wire,
    ids,
    statement::{Args, bind},
};

/// Two instances in a database of their own, which is dropped with it; each has a wire to the server.
pub(super) struct Setup {
    pub(super) a: SeaOrmOutbox,
    pub(super) b: SeaOrmOutbox,
    pub(super) wires: [Wire; 2],
    pub(super) _backend: SeaOrmBackend,
}

impl Setup {
    /// Six messages in one shard of a new queue, and an instance on B that has no first call before it.
    pub(super) async fn six_messages(&self) -> Shard {
        let queue = Fixture::fresh_queue();
        let claimer = instance(2, &self.b, &queue);
        assert!(claimer.claim(1).await.is_empty());
        let messages: Vec<_> = (0..6).map(|n| message(&queue, n)).collect();
        self.a.enqueue_now(&messages).await.expect("enqueue");
        let sql = "SELECT id, shard FROM claimstream_queue WHERE queue = :queue ORDER BY available_at, id";
        let found = rows(self.a.connection(), bind(sql, &args(&queue, 0, Uuid::nil(), 0))).await;
        let shards: Vec<u16> = found.iter().map(|row| row.try_get_by_index(1).expect("a shard")).collect();
        assert!(shards.len() == 6 && shards.iter().all(|shard| *shard == shards[0]), "{shards:?}");
        Shard { queue, number: shards[0], ids: found.iter().map(id).collect(), claimer }
    }

    /// Inserts into the shard, over A's connections. An insert that has waited for a lock was ended by the server, as all locks of
    /// these tests are held until the answer is here.
    pub(super) async fn produce(&self, shard: &Shard) {
        let before = self.lock_timeouts(0);
        self.a.enqueue_now(&[message(&shard.queue, 7)]).await.expect("enqueue");
        assert_eq!(self.lock_timeouts(0), before, "the producer waited for a lock");
    }

    /// How many statements of A, or of B, have waited for a lock until the server ended the wait.
    pub(super) fn lock_timeouts(&self, of: usize) -> usize {
        self.wires[of].commands.lock_timeouts()
    }

    /// A queue with 5,000 due messages in 4 shards.
    pub(super) async fn fill(&self) -> QueueName {
        let queue = Fixture::fresh_queue();
        let messages: Vec<_> =
            (0..5_000).map(|n| NewMessage { ordering_key: None, ..message(&queue, n) }).collect();
        self.a.enqueue_now(&messages).await.expect("enqueue");
        let db = self.a.connection();
        rows(db, Statement::from_string(DbBackend::MySql, "ANALYZE TABLE claimstream_queue")).await;
        queue
    }

    pub(super) async fn thread(&self, open: &DatabaseTransaction) -> u64 {
        let asked = Statement::from_string(DbBackend::MySql, "SELECT CONNECTION_ID()");
        rows(open, asked).await.remove(0).try_get_by_index::<u64>(0).expect("an id")
    }

    pub(super) async fn rows_locked(&self, thread: u64) -> u64 {
        let sql = "SELECT CAST(trx_rows_locked AS SIGNED) FROM information_schema.innodb_trx \
                   WHERE trx_mysql_thread_id = ";
        let found = fresh_transactions(self.b.connection(), &format!("{sql}{thread}")).await;
        found.first().expect("an open transaction").try_get_by_index::<i64>(0).expect("a number") as u64
    }
}

/// The messages of one shard of a queue, and the store that claims from it.
pub(super) struct Shard {
    pub(super) queue: QueueName,
    pub(super) number: u16,
    pub(super) ids: Vec<MessageId>,
    pub(super) claimer: Instance,
}

impl Shard {
    pub(super) fn args(&self, limit: usize) -> Args {
        args(&self.queue, self.number, ClaimId::new(InstanceId(1), 1).uuid(), limit)
    }

    /// Claims until there are `count` messages; a watermark may hide them for two seconds.
    pub(super) async fn claim_all(&self, count: usize) -> Vec<MessageId> {
        let mut got = Vec::new();
        while got.len() < count {
            got.extend(ids(&self.claimer.claim((count - got.len()) as u32).await));
        }
        got
    }
}
