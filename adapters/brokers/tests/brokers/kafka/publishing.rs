//! Promise: Kafka: what is confirmed is in its topic, the messages of a key in one partition in their order;
//! what the client repeats is stored once; too large a message and an unknown topic are refused

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use claimstream_brokers::kafka::{KafkaConfig, KafkaPublisher};
use claimstream_domain::{OrderingKey, Payload, Publication, Published};
use claimstream_ports::Publish;
use rdkafka::{
    Message,
    types::{RDKafkaApiKey, RDKafkaRespErr},
};

use super::cluster::{BROKERS, Cluster, TOPIC, header, id_and_body};
use crate::load::{Findings, Load, numbered, publication};

pub(super) async fn what_is_confirmed_is_in_its_topic_with_its_properties() {
    let cluster = Cluster::start();
    let mut sent = publication(TOPIC, "");
    sent.body = Payload::json(r#"{"total":12}"#);
    sent.key = OrderingKey::new("customer/7").ok();
    sent.attributes = vec![("source".into(), "/shop".into()), ("type".into(), "order.placed".into())];
    sent.headers.insert("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").unwrap();
    assert_eq!(cluster.publisher().publish(std::slice::from_ref(&sent)).await, [Published::Confirmed]);

    let came = cluster.read(1);
    assert_eq!(came.len(), 1);
    assert_eq!(id_and_body(&came[0]), (sent.id.to_string(), sent.body.bytes().to_vec()));
    assert_eq!(came[0].key(), Some(&b"customer/7"[..]));
    assert_eq!(header(&came[0], "ce_source"), "/shop");
    assert_eq!(header(&came[0], "ce_type"), "order.placed");
    assert_eq!(header(&came[0], "content-type"), "application/json");
    assert_eq!(header(&came[0], "traceparent"), sent.headers.get("traceparent").unwrap());
}

pub(super) async fn messages_of_a_key_are_in_one_partition_in_their_order() {
    let cluster = Cluster::start();
    let sent: Vec<_> = (0..300).map(|number| numbered(TOPIC, number)).collect();
    let answers = cluster.publisher().publish(&sent).await;
    assert!(answers.iter().all(|answer| *answer == Published::Confirmed), "{answers:?}");
    let read = cluster.read(sent.len());
    let mut partitions = BTreeMap::new();
    for message in &read {
        let known = partitions.entry(message.key().unwrap().to_vec()).or_insert(message.partition());
        assert_eq!(*known, message.partition());
    }
    let read: Vec<_> = read.iter().map(id_and_body).collect();
    let findings = Findings::of(&sent, &read);
    assert_eq!((findings.lost, findings.repeated, findings.out_of_order), (0, 0, 0));
}

/// Guard: a record that shared a refused request is sent again alone | src/kafka/publisher.rs `send`: no
/// second try
pub(super) async fn what_is_too_large_is_refused_and_the_others_are_confirmed() {
    let cluster = Cluster::start();
    let batch: Vec<_> =
        (0..20).map(|n| publication(TOPIC, vec![b'x'; if n == 7 { 1_000_001 } else { 10 }])).collect();
    for (n, answer) in cluster.publisher().publish(&batch).await.iter().enumerate() {
        match answer {
            Published::Refused(why) => {
                assert!(n == 7 && why.as_str().contains("message.max.bytes"), "{n}: {why}")
            }
            answer => assert!(n != 7 && *answer == Published::Confirmed, "{n}: {answer:?}"),
        }
    }
    // A cluster that takes less than the client says so of all records that were sent together.
    let place = cluster.place().with_setting("linger.ms", "20");
    let publisher = KafkaPublisher::new(place);
    cluster.0.request_errors(RDKafkaApiKey::Produce, &[RDKafkaRespErr::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE]);
    let key = OrderingKey::new("one partition").ok();
    let batch: Vec<_> = (0..5)
        .map(|_| Publication { key: None, ..publication(TOPIC, "small") })
        .chain([Publication { key, ..publication(TOPIC, "x") }])
        .collect();
    let answers = publisher.publish(&batch).await;
    assert!(answers.iter().all(|answer| *answer == Published::Confirmed), "{answers:?}");
}

pub(super) async fn a_topic_that_is_not_there_or_is_none_is_refused() {
    let cluster = Cluster::start();
    let unknown = RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    cluster.0.topic_error("missing", unknown).unwrap();
    let publisher = KafkaPublisher::new(cluster.place().with_timeout(Duration::from_secs(4)));
    let batch = [publication("missing", "x"), publication("not/one", "x"), publication(TOPIC, "x")];
    let answers = publisher.publish(&batch).await;
    assert!(
        matches!(&answers[0], Published::Unavailable(why) if why.as_str().contains("no topic \"missing\"")),
        "{answers:?}"
    );
    assert!(
        matches!(&answers[1], Published::Refused(why) if why.as_str().contains("is no topic")),
        "{answers:?}"
    );
    assert_eq!(answers[2], Published::Confirmed);
}

pub(super) async fn brokers_that_go_and_come_back_under_load_lose_nothing() {
    let cluster = Cluster::start();
    let publisher = KafkaPublisher::new(cluster.place().with_timeout(Duration::from_millis(1500)));
    let mut load = Load::on(&publisher, TOPIC, 100);
    let ended = AtomicBool::new(false);
    let publish = async {
        while !ended.load(Ordering::Relaxed) {
            load.call().await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::timeout(Duration::from_secs(60), load.finish())
            .await
            .expect("the cluster takes records again");
        load
    };
    let away = async {
        for round in 0..3 {
            tokio::time::sleep(Duration::from_millis(500)).await;
            // One broker for a moment, and all of them for longer than a call waits.
            let (brokers, pause) =
                if round == 1 { (1..=BROKERS, 3000) } else { (round + 1..=round + 1, 700) };
            brokers.clone().for_each(|broker| cluster.0.broker_down(broker).unwrap());
            tokio::time::sleep(Duration::from_millis(pause)).await;
            brokers.for_each(|broker| cluster.0.broker_up(broker).unwrap());
        }
        ended.store(true, Ordering::Relaxed);
    };
    let (load, ()) = tokio::join!(publish, away);
    let read: Vec<_> = cluster.read(load.published.len()).iter().map(id_and_body).collect();
    let findings = Findings::of(&load.published, &read);
    eprintln!(
        "kafka, brokers away three times: {} confirmed, {} sent again, {findings}",
        load.published.len(),
        load.unconfirmed
    );
    assert!(load.unconfirmed > 0, "no call noticed that the brokers were away");
    assert_eq!((findings.lost, findings.out_of_order), (0, 0));
}

pub(super) async fn answers_that_get_lost_store_nothing_twice() {
    let cluster = Cluster::start();
    let errors = [
        RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
        RDKafkaRespErr::RD_KAFKA_RESP_ERR__TRANSPORT,
        RDKafkaRespErr::RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
    ];
    cluster.0.request_errors(RDKafkaApiKey::Produce, &errors);
    let sent: Vec<_> = (0..200).map(|number| numbered(TOPIC, number)).collect();
    let answers = cluster.publisher().publish(&sent).await;
    assert!(answers.iter().all(|answer| *answer == Published::Confirmed), "{answers:?}");
    let read: Vec<_> = cluster.read(sent.len()).iter().map(id_and_body).collect();
    let findings = Findings::of(&sent, &read);
    assert_eq!((findings.lost, findings.repeated, findings.out_of_order), (0, 0, 0));
}

pub(super) async fn a_cluster_that_is_away_leaves_everything_unconfirmed() {
    let place = KafkaConfig::new("kafka://127.0.0.1:1").unwrap().with_timeout(Duration::from_millis(500));
    let publisher = KafkaPublisher::new(place.with_setting("sasl.password", "hunter2"));
    let answers = publisher.publish(&[publication(TOPIC, "x"), numbered(TOPIC, 1), numbered(TOPIC, 1)]).await;
    assert_eq!(answers.len(), 3);
    for answer in &answers {
        let (Published::Unconfirmed(why) | Published::Unsent(why)) = answer else { panic!("{answer:?}") };
        assert!(!why.as_str().contains("hunter2"), "{answer:?}");
    }
}
