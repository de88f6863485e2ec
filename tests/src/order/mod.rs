//! The order of keys under random failures, kills and take-overs.
//!
//! Several instances claim and settle as a script says; some are killed and others opened in their place, so that shards
//! change hands. Whatever happens: what is accepted of a key is in order and without a gap, every attempt is counted, and
//! nothing is accepted twice.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use claimstream_domain::{
    Claimed, Disposition, MessageId, NewMessage, OrderingKey, Payload, QueueName, Reason, Settled, ShardCount,
};
use claimstream_sea_orm::{FrozenClock, OpenOptions, SeaOrmOutbox};
use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use sea_orm::{ConnectionTrait, DatabaseTransaction};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::{
    Fixture, Instance, LEASE, Ports, Suite,
    backend::{Backend, SeaOrmBackend},
    ids,
    suite::RUNTIME,
};

const INSTANCES: usize = 3;
/// More than there are shards, so that keys share them.
const KEYS: u8 = 12;

/// Adds the property to a backend that keeps order.
pub fn add_to(suite: &mut Suite, backend: Arc<SeaOrmBackend>) {
    let name = format!(
        "{}::{}::order::random_failures_kills_and_take_overs_disturb_no_key",
        backend.name(),
        backend.strategy()
    );
    suite.add_trial(&name, move || {
        let cases = if backend.name() == "sqlite" { 48 } else { 16 };
        let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        let run = runner.run(&vec(step(), 10..60), |script| {
            RUNTIME.block_on(async {
                let mut world = World::open(backend.clone()).await;
                for step in &script {
                    world.run(step).await;
                }
                world.drain().await;
                Ok(())
            })
        });
        run.unwrap_or_else(|failure| panic!("{failure}"));
    });
}

/// More keys than a statement of the database can name.
pub fn add_many_keys_to(suite: &mut Suite, backend: Arc<SeaOrmBackend>) {
    let name = format!("{}::{}::order::{MANY_KEYS}", backend.name(), backend.strategy());
    suite.add_async_trial(&name, many_keys_wait(backend));
}

const MANY_KEYS: &str = "however_many_keys_wait_what_is_free_behind_them_is_found";

/// Every key has a message that waits for its retry; behind all of them is one that is free. What is settled in the shard
/// meanwhile does not wait until that one is found.
async fn many_keys_wait(backend: Arc<SeaOrmBackend>) {
    let url = backend.fresh_database().await.expect("a database");
    let options = OpenOptions { shards: ShardCount::new(1).expect("a shard"), ..backend.options() };
    let outbox = SeaOrmOutbox::open(&url, options).await.expect("open");
    let instance = Instance::new(7, Ports::of(outbox.clone()), Fixture::fresh_queue(), 1);
    outbox.enqueue_now(&[message(instance.queue(), "in hand")]).await.expect("enqueue");
    let in_hand = instance.take_one().await;
    let (keys, park) = match backend.name() {
        "sqlite" => (20_000, "UPDATE claimstream_queue SET parked_until = 253402300799000000"),
        _ => (36_000, "UPDATE claimstream_queue SET parked_until = '2100-01-01'"),
    };
    for some in (0..keys).collect::<Vec<_>>().chunks(1000) {
        let some: Vec<_> = some.iter().map(|n| message(instance.queue(), &format!("account-{n}"))).collect();
        outbox.enqueue_now(&some).await.expect("enqueue");
    }
    outbox.connection().execute_unprepared(park).await.expect("all of them wait");
    let free = message(instance.queue(), "another");
    instance.enqueue(std::slice::from_ref(&free)).await;
    let begun = Instant::now();
    let claimer = instance.clone();
    let claim = tokio::spawn(async move { (claimer.claim(100).await, begun.elapsed()) });
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(instance.ack(&in_hand).await, Settled::Accepted);
    let settled = begun.elapsed();
    let (found, took) = claim.await.expect("no panic");
    println!("order: {}: found behind {keys} keys in {took:?}, settled after {settled:?}", backend.name());
    assert_eq!(ids(&found), [free.id]);
    assert!(settled < took, "a settlement waited until all was read: {settled:?} of {took:?}");
    assert_eq!(instance.ack(&found[0]).await, Settled::Accepted);
}

/// Adds the recipe for the order of commits to a backend on which two transactions can write at a time.
pub fn add_commits_to(suite: &mut Suite, backend: Arc<SeaOrmBackend>) {
    let name = format!(
        "{}::{}::order::who_locks_a_row_of_the_key_first_has_the_order_of_commits",
        backend.name(),
        backend.strategy()
    );
    suite.add_async_trial(&name, commits_in_order(backend));
}

/// A second transaction that begins while the first one is open makes its message's due time after the first one's commit.
async fn commits_in_order(backend: Arc<SeaOrmBackend>) {
    let url = backend.fresh_database().await.expect("a database");
    let clock = FrozenClock::at(Fixture::start().as_micros());
    let outbox = backend.open(&url, Some(clock.clone())).await.expect("open");
    let instance = Instance::new(7, Ports::of(outbox.clone()), Fixture::fresh_queue(), 10);
    for sql in ["CREATE TABLE account (id INT PRIMARY KEY)", "INSERT INTO account VALUES (7)"] {
        outbox.connection().execute_unprepared(sql).await.expect("a row that stands for the key");
    }
    let [first, second] = [message(instance.queue(), "account-7"), message(instance.queue(), "account-7")];
    let sent = [first.id, second.id];
    let one = begin_with_the_row(&outbox).await;
    outbox.enqueue_on(&one, &[first]).await.expect("enqueue");
    clock.advance(Duration::from_secs(1));
    let (beside, waits) = (outbox.clone(), oneshot::channel());
    let other = tokio::spawn(async move {
        waits.0.send(()).expect("a listener");
        let tx = begin_with_the_row(&beside).await;
        beside.enqueue_on(&tx, &[second]).await.expect("enqueue");
        tx.commit().await.expect("commit");
    });
    waits.1.await.expect("a beginning");
    instance.finds_nothing().await;
    assert!(!other.is_finished(), "nobody waited for the row");
    one.commit().await.expect("commit");
    other.await.expect("a transaction");
    for id in sent {
        let one = instance.take(9).await;
        assert_eq!(ids(&one), [id]);
        assert_eq!(instance.ack(&one[0]).await, Settled::Accepted);
    }
}

async fn begin_with_the_row(outbox: &SeaOrmOutbox) -> DatabaseTransaction {
    let tx = outbox.begin().await.expect("begin");
    tx.execute_unprepared("SELECT id FROM account WHERE id = 7 FOR UPDATE").await.expect("the row");
    tx
}

/// A message of a key, as its payload says too.
pub(crate) fn message(queue: &QueueName, key: &str) -> NewMessage {
    let payload = Payload::new("text/plain", key.as_bytes().to_vec()).expect("a payload");
    let message = NewMessage::new(MessageId::new(Uuid::now_v7()), queue.clone(), payload);
    message.ordered_by(OrderingKey::new(key).expect("a key"))
}

/// What happens next.
#[derive(Clone, Debug)]
enum Step {
    Enqueue {
        keys: Vec<u8>,
    },
    Claim {
        by: usize,
        limit: usize,
    },
    /// Ends the claim at this place among those in hand.
    End {
        by: usize,
        at: usize,
        how: How,
    },
    Kill {
        by: usize,
    },
    Wait {
        millis: u64,
    },
}

#[derive(Clone, Copy, Debug)]
enum How {
    Ack,
    Nack,
    Bury,
    Release,
}

fn step() -> impl Strategy<Value = Step> {
    let how =
        prop_oneof![5 => Just(How::Ack), 2 => Just(How::Nack), 1 => Just(How::Bury), 1 => Just(How::Release)];
    // Mostly one instance and small claims: what is due fills them, and the instance goes on from where it was.
    let by = || prop_oneof![3 => Just(0), 2 => 0..INSTANCES];
    let limit = prop_oneof![4 => 1..3_usize, 1 => 3..9_usize];
    // Most waits are shorter than anything lasts that an instance remembers.
    let millis = prop_oneof![2 => 0..500_u64, 1 => 0..40_000_u64];
    prop_oneof![
        4 => vec(0..KEYS, 1..9).prop_map(|keys| Step::Enqueue { keys }),
        6 => (by(), limit).prop_map(|(by, limit)| Step::Claim { by, limit }),
        8 => (by(), 0..6_usize, how).prop_map(|(by, at, how)| Step::End { by, at, how }),
        1 => (0..INSTANCES).prop_map(|by| Step::Kill { by }),
        2 => millis.prop_map(|millis| Step::Wait { millis }),
    ]
}

/// The instances, and what is known of every message from outside.
struct World {
    backend: Arc<SeaOrmBackend>,
    url: String,
    clock: FrozenClock,
    queue: QueueName,
    instances: Vec<(Instance, Vec<Claimed>)>,
    opened: u64,
    /// The messages of each key that are not done, the oldest first.
    waiting: HashMap<String, Vec<MessageId>>,
    /// How often each message was handed out and not given back.
    attempts: HashMap<MessageId, u32>,
    /// How often each message was given back too late: each time one attempt is taken back, unless others have counted since.
    late: HashMap<MessageId, u32>,
}

impl World {
    async fn open(backend: Arc<SeaOrmBackend>) -> Self {
        let url = backend.shared_database().await.expect("a database");
        let mut world = Self {
            backend,
            url,
            clock: FrozenClock::at(Fixture::start().as_micros()),
            queue: Fixture::fresh_queue(),
            instances: Vec::new(),
            opened: 0,
            waiting: HashMap::new(),
            attempts: HashMap::new(),
            late: HashMap::new(),
        };
        for _ in 0..INSTANCES {
            let instance = world.instance().await;
            world.instances.push((instance, Vec::new()));
        }
        world
    }

    async fn instance(&mut self) -> Instance {
        self.opened += 1;
        let outbox = self.backend.open(&self.url, Some(self.clock.clone())).await.expect("open");
        Instance::new(self.opened, Ports::of(outbox), self.queue.clone(), 10)
    }

    async fn run(&mut self, step: &Step) {
        match step {
            Step::Enqueue { keys } => self.enqueue(keys).await,
            Step::Claim { by, limit } => self.claim(*by, *limit).await,
            Step::End { by, at, how } => self.end(*by, *at, *how).await,
            Step::Kill { by } => self.instances[*by] = (self.instance().await, Vec::new()),
            Step::Wait { millis } => self.clock.advance(Duration::from_millis(*millis)),
        }
    }

    async fn enqueue(&mut self, keys: &[u8]) {
        for key in keys {
            let name = format!("account-{key}");
            let message = message(&self.queue, &name);
            self.waiting.entry(name).or_default().push(message.id);
            self.instances[0].0.enqueue(&[message]).await;
            self.clock.advance(Duration::from_micros(1));
        }
    }

    async fn claim(&mut self, by: usize, limit: usize) {
        let (instance, in_hand) = &mut self.instances[by];
        let claimed = instance.claim(limit as u32).await;
        for claimed in &claimed {
            let known = self.attempts.entry(claimed.message.id).or_default();
            let late = self.late.entry(claimed.message.id).or_default();
            *known += 1;
            let allowed = known.saturating_sub(*late)..=*known;
            assert!(allowed.contains(&claimed.attempt), "not one of attempts {allowed:?}: {claimed:?}");
            *late -= *known - claimed.attempt;
            *known = claimed.attempt;
            let key = claimed.message.ordering_key.as_ref().expect("a key").as_str();
            let first = self.waiting[key].first();
            assert_eq!(first, Some(&claimed.message.id), "not the oldest of {key}");
        }
        in_hand.extend(claimed);
    }

    async fn end(&mut self, by: usize, at: usize, how: How) {
        let (instance, in_hand) = &mut self.instances[by];
        if in_hand.is_empty() {
            return;
        }
        let claimed = in_hand.remove(at % in_hand.len());
        let disposition = match how {
            How::Ack => Disposition::Done { emit: vec![] },
            How::Nack => Disposition::Retry { after: Duration::from_secs(7), reason: Reason::new("not now") },
            How::Bury => Disposition::dead(Reason::new("never")),
            How::Release => Disposition::Returned,
        };
        let settled = instance.settle(&claimed.receipt, disposition).await;
        if settled == Settled::Superseded {
            let late = self.late.entry(claimed.message.id).or_default();
            *late += u32::from(matches!(how, How::Release));
            return;
        }
        let key = claimed.message.ordering_key.as_ref().expect("a key").as_str();
        let waiting = self.waiting.get_mut(key).expect("a known key");
        assert_eq!(waiting.first(), Some(&claimed.message.id), "{how:?} of {key} out of order or twice");
        match how {
            How::Ack | How::Bury => drop(waiting.remove(0)),
            How::Nack => {}
            How::Release => *self.attempts.get_mut(&claimed.message.id).expect("a count") -= 1,
        }
    }

    /// Kills everybody, and has one instance finish what is left; every message comes to its end.
    async fn drain(mut self) {
        for by in 0..INSTANCES {
            self.instances[by] = (self.instance().await, Vec::new());
        }
        self.clock.advance(LEASE);
        let mut left: usize = self.waiting.values().map(Vec::len).sum();
        for _ in 0..4 * left + 10 {
            self.claim(0, 100).await;
            while !self.instances[0].1.is_empty() {
                self.end(0, 0, How::Ack).await;
                left -= 1;
            }
            // What was put off comes, and watermarks are forgotten.
            self.clock.advance(Duration::from_secs(2));
            if left == 0 {
                break;
            }
        }
        assert_eq!(left, 0, "messages were never handed out again");
        self.instances[0].0.finds_nothing().await;
    }
}
