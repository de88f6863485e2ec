//! Consuming from Redis Streams; publishing has trials of its own.

use std::time::Duration;

use claimstream_brokers::redis_streams::{RedisStreamsConsumer, RedisStreamsPlace, RedisStreamsPublisher};
use claimstream_domain::Published;
use claimstream_ports::{Consume, ConsumeError, Delivery, Publish};
use claimstream_testbed::known_broker;
use libtest_mimic::Trial;
use redis::aio::MultiplexedConnection;
use tokio::time::timeout;

use crate::{contract, load::publication, trial};

pub(crate) fn trials() -> Vec<Trial> {
    let url = known_broker("redis-streams", "consuming from Redis Streams");
    let is_here = url.is_some();
    let url = url.unwrap_or_default();
    let [one, two, three, four, five, six, seven, eight, nine, ten, eleven] = [(); 11].map(|()| url.clone());
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
        trial("redis_streams::a_field_whose_name_is_no_text_holds_up_nothing", is_here, move || async move {
            no_text(Fresh::at(&six)).await;
        }),
        trial(
            "redis_streams::a_field_of_another_sender_is_no_id_of_a_message",
            is_here,
            move || async move {
                another_sender(Fresh::at(&seven)).await;
            },
        ),
        trial(
            "redis_streams::entries_that_were_trimmed_stay_pending_no_longer",
            is_here,
            move || async move {
                trimmed(Fresh::at(&eight)).await;
            },
        ),
        trial(
            "redis_streams::a_user_who_is_taken_away_is_refused_until_given_back",
            is_here,
            move || async move {
                user_taken_away(Fresh::at(&ten)).await;
            },
        ),
        trial(
            "redis_streams::a_member_that_was_dropped_takes_nothing_from_the_next_one",
            is_here,
            move || async move {
                dropped_while_it_read(Fresh::at(&eleven)).await;
            },
        ),
        trial("redis_streams::an_answer_outlives_its_connection", is_here, move || async move {
            // A database of its own, by which its connections are known.
            lost_answer(Fresh::at(&nine.replace("/0", "/9"))).await;
        }),
    ]
}

const IDLE: Duration = Duration::from_millis(500);

/// A stream of its own, and who publishes to it and consumes from it.
struct Fresh {
    url: String,
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
        Self { url: url.to_owned(), place, publisher, consumer, stream }
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
        let delivery = timeout(Duration::from_secs(30), other.next()).await.unwrap().unwrap();
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
        let delivery = timeout(Duration::from_secs(30), again.next()).await.unwrap().unwrap();
        assert_eq!(delivery.received.id, *id);
        delivery.finish().await.unwrap();
    }
}

/// The server gives an entry to the reading that has waited longest.
async fn dropped_while_it_read(fresh: Fresh) {
    let member = || fresh.member("three").with_idle(Duration::from_secs(60));
    let dropped = member();
    assert!(timeout(Duration::from_millis(300), dropped.next()).await.is_err(), "nothing is there");
    drop(dropped);
    let next = member();
    let read = async {
        [self::next(&next).await, self::next(&next).await].map(|delivery| delivery.received.id.clone())
    };
    let publish = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        fresh.publish(2).await
    };
    let (read, published) = tokio::join!(read, publish);
    assert_eq!(read.to_vec(), published);
}

impl Fresh {
    async fn connection(&self) -> MultiplexedConnection {
        let client = redis::Client::open(self.url.as_str()).unwrap();
        client.get_multiplexed_async_connection().await.unwrap()
    }

    /// How many entries were given and not finished.
    async fn pending(&self) -> u64 {
        let mut ask = redis::cmd("XPENDING");
        ask.arg(&self.stream).arg("shipping");
        let answer: Vec<redis::Value> = ask.query_async(&mut self.connection().await).await.unwrap();
        redis::from_redis_value(answer.into_iter().next().unwrap()).unwrap()
    }
}

async fn next(consumer: &RedisStreamsConsumer) -> Delivery {
    timeout(Duration::from_secs(30), consumer.next()).await.unwrap().unwrap()
}

/// Another program may write any bytes.
async fn no_text(fresh: Fresh) {
    let mut add = redis::cmd("XADD");
    add.arg(&fresh.stream).arg("*").arg(b"\xff\xfe").arg("x").arg("data").arg("{}");
    add.exec_async(&mut fresh.connection().await).await.unwrap();
    let ids = fresh.publish(1).await;
    let first = next(&fresh.consumer).await;
    assert_eq!((first.received.id.as_str(), first.received.body.bytes()), ("", &b"{}"[..]));
    first.finish().await.unwrap();
    let second = next(&fresh.consumer).await;
    assert_eq!(second.received.id, ids[0]);
}

/// Its `id` may be that of a customer, so that two of its entries would look like one message.
async fn another_sender(fresh: Fresh) {
    for status in ["paid", "shipped"] {
        let mut add = redis::cmd("XADD");
        add.arg(&fresh.stream).arg("*").arg("id").arg("7").arg("status").arg(status);
        add.exec_async(&mut fresh.connection().await).await.unwrap();
    }
    for status in ["paid", "shipped"] {
        let delivery = next(&fresh.consumer).await;
        assert_eq!(delivery.received.id, "", "an inbox refuses it, and does not take one for the other");
        assert_eq!(delivery.received.headers.get("status"), Some(status));
        delivery.finish().await.unwrap();
    }
}

async fn trimmed(fresh: Fresh) {
    fresh.publish(3).await;
    drop(fresh.consumer.next().await.unwrap());
    let mut trim = redis::cmd("XTRIM");
    trim.arg(&fresh.stream).arg("MAXLEN").arg(0);
    trim.exec_async(&mut fresh.connection().await).await.unwrap();
    let ids = fresh.publish(1).await;
    let again = fresh.member("one");
    let delivery = next(&again).await;
    assert_eq!(delivery.received.id, ids[0]);
    delivery.finish().await.unwrap();
    assert_eq!(fresh.pending().await, 0, "nobody can ever finish them");
}

/// The connection that answers breaks, and the one that waits does not.
async fn lost_answer(fresh: Fresh) {
    fresh.publish(2).await;
    let consumer = fresh.member("one").with_idle(Duration::from_secs(600));
    let first = next(&consumer).await;
    let mut connection = fresh.connection().await;
    let mine: u64 = redis::cmd("CLIENT").arg("ID").query_async(&mut connection).await.unwrap();
    let all: String = redis::cmd("CLIENT").arg("LIST").query_async(&mut connection).await.unwrap();
    let others = all.lines().filter(|line| line.contains(" db=9 ") && !line.contains("cmd=xreadgroup"));
    for id in others.filter_map(|line| line.strip_prefix("id=")?.split(' ').next()?.parse::<u64>().ok()) {
        if id != mine {
            redis::cmd("CLIENT").arg("KILL").arg("ID").arg(id).exec_async(&mut connection).await.unwrap();
        }
    }
    first.finish().await.unwrap();
    next(&consumer).await.finish().await.unwrap();
    assert_eq!(fresh.pending().await, 0);
}

/// Its connections end with the user.
async fn user_taken_away(fresh: Fresh) {
    let mut admin = fresh.connection().await;
    let mut give = redis::cmd("ACL");
    give.arg("SETUSER").arg(&fresh.stream).arg("on").arg(">hunter2").arg("~*").arg("+@all");
    give.exec_async(&mut admin).await.unwrap();
    let place = fresh.place.clone().with_login(Some(&fresh.stream), "hunter2");
    let consumer = RedisStreamsConsumer::new(place, &fresh.stream, "shipping", "one");
    fresh.publish(1).await;
    let held = next(&consumer).await;
    redis::cmd("ACL").arg("DELUSER").arg(&fresh.stream).exec_async(&mut admin).await.unwrap();
    assert!(held.finish().await.is_err(), "nobody may say so");
    assert!(consumer.next().await.is_err(), "its connection has ended");
    let refused = consumer.next().await.unwrap_err();
    assert!(
        matches!(refused, ConsumeError::Refused(_)) && !refused.to_string().contains("hunter2"),
        "{refused}"
    );
    give.exec_async(&mut admin).await.unwrap();
    next(&consumer).await.finish().await.unwrap();
    assert_eq!(fresh.pending().await, 0);
    redis::cmd("ACL").arg("DELUSER").arg(&fresh.stream).exec_async(&mut admin).await.unwrap();
}
