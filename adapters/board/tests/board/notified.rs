use std::time::Duration;

use claimstream_domain::{
    ClaimId, ClaimRequest, Disposition, InstanceId, Lease, MessageId, NewMessage, Owner, Payload, QueueName,
    Reason, Settlement,
    notification::{
        Answer, Channel, Content, DeliveryReceipt, DeliveryStatus, FanOutEnd, MESSAGE_QUEUE,
        NotificationRecord, NotificationRequest, ReceiptKind, ReceiptOf, RecipientReference, Requester,
        RequesterKind, message_id,
    },
};
use claimstream_memory::MemoryStore;
use claimstream_ports::{
    Enqueue, LockingStrategy, Settlements, Transactions,
    notification::{
        AttemptLog, DeliveryAttempt, DeliveryReceipts, FanOutStep, MessageOutcome, MessageRepository,
        RequestRepository, SubmitRequests,
    },
};
use uuid::Uuid;

/// A store with requests for notifications, whose clock stands still unless a test moves it.
pub(crate) struct Notified {
    pub(crate) store: MemoryStore,
    claims: std::sync::atomic::AtomicU64,
}

pub(crate) const REQUESTER: &str = "shop-<b>7</b>";

impl Notified {
    pub(crate) fn new() -> Self {
        Self { store: MemoryStore::with_manual_clock(), claims: 1.into() }
    }

    /// Hands a request in that no relay has taken up yet.
    pub(crate) async fn submitted(&self, requester: &str) -> Uuid {
        let request = NotificationRequest {
            id: Uuid::new_v4(),
            requester: Requester { kind: RequesterKind::Service, id: requester.into() },
            recipients: vec![RecipientReference::User { user: "u-1".into() }],
            channels: vec![Channel::Email],
            content: Some(Content { title: Some("Hello".into()), ..Content::default() }),
            template: None,
            scheduled_at: None,
            delay_ms: None,
            expires_at: None,
            sender: Default::default(),
            category: None,
            priority: Default::default(),
            memo: None,
            headers: Default::default(),
        };
        let tx = self.store.begin_tx().await.unwrap();
        self.store.submit(&tx, std::slice::from_ref(&request)).await.unwrap();
        self.store.commit_tx(tx).await.unwrap();
        self.store.advance(Duration::from_secs(60));
        request.id
    }

    /// A request with a pending message for each of these recipients.
    pub(crate) async fn fanned_out(&self, recipients: &[&str]) -> (Uuid, Vec<Uuid>) {
        let request = self.submitted(REQUESTER).await;
        let record = |recipient: &&str| NotificationRecord {
            id: message_id(request, Channel::Email, recipient),
            request_id: request,
            channel: Channel::Email,
            recipient: (*recipient).to_owned(),
            status: DeliveryStatus::Pending,
            reason: None,
            reference: None,
        };
        let records: Vec<_> = recipients.iter().map(record).collect();
        let ids: Vec<Uuid> = records.iter().map(|record| record.id).collect();
        let (end, takes_up, erased_places) = (FanOutEnd::Done, false, 0);
        let step =
            FanOutStep { request, end, takes_up, erased_places, flaw: None, records, items: Vec::new() };
        self.store.note_steps(&[step]).await.unwrap();
        for id in &ids {
            let payload = Payload::json(r#"{"address": "ann@example.com"}"#);
            let queue = QueueName::new(MESSAGE_QUEUE).unwrap();
            self.enqueue(NewMessage::new(MessageId::new(*id), queue, payload)).await;
        }
        (request, ids)
    }

    pub(crate) async fn enqueue(&self, message: NewMessage) {
        let tx = self.store.begin_tx().await.unwrap();
        self.store.enqueue(&tx, &[message]).await.unwrap();
        self.store.commit_tx(tx).await.unwrap();
    }

    /// Claims the next message of a queue for half a minute; nothing is done with it if there is no disposition.
    pub(crate) async fn handle(&self, queue: &str, disposition: Option<Disposition>) -> MessageId {
        let instance = InstanceId(7);
        let number = self.claims.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let request = ClaimRequest {
            queue: QueueName::new(queue).unwrap(),
            limit: 1,
            budget: Default::default(),
            lease: Lease::new(Duration::from_secs(30)).unwrap(),
            claim: ClaimId::new(instance, number),
            owner: Owner::of_process(instance, 1),
            runs: None,
        };
        let claimed = self.store.claim(&request).await.unwrap().remove(0);
        if let Some(disposition) = disposition {
            self.store.settle(&[Settlement { receipt: claimed.receipt, disposition }]).await.unwrap();
        }
        claimed.message.id
    }

    /// Notes that a provider was asked, and why it did not take the message.
    pub(crate) async fn attempted(&self, message: Uuid, number: u32, reason: Option<&str>) {
        let answer = if reason.is_some() { Answer::LATER } else { Answer::DELIVERED };
        let attempt = DeliveryAttempt {
            message,
            claim: Uuid::new_v4(),
            call: 1,
            number,
            provider: "smtp-one".parse().unwrap(),
            ago: Duration::ZERO,
            took: Duration::from_millis(120),
            answer,
            reason: reason.map(Reason::new),
            reference: None,
        };
        self.store.note(&[attempt]).await.unwrap();
    }

    pub(crate) async fn conclude(&self, id: Uuid, status: DeliveryStatus, reason: Option<&str>) {
        let reference = Some("<i>ref-9</i>".into());
        let outcome = MessageOutcome { id, status, reason: reason.map(Reason::new), reference };
        self.store.conclude(&[outcome]).await.unwrap();
    }

    pub(crate) async fn received(&self, message: Uuid, kind: ReceiptKind) {
        let (provider, of) = ("smtp-one".parse().unwrap(), ReceiptOf::Message(message));
        let said_at = Some("<u>noon</u>".into());
        let receipt =
            DeliveryReceipt { provider, of, kind, channel: None, address: None, said_at, note: None };
        self.store.take(&[receipt]).await.unwrap();
    }
}
