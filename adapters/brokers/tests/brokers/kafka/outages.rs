//! Promise: Kafka: a topic that is unknown for a moment is not refused, and a new one accepts records at
//! once; after an outage records flow again within seconds; transient errors lose nothing; a program ends
//! although its member cannot leave

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use claimstream_brokers::kafka::{KafkaConsumer, KafkaPublisher};
use claimstream_domain::{Publication, Published};
use claimstream_ports::{Consume, Publish};
use rdkafka::types::{RDKafkaApiKey as Request, RDKafkaRespErr as Answer};
use tokio::{
    sync::oneshot,
    time::{sleep, timeout},
};

use super::cluster::{BROKERS, Cluster, PARTITIONS, TOPIC};
use crate::load::{Findings, Load, numbered, publication};

const UNKNOWN: Answer = Answer::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
const SHORT: Duration = Duration::from_secs(1);
/// After so long nothing more comes, also on a busy machine.
const QUIET: Duration = Duration::from_secs(60);

async fn publish(publisher: &KafkaPublisher, publication: Publication) -> Published {
    publisher.publish(&[publication]).await.remove(0)
}

/// The answer to a publication that is certain; a busy machine may need longer than a call.
async fn certainly(publisher: &KafkaPublisher, publication: Publication) -> Published {
    let began = Instant::now();
    loop {
        let answer = publish(publisher, publication.clone()).await;
        if !matches!(answer, Published::Unconfirmed(_)) || began.elapsed() > QUIET {
            return answer;
        }
    }
}

/// The next record; a pause after each error, as a loop makes one that logs it.
async fn given(member: &KafkaConsumer) -> (String, Vec<u8>) {
    let mut pause = Duration::from_millis(50);
    loop {
        match member.next().await {
            Ok(delivery) => {
                let record = (delivery.received.id.clone(), delivery.received.body.bytes().to_vec());
                // Its partition may have gone meanwhile; then it comes again.
                let _ = delivery.finish().await;
                return record;
            }
            Err(_) => sleep(pause).await,
        }
        pause = (pause * 2).min(Duration::from_secs(5));
    }
}

/// Guard: errors that a client recorded in an outage are one error | src/kafka/consumer.rs: no `receive`, and
/// no `RECONNECT_MS` in place.rs
pub(super) async fn after_an_outage_records_flow_again_within_seconds() {
    let cluster = Cluster::start();
    let (publisher, member) = (cluster.publisher(), cluster.member());
    assert_eq!(certainly(&publisher, numbered(TOPIC, 0)).await, Published::Confirmed);
    given(&member).await;
    let mut seen = Vec::new();
    // A busy machine may be late once or twice.
    for _ in 0..3 {
        let (sent, read) = outage(&cluster, &publisher, &member).await;
        eprintln!("kafka, away for 6 s: a record was confirmed {sent:?} later, and read {read:?} later");
        if sent < Duration::from_secs(4) && read < Duration::from_secs(9) {
            return;
        }
        seen.push((sent, read));
    }
    panic!("{seen:?}");
}

/// How long behind an outage a record is confirmed and read.
async fn outage(
    cluster: &Cluster,
    publisher: &KafkaPublisher,
    member: &KafkaConsumer,
) -> (Duration, Duration) {
    (1..=BROKERS).for_each(|broker| cluster.0.broker_down(broker).unwrap());
    let outage = async {
        sleep(Duration::from_secs(6)).await;
        (1..=BROKERS).for_each(|broker| cluster.0.broker_up(broker).unwrap());
        Instant::now()
    };
    let sending = async {
        while publish(publisher, numbered(TOPIC, 1)).await != Published::Confirmed {
            sleep(SHORT).await;
        }
        Instant::now()
    };
    let reading = async {
        given(member).await;
        Instant::now()
    };
    let (back, sent, read) = tokio::join!(outage, sending, reading);
    (sent.duration_since(back), read.duration_since(back))
}

/// Guard: a topic is missing only when the cluster reports it missing for a while | src/kafka/publisher.rs
/// `sent_later`: an unknown topic is `Refused`
pub(super) async fn a_topic_that_brokers_do_not_know_for_a_moment_is_not_refused() {
    let cluster = Cluster::start();
    let publisher = KafkaPublisher::new(cluster.place().with_timeout(SHORT));
    assert_eq!(certainly(&publisher, publication(TOPIC, "x")).await, Published::Confirmed);
    // The client doubts what it hears of a topic that it has met just now.
    sleep(SHORT).await;
    let moved = [Answer::RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION; 2];
    let mut load = Load::on(&publisher, TOPIC, 20);
    for _ in 0..3 {
        cluster.0.topic_error(TOPIC, UNKNOWN).unwrap();
        cluster.0.request_errors(Request::Produce, &moved);
        // It panics if one is refused.
        tokio::join!(load.call(), async {
            sleep(SHORT / 4).await;
            cluster.0.topic_error(TOPIC, Answer::RD_KAFKA_RESP_ERR_NO_ERROR).unwrap();
        });
        load.call().await;
        sleep(SHORT).await;
    }
    timeout(SHORT * 10, load.finish()).await.expect("they are confirmed");
}

pub(super) async fn a_topic_that_is_made_after_it_was_missing_takes_records() {
    let cluster = Cluster::start();
    let publisher = KafkaPublisher::new(cluster.place().with_timeout(SHORT));
    cluster.0.topic_error("later", UNKNOWN).unwrap();
    let absent = certainly(&publisher, publication("later", "x")).await;
    assert!(matches!(&absent, Published::Unavailable(why) if why.as_str().contains("no topic \"later\"")));
    cluster.0.topic_error("later", Answer::RD_KAFKA_RESP_ERR_NO_ERROR).unwrap();
    assert_eq!(certainly(&publisher, publication("later", "x")).await, Published::Confirmed);
    // A right that was given is noticed as well.
    cluster.0.request_errors(Request::Produce, &[Answer::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED; 2]);
    let unconfirmed = publish(&publisher, publication(TOPIC, "x")).await;
    assert!(
        matches!(&unconfirmed, Published::Unconfirmed(why) if why.as_str().contains("TopicAuthorizationFailed")),
        "{unconfirmed:?}"
    );
    assert_eq!(certainly(&publisher, publication(TOPIC, "x")).await, Published::Confirmed);
}

pub(super) async fn many_missing_topics_take_as_long_as_one() {
    let cluster = Cluster::start();
    let publisher = KafkaPublisher::new(cluster.place().with_timeout(SHORT));
    let topics: Vec<String> = (0..30).map(|number| format!("missing-{number}")).collect();
    topics.iter().for_each(|topic| cluster.0.topic_error(topic, UNKNOWN).unwrap());
    let all: Vec<Publication> = topics.iter().map(|topic| publication(topic, "x")).collect();
    let begun = Instant::now();
    let answers = publisher.publish(&all).await;
    assert!(answers.iter().all(|answer| matches!(answer, Published::Unavailable(_))), "{answers:?}");
    assert!(begun.elapsed() < SHORT * 10, "{:?}", begun.elapsed());
}

pub(super) async fn a_record_that_its_topic_never_takes_is_refused_and_the_others_are_confirmed() {
    let cluster = Cluster::start();
    let publisher = KafkaPublisher::new(cluster.place().with_setting("linger.ms", "20"));
    let invalid = Answer::RD_KAFKA_RESP_ERR_INVALID_RECORD;
    cluster.0.request_errors(Request::Produce, &[invalid]);
    let refused = publish(&publisher, publication(TOPIC, "x")).await;
    assert!(matches!(&refused, Published::Refused(why) if why.as_str().contains("needs a key")));
    cluster.0.request_errors(Request::Produce, &[invalid]);
    let batch = [0; 5].map(|_| publication(TOPIC, "x"));
    let answers = publisher.publish(&batch).await;
    assert!(answers.iter().all(|answer| *answer == Published::Confirmed), "{answers:?}");
}

pub(super) async fn what_a_cluster_says_for_a_moment_loses_nothing_on_the_way_to_a_member() {
    let cluster = Cluster::start();
    let (publisher, member) = (cluster.publisher(), cluster.member());
    let mut load = Load::on(&publisher, TOPIC, 100);
    let (sent, done) = (AtomicUsize::new(usize::MAX), AtomicBool::new(false));
    let publish = async {
        while !done.load(Ordering::Relaxed) {
            load.call().await;
            sleep(Duration::from_millis(20)).await;
        }
        timeout(Duration::from_secs(30), load.finish()).await.expect("all is confirmed");
        sent.store(load.published.len(), Ordering::Relaxed);
        load
    };
    let read = async {
        let (mut read, mut ids, mut last) = (Vec::new(), BTreeSet::new(), Instant::now());
        while ids.len() < sent.load(Ordering::Relaxed) && last.elapsed() < QUIET {
            if let Ok(record) = timeout(SHORT, given(&member)).await {
                ids.insert(record.0.clone());
                read.push(record);
                last = Instant::now();
            }
        }
        read
    };
    let mishaps = async {
        for (round, (request, answer)) in PASSING.into_iter().enumerate() {
            cluster.0.request_errors(request, &[answer]);
            for partition in 0..PARTITIONS {
                let leader = (round as i32 + partition) % BROKERS + 1;
                cluster.0.partition_leader(TOPIC, partition, Some(leader)).unwrap();
            }
            sleep(Duration::from_millis(300)).await;
        }
        done.store(true, Ordering::Relaxed);
    };
    let (load, read, ()) = tokio::join!(publish, read, mishaps);
    let findings = Findings::of(&load.published, &read);
    eprintln!("kafka, {} errors and moves: {} published, {findings}", PASSING.len(), load.published.len());
    assert_eq!((findings.lost, findings.out_of_order), (0, 0));
}

const PASSING: [(Request, Answer); 10] = [
    (Request::Produce, Answer::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND),
    (Request::Produce, Answer::RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID),
    (Request::Produce, Answer::RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER),
    (Request::Produce, Answer::RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH),
    (Request::Produce, Answer::RD_KAFKA_RESP_ERR__TRANSPORT),
    (Request::Fetch, Answer::RD_KAFKA_RESP_ERR__TRANSPORT),
    (Request::Fetch, UNKNOWN),
    (Request::OffsetCommit, Answer::RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION),
    (Request::OffsetCommit, Answer::RD_KAFKA_RESP_ERR__TRANSPORT),
    (Request::Heartbeat, Answer::RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID),
];

/// Guard: a program does not wait for a group member that cannot leave | src/kafka/consumer.rs `leave`: the
/// consumer is dropped in `spawn_blocking`
pub(super) async fn a_program_ends_although_its_member_cannot_leave() {
    let (begin, begun) = oneshot::channel();
    let (end, ended) = oneshot::channel();
    std::thread::spawn(move || {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let cluster = Cluster::start();
            // With the session of librdkafka, 45 s.
            let member = KafkaConsumer::new(cluster.place(), TOPIC, "shipping");
            assert_eq!(publish(&cluster.publisher(), numbered(TOPIC, 0)).await, Published::Confirmed);
            given(&member).await;
            drop((cluster, member));
            let _ = begin.send(Instant::now());
        });
        drop(runtime);
        let _ = end.send(());
    });
    let begun = begun.await.unwrap();
    timeout(SHORT * 30, ended).await.expect("the program ends").unwrap();
    eprintln!("kafka: a program whose member could not leave ended after {:?}", begun.elapsed());
}
