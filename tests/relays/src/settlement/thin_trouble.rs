//! What goes wrong for one of many shards under a thin load, and what comes behind it.
//! Promise: an error or a locked lease in one of many shards costs no other shard

use std::{
    collections::HashSet,
    sync::{Arc, atomic::Ordering},
};

use claimstream::Compose;
use claimstream_domain::{
    Claimed, Disposition, MessageId, NewMessage, Settled::Accepted, Settlement, Shard, ShardCount,
};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox, StoreTimer};
use sea_orm::{ConnectionTrait, DatabaseTransaction, TransactionTrait};
use uuid::Uuid;

use super::thin_load::settle;
use crate::{
    Fixture, Instance, Ports, Server, Suite,
    backend::SeaOrmBackend,
    fixture::{Command, Cost, StillTimer, Wire},
};

/// Adds it on every server that is here: on SQLite each shard is visited for itself.
pub(super) fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        let store = server.name;
        let backend = move || SeaOrmBackend::server(store, &url, "shard_lease");
        let name = |what: &str| format!("{store}::shard_lease::thin_load::{what}");
        let on = backend.clone();
        // Guard: a full claim of many shards ends the thin load |
        // adapters/sea-orm/src/strategy/shard_lease/claim/claiming.rs `run`: `is_all` is always true
        suite.add_async_test(&name("a_flood_ends_it_and_starves_no_shard"), async move {
            a_flood_ends_it(&on()).await;
        });
        let on = backend.clone();
        suite.add_async_test(&name("rows_of_other_queues_are_not_waited_for"), async move {
            with_foreign_rows(&on()).await;
        });
        let on = backend.clone();
        // Guard: an error of a joint statement ends the thin load |
        // adapters/sea-orm/src/strategy/shard_lease/claim/together.rs `undo` and `doubt`: `has_left_some` is
        // left alone
        suite.add_async_test(&name("an_error_in_one_shard_costs_no_other_one"), async move {
            for kind in ["", ", MYSQL_ERRNO = 1969"] {
                an_error_costs_no_other_shard(&on(), kind).await;
            }
        });
        let on = backend.clone();
        // Guard: the locked lease is found row by row |
        // adapters/sea-orm/src/strategy/shard_lease/lease/together.rs `is_locked`: no `undo`
        suite.add_async_test(&name("one_locked_lease_marks_no_other_one"), async move {
            one_locked_lease_marks_no_other(&on()).await;
        });
        suite.add_async_test(&name("a_lost_answer_hands_out_what_was_written"), async move {
            a_lost_answer_is_asked_for(&backend()).await;
        });
    }
}

const SHARDS: u16 = 16;
/// As many as a claim asks for.
const BATCH: u32 = 100;

/// An outbox with sixteen shards whose claims take from all of them together, and another session.
struct Thin {
    store: SeaOrmOutbox,
    other: SeaOrmOutbox,
    instance: Instance,
    wire: Wire,
}

impl Thin {
    async fn on(backend: &SeaOrmBackend) -> Self {
        Self::by(backend, StoreTimer::default()).await
    }

    async fn by(backend: &SeaOrmBackend, timer: StoreTimer) -> Self {
        let shards = ShardCount::new(SHARDS).expect("a count");
        let url = backend.database_of(shards).await.expect("a database");
        let wire = Wire::to(&url).await.expect("a port");
        let options = || OpenOptions { shards, timer: timer.clone(), ..backend.options() };
        let store = SeaOrmOutbox::open(&wire.url, options()).await.expect("open");
        let other = SeaOrmOutbox::open(&url, options()).await.expect("open");
        let instance = Instance::new(1, Ports::of(store.clone()), Fixture::fresh_queue(), 20);
        let thin = Self { store, other, instance, wire };
        while !thin.is_joint(&thin.round().await) {}
        thin
    }

    /// Enqueues so many messages in each shard.
    async fn enqueue(&self, each: usize) {
        let queue = self.instance.queue();
        let mut left = vec![each; usize::from(SHARDS)];
        let mut messages = Vec::new();
        while messages.len() < each * left.len() {
            let id = MessageId::new(Uuid::now_v7());
            let left = &mut left[usize::from(self.store.shards().shard_of(id, None).number())];
            if *left > 0 {
                *left -= 1;
                messages.push(NewMessage { id, ..NewMessage::json(queue.clone(), &7).expect("a message") });
            }
        }
        for some in messages.chunks(1_000) {
            self.store.enqueue_now(some).await.expect("enqueue");
        }
    }

    /// Claims and settles a message of each shard, and answers what was sent.
    async fn round(&self) -> Vec<Command> {
        self.enqueue(1).await;
        self.wire.commands.take();
        let mut taken = 0;
        while taken < usize::from(SHARDS) {
            let claimed = self.instance.claim(BATCH).await;
            taken += claimed.len();
            assert!(settle(&self.instance, &claimed).await.iter().all(|settled| *settled == Accepted));
        }
        self.wire.commands.take()
    }

    /// Whether leases were written together, by a claim and by a settlement.
    fn is_joint(&self, sent: &[Command]) -> bool {
        executed(sent, "CASE shard") >= 2
    }

    /// Locks the lease row of a shard as long as the transaction is open.
    async fn lock(&self, shard: u16) -> DatabaseTransaction {
        let open = self.other.connection().begin().await.expect("begin");
        let sql = format!("SELECT fence FROM claimstream_lease WHERE shard = {shard} FOR UPDATE");
        open.execute_unprepared(&sql).await.expect("a lock");
        open
    }
}

fn executed(sent: &[Command], what: &str) -> usize {
    sent.iter().filter(|one| matches!(one, Command::Execute(text) if text.contains(what))).count()
}

/// The first claim of a flood comes back full, and the next ones are those of a flood.
async fn a_flood_ends_it(backend: &SeaOrmBackend) {
    const CLAIMS: usize = 40;
    let thin = Thin::by(backend, StoreTimer::new(Arc::new(StillTimer::default()))).await;
    thin.enqueue(600).await;
    let (mut seen, mut statements) = (HashSet::new(), 0);
    for _ in 0..CLAIMS {
        thin.wire.commands.take();
        let claimed = thin.instance.claim(BATCH).await;
        statements += Cost::of(&thin.wire.commands.take()).statements;
        assert!(!claimed.is_empty());
        seen.extend(claimed.iter().map(|one| one.receipt.shard));
        assert!(settle(&thin.instance, &claimed).await.iter().all(|settled| *settled == Accepted));
    }
    println!("thin load: {statements} statements for {CLAIMS} claims of a flood, from {} shards", seen.len());
    assert_eq!(seen.len(), usize::from(SHARDS), "shards have starved");
    assert!(statements <= 3 * CLAIMS + 1, "{statements} statements for {CLAIMS} claims");
}

/// A message of another queue is not committed yet, and a lease of another queue is locked. A claim and its settlement wait for neither.
async fn with_foreign_rows(backend: &SeaOrmBackend) {
    let thin = Thin::on(backend).await;
    let other = Instance::new(2, Ports::of(thin.other.clone()), Fixture::fresh_queue(), 20);
    let message = || [NewMessage::json(other.queue().clone(), &7).expect("a message")];
    thin.other.enqueue_now(&message()).await.expect("enqueue");
    let claimed = other.take_one().await;
    assert_eq!(other.ack(&claimed).await, Accepted);
    let open = other.begin().await;
    open.enqueue(&message()).await.expect("enqueue");
    let locked = thin.other.connection().begin().await.expect("begin");
    let sql =
        format!("SELECT fence FROM claimstream_lease WHERE queue = '{}' FOR UPDATE", other.queue().as_str());
    locked.execute_unprepared(&sql).await.expect("a lock");
    thin.enqueue(1).await;
    thin.wire.commands.take();
    let before = thin.wire.commands.lock_timeouts();
    let claimed = thin.instance.claim(BATCH).await;
    assert_eq!(claimed.len(), usize::from(SHARDS));
    let settled = settle(&thin.instance, &claimed).await;
    assert_eq!(thin.wire.commands.lock_timeouts(), before, "a claim or a settlement waited for a lock");
    assert!(settled.iter().all(|settled| *settled == Accepted));
    assert!(thin.is_joint(&thin.wire.commands.take()));
    locked.rollback().await.expect("rollback");
    open.commit().await.expect("commit");
}

/// A trigger refuses every write of one lease.
async fn an_error_costs_no_other_shard(backend: &SeaOrmBackend, kind: &str) {
    let thin = Thin::on(backend).await;
    let sql = format!(
        "CREATE TRIGGER refuses BEFORE UPDATE ON claimstream_lease FOR EACH ROW IF NEW.shard = 3 THEN \
         SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'{kind}; END IF"
    );
    thin.other.connection().execute_unprepared(&sql).await.expect("a trigger");
    thin.enqueue(1).await;
    let mut seen = HashSet::new();
    for _ in 0..8 {
        let request = thin.instance.request(BATCH, crate::LEASE);
        let Ok(claimed) = thin.instance.ports.claiming.claim(&request).await else { continue };
        seen.extend(claimed.iter().map(|one| one.receipt.shard.number()));
    }
    let others: HashSet<u16> = (0..SHARDS).filter(|shard| *shard != 3).collect();
    assert_eq!(seen, others, "with {kind:?}");
}

/// A claim meets a lease row that another session has locked.
async fn one_locked_lease_marks_no_other(backend: &SeaOrmBackend) {
    let thin = Thin::on(backend).await;
    thin.enqueue(1).await;
    let open = thin.lock(5).await;
    thin.wire.commands.take();
    let claimed = thin.instance.claim(BATCH).await;
    let sent = thin.wire.commands.take();
    assert_eq!(claimed.len(), usize::from(SHARDS) - 1);
    // In the order of their turns up to 5, 5 once more, and when it is visited.
    assert!((3..=usize::from(SHARDS) + 2).contains(&executed(&sent, "NOWAIT")), "{sent:#?}");
    let mut kept = 0;
    for one in &sent {
        match one {
            Command::Execute(text) if text.contains("NOWAIT") => kept += 1,
            Command::Query(text) if text == "ROLLBACK" => kept = 0,
            _ => assert!(kept <= 1, "rows are kept locked while others are asked for: {sent:#?}"),
        }
        assert!(kept <= 1, "rows are kept locked while others are asked for: {sent:#?}");
    }
    open.rollback().await.expect("rollback");
    assert!(settle(&thin.instance, &claimed).await.iter().all(|settled| *settled == Accepted));
    assert_eq!(thin.instance.take_one().await.receipt.shard, Shard::from_number(5));
    for _ in 0..4 {
        let sent = thin.round().await;
        assert_eq!(executed(&sent, "NOWAIT"), 0, "{sent:#?}");
    }
    thin.enqueue(1).await;
    let claimed = thin.instance.claim(BATCH).await;
    let open = thin.lock(claimed[5].receipt.shard.number()).await;
    let done = |one: &Claimed| Settlement {
        receipt: one.receipt.clone(),
        disposition: Disposition::Done { emit: vec![] },
    };
    let settlements: Vec<_> = claimed.iter().map(done).collect();
    let settled = thin.instance.settle_all(&settlements).await;
    assert_eq!(settled.iter().filter(|settled| **settled == Accepted).count(), claimed.len() - 1);
    open.rollback().await.expect("rollback");
    assert_eq!(thin.instance.settle_all(&settlements[5..6]).await, [Accepted]);
}

/// The answer to the joint write is lost.
async fn a_lost_answer_is_asked_for(backend: &SeaOrmBackend) {
    let thin = Thin::on(backend).await;
    thin.enqueue(1).await;
    thin.wire.commands.take();
    thin.wire.cut_after_change.store(true, Ordering::SeqCst);
    let claimed = thin.instance.claim(BATCH).await;
    assert!(!thin.wire.cut_after_change.load(Ordering::SeqCst), "no answer was lost");
    assert_eq!(claimed.len(), usize::from(SHARDS));
    assert_eq!(executed(&thin.wire.commands.take(), "CASE shard"), 1);
    assert!(claimed.iter().all(|one| one.attempt == 1));
    assert!(settle(&thin.instance, &claimed).await.iter().all(|settled| *settled == Accepted));
    thin.instance.finds_nothing().await;
}
