//! Consuming from Redis Streams; publishing has tests of its own.
//! Promise: Redis Streams: an entry of another program blocks no other and is never taken for another; a
//! trimmed entry is not pending for ever; an acknowledgement outlives its connection

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use claimstream_brokers::redis_streams::{RedisStreamsConfig, RedisStreamsConsumer, RedisStreamsPublisher};
use claimstream_domain::Published;
use claimstream_ports::{Consume, ConsumeError, Delivery, Extended, Publish, mock::HandTimer};
use claimstream_testbed::{eventually, known_broker};
use libtest_mimic::Trial;
use redis::{AsyncConnectionConfig, aio::MultiplexedConnection};

use crate::{contract, load::publication, test};

pub(crate) fn tests() -> Vec<Trial> {
    let Some(url) = known_broker("redis-streams", "consuming from Redis Streams") else { return Vec::new() };
    let [one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen] =
        [(); 13].map(|()| url.clone());
    vec![
        test("redis_streams::everything_that_was_published_comes", move || async move {
            let Fresh { publisher, consumer, stream, .. } = Fresh::at(&one);
            contract::everything_comes(&publisher, &consumer, &stream).await;
        }),
        test("redis_streams::what_is_not_finished_comes_again", move || async move {
            let fresh = Fresh::at(&two);
            let (time_passes, unfinished) = (|| fresh.timer.advance(IDLE), async || fresh.pending().await);
            let Fresh { publisher, consumer, stream, .. } = &fresh;
            contract::unfinished_comes_again(publisher, consumer, stream, time_passes, unfinished).await;
        }),
        test("redis_streams::messages_come_in_the_order_of_their_stream", move || async move {
            let Fresh { publisher, consumer, stream, .. } = Fresh::at(&three);
            contract::order_holds(&publisher, &consumer, &stream).await;
        }),
        test("redis_streams::another_member_takes_over_what_was_abandoned", move || async move {
            another_takes_over(Fresh::at(&four)).await;
        }),
        // Guard: a group member begins with what it had in hand | src/redis_streams/group.rs `begin`: `own`
        // is none
        test("redis_streams::a_member_that_comes_back_begins_with_what_it_had", move || async move {
            comes_back(Fresh::at(&five)).await;
        }),
        test("redis_streams::a_field_whose_name_is_no_text_holds_up_nothing", move || async move {
            no_text(Fresh::at(&six)).await;
        }),
        // Guard: a field `id` is the message's id only next to `data` | src/redis_streams/wire.rs `received`:
        // no `clear`
        test("redis_streams::a_field_of_another_sender_is_no_id_of_a_message", move || async move {
            another_sender(Fresh::at(&seven)).await;
        }),
        test("redis_streams::entries_that_were_trimmed_stay_pending_no_longer", move || async move {
            trimmed(Fresh::at(&eight)).await;
        }),
        test("redis_streams::a_user_who_is_taken_away_is_refused_until_given_back", move || async move {
            user_taken_away(Fresh::at(&ten)).await;
        }),
        // Guard: a read ends with its consumer | src/redis_streams/consumer.rs: no `drop`
        test(
            "redis_streams::a_member_that_was_dropped_takes_nothing_from_the_next_one",
            move || async move {
                // A database of its own, by which its connections are known.
                dropped_while_it_read(Fresh::at(&eleven.replace("/0", "/8"))).await;
            },
        ),
        // Guard: what was read ahead is held as long as the entry before it | src/redis_streams/consumer.rs `extend`: the own entry
        // alone
        test(
            "redis_streams::an_entry_in_hand_is_held_with_those_behind_it_until_another_has_it",
            move || async move {
                extended(Fresh::at(&twelve)).await;
            },
        ),
        // Guard: what waits behind short effects is held | src/redis_streams/consumer.rs `next`: no `hold_ahead`
        test("redis_streams::what_waits_behind_short_effects_is_held", move || async move {
            behind_short_effects(Fresh::at(&thirteen)).await;
        }),
        // Guard: an acknowledgement is repeated on a new connection when its own broke |
        // src/redis_streams/answering.rs `say`: no second try
        test("redis_streams::an_answer_outlives_its_connection", move || async move {
            // A database of its own, by which its connections are known.
            lost_answer(Fresh::at(&nine.replace("/0", "/9"))).await;
        }),
    ]
}

const IDLE: Duration = Duration::from_millis(500);

/// A stream of its own, and who publishes to it and consumes from it.
struct Fresh {
    url: String,
    timer: HandTimer,
    place: RedisStreamsConfig,
    publisher: RedisStreamsPublisher,
    consumer: RedisStreamsConsumer,
    stream: String,
}

impl Fresh {
    fn at(url: &str) -> Self {
        let stream = format!("test-{}", uuid::Uuid::now_v7());
        let timer = HandTimer::default();
        let place = RedisStreamsConfig::new(url).unwrap().with_timer(Arc::new(timer.clone()));
        let publisher = RedisStreamsPublisher::new(place.clone());
        let consumer = RedisStreamsConsumer::new(place.clone(), &stream, "shipping", "one").with_idle(IDLE);
        Self { url: url.to_owned(), timer, place, publisher, consumer, stream }
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
    // The server counts them as held for long enough.
    fresh.claim("one", &fresh.entries().await, IDLE).await;
    let other = fresh.member("two");
    for id in &ids {
        let delivery = next(&other).await;
        assert_eq!(delivery.received.id, *id);
        delivery.finish().await.unwrap();
    }
}

async fn extended(fresh: Fresh) {
    const HOUR: Duration = Duration::from_secs(3600);
    fresh.publish(3).await;
    let held = next(&fresh.consumer).await;
    let entries = fresh.entries().await;
    fresh.claim("one", &entries, HOUR).await;
    assert_eq!(held.extend().await, Ok(Extended::Held));
    let idle = fresh.idle().await;
    assert!(idle.len() == 3 && idle.iter().all(|idle| *idle < HOUR), "{idle:?}");
    fresh.claim("two", &entries[..2], HOUR).await;
    assert_eq!(held.extend().await, Ok(Extended::Lost));
    let last = next(&fresh.consumer).await;
    assert_eq!(last.received.body.bytes(), b"2", "the other member has the second, too");
    let mut finish = redis::cmd("XACK");
    finish.arg(&fresh.stream).arg("shipping").arg(&entries[0]);
    finish.exec_async(&mut fresh.connection().await).await.unwrap();
    let late = held.finish().await.unwrap_err();
    assert!(late.to_string().contains("another member has finished it"), "{late}");
    last.finish().await.unwrap();
}

/// No delivery is in hand for long enough to be extended.
async fn behind_short_effects(fresh: Fresh) {
    const HOUR: Duration = Duration::from_secs(3600);
    fresh.publish(4).await;
    next(&fresh.consumer).await.finish().await.unwrap();
    let entries = fresh.entries().await;
    fresh.claim("one", &entries[1..], HOUR).await;
    let second = next(&fresh.consumer).await;
    assert!(fresh.idle().await.iter().all(|idle| *idle >= HOUR), "it is too early");
    fresh.claim("two", &entries[2..3], HOUR).await;
    fresh.timer.advance(IDLE / 3);
    let last = next(&fresh.consumer).await;
    assert_eq!(last.received.body.bytes(), b"3", "the other member has the third");
    let idle = fresh.idle().await;
    assert!(idle[0] >= HOUR && idle[1] >= HOUR && idle[2] < HOUR, "{idle:?}");
    second.finish().await.unwrap();
    last.finish().await.unwrap();
}

async fn comes_back(fresh: Fresh) {
    let ids = fresh.publish(3).await;
    drop(fresh.consumer.next().await.unwrap());
    let later = fresh.publish(2).await;
    let again = fresh.member("one");
    for id in ids.iter().chain(&later) {
        let delivery = next(&again).await;
        assert_eq!(delivery.received.id, *id);
        delivery.finish().await.unwrap();
    }
}

/// The server gives an entry to the reading that has waited longest.
async fn dropped_while_it_read(fresh: Fresh) {
    let member = || fresh.member("three").with_idle(Duration::from_secs(60));
    let dropped = member();
    tokio::select! {
        delivery = dropped.next() => panic!("nothing is there: {delivery:?}"),
        () = eventually("the server has its call", async || !fresh.waiting().await.is_empty()) => {}
    }
    let before = fresh.waiting().await;
    drop(dropped);
    let next = member();
    let read = async {
        [self::next(&next).await, self::next(&next).await].map(|delivery| delivery.received.id.clone())
    };
    let publish = async {
        let is_new = async || fresh.waiting().await.difference(&before).next().is_some();
        eventually("the server has the call of the next member", is_new).await;
        fresh.publish(2).await
    };
    let (read, published) = tokio::join!(read, publish);
    assert_eq!(read.to_vec(), published);
}

impl Fresh {
    async fn connection(&self) -> MultiplexedConnection {
        let client = redis::Client::open(self.url.as_str()).unwrap();
        let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        client.get_multiplexed_async_connection_with_config(&config).await.unwrap()
    }

    /// The connections to this database on which the server holds a call until an entry comes.
    async fn waiting(&self) -> BTreeSet<String> {
        let all: String =
            redis::cmd("CLIENT").arg("LIST").query_async(&mut self.connection().await).await.unwrap();
        let held = all.lines().filter(|line| line.contains(" db=8 ") && line.contains(" flags=b "));
        held.filter_map(|line| line.split(' ').next().map(str::to_owned)).collect()
    }

    /// How many entries were given and not finished.
    /// The ids of all entries of the stream.
    async fn entries(&self) -> Vec<String> {
        let mut read = redis::cmd("XRANGE");
        read.arg(&self.stream).arg("-").arg("+");
        let entries: Vec<(String, Vec<String>)> =
            read.query_async(&mut self.connection().await).await.unwrap();
        entries.into_iter().map(|(entry, _)| entry).collect()
    }

    /// Has a member hold entries, as if it had done so for this time.
    async fn claim(&self, member: &str, entries: &[String], idle: Duration) {
        let mut claim = redis::cmd("XCLAIM");
        claim.arg(&self.stream).arg("shipping").arg(member).arg(0).arg(entries);
        claim.arg("IDLE").arg(idle.as_millis() as u64);
        claim.exec_async(&mut self.connection().await).await.unwrap();
    }

    /// For how long each entry has been held.
    async fn idle(&self) -> Vec<Duration> {
        let mut ask = redis::cmd("XPENDING");
        ask.arg(&self.stream).arg("shipping").arg("-").arg("+").arg(10);
        let held: Vec<(String, String, u64, u64)> =
            ask.query_async(&mut self.connection().await).await.unwrap();
        held.into_iter().map(|(_, _, idle, _)| Duration::from_millis(idle)).collect()
    }

    async fn pending(&self) -> u64 {
        let mut ask = redis::cmd("XPENDING");
        ask.arg(&self.stream).arg("shipping");
        let answer: Vec<redis::Value> = ask.query_async(&mut self.connection().await).await.unwrap();
        redis::from_redis_value(answer.into_iter().next().unwrap()).unwrap()
    }
}

async fn next(consumer: &RedisStreamsConsumer) -> Delivery {
    consumer.next().await.unwrap()
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
    assert_eq!(fresh.pending().await, 0, "no member can ever finish them");
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
    assert!(held.finish().await.is_err(), "the group does not know the member");
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
