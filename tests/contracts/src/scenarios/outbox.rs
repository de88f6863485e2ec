//! Promise: through failures, crashes and expired leases, each message is handled in the end

use std::{sync::Arc, time::Duration};

use claimstream_domain::{
    Claimed, Disposition, Jitter, Lease, Reason, RetryPolicy, Settled,
    Settled::{Accepted, Superseded},
    Verdict, decide,
};
use futures::future::join_all;

use crate::{
    Fixture, History, Instance, LEASE, ids, repetitions,
    suite::{Case, cases},
};

pub const SCENARIOS: &[Case<Fixture>] = cases!["scenarios" needs [Claims]:
    a0_1_two_claimers_take_three_each needs [Sharing],
    a0_2_eight_workers_handle_each_message_once,
    a0_3_a_dead_instances_message_comes_back_when_its_lease_ends,
    a0_4_a_late_ack_is_superseded_and_the_new_holders_result_is_kept,
    a0_4_the_same_holds_if_both_are_one_instance,
    a0_5_a_failure_comes_back_after_its_backoff_and_not_after_its_lease,
    a0_5_the_twentieth_failure_is_dead_and_can_be_revived,
    a0_7_a_message_is_invisible_until_its_moment,
    a0_7_a_handler_that_renews_is_never_overtaken,
    a0_10_an_instance_whose_clock_is_ahead_steals_nothing,
    a1_2_a_row_that_is_put_off_while_a_claim_is_under_way_is_not_taken needs [Sharing],
];

/// Where two transactions can write at a time.
pub const CONCURRENT: &[Case<Fixture>] = cases!["scenarios" needs [Claims, Unguarded, ParallelWrites]:
    a1_3_a_claim_outlives_the_callers_rolled_back_transaction,
];

pub async fn a0_1_two_claimers_take_three_each(fixture: Fixture) {
    let sent = fixture.enqueue(6).await;
    let a = fixture.store.take(3).await;
    let b = fixture.rival.take(3).await;
    assert_eq!(ids(&a), sent[..3]);
    assert_eq!(ids(&b), sent[3..]);
}

pub async fn a0_2_eight_workers_handle_each_message_once(fixture: Fixture) {
    let work = Work { messages: repetitions(4000) as usize, workers: 8, batch: 10, failing: 10, seed: 1 };
    work.run(&fixture).await;
}

pub async fn a0_3_a_dead_instances_message_comes_back_when_its_lease_ends(fixture: Fixture) {
    fixture.enqueue(1).await;
    fixture.store.take_one().await;
    fixture.advance(Duration::from_secs(29)).await;
    fixture.rival.finds_nothing().await;
    fixture.advance(Duration::from_secs(2)).await;
    assert_eq!(fixture.rival.take_one().await.attempt, 2);
}

pub async fn a0_4_a_late_ack_is_superseded_and_the_new_holders_result_is_kept(fixture: Fixture) {
    overtaken(&fixture, &fixture.store, &fixture.rival).await;
}

pub async fn a0_4_the_same_holds_if_both_are_one_instance(fixture: Fixture) {
    overtaken(&fixture, &fixture.store, &fixture.store).await;
}

async fn overtaken(fixture: &Fixture, a: &Instance, b: &Instance) {
    fixture.enqueue(1).await;
    let stalled = a.take_one().await;
    fixture.advance(Duration::from_secs(40)).await;
    let held = b.take_one().await;
    let child = fixture.message();
    let result = Disposition::Done { emit: vec![child.clone()] };
    assert_eq!(b.settle(&held.receipt, result).await, Accepted);
    assert_eq!(a.ack(&stalled).await, Superseded);
    assert_eq!(ids(&fixture.rival.take_all().await), [child.id]);
}

pub async fn a0_5_a_failure_comes_back_after_its_backoff_and_not_after_its_lease(fixture: Fixture) {
    fixture.enqueue(1).await;
    for (failures, seconds) in (1..=9).zip([2, 4, 8, 16, 32, 64, 128, 256, 300]) {
        let claimed = fixture.store.take_one().await;
        assert_eq!(claimed.attempt, failures);
        fail(&fixture.store, &claimed).await;
        fixture.advance(Duration::from_secs(seconds) - Duration::from_micros(1)).await;
        fixture.rival.finds_nothing().await;
        fixture.advance(Duration::from_micros(1)).await;
    }
    assert_eq!(fixture.rival.take_one().await.attempt, 10);
}

pub async fn a0_5_the_twentieth_failure_is_dead_and_can_be_revived(fixture: Fixture) {
    let id = fixture.enqueue(1).await[0];
    for _ in 0..20 {
        fail(&fixture.store, &fixture.store.take_one().await).await;
        fixture.advance(Duration::from_secs(300)).await;
    }
    fixture.rival.finds_nothing().await;
    let dead = fixture.rival.dead().await;
    assert_eq!((dead.len(), dead[0].message.id, dead[0].attempts), (1, id, 20));
    assert_eq!(dead[0].reason.as_str().chars().count(), Reason::MAX_CHARS);
    assert_eq!(fixture.rival.revive(&fixture.rival.own_dead()).await, 1);
    assert_eq!(fixture.store.take_one().await.attempt, 1);
}

pub async fn a0_7_a_message_is_invisible_until_its_moment(fixture: Fixture) {
    fixture.store.enqueue(&[fixture.message().deliver_at(fixture.moment(10_000_000))]).await;
    fixture.advance(Duration::from_millis(9_999)).await;
    fixture.rival.finds_nothing().await;
    fixture.advance(Duration::from_millis(1)).await;
    fixture.rival.take_one().await;
}

pub async fn a0_7_a_handler_that_renews_is_never_overtaken(fixture: Fixture) {
    fixture.enqueue(1).await;
    let mut receipt = fixture.store.take_one().await.receipt;
    for _ in 0..7 {
        fixture.advance(Duration::from_secs(10)).await;
        fixture.rival.finds_nothing().await;
        receipt = match fixture.store.renew(&receipt, LEASE).await {
            claimstream_domain::Renewed::Extended(receipt) => receipt,
            lost => panic!("{lost:?}"),
        };
    }
    assert_eq!(fixture.store.settle(&receipt, Disposition::Done { emit: vec![] }).await, Accepted);
}

/// The fixture's time stands still years before the host's. By the host's clock every lease is over at once and every
/// delayed message is due; a store that asked it would hand them out.
pub async fn a0_10_an_instance_whose_clock_is_ahead_steals_nothing(fixture: Fixture) {
    let host = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock");
    assert!(host.as_micros() as i64 > fixture.now().as_micros() + 45_000_000, "the host is not ahead");
    fixture
        .store
        .enqueue(&[fixture.message(), fixture.message().deliver_after(Duration::from_secs(45))])
        .await;
    let claimed = fixture.store.take_for(1, Lease::MIN).await;
    fixture.rival.finds_nothing().await;
    let status = fixture.rival.status().await.expect("a status");
    assert_eq!((status.depth, status.leased, status.due), (2, 1, 0));
    assert_eq!(fixture.store.ack(&claimed[0]).await, Accepted);
}

pub async fn a1_2_a_row_that_is_put_off_while_a_claim_is_under_way_is_not_taken(fixture: Fixture) {
    for _ in 0..20 {
        let sent = fixture.enqueue(3).await;
        let held = fixture.store.take(3).await;
        fixture.advance(LEASE).await;
        let (holder, claimer, first) = (fixture.store.clone(), fixture.rival.clone(), held[0].clone());
        let put_off =
            tokio::spawn(async move { holder.nack(&first, Duration::from_secs(3600), "in an hour").await });
        let taken = tokio::spawn(async move { claimer.take_all().await });
        let (put_off, taken) = (put_off.await.expect("a nack"), taken.await.expect("a claim"));
        let expected = if put_off == Accepted { &sent[1..] } else { &sent[..] };
        assert_eq!(ids(&taken), expected, "the nack was {put_off:?}");
        for taken in taken {
            assert_eq!(fixture.rival.ack(&taken).await, Accepted);
        }
    }
}

pub async fn a1_3_a_claim_outlives_the_callers_rolled_back_transaction(fixture: Fixture) {
    fixture.enqueue(1).await;
    let tx = fixture.store.begin().await;
    tx.enqueue(&[fixture.message()]).await.expect("enqueue");
    let claimed = fixture.store.take_one().await;
    tx.roll_back().await.expect("roll back");
    fixture.rival.finds_nothing().await;
    fixture.advance(LEASE).await;
    let again = fixture.rival.take_one().await;
    assert_eq!((again.message.id, again.attempt), (claimed.message.id, 2));
}

/// A backlog and the workers that empty it; some handlers fail, by a lot that is drawn from the seed.
#[derive(Clone, Copy)]
struct Work {
    messages: usize,
    workers: u64,
    batch: usize,
    /// Out of a hundred attempts.
    failing: u64,
    seed: u64,
}

impl Work {
    async fn run(self, fixture: &Fixture) {
        let sent: Vec<_> = (0..self.messages).map(|_| fixture.loose_message()).collect();
        for some in sent.chunks(500) {
            fixture.store.enqueue(some).await;
        }
        let history = Arc::new(History::of(sent.iter().map(|message| message.id)));
        let workers = (0..self.workers).map(|n| {
            let side = if n % 2 == 0 { &fixture.store } else { &fixture.rival };
            tokio::spawn(self.work(side.fork(1000 + n), history.clone()))
        });
        join_all(workers).await.into_iter().for_each(|worker| worker.expect("a worker"));
        fixture.store.finds_nothing().await;
        let totals = history.check();
        assert_eq!(totals.done, self.messages);
        assert_eq!(totals.claims, self.messages + totals.retried);
        assert_eq!(fixture.store.status().await, None);
    }

    async fn work(self, worker: Instance, history: Arc<History>) {
        loop {
            let claimed = worker.take(self.batch).await;
            if claimed.is_empty() {
                return;
            }
            history.claimed(&claimed);
            for claimed in &claimed {
                let disposition = self.handle(claimed);
                let answer: Settled = worker.settle(&claimed.receipt, disposition.clone()).await;
                history.settled(claimed, disposition, answer);
            }
        }
    }

    fn handle(self, claimed: &Claimed) -> Disposition {
        let lot =
            claimed.message.id.seed(claimed.attempt).wrapping_mul(self.seed | 1).wrapping_mul(0x9e37_79b9);
        if (lot >> 20) % 100 < self.failing {
            return Disposition::Retry { after: Duration::ZERO, reason: Reason::new("drawn") };
        }
        Disposition::Done { emit: vec![] }
    }
}

async fn fail(instance: &Instance, claimed: &Claimed) {
    let policy = RetryPolicy { jitter: Jitter::None, ..RetryPolicy::default() };
    let verdict = Verdict::nack("no-answer;".repeat(100));
    let disposition = decide(verdict, claimed.attempt, &policy, 0);
    assert_eq!(instance.settle(&claimed.receipt, disposition).await, Accepted);
}
