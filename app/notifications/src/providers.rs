use std::{collections::BTreeMap, fmt, sync::Arc};

use claimstream_domain::notification::{Channel, NotificationMessage};
use claimstream_ports::notification::{ChannelProvider, Delivered, DeliveryError};

/// The providers of each channel, in the order in which they are asked.
#[derive(Clone, Default)]
pub struct Providers(BTreeMap<Channel, Vec<Arc<dyn ChannelProvider>>>);

impl Providers {
    /// No provider for any channel.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a provider for a channel.
    ///
    /// A second one for the same channel is asked, with the same message id, whenever the first fails for the time
    /// being. The first may have delivered all the same, as when only its answer was lost, and then the recipient is
    /// told twice.
    pub fn with(mut self, channel: Channel, provider: Arc<dyn ChannelProvider>) -> Self {
        self.0.entry(channel).or_default().push(provider);
        self
    }

    /// Delivers by the channel's providers in turn, until one takes the message or refuses it for good. What one of
    /// them may still deliver is not refused for good, whatever those after it say.
    pub(super) async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        let mut passing = None;
        for provider in self.0.get(&message.channel).into_iter().flatten() {
            match provider.deliver(message).await {
                Err(error @ DeliveryError::Transient { .. }) => passing = Some(error),
                Err(error) => return Err(passing.unwrap_or(error)),
                delivered => return delivered,
            }
        }
        Err(passing.unwrap_or_else(|| missing(message.channel)))
    }
}

impl fmt::Debug for Providers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter().map(|(channel, all)| (channel.name(), all.len()))).finish()
    }
}

fn missing(channel: Channel) -> DeliveryError {
    let reason =
        format!("no provider is set for the channel {channel}; add one to the message handler's providers");
    DeliveryError::Permanent { reason }
}

#[cfg(test)]
mod tests {
    use claimstream_domain::notification::Content;
    use claimstream_ports::mock::MockChannelProvider;
    use uuid::Uuid;

    use super::*;
    use crate::tests::finish;

    fn message() -> NotificationMessage {
        NotificationMessage {
            id: Uuid::from_u128(9),
            request_id: Uuid::from_u128(7),
            channel: Channel::Sms,
            recipient: "user:a".into(),
            address: "+491".into(),
            content: Content::default(),
        }
    }

    fn provider(times: usize, answer: Result<Delivered, DeliveryError>) -> Arc<MockChannelProvider> {
        let mut provider = MockChannelProvider::new();
        let same = |asked: &NotificationMessage| *asked == message();
        provider.expect_deliver().times(times).withf(same).returning(move |_| answer.clone());
        Arc::new(provider)
    }

    fn delivered(reference: &str) -> Result<Delivered, DeliveryError> {
        Ok(Delivered { reference: Some(reference.into()) })
    }

    fn transient() -> Result<Delivered, DeliveryError> {
        Err(DeliveryError::Transient { reason: "busy".into(), retry_after: None })
    }

    fn permanent() -> Result<Delivered, DeliveryError> {
        Err(DeliveryError::Permanent { reason: "no".into() })
    }

    #[test]
    fn the_next_provider_is_asked_only_while_the_one_before_fails_for_the_time_being() {
        let deliver = |first: Arc<MockChannelProvider>, second: Arc<MockChannelProvider>| {
            let providers = Providers::new().with(Channel::Sms, first).with(Channel::Sms, second);
            finish(providers.deliver(&message()))
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
        assert_eq!(finish(both.deliver(&message())), transient());
    }

    #[test]
    fn a_channel_without_a_provider_is_refused_by_name() {
        let providers = Providers::new().with(Channel::Email, provider(0, delivered("1")));
        let refused = finish(providers.deliver(&message())).unwrap_err().to_string();
        assert!(refused.contains("channel sms") && refused.contains("providers"), "{refused}");
    }
}
