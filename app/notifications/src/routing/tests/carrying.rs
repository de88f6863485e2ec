//! Providers that cannot carry every message.
//! Promise: a mail with files waits for a provider that can carry them

use claimstream_domain::notification::Attachment;

use super::*;

/// As a gateway without a template for files.
struct WithoutFiles(Arc<Scripted>);

#[async_trait]
impl ChannelProvider for WithoutFiles {
    fn carries(&self, message: &NotificationMessage) -> bool {
        message.content.attachments.is_empty()
    }

    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        match self.carries(message) {
            true => self.0.deliver(message).await,
            false => Err(DeliveryError::permanent("it has attachments")),
        }
    }
}

fn with_file(n: u128) -> NotificationMessage {
    let mut message = message(n);
    let url = "https://files.example.com/1.pdf".to_owned();
    message.content.attachments = vec![Attachment { url, name: "1.pdf".to_owned(), content_type: None }];
    message
}

fn called(delivery: &RoutedDelivery) -> Vec<&str> {
    delivery.calls.iter().map(|call| call.provider.as_str()).collect()
}

/// Guard: a provider that cannot carry a message is skipped | src/routing/route.rs `choose`: no `retain`
#[test]
fn what_one_provider_cannot_carry_waits_for_the_one_that_can() {
    let clock = Clock::default();
    let down_for_long = scripted((0..5).map(|_| down()).collect());
    let first = named("a", &down_for_long, &clock, &ProviderLimits::default());
    let other = Arc::new(WithoutFiles(scripted(Vec::new())));
    let other = Arc::new(NamedProvider::unguarded("b", other).expect("a name"));
    let route = Route::in_order().with(first).and_then(|route| route.with(other)).expect("two providers");
    // The circuit of the first opens, and mails without files go to the other one.
    for n in 0..5 {
        assert!(matches!(run(route.deliver(&message(n), &[])).end, DeliveryEnd::Delivered(_)));
    }
    let waits = run(route.deliver(&with_file(7), &[]));
    let DeliveryEnd::Failed(error) = &waits.end else { panic!("{waits:?}") };
    assert!(error.retry_after().is_some() && called(&waits).is_empty(), "{error:?}");
    assert!(error.to_string().contains("every provider of the channel sms that can carry it"), "{error}");
    clock.advance(Duration::from_secs(60));
    let delivered = run(route.deliver(&with_file(7), &[]));
    assert_eq!(called(&delivered), ["a"]);
    assert!(matches!(delivered.end, DeliveryEnd::Delivered(_)), "{delivered:?}");
}

#[test]
fn what_no_provider_can_carry_is_refused_in_its_words() {
    let alone = NamedProvider::unguarded("b", Arc::new(WithoutFiles(scripted(Vec::new())))).expect("a name");
    let route = Route::in_order().with(Arc::new(alone)).expect("one provider");
    let refused = run(route.deliver(&with_file(7), &[]));
    let DeliveryEnd::Failed(error) = &refused.end else { panic!("{refused:?}") };
    assert_eq!((error.answer(), error.to_string().as_str()), (Answer::REFUSED, "it has attachments"));
}
