//! Consuming from Redis Streams; publishing has trials of its own.

use std::time::Duration;

use claimstream_brokers::redis_streams::{RedisStreamsConsumer, RedisStreamsPlace, RedisStreamsPublisher};
use claimstream_domain::Published;
use claimstream_ports::{Consume, Publish};
use claimstream_testbed::known_broker;
use libtest_mimic::Trial;
use tokio::time::timeout;

use crate::{contract, load::publication, trial};

pub(crate) fn trials() -> Vec<Trial> {
    let url = known_broker("redis-streams", "consuming from Redis Streams");
    let is_here = url.is_some();
    let url = url.unwrap_or_default();
    let [one, two, three, four, five] = [(); 5].map(|()| url.clone());
    vec![
        trial("redis_streams::everything_that_was_published_comes", is_here, move || async move {
            let Fresh { publisher, consumer, stream, .. } = Fresh::at(&one);
            contract::everything_comes(&publisher, &consumer, &stream).await;
        }),
        trial("redis_streams::what_is_not_finished_comes_again", is_here, move || async move {
            let Fresh { publisher, consumer, stream, .. } = Fresh::at(&two);
            contract::unfinished_comes_again(&publisher, &consumer, &stream).await;
        }),
        trial("redis_streams::messages_come_in_the_order_of_their_stream", is_here, move || async move {
            let Fresh { publisher, consumer, stream, .. } = Fresh::at(&three);
            contract::order_holds(&publisher, &consumer, &stream).await;
        }),
        trial("redis_streams::another_member_takes_over_what_was_abandoned", is_here, move || async move {
            another_takes_over(Fresh::at(&four)).await;
        }),
        trial(
            "redis_streams::a_member_that_comes_back_begins_with_what_it_had",
            is_here,
            move || async move {
                comes_back(Fresh::at(&five)).await;
            },
        ),
    ]
}

const IDLE: Duration = Duration::from_millis(500);

/// A stream of its own, and who publishes to it and consumes from it.
struct Fresh {
    place: RedisStreamsPlace,
    publisher: RedisStreamsPublisher,
    consumer: RedisStreamsConsumer,
    stream: String,
}

impl Fresh {
    fn at(url: &str) -> Self {
        let stream = format!("trial-{}", uuid::Uuid::now_v7());
        let place = RedisStreamsPlace::new(url).unwrap();
        let publisher = RedisStreamsPublisher::new(place.clone());
        let consumer = RedisStreamsConsumer::new(place.clone(), &stream, "shipping", "one").with_idle(IDLE);
        Self { place, publisher, consumer, stream }
    }

    fn member(&self, name: &str) -> RedisStreamsConsumer {
        RedisStreamsConsumer::new(self.place.clone(), &self.stream, "shipping", name).with_idle(IDLE)
    }

    async fn publish(&self, count: usize) -> Vec<String> {
        let sent: Vec<_> = (0..count).map(|n| publication(&self.stream, n.to_string())).collect();
        assert!(self.publisher.publish(&sent).await.iter().all(|answer| *answer == Published::Confirmed));
        sent.iter().map(|publication| publication.id.to_string()).collect()
    }
}

async fn another_takes_over(fresh: Fresh) {
    let ids = fresh.publish(3).await;
    let held = fresh.consumer.next().await.unwrap();
    assert_eq!(held.received.id, ids[0]);
    drop(held);
    let other = fresh.member("two");
    for id in &ids {
        let delivery = timeout(Duration::from_secs(5), other.next()).await.unwrap().unwrap();
        assert_eq!(delivery.received.id, *id);
        delivery.finish().await.unwrap();
    }
}

async fn comes_back(fresh: Fresh) {
    let ids = fresh.publish(3).await;
    drop(fresh.consumer.next().await.unwrap());
    let later = fresh.publish(2).await;
    let again = fresh.member("one");
    for id in ids.iter().chain(&later) {
        let delivery = timeout(Duration::from_secs(5), again.next()).await.unwrap().unwrap();
        assert_eq!(delivery.received.id, *id);
        delivery.finish().await.unwrap();
    }
}
