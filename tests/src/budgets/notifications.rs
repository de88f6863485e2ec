use std::sync::{Arc, Mutex, PoisonError};

use claimstream_domain::{
    Claimed, QueueName, RetryPolicy, Settlement, Verdict, decide,
    notification::{DirectRecipient, MESSAGE_QUEUE, NotificationRequest, REQUEST_QUEUE, RecipientReference},
};
use claimstream_ports::{BatchHandler, Verdicts};

use super::{Trial, measured::Measured, trials};
use crate::{
    Instance,
    fixture::{Cost, Deliveries, fan_out_to, mail_to},
};

pub(super) fn trials() -> Vec<(&'static str, Trial)> {
    trials![a_backlog_of_notifications]
}

const REQUESTS: usize = 400;
const BATCH: usize = 100;

/// Four batches of requests of one recipient each, from the claim of the requests to the settlement of the messages. Each
/// delivery has a reference of its own.
async fn a_backlog_of_notifications(measured: &Measured) {
    let outbox = Arc::new(measured.outbox.clone());
    let deliveries = Deliveries::default();
    let fan_out = fan_out_to("u-1", outbox.clone(), outbox.clone());
    let deliver = deliveries.handler(outbox);
    for round in 0..3 {
        let requests: Vec<_> = (0..REQUESTS).map(request).collect();
        measured.outbox.submit_now(&requests).await.expect("submit");
        let work = async {
            handle(&on(measured, REQUEST_QUEUE), &fan_out).await;
            handle(&on(measured, MESSAGE_QUEUE), &deliver).await;
        };
        let ((), sent) = measured.count(work).await;
        assert!(requests.iter().all(|request| deliveries.of(request.id).len() == 1));
        let cost = Cost::of(&sent);
        println!("budget: {REQUESTS} notifications in batches of {BATCH}: {cost}");
        // The first round prepares statements.
        assert!(round == 0 || cost.statements <= REQUESTS, "{cost}: {sent:#?}");
    }
}

fn request(n: usize) -> NotificationRequest {
    let email = Some(format!("{n}@example.com"));
    mail_to(RecipientReference::Direct(DirectRecipient { email, ..DirectRecipient::default() }))
}

fn on(measured: &Measured, queue: &str) -> Instance {
    measured.instance.on(&QueueName::new(queue).expect("a queue name"))
}

/// Claims, handles and settles one batch after another.
async fn handle(instance: &Instance, handler: &dyn BatchHandler) {
    for _ in 0..REQUESTS / BATCH {
        handle_batch(instance, handler).await;
    }
}

async fn handle_batch(instance: &Instance, handler: &dyn BatchHandler) {
    let batch = instance.take(BATCH).await;
    let given = Given(Mutex::new(vec![None; batch.len()]));
    handler.handle_batch(&batch, &given).await;
    let verdicts = given.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    let settlement = |(claimed, verdict): (&Claimed, Option<Verdict>)| Settlement {
        receipt: claimed.receipt.clone(),
        disposition: decide(verdict.expect("a verdict"), claimed.attempt, &RetryPolicy::default(), 0),
    };
    let settlements: Vec<_> = batch.iter().zip(verdicts).map(settlement).collect();
    instance.settle_all(&settlements).await;
}

/// The verdicts of a batch, in its order.
struct Given(Mutex<Vec<Option<Verdict>>>);

impl Verdicts for Given {
    fn give(&self, index: usize, verdict: Verdict) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(verdict);
    }
}
