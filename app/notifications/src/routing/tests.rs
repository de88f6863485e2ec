//! Routes on a clock that the test moves: circuits, failover, limits.
//! Promise: while a provider is down, the next delivers within the same attempt; a message without a free
//! slot waits and no attempt is counted

mod carrying;
mod hanging;
mod limits;

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use async_trait::async_trait;
use claimstream_domain::notification::{
    Answer, Attachment, Channel, Content, NotificationMessage, Priority,
    provider::{AfterUnknown, BreakerState, Grant, ProviderName, Rate},
};
use claimstream_ports::{
    Sleep, StoreError, StoreErrorKind, Timer,
    notification::{ChannelProvider, Delivered, DeliveryError, RateLimiter},
};
use uuid::Uuid;

use super::{
    attempt::{DeliveryEnd, RoutedDelivery},
    tokens::Tokens,
    *,
};
use crate::tests::finish;

mod not_ready;
mod preparing;

/// A clock that stands until it is moved. A sleep that must not last moves it to its end.
#[derive(Clone, Default)]
struct Clock(Arc<AtomicU64>);

impl Clock {
    fn advance(&self, by: Duration) {
        self.0.fetch_add(u64::try_from(by.as_micros()).expect("a short time"), Ordering::SeqCst);
    }
}

impl Timer for Clock {
    fn now(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::SeqCst))
    }

    fn sleep(&self, duration: Duration) -> Sleep<'_> {
        Box::pin(Nap { clock: self.clone(), until: self.now() + duration, polled: false })
    }
}

/// Lets everything else run once, and is over then, whatever time that took.
struct Nap {
    clock: Clock,
    until: Duration,
    polled: bool,
}

impl Future for Nap {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if !std::mem::replace(&mut self.polled, true) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let left = self.until.saturating_sub(self.clock.now());
        self.clock.advance(left);
        Poll::Ready(())
    }
}

/// Answers by script, then with success; `None` never answers.
#[derive(Default)]
struct Scripted(Mutex<Vec<Option<DeliveryError>>>, AtomicU64);

#[async_trait]
impl ChannelProvider for Scripted {
    async fn deliver(&self, _: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        let next = {
            let mut script = self.0.lock().expect("no panic elsewhere");
            (!script.is_empty()).then(|| script.remove(0))
        };
        match next {
            None => Ok(Delivered::default()),
            Some(Some(error)) => Err(error),
            Some(None) => std::future::pending().await,
        }
    }
}

fn scripted(answers: Vec<Option<DeliveryError>>) -> Arc<Scripted> {
    Arc::new(Scripted(Mutex::new(answers), AtomicU64::new(0)))
}

fn down() -> Option<DeliveryError> {
    Some(DeliveryError::down("refused"))
}

fn named(name: &str, provider: &Arc<Scripted>, clock: &Clock, limits: &ProviderLimits) -> Arc<NamedProvider> {
    let (timer, limiter) = (Arc::new(clock.clone()), Arc::new(LocalRates::new(Arc::new(clock.clone()))));
    Arc::new(NamedProvider::new(name, provider.clone(), limits, timer, limiter).expect("good limits"))
}

fn message(n: u128) -> NotificationMessage {
    NotificationMessage {
        id: Uuid::from_u128(n),
        request_id: Uuid::from_u128(7),
        channel: Channel::Sms,
        recipient: "user:a".into(),
        address: "+491".into(),
        content: Content::default(),
        sender: None,
        expires_at: None,
        category: None,
        priority: Default::default(),
        unsubscribe_url: None,
        time_zone: None,
        digest: None,
        traceparent: None,
    }
}

/// Runs a future to its end, naps included.
fn run<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    for _ in 0..10_000 {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return value;
        }
    }
    panic!("the future waits for ever")
}

/// How long a message waits for which there is no room.
fn room_after(delivery: RoutedDelivery) -> Duration {
    match delivery.end {
        DeliveryEnd::NoRoom { after, .. } => after,
        other => panic!("{other:?}"),
    }
}

fn deliver(route: &Route, n: u128) -> RoutedDelivery {
    run(route.deliver(&message(n), &[]))
}

fn asked(delivery: &RoutedDelivery) -> Vec<(&str, Answer)> {
    delivery.calls.iter().map(|call| (call.provider.as_str(), call.answer)).collect()
}

#[test]
fn a1_9_primary_down_and_the_secondary_delivers_within_the_same_attempt() {
    let (clock, limits) = (Clock::default(), ProviderLimits::default());
    let (first, second) = (scripted(vec![down()]), scripted(vec![]));
    let route = Route::in_order().with(named("a", &first, &clock, &limits)).expect("a");
    let route = route.with(named("b", &second, &clock, &limits)).expect("b");
    let delivery = deliver(&route, 1);
    assert_eq!(asked(&delivery), [("a", Answer::NO_SESSION), ("b", Answer::DELIVERED)]);
    assert!(matches!(delivery.end, DeliveryEnd::Delivered(_)));
}

#[test]
fn an_open_circuit_costs_a_message_nothing_and_one_trial_brings_the_primary_back() {
    let (clock, limits) = (Clock::default(), ProviderLimits::default());
    let (first, second) = (scripted((0..6).map(|_| down()).collect()), scripted(vec![]));
    let a = named("a", &first, &clock, &limits);
    let route = Route::in_order().with(a.clone()).expect("a");
    let route = route.with(named("b", &second, &clock, &limits)).expect("b");
    for n in 0..20 {
        assert!(matches!(deliver(&route, n).end, DeliveryEnd::Delivered(_)));
    }
    assert_eq!(first.1.load(Ordering::SeqCst), 5, "five failures open the circuit");
    assert_eq!(a.state().circuit, BreakerState::Open);
    clock.advance(Duration::from_secs(5));
    assert_eq!(asked(&deliver(&route, 20)), [("a", Answer::NO_SESSION), ("b", Answer::DELIVERED)]);
    clock.advance(Duration::from_secs(9));
    assert_eq!(asked(&deliver(&route, 21)), [("b", Answer::DELIVERED)], "the pause has doubled");
    clock.advance(Duration::from_secs(1));
    assert_eq!(asked(&deliver(&route, 22)), [("a", Answer::DELIVERED)]);
    assert_eq!(a.state().circuit, BreakerState::Closed);
    assert_eq!(a.state().possible_doubles, 0);
}

/// Guard: an unknown acceptance is not followed by a failover | src/routing/route.rs `ends`: only permanent
/// errors
#[test]
fn a_message_in_doubt_stays_with_its_provider_unless_failover_is_asked_for_and_that_is_counted() {
    let clock = Clock::default();
    let limits = ProviderLimits { timeout: Some(Duration::from_secs(2)), ..ProviderLimits::default() };
    let route = |after_unknown| {
        let (first, second) = (scripted(vec![None]), scripted(vec![]));
        let a = named("a", &first, &clock, &limits);
        let route = Route::in_order().after_unknown(after_unknown).with(a.clone()).expect("a");
        (a, route.with(named("b", &second, &clock, &limits)).expect("b"))
    };
    let (a, same) = route(AfterUnknown::RetrySame);
    let delivery = deliver(&same, 1);
    assert_eq!(asked(&delivery), [("a", Answer::LOST)]);
    assert_eq!(delivery.calls[0].took, Duration::from_secs(2));
    assert_eq!(a.state().possible_doubles, 0);
    let again = run(same.deliver(&message(1), &[ProviderName::new("a").expect("a name")]));
    assert_eq!(asked(&again), [("a", Answer::DELIVERED)]);
    let gone = run(same.deliver(&message(1), &[ProviderName::new("gone").expect("a name")]));
    assert_eq!(asked(&gone), [("a", Answer::DELIVERED)], "a provider that is not configured any more");

    let (a, other) = route(AfterUnknown::Failover);
    assert_eq!(asked(&deliver(&other, 1)), [("a", Answer::LOST), ("b", Answer::DELIVERED)]);
    assert_eq!(a.state().possible_doubles, 1);
}

#[test]
fn a_message_in_doubt_waits_for_its_provider_even_while_its_circuit_is_open() {
    let (clock, limits) = (Clock::default(), ProviderLimits::default());
    let (first, second) = (scripted((0..5).map(|_| down()).collect()), scripted(vec![]));
    let route = Route::in_order().with(named("a", &first, &clock, &limits)).expect("a");
    let route = route.with(named("b", &second, &clock, &limits)).expect("b");
    for n in 0..5 {
        let _ = deliver(&route, n);
    }
    let delivery = run(route.deliver(&message(9), &[ProviderName::new("a").expect("a name")]));
    assert!(delivery.calls.is_empty());
    let DeliveryEnd::Failed(error) = delivery.end else { panic!("{:?}", delivery.end) };
    assert_eq!((error.answer(), error.retry_after()), (Answer::LATER, Some(Duration::from_secs(5))));
}

/// Guard: a failover after a doubt of an earlier attempt is counted | src/routing/route.rs `deliver`:
/// `doubted` begins as none
#[test]
fn a_failover_from_a_provider_that_is_in_doubt_since_an_earlier_attempt_is_counted_once() {
    let (clock, limits) = (Clock::default(), ProviderLimits::default());
    let (first, second) = (scripted((0..5).map(|_| down()).collect()), scripted(vec![]));
    let (a, b) = (named("a", &first, &clock, &limits), named("b", &second, &clock, &limits));
    let route = Route::in_order().after_unknown(AfterUnknown::Failover).with(a.clone()).expect("a");
    let route = route.with(b.clone()).expect("b");
    for n in 0..5 {
        let _ = deliver(&route, n);
    }
    let in_doubt = |names: &[&str]| -> Vec<_> {
        names.iter().map(|name| ProviderName::new(name).expect("a name")).collect()
    };
    let other = run(route.deliver(&message(9), &in_doubt(&["a"])));
    assert_eq!(asked(&other), [("b", Answer::DELIVERED)], "the circuit of a is open");
    assert_eq!((a.state().possible_doubles, b.state().possible_doubles), (1, 0));
    let again = run(route.deliver(&message(9), &in_doubt(&["a", "b"])));
    assert_eq!(asked(&again), [("b", Answer::DELIVERED)], "it was given to b before");
    clock.advance(Duration::from_secs(5));
    let same = run(route.deliver(&message(10), &in_doubt(&["a"])));
    assert_eq!(asked(&same), [("a", Answer::DELIVERED)]);
    assert_eq!((a.state().possible_doubles, b.state().possible_doubles), (1, 0));
    let a = named("a", &scripted(vec![down()]), &clock, &limits);
    let route = Route::in_order().after_unknown(AfterUnknown::Failover).with(a.clone()).expect("a");
    let away_now = run(route.with(b).expect("b").deliver(&message(11), &in_doubt(&["a"])));
    assert_eq!(asked(&away_now), [("a", Answer::NO_SESSION), ("b", Answer::DELIVERED)]);
    assert_eq!(a.state().possible_doubles, 1, "that it is away now says nothing of the call before");
}

#[test]
fn throttling_fails_over_and_opens_no_circuit() {
    let (clock, limits) = (Clock::default(), ProviderLimits::default());
    let busy = || Some(DeliveryError::Throttled { reason: "429".into(), retry_after: None });
    let (first, second) = (scripted((0..50).map(|_| busy()).collect()), scripted(vec![]));
    let a = named("a", &first, &clock, &limits);
    let route = Route::in_order().with(a.clone()).expect("a");
    let route = route.with(named("b", &second, &clock, &limits)).expect("b");
    for n in 0..50 {
        assert_eq!(asked(&deliver(&route, n)), [("a", Answer::THROTTLED), ("b", Answer::DELIVERED)]);
    }
    assert_eq!(a.state().circuit, BreakerState::Closed);
}

/// Guard: a message waits no longer than the provider that takes it soonest asks for | src/routing/route.rs `deliver`:
/// `get_or_insert`
#[test]
fn of_two_providers_the_shorter_wait_counts() {
    let clock = Clock::default();
    let busy = |name: &str, seconds: Option<u64>| {
        let retry_after = seconds.map(Duration::from_secs);
        let provider = scripted(vec![Some(DeliveryError::Throttled { reason: "429".into(), retry_after })]);
        named(name, &provider, &clock, &ProviderLimits::default())
    };
    for (waits, expected) in [([Some(86_400), Some(2)], Some(2)), ([Some(90), None], None)] {
        let [a, b] = waits;
        let route = Route::in_order().with(busy("a", a)).expect("a").with(busy("b", b)).expect("b");
        let DeliveryEnd::Failed(error) = deliver(&route, 1).end else { panic!("delivered") };
        assert_eq!(error.retry_after(), expected.map(Duration::from_secs));
    }
}

#[test]
fn weights_share_messages_and_one_message_is_drawn_the_same_each_time() {
    let (clock, limits) = (Clock::default(), ProviderLimits::default());
    let (first, second) = (scripted(vec![]), scripted(vec![]));
    let route = Route::by_weight().with_weight(named("a", &first, &clock, &limits), 1).expect("a");
    let route = route.with_weight(named("b", &second, &clock, &limits), 3).expect("b");
    for n in 0..400 {
        let (one, same) = (deliver(&route, n), deliver(&route, n));
        assert_eq!(asked(&one), asked(&same));
    }
    let share = second.1.load(Ordering::SeqCst);
    assert!((520..=680).contains(&share), "{share} of 800");
}

/// Guard: a half-open circuit whose test message goes away tests the next | src/routing/guard.rs: no
/// `abandon`
#[test]
fn a_trial_whose_message_goes_away_is_given_to_the_next() {
    let (clock, limits) = (Clock::default(), ProviderLimits::default());
    let mut script: Vec<_> = (0..5).map(|_| down()).collect();
    script.push(None);
    let provider = scripted(script);
    let route = Route::in_order().with(named("a", &provider, &clock, &limits)).expect("a");
    for n in 0..5 {
        let _ = deliver(&route, n);
    }
    clock.advance(Duration::from_secs(5));
    let trial = message(5);
    let mut hanging = Box::pin(route.deliver(&trial, &[]));
    assert!(hanging.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert!(deliver(&route, 6).calls.is_empty(), "one trial at a time");
    drop(hanging);
    assert!(matches!(finish(route.deliver(&message(7), &[])).end, DeliveryEnd::Delivered(_)));
}

#[test]
fn a_provider_is_listed_once() {
    let (clock, limits) = (Clock::default(), ProviderLimits::default());
    let provider = scripted(vec![]);
    let route = Route::in_order().with(named("a", &provider, &clock, &limits)).expect("a");
    let refused = route.with(named("a", &provider, &clock, &limits)).unwrap_err().to_string();
    assert!(refused.contains("provider a is listed twice"), "{refused}");
}
