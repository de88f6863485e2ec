//! Promise: a request or a message that an operator revives is tried again, even if its process dies before
//! it begins

use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::{
    Claimed, QueueName, Reason, RetryPolicy, Settled, Verdict, decide,
    notification::{
        Channel, DeliveryStatus, FanOutEnd, NotificationMessage, NotificationRequest, RecipientReference,
    },
};
use claimstream_notifications::{MESSAGE_QUEUE, MessageConfig, MessageHandler, Providers};
use claimstream_ports::{
    Handler,
    notification::{ChannelProvider, Delivered, DeliveryError, FanOutStep},
};

use crate::{
    Instance, LEASE, NotificationFixture,
    fixture::{Deliveries, fan_out_to, mail_to},
    suite::{Case, cases},
};

pub const SCENARIOS: &[Case<NotificationFixture>] = cases!["scenarios" needs [Notifications]:
    a_revived_notification_is_tried_though_its_process_dies_before_it_begins,
    a_revived_request_is_fanned_out_though_its_process_dies_before_it_begins,
];

/// Guard: a crash does not undo a revival | app/notifications/src/message_handler.rs: `claimed.attempt == 1`;
/// the same in request_handler.rs
pub async fn a_revived_notification_is_tried_though_its_process_dies_before_it_begins(
    fixture: NotificationFixture,
) {
    let request = request();
    fixture.store.submit(std::slice::from_ref(&request)).await;
    let fan_out = fan_out_to("u-1", fixture.store.requests.clone(), fixture.store.messages.clone());
    assert_eq!(run(&fixture.outbox.store, &fan_out).await, Verdict::ack());

    let queue = QueueName::new(MESSAGE_QUEUE).expect("a queue name");
    let (store, rival) = (fixture.outbox.store.on(&queue), fixture.outbox.rival.on(&queue));
    let providers = Providers::new().with(Channel::Email, Arc::new(Refusing));
    let refused = MessageHandler::new(fixture.store.messages.clone(), providers, MessageConfig::default());
    assert!(matches!(run(&store, &refused.expect("a handler")).await, Verdict::Bury { .. }));
    die_over_the_revived(&fixture, &rival).await;

    let mended = Deliveries::default();
    let verdict = run(&store, &mended.handler(fixture.store.messages.clone())).await;
    assert_eq!((mended.of(request.id).len(), verdict), (1, Verdict::ack()));
    let id = mended.of(request.id)[0].id;
    let status = fixture.rival.messages.status(&[id]).await.expect("status");
    assert_eq!((status, rival.dead().await.len()), (vec![Some(DeliveryStatus::Delivered)], 0));
}

pub async fn a_revived_request_is_fanned_out_though_its_process_dies_before_it_begins(
    fixture: NotificationFixture,
) {
    let request = request();
    fixture.store.submit(std::slice::from_ref(&request)).await;
    let why = Reason::new("the directory was away");
    let end = FanOutEnd::Failed(why);
    let step = FanOutStep {
        request: request.id,
        end,
        takes_up: false,
        erased_places: 0,
        flaw: None,
        records: vec![],
        items: vec![],
    };
    fixture.store.requests.note_steps(&[step]).await.expect("note");
    let claimed = fixture.outbox.store.take_one().await;
    assert_eq!(fixture.outbox.store.bury(&claimed, "the directory was away").await, Settled::Accepted);
    die_over_the_revived(&fixture, &fixture.outbox.rival).await;

    let fan_out = fan_out_to("u-1", fixture.store.requests.clone(), fixture.store.messages.clone());
    assert_eq!(run(&fixture.outbox.store, &fan_out).await, Verdict::ack());
    let queue = QueueName::new(MESSAGE_QUEUE).expect("a queue name");
    assert_eq!(fixture.outbox.rival.on(&queue).take_all().await.len(), 1);
}

/// Revives the one dead letter and claims it for a process that dies before it has begun with it.
async fn die_over_the_revived(fixture: &NotificationFixture, side: &Instance) {
    assert_eq!(side.revive(&side.own_dead()).await, 1);
    assert_eq!(side.take_one().await.attempt, 1);
    fixture.outbox.advance(LEASE).await;
}

/// One attempt at the next message, settled as it says; answers an ack without its children.
async fn run(side: &Instance, handler: &dyn Handler) -> Verdict {
    let claimed: Claimed = side.take_one().await;
    let verdict = handler.handle(&claimed).await;
    let disposition = decide(verdict.clone(), claimed.attempt, &RetryPolicy::default(), 0);
    assert_eq!(side.settle(&claimed.receipt, disposition).await, Settled::Accepted);
    match verdict {
        Verdict::Ack { .. } => Verdict::ack(),
        verdict => verdict,
    }
}

fn request() -> NotificationRequest {
    mail_to(RecipientReference::User { user: "u-1".into() })
}

/// A provider that takes nothing, and never will.
struct Refusing;

#[async_trait]
impl ChannelProvider for Refusing {
    async fn deliver(&self, _: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        Err(DeliveryError::Permanent { reason: "HTTP 404".into() })
    }
}
