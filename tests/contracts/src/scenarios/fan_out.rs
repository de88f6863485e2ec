//! Promise: a fan-out through crashes makes each recipient's message once

use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::{
    Claimed, Disposition, MessageId, Payload, QueueName, RetryPolicy, Settlement, Verdict, decide,
    notification::{
        Channel, NotificationRequest, Recipient, RecipientReference, RequestStatus, SegmentPlace, message_id,
    },
};
use claimstream_memory::MemoryTemplates;
use claimstream_notifications::{MESSAGE_QUEUE, RequestConfig, RequestHandler};
use claimstream_ports::{
    Handler, StoreError,
    notification::{FoundUsers, RecipientDirectory, SegmentPage},
};
use uuid::Uuid;

use crate::{
    Instance, LEASE, NotificationFixture, NotificationPorts,
    fixture::{Cut, Random, mail_to},
    ids,
    suite::{Case, cases},
};

pub const SCENARIOS: &[Case<NotificationFixture>] = cases!["scenarios" needs [LargeFanOut]:
    a1_10_a_fan_out_of_ten_thousand_through_crashes_makes_each_message_once,
    a1_10_a_fan_out_that_an_older_process_began_reaches_each_member_once,
];

const RECIPIENTS: usize = 10_000;
const CHUNK: u32 = 250;

pub async fn a1_10_a_fan_out_of_ten_thousand_through_crashes_makes_each_message_once(
    fixture: NotificationFixture,
) {
    let request = request();
    fixture.store.submit(std::slice::from_ref(&request)).await;
    let crashes = fan_out(&fixture).await;
    println!("fan-out: {RECIPIENTS} recipients, crashes {crashes:?}");
    assert!(crashes.iter().all(|crashes| *crashes >= 3), "too few crashes of a kind: {crashes:?}");

    let progress = fixture.rival.reports.progress(request.id).await.expect("progress").expect("a request");
    assert_eq!(progress.recorded, RequestStatus::Dispatched);
    assert_eq!((progress.pending, progress.total()), (RECIPIENTS as u64, RECIPIENTS as u64));
    let queue = QueueName::new(MESSAGE_QUEUE).expect("a queue name");
    let mut sent = ids(&fixture.outbox.rival.on(&queue).take_all().await);
    sent.sort();
    let all = (0..RECIPIENTS).map(|n| message_id(request.id, Channel::Email, &member(n).key));
    let mut all: Vec<_> = all.map(MessageId::new).collect();
    all.sort();
    assert!(sent == all, "{} messages in the queue", sent.len());
}

/// The first chunk is handled by a process that counts the members behind it and writes that number into the checkpoint.
pub async fn a1_10_a_fan_out_that_an_older_process_began_reaches_each_member_once(
    fixture: NotificationFixture,
) {
    let request = request();
    fixture.store.submit(std::slice::from_ref(&request)).await;
    let (side, handler) = (&fixture.outbox.store, handler(&fixture.store));
    let (mut steps, mut older) = (0, true);
    while let [claimed] = &side.take(1).await[..] {
        let verdict = handler.handle(claimed).await;
        let Verdict::Ack { mut emit } = verdict else { panic!("{verdict:?}") };
        if std::mem::take(&mut older) {
            let next = emit.last_mut().expect("a next step");
            let place = format!("fan-out\n0\n{CHUNK}");
            next.id = MessageId::new(Uuid::new_v5(&request.id, place.as_bytes()));
            let checkpoint = format!(r#"{{"request":"{}","reference":0,"offset":{CHUNK}}}"#, request.id);
            next.payload = Payload::json(checkpoint);
        }
        let disposition = Disposition::Done { emit };
        let batch = [Settlement { receipt: claimed.receipt.clone(), disposition }];
        side.ports.settlements.settle(&batch).await.expect("settle");
        steps += 1;
    }
    assert_eq!(steps, RECIPIENTS / CHUNK as usize + 1, "the first chunk was read twice, and no other");
    let progress = fixture.rival.reports.progress(request.id).await.expect("progress").expect("a request");
    assert_eq!((progress.recorded, progress.pending), (RequestStatus::Dispatched, RECIPIENTS as u64));
    let queue = QueueName::new(MESSAGE_QUEUE).expect("a queue name");
    assert_eq!(fixture.outbox.rival.on(&queue).take_all().await.len(), RECIPIENTS);
}

/// Works until nothing of the request is left, by turns on either instance, and crashes in every way there is; tells how
/// often in which.
async fn fan_out(fixture: &NotificationFixture) -> [usize; 3] {
    let (mut random, mut crashes) = (Random(7), [0; 3]);
    for turn in 0..1_000 {
        let (side, ports) = match turn % 2 {
            0 => (&fixture.outbox.store, &fixture.store),
            _ => (&fixture.outbox.rival, &fixture.rival),
        };
        if side.status().await.is_none() {
            return crashes;
        }
        if let [claimed] = &side.take(1).await[..]
            && let Some(crash) = work(side, &handler(ports), claimed, &mut random).await
        {
            crashes[crash as usize] += 1;
        }
        fixture.outbox.advance(LEASE).await;
    }
    panic!("it never ends");
}

/// Where a process ends before its work does.
#[derive(Clone, Copy)]
enum Crash {
    InTheHandler,
    BeforeTheSettlement,
    InTheSettlement,
}

/// One attempt at a chunk; more than half of them crash.
async fn work(
    side: &Instance,
    handler: &RequestHandler,
    claimed: &Claimed,
    random: &mut Random,
) -> Option<Crash> {
    let lot = random.below(7);
    let cut = Cut { polls: if lot < 3 { 1 + random.below(4) } else { usize::MAX }, late: false };
    let Some(verdict) = cut.short(handler.handle(claimed)).await else { return Some(Crash::InTheHandler) };
    let disposition = decide(verdict, claimed.attempt, &RetryPolicy::default(), 0);
    assert!(matches!(disposition, Disposition::Done { .. }), "{disposition:?}");
    if lot == 3 {
        return Some(Crash::BeforeTheSettlement);
    }
    let batch = [Settlement { receipt: claimed.receipt.clone(), disposition }];
    let cut = Cut { polls: if lot == 4 { 1 } else { usize::MAX }, late: false };
    match cut.short(side.ports.settlements.settle(&batch)).await {
        Some(settled) => settled.map(|_| None).expect("settle"),
        None => Some(Crash::InTheSettlement),
    }
}

fn handler(ports: &NotificationPorts) -> RequestHandler {
    let (requests, messages) = (ports.requests.clone(), ports.messages.clone());
    let retry = RetryPolicy { max_attempts: 1_000, ..RetryPolicy::default() };
    let config = RequestConfig { chunk: CHUNK, retry };
    let templates = Arc::new(MemoryTemplates::new("en"));
    RequestHandler::new(requests, messages, Arc::new(Crowd), templates, config).expect("a good configuration")
}

fn request() -> NotificationRequest {
    mail_to(RecipientReference::Segment { segment: "everybody".into() })
}

/// A directory with one segment.
struct Crowd;

#[async_trait]
impl RecipientDirectory for Crowd {
    async fn users(&self, ids: &[String]) -> Result<FoundUsers, StoreError> {
        Ok(vec![None; ids.len()].into())
    }

    async fn members(
        &self,
        _everybody: &str,
        from: &SegmentPlace,
        limit: u32,
    ) -> Result<Option<SegmentPage>, StoreError> {
        let begin: usize = from.key().map_or(0, |key| key.parse().expect("a number"));
        let end = RECIPIENTS.min(begin + limit as usize);
        let next = (end < RECIPIENTS).then(|| end.to_string());
        Ok(Some(SegmentPage { members: (begin..end).map(member).collect(), next, ..SegmentPage::default() }))
    }
}

fn member(n: usize) -> Recipient {
    Recipient { email: Some(format!("user-{n}@example.com")), ..Recipient::user(&format!("u-{n}")) }
}
