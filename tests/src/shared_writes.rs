//! Settlements under shard leases that are on their way at one time and share transactions.

use claimstream::Compose;
use claimstream_domain::{
    Claimed, Disposition, NewMessage, OrderingKey,
    Settled::{self, Accepted, Superseded},
    Settlement,
};
use claimstream_sea_orm::SeaOrmOutbox;
use futures::future::join_all;
use sea_orm::{ConnectionTrait, Statement};

use crate::{Instance, Ports, Server, Stage, Suite, venue::SeaOrmVenue};

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
        let venue = || {
            let url = url.clone();
            move || match url {
                None => SeaOrmVenue::sqlite("shard_lease"),
                Some(url) => SeaOrmVenue::server(store, &url, "shard_lease"),
            }
        };
        let (few, gone) = (venue(), venue());
        suite.add_async_trial(&name("settlements_of_a_shard_at_one_time_are_few_transactions"), async move {
            are_few_transactions(few()).await;
        });
        suite.add_async_trial(&name("a_message_that_is_gone_costs_nobody_another_one"), async move {
            costs_nobody_another_one(gone()).await;
        });
    }
}

/// How many calls are on their way at one time.
const CALLS: usize = 12;
/// How many messages each of them ends.
const EACH: usize = 5;

/// Messages of one shard that one instance has claimed.
struct Scene {
    store: SeaOrmOutbox,
    instance: Instance,
    claimed: Vec<Claimed>,
    _venue: SeaOrmVenue,
}

impl Scene {
    async fn on(venue: SeaOrmVenue) -> Self {
        let url = venue.fresh_database().await.expect("a database");
        let store = venue.open(&url, None).await.expect("open");
        let instance = Instance::new(1, Ports::of(store.clone()), Stage::fresh_queue(), 10);
        let key = OrderingKey::new("account-7").expect("a key");
        // One more than is ended, so that the shard stays in our hands.
        let sent: Vec<_> = (0..=CALLS * EACH)
            .map(|n| {
                NewMessage::json(instance.queue().clone(), &n).expect("a message").ordered_by(key.clone())
            })
            .collect();
        store.enqueue_now(&sent).await.expect("enqueue");
        let claimed = instance.take(sent.len()).await;
        assert_eq!(claimed.len(), sent.len());
        Self { store, instance, claimed, _venue: venue }
    }

    /// Ends all but the last in calls at one time; the answers in the order of the claims.
    async fn settle(&self) -> Vec<Settled> {
        let batches = self.claimed[..CALLS * EACH].chunks(EACH).map(|batch| async move {
            let done = |one: &Claimed| Settlement {
                receipt: one.receipt.clone(),
                disposition: Disposition::Done { emit: vec![] },
            };
            self.instance.settle_all(&batch.iter().map(done).collect::<Vec<_>>()).await
        });
        join_all(batches).await.concat()
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
async fn are_few_transactions(venue: SeaOrmVenue) {
    let scene = Scene::on(venue).await;
    scene.run("CREATE TABLE written (token BIGINT)").await;
    scene
        .run(
            "CREATE TRIGGER noted AFTER UPDATE ON claimstream_lease FOR EACH ROW \
             BEGIN INSERT INTO written VALUES (NEW.token); END",
        )
        .await;
    assert_eq!(scene.settle().await, [Accepted; CALLS * EACH]);
    let written = scene.count("SELECT COUNT(*) FROM written").await;
    assert!((1..=CALLS as i64 / 2).contains(&written), "{written} transactions for {CALLS} calls");
    assert_eq!(scene.instance.status().await.map_or(0, |status| status.depth), 1);
}

/// Somebody has taken an entry away behind our back, so that a shared transaction finds one too few.
async fn costs_nobody_another_one(venue: SeaOrmVenue) {
    let scene = Scene::on(venue).await;
    let gone = CALLS * EACH - 2;
    let db = scene.store.connection();
    let id: sea_orm::Value = scene.claimed[gone].message.id.uuid().as_bytes().to_vec().into();
    let removal = "DELETE FROM claimstream_queue WHERE id = ?";
    let removal = Statement::from_sql_and_values(db.get_database_backend(), removal, [id]);
    assert_eq!(db.execute_raw(removal).await.expect("a removal").rows_affected(), 1);
    let mut expected = [Accepted; CALLS * EACH];
    expected[gone] = Superseded;
    assert_eq!(scene.settle().await, expected);
    assert_eq!(scene.instance.status().await.map_or(0, |status| status.depth), 1);
}
