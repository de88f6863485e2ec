use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::notification::{NewInAppEntry, NotificationMessage};
use claimstream_ports::notification::{ChannelProvider, Delivered, DeliveryError, InAppInbox};

/// Delivers messages into the inboxes that users read inside the application.
///
/// The address of a message is the user's id. A message that is delivered again is the same entry, so it is not read twice.
pub struct InAppProvider {
    inbox: Arc<dyn InAppInbox>,
}

impl InAppProvider {
    /// A provider for these inboxes.
    pub fn new(inbox: Arc<dyn InAppInbox>) -> Self {
        Self { inbox }
    }
}

#[async_trait]
impl ChannelProvider for InAppProvider {
    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        let entry =
            NewInAppEntry::of(message).map_err(|invalid| DeliveryError::permanent(invalid.to_string()))?;
        match self.inbox.put(&[entry]).await {
            Ok(()) => Ok(Delivered::default()),
            // The entry may be there, and then the next attempt leaves it as it is.
            Err(error) if error.is_about_the_store() || error.is_retryable() => {
                Err(DeliveryError::unknown(error.to_string()))
            }
            Err(error) => Err(DeliveryError::permanent(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use claimstream_domain::notification::{Channel, Content};
    use claimstream_ports::{StoreError, StoreErrorKind, mock::MockInAppInbox};
    use uuid::Uuid;

    use super::*;
    use crate::tests::finish;

    fn message(user: &str) -> NotificationMessage {
        NotificationMessage {
            id: Uuid::from_u128(9),
            request_id: Uuid::from_u128(7),
            channel: Channel::InApp,
            recipient: "user:a".into(),
            address: user.into(),
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

    fn deliver(user: &str, answer: Option<StoreErrorKind>) -> Result<Delivered, DeliveryError> {
        let mut inbox = MockInAppInbox::new();
        let times = usize::from(!user.is_empty());
        let answered = move |_: &[NewInAppEntry]| match answer {
            Some(kind) => Err(StoreError::new(kind, "in-app inbox", "scripted")),
            None => Ok(()),
        };
        let expected = NewInAppEntry::of(&message(user)).ok();
        let same = move |put: &[NewInAppEntry]| Some(&put[0]) == expected.as_ref() && put.len() == 1;
        inbox.expect_put().times(times).withf(same).returning(answered);
        finish(InAppProvider::new(Arc::new(inbox)).deliver(&message(user)))
    }

    #[test]
    fn a_message_is_put_into_the_inbox_of_its_user() {
        assert_eq!(deliver("a", None), Ok(Delivered::default()));
    }

    #[test]
    fn a_store_that_is_away_is_asked_again_and_a_message_that_it_refuses_is_not() {
        let transient = |kind| matches!(deliver("a", Some(kind)), Err(DeliveryError::Transient { .. }));
        assert!(transient(StoreErrorKind::Unavailable) && transient(StoreErrorKind::Transient));
        assert!(matches!(deliver("a", Some(StoreErrorKind::Corrupt)), Err(DeliveryError::Permanent { .. })));
        assert!(matches!(deliver("", None), Err(DeliveryError::Permanent { .. })));
    }
}
