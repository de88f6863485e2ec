use std::{collections::BTreeMap, fmt, sync::Arc};

use claimstream_domain::notification::{Channel, NotificationMessage, provider::ProviderName};
use claimstream_ports::notification::ChannelProvider;

use super::{
    attempt::RoutedDelivery,
    named_provider::{NamedProvider, ProviderState},
    route::Route,
};

/// The providers of each channel.
#[derive(Clone, Default)]
pub struct Providers(BTreeMap<Channel, Route>);

impl Providers {
    /// No provider for any channel.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a provider for a channel, without limits, named after the channel.
    ///
    /// A second one for the same channel is asked, with the same message id, whenever the first fails for the time
    /// being, unless it may have accepted the message all the same.
    pub fn with(mut self, channel: Channel, provider: Arc<dyn ChannelProvider>) -> Self {
        let route = self.0.remove(&channel).unwrap_or_default();
        let name = format!("{}-{}", channel.name(), route.providers().count() + 1);
        let added = NamedProvider::unguarded(&name, provider).and_then(|one| route.with(Arc::new(one)));
        // A name that counts is a name, and is there once.
        if let Ok(route) = added {
            self.0.insert(channel, route);
        }
        self
    }

    /// Gives a channel a route, instead of the one that it had.
    pub fn with_route(mut self, channel: Channel, route: Route) -> Self {
        self.0.insert(channel, route);
        self
    }

    /// Where each provider stands, by name; one that several channels share comes once.
    pub fn states(&self) -> Vec<ProviderState> {
        let states = self.0.values().flat_map(|route| route.providers()).map(|one| one.state());
        let by_name: BTreeMap<ProviderName, ProviderState> =
            states.map(|state| (state.name.clone(), state)).collect();
        by_name.into_values().collect()
    }

    /// One attempt at a message. `in_doubt` names providers that may have accepted it at an earlier one.
    pub(crate) async fn deliver(
        &self,
        message: &NotificationMessage,
        in_doubt: &[ProviderName],
    ) -> RoutedDelivery {
        match self.0.get(&message.channel) {
            Some(route) => route.deliver(message, in_doubt).await,
            None => Route::default().deliver(message, in_doubt).await,
        }
    }
}

impl fmt::Debug for Providers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |route: &Route| route.providers().map(|one| one.name().clone()).collect::<Vec<_>>();
        f.debug_map().entries(self.0.iter().map(|(channel, route)| (channel.name(), names(route)))).finish()
    }
}

#[cfg(test)]
mod tests {
    use claimstream_domain::notification::{Acceptance, Answer, Content};
    use claimstream_ports::{
        mock::MockChannelProvider,
        notification::{Delivered, DeliveryError},
    };
    use uuid::Uuid;

    use super::{super::attempt::DeliveryEnd, *};
    use crate::tests::finish;

    fn message() -> NotificationMessage {
        NotificationMessage {
            id: Uuid::from_u128(9),
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

    fn provider(times: usize, answer: Result<Delivered, DeliveryError>) -> Arc<MockChannelProvider> {
        let mut provider = MockChannelProvider::new();
        let same = |asked: &NotificationMessage| *asked == message();
        provider.expect_deliver().times(times).withf(same).returning(move |_| answer.clone());
        Arc::new(provider)
    }

    fn end(providers: &Providers) -> Result<Delivered, DeliveryError> {
        match finish(providers.deliver(&message(), &[])).end {
            DeliveryEnd::Delivered(delivered) => Ok(delivered),
            DeliveryEnd::Failed(error) => Err(error),
            other => panic!("not asked: {other:?}"),
        }
    }

    fn delivered(reference: &str) -> Result<Delivered, DeliveryError> {
        Ok(Delivered { reference: Some(reference.into()) })
    }

    fn transient() -> Result<Delivered, DeliveryError> {
        Err(DeliveryError::transient("busy"))
    }

    fn permanent() -> Result<Delivered, DeliveryError> {
        Err(DeliveryError::Permanent { reason: "no".into() })
    }

    #[test]
    fn the_next_provider_is_asked_only_while_the_one_before_fails_for_the_time_being() {
        let deliver = |first: Arc<MockChannelProvider>, second: Arc<MockChannelProvider>| {
            let providers = Providers::new().with(Channel::Sms, first).with(Channel::Sms, second);
            end(&providers)
        };
        assert_eq!(deliver(provider(1, transient()), provider(1, delivered("2"))), delivered("2"));
        assert_eq!(deliver(provider(1, delivered("1")), provider(0, delivered("2"))), delivered("1"));
        assert_eq!(deliver(provider(1, permanent()), provider(0, delivered("2"))), permanent());
        assert_eq!(deliver(provider(1, transient()), provider(1, transient())), transient());
    }

    #[test]
    fn a_backup_that_refuses_does_not_speak_for_a_provider_that_may_still_deliver() {
        let first = Providers::new().with(Channel::Sms, provider(1, transient()));
        let both = first.with(Channel::Sms, provider(1, permanent()));
        assert_eq!(end(&both), transient());
    }

    #[test]
    fn a_channel_without_a_provider_is_refused_by_name() {
        let providers = Providers::new().with(Channel::Email, provider(0, delivered("1")));
        let refused = end(&providers).unwrap_err().to_string();
        assert!(refused.contains("channel sms") && refused.contains("providers"), "{refused}");
    }

    #[test]
    fn a_provider_that_may_have_accepted_the_message_is_not_followed_by_another() {
        let unknown = || Err(DeliveryError::unknown("silence"));
        let first = Providers::new().with(Channel::Sms, provider(1, unknown()));
        let both = first.with(Channel::Sms, provider(0, delivered("2")));
        let delivery = finish(both.deliver(&message(), &[]));
        let [call] = &delivery.calls[..] else { panic!("not one call") };
        assert_eq!((call.answer, call.provider.as_str()), (Answer::LOST, "sms-1"));
        assert_eq!(call.answer.acceptance, Acceptance::Unknown);
    }
}
