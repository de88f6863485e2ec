use claimstream_domain::{
    MessageId, MessageKept, MessageStanding,
    notification::{NotificationRecord, ReceiptFact},
};
use claimstream_ports::{
    StoreError,
    notification::{DeliveryAttempt, RequestListed},
};

use crate::{refusal::Refusal, standing::is_of_notifications, stores::BoardStores};

/// Everything that the stores know of one message, but for what it carries.
pub(crate) struct KnownMessage {
    pub(crate) id: MessageId,
    /// Where it stands; nothing if it is finished, or stands far back in a long queue.
    pub(crate) standing: Option<MessageStanding>,
    /// What is kept of it; nothing once its body was swept.
    pub(crate) kept: Option<MessageKept>,
    pub(crate) notification: KnownNotification,
}

/// What is known of a message as a notification.
#[derive(Default)]
pub(crate) struct KnownNotification {
    /// The request, if the message brings one.
    pub(crate) request: Option<RequestListed>,
    /// The recipient and the channel that it is for, if it is for one.
    pub(crate) record: Option<NotificationRecord>,
    /// The attempts at delivering it, the oldest first.
    pub(crate) attempts: Vec<DeliveryAttempt>,
    /// What its provider said afterwards, the oldest first.
    pub(crate) receipts: Vec<ReceiptFact>,
}

impl KnownMessage {
    /// What is known of a message; nothing if no store knows it.
    pub(crate) async fn of(stores: &BoardStores, id: MessageId) -> Result<Option<Self>, Refusal> {
        let messages = stores.messages().ok_or_else(Refusal::no_such_page)?;
        let standing = messages.find.find(&[id]).await?.into_iter().next().flatten();
        let kept = messages.read.kept(id).await?;
        let notification = KnownNotification::of(stores, id).await?;
        let is_known = standing.is_some() || kept.is_some() || notification.is_known();
        Ok(is_known.then_some(Self { id, standing, kept, notification }))
    }

    /// Whether it is a request for notifications, one of them, or a digest of them.
    pub(crate) fn is_notification(&self) -> bool {
        let queue = self.standing.as_ref().map(|standing| &standing.queue);
        let queue = queue.or(self.kept.as_ref().map(|kept| &kept.queue));
        self.notification.is_known() || queue.is_some_and(is_of_notifications)
    }
}

impl KnownNotification {
    async fn of(stores: &BoardStores, id: MessageId) -> Result<Self, StoreError> {
        let Some(notifications) = stores.notifications() else { return Ok(Self::default()) };
        let ids = [id.uuid()];
        Ok(Self {
            request: notifications.list.listed(id.uuid()).await?,
            record: notifications.reports.record(id.uuid()).await?,
            attempts: notifications.attempts.attempts(&ids).await?,
            receipts: notifications.receipts.facts(&ids).await?.into_iter().flatten().collect(),
        })
    }

    fn is_known(&self) -> bool {
        self.request.is_some() || self.record.is_some() || !self.attempts.is_empty()
    }
}
