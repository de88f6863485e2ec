//! What waits for a slow consumer, and what comes too late from a slow store.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use claimstream::{Claim, Relay, RelayConfig, Renewed, RetryPolicy, Timer, Verdict, handler_fn};
use claimstream_domain::Disposition;
use claimstream_ports::mock::HandTimer;
use futures::{FutureExt, StreamExt, channel::oneshot, future::pending};

use crate::{
    play::{Answer, Bench, Play, id, returned},
    slow_store::SlowStore,
};

/// Starts what was handed over to be run beside.
fn spawn(bench: &Bench, timer: &HandTimer) {
    timer.take_spawned().into_iter().for_each(|work| drop(bench.start(work)));
}

/// Guard: messages that wait behind a slow consumer are given back | src/stream/claims/take_in.rs `take_in`: no watch is
/// begun
#[test]
fn what_waits_for_a_slow_consumer_goes_back_before_its_lease_ends() {
    let play = Play::new([Answer::Messages(vec![1; 5])]);
    let mut bench = Bench::default();
    let mut claims = play.relay(RelayConfig::default()).claims("orders").unwrap();
    let task = bench.start(async move { (claims.next().await.unwrap().unwrap(), claims) });
    bench.settle();
    let (in_hand, mut claims) = task.take().unwrap();
    spawn(&bench, &play.timer);
    bench.pass(&play.timer, Duration::from_millis(19_900));
    assert!(play.settled().is_empty(), "the consumer may still come");
    bench.pass(&play.timer, Duration::from_millis(300));
    assert_eq!(returned(&play.settled()), [id(2), id(3), id(4), id(5)]);
    // The consumer comes back at last: what it has in hand is its own affair, and nothing else is there.
    play.stage().answers.push_back(Answer::Messages(vec![1]));
    let task = bench.start(async move {
        let next = claims.next().await.unwrap().unwrap();
        (next.message().id, claims)
    });
    let (next, claims) = bench.finish(&play.timer, task);
    assert_eq!(next, id(6));
    drop((in_hand, claims));
}

/// Guard: a closed stream waits until its messages are given back | src/stream/claims.rs `is_stopped`: no
/// `is_giving_back`
#[test]
fn who_closes_waits_for_what_is_on_its_way_back() {
    let (store, timer) = (SlowStore::default(), HandTimer::default());
    let relay = Relay::new(Arc::new(store.clone()), timer.clone(), RelayConfig::default());
    let mut bench = Bench::default();
    let mut claims = relay.claims("orders").unwrap();
    let task = bench.start(async move { (claims.next().await.unwrap().unwrap(), claims) });
    bench.settle();
    store.bring([1, 2]);
    bench.settle();
    let (in_hand, claims) = task.take().unwrap();
    spawn(&bench, &timer);
    bench.pass(&timer, Duration::from_secs(21));
    assert_eq!(store.waiting().1, 1, "the second is on its way back");
    let closing = bench.start(claims.close());
    bench.pass(&timer, Duration::from_millis(100));
    if store.waiting().0 > 0 {
        store.bring([]);
    }
    bench.pass(&timer, Duration::from_millis(100));
    assert!(!closing.is_done());
    assert_eq!(returned(&store.accept()), [id(2)]);
    bench.settle();
    assert!(closing.is_done());
    drop(in_hand);
}

/// Guard: a claim whose answer comes too late is given back | src/stream/claim_call.rs `claimed_within`: no
/// `give_back_late`
#[test]
fn what_is_claimed_too_late_goes_back() {
    let (store, timer) = (SlowStore::default(), HandTimer::default());
    let relay = Relay::new(Arc::new(store.clone()), timer.clone(), RelayConfig::default());
    let mut bench = Bench::default();
    let mut claims = relay.claims("orders").unwrap();
    let _waiting = bench.start(async move { claims.next().await.is_some() });
    bench.pass(&timer, Duration::from_secs(29));
    spawn(&bench, &timer);
    store.bring([1, 2]);
    bench.settle();
    assert_eq!(returned(&store.accept()), [id(1), id(2)]);
}

/// Guard: a lease that expired because the store was slow costs no attempt | src/settle/claim_handle.rs `lose`:
/// nothing is taken back
/// Guard: expired leases are excused a limited number of times | src/settle/uncounted.rs `note`: `counts` is not
/// asked
#[test]
fn a_lease_that_ran_out_while_the_store_was_asked_for_more_time_is_excused_three_times() {
    let (store, timer) = (SlowStore::default(), HandTimer::default());
    let relay = Relay::new(Arc::new(store.clone()), timer.clone(), RelayConfig::default());
    let mut bench = Bench::default();
    let handler = handler_fn(|_| pending::<Verdict>());
    let pipeline = relay.pipeline("orders", handler).unwrap();
    let _running = bench.start(pipeline.run_until(pending()));
    for lapse in 1..=5 {
        while store.waiting().0 == 0 {
            bench.pass(&timer, Duration::from_millis(100));
        }
        store.bring([7]);
        for _ in 0..29 {
            bench.pass(&timer, Duration::from_secs(1));
            while store.waiting().0 > 0 {
                store.bring([]);
            }
        }
        assert!(store.waiting().2 > 0, "nobody asked for more time");
        while store.waiting().2 > 0 {
            store.renewed(|_| Renewed::Superseded);
        }
        bench.settle();
        match lapse {
            1..=3 => assert_eq!(returned(&store.accept()), [id(7)], "lapse {lapse}"),
            _ => assert_eq!(store.waiting().1, 0, "it was excused {lapse} times"),
        }
    }
}

/// Guard: a lease that expired before its renewal was asked for costs no attempt | src/renew/scheduler.rs
/// `poll_lost`: no `could_not_ask`
#[test]
fn a_lease_that_ran_out_behind_a_renewal_that_was_not_answered_is_excused() {
    let (store, timer) = (SlowStore::default(), HandTimer::default());
    let relay = Relay::new(Arc::new(store.clone()), timer.clone(), RelayConfig::default());
    let mut bench = Bench::default();
    let handler = handler_fn(|_| pending::<Verdict>());
    let pipeline = relay.pipeline("orders", handler).unwrap();
    let _running = bench.start(pipeline.run_until(pending()));
    bench.settle();
    store.bring([7]);
    bench.settle();
    while store.waiting().0 == 0 {
        bench.pass(&timer, Duration::from_millis(20));
    }
    // The renewals of the first are given up after ten seconds each; the answer to the claim comes during the second one.
    bench.pass(&timer, Duration::from_secs(21));
    assert_eq!(store.waiting().2, 2);
    store.bring([8]);
    bench.settle();
    bench.pass(&timer, Duration::from_millis(7_200));
    assert_eq!(store.waiting(), (1, 0, 2), "nobody could ask for more time for the second");
    bench.pass(&timer, Duration::from_millis(800));
    assert_eq!(returned(&store.accept()), [id(8)]);
    bench.pass(&timer, Duration::from_secs(2));
    assert_eq!(returned(&store.accept()), [id(7)], "it waits for its renewal to be given up");
}

/// Guard: a lease that expired while the process stood still costs an attempt | src/in_flight/open_claims/renewing.rs
/// `asked_in_vain`: `asked` is not looked at
#[test]
fn a_lease_that_ran_out_while_the_process_stood_still_is_not_excused() {
    let play = Play::new([Answer::Messages(vec![1])]);
    let mut bench = Bench::default();
    let handler = handler_fn(|_| pending::<Verdict>());
    let pipeline = play.relay(RelayConfig::default()).pipeline("orders", handler).unwrap();
    let _running = bench.start(pipeline.run_until(pending()));
    bench.settle();
    play.timer.advance(Duration::from_secs(31));
    bench.pass(&play.timer, Duration::from_secs(5));
    let given_back = play.settled().into_iter().filter(|one| one.disposition == Disposition::Returned);
    assert_eq!(given_back.count(), 0);
}

/// Guard: a claim that was lost while it waited is given back | src/settle/claim_handle.rs `end`: no `take_back`
#[test]
fn what_is_lost_while_it_waits_is_given_back_all_the_same() {
    let play = Play::new([Answer::Messages(vec![1, 1])]);
    let mut bench = Bench::default();
    let handler = handler_fn(|_| pending::<Verdict>());
    let pipeline = play.relay(RelayConfig::default()).pipeline("orders", handler).unwrap().concurrency(1);
    let _running = bench.start(pipeline.run_until(pending()));
    bench.settle();
    play.stage().superseded.extend([id(1), id(2)]);
    bench.pass(&play.timer, Duration::from_secs(31));
    assert!(returned(&play.settled()).contains(&id(2)), "its attempt stays counted");
}

/// A stream whose claims are kept in hand, and what has been brought to it first: two suspects beside others, and one more.
fn suspects(bench: &mut Bench, store: &SlowStore, timer: &HandTimer) -> Arc<Mutex<Vec<Claim>>> {
    let relay = Relay::new(Arc::new(store.clone()), timer.clone(), RelayConfig::default());
    let claims = relay.claims("orders").unwrap();
    let in_hand: Arc<Mutex<Vec<Claim>>> = Arc::default();
    let noted = Arc::clone(&in_hand);
    drop(bench.start(claims.for_each(move |claim| {
        noted.lock().unwrap().push(claim.unwrap());
        std::future::ready(())
    })));
    bench.settle();
    store.bring_cut_off([(1, 11), (2, 10), (3, 11), (4, 20)]);
    bench.settle();
    in_hand
}

/// Guard: a suspect waits until the messages claimed with it are given back | src/stream/claims.rs `has_to_wait`:
/// false
/// Guard: nothing is claimed while a suspect is in hand | src/stream/claims.rs `may_claim`: `has_suspect` is not
/// asked
#[test]
fn of_messages_that_may_end_their_process_one_is_at_hand() {
    let (store, timer, mut bench) = (SlowStore::default(), HandTimer::default(), Bench::default());
    let in_hand = suspects(&mut bench, &store, &timer);
    assert_eq!(in_hand.lock().unwrap().len(), 0, "others are still at hand");
    bench.pass(&timer, Duration::from_millis(100));
    assert_eq!(returned(&store.accept()), [id(3), id(4)]);
    bench.pass(&timer, Duration::from_secs(5));
    let ids: Vec<_> = in_hand.lock().unwrap().iter().map(|claim| claim.message().id).collect();
    assert_eq!(ids, [id(1), id(2)]);
    assert_eq!(store.waiting().0, 0, "nothing is claimed beside it");
    drop(in_hand.lock().unwrap().remove(0));
    bench.pass(&timer, Duration::from_secs(6));
    assert_eq!(store.waiting().0, 1, "it is gone, and others come");
}

/// Guard: a suspect blocks its stream for one lease at most | src/stream/isolation.rs `has_suspect`: no deadline
#[test]
fn who_keeps_a_suspect_for_longer_than_its_lease_holds_nobody_up() {
    let (store, timer, mut bench) = (SlowStore::default(), HandTimer::default(), Bench::default());
    let in_hand = suspects(&mut bench, &store, &timer);
    bench.pass(&timer, Duration::from_millis(100));
    store.accept();
    bench.pass(&timer, Duration::from_secs(28));
    assert_eq!((in_hand.lock().unwrap().len(), store.waiting().0), (2, 0));
    bench.pass(&timer, Duration::from_secs(2));
    assert_eq!(store.waiting().0, 1);
}

/// Guard: messages that are separated from a suspect are due at once | src/stream/returns.rs `keep_apart`:
/// `hand_out` comes first, so the next claims wait as after a message that was given back
#[test]
fn many_suspects_come_one_after_another_without_a_wait() {
    const SUSPECTS: u128 = 30;
    let (store, timer, mut bench) = (SlowStore::default(), HandTimer::default(), Bench::default());
    let retry = RetryPolicy { max_attempts: 2, ..RetryPolicy::default() };
    let relay =
        Relay::new(Arc::new(store.clone()), timer.clone(), RelayConfig { retry, ..RelayConfig::default() });
    let handler = handler_fn(|_| async { Verdict::ack() });
    let pipeline = relay.pipeline("orders", handler).unwrap();
    let _running = bench.start(pipeline.run_until(pending()));
    let began = timer.now();
    for first in 1..=SUSPECTS {
        while store.waiting().0 == 0 {
            bench.pass(&timer, Duration::from_millis(10));
        }
        store.bring_cut_off((first..=SUSPECTS).map(|n| (n, 2)));
        for _ in 0..5 {
            bench.pass(&timer, Duration::from_millis(5));
            while store.waiting().1 > 0 {
                store.accept();
            }
        }
    }
    let took = timer.now() - began;
    assert!(took < Duration::from_secs(6), "{took:?} for {SUSPECTS} suspects");
}

/// Guard: leases are extended while messages cannot be given back | src/settle/claim_handle.rs `give_back`: no
/// renewal; claim_call.rs `give_back_late`: asks once
#[test]
fn what_waits_for_a_slow_consumer_goes_back_though_the_store_is_away_until_its_lease_has_ended() {
    let (store, timer, mut bench) = (SlowStore::default(), HandTimer::default(), Bench::default());
    let relay = Relay::new(Arc::new(store.clone()), timer.clone(), RelayConfig::default());
    let mut claims = relay.claims("orders").unwrap();
    let task = bench.start(async move { (claims.next().await.unwrap().unwrap(), claims) });
    bench.settle();
    store.bring([1, 2]);
    bench.settle();
    let kept = task.take().unwrap();
    spawn(&bench, &timer);
    for _ in 0..32 {
        bench.pass(&timer, Duration::from_secs(1));
        while store.waiting().1 > 0 {
            assert_eq!(returned(&store.be_away()), [id(2)]);
        }
    }
    bench.pass(&timer, Duration::from_secs(5));
    assert_eq!(store.waiting().1, 1, "it has not been given up");
    assert_eq!(returned(&store.accept()), [id(2)]);
    drop(kept);
}

#[test]
fn what_is_claimed_too_late_goes_back_though_the_store_is_away_for_a_moment() {
    let (store, timer, mut bench) = (SlowStore::default(), HandTimer::default(), Bench::default());
    let relay = Relay::new(Arc::new(store.clone()), timer.clone(), RelayConfig::default());
    let mut claims = relay.claims("orders").unwrap();
    let _waiting = bench.start(async move { claims.next().await.is_some() });
    bench.pass(&timer, Duration::from_secs(29));
    spawn(&bench, &timer);
    store.bring([1]);
    bench.settle();
    assert_eq!(returned(&store.be_away()), [id(1)]);
    bench.pass(&timer, Duration::from_secs(5));
    assert_eq!(returned(&store.accept()), [id(1)]);
}

/// Guard: a pipeline that gives up counts what it leaves | src/stream/claims.rs `abandon`: no `let_all_go`
#[test]
fn a_report_counts_what_was_on_its_way_back_when_the_pipeline_gave_up() {
    let (store, timer, mut bench) = (SlowStore::default(), HandTimer::default(), Bench::default());
    let relay = Relay::new(Arc::new(store.clone()), timer.clone(), RelayConfig::default());
    let handler = handler_fn(|_| pending::<Verdict>());
    let pipeline = relay.pipeline("orders", handler).unwrap().concurrency(1);
    let (stop, stopped) = oneshot::channel::<()>();
    let run = bench.start(pipeline.run_until(stopped.map(drop)));
    bench.settle();
    store.bring([1, 2]);
    bench.settle();
    spawn(&bench, &timer);
    bench.pass(&timer, Duration::from_secs(21));
    stop.send(()).unwrap();
    let report = bench.finish(&timer, run).unwrap();
    assert_eq!(report.claimed, 2);
    let ended = report.acked + report.nacked + report.buried + report.released + report.superseded;
    assert_eq!(ended + report.unsettled, 2, "{report:?}");
}
