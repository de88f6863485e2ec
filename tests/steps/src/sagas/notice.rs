use claimstream_domain::notification::{
    Channel, Content, NotificationRequest, RecipientReference, Requester, RequesterKind,
};
use claimstream_steps::saga::{SagaId, SagaRun, StepFailure};
use futures::future::BoxFuture;
use uuid::Uuid;

use super::{bank::Bank, database::Database};

/// Tells the payer by a notification, in the transaction that calls the payment off.
pub(super) fn telling<D: Database, I: Send + Sync + 'static>(
    bank: &Bank<D>,
) -> impl for<'a> Fn(
    &'a D::Tx,
    &'a SagaRun<I>,
    &'a claimstream_domain::Reason,
) -> BoxFuture<'a, Result<(), StepFailure>>
+ use<D, I> {
    let home = bank.databases[0].clone();
    move |tx, run, why| {
        let home = home.clone();
        Box::pin(async move {
            home.submit(tx, &[notification(run.id(), run.owner(), why.as_str())]).await?;
            Ok(())
        })
    }
}

fn notification(saga: SagaId, user: &str, why: &str) -> NotificationRequest {
    NotificationRequest {
        id: notice_id(saga),
        requester: Requester { kind: RequesterKind::Service, id: "payments".into() },
        recipients: vec![RecipientReference::User { user: user.into() }],
        channels: vec![Channel::Email],
        content: Some(Content {
            title: Some("Your payment was not made".into()),
            body: Some(why.into()),
            ..Content::default()
        }),
        template: None,
        scheduled_at: None,
        delay_ms: None,
        expires_at: None,
        sender: Default::default(),
        category: None,
        priority: Default::default(),
        memo: None,
        headers: Default::default(),
    }
}

pub(super) fn notice_id(saga: SagaId) -> Uuid {
    Uuid::new_v5(&saga.uuid(), b"notice")
}

pub(super) async fn is_notified<D: Database>(bank: &Bank<D>, id: SagaId) -> bool {
    bank.databases[0].progress(notice_id(id)).await.expect("a report").is_some()
}
