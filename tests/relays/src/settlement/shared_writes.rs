//! Settlements under shard leases that are on their way at one time and share transactions.
//! Promise: concurrent settlements of a shard share transactions, and each call has its own outcomes

use claimstream::Compose;
use claimstream_domain::{
    Claimed, Disposition, NewMessage, OrderingKey,
    Settled::{self, Accepted, Superseded},
    Settlement,
};
use claimstream_sea_orm::{Dialect, SeaOrmOutbox};
use futures::future::join_all;
use sea_orm::{ConnectionTrait, Statement};

use crate::{Fixture, Instance, Ports, Server, Suite, backend::SeaOrmBackend};

/// Adds the shared writes on SQLite and on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    let mut places: Vec<(&'static str, Option<String>)> = vec![("sqlite", None)];
    places.extend(
        Server::ALL
            .map(|server| (server.name, server.url(&environment)))
            .into_iter()
            .filter(|one| one.1.is_some()),
    );
    for (store, url) in places {
        let name = |what: &str| format!("{store}::shard_lease::shared_writes::{what}");
        let backend = || {
            let url = url.clone();
            move || match &url {
                None => SeaOrmBackend::sqlite("shard_lease"),
                Some(url) => SeaOrmBackend::server(store, url, "shard_lease"),
            }
        };
        let (few, gone, refused, elsewhere) = (backend(), backend(), backend(), backend());
        // Guard: settlements of a shard share transactions |
        // adapters/sea-orm/src/strategy/shard_lease/settle/mod.rs `settle_shared`: returns false at once
        suite.add_async_test(&name("settlements_of_a_shard_at_one_time_are_few_transactions"), async move {
            are_few_transactions(few()).await;
        });
        // Guard: calls that shared a transaction with a lost row are settled again one by one |
        // adapters/sea-orm/src/strategy/shard_lease/settle/mod.rs `settle_shared`: superseded if a shared one
        // is rolled back
        suite.add_async_test(&name("a_message_that_is_gone_costs_no_other_one"), async move {
            costs_no_other_one(gone()).await;
        });
        // Guard: calls that shared a transaction with a refused message are settled again one by one |
        // adapters/sea-orm/src/strategy/shard_lease/settle/mod.rs `settle_shared`: only errors that pass are
        suite.add_async_test(&name("a_message_that_is_refused_costs_no_other_one"), async move {
            for (number, state) in REFUSALS {
                is_refused_alone(refused(), number, state).await;
            }
        });
        suite.add_async_test(&name("a_refusal_in_one_shard_fails_no_other_message"), async move {
            for (number, state) in REFUSALS {
                fails_no_message_elsewhere(elsewhere(), number, state).await;
            }
        });
    }
}

/// What a trigger of a user refuses a message with on a server, and its SQLSTATE: a conflict, what is corrupt, and what
/// is not available for now. SQLite has one refusal for all.
const REFUSALS: [(u16, &str); 3] = [(1062, "23000"), (1406, "22001"), (1114, "HY000")];

/// How many calls are on their way at one time.
const CALLS: usize = 12;
/// How many messages each of them ends.
const EACH: usize = 5;

/// Messages of one shard that one instance has claimed.
struct Setup {
    store: SeaOrmOutbox,
    instance: Instance,
    claimed: Vec<Claimed>,
    _venue: SeaOrmBackend,
}

impl Setup {
    async fn on(backend: SeaOrmBackend) -> Self {
        let url = backend.database().await.expect("a database");
        let store = backend.open(&url, None).await.expect("open");
        Self::of(backend, store, |message, _| {
            message.ordered_by(OrderingKey::new("account-7").expect("a key"))
        })
        .await
    }

    /// The same in several shards.
    async fn in_several_shards(backend: SeaOrmBackend) -> Self {
        let url = backend.database().await.expect("a database");
        let store = backend.open(&url, None).await.expect("open");
        let key = |n| OrderingKey::new(&format!("account-{n}")).expect("a key");
        let setup = Self::of(backend, store, |message, n| message.ordered_by(key(n))).await;
        let first = setup.claimed[0].receipt.shard;
        assert!(setup.claimed.iter().any(|one| one.receipt.shard != first), "one shard has all of them");
        setup
    }

    async fn of(
        backend: SeaOrmBackend,
        store: SeaOrmOutbox,
        with_key: impl Fn(NewMessage, usize) -> NewMessage,
    ) -> Self {
        let instance = Instance::new(1, Ports::of(store.clone()), Fixture::fresh_queue(), 10);
        // One more than is ended, so that the shard stays in our hands.
        let sent: Vec<_> = (0..=CALLS * EACH)
            .map(|n| with_key(NewMessage::json(instance.queue().clone(), &n).expect("a message"), n))
            .collect();
        store.enqueue_now(&sent).await.expect("enqueue");
        let claimed = instance.take(sent.len()).await;
        assert_eq!(claimed.len(), sent.len());
        Self { store, instance, claimed, _venue: backend }
    }

    /// Ends all but the last in calls at one time; the answers in the order of the claims.
    async fn settle(&self) -> Vec<Settled> {
        let batches = self.claimed[..CALLS * EACH].chunks(EACH).map(|batch| async move {
            self.instance.settle_all(&batch.iter().map(done).collect::<Vec<_>>()).await
        });
        join_all(batches).await.concat()
    }

    /// Sees to it that one message cannot be ended.
    async fn refuse(&self, n: usize, number: u16, state: &str) {
        let stuck = self.claimed[n].message.id.uuid().simple();
        let trigger = match self.store.dialect() {
            Dialect::MySql => format!(
                "CREATE TRIGGER stuck BEFORE DELETE ON claimstream_queue FOR EACH ROW \
                 IF OLD.id = X'{stuck}' THEN \
                 SIGNAL SQLSTATE '{state}' SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = 'no'; END IF"
            ),
            Dialect::Sqlite => format!(
                "CREATE TRIGGER stuck BEFORE DELETE ON claimstream_queue WHEN OLD.id = X'{stuck}' \
                 BEGIN SELECT RAISE(ABORT, 'no'); END"
            ),
        };
        self.run(&trigger).await;
    }

    async fn run(&self, sql: &str) {
        self.store.connection().execute_unprepared(sql).await.expect(sql);
    }

    async fn count(&self, sql: &str) -> i64 {
        let db = self.store.connection();
        let row = db.query_one_raw(Statement::from_string(db.get_database_backend(), sql)).await;
        row.expect("an answer").expect("a row").try_get_by_index(0).expect("a number")
    }
}

/// A trigger notes each write of the lease row, which every transaction begins with.
async fn are_few_transactions(backend: SeaOrmBackend) {
    let setup = Setup::on(backend).await;
    setup.run("CREATE TABLE written (token BIGINT)").await;
    setup
        .run(
            "CREATE TRIGGER noted AFTER UPDATE ON claimstream_lease FOR EACH ROW \
             BEGIN INSERT INTO written VALUES (NEW.token); END",
        )
        .await;
    assert_eq!(setup.settle().await, [Accepted; CALLS * EACH]);
    let written = setup.count("SELECT COUNT(*) FROM written").await;
    assert!((1..=CALLS as i64 / 2).contains(&written), "{written} transactions for {CALLS} calls");
    assert_eq!(setup.instance.status().await.map_or(0, |status| status.depth), 1);
}

/// Another program has deleted an entry, so that a shared transaction finds one too few.
async fn costs_no_other_one(backend: SeaOrmBackend) {
    let setup = Setup::on(backend).await;
    let gone = CALLS * EACH - 2;
    let db = setup.store.connection();
    let id: sea_orm::Value = setup.claimed[gone].message.id.uuid().as_bytes().to_vec().into();
    let removal = "DELETE FROM claimstream_queue WHERE id = ?";
    let removal = Statement::from_sql_and_values(db.get_database_backend(), removal, [id]);
    assert_eq!(db.execute_raw(removal).await.expect("a removal").rows_affected(), 1);
    let mut expected = [Accepted; CALLS * EACH];
    expected[gone] = Superseded;
    assert_eq!(setup.settle().await, expected);
    assert_eq!(setup.instance.status().await.map_or(0, |status| status.depth), 1);
}

/// The database refuses to end one message, for good. Of many that are ended at one time, each in a call of its own, that
/// call alone meets it.
async fn is_refused_alone(backend: SeaOrmBackend, number: u16, state: &str) {
    let setup = Setup::on(backend).await;
    let stuck = CALLS * EACH - 2;
    setup.refuse(stuck, number, state).await;
    let calls = setup.claimed[..CALLS * EACH].iter().map(|one| async {
        setup.instance.ports.settlements.settle(&[done(one)]).await.map_err(|error| error.to_string())
    });
    let answers = join_all(calls).await;
    let failed: Vec<_> = (0..answers.len()).filter(|n| answers[*n] != Ok(vec![Accepted])).collect();
    assert_eq!(failed, [stuck], "{number}: {:?}", answers[failed[0]]);
    assert_eq!(setup.instance.status().await.map_or(0, |status| status.depth), 2);
}

/// The same in one call over several shards.
async fn fails_no_message_elsewhere(backend: SeaOrmBackend, number: u16, state: &str) {
    let setup = Setup::in_several_shards(backend).await;
    let stuck = 3;
    setup.refuse(stuck, number, state).await;
    let all: Vec<_> = setup.claimed[..CALLS * EACH].iter().map(done).collect();
    let answers = setup.instance.ports.settlements.settle(&all).await;
    let mut expected = [Accepted; CALLS * EACH];
    expected[stuck] = Settled::Unknown;
    assert_eq!(answers.map_err(|error| error.to_string()), Ok(expected.to_vec()), "{number}");
}

fn done(one: &Claimed) -> Settlement {
    Settlement { receipt: one.receipt.clone(), disposition: Disposition::Done { emit: vec![] } }
}
