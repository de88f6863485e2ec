use std::time::Duration;

use claimstream_domain::{
    MessageId, NewMessage, Payload, QueueName, Reason,
    notification::{
        Answer, Channel, Content, DeliveryReceipt, DeliveryStatus, FanOutEnd, MESSAGE_QUEUE, NewInAppEntry,
        NotificationRecord, NotificationRequest, ReceiptKind, ReceiptOf, RecipientReference, Requester,
        RequesterKind, message_id,
    },
};
use claimstream_ports::notification::{
    AttemptLog, DeliveryAttempt, DeliveryReceipts, FanOutStep, InAppInbox, MessageOutcome, MessageRepository,
    RequestRepository,
};
use claimstream_sea_orm::SeaOrmOutbox;
use uuid::Uuid;

use crate::Failure;

/// A user with a message in the inbox of the application.
pub const USER: &str = "u-<i>17</i>";

/// Two requests whose every text wants to be a script. The newer one has a message in each status, and of one that is pending an
/// attempt has failed.
pub(crate) async fn fill(outbox: &SeaOrmOutbox) -> Result<(), Failure> {
    submit(outbox).await?;
    let request = submit(outbox).await?;
    let mut ids = fan_out(outbox, request).await?;
    // The first page has one in each status.
    ids.sort_unstable();
    for id in &ids {
        attempt(outbox, *id).await?;
    }
    let ends = [DeliveryStatus::Delivered, DeliveryStatus::Failed, DeliveryStatus::Skipped];
    let outcome = |(status, id): (DeliveryStatus, &Uuid)| MessageOutcome {
        id: *id,
        status,
        reason: (status != DeliveryStatus::Delivered).then(reason),
        reference: Some("<script>alert('reference')</script>".into()),
    };
    let outcomes: Vec<_> = ends.into_iter().zip(&ids).map(outcome).collect();
    outbox.conclude(&outcomes).await?;
    let entry = NewInAppEntry {
        id: ids[0],
        request_id: request,
        user: USER.into(),
        content: Content { title: Some("secret".into()), ..Content::default() },
    };
    Ok(outbox.put(&[entry]).await?)
}

async fn submit(outbox: &SeaOrmOutbox) -> Result<Uuid, Failure> {
    let requester = "<script>alert('requester')</script>".to_owned();
    let request = NotificationRequest {
        id: Uuid::new_v4(),
        requester: Requester { kind: RequesterKind::Service, id: requester },
        recipients: vec![RecipientReference::User { user: USER.into() }],
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
    outbox.submit_now(std::slice::from_ref(&request)).await?;
    Ok(request.id)
}

/// More messages than a page has.
async fn fan_out(outbox: &SeaOrmOutbox, request: Uuid) -> Result<Vec<Uuid>, Failure> {
    let record = |n: usize| {
        let recipient = format!("address:<script>alert('recipient')</script>{n}@example.com");
        NotificationRecord {
            id: message_id(request, Channel::Email, &recipient),
            request_id: request,
            channel: Channel::Email,
            recipient,
            status: DeliveryStatus::Pending,
            reason: None,
            reference: None,
        }
    };
    let records: Vec<_> = (0..30).map(record).collect();
    let ids: Vec<Uuid> = records.iter().map(|record| record.id).collect();
    let (end, takes_up, erased_places) = (FanOutEnd::More, false, 0);
    let step = FanOutStep { request, end, takes_up, erased_places, flaw: None, records, items: Vec::new() };
    outbox.note_steps(&[step]).await?;
    let message = |id: &Uuid| -> Result<NewMessage, Failure> {
        let payload = Payload::json("{\"text\": \"<script>alert('payload')</script>\"}");
        Ok(NewMessage::new(MessageId::new(*id), QueueName::new(MESSAGE_QUEUE)?, payload))
    };
    outbox.enqueue_now(&ids.iter().map(message).collect::<Result<Vec<_>, _>>()?).await?;
    Ok(ids)
}

fn reason() -> Reason {
    Reason::new("<script>alert('refusal')</script> by bob@example.com")
}

async fn attempt(outbox: &SeaOrmOutbox, message: Uuid) -> Result<(), Failure> {
    let attempt = DeliveryAttempt {
        message,
        claim: Uuid::new_v4(),
        call: 1,
        number: 1,
        provider: "smtp-one".parse()?,
        ago: Duration::ZERO,
        took: Duration::from_millis(120),
        answer: Answer::LATER,
        reason: Some(reason()),
        reference: None,
    };
    outbox.note(&[attempt]).await?;
    let receipt = DeliveryReceipt {
        provider: "smtp-one".parse()?,
        of: ReceiptOf::Message(message),
        kind: ReceiptKind::Opened,
        channel: None,
        address: None,
        said_at: Some("<script>alert('receipt')</script>".into()),
        note: None,
    };
    outbox.take(&[receipt]).await?;
    Ok(())
}
