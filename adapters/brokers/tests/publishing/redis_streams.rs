//! Promise: Redis Streams: a message that is too large, or for a key that the user may not write, holds up
//! its own ordering key alone, and the other messages of the call are added once

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use claimstream_brokers::redis_streams::{RedisStreamsConfig, RedisStreamsPublisher};
use claimstream_domain::Published;
use claimstream_ports::{Publish, mock::HandTimer};
use claimstream_testbed::{PrivateBroker, known_broker};
use redis::aio::MultiplexedConnection;

use crate::{
    load::{Entry, Load},
    publication::{absence, all_are_confirmed, doubt, fresh, heavy, obstacle, publication, refusal},
};

const REDIS: &str = "redis-streams";

/// A publisher whose time stands still.
fn publisher(url: &str) -> RedisStreamsPublisher {
    let timer = Arc::new(HandTimer::default());
    RedisStreamsPublisher::new(RedisStreamsConfig::new(url).unwrap().with_timer(timer))
}

async fn connection(url: &str) -> MultiplexedConnection {
    let config = redis::AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
    redis::Client::open(url).unwrap().get_multiplexed_async_connection_with_config(&config).await.unwrap()
}

/// The fields of everything that a stream holds, in its order.
async fn entries(connection: &mut MultiplexedConnection, stream: &str) -> Vec<HashMap<String, String>> {
    let mut range = redis::cmd("XRANGE");
    let range = range.arg(stream).arg("-").arg("+");
    let all: Vec<(String, Vec<String>)> = range.query_async(connection).await.unwrap();
    let fields =
        |fields: Vec<String>| fields.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
    all.into_iter().map(|(_, all)| fields(all)).collect()
}

async fn held(connection: &mut MultiplexedConnection, stream: &str) -> Vec<Entry> {
    let entries = entries(connection, stream).await.into_iter();
    entries.map(|fields| (fields["id"].clone(), fields["key"].clone())).collect()
}

#[tokio::test]
async fn a_message_is_confirmed_when_it_is_in_its_stream() {
    let Some(url) = known_broker(REDIS, "publishing to Redis Streams") else { return };
    let (mut connection, stream) = (connection(&url).await, fresh("test"));
    let batch: Vec<_> = (0..250).map(|number| publication(&stream, Some("account-7"), number)).collect();
    let redis = publisher(&url);
    assert_eq!(redis.reach().await, Ok(()));
    assert!(all_are_confirmed(&redis.publish(&batch).await));
    let entries = entries(&mut connection, &stream).await;
    assert_eq!(entries.len(), 250);
    let expected = [
        ("id", batch[0].id.to_string()),
        ("key", "account-7".to_owned()),
        ("content-type", "application/json".to_owned()),
        ("data", "{\"number\":0}".to_owned()),
        ("ce-type", "order paid".to_owned()),
        ("header-region", "eu".to_owned()),
    ];
    assert_eq!(entries[0], expected.map(|(name, value)| (name.to_owned(), value)).into());
    let short = publisher(&url).keeping(100);
    for _ in 0..4 {
        assert!(all_are_confirmed(&short.publish(&batch).await));
    }
    let mut length = redis::cmd("XLEN");
    let length: usize = length.arg(&stream).query_async(&mut connection).await.unwrap();
    assert!(length < 350, "{length}");
}

#[tokio::test]
async fn what_can_never_be_added_is_refused_and_the_others_are_not() {
    let Some(broker) = PrivateBroker::start_if_known(REDIS, "refusals of Redis Streams") else { return };
    let mut connection = connection(broker.url()).await;
    let (stream, text) = (fresh("test"), fresh("text"));
    redis::cmd("SET").arg(&text).arg("1").exec_async(&mut connection).await.unwrap();
    let limit = redis::cmd("CONFIG").arg("SET").arg("proto-max-bulk-len").arg("1mb").to_owned();
    limit.exec_async(&mut connection).await.unwrap();
    let batch = [
        heavy(&stream, 100),
        publication(&text, None, 1),
        heavy(&stream, 1_100_000),
        heavy(&stream, 1_000_000),
    ];
    let redis = publisher(broker.url());
    let answers = redis.publish(&batch).await;
    assert!(all_are_confirmed(&[answers[0].clone(), answers[3].clone()]), "{answers:?}");
    assert!(absence(&answers[1]).contains("something else than a stream"), "{answers:?}");
    assert!(refusal(&answers[2]).contains("more than the 1048576 bytes"), "{answers:?}");
    // A server without memory takes none of a call.
    let full = redis::cmd("CONFIG").arg("SET").arg("maxmemory").arg("1").to_owned();
    full.exec_async(&mut connection).await.unwrap();
    let answers = redis.publish(&batch[..1]).await;
    assert!(doubt(&answers[0]).contains("OOM"), "{answers:?}");
}

/// Redis carries out nothing of a transaction with a command that it does not even take in.
/// Guard: a call of which Redis rejects one message is sent one by one | src/redis_streams/publisher.rs
/// `add`: no arm for `ABORTED`
#[tokio::test]
async fn a_message_for_a_key_that_the_user_may_not_write_holds_up_its_own_key_alone() {
    let Some(broker) = PrivateBroker::start_if_known(REDIS, "rights of Redis Streams") else { return };
    let mut connection = connection(broker.url()).await;
    let (stream, other) = (fresh("test"), fresh("other"));
    let redis = publisher(&user_of_trials(&mut connection, broker.url()).await);
    let batch = [
        publication(&stream, Some("a"), 0),
        publication(&other, Some("b"), 1),
        publication(&stream, Some("b"), 2),
        publication(&stream, Some("a"), 3),
        publication(&stream, None, 4),
    ];
    let answers = redis.publish(&batch).await;
    assert!(doubt(&answers[1]).contains("no permissions"), "{answers:?}");
    assert!(obstacle(&answers[2]).contains("an earlier message of its ordering key"), "{answers:?}");
    let others = [0, 3, 4].map(|at: usize| answers[at].clone());
    assert!(all_are_confirmed(&others), "{answers:?}");
    let held: Vec<_> = entries(&mut connection, &stream).await.iter().map(|it| it["id"].clone()).collect();
    assert_eq!(held, [0, 3, 4].map(|at: usize| batch[at].id.to_string()), "once each, in their order");
}

/// Redis ends the connection over a value that is too large, so the others of the call get no answer either.
/// Guard: after a call that broke its connection, the next is sent one by one |
/// src/redis_streams/publisher.rs `suspect`: notes nothing
#[tokio::test]
async fn a_message_over_an_unknown_limit_is_alone_not_confirmed() {
    let Some(broker) = PrivateBroker::start_if_known(REDIS, "limits of Redis Streams") else { return };
    let mut connection = connection(broker.url()).await;
    let stream = fresh("test");
    let set = |bytes: &str| redis::cmd("CONFIG").arg("SET").arg("proto-max-bulk-len").arg(bytes).to_owned();
    let batch = || {
        [publication(&stream, Some("a"), 0), heavy(&stream, 1_100_000), publication(&stream, Some("a"), 2)]
    };
    let mut expected = Vec::new();
    // The limit is lowered after the publisher has asked for it, and then one that may not ask meets it.
    let may_ask = publisher(broker.url());
    assert_eq!(may_ask.reach().await, Ok(()));
    set("1mb").exec_async(&mut connection).await.unwrap();
    let may_not = publisher(&user_of_trials(&mut connection, broker.url()).await);
    for (redis, knows_why) in [(may_ask, true), (may_not, false)] {
        let batch = batch();
        let mut answers = redis.publish(&batch).await;
        for _ in 0..3 {
            if !all_are_confirmed(&[answers[0].clone(), answers[2].clone()]) {
                answers = redis.publish(&batch).await;
            }
        }
        assert!(all_are_confirmed(&[answers[0].clone(), answers[2].clone()]), "{answers:?}");
        match &answers[1] {
            Published::Refused(why) => assert!(why.as_str().contains("the server takes"), "{why:?}"),
            other => assert!(!knows_why && matches!(other, Published::Unconfirmed(_)), "{other:?}"),
        }
        expected.extend([batch[0].id.to_string(), batch[2].id.to_string()]);
        let more = [publication(&stream, Some("a"), 4)];
        assert!(all_are_confirmed(&redis.publish(&more).await));
        expected.push(more[0].id.to_string());
    }
    let held: Vec<_> = entries(&mut connection, &stream).await.iter().map(|it| it["id"].clone()).collect();
    assert_eq!(held, expected, "once each, in their order");
}

/// Guard: a message over which the connection ended is sent on a connection of its own, also if it was alone |
/// src/redis_streams/publisher.rs `add`: suspects only messages of calls of several
#[tokio::test]
async fn a_message_over_a_limit_that_is_alone_in_its_calls_ends_the_connection_of_others_once() {
    let Some(broker) = PrivateBroker::start_if_known(REDIS, "lone messages over limits of Redis") else {
        return;
    };
    let mut connection = connection(broker.url()).await;
    let limit = redis::cmd("CONFIG").arg("SET").arg("proto-max-bulk-len").arg("1mb").to_owned();
    limit.exec_async(&mut connection).await.unwrap();
    let redis = publisher(&user_of_trials(&mut connection, broker.url()).await);
    let heavy = [heavy(&fresh("test"), 1_100_000)];
    assert!(!doubt(&redis.publish(&heavy).await[0]).is_empty());
    let mut common = None;
    for number in 0..2 {
        assert!(all_are_confirmed(&redis.publish(&[publication(&fresh("test"), None, number)]).await));
        let answers = redis.publish(&heavy).await;
        let oldest = oldest_of_app(&mut connection).await.expect("the connection of all calls has ended");
        assert_eq!(*common.get_or_insert(oldest), oldest, "the connection of all calls has ended");
        // The answer may be lost with the connection.
        if let Published::Refused(why) = &answers[0] {
            assert!(why.as_str().contains("the server takes"), "{why:?}");
            return;
        }
    }
}

/// The connection of the user of tests that was made first.
async fn oldest_of_app(connection: &mut MultiplexedConnection) -> Option<u64> {
    let all: String = redis::cmd("CLIENT").arg("LIST").query_async(connection).await.unwrap();
    let of_app = all.lines().filter(|line| line.contains(" user=app "));
    of_app.filter_map(|line| line.strip_prefix("id=")?.split(' ').next()?.parse().ok()).min()
}

/// The URL of a user who may write to streams of tests, and may not ask for settings.
async fn user_of_trials(connection: &mut MultiplexedConnection, url: &str) -> String {
    let mut user = redis::cmd("ACL");
    user.arg("SETUSER").arg("app").arg("on").arg(">secret").arg("~test*").arg("+@all").arg("-config");
    user.exec_async(connection).await.unwrap();
    url.replace("redis://", "redis://app:secret@")
}

/// The time of the publisher stands still, so it cannot have waited.
#[tokio::test]
async fn a_broker_that_is_not_there_confirms_nothing_and_takes_no_time() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let batch = [1, 2].map(|number| publication("orders", None, number));
    let answers = publisher(&format!("redis://:hunter2@127.0.0.1:{port}/0")).publish(&batch).await;
    for answer in &answers {
        assert!(
            obstacle(answer).starts_with(&format!("redis://127.0.0.1:{port}/0 cannot be reached")),
            "{answer:?}"
        );
    }
    assert_eq!(answers.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: kills"]
async fn kills_of_the_broker_lose_nothing_and_keep_the_order_of_keys() {
    let Some(broker) = PrivateBroker::start_if_known(REDIS, "kills of Redis Streams") else { return };
    let stream = fresh("test");
    let redis = RedisStreamsPublisher::new(RedisStreamsConfig::new(broker.url()).unwrap());
    let load = Load::of(&stream, 30_000, 200);
    let (kills, mut longest) = (6, Duration::ZERO);
    let killing = async {
        for kill in 1..=kills {
            load.confirmed(kill * 4_000).await;
            let killed = tokio::task::block_in_place(|| {
                broker.kill();
                let killed = Instant::now();
                broker.start_again();
                killed
            });
            load.confirmed(kill * 4_000 + 1_000).await;
            longest = longest.max(killed.elapsed());
        }
    };
    tokio::join!(load.publish(&redis), killing);
    let doubled = load.check(&held(&mut connection(broker.url()).await, &stream).await);
    println!(
        "Redis: {kills} kills, 30000 messages, 0 lost, {doubled} doubled, at most {longest:?} from a kill to 1000 more"
    );
}
