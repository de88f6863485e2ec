//! Promise: RabbitMQ: what is confirmed is in its queue, classic or quorum, with id, key, headers and the
//! attributes of its CloudEvent; an unroutable message, one that is too large and one to a missing exchange
//! are refused with a sentence, and the others of the call are confirmed; a call that is refused, cancelled
//! or cut off leaves other calls alone

use std::time::Duration;

use claimstream_brokers::rabbitmq::RabbitMqPublisher;
use claimstream_domain::{OrderingKey, Payload, Publication, Published};
use claimstream_ports::{Publish, mock::HandTimer};
use claimstream_testbed::eventually;
use futures::future::{join, join_all};
use lapin::types::AMQPValue;

use super::{
    counted::Counted,
    place, place_by,
    queues::{Queues, id_and_body, text},
    time_runs_out,
};
use crate::{
    cut_off::cut_off,
    load::{numbered, publication},
};

/// What tests/brokers lets RabbitMQ take, in bytes.
const LARGEST: usize = 1_048_576;

fn publisher(url: &str) -> RabbitMqPublisher {
    RabbitMqPublisher::new(place(url))
}

pub(super) fn why(answer: &Published) -> String {
    match answer {
        Published::Refused(why) => format!("refused: {why}"),
        Published::Unavailable(why) => format!("unavailable: {why}"),
        Published::Unconfirmed(why) => format!("unconfirmed: {why}"),
        Published::Unsent(why) => format!("unsent: {why}"),
        Published::Confirmed => "confirmed".to_owned(),
    }
}

pub(super) async fn what_is_confirmed_is_in_its_queue_with_its_properties(url: String) {
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

        let came = queues.drain(&queue, 1).await;
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

/// Guard: a message that the broker returned is known by its content | src/rabbitmq/publisher.rs `note`: the
/// confirmation that carries it decides
pub(super) async fn what_no_queue_takes_is_unavailable_and_the_others_are_confirmed(url: String) {
    let queues = Queues::at(&url).await;
    let queue = queues.classic().await;
    let publisher = publisher(&url);
    // Many together, so that one acknowledgement confirms several.
    for _ in 0..20 {
        let batch: Vec<_> = (0..100)
            .map(|n| publication(if n % 7 == 3 { "no-queue-is-bound-here" } else { queue.as_str() }, "x"))
            .collect();
        for (n, answer) in publisher.publish(&batch).await.iter().enumerate() {
            match n % 7 {
                3 => assert!(
                    why(answer).starts_with("unavailable: no queue takes what goes to the queue \"no-queue"),
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

/// Guard: messages that a closed channel left open are sent one by one | src/rabbitmq/publisher.rs: no
/// `send_singly`
pub(super) async fn a_missing_exchange_is_unavailable_with_a_sentence(url: String) {
    let queues = Queues::at(&url).await;
    let queue = queues.classic().await;
    let publisher = publisher(&url);
    let batch: Vec<_> = (0..30)
        .map(|n| publication(if n % 3 == 1 { "not-there/x" } else { queue.as_str() }, n.to_string()))
        .collect();
    for (n, answer) in publisher.publish(&batch).await.iter().enumerate() {
        match n % 3 {
            1 => assert!(
                why(answer).starts_with("unavailable: RabbitMQ has no exchange \"not-there\""),
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

/// RabbitMQ lets no client publish to an internal exchange, and may let it later.
/// Guard: an exchange that refused for now is not asked again in a call | src/rabbitmq/publisher.rs: `barred`
/// stays empty
pub(super) async fn an_exchange_that_takes_nothing_now_is_asked_once_in_a_call(url: String) {
    let queues = Queues::at(&url).await;
    let (queue, internal) = (queues.classic().await, queues.internal_exchange().await);
    let counted = Counted::before(&url).await;
    let publisher = publisher(&counted.url);
    let place = |n| if n % 2 == 0 { format!("{internal}/x") } else { queue.clone() };
    let batch: Vec<_> = (0..100).map(|n| publication(&place(n), n.to_string())).collect();
    for (n, answer) in publisher.publish(&batch).await.iter().enumerate() {
        match n % 2 {
            0 => assert!(
                why(answer).starts_with("unconfirmed: RabbitMQ closed the channel over it"),
                "{answer:?}"
            ),
            _ => assert_eq!(answer, &Published::Confirmed, "{n}"),
        }
    }
    // One that was closed over the call as a whole, and one for what was sent one by one.
    assert_eq!(counted.made(), 2);
}

/// Each refusal ends a channel, and a connection has 2,047 of them in its life.
/// Guard: a channel that cannot be opened costs its connection | src/rabbitmq/confirm_channel.rs `take`: returns the
/// error
/// Guard: a connection without a channel is closed explicitly | src/rabbitmq/confirm_channel.rs `begin`: no `close`
pub(super) async fn refusals_do_not_use_a_connection_up(url: String) {
    let counted = Counted::before(&url).await;
    let publisher = publisher(&counted.url);
    for n in 0..2_100 {
        let lacks = publisher.lacks("not-there/x").await;
        assert!(lacks.is_some_and(|why| why.as_str().contains("not-there")), "{n}");
    }
    eventually("one connection is open", async || counted.open() == 1).await;
    assert_eq!(counted.made(), 2);
}

/// As behind a firewall that forgets connections.
/// Guard: one broken connection takes the idle ones with it | src/rabbitmq/confirm_channel.rs: `forget` does nothing
pub(super) async fn connections_that_broke_without_a_sign_cost_one_call(url: String) {
    let queues = Queues::at(&url).await;
    let counted = Counted::before(&url).await;
    let one = [publication(&queues.classic().await, "x")];
    for has_channels in [true, false] {
        let timer = HandTimer::default();
        let publisher = RabbitMqPublisher::new(place_by(&timer, &counted.url));
        let confirmed = |answers: &Vec<Published>| *answers == [Published::Confirmed];
        let calls = join_all((0..6).map(|_| publisher.publish(&one))).await;
        assert!(calls.iter().all(confirmed));
        if !has_channels {
            join_all((0..6).map(|_| publisher.lacks("not-there/x"))).await;
        }
        counted.freeze();
        let (first, ()) = join(publisher.publish(&one), time_runs_out(&timer)).await;
        assert!(confirmed(&first) || confirmed(&publisher.publish(&one).await), "channels: {has_channels}");
    }
}

/// Guard: after a message that is not confirmed, no other of its key is sent | src/answers.rs: `held_up`
/// stays empty
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
    assert!(why(&answers[1]).starts_with("unavailable: RabbitMQ did not take it"), "{answers:?}");
    assert!(why(&answers[2]).starts_with("unsent: it was not sent"), "{answers:?}");
    assert_eq!(answers[3], Published::Confirmed);
    assert_eq!(queues.drain(&other, 1).await.len(), 1);
}

pub(super) async fn a_place_that_is_none_is_refused(url: String) {
    let queues = Queues::at(&url).await;
    let queue = queues.classic().await;
    let answers = publisher(&url).publish(&[publication("/", "x"), publication(&queue, "x")]).await;
    assert!(why(&answers[0]).starts_with("refused: its place names neither"), "{answers:?}");
    assert_eq!(answers[1], Published::Confirmed);
}

/// The broker closes a connection on which something follows behind a refusal or a cancelled call.
/// Guard: no two calls to RabbitMQ share a connection | src/rabbitmq/confirm_channel.rs: one connection, a channel for
/// each call
pub(super) async fn calls_at_the_same_time_do_not_disturb_each_other(url: String) {
    const ROUNDS: usize = 20;
    let queues = Queues::at(&url).await;
    let (queue, other) = (queues.classic().await, queues.classic().await);
    let publisher = publisher(&url);
    let refused: Vec<_> = (0..200).map(|_| publication("not-there/x", vec![0; 2_000])).collect();
    let large: Vec<_> = (0..100).map(|_| publication(&other, vec![0; 100_000])).collect();
    let good: Vec<_> = (0..50).map(|_| publication(&queue, "x")).collect();
    for round in 0..ROUNDS {
        let cancelled = cut_off(round, publisher.publish(&large));
        let calls = [&good, &refused, &good, &good].map(|call| publisher.publish(call));
        let (_, answers) = join(cancelled, join_all(calls)).await;
        let of = |call: usize| answers[call].iter();
        assert!(
            of(1).all(|answer| why(answer).starts_with("unavailable: RabbitMQ has no exchange")),
            "{round}"
        );
        for call in [0, 2, 3] {
            assert!(of(call).all(|answer| *answer == Published::Confirmed), "{round}: {:?}", answers[call]);
        }
    }
    let expected = ROUNDS * 3 * good.len();
    assert_eq!(queues.drain(&queue, expected).await.len(), expected);
}

pub(super) async fn a_cancelled_call_disturbs_no_later_one(url: String) {
    let queues = Queues::at(&url).await;
    let queue = queues.classic().await;
    let publisher = publisher(&url);
    for polls in 0..20 {
        let batch: Vec<_> = (0..50).map(|_| publication(&queue, "x")).collect();
        cut_off(polls, publisher.publish(&batch)).await;
        let bad = [publication("no-queue-is-bound-here", "x"), publication(&queue, "x")];
        let answers = publisher.publish(&bad).await;
        assert!(why(&answers[0]).starts_with("unavailable"), "{answers:?}");
        assert_eq!(answers[1], Published::Confirmed);
    }
}

/// Guard: connections that no call has needed for long are closed | src/rabbitmq/confirm_channel.rs `keep`: no `take_old`
pub(super) async fn connections_that_no_call_has_needed_for_long_are_closed(url: String) {
    let (queues, counted, timer) =
        (Queues::at(&url).await, Counted::before(&url).await, HandTimer::default());
    let queue = queues.classic().await;
    let publisher = RabbitMqPublisher::new(place_by(&timer, &counted.url));
    let call = async || publisher.publish(&[publication(&queue, "x")]).await;
    join_all([call(), call(), call()]).await;
    assert_eq!(counted.made(), 3);
    timer.advance(Duration::from_secs(59));
    assert_eq!(call().await, [Published::Confirmed]);
    assert_eq!(counted.open(), 3, "it is too early");
    timer.advance(Duration::from_secs(1));
    assert_eq!(call().await, [Published::Confirmed]);
    eventually("one connection is open", async || counted.open() == 1).await;
    assert_eq!((call().await, counted.made()), (vec![Published::Confirmed], 3));
}
