//! The code of docs/providers.md; it is run on SQLite.

use std::sync::Arc;

use async_trait::async_trait;
use claimstream_notifications::{
    Answer, Channel, ChannelProvider, Content, Delivered, DeliveryError, NamedProvider, NotificationMessage,
    ProviderLimits, Providers, Route,
};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;
use uuid::Uuid;

use super::Failure;
use crate::backend::SeaOrmBackend;

pub(super) async fn runs() {
    let backend = SeaOrmBackend::sqlite("auto");
    let url = backend.database().await.expect("a database");
    let outbox = Arc::new(backend.open(&url, None).await.expect("open"));
    let providers = providers(&outbox).expect("providers");
    assert!(format!("{providers:?}").contains("acme"));
    let sms = |address: &str| NotificationMessage {
        id: Uuid::from_u128(9),
        request_id: Uuid::from_u128(7),
        channel: Channel::Sms,
        recipient: "user:a".into(),
        address: address.into(),
        content: Content { body: Some("Hello".into()), ..Content::default() },
        sender: None,
        expires_at: None,
        category: None,
        priority: Default::default(),
        unsubscribe_url: None,
        time_zone: None,
        digest: None,
        traceparent: None,
    };
    let taken = AcmeSms.deliver(&sms("+491701234567")).await.expect("a delivery");
    assert_eq!(taken.reference.as_deref(), Some("m-1"));
    let refused = AcmeSms.deliver(&sms("unknown")).await.expect_err("no number");
    assert_eq!(refused.answer(), Answer::REFUSED);
    let lost = AcmeSms.deliver(&sms("")).await.expect_err("no answer");
    assert_eq!(lost.answer(), Answer::LOST);
}

struct AcmeSms;

impl AcmeSms {
    /// What the made-up API answers: a status and its name for the delivery, or nothing.
    async fn call(&self, _: Uuid, number: &str, _: &str) -> Option<(u16, String)> {
        match number {
            "" => None,
            number if number.starts_with('+') => Some((202, "m-1".to_owned())),
            _ => Some((400, String::new())),
        }
    }
}

#[async_trait]
impl ChannelProvider for AcmeSms {
    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        let text = message.content.body.as_deref().unwrap_or_default();
        let Some((status, reference)) = self.call(message.id, &message.address, text).await else {
            return Err(DeliveryError::unknown("no answer from Acme"));
        };
        match Answer::of_http_status(status) {
            Answer::DELIVERED => Ok(Delivered { reference: Some(reference) }),
            answer => Err(DeliveryError::of(answer, format!("HTTP {status} from Acme"), None)),
        }
    }
}

fn providers(outbox: &Arc<SeaOrmOutbox>) -> Result<Providers, Failure> {
    let timer = Arc::new(TokioTimer::new());
    let limits = ProviderLimits { rate: Some("50/s".parse()?), ..ProviderLimits::default() };
    let acme = NamedProvider::new("acme", Arc::new(AcmeSms), &limits, timer, outbox.clone())?;
    let route = Route::in_order().with(Arc::new(acme))?;
    let providers = Providers::new().with_route(Channel::Sms, route);
    Ok(providers)
}
