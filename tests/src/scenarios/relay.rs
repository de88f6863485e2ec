use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use claimstream::{
    Claim, Claims, DeadLetterClass, DeadLetterEvent, LocalWakeup, Relay, RelayConfig, Verdict, handler_fn,
};
use claimstream_domain::{
    ByteBudget, ClaimRequest, Claimed, Lease, MessageId, Pacing, QueueName, Receipt, Renewed, RetryPolicy,
    Settled::{self, Accepted},
    Settlement,
};
use claimstream_ports::{LockingStrategy, Settlements, StoreError, StoreErrorKind, Wakeup};
use claimstream_tokio::TokioTimer;
use futures::{StreamExt, channel::oneshot};

use crate::{
    Fixture, HandTimer, Instance, LEASE, Ports,
    suite::{Case, cases},
};

pub const SCENARIOS: &[Case<Fixture>] = cases!["scenarios" needs [Claims]:
    a0_5_a_dead_letter_is_told_in_a_queue_of_its_own,
    a0_5_relays_that_tell_each_other_of_dead_letters_do_not_go_on_for_ever,
    a0_8_a_message_that_ends_its_process_each_time_is_dead_in_the_end,
    a0_8_a_message_that_ends_its_process_each_time_takes_no_other_along,
    a0_8_a_message_that_is_dropped_each_time_holds_nothing_up_and_is_dead_in_the_end,
    a0_8_a_handler_that_hangs_has_failed_its_attempt,
    a1_4_a_consumer_that_stops_pulling_holds_no_more_than_its_prefetch,
    a1_4_a_consumer_that_stops_pulling_holds_no_more_bytes_than_its_prefetch,
    a1_4_a_closed_stream_frees_what_was_not_handled needs [Sharing],
    a1_4_a_dropped_stream_frees_what_was_not_handled_when_the_lease_ends needs [Sharing],
    a1_4_a_closed_stream_leaves_nothing_leased_ahead,
    a1_5_a_store_error_is_waited_out_and_later_messages_arrive,
    a1_5_a_full_batch_claims_again_at_once,
    a1_5_an_idle_stream_claims_about_every_five_seconds,
    a1_5_a_wakeup_cuts_the_wait,
    a1_5_a_wakeup_after_one_in_vain_is_heard_at_once,
];

pub async fn a0_8_a_message_that_ends_its_process_each_time_is_dead_in_the_end(fixture: Fixture) {
    let id = fixture.enqueue(1).await[0];
    let retry = RetryPolicy { max_attempts: 4, ..RetryPolicy::default() };
    for attempt in 1..=4 {
        let mut process = Process::new(&fixture.store, RelayConfig { retry: retry.clone(), ..config(10) });
        assert_eq!(process.next().await.expect("a claim").attempt(), attempt);
        drop(process);
        fixture.advance(LEASE).await;
    }
    let mut process = Process::new(&fixture.rival, RelayConfig { retry, ..config(10) });
    assert!(process.next().await.is_none(), "it was handed out a fifth time");
    let dead = fixture.store.dead().await;
    assert_eq!(dead.iter().map(|d| d.message.id).collect::<Vec<_>>(), [id]);
}

pub async fn a0_8_a_message_that_ends_its_process_each_time_takes_no_other_along(fixture: Fixture) {
    let sent = fixture.enqueue(6).await;
    let poison = sent[3];
    let retry = RetryPolicy { max_attempts: 8, ..RetryPolicy::default() };
    let (mut crashes, mut handled) = (0, Vec::new());
    // Each process takes all it can get before it has handled anything.
    'processes: for n in 0..60 {
        let instance = [&fixture.store, &fixture.rival][n % 2];
        let mut process = Process::new(instance, RelayConfig { retry: retry.clone(), ..config(10) });
        loop {
            let mut in_hand = Vec::new();
            while let Some(claim) = process.next_within(Duration::from_secs(6)).await {
                in_hand.push(claim);
            }
            if in_hand.iter().any(|claim| claim.message().id == poison) {
                crashes += 1;
                drop((in_hand, process));
                fixture.advance(LEASE).await;
                continue 'processes;
            }
            if in_hand.is_empty() {
                break;
            }
            for claim in in_hand {
                handled.push(claim.message().id);
                assert_eq!(process.ack(claim).await, Accepted);
            }
        }
        if !fixture.store.dead().await.is_empty() {
            break;
        }
        fixture.advance(LEASE).await;
    }
    let dead: Vec<_> = fixture.store.dead().await.into_iter().map(|dead| dead.message.id).collect();
    handled.sort();
    let innocent: Vec<_> = sent.iter().copied().filter(|id| *id != poison).collect();
    assert_eq!((dead, handled, crashes), (vec![poison], innocent, 8));
}

pub async fn a0_8_a_message_that_is_dropped_each_time_holds_nothing_up_and_is_dead_in_the_end(
    fixture: Fixture,
) {
    let dropped = fixture.enqueue(1).await[0];
    let retry = RetryPolicy { max_attempts: 4, ..RetryPolicy::default() };
    let mut process = Process::new(&fixture.store, RelayConfig { retry, ..config(10) });
    for attempt in 1..=4 {
        let mut passing = fixture.enqueue(3).await;
        while let Some(claim) = process.next().await {
            if claim.message().id == dropped {
                assert_eq!(claim.attempt(), attempt);
                continue;
            }
            passing.retain(|id| *id != claim.message().id);
            assert_eq!(process.ack(claim).await, Accepted);
        }
        assert_eq!(passing, [], "they wait behind what was dropped");
        fixture.advance(LEASE).await;
    }
    assert!(process.next().await.is_none(), "it was handed out a fifth time");
    let dead = fixture.store.dead().await;
    assert_eq!(dead.iter().map(|d| d.message.id).collect::<Vec<_>>(), [dropped]);
}

pub async fn a0_5_a_dead_letter_is_told_in_a_queue_of_its_own(fixture: Fixture) {
    let sent = fixture.enqueue(2).await;
    let events = fixture.rival.on(&Fixture::fresh_queue());
    let retry = RetryPolicy { max_attempts: 1, ..RetryPolicy::default() };
    let dead_letter_events = Some(events.queue().clone());
    let mut process = Process::new(&fixture.store, RelayConfig { retry, dead_letter_events, ..config(10) });
    let classes = [DeadLetterClass::Failed, DeadLetterClass::Buried];
    for (id, class) in sent.iter().zip(classes) {
        let claim = process.next().await.expect("a claim");
        assert_eq!(claim.message().id, *id);
        let verdict = match class {
            DeadLetterClass::Buried => Verdict::bury("never"),
            _ => Verdict::nack("not once more"),
        };
        assert_eq!(process.settle(claim, verdict).await, Accepted);
        let event = events.take_one().await;
        assert_eq!(events.ack(&event).await, Accepted);
        let event: DeadLetterEvent = serde_json::from_slice(event.message.payload.bytes()).expect("an event");
        assert_eq!((event.message, event.attempts, event.class), (id.uuid(), 1, class));
        assert_eq!(event.queue, fixture.queue().as_str());
    }
    assert_eq!(fixture.store.dead().await.len(), 2);
    assert_eq!(fixture.store.revive(&fixture.store.own_dead()).await, 2);
    let claim = process.next().await.expect("a revived message");
    assert_eq!(process.settle(claim, Verdict::bury("again")).await, Accepted);
    assert_eq!(events.take_all().await.len(), 1, "a second burial is told as well");
}

pub async fn a0_5_relays_that_tell_each_other_of_dead_letters_do_not_go_on_for_ever(fixture: Fixture) {
    fixture.enqueue(1).await;
    let other = fixture.rival.on(&Fixture::fresh_queue());
    let telling = |queue: &QueueName| RelayConfig { dead_letter_events: Some(queue.clone()), ..config(10) };
    let mut here = Process::new(&fixture.store, telling(other.queue()));
    let mut there = Process::new(&other, telling(fixture.queue()));
    let claim = here.next().await.expect("a claim");
    assert_eq!(here.settle(claim, Verdict::bury("never")).await, Accepted);
    let event = there.next().await.expect("an event");
    assert_eq!(there.settle(event, Verdict::bury("nor this")).await, Accepted);
    assert!(here.next().await.is_none(), "an event of an event");
    assert_eq!((fixture.store.dead().await.len(), other.dead().await.len()), (1, 1));
}

pub async fn a0_8_a_handler_that_hangs_has_failed_its_attempt(fixture: Fixture) {
    let sent = fixture.enqueue(1).await;
    let config = RelayConfig { handle_timeout: Duration::from_millis(50), ..RelayConfig::default() };
    let store = Watched::new(&fixture.store, None);
    let relay = Relay::from_ports(store.clone(), store, Arc::new(TokioTimer::new()), config);
    let (stop, stopped) = oneshot::channel::<()>();
    let hangs = Arc::new(Mutex::new(Some(stop)));
    let handler = handler_fn(move |_| {
        // Dropped with the handler's future, which ends the pipeline.
        let stop = hangs.lock().unwrap_or_else(PoisonError::into_inner).take();
        async move {
            let _stop = stop;
            futures::future::pending().await
        }
    });
    let pipeline = relay.pipeline(fixture.queue().clone(), handler).expect("a pipeline");
    let report = pipeline.run_until(async move {
        let _ = stopped.await;
    });
    let report = report.await.expect("a report");
    assert_eq!((report.claimed, report.nacked, report.timed_out), (1, 1, 1), "{report:?}");
    fixture.advance(RetryPolicy::default().base).await;
    let again = fixture.rival.take_one().await;
    assert_eq!((again.message.id, again.attempt), (sent[0], 2));
    assert_eq!(again.last_error.map(|reason| reason.to_string()).as_deref(), Some("no verdict within 50ms"));
}

pub async fn a1_4_a_consumer_that_stops_pulling_holds_no_more_than_its_prefetch(fixture: Fixture) {
    fixture.enqueue(25).await;
    let mut process = Process::new(&fixture.store, config(10));
    let mut held = Vec::new();
    for _ in 0..5 {
        held.push(process.next().await.expect("a claim"));
    }
    assert!(leased(&fixture).await <= 10);
    for claim in held.drain(..) {
        assert_eq!(process.ack(claim).await, Accepted);
    }
    assert!(leased(&fixture).await <= 10);
    assert_eq!(fixture.rival.status().await.map(|status| status.depth), Some(20));
}

pub async fn a1_4_a_consumer_that_stops_pulling_holds_no_more_bytes_than_its_prefetch(fixture: Fixture) {
    for _ in 0..6 {
        fixture.store.enqueue(&[fixture.message_of(40_000)]).await;
        fixture.advance(Duration::from_micros(1)).await;
    }
    let prefetch_bytes = ByteBudget::new(100_000).expect("a budget");
    let mut process = Process::new(&fixture.store, RelayConfig { prefetch_bytes, ..config(10) });
    let mut done = 0;
    while done < 6 {
        let mut held = Vec::new();
        while let Some(claim) = process.next().await {
            held.push(claim);
        }
        assert!((1..=3).contains(&held.len()), "{} messages of 40 kB are held", held.len());
        done += held.len();
        for claim in held {
            assert_eq!(claim.attempt(), 1);
            assert_eq!(process.ack(claim).await, Accepted);
        }
    }
}

pub async fn a1_4_a_closed_stream_frees_what_was_not_handled(fixture: Fixture) {
    let sent = fixture.enqueue(25).await;
    let mut process = Process::new(&fixture.store, config(10));
    let mut held = Vec::new();
    for _ in 0..5 {
        held.push(process.next().await.expect("a claim"));
    }
    process.close().await;
    let rest = fixture.rival.take_all().await;
    let handled: Vec<MessageId> = held.iter().map(|claim| claim.message().id).collect();
    let expected: Vec<_> = sent.into_iter().filter(|id| !handled.contains(id)).collect();
    assert_eq!(rest.iter().map(|c| c.message.id).collect::<Vec<_>>(), expected);
    assert!(rest.iter().all(|claimed| claimed.attempt == 1), "an attempt was counted: {rest:?}");
}

pub async fn a1_4_a_dropped_stream_frees_what_was_not_handled_when_the_lease_ends(fixture: Fixture) {
    fixture.enqueue(25).await;
    let mut process = Process::new(&fixture.store, config(10));
    process.next().await.expect("a claim");
    let before = leased(&fixture).await;
    drop(process);
    fixture.advance(LEASE).await;
    assert!((1..=10).contains(&before), "{before} were leased");
    assert_eq!(fixture.rival.take_all().await.len(), 25);
}

pub async fn a1_4_a_closed_stream_leaves_nothing_leased_ahead(fixture: Fixture) {
    let sent = fixture.enqueue(600).await;
    let mut process = Process::new(&fixture.store, RelayConfig { batch: 100, ..config(200) });
    let mut handled = 0;
    while handled < 220 {
        let claim = process.next().await.expect("a claim");
        assert_eq!(process.ack(claim).await, Accepted);
        handled += 1;
    }
    process.close().await;
    let rest = fixture.rival.take_all().await;
    assert_eq!(rest.len(), sent.len() - handled);
    assert!(rest.iter().all(|claimed| claimed.attempt == 1), "an attempt was counted");
}

pub async fn a1_5_a_store_error_is_waited_out_and_later_messages_arrive(fixture: Fixture) {
    let faulty = Watched::new(&fixture.store, Some(2));
    let mut process = Process::on(faulty.clone(), &fixture.store, config(10));
    let mut found = Vec::new();
    let mut sent = Vec::new();
    for _ in 0..5 {
        sent.extend(fixture.enqueue(1).await);
        let claim = process.next().await.expect("a claim");
        found.push(claim.message().id);
        assert_eq!(process.ack(claim).await, Accepted);
    }
    assert_eq!(found, sent);
    assert!(faulty.claims() >= 6, "the failed call was not repeated");
}

pub async fn a1_5_a_full_batch_claims_again_at_once(fixture: Fixture) {
    fixture.enqueue(30).await;
    let mut process = Process::new(&fixture.store, RelayConfig { batch: 5, ..config(30) });
    for _ in 0..30 {
        process.next_within(Duration::ZERO).await.expect("a claim, without a wait");
    }
}

pub async fn a1_5_an_idle_stream_claims_about_every_five_seconds(fixture: Fixture) {
    let counting = Watched::new(&fixture.store, None);
    let mut process = Process::on(counting.clone(), &fixture.store, config(10));
    assert!(process.next_within(Duration::from_secs(60)).await.is_none());
    let before = counting.claims();
    assert!(process.next_within(Duration::from_secs(100)).await.is_none());
    let polls = counting.claims() - before;
    assert!((18..=42).contains(&polls), "{polls} claims in 100 s of idleness");
}

pub async fn a1_5_a_wakeup_cuts_the_wait(fixture: Fixture) {
    let wakeup = Arc::new(LocalWakeup::new());
    let mut process = Process::new(&fixture.store, config(10)).with_wakeup(wakeup.clone());
    assert!(process.next_within(Duration::from_secs(60)).await.is_none());
    fixture.enqueue(1).await;
    wakeup.wake(fixture.queue()).await.expect("wake");
    let shortest = Pacing::default().idle_min;
    process.next_within(2 * shortest).await.expect("a claim soon after the wakeup");
}

pub async fn a1_5_a_wakeup_after_one_in_vain_is_heard_at_once(fixture: Fixture) {
    let wakeup = Arc::new(LocalWakeup::new());
    let mut process = Process::new(&fixture.store, config(10)).with_wakeup(wakeup.clone());
    assert!(process.next_within(Duration::from_secs(60)).await.is_none());
    let at_once = Pacing::default().idle_min / 4;
    for _ in 0..3 {
        wakeup.wake(fixture.queue()).await.expect("wake");
        assert!(process.next_within(Duration::ZERO).await.is_none(), "nothing was sent");
        fixture.enqueue(1).await;
        wakeup.wake(fixture.queue()).await.expect("wake");
        let claim = process.next_within(at_once).await.expect("a claim at once");
        assert_eq!(process.ack(claim).await, Accepted);
    }
}

/// A process that reads the queue as a stream; its timer is moved as far as it takes.
struct Process {
    claims: Claims,
    relay: Relay,
    timer: HandTimer,
    store: Arc<Watched>,
}

impl Process {
    fn new(instance: &Instance, config: RelayConfig) -> Self {
        Self::on(Watched::new(instance, None), instance, config)
    }

    fn on(store: Arc<Watched>, instance: &Instance, config: RelayConfig) -> Self {
        let timer = HandTimer::default();
        let relay = Relay::from_ports(store.clone(), store.clone(), Arc::new(timer.clone()), config);
        let claims = relay.claims(instance.queue().clone()).expect("a stream");
        Self { claims, relay, timer, store }
    }

    fn with_wakeup(self, wakeup: Arc<dyn Wakeup>) -> Self {
        let relay = self.relay.with_wakeup(wakeup);
        let claims = relay.claims(self.claims.queue().clone()).expect("a stream");
        Self { claims, relay, ..self }
    }

    /// The next claim, unless none comes within two idle waits.
    async fn next(&mut self) -> Option<Claim> {
        self.next_within(Duration::from_secs(11)).await
    }

    async fn next_within(&mut self, most: Duration) -> Option<Claim> {
        let step = Duration::from_millis(250).min(most / 4);
        let store = self.store.clone();
        let found = self.timer.within(most, step, || store.is_busy(), self.claims.next()).await?;
        Some(found.expect("the stream has no end").expect("the store works"))
    }

    async fn ack(&mut self, claim: Claim) -> Settled {
        self.settle(claim, Verdict::ack()).await
    }

    async fn settle(&mut self, claim: Claim, verdict: Verdict) -> Settled {
        let (most, step) = (Duration::from_secs(1), Duration::from_millis(5));
        let settled = self.timer.within(most, step, || self.store.is_busy(), claim.settle(verdict)).await;
        settled.expect("an answer within a second").expect("settle")
    }

    async fn close(self) {
        let (most, step) = (Duration::from_secs(1), Duration::from_millis(5));
        let closed = self.timer.within(most, step, || self.store.is_busy(), self.claims.close()).await;
        closed.expect("an end within a second").expect("close");
    }
}

/// A store that counts its claims, fails one of them, and tells whether it is busy.
struct Watched {
    ports: Ports,
    fails_at: Option<usize>,
    claims: AtomicUsize,
    busy: AtomicUsize,
}

impl Watched {
    fn new(instance: &Instance, fails_at: Option<usize>) -> Arc<Self> {
        let ports = instance.ports.clone();
        Arc::new(Self { ports, fails_at, claims: AtomicUsize::new(0), busy: AtomicUsize::new(0) })
    }

    fn claims(&self) -> usize {
        self.claims.load(Ordering::SeqCst)
    }

    fn is_busy(&self) -> bool {
        self.busy.load(Ordering::SeqCst) > 0
    }

    async fn busy<T>(&self, call: impl Future<Output = T> + Send) -> T {
        struct Busy<'a>(&'a AtomicUsize);
        impl Drop for Busy<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        self.busy.fetch_add(1, Ordering::SeqCst);
        let _busy = Busy(&self.busy);
        call.await
    }
}

#[async_trait]
impl LockingStrategy for Watched {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        let claim = 1 + self.claims.fetch_add(1, Ordering::SeqCst);
        if self.fails_at == Some(claim) {
            return Err(StoreError::new(StoreErrorKind::Transient, "claim", "injected"));
        }
        self.busy(self.ports.claiming.claim(request)).await
    }

    async fn release_read_ahead(&self, queue: &QueueName) -> Result<(), StoreError> {
        self.busy(self.ports.claiming.release_read_ahead(queue)).await
    }
}

#[async_trait]
impl Settlements for Watched {
    async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        self.busy(self.ports.settlements.settle(settlements)).await
    }

    async fn renew(&self, receipts: &[Receipt], lease: Lease) -> Result<Vec<Renewed>, StoreError> {
        self.busy(self.ports.settlements.renew(receipts, lease)).await
    }
}

async fn leased(fixture: &Fixture) -> u64 {
    fixture.rival.status().await.map_or(0, |status| status.leased)
}

fn config(prefetch: u32) -> RelayConfig {
    RelayConfig { batch: 10, prefetch, ..RelayConfig::default() }
}
