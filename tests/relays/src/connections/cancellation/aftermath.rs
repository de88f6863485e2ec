use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use claimstream_domain::MessageId;
use claimstream_ports::LockingStrategy;
use futures::future::join_all;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, Statement};
use uuid::Uuid;

use super::load::{CONNECTIONS, LEASE, Load};
use crate::{claims::locks::fresh_transactions, ids};

impl Load {
    /// How many transactions and busy connections there are when there should be none any more.
    pub(super) async fn open_after_a_while(&self, other: &DatabaseConnection) -> usize {
        let pools = [self.outbox.connection(), self.outbox.relay_connection()];
        let pools = pools.map(|pool| pool.get_mysql_connection_pool());
        let (begun, mut calm) = (Instant::now(), 0);
        loop {
            let busy: usize = pools.iter().map(|pool| pool.size() as usize - pool.num_idle()).sum();
            let open = fresh_transactions(other, OPEN).await.len();
            calm = if busy + open == 0 { calm + 1 } else { 0 };
            if calm == 3 || begun.elapsed() > PROMPTLY + Duration::from_secs(1) {
                return busy + open;
            }
        }
    }

    /// How many connections cannot be used: to begin on, all at once, and to write on for others to see.
    pub(super) async fn dead_slots(&self, other: &DatabaseConnection) -> usize {
        let begins = (0..CONNECTIONS).map(|_| tokio::time::timeout(PROMPTLY, self.outbox.begin()));
        let begun = join_all(begins).await;
        let alive: Vec<_> = begun.into_iter().flatten().flatten().collect();
        let dead = CONNECTIONS as usize - alive.len();
        for tx in alive {
            tx.rollback().await.expect("rollback");
        }
        let claims = join_all((0..CONNECTIONS).map(|_| async {
            tokio::time::timeout(PROMPTLY, self.outbox.claim(&self.request())).await.is_ok_and(|c| c.is_ok())
        }));
        let failed = claims.await.into_iter().filter(|claimed| !claimed).count();
        let written = join_all((0..4 * CONNECTIONS).map(|_| self.write())).await;
        let bodies = ids_in(other, "claimstream_message").await;
        dead + failed + written.iter().filter(|id| !bodies.contains(id)).count()
    }

    /// Claims and settles all that is left when the last lease ends: how many there were, and how many came.
    pub(super) async fn drain(&self, other: &DatabaseConnection) -> (usize, usize) {
        let left = ids_in(other, "claimstream_queue").await;
        let (begun, mut drained) = (Instant::now(), HashSet::new());
        while drained.len() < left.len() && begun.elapsed() < LEASE + 4 * PROMPTLY {
            let request = self.instance.request(100, Duration::from_secs(60));
            let claimed = self.outbox.claim(&request).await.expect("claim");
            for id in ids(&claimed) {
                assert!(drained.insert(id), "claimed twice: {id:?}");
            }
            self.settle(&claimed).await;
            if claimed.is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        assert!(drained.is_subset(&left), "something else was claimed");
        assert!(ids_in(other, "claimstream_queue").await.is_empty(), "something is left");
        (left.len(), drained.len())
    }

    /// Acknowledged writes that are nowhere, or that were not finished.
    pub(super) async fn lost(&self, other: &DatabaseConnection) -> usize {
        let bodies = ids_in(other, "claimstream_message").await;
        let known = self.known();
        let finished = |id| known.settled.contains_key(id) || known.maybe_settled.contains(id);
        known.acknowledged.iter().filter(|id| !bodies.contains(id) || !finished(id)).count()
    }
}

const PROMPTLY: Duration = Duration::from_secs(15);

const OPEN: &str = "SELECT t.trx_id FROM information_schema.innodb_trx t \
                    JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id \
                    WHERE p.db = DATABASE() AND p.id <> CONNECTION_ID()";

async fn ids_in(db: &DatabaseConnection, table: &str) -> HashSet<MessageId> {
    let all = Statement::from_string(DbBackend::MySql, format!("SELECT id FROM {table}"));
    let found = db.query_all_raw(all).await.expect("a read");
    let id = |bytes: Vec<u8>| MessageId::new(Uuid::from_slice(&bytes).expect("sixteen bytes"));
    found.iter().map(|row| id(row.try_get_by_index(0).expect("an id"))).collect()
}
