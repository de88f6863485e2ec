use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use claimstream_domain::notification::{Channel, NotificationMessage, Recipient};
use claimstream_memory::{MemoryDirectory, MemoryTemplates};
use claimstream_notifications::{MessageConfig, MessageHandler, Providers, RequestConfig, RequestHandler};
use claimstream_ports::{ChannelProvider, Delivered, DeliveryError, MessageRepository, RequestRepository};
use uuid::Uuid;

/// A provider of mail that takes everything and remembers it.
#[derive(Clone, Default)]
pub(crate) struct Deliveries(Arc<Mutex<Vec<NotificationMessage>>>);

impl Deliveries {
    /// What hands messages to it.
    pub(crate) fn handler(&self, messages: Arc<dyn MessageRepository>) -> MessageHandler {
        let providers = Providers::new().with(Channel::Email, Arc::new(self.clone()));
        MessageHandler::new(messages, providers, MessageConfig::default()).expect("a handler")
    }

    /// What was delivered of a request.
    pub(crate) fn of(&self, request: Uuid) -> Vec<NotificationMessage> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter(|message| message.request_id == request).cloned().collect()
    }
}

#[async_trait]
impl ChannelProvider for Deliveries {
    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(message.clone());
        Ok(Delivered { reference: Some(message.id.to_string()) })
    }
}

/// What fans requests out to one user, who has an address for mail.
pub(crate) fn fan_out_to(
    user: &str,
    requests: Arc<dyn RequestRepository>,
    messages: Arc<dyn MessageRepository>,
) -> RequestHandler {
    let who = Recipient { email: Some(format!("{user}@example.com")), ..Recipient::user(user) };
    let directory = Arc::new(MemoryDirectory::new().with_user(who).expect("a user"));
    let templates = Arc::new(MemoryTemplates::new("en"));
    RequestHandler::new(requests, messages, directory, templates, RequestConfig::default())
        .expect("a handler")
}
