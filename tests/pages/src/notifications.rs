//! The code of docs/notifications.md; it is run on SQLite.

use std::sync::Arc;

use async_trait::async_trait;
use claimstream::{Relay, RelayConfig};
use claimstream_domain::notification::{
    Channel, Content, InAppPage, NotificationMessage, NotificationRequest,
};
use claimstream_memory::{MemoryDirectory, MemoryTemplates};
use claimstream_notifications::{
    ChannelProvider, Delivered, DeliveryError, InAppInbox, InAppProvider, MESSAGE_QUEUE, MessageConfig,
    MessageHandler, NotificationReports, Providers, REQUEST_QUEUE, RequestConfig, RequestHandler,
    SubmitRequests,
};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_testbed::eventually;
use claimstream_tokio::TokioTimer;
use futures::{FutureExt, future::try_join};
use uuid::Uuid;

use super::Failure;
use crate::backend::SeaOrmBackend;

pub(super) async fn runs() {
    let backend = SeaOrmBackend::sqlite("auto");
    let url = backend.database().await.expect("a database");
    let outbox = Arc::new(backend.open(&url, None).await.expect("open"));
    submit(&outbox).await.expect("a request that is taken in");
    inbox(&outbox).await.expect("an inbox");
    let id = Uuid::parse_str("01a1fcd5-4e29-73a2-ad51-983400000004").expect("an id");
    let watched = outbox.clone();
    let delivered = async move {
        eventually("a delivery", || async {
            watched.progress(id).await.expect("progress").is_some_and(|progress| progress.delivered >= 1)
        })
        .await;
    };
    deliver(outbox, delivered).await.expect("two pipelines");
}

struct Mailer;

#[async_trait]
impl ChannelProvider for Mailer {
    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        println!("{} to {}", message.id, message.address);
        Ok(Delivered::default())
    }
}

const REQUEST: &str = r#"{"id":"01a1fcd5-4e29-73a2-ad51-983400000004","requester":{"type":"service","id":"shop"},"recipients":[{"email":"ann@example.com"}],"channels":["email"],"content":{"title":"Paid","body":"Thank you."}}"#;

async fn submit(outbox: &SeaOrmOutbox) -> Result<(), Failure> {
    let request: NotificationRequest = serde_json::from_str(REQUEST)?;
    let tx = outbox.begin().await?;
    outbox.submit(&tx, &[request]).await?;
    outbox.commit(tx).await?;
    Ok(())
}

async fn deliver(
    outbox: Arc<SeaOrmOutbox>,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Failure> {
    let stop = stop.shared();
    let (people, templates) = (Arc::new(MemoryDirectory::new()), Arc::new(MemoryTemplates::new("en")));
    let config = RequestConfig::default();
    let retry = config.pipeline_retry();
    let handler = RequestHandler::new(outbox.clone(), outbox.clone(), people, templates, config)?;
    let relay =
        Relay::new(outbox.clone(), TokioTimer::new(), RelayConfig { retry, ..RelayConfig::default() });
    let requests = relay.batch_pipeline(REQUEST_QUEUE, handler)?.at_once(32);

    let config = MessageConfig::default();
    let retry = config.pipeline_retry();
    let providers = Providers::new().with(Channel::Email, Arc::new(Mailer));
    let handler = MessageHandler::new(outbox.clone(), providers, config)?;
    let relay = Relay::new(outbox, TokioTimer::new(), RelayConfig { retry, ..RelayConfig::default() });
    let messages = relay.batch_pipeline(MESSAGE_QUEUE, handler)?.at_once(32);

    try_join(requests.run_until(stop.clone()), messages.run_until(stop)).await?;
    Ok(())
}

async fn inbox(outbox: &Arc<SeaOrmOutbox>) -> Result<(), Failure> {
    let providers = Providers::new().with(Channel::InApp, Arc::new(InAppProvider::new(outbox.clone())));
    assert!(format!("{providers:?}").contains("in_app"));
    let message = NotificationMessage {
        id: Uuid::from_u128(9),
        request_id: Uuid::from_u128(7),
        channel: Channel::InApp,
        recipient: "user:u-1".into(),
        address: "u-1".into(),
        content: Content { title: Some("Hello".into()), ..Content::default() },
        sender: None,
        expires_at: None,
        category: None,
        priority: Default::default(),
        unsubscribe_url: None,
        time_zone: None,
        digest: None,
        traceparent: None,
    };
    for _ in 0..2 {
        InAppProvider::new(outbox.clone()).deliver(&message).await?;
    }
    let page = InAppPage { user: "u-1".into(), only_unread: true, after: None, limit: 20 };
    let newest = outbox.page(&page).await?;
    let ids: Vec<_> = newest.iter().map(|one| one.entry.id).collect();
    outbox.mark_read("u-1", &ids).await?;
    assert_eq!(outbox.unread("u-1").await?, 0);
    assert_eq!(ids, [message.id]);
    Ok(())
}
