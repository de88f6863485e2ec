//! X1: the payer is notified of a shortage.

use std::sync::Arc;

use claimstream_domain::{QueueName, RetryPolicy};
use claimstream_notifications::{MESSAGE_QUEUE, MessageConfig, REQUEST_QUEUE, RequestConfig};
use claimstream_ports::Handler;
use claimstream_steps::saga::{SagaOutcome, SagaState};

use crate::{
    fixture::{Deliveries, fan_out_to},
    sagas::{
        bank::{Bank, fresh_saga},
        crash::Crash,
        database::Database,
        notice::{is_notified, notice_id},
        payment::{payment, saga},
    },
};

pub(super) async fn x1_a_shortage_is_notified_in_the_transaction_that_calls_off<D: Database>(bank: Bank<D>) {
    for (point, notified) in [("before saga ToRollback", false), ("after saga ToRollback", true)] {
        let (id, paid) = (fresh_saga(), payment(&bank, 1_000, 500).await);
        let crash = Crash::at_point(point);
        assert!(crash.run(saga(&bank, &crash).start(id, "anna", paid.clone())).await.is_none());
        assert_eq!(is_notified(&bank, id).await, notified, "{point}");
        let sound = saga(&bank, &Crash::never());
        assert_eq!(bank.state(&sound.queue(), id).await == Some(SagaState::ToRollback), notified, "{point}");
        bank.settle_all(&sound).await;
        assert!(is_notified(&bank, id).await, "{point}");
    }
}

/// The request that the saga has made is fanned out and its message delivered, each handled twice, as after a lost ack.
pub(super) async fn x1_the_notification_of_a_shortage_is_delivered_once<D: Database>(bank: Bank<D>) {
    let (id, paid) = (fresh_saga(), payment(&bank, 1_000, 500).await);
    let saga = saga(&bank, &Crash::never());
    let ended = saga.start(id, "anna", paid).await.expect("an outcome");
    assert!(matches!(ended, SagaOutcome::Fail { .. }), "{ended:?}");
    bank.settle_all(&saga).await;
    let home = Arc::new(bank.databases[0].clone());
    let deliveries = Deliveries::default();
    let requests = fan_out_to("anna", home.clone(), home.clone());
    let (requests_retry, messages_retry) = (RequestConfig::default().retry, MessageConfig::default().retry);
    let messages = deliveries.handler(home.clone());
    handle_all(&bank, REQUEST_QUEUE, &requests, &requests_retry).await;
    handle_all(&bank, MESSAGE_QUEUE, &messages, &messages_retry).await;
    let delivered = deliveries.of(notice_id(id));
    assert_eq!(delivered.len(), 1, "{delivered:?}");
    assert_eq!(delivered[0].address, "anna@example.com");
    let progress = home.progress(notice_id(id)).await.expect("a report").expect("a request");
    assert_eq!((progress.delivered, progress.total()), (1, 1), "{progress:?}");
}

/// Handles each message of a queue twice until it is empty; other cases' are among them.
async fn handle_all<D: Database>(bank: &Bank<D>, queue: &str, handler: &dyn Handler, retry: &RetryPolicy) {
    let queue = QueueName::new(queue).expect("a queue");
    loop {
        let claimed = bank.claim(&queue).await;
        if claimed.is_empty() {
            return;
        }
        for claimed in &claimed {
            handler.handle(claimed).await;
            let verdict = handler.handle(claimed).await;
            bank.settle(claimed, &verdict, retry).await;
        }
    }
}
