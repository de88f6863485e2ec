//! A0.2 as a property: whatever fails, crashes or lapses, each message is handled once in the end.
//!
//! Workers claim and settle side by side, each on connections of its own. By lots that are drawn for each attempt, handlers
//! fail, processes end in the middle of their batch and are replaced, claims are kept in hand until their lease is over and
//! settled then, and time moves on while others are at work.
//! Promise: whatever crashes and whatever expires, each message is handled once

use std::{mem, sync::Arc, time::Duration};

use claimstream_domain::{Claimed, Disposition, Reason, Settled};
use futures::future::join_all;
use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

use crate::{
    Fixture, History, Instance, LEASE, Suite,
    backend::{Backend, MemoryBackend},
    repetitions,
    suite::{RUNTIME, STUCK},
};

/// Adds the property to a backend.
pub fn add_to(suite: &mut Suite, backend: Arc<dyn Backend>) {
    let (store, strategy) = (backend.name(), backend.strategy());
    // Guard: only the newest claim of a message settles it | adapters/memory/src/tables/outbox.rs
    // `take_if_held`: any claim
    let name =
        format!("{store}::{strategy}::redelivery::a0_2_whatever_crashes_and_lapses_each_is_handled_once");
    let cases = repetitions(if store == MemoryBackend.name() { 256 } else { 6 });
    suite.add_test(&name, move || {
        let config = Config { cases, failure_persistence: None, max_shrink_iters: 100, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        let run = runner.run(&work(), |work| {
            RUNTIME.block_on(async {
                let run = work.run(backend.fixture().await.expect("a fixture"));
                tokio::time::timeout(STUCK, run).await.expect("not stuck");
            });
            Ok(())
        });
        run.unwrap_or_else(|failure| panic!("{failure}"));
    });
}

/// A backlog, the workers that empty it, and what befalls them out of a hundred attempts.
#[derive(Clone, Copy, Debug)]
struct Work {
    messages: usize,
    workers: usize,
    batch: u32,
    failing: u64,
    crashing: u64,
    stalling: u64,
    /// In how many of a hundred attempts time moves on by half a lease, for everybody.
    passing: u64,
    seed: u64,
}

fn work() -> impl Strategy<Value = Work> {
    let backlog = (1..80_usize, 1..6_usize, 1..24_u32);
    let share = |most| prop_oneof![1 => Just(0), 3 => 0..most];
    let mishaps = (share(60_u64), share(12_u64), share(25_u64), share(8_u64), any::<u64>());
    (backlog, mishaps).prop_map(|(backlog, mishaps)| {
        let (messages, workers, batch) = backlog;
        let (failing, crashing, stalling, passing, seed) = mishaps;
        Work { messages, workers, batch, failing, crashing, stalling, passing, seed }
    })
}

/// What befalls an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lot {
    Succeeds,
    Fails,
    /// The process ends before it has settled the message.
    CrashesBefore,
    /// The process ends when it has settled the message, with others of its batch in hand.
    CrashesAfter,
    /// The claim is settled when its lease is over.
    Stalls,
    /// Half a lease passes, and it succeeds.
    Passes,
}

impl Work {
    async fn run(self, fixture: Fixture) {
        let sent: Vec<_> = (0..self.messages)
            .map(|n| if n % 3 == 0 { fixture.message() } else { fixture.loose_message() })
            .collect();
        fixture.store.enqueue(&sent).await;
        let history = History::of(sent.iter().map(|message| message.id));
        let first = join_all((0..self.workers).map(|_| Worker::of(self, &fixture, &history)));
        let mut workers = first.await;
        let mut rounds = 0;
        while let Some(left) = fixture.store.status().await {
            assert!(rounds < ROUNDS, "there is something left after {ROUNDS} leases: {left:?}");
            join_all(workers.iter_mut().map(Worker::work)).await;
            fixture.advance(LEASE).await;
            rounds += 1;
        }
        // What still stalls has been finished by others.
        for worker in &mut workers {
            worker.settle_stalled().await;
        }
        let totals = history.check();
        let unsettled: usize = workers.iter().map(|worker| worker.unsettled).sum();
        assert_eq!((totals.done, totals.dead), (self.messages, 0));
        assert_eq!(totals.claims, self.messages + totals.retried + unsettled);
    }

    fn lot(self, claimed: &Claimed) -> Lot {
        let drawn = claimed.message.id.seed(claimed.attempt).wrapping_mul(self.seed | 1);
        let mut lot = (drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) % 100;
        let half = self.crashing.div_ceil(2);
        let shares = [
            (self.failing, Lot::Fails),
            (half, Lot::CrashesBefore),
            (self.crashing - half, Lot::CrashesAfter),
            (self.stalling, Lot::Stalls),
            (self.passing, Lot::Passes),
        ];
        for (share, befalls) in shares {
            if lot < share {
                return befalls;
            }
            lot -= share;
        }
        Lot::Succeeds
    }
}

/// Each of them brings back what crashed and what stalled. A lease that holds up a shard may hold up all that waits there.
const ROUNDS: usize = 400;

/// How many empty answers in a row show that nothing is due: each shard was looked at more than once.
const MAX_FRUITLESS: u32 = 10;

/// A process that works until it finds nothing, and those that take its place.
struct Worker<'a> {
    work: Work,
    fixture: &'a Fixture,
    history: &'a History,
    instance: Instance,
    /// What it keeps in hand beyond its lease.
    stalled: Vec<Claimed>,
    /// Claims that were not settled, or too late.
    unsettled: usize,
}

impl<'a> Worker<'a> {
    async fn of(work: Work, fixture: &'a Fixture, history: &'a History) -> Self {
        Self { work, fixture, history, instance: fixture.another().await, stalled: vec![], unsettled: 0 }
    }

    async fn work(&mut self) {
        let mut fruitless = 0;
        while fruitless < MAX_FRUITLESS {
            let claimed = self.instance.claim(self.work.batch).await;
            fruitless = if claimed.is_empty() { fruitless + 1 } else { 0 };
            self.history.claimed(&claimed);
            // Others have claimed by now, some of it perhaps.
            if fruitless == 1 || claimed.len() % 2 == 1 {
                self.settle_stalled().await;
            }
            self.handle(claimed).await;
        }
    }

    async fn handle(&mut self, claimed: Vec<Claimed>) {
        let mut in_hand = claimed.into_iter();
        while let Some(one) = in_hand.next() {
            let lot = self.work.lot(&one);
            match lot {
                Lot::Succeeds | Lot::CrashesAfter => self.settle(&one, done()).await,
                Lot::Fails => {
                    let retry = Disposition::Retry { after: Duration::ZERO, reason: Reason::new("drawn") };
                    self.settle(&one, retry).await;
                }
                Lot::Passes => {
                    self.fixture.advance(LEASE / 2).await;
                    self.settle(&one, done()).await;
                }
                Lot::Stalls => self.stalled.push(one),
                Lot::CrashesBefore => self.unsettled += 1,
            }
            if matches!(lot, Lot::CrashesBefore | Lot::CrashesAfter) {
                self.unsettled += in_hand.len();
                return self.crash().await;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Another process takes its place and knows nothing of what it had in hand.
    async fn crash(&mut self) {
        self.unsettled += mem::take(&mut self.stalled).len();
        self.instance = self.fixture.another().await;
    }

    async fn settle_stalled(&mut self) {
        for one in mem::take(&mut self.stalled) {
            self.settle(&one, done()).await;
        }
    }

    async fn settle(&mut self, one: &Claimed, disposition: Disposition) {
        let answer = self.instance.settle(&one.receipt, disposition.clone()).await;
        self.unsettled += usize::from(answer != Settled::Accepted);
        self.history.settled(one, disposition, answer);
    }
}

fn done() -> Disposition {
    Disposition::Done { emit: vec![] }
}
