use std::time::Duration;

use claimstream_brokers::rabbitmq::{RabbitMqPlace, RabbitMqPublisher};
use claimstream_domain::{OrderingKey, Payload, Publication, Published};
use claimstream_ports::Publish;
use lapin::types::AMQPValue;

use super::queues::{Queues, id_and_body, text};
use crate::load::{numbered, publication};

/// What tests/brokers lets RabbitMQ take, in bytes.
const LARGEST: usize = 1_048_576;

fn publisher(url: &str) -> RabbitMqPublisher {
    RabbitMqPublisher::new(RabbitMqPlace::new(url).unwrap())
}

fn why(answer: &Published) -> String {
    match answer {
        Published::Refused(why) => format!("refused: {why}"),
        Published::Unconfirmed(why) => format!("unconfirmed: {why}"),
        Published::Confirmed => "confirmed".to_owned(),
    }
}

pub(super) async fn what_is_confirmed_is_in_its_queue_with_all_that_travels_beside_it(url: String) {
    let queues = Queues::at(&url).await;
    for queue in [queues.classic().await, queues.quorum().await] {
        let mut sent = publication(&queue, r#"{"total":12}"#);
        sent.body = Payload::json(r#"{"total":12}"#);
        sent.key = OrderingKey::new("customer/7").ok();
        sent.attributes = vec![("source".into(), "/shop".into()), ("type".into(), "order.placed".into())];
        sent.headers
            .insert("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
            .unwrap();
        assert_eq!(publisher(&url).publish(std::slice::from_ref(&sent)).await, [Published::Confirmed]);

        let came = queues.drain(&queue).await;
        assert_eq!(came.len(), 1);
        assert_eq!(id_and_body(&came[0]), (sent.id.to_string(), sent.body.bytes().to_vec()));
        let properties = &came[0].properties;
        assert_eq!(properties.content_type().as_ref().unwrap().as_str(), "application/json");
        assert_eq!(*properties.delivery_mode(), Some(2));
        let headers = properties.headers().as_ref().unwrap().inner();
        let header = |name: &str| match headers.get(name) {
            Some(AMQPValue::LongString(value)) => value.to_string(),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(header("cloudEvents:source"), "/shop");
        assert_eq!(header("cloudEvents:type"), "order.placed");
        assert_eq!(header("claimstream-key"), "customer/7");
        assert_eq!(header("traceparent"), sent.headers.get("traceparent").unwrap());
    }
}

pub(super) async fn what_no_queue_takes_is_refused_and_the_others_are_confirmed(url: String) {
    let queues = Queues::at(&url).await;
    let queue = queues.classic().await;
    let publisher = publisher(&url);
    // Many together, so that one acknowledgement confirms several.
    for _ in 0..20 {
        let batch: Vec<_> = (0..100)
            .map(|n| publication(if n % 7 == 3 { "nobody-listens-here" } else { queue.as_str() }, "x"))
            .collect();
        for (n, answer) in publisher.publish(&batch).await.iter().enumerate() {
            match n % 7 {
                3 => assert!(
                    why(answer).starts_with("refused: no queue takes what goes to the queue \"nobody"),
                    "{answer:?}"
                ),
                _ => assert_eq!(answer, &Published::Confirmed, "{n}"),
            }
        }
    }
    let topic = publication("amq.topic/orders.placed", "x");
    let answer = publisher.publish(&[topic]).await;
    assert!(
        why(&answer[0]).contains("the exchange \"amq.topic\" with the routing key \"orders.placed\""),
        "{answer:?}"
    );
}

pub(super) async fn what_is_too_large_is_refused_and_the_others_are_confirmed(url: String) {
    let queues = Queues::at(&url).await;
    let queue = queues.classic().await;
    let publisher = publisher(&url);
    let batch: Vec<_> = (0..20)
        .map(|n| publication(&queue, vec![b'x'; if n == 7 || n == 11 { LARGEST + 1 } else { 10 }]))
        .collect();
    let answers = publisher.publish(&batch).await;
    for (n, answer) in answers.iter().enumerate() {
        match n {
            7 | 11 => assert!(why(answer).contains("refused") && why(answer).contains("size"), "{answer:?}"),
            _ => assert_eq!(answer, &Published::Confirmed, "{n}"),
        }
    }
    assert_eq!(publisher.publish(&[publication(&queue, vec![0; LARGEST])]).await, [Published::Confirmed]);
}

pub(super) async fn a_missing_exchange_is_refused_with_a_sentence(url: String) {
    let queues = Queues::at(&url).await;
    let queue = queues.classic().await;
    let publisher = publisher(&url);
    let batch: Vec<_> = (0..30)
        .map(|n| publication(if n % 3 == 1 { "not-there/x" } else { queue.as_str() }, n.to_string()))
        .collect();
    for (n, answer) in publisher.publish(&batch).await.iter().enumerate() {
        match n % 3 {
            1 => assert!(
                why(answer).starts_with("refused: RabbitMQ has no exchange \"not-there\""),
                "{answer:?}"
            ),
            _ => assert_eq!(answer, &Published::Confirmed, "{n}"),
        }
    }
    let lacks = |place| publisher.lacks(place);
    assert_eq!(
        lacks("not-there/x").await.unwrap().as_str(),
        "RabbitMQ has no exchange \"not-there\"; declare it"
    );
    assert_eq!(lacks("not-there").await.unwrap().as_str(), "RabbitMQ has no queue \"not-there\"; declare it");
    assert!(lacks(&queue).await.is_none() && lacks("amq.direct/x").await.is_none());
}

pub(super) async fn a_full_queue_that_rejects_is_unconfirmed_and_holds_up_its_key(url: String) {
    let queues = Queues::at(&url).await;
    let full = queues
        .declare(&[("x-max-length", AMQPValue::LongInt(1)), text("x-overflow", "reject-publish")])
        .await;
    let other = queues.classic().await;
    let publisher = publisher(&url);
    // Of a key, the second finds the queue full, and the third would find room.
    let of_key = |place: &str| Publication { place: place.to_owned(), ..numbered(place, 1) };
    let answers =
        publisher.publish(&[of_key(&full), of_key(&full), of_key(&other), publication(&other, "x")]).await;
    assert_eq!(answers[0], Published::Confirmed);
    assert!(why(&answers[1]).starts_with("unconfirmed: RabbitMQ did not take it"), "{answers:?}");
    assert!(why(&answers[2]).starts_with("unconfirmed: it was not sent"), "{answers:?}");
    assert_eq!(answers[3], Published::Confirmed);
    assert_eq!(queues.drain(&other).await.len(), 1);
}

pub(super) async fn a_place_that_is_none_is_refused(url: String) {
    let queues = Queues::at(&url).await;
    let queue = queues.classic().await;
    let answers = publisher(&url).publish(&[publication("/", "x"), publication(&queue, "x")]).await;
    assert!(why(&answers[0]).starts_with("refused: its place names neither"), "{answers:?}");
    assert_eq!(answers[1], Published::Confirmed);
}

pub(super) async fn calls_at_the_same_time_do_not_disturb_each_other(url: String) {
    let queues = Queues::at(&url).await;
    let queue = queues.classic().await;
    let publisher = publisher(&url);
    let call = |bad: bool| {
        let place = if bad { "not-there/x" } else { queue.as_str() };
        let batch: Vec<_> = (0..50).map(|_| publication(place, "x")).collect();
        let publisher = &publisher;
        async move {
            publisher.publish(&batch).await.iter().filter(|answer| **answer == Published::Confirmed).count()
        }
    };
    let confirmed = futures::future::join_all((0..10).map(|n| call(n % 5 == 0))).await;
    assert_eq!(confirmed, [0, 50, 50, 50, 50, 0, 50, 50, 50, 50]);
}

pub(super) async fn a_cancelled_call_disturbs_no_later_one(url: String) {
    let queues = Queues::at(&url).await;
    let queue = queues.classic().await;
    let publisher = publisher(&url);
    for delay in 0..20 {
        let batch: Vec<_> = (0..50).map(|_| publication(&queue, "x")).collect();
        let _ = tokio::time::timeout(Duration::from_micros(delay * 200), publisher.publish(&batch)).await;
        let bad = [publication("nobody-listens-here", "x"), publication(&queue, "x")];
        let answers = publisher.publish(&bad).await;
        assert!(why(&answers[0]).starts_with("refused"), "{answers:?}");
        assert_eq!(answers[1], Published::Confirmed);
    }
}

pub(super) async fn a_server_that_is_away_leaves_everything_unconfirmed(_url: String) {
    let publisher = RabbitMqPublisher::new(RabbitMqPlace::new("amqp://app:hunter2@127.0.0.1:1").unwrap());
    let answers = publisher.publish(&[publication("q", "x"), numbered("q", 1), numbered("q", 1)]).await;
    assert_eq!(answers.len(), 3);
    for answer in &answers {
        assert!(
            why(answer).starts_with("unconfirmed: cannot connect to amqp://127.0.0.1:1/: "),
            "{answer:?}"
        );
        assert!(!why(answer).contains("hunter2"), "{answer:?}");
    }
}
