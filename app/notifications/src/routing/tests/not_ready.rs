use super::*;

/// Guard: a provider that was not asked has no answer recorded | src/routing/named_provider.rs
/// `ask_prepared`: every answer is recorded
#[test]
fn a_file_that_is_out_of_reach_opens_no_circuit_and_closes_none() {
    let (clock, limits) = (Clock::default(), ProviderLimits::default());
    let not_ready = || Some(DeliveryError::NotReady { reason: "HTTP 503".into(), retry_after: None });
    let script = (0..50).map(|_| not_ready()).chain((0..5).map(|_| down())).chain([not_ready()]);
    let provider = scripted(script.collect());
    let a = named("a", &provider, &clock, &limits);
    let route = Route::in_order().with(a.clone()).expect("a");
    for n in 0..50 {
        assert_eq!(asked(&deliver(&route, n)), [("a", Answer::LATER)]);
    }
    assert_eq!(a.state().circuit, BreakerState::Closed);
    for n in 0..5 {
        let _ = deliver(&route, n);
    }
    clock.advance(Duration::from_secs(5));
    assert_eq!(asked(&deliver(&route, 1)), [("a", Answer::LATER)]);
    assert_ne!(a.state().circuit, BreakerState::Closed, "it was no trial");
    assert_eq!(asked(&deliver(&route, 2)), [("a", Answer::DELIVERED)]);
    assert_eq!(a.state().circuit, BreakerState::Closed);
}
