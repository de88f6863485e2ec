use std::collections::HashMap;

use claimstream_domain::{
    MessageId, MessageStanding,
    notification::{DeliveryStatus, NotificationRecord, Progress, ReceiptFact, ReceiptKind, RequestStatus},
};
use claimstream_ports::{StoreError, notification::RequestListed};
use uuid::Uuid;

use crate::{
    refusal::Refusal,
    stores::{BoardStores, MessageStores, NotificationStores},
};

/// Everything that the stores know of one request, with a page of its messages.
pub(crate) struct KnownRequest {
    pub(crate) request: RequestListed,
    pub(crate) progress: Progress,
    /// Where the request's own message stands, while it is to be fanned out.
    pub(crate) standing: Option<MessageStanding>,
    pub(crate) messages: Vec<KnownDelivery>,
    /// The `after` of the next page; `None` if there is none.
    pub(crate) next: Option<Uuid>,
}

/// What is known of one message of a request.
pub(crate) struct KnownDelivery {
    pub(crate) record: NotificationRecord,
    /// Where it stands, while it is pending.
    pub(crate) standing: Option<MessageStanding>,
    /// The provider that was asked last.
    pub(crate) provider: Option<String>,
    /// The strongest of what its provider said.
    pub(crate) receipt: Option<ReceiptKind>,
}

impl KnownRequest {
    /// How many messages a page has. Each that is pending is looked for in its shard.
    const LIMIT: u32 = 25;

    /// What is known of a request, with its messages behind `after`.
    pub(crate) async fn of(stores: &BoardStores, id: Uuid, after: Option<Uuid>) -> Result<Self, Refusal> {
        let stores = stores.messages().zip(stores.notifications());
        let (messages, notifications) = stores.ok_or_else(Refusal::no_such_page)?;
        let gone = || Refusal::gone("There is no request with this id: it was swept, or never taken in.");
        let request = notifications.list.listed(id).await?.ok_or_else(gone)?;
        let progress = notifications.reports.progress(id).await?.ok_or_else(gone)?;
        let records = notifications.reports.messages(id, after, Self::LIMIT).await?;
        let next = (records.len() == Self::LIMIT as usize).then(|| records.last().map(|last| last.id));
        let is_open = matches!(progress.recorded, RequestStatus::Pending | RequestStatus::Processing);
        let mut standings = standings(messages, is_open.then_some(id), &records).await?;
        Ok(Self {
            standing: standings.remove(&id),
            messages: deliveries(notifications, records, standings).await?,
            next: next.flatten(),
            request,
            progress,
        })
    }
}

async fn standings(
    messages: &MessageStores,
    own: Option<Uuid>,
    records: &[NotificationRecord],
) -> Result<HashMap<Uuid, MessageStanding>, StoreError> {
    let pending = records.iter().filter(|record| record.status == DeliveryStatus::Pending);
    let ids: Vec<MessageId> = pending.map(|record| record.id).chain(own).map(MessageId::new).collect();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let found = messages.find.find(&ids).await?.into_iter().flatten();
    Ok(found.map(|standing| (standing.id.uuid(), standing)).collect())
}

async fn deliveries(
    notifications: &NotificationStores,
    records: Vec<NotificationRecord>,
    mut standings: HashMap<Uuid, MessageStanding>,
) -> Result<Vec<KnownDelivery>, StoreError> {
    let ids: Vec<Uuid> = records.iter().map(|record| record.id).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    // The newest attempt at a message comes last.
    let attempts = notifications.attempts.attempts(&ids).await?.into_iter();
    let mut providers: HashMap<Uuid, String> =
        attempts.map(|attempt| (attempt.message, attempt.provider.to_string())).collect();
    let receipts = notifications.receipts.facts(&ids).await?;
    let strongest = |facts: Vec<ReceiptFact>| ReceiptKind::standing(facts.into_iter().map(|fact| fact.kind));
    let deliveries = records.into_iter().zip(receipts).map(|(record, facts)| KnownDelivery {
        standing: standings.remove(&record.id),
        provider: providers.remove(&record.id),
        receipt: strongest(facts),
        record,
    });
    Ok(deliveries.collect())
}
