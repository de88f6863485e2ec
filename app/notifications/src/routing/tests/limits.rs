//! Providers that may take so many messages, and no more.

use super::*;

#[test]
fn messages_beyond_the_rate_wait_a_moment_and_then_in_a_line_without_an_attempt() {
    let clock = Clock::default();
    clock.advance(Duration::from_secs(100));
    let limits = ProviderLimits { rate: Some("1/s".parse().expect("a rate")), ..ProviderLimits::default() };
    let provider = scripted(vec![]);
    let route = Route::in_order().with(named("a", &provider, &clock, &limits)).expect("a");
    assert_eq!(asked(&deliver(&route, 1)), [("a", Answer::DELIVERED)]);
    let waits: Vec<_> = (2..5)
        .map(|n| match deliver(&route, n).end {
            DeliveryEnd::NoRoom { after, .. } => after.as_secs(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(waits, [1, 2, 3]);
    assert_eq!(provider.1.load(Ordering::SeqCst), 1);
    clock.advance(Duration::from_secs(1));
    assert_eq!(asked(&deliver(&route, 2)), [("a", Answer::DELIVERED)]);
}

/// Guard: each priority has its own queue for a rate | src/routing/tokens.rs: one queue
#[test]
fn a_one_time_code_does_not_stand_in_the_line_of_a_campaign() {
    let clock = Clock::default();
    clock.advance(Duration::from_secs(100));
    let limits = ProviderLimits { rate: Some("1/s".parse().expect("a rate")), ..ProviderLimits::default() };
    let provider = scripted(vec![]);
    let route = Route::in_order().with(named("a", &provider, &clock, &limits)).expect("a");
    assert_eq!(asked(&deliver(&route, 1)), [("a", Answer::DELIVERED)]);
    let campaign: Vec<_> = (2..50).map(|n| room_after(deliver(&route, n))).collect();
    assert_eq!(campaign.last(), Some(&Duration::from_secs(48)));
    let code = NotificationMessage { priority: Priority::High, ..message(50) };
    assert_eq!(room_after(run(route.deliver(&code, &[]))), Duration::from_secs(1));
    assert_eq!(room_after(deliver(&route, 51)), Duration::from_secs(49), "the campaign's line stands");
}

/// Guard: a rate's schedule only moves forward | src/routing/tokens.rs `take`: an error sets it
#[test]
fn a_limiter_that_is_away_for_a_moment_moves_no_line_back() {
    let clock = Clock::default();
    let rate = "1/s".parse().expect("a rate");
    let tokens = Tokens::new(rate, Arc::new(Away));
    for _ in 0..30 {
        tokens.wait_in_line(clock.now(), Priority::Normal);
    }
    let name = ProviderName::new("a").expect("a name");
    assert!(!run(tokens.take(&name, &clock, clock.now() + Duration::from_millis(1), Priority::Normal)));
    assert_eq!(tokens.wait_in_line(clock.now(), Priority::Normal), Duration::from_secs(31));
}

/// A rate limiter whose store is down.
struct Away;

#[async_trait]
impl RateLimiter for Away {
    async fn grant(&self, _: &ProviderName, _: Rate, _: u32) -> Result<Grant, StoreError> {
        Err(StoreError::new(StoreErrorKind::Unavailable, "grant", "down"))
    }
}

#[test]
fn a_provider_handles_no_more_at_a_time_than_it_may() {
    let clock = Clock::default();
    let limits = ProviderLimits { concurrency: Some(1), ..ProviderLimits::default() };
    let provider = scripted(vec![None]);
    let route = Route::in_order().with(named("a", &provider, &clock, &limits)).expect("a");
    let first = message(1);
    let mut hanging = Box::pin(route.deliver(&first, &[]));
    assert!(hanging.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert!(matches!(deliver(&route, 2).end, DeliveryEnd::NoRoom { .. }));
    drop(hanging);
    assert!(matches!(deliver(&route, 2).end, DeliveryEnd::Delivered(_)));
}
