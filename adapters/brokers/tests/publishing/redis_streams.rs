use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use claimstream_brokers::redis_streams::{RedisStreamsPlace, RedisStreamsPublisher};
use claimstream_ports::Publish;
use redis::aio::MultiplexedConnection;

use crate::{
    load::{Entry, Load},
    private_broker::{PrivateBroker, known_url},
    publication::{all_are_confirmed, doubt, fresh, heavy, publication, refusal},
    rate,
};

const REDIS: &str = "redis-streams";

fn publisher(url: &str) -> RedisStreamsPublisher {
    RedisStreamsPublisher::new(RedisStreamsPlace::new(url).unwrap())
}

async fn connection(url: &str) -> MultiplexedConnection {
    let config = redis::AsyncConnectionConfig::new().set_response_timeout(Some(Duration::from_secs(30)));
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
    let Some(url) = known_url(REDIS, "publishing to Redis Streams") else { return };
    let (mut connection, stream) = (connection(&url).await, fresh("trial"));
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
    let Some(broker) = PrivateBroker::start(REDIS, "refusals of Redis Streams") else { return };
    let mut connection = connection(broker.url()).await;
    let (stream, text) = (fresh("trial"), fresh("text"));
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
    assert!(refusal(&answers[1]).contains("something else than a stream"), "{answers:?}");
    assert!(refusal(&answers[2]).contains("more than the 1048576 bytes"), "{answers:?}");
    // A server without memory takes none of a call.
    let full = redis::cmd("CONFIG").arg("SET").arg("maxmemory").arg("1").to_owned();
    full.exec_async(&mut connection).await.unwrap();
    let answers = redis.publish(&batch[..1]).await;
    assert!(doubt(&answers[0]).contains("EXECABORT") || doubt(&answers[0]).contains("OOM"), "{answers:?}");
}

#[tokio::test]
async fn a_broker_that_is_not_there_confirms_nothing_and_takes_no_time() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let began = Instant::now();
    let batch = [1, 2].map(|number| publication("orders", None, number));
    let answers = publisher(&format!("redis://:hunter2@127.0.0.1:{port}/0")).publish(&batch).await;
    for answer in &answers {
        assert!(
            doubt(answer).starts_with(&format!("redis://127.0.0.1:{port}/0 cannot be reached")),
            "{answer:?}"
        );
    }
    assert!(began.elapsed() < Duration::from_secs(5) && answers.len() == 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn kills_of_the_broker_lose_nothing_and_keep_the_order_of_keys() {
    let Some(broker) = PrivateBroker::start(REDIS, "kills of Redis Streams") else { return };
    let (stream, redis) = (fresh("trial"), publisher(broker.url()));
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

/// What a client reaches that has nothing to do but to add: pipelines of the same size, one after another.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures; run it alone, with --release"]
async fn batches_reach_half_of_what_the_client_reaches_alone() {
    let Some(url) = known_url(REDIS, "the rate of Redis Streams") else { return };
    let (mut connection, stream, redis) = (connection(&url).await, fresh("trial"), publisher(&url));
    let mut best = (0.0_f64, 0.0_f64);
    for _ in 0..3 {
        let publications = rate::publications(&stream);
        best.0 = best.0.max(rate::of_adapter(&redis, &publications).await);
        let began = Instant::now();
        for batch in publications.chunks(rate::BATCH * 10) {
            let mut together = redis::Pipeline::with_capacity(batch.len());
            for publication in batch {
                together.cmd("XADD").arg(&stream).arg("*").arg("data").arg(publication.body.bytes());
            }
            together.query_async::<Vec<String>>(&mut connection).await.unwrap();
        }
        best.1 = best.1.max(rate::per_second(began.elapsed()));
    }
    rate::compare("Redis", best.0, best.1);
}
