//! Providers that take messages and say nothing.
//! Promise: while a provider hangs, new messages ask another one first

use super::*;

/// A route whose first provider hangs at its first messages, and which is given these.
fn silent(clock: &Clock, hung: usize) -> (Route, Vec<Arc<Scripted>>) {
    let limits = ProviderLimits::default();
    let all = vec![scripted(vec![None; hung]), scripted(vec![])];
    let route = Route::in_order().with(named("a", &all[0], clock, &limits)).expect("a");
    (route.with(named("b", &all[1], clock, &limits)).expect("b"), all)
}

/// Guard: a provider that hangs is asked last | src/routing/route.rs `choose`: no order
#[test]
fn while_a_primary_hangs_new_messages_go_to_the_secondary_first() {
    let clock = Clock::default();
    let (route, all) = silent(&clock, 5);
    let given: Vec<_> = (0..5).map(message).collect();
    let mut waiting: Vec<_> = given.iter().map(|one| Box::pin(route.deliver(one, &[]))).collect();
    let mut look = || {
        let polled = waiting.iter_mut().map(|one| one.as_mut().poll(&mut Context::from_waker(Waker::noop())));
        assert!(polled.into_iter().all(|polled| polled.is_pending()));
    };
    look();
    assert_eq!(all[0].1.load(Ordering::SeqCst), 5);
    clock.advance(Duration::from_secs(2));
    assert_eq!(asked(&deliver(&route, 6)), [("b", Answer::DELIVERED)]);
    let doubted = run(route.deliver(&message(7), &[ProviderName::new("a").expect("a name")]));
    assert_eq!(asked(&doubted), [("a", Answer::DELIVERED)], "a message in doubt stays, and is answered");
    look();
    assert_eq!(asked(&deliver(&route, 8)), [("a", Answer::DELIVERED)], "it has answered");
}

#[test]
fn a_primary_that_hangs_is_asked_after_a_secondary_that_fails() {
    let clock = Clock::default();
    let (route, all) = silent(&clock, 5);
    all[1].0.lock().expect("no panic elsewhere").push(down());
    let given: Vec<_> = (0..5).map(message).collect();
    let mut waiting: Vec<_> = given.iter().map(|one| Box::pin(route.deliver(one, &[]))).collect();
    for one in &mut waiting {
        assert!(one.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    clock.advance(Duration::from_secs(2));
    assert_eq!(asked(&deliver(&route, 6)), [("b", Answer::NO_SESSION), ("a", Answer::DELIVERED)]);
}

/// Guard: a deferred message opens no circuit | ports/src/notification/channel_provider.rs
/// `speaks_against_provider`: the answer alone decides
#[test]
fn a_message_that_is_refused_for_its_recipient_says_nothing_of_the_provider() {
    let (clock, limits) = (Clock::default(), ProviderLimits::default());
    let greylisted = || Some(DeliveryError::deferred("450 greylisted"));
    let provider = scripted((0..20).map(|_| greylisted()).collect());
    let a = named("a", &provider, &clock, &limits);
    let route = Route::in_order().with(a.clone()).expect("a");
    for n in 0..20 {
        assert_eq!(asked(&deliver(&route, n)), [("a", Answer::LATER)]);
    }
    assert_eq!(a.state().circuit, BreakerState::Closed);
}
