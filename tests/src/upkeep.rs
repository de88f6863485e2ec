//! What a sweep takes away, and what it must leave.

use std::time::Duration;

use claimstream::Compose;
use claimstream_domain::{
    DedupKey,
    Enqueued::{Duplicate, New},
    MessageId, NewMessage, Payload, QueueName,
};
use claimstream_sea_orm::{FrozenClock, SeaOrmOutbox, Swept};
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use crate::{Instance, Ports, Server, Stage, Suite, venue::SeaOrmVenue};

const KEEP: Duration = SeaOrmOutbox::SHORTEST_KEEP;

/// Adds the sweep on SQLite and on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    add_of(suite, "sqlite", || SeaOrmVenue::sqlite("auto"));
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        add_of(suite, server.name, move || SeaOrmVenue::server(server.name, &url, "auto"));
    }
}

fn add_of(suite: &mut Suite, store: &str, venue: impl Fn() -> SeaOrmVenue + Clone + Send + 'static) {
    let name = |what: &str| format!("{store}::upkeep::{what}");
    let swept = venue.clone();
    suite.add_async_trial(&name("a_sweep_takes_what_is_finished_and_leaves_what_is_live"), async move {
        takes_what_is_finished(&Scene::of(&swept()).await).await;
    });
    let unreadable = venue.clone();
    suite.add_async_trial(&name("a_message_that_cannot_be_read_stands_in_nobodys_way"), async move {
        steps_over_what_cannot_be_read(&Scene::of(&unreadable()).await).await;
    });
    suite.add_async_trial(&name("a_message_without_a_body_goes_to_the_dead_letters"), async move {
        buries_what_has_no_body(&Scene::of(&venue()).await).await;
    });
}

struct Scene {
    outbox: SeaOrmOutbox,
    clock: FrozenClock,
    instance: Instance,
    queue: QueueName,
}

impl Scene {
    async fn of(venue: &SeaOrmVenue) -> Self {
        let url = venue.fresh_database().await.expect("a database");
        let clock = FrozenClock::at(Stage::start().as_micros());
        let outbox = venue.open(&url, Some(clock.clone())).await.expect("open");
        let queue = Stage::fresh_queue();
        let instance = Instance::new(7, Ports::of(outbox.clone()), queue.clone(), 10);
        Self { outbox, clock, instance, queue }
    }

    fn message(&self) -> NewMessage {
        NewMessage::json(self.queue.clone(), &7).expect("a message")
    }

    async fn execute(&self, sql: &str) {
        self.outbox.connection().execute_unprepared(sql).await.expect("what a person may do");
    }

    fn of_id(&self, id: Uuid) -> NewMessage {
        NewMessage::new(MessageId::new(id), self.queue.clone(), Payload::json("{}"))
    }
}

/// Ids of all kinds: of the moment, random, and of long ago.
async fn takes_what_is_finished(scene: &Scene) {
    let (random, old) = (Uuid::from_u128(u128::MAX / 3 * 2), Uuid::from_u128(9));
    let key = |key: &str| DedupKey::new(key).expect("a key");
    let done =
        [scene.message(), scene.of_id(random), scene.of_id(old), scene.message().unique_by(key("done"))];
    scene.outbox.enqueue_now(&done).await.expect("enqueue");
    for claimed in scene.instance.take_all().await {
        let _ = scene.instance.ack(&claimed).await;
    }
    let later = |n: u64| scene.message().deliver_after(Duration::from_secs(86_400 + n));
    let live: Vec<_> = (0..3).map(later).chain([later(9).unique_by(key("live"))]).collect();
    scene.outbox.enqueue_now(&live).await.expect("enqueue");
    assert_eq!(scene.outbox.sweep(KEEP).await.expect("sweep"), Swept::default());
    scene.clock.advance(KEEP + Duration::from_secs(1));
    let young = scene.message();
    scene.outbox.enqueue_now(std::slice::from_ref(&young)).await.expect("enqueue");
    let swept = scene.outbox.sweep(KEEP).await.expect("sweep");
    assert_eq!(swept, Swept { bodies: 4, dedup_keys: 1 });
    let again = [scene.message().unique_by(key("done")), scene.message().unique_by(key("live"))];
    assert_eq!(scene.outbox.enqueue_now(&again).await.expect("enqueue"), [New, Duplicate]);
    scene.clock.advance(Duration::from_secs(86_400));
    let left = scene.instance.take_all().await;
    assert_eq!(left.len(), 6, "four live ones, a young one and one with a key that was free again");
}

async fn buries_what_has_no_body(scene: &Scene) {
    let (lost, kept) = (scene.of_id(Uuid::from_u128(1)), scene.message());
    scene.outbox.enqueue_now(&[lost.clone(), kept.clone()]).await.expect("enqueue");
    let hex = lost.id.uuid().simple().to_string();
    let delete = format!("DELETE FROM claimstream_message WHERE id = x'{hex}'");
    scene.execute(&delete).await;
    let claimed = scene.instance.take_all().await;
    assert_eq!(claimed.iter().map(|c| c.message.id).collect::<Vec<_>>(), [kept.id]);
    let dead = scene.instance.dead().await;
    assert_eq!(dead.iter().map(|dead| dead.message.id).collect::<Vec<_>>(), [lost.id]);
    assert!(dead[0].reason.as_str().contains("its body is gone"), "{:?}", dead[0].reason);
}

async fn steps_over_what_cannot_be_read(scene: &Scene) {
    let (broken, kept) = (scene.of_id(Uuid::from_u128(1)), scene.message());
    scene.outbox.enqueue_now(&[broken.clone(), kept.clone()]).await.expect("enqueue");
    let hex = broken.id.uuid().simple().to_string();
    scene.execute(&format!("UPDATE claimstream_message SET headers = x'7b' WHERE id = x'{hex}'")).await;
    let claimed = scene.instance.take_all().await;
    assert_eq!(claimed.iter().map(|c| c.message.id).collect::<Vec<_>>(), [kept.id]);
    let dead = scene.instance.dead().await;
    assert_eq!((dead.len(), dead[0].message.id), (1, broken.id));
    assert_eq!(dead[0].message.payload.bytes(), broken.payload.bytes());
}
