use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use claimstream_domain::{
    ClaimId, ClaimRequest, InstanceId, Invalid, Lease, Owner, QueueName, Verdict,
    step::{NewStep, StepChange, StepKey},
};
use claimstream_memory::MemoryStore;
use claimstream_ports::{
    Handler, LockingStrategy, Observe, StoreErrorKind, Transactions, mock::MockTimer, step::StepLedger,
};
use futures::{FutureExt, executor::block_on};
use proptest::{collection::vec, prelude::*};

use super::*;

const NAMES: [&str; 3] = ["d1", "d2", "d3"];

/// The draw for one tick: which decisions fail, whether its process ends after so many of them, and how long it is
/// until the next tick.
#[derive(Clone, Debug)]
struct Drawn {
    fails: [bool; 3],
    crash: Option<usize>,
    wait: u64,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let crash = prop_oneof![4 => Just(None), 1 => (0..3_usize).prop_map(Some)];
    (any::<[bool; 3]>(), crash, 1..12_u64).prop_map(|(fails, crash, wait)| Drawn { fails, crash, wait })
}

/// How often each decision has succeeded, as far as was committed, and how the event stands.
fn play(ticks: Vec<Drawn>, policy: FailurePolicy) -> ([usize; 3], EventStatus, usize) {
    let store = Arc::new(MemoryStore::with_manual_clock());
    let tick = Tick { scheme: "drawn".parse().unwrap(), occurrence: store.clock().now() };
    let answers: Arc<Mutex<VecDeque<Option<bool>>>> = Arc::default();
    let schedule = Schedule::every(Duration::from_secs(600)).unwrap();
    let alarm = Alarm::to_queue(QueueName::new("alarms").unwrap());
    let mut scheme = EventScheme::new(tick.scheme.clone(), schedule, alarm).on_failure(policy);
    for (at, name) in NAMES.into_iter().enumerate() {
        let (store, answers) = (store.clone(), answers.clone());
        scheme = scheme.decision(name.parse().unwrap(), move |tx, _| {
            let (store, answer) = (store.clone(), answers.lock().unwrap()[at]);
            async move {
                let key = StepKey::new("effect", name, "").unwrap();
                match store.find(tx, &key).await? {
                    None => drop(StepLedger::begin(&*store, tx, &NewStep::new(key, 1)).await?),
                    Some(step) => drop(
                        StepLedger::advance(&*store, tx, &key, &step, &StepChange::to(step.state + 1))
                            .await?,
                    ),
                }
                match answer {
                    None => std::future::pending().await,
                    Some(true) => Ok(()),
                    Some(false) => Err(DecisionError::failed("drawn")),
                }
            }
            .boxed()
        });
    }
    let events = TimerEvents::new(store.clone(), MockTimer::new(), QueueName::new("timers").unwrap());
    let events = events.with(scheme).unwrap();
    for drawn in ticks {
        *answers.lock().unwrap() =
            (0..3).map(|at| (drawn.crash != Some(at)).then_some(!drawn.fails[at])).collect();
        // A visit that hangs is dropped, as by the end of its process.
        if let Some(visited) = events.visit(&tick).now_or_never() {
            visited.unwrap();
        }
        store.advance(Duration::from_secs(drawn.wait));
    }
    block_on(async {
        let tx = store.begin_tx().await.unwrap();
        let mut successes = [0; 3];
        for (at, name) in NAMES.into_iter().enumerate() {
            let effect = store.find(&tx, &StepKey::new("effect", name, "").unwrap()).await.unwrap();
            successes[at] = effect.map_or(0, |step| usize::from(step.state));
        }
        let event = StepKey::new("timer:drawn", &tick.unique_code(), "").unwrap();
        let event = store.find(&tx, &event).await.unwrap().expect("an event");
        let alarms = store.observe().await.unwrap();
        let alarms = alarms.iter().filter(|queue| queue.queue.as_str() == "alarms").count();
        (successes, EventStatus::from_code(event.state).unwrap(), alarms)
    })
}

proptest! {
    #[test]
    fn a2_7_through_fifty_ticks_each_decision_succeeds_once_at_most_and_all_if_and_only_if_the_event_does(
        ticks in vec(drawn(), 50),
        go_on in any::<bool>(),
    ) {
        let policy = if go_on { FailurePolicy::Continue } else { FailurePolicy::Stop };
        let (successes, status, alarms) = play(ticks, policy);
        prop_assert!(successes.iter().all(|times| *times <= 1), "{:?}", successes);
        prop_assert_eq!(successes == [1; 3], status == EventStatus::Success, "{:?} {:?}", successes, status);
        prop_assert_eq!(alarms, usize::from(status == EventStatus::Timeout));
    }
}

#[test]
fn a_tick_that_was_overtaken_comes_again_and_runs_the_hook_of_a_process_that_died() {
    let store = Arc::new(MemoryStore::with_manual_clock());
    let queue = QueueName::new("timers").unwrap();
    let tick = Tick { scheme: "bill".parse().unwrap(), occurrence: store.clock().now() };
    let scheme = || {
        let schedule = Schedule::every(Duration::from_secs(600)).unwrap();
        EventScheme::new(tick.scheme.clone(), schedule, Alarm::to_queue(QueueName::new("alarms").unwrap()))
    };
    let events = |scheme| {
        TimerEvents::new(store.clone(), MockTimer::new(), queue.clone()).with(scheme).expect("a scheme")
    };
    let dying = events(scheme().on_timeout(|_, _| std::future::pending().boxed()));
    let hooks = Arc::new(AtomicUsize::new(0));
    let (clock, late, counted) = (store.clone(), tick.clone(), hooks.clone());
    let living = scheme().decision("d1".parse().unwrap(), move |_, _| {
        // While this decision is made, another process ends the event and dies at its hook.
        clock.advance(Duration::from_secs(300));
        assert!(dying.visit(&late).now_or_never().is_none());
        async { Ok(()) }.boxed()
    });
    let living = events(living.on_timeout(move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        async { Ok(()) }.boxed()
    }));
    let request = ClaimRequest {
        queue: queue.clone(),
        limit: 1,
        budget: Default::default(),
        runs: None,
        lease: Lease::default(),
        claim: ClaimId::new(InstanceId(1), 1),
        owner: Owner::new(InstanceId(1), "test").unwrap(),
    };
    block_on(async {
        store.enqueue_now(&[tick.message(&queue).unwrap()]).await.unwrap();
        let claimed = store.claim(&request).await.unwrap();
        assert_eq!(living.handle(&claimed[0]).await, Verdict::Release);
        assert_eq!(living.handle(&claimed[0]).await, Verdict::ack());
    });
    assert_eq!(hooks.load(Ordering::Relaxed), 1);
}

/// Guard: a message of a scheme that was removed ends its timer | app/steps/src/timer_event/timer_events.rs `handle`:
/// it does not look at `removed`
#[test]
fn the_timer_of_a_scheme_that_was_removed_ends_with_its_next_message() {
    let setup = Ticks::new();
    let before = setup.events("timers", "d1", || Err(DecisionError::failed("not yet")));
    let after = TimerEvents::new(setup.store.clone(), MockTimer::new(), QueueName::new("timers").unwrap())
        .without(setup.tick.scheme.clone());
    block_on(async {
        let claimed = setup.claimed("timers").await;
        assert!(matches!(before.handle(&claimed).await, Verdict::Nack { .. }));
        for _ in 0..2 {
            assert_eq!(after.handle(&claimed).await, Verdict::ack());
            assert_eq!(setup.status().await, Some(EventStatus::Timeout));
        }
        let queues = setup.store.observe().await.unwrap();
        assert!(queues.iter().all(|queue| queue.queue.as_str() != "alarms"), "{queues:?}");
    });
}

/// Guard: an event of another program that shares a scheme's name is found out | app/steps/src/timer_event/visit.rs
/// `complete`: it does not ask for the queue
#[test]
fn a_scheme_name_of_two_programs_is_a_dead_letter_and_no_success() {
    let setup = Ticks::new();
    let (shipping, billing) = (
        setup.events("shipping", "ship", || Ok(())),
        setup.events("billing", "bill", || unreachable!("another program has ended the event")),
    );
    let moved = setup.events("moved", "ship", || Ok(()));
    block_on(async {
        let shipped = setup.claimed("shipping").await;
        assert_eq!(shipping.handle(&shipped).await, Verdict::ack());
        let billed = setup.claimed("billing").await;
        let Verdict::Bury { reason } = billing.handle(&billed).await else { panic!("it was no dead letter") };
        assert!(reason.as_str().contains("ended its event without bill"), "{reason}");
        let other_queue = setup.claimed("moved").await;
        assert_eq!(moved.handle(&other_queue).await, Verdict::ack());
    });
}

/// Guard: an alarm that cannot be raised does not stop its timer | app/steps/src/timer_event/visit.rs `time_out`:
/// no `move_on`
#[test]
fn a_timer_goes_on_where_its_alarm_cannot_be_raised_and_raises_it_once_it_can() {
    let setup = Ticks::new();
    let fails = || Err(DecisionError::failed("not yet"));
    let refused =
        || Alarm::message(|_| Err(Invalid::Malformed { what: "alarm", why: "it has no text".into() }));
    let broken = setup.events_with(refused(), "timers", "d1", fails);
    let mended = setup.events("timers", "d1", fails);
    block_on(async {
        broken.visit(&setup.tick).await.unwrap();
        assert_eq!(setup.depth("timers").await, 1, "the message of the deadline");
        setup.store.advance(Duration::from_secs(301));
        for _ in 0..2 {
            let error = broken.visit(&setup.tick).await.unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{error}");
            assert_eq!(setup.depth("timers").await, 2, "and the next tick");
            assert_eq!(setup.status().await, Some(EventStatus::Init));
        }
        let ticked = mended.visit(&setup.tick).await.unwrap();
        assert!(matches!(ticked, Some(Ticked::TimedOut { .. })), "{ticked:?}");
        assert_eq!((setup.depth("timers").await, setup.depth("alarms").await), (2, 1));
    });
}

/// One tick of a scheme, and programs that may have it.
struct Ticks {
    store: Arc<MemoryStore>,
    tick: Tick,
}

impl Ticks {
    fn new() -> Self {
        let store = Arc::new(MemoryStore::with_manual_clock());
        let tick = Tick { scheme: "nightly".parse().unwrap(), occurrence: store.clock().now() };
        Self { store, tick }
    }

    /// A program with one decision.
    fn events(
        &self,
        queue: &str,
        decision: &str,
        decide: impl Fn() -> Result<(), DecisionError> + Send + Sync + 'static,
    ) -> TimerEvents<MemoryStore> {
        self.events_with(Alarm::to_queue(QueueName::new("alarms").unwrap()), queue, decision, decide)
    }

    fn events_with(
        &self,
        alarm: Alarm<<MemoryStore as Transactions>::Tx>,
        queue: &str,
        decision: &str,
        decide: impl Fn() -> Result<(), DecisionError> + Send + Sync + 'static,
    ) -> TimerEvents<MemoryStore> {
        let schedule = Schedule::every(Duration::from_secs(600)).unwrap();
        let scheme = EventScheme::new(self.tick.scheme.clone(), schedule, alarm);
        let scheme = scheme.decision(decision.parse().unwrap(), move |_, _| {
            let decided = decide();
            async move { decided }.boxed()
        });
        let queue = QueueName::new(queue).unwrap();
        TimerEvents::new(self.store.clone(), MockTimer::new(), queue).with(scheme).unwrap()
    }

    /// The tick's message, taken from a queue.
    async fn claimed(&self, queue: &str) -> claimstream_domain::Claimed {
        let queue = QueueName::new(queue).unwrap();
        self.store.enqueue_now(&[self.tick.message_of_queue(&queue).unwrap()]).await.unwrap();
        let request = ClaimRequest {
            queue,
            limit: 1,
            budget: Default::default(),
            runs: None,
            lease: Lease::default(),
            claim: ClaimId::new(InstanceId(1), 1),
            owner: Owner::new(InstanceId(1), "test").unwrap(),
        };
        self.store.claim(&request).await.unwrap().remove(0)
    }

    /// How many messages a queue has.
    async fn depth(&self, queue: &str) -> u64 {
        let queues = self.store.observe().await.unwrap();
        queues.iter().find(|found| found.queue.as_str() == queue).map_or(0, |found| found.depth)
    }

    async fn status(&self) -> Option<EventStatus> {
        let key = StepKey::new("timer:nightly", &self.tick.unique_code(), "").unwrap();
        let tx = self.store.begin_tx().await.unwrap();
        let found = self.store.find(&tx, &key).await.unwrap();
        found.and_then(|step| EventStatus::from_code(step.state))
    }
}

#[test]
fn refuses_two_of_one_name_and_times_that_are_too_short() {
    let scheme = || {
        let schedule = Schedule::every(Duration::from_secs(60)).unwrap();
        let alarm = Alarm::to_queue(QueueName::new("alarms").unwrap());
        EventScheme::new("bill".parse().unwrap(), schedule, alarm)
    };
    let events = || {
        TimerEvents::new(Arc::new(MemoryStore::new()), MockTimer::new(), QueueName::new("timers").unwrap())
    };
    let nothing = |scheme: EventScheme<_>| {
        scheme.remote_decision("d1".parse().unwrap(), |_, _| async { Ok(()) }.boxed())
    };
    assert!(events().with(nothing(nothing(scheme()))).is_err());
    assert!(events().with(scheme()).unwrap().with(scheme()).is_err());
    assert!(events().with(scheme().deadline(Duration::from_millis(999))).is_err());
    assert!(events().with(scheme().retry_every(Duration::ZERO)).is_err());
    let policy = events().with(scheme().retry_every(Duration::from_secs(7))).unwrap().pipeline_retry();
    assert_eq!((policy.check(), policy.max_attempts), (Ok(()), 300_u32.div_ceil(7) + 20));
}
