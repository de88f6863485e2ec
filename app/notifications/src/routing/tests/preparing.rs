//! Promise: while the server of a file is slow, the provider that needs the file does not hang, and other messages go through it

use std::sync::Weak;

use claimstream_ports::notification::Prepared;

use super::{super::named_provider::ProviderAnswer, *};

/// Fetches a file for messages with a title, and delivers as the title says.
#[derive(Default)]
struct Fetching {
    clock: Clock,
    held: Mutex<Option<Weak<()>>>,
    /// How many files were asked for, and whether the last one was held when the message was delivered.
    fetched: AtomicU64,
    was_held: AtomicU64,
}

#[async_trait]
impl ChannelProvider for Fetching {
    async fn prepare(&self, message: &NotificationMessage) -> Result<Prepared, DeliveryError> {
        let Some(title) = &message.content.title else { return Ok(Prepared::default()) };
        self.fetched.fetch_add(1, Ordering::SeqCst);
        match title.as_str() {
            "never" => std::future::pending().await,
            "503" => Err(DeliveryError::NotReady { reason: "HTTP 503".into(), retry_after: None }),
            "panic" => panic!("no file"),
            "down" | "silent" => Ok(Prepared::default()),
            _ => {
                // Two files, so that a timeout is looked at in between.
                self.clock.sleep(Duration::from_secs(5)).await;
                self.clock.sleep(Duration::from_secs(5)).await;
                let file = Arc::new(());
                *self.held.lock().expect("no panic elsewhere") = Some(Arc::downgrade(&file));
                Ok(Prepared::holding(file))
            }
        }
    }

    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        let held = self.held.lock().expect("no panic elsewhere").as_ref().map_or(0, Weak::strong_count);
        self.was_held.store(held as u64, Ordering::SeqCst);
        match message.content.title.as_deref() {
            Some("down") => Err(DeliveryError::down("refused")),
            Some("silent") => std::future::pending().await,
            _ => Ok(Delivered::default()),
        }
    }
}

/// A route whose first provider fetches files, may hold one message at a time and has two seconds for it.
fn fetching() -> (Arc<Fetching>, Arc<NamedProvider>, Route) {
    let clock = Clock::default();
    let fetching = Arc::new(Fetching { clock: clock.clone(), ..Fetching::default() });
    let limits = ProviderLimits {
        timeout: Some(Duration::from_secs(2)),
        concurrency: Some(1),
        ..ProviderLimits::default()
    };
    let (timer, limiter) = (Arc::new(clock.clone()), Arc::new(LocalRates::new(Arc::new(clock.clone()))));
    let a = NamedProvider::new("a", fetching.clone(), &limits, timer, limiter).expect("good limits");
    let (a, b) = (Arc::new(a), named("b", &scripted(vec![]), &clock, &ProviderLimits::default()));
    let route = Route::in_order().with(a.clone()).expect("a");
    (fetching, a, route.with(b).expect("b"))
}

fn with_file(n: u128, title: &str) -> NotificationMessage {
    NotificationMessage { content: Content { title: Some(title.into()), ..Content::default() }, ..message(n) }
}

/// Guard: the time of a file is not the provider's | app/notifications/src/routing/named_provider.rs `ask`: `prepare` behind `enter`
#[test]
fn a_provider_that_waits_for_files_neither_hangs_nor_holds_places() {
    let (fetching, a, route) = fetching();
    let given: Vec<_> = (0..5).map(|n| with_file(n, "never")).collect();
    let mut waiting: Vec<_> = given.iter().map(|one| Box::pin(route.deliver(one, &[]))).collect();
    for one in &mut waiting {
        assert!(one.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    fetching.clock.advance(Duration::from_secs(60));
    assert!(!a.is_hanging());
    assert_eq!(asked(&deliver(&route, 6)), [("a", Answer::DELIVERED)]);
}

#[test]
fn a_file_that_takes_longer_than_the_provider_may_leaves_nothing_in_doubt() {
    let (fetching, _, route) = fetching();
    let slow = with_file(1, "slow");
    let delivery = run(route.deliver(&slow, &[]));
    assert_eq!(asked(&delivery), [("a", Answer::DELIVERED)]);
    assert_eq!((fetching.clock.now(), delivery.calls[0].took), (Duration::from_secs(10), Duration::ZERO));
    assert_eq!(fetching.was_held.load(Ordering::SeqCst), 1, "it is there while the message is delivered");
    assert_eq!(fetching.held.lock().expect("no panic elsewhere").as_ref().map(Weak::strong_count), Some(0));
}

#[test]
fn a_file_that_is_out_of_reach_says_nothing_of_the_provider_and_none_is_fetched_for_an_open_circuit() {
    let (fetching, a, route) = fetching();
    for n in 0..20 {
        for title in ["503", "panic"] {
            let failed = with_file(n, title);
            let delivery = run(route.deliver(&failed, &[]));
            let answers: Vec<_> = delivery.calls.iter().map(|call| call.answer).collect();
            assert_eq!(answers, [Answer::LATER, Answer::DELIVERED]);
        }
    }
    assert_eq!(a.state().circuit, BreakerState::Closed);
    for n in 0..5 {
        let _ = run(route.deliver(&with_file(n, "down"), &[]));
    }
    assert_eq!(a.state().circuit, BreakerState::Open);
    let fetched = fetching.fetched.load(Ordering::SeqCst);
    assert_eq!(asked(&run(route.deliver(&with_file(9, "slow"), &[]))), [("b", Answer::DELIVERED)]);
    assert_eq!(fetching.fetched.load(Ordering::SeqCst), fetched);
}

/// Guard: no file is fetched for a provider without a place | app/notifications/src/routing/named_provider.rs `ask`: no `is_full`
#[test]
fn files_are_fetched_only_where_there_is_a_place() {
    let (fetching, a, _) = fetching();
    let silent = with_file(1, "silent");
    let mut held = Box::pin(a.ask(&silent));
    assert!(held.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let fetched = fetching.fetched.load(Ordering::SeqCst);
    let mut with_files = with_file(2, "slow");
    with_files.content.attachments.push(Attachment {
        url: "https://files.example.com/a.pdf".into(),
        name: "a.pdf".into(),
        content_type: None,
    });
    assert!(matches!(run(a.ask(&with_files)), ProviderAnswer::NoRoom(..)));
    assert_eq!(fetching.fetched.load(Ordering::SeqCst), fetched);
    drop(held);
    assert!(matches!(run(a.ask(&with_files)), ProviderAnswer::Called(..)));
}
