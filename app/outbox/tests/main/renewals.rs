//! Renewals, and how they keep out of the settlements' way.

use std::{sync::Arc, time::Duration};

use claimstream::{Lease, Pacing, Relay, RelayConfig, Renewed, Settled, Timer, Verdict, handler_fn};
use claimstream_domain::{Locator, Receipt};
use claimstream_ports::mock::HandTimer;
use futures::{FutureExt, StreamExt, channel::oneshot};

use crate::{
    play::{Answer, Bench, Play, id, returned},
    slow_store::SlowStore,
};

fn moved(receipt: Receipt) -> Renewed {
    Renewed::Extended(Receipt { locator: Locator(receipt.locator.0 + 77), ..receipt })
}

#[test]
fn a_renewed_claim_lasts_a_whole_lease_and_is_settled_by_its_new_receipt() {
    let play = Play::new([Answer::Messages(vec![1])]);
    let mut bench = Bench::default();
    let mut claims = play.relay(RelayConfig::default()).claims("orders").unwrap();
    let timer = play.timer.clone();
    let task = bench.start(async move {
        let mut claim = claims.next().await.unwrap().unwrap();
        timer.advance(Duration::from_secs(20));
        assert!(matches!(claim.renew().await.unwrap(), Renewed::Extended(_)));
        assert_eq!(claim.remaining(), Duration::from_millis(28_500));
        claim.ack().await.unwrap()
    });
    assert_eq!(bench.finish(&play.timer, task), Settled::Accepted);
    assert_eq!(play.settled()[0].receipt.locator, Locator(1_000_001));
}

#[test]
fn a_claim_that_a_renewal_finds_lost_settles_nothing() {
    let play = Play::new([Answer::Messages(vec![1])]);
    play.stage().superseded.push(id(1));
    let mut bench = Bench::default();
    let mut claims = play.relay(RelayConfig::default()).claims("orders").unwrap();
    let task = bench.start(async move {
        let mut claim = claims.next().await.unwrap().unwrap();
        assert_eq!(claim.renew().await.unwrap(), Renewed::Superseded);
        claim.ack().await.unwrap()
    });
    assert_eq!(bench.finish(&play.timer, task), Settled::Superseded);
    assert!(play.settled().is_empty());
}

#[test]
fn a_settlement_waits_for_a_renewal_that_nobody_waits_for_any_longer() {
    let (store, timer) = (SlowStore::default(), HandTimer::default());
    let relay = Relay::new(Arc::new(store.clone()), timer, RelayConfig::default());
    let mut bench = Bench::default();
    let mut claims = relay.claims("orders").unwrap();
    let task = bench.start(async move {
        let mut claim = claims.next().await.unwrap().unwrap();
        assert!(claim.renew().now_or_never().is_none(), "given up at once");
        claim.ack().await.unwrap()
    });
    bench.settle();
    store.bring([1]);
    bench.settle();
    assert_eq!(store.waiting(), (0, 0, 1), "the renewal is out, so the settlement is not");
    store.renewed(moved);
    bench.settle();
    assert_eq!(store.accept()[0].receipt.locator, Locator(78));
    bench.settle();
    assert_eq!(task.take(), Some(Settled::Accepted));
}

/// A pipeline on a slow store whose only handler ends when the test says so.
struct Held {
    store: SlowStore,
    timer: HandTimer,
    bench: Bench,
    end: oneshot::Sender<()>,
}

fn held(lease: Duration) -> Held {
    held_of(lease, &[1])
}

/// One with these messages.
fn held_of(lease: Duration, numbers: &[u128]) -> Held {
    held_until(lease, numbers, |_| Verdict::ack())
}

/// One whose handler ends with this verdict.
fn held_until(
    lease: Duration,
    numbers: &[u128],
    verdict: impl Fn(&HandTimer) -> Verdict + Clone + Send + Sync + 'static,
) -> Held {
    let (store, timer, mut bench) = (SlowStore::default(), HandTimer::default(), Bench::default());
    let config = RelayConfig { lease: Lease::new(lease).unwrap(), ..RelayConfig::default() };
    let relay = Relay::new(Arc::new(store.clone()), timer.clone(), config);
    let (end, ended) = oneshot::channel::<()>();
    let (ended, handler_timer) = (ended.shared(), timer.clone());
    let handler = handler_fn(move |_| {
        let (ended, timer, verdict) = (ended.clone(), handler_timer.clone(), verdict.clone());
        async move {
            let _ = ended.await;
            verdict(&timer)
        }
    });
    let pipeline = relay.pipeline("orders", handler).unwrap();
    let _ = bench.start(pipeline.run_until(futures::future::pending()));
    bench.settle();
    store.bring(numbers.iter().copied());
    bench.settle();
    Held { store, timer, bench, end }
}

#[test]
fn a_settlement_never_overtakes_a_renewal_of_the_same_claim() {
    let Held { store, timer, mut bench, end } = held(Duration::from_secs(30));
    timer.advance(Duration::from_secs(10));
    bench.settle();
    assert_eq!(store.waiting().2, 1, "due at a third of the lease");
    end.send(()).unwrap();
    bench.pass(&timer, Duration::from_millis(50));
    assert_eq!(store.waiting().1, 0, "the row is being moved: no settlement may show the old receipt");
    store.renewed(moved);
    bench.pass(&timer, Duration::from_millis(50));
    assert_eq!(store.accept()[0].receipt.locator, Locator(78));
}

#[test]
fn a_renewal_never_touches_a_claim_that_is_being_settled() {
    let Held { store, timer, mut bench, end } = held(Duration::from_secs(30));
    end.send(()).unwrap();
    bench.settle();
    assert_eq!(store.waiting().1, 1);
    bench.pass(&timer, Duration::from_secs(29));
    assert_eq!(store.waiting().2, 0);
}

#[test]
fn a_claim_is_relied_on_from_before_its_renewal_was_sent() {
    let play = Play::new([Answer::Messages(vec![1])]);
    let (store, timer) = (SlowStore::default(), play.timer.clone());
    let relay = Relay::new(Arc::new(store.clone()), timer.clone(), RelayConfig::default());
    let mut bench = Bench::default();
    let mut claims = relay.claims("orders").unwrap();
    let task = bench.start(async move {
        let mut claim = claims.next().await.unwrap().unwrap();
        let before = claim.remaining();
        assert!(matches!(claim.renew().await.unwrap(), Renewed::Extended(_)));
        (before, claim.remaining(), claim)
    });
    bench.settle();
    timer.advance(Duration::from_secs(2));
    store.bring([1]);
    bench.settle();
    timer.advance(Duration::from_secs(3));
    store.renewed(moved);
    bench.settle();
    let (before, after, claim) = task.take().unwrap();
    assert_eq!(before, Duration::from_millis(26_500), "two seconds went by on the way");
    assert_eq!(after, Duration::from_millis(25_500), "three seconds went by on the way");
    assert_eq!(timer.now(), Duration::from_secs(5));
    drop(claim);
}

#[test]
fn one_renewal_that_fails_is_tried_again_before_the_lease_is_over() {
    let play = Play::new([Answer::Messages(vec![1])]);
    let pacing = Pacing { idle_min: Duration::from_secs(60), idle_max: Duration::from_secs(600) };
    let mut bench = Bench::default();
    let timer = play.timer.clone();
    let handler = handler_fn(move |_| {
        let timer = timer.clone();
        async move {
            timer.sleep(Duration::from_secs(40)).await;
            Verdict::ack()
        }
    });
    let relay = play.relay(RelayConfig { pacing, ..RelayConfig::default() });
    let pipeline = relay.pipeline("orders", handler).unwrap();
    let _task = bench.start(pipeline.run_until(futures::future::pending()));
    play.stage().renew_fails = true;
    bench.pass(&play.timer, Duration::from_secs(11));
    assert_eq!(play.stage().renewals.len(), 1);
    play.stage().renew_fails = false;
    bench.pass(&play.timer, Duration::from_secs(30));
    assert_eq!(play.settled().len(), 1, "the handler kept its message");
}

#[test]
fn a_claim_that_is_answered_late_is_renewed_before_the_others_are_due() {
    let Held { store, timer, mut bench, end: _end } = held(Duration::from_secs(30));
    bench.pass(&timer, Duration::from_millis(20));
    assert_eq!(store.waiting().0, 1, "the next claim call is out");
    for _ in 0..2 {
        bench.pass(&timer, Duration::from_secs(10));
        store.renewed(moved);
    }
    bench.pass(&timer, Duration::from_secs(5));
    store.bring([2]);
    bench.settle();
    assert_eq!(store.waiting().2, 1, "what was asked for 25 s ago has long been due");
}

#[test]
fn what_is_not_known_of_a_renewal_is_asked_for_again_and_holds_up_no_other() {
    let Held { store, timer, mut bench, end } = held_of(Duration::from_secs(30), &[1, 2]);
    bench.pass(&timer, Duration::from_secs(10));
    assert_eq!(store.waiting().2, 1);
    let mut asked = Vec::new();
    store.renewed(|receipt| {
        asked.push(receipt.message);
        if asked.len() == 1 { Renewed::Unknown } else { moved(receipt) }
    });
    bench.settle();
    assert_eq!(store.waiting().2, 0, "not at once, or it would ask for as long as there is trouble");
    bench.pass(&timer, Duration::from_secs(5));
    let mut again = Vec::new();
    store.renewed(|receipt| {
        again.push(receipt.message);
        Renewed::Unknown
    });
    assert_eq!((asked.len(), &again[..]), (2, &asked[..1]), "the other one is renewed");
    bench.settle();
    assert_eq!(store.waiting().2, 0, "an answer that says nothing is like an error");
    bench.pass(&timer, Duration::from_secs(5));
    store.renewed(moved);
    bench.settle();
    end.send(()).unwrap();
    bench.pass(&timer, Duration::from_millis(50));
    // The other one is being renewed again by now, and its settlement comes after that.
    let mut settled = 0;
    for _ in 0..4 {
        if store.waiting().2 > 0 {
            store.renewed(moved);
            bench.settle();
        }
        while store.waiting().1 > 0 {
            settled += store.accept().len();
        }
        bench.pass(&timer, Duration::from_millis(50));
    }
    assert_eq!(settled, 2);
}

#[test]
fn a_renewal_without_an_answer_is_given_up_while_there_is_time_for_another() {
    let Held { store, timer, mut bench, end } = held(Duration::from_secs(30));
    bench.pass(&timer, Duration::from_secs(21));
    assert_eq!(store.waiting().2, 2);
    store.renewed(|_| Renewed::Superseded);
    bench.settle();
    store.renewed(moved);
    bench.settle();
    end.send(()).unwrap();
    bench.pass(&timer, Duration::from_millis(50));
    assert_eq!(store.accept()[0].receipt.locator, Locator(78), "the answer that came too late is not heard");
}

/// Guard: a lost claim goes back with the receipt of the renewal under way | app/outbox/src/settle/claim_handle.rs `lose`: no
/// `renewal_ended`
/// Guard: a late renewal ends no excuse | app/outbox/src/in_flight/open_claims/renewing.rs `conclude_renewal`: `asked` becomes false
#[test]
fn a_claim_that_expires_during_its_renewal_goes_back_with_the_new_receipt() {
    let Held { store, timer, mut bench, end: _end } = held(Duration::from_secs(30));
    bench.pass(&timer, Duration::from_secs(29));
    assert_eq!((store.waiting().1, store.waiting().2), (0, 2), "its second renewal is under way");
    for _ in 0..2 {
        store.renewed(moved);
        bench.settle();
    }
    let settled = store.accept();
    assert_eq!((returned(&settled), settled[0].receipt.locator), (vec![id(1)], Locator(78)));
}

/// Guard: a release after the deadline waits for the renewal as well | app/outbox/src/in_flight/open_claims/settling.rs `turn`: a lost
/// claim comes first
#[test]
fn a_release_after_the_deadline_shows_the_receipt_from_the_renewal_under_way() {
    let release = |timer: &HandTimer| {
        timer.advance(Duration::from_secs(2));
        Verdict::Release
    };
    let Held { store, timer, mut bench, end } = held_until(Duration::from_secs(30), &[1], release);
    bench.pass(&timer, Duration::from_secs(28));
    end.send(()).unwrap();
    bench.settle();
    assert_eq!((store.waiting().1, store.waiting().2), (0, 2), "its second renewal is under way");
    for _ in 0..2 {
        store.renewed(moved);
        bench.settle();
    }
    let settled = store.accept();
    assert_eq!((returned(&settled), settled[0].receipt.locator), (vec![id(1)], Locator(78)));
}
