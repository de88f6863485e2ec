//! Promise: RabbitMQ: an alarm costs publishers one connection, and a quorum queue without a delivery limit
//! loses nothing, however many of its consumers died

use std::{cell::Cell, time::Duration};

use claimstream_brokers::rabbitmq::{RabbitMqConfig, RabbitMqConsumer, RabbitMqPublisher};
use claimstream_domain::{HoldLimit, OrderingKey, Payload, Publication, Published};
use claimstream_ports::{Consume, ConsumeError, Publish, mock::HandTimer};
use claimstream_testbed::{PrivateBroker, eventually};
use lapin::types::AMQPValue;

use super::{
    NAME,
    counted::Counted,
    place, place_by,
    queues::{Queues, text},
};
use crate::{
    cut_off::cut_off,
    load::{numbered, publication},
};

fn consumer(url: &str, queue: &str) -> RabbitMqConsumer {
    RabbitMqConsumer::new(place(url), queue)
}

async fn publish(url: &str, publications: &[Publication]) {
    let publisher = RabbitMqPublisher::new(place(url));
    let answers = publisher.publish(publications).await;
    assert!(answers.iter().all(|answer| *answer == Published::Confirmed), "{answers:?}");
}

pub(super) async fn what_was_published_arrives_with_its_properties(url: String) {
    let queue = Queues::at(&url).await.quorum().await;
    let mut sent = publication(&queue, "");
    sent.body = Payload::json(r#"{"total":12}"#);
    sent.key = OrderingKey::new("customer/7").ok();
    sent.attributes = vec![("source".into(), "/shop".into()), ("type".into(), "order.placed".into())];
    sent.headers.insert("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").unwrap();
    publish(&url, std::slice::from_ref(&sent)).await;

    let delivery = consumer(&url, &queue).next().await.unwrap();
    let received = &delivery.received;
    assert_eq!(
        (received.id.as_str(), received.place.as_str()),
        (sent.id.to_string().as_str(), queue.as_str())
    );
    assert_eq!((&received.key, &received.attributes), (&sent.key, &sent.attributes));
    assert_eq!((&received.headers, &received.body), (&sent.headers, &sent.body));
    assert_eq!(delivery.times, 1);
    delivery.finish().await.unwrap();
}

/// Guard: the time of a message runs while it is held | src/rabbitmq/consumer.rs `limit`: all of it is left
pub(super) async fn the_time_of_a_message_runs_while_it_is_held(url: String) {
    let queue = Queues::at(&url).await.classic().await;
    publish(&url, &[publication(&queue, "x")]).await;
    let timer = HandTimer::default();
    let all = Duration::from_secs(600);
    let consumer = RabbitMqConsumer::new(place_by(&timer, &url), &queue).with_limit(all);
    let delivery = consumer.next().await.unwrap();
    timer.advance(Duration::from_secs(100));
    assert_eq!(delivery.limit(), HoldLimit::Fixed { all, left: Duration::from_secs(500) });
    delivery.finish().await.unwrap();
}

pub(super) async fn a_login_that_is_refused_is_no_broker_that_is_away(url: String) {
    let queue = Queues::at(&url).await.quorum().await;
    let stranger = place(&url).with_login("guest", "not the password");
    let refused = RabbitMqConsumer::new(stranger, &queue).next().await.unwrap_err();
    assert!(matches!(refused, ConsumeError::Refused(_)), "{refused}");
    let (server, _) = url.rsplit_once('/').filter(|(server, _)| !server.ends_with('/')).unwrap_or((&url, ""));
    let refused = consumer(&format!("{server}/no-such-host"), &queue).next().await.unwrap_err();
    assert!(matches!(refused, ConsumeError::Refused(_)), "{refused}");
}

/// Guard: a dropped delivery goes back to its queue | src/rabbitmq/consumer.rs: no `nack` in `drop`
pub(super) async fn what_is_not_finished_comes_again(url: String) {
    let queues = Queues::at(&url).await;
    let queue = queues.quorum().await;
    publish(&url, &[publication(&queue, "x")]).await;
    let first = consumer(&url, &queue);
    let id = first.next().await.unwrap().received.id.clone();
    // It was dropped, and comes on the same connection.
    let again = first.next().await.unwrap();
    assert_eq!((again.received.id.as_str(), again.times), (id.as_str(), 2));
    again.give_back().await.unwrap();
    let third = first.next().await.unwrap();
    // The connection ends, and another consumer gets it.
    drop(first);
    let second = consumer(&url, &queue);
    let fourth = second.next().await.unwrap();
    assert_eq!(fourth.received.id, id);
    assert!(matches!(third.finish().await, Err(ConsumeError::Away(_))), "its connection has ended");
    fourth.finish().await.unwrap();
    // What it had not finished would be in the queue again when it is gone.
    drop(second);
    eventually("the consumer is gone", async || queues.consumers(&queue).await == 0).await;
    assert_eq!(queues.drain(&queue, 0).await.len(), 0, "it was finished");
}

pub(super) async fn messages_come_in_the_order_of_their_queue_and_a_dropped_call_loses_none(url: String) {
    let queue = Queues::at(&url).await.classic().await;
    let consumer = consumer(&url, &queue).with_prefetch(7);
    // It is connected before calls are dropped.
    publish(&url, &[publication(&queue, "x")]).await;
    consumer.next().await.unwrap().finish().await.unwrap();
    assert!(cut_off(1, consumer.next()).await.is_none(), "nothing is there");
    let sent: Vec<_> = (0..200).map(|number| numbered(&queue, number)).collect();
    publish(&url, &sent).await;
    for expected in &sent {
        let delivery = loop {
            if let Some(delivery) = cut_off(1, consumer.next()).await {
                break delivery.unwrap();
            }
        };
        assert_eq!(delivery.received.id, expected.id.to_string());
        delivery.finish().await.unwrap();
    }
}

pub(super) async fn a_missing_queue_is_refused_by_its_name(url: String) {
    let refused = consumer(&url, "not-there").next().await.unwrap_err();
    assert!(
        matches!(&refused, ConsumeError::Refused(why) if why.as_str().contains("no queue \"not-there\"")),
        "{refused}"
    );
}

/// RabbitMQ 4 drops what was given 20 times, unless the queue says otherwise.
pub(super) async fn what_many_consumers_had_before_they_died_stays_where_its_queue_says_so(url: String) {
    let unlimited = ("x-delivery-limit", AMQPValue::LongLongInt(-1));
    let queue = Queues::at(&url).await.declare(&[text("x-queue-type", "quorum"), unlimited]).await;
    publish(&url, &[publication(&queue, "x")]).await;
    let mut times = 0;
    while times <= 25 {
        let consumer = consumer(&url, &queue);
        times = consumer.next().await.unwrap().times;
    }
}

/// The broker comes back with an alarm about its memory, which is over for those who consume.
/// Guard: a blocked connection is kept | src/rabbitmq/confirm_channel.rs: no `drop` of `ConfirmChannel`
pub(super) async fn a_lost_connection_is_an_error_once_and_an_alarm_costs_publishers_one_connection(
    _url: String,
) {
    let broker = PrivateBroker::start(NAME);
    let url = broker.url().to_owned();
    let queue = Queues::at(&url).await.classic().await;
    publish(&url, &[publication(&queue, "one")]).await;
    let consumer = consumer(&url, &queue);
    let held = consumer.next().await.unwrap();
    broker.kill_and_restart_with(&[("CLAIMSTREAM_RABBITMQ_MEMORY", "1MB")]).await;
    assert!(matches!(consumer.next().await, Err(ConsumeError::Away(_))));
    let again = consumer.next().await.unwrap();
    assert_eq!(again.received.id, held.received.id);
    again.finish().await.unwrap();
    publish_under_alarm(&url, &queue).await;
}

/// A connection that the broker does not read from cannot be closed: a new one for each call would be one more at either end.
async fn publish_under_alarm(url: &str, queue: &str) {
    let counted = Counted::before(url).await;
    let place = RabbitMqConfig::new(&counted.url).unwrap().with_timeout(Duration::from_secs(3));
    let publisher = RabbitMqPublisher::new(place);
    let refused = Cell::new(0);
    // The broker may not have measured yet.
    eventually("five calls are refused over the alarm", async || {
        let answers = publisher.publish(&[publication(queue, "x")]).await;
        let is_alarm =
            matches!(&answers[..], [Published::Unconfirmed(why) | Published::Unsent(why)] if why.as_str().contains("alarm"));
        refused.set(refused.get() + usize::from(is_alarm));
        refused.get() == 5
    })
    .await;
    assert_eq!(counted.made(), 1);
    // A call that is cut off leaves no connection more behind.
    for polls in 1..=10 {
        cut_off(polls, publisher.publish(&[publication(queue, "x")])).await;
    }
    assert_eq!(counted.made(), 1);
}
