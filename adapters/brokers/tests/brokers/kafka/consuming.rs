//! Promise: Kafka to the inbox: nothing beyond a message in hand is committed, what is dropped comes again
//! before newer messages, and a member that has lost a partition ends nothing there

use std::{collections::BTreeSet, time::Duration};

use claimstream_brokers::kafka::{KafkaConfig, KafkaConsumer, KafkaPublisher};
use claimstream_domain::{HoldLimit, Payload, Publication, Published};
use claimstream_ports::{Consume, ConsumeError, Delivery, Extended, Publish};
use claimstream_testbed::eventually;
use rdkafka::types::RDKafkaRespErr;
use tokio::time::timeout;

use super::cluster::{Cluster, PARTITIONS, TOPIC};
use crate::{
    contract,
    load::{numbered, publication},
};

/// How long a group may take to give a member its partitions.
const JOINED: Duration = Duration::from_secs(60);

impl Cluster {
    /// The mock cluster waits for a whole session before it gives the partitions of a member that left to another.
    pub(super) fn member(&self) -> KafkaConsumer {
        let place = self.place().with_setting("session.timeout.ms", "6000");
        KafkaConsumer::new(place.with_setting("heartbeat.interval.ms", "500"), TOPIC, "shipping")
    }

    async fn publish(&self, publications: &[Publication]) {
        let publisher = KafkaPublisher::new(self.place().with_timeout(JOINED));
        let answers = publisher.publish(publications).await;
        assert!(answers.iter().all(|answer| *answer == Published::Confirmed), "{answers:?}");
    }
}

async fn given(member: &KafkaConsumer) -> Delivery {
    timeout(JOINED, member.next()).await.expect("a message").unwrap()
}

fn ids(publications: &[Publication]) -> BTreeSet<String> {
    publications.iter().map(|publication| publication.id.to_string()).collect()
}

pub(super) async fn everything_comes_in_its_order_with_its_properties() {
    let cluster = Cluster::start();
    let mut sent = numbered(TOPIC, 7);
    sent.body = Payload::json(r#"{"total":12}"#);
    sent.attributes = vec![("source".into(), "/shop".into()), ("type".into(), "order placed".into())];
    sent.headers.insert("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").unwrap();
    cluster.publish(std::slice::from_ref(&sent)).await;
    let member = cluster.member();
    let delivery = given(&member).await;
    let received = &delivery.received;
    assert_eq!((received.id.as_str(), received.place.as_str()), (sent.id.to_string().as_str(), TOPIC));
    assert_eq!((&received.key, &received.attributes), (&sent.key, &sent.attributes));
    assert_eq!((&received.headers, &received.body), (&sent.headers, &sent.body));
    delivery.finish().await.unwrap();

    let publisher = cluster.publisher();
    contract::order_holds(&publisher, &member, TOPIC).await;
    // A cluster does not count what is given away; the next member shows it.
    contract::unfinished_comes_again(&publisher, &member, TOPIC, || {}, async || 0).await;
    // All of it is done, and the next member of the group begins behind it.
    drop(member);
    let next = [publication(TOPIC, "next")];
    cluster.publish(&next).await;
    assert_eq!(given(&cluster.member()).await.received.id, next[0].id.to_string());
}

/// Guard: nothing beyond a message in hand is committed | src/kafka/progress.rs `finish`: the offset of the
/// record itself
pub(super) async fn what_is_not_finished_comes_again_and_holds_back_what_is_committed() {
    let cluster = Cluster::start();
    // All have one key, and are in one partition.
    let sent = [0, 50, 100].map(|number| numbered(TOPIC, number));
    cluster.publish(&sent).await;
    let member = cluster.member();
    let first = given(&member).await;
    let second = given(&member).await;
    second.finish().await.unwrap();
    let id = first.received.id.clone();
    drop(first);
    let again = given(&member).await;
    assert_eq!(again.received.id, id, "what was dropped comes before what is new");
    // A call that waits hears of it as well.
    let third = given(&member).await;
    let (waited, ()) = tokio::join!(timeout(JOINED, member.next()), async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        drop(again);
    });
    let again = waited.expect("it comes again").unwrap();
    assert_eq!(again.received.id, id);
    third.finish().await.unwrap();
    // The first was never finished, so that nothing was.
    drop((again, member));
    let member = cluster.member();
    let mut all = Vec::new();
    for _ in &sent {
        all.push(given(&member).await);
    }
    // They come again in their order, in whichever they are dropped.
    while let Some(last) = all.pop() {
        drop(last);
    }
    for expected in &sent {
        let delivery = given(&member).await;
        assert_eq!(delivery.received.id, expected.id.to_string());
        delivery.finish().await.unwrap();
    }
}

/// Guard: a group member that lost a partition ends nothing there | src/kafka/member.rs `pre_rebalance`:
/// nothing is forgotten
pub(super) async fn a_second_member_takes_partitions_over_and_the_first_ends_nothing_there() {
    let cluster = Cluster::start();
    let sent: Vec<_> = (0..200).map(|number| numbered(TOPIC, number)).collect();
    cluster.publish(&sent).await;
    let (one, other) = (cluster.member(), cluster.member());
    let mut held = Vec::new();
    for _ in &sent {
        held.push(given(&one).await);
    }
    // The first goes on asking, as a loop does, until the second has taken all that it is to have.
    let ask = async {
        let nothing_more = one.next().await;
        panic!("{nothing_more:?} came to the first member");
    };
    let take_over = async {
        let mut taken = vec![given(&other).await];
        while let Ok(delivery) = timeout(Duration::from_secs(5), other.next()).await {
            taken.push(delivery.unwrap());
        }
        taken
    };
    let taken = tokio::select! {
        taken = take_over => taken,
        () = ask => unreachable!(),
    };
    let taken_over: BTreeSet<_> = taken.iter().map(|delivery| delivery.received.id.clone()).collect();
    eprintln!(
        "kafka: {} of {} messages went to a second member of {PARTITIONS} partitions",
        taken.len(),
        sent.len()
    );
    assert!(!taken_over.is_empty() && taken_over.len() < sent.len());
    for delivery in taken {
        delivery.finish().await.unwrap();
    }
    // The first has all partitions again, which makes none of what it held there its own.
    drop(other);
    let more: Vec<_> = (200..250).map(|number| numbered(TOPIC, number)).collect();
    cluster.publish(&more).await;
    let mut came = BTreeSet::new();
    while came.len() < more.len() {
        let delivery = given(&one).await;
        came.insert(delivery.received.id.clone());
        delivery.finish().await.unwrap();
    }
    assert_eq!(came, ids(&more));
    for delivery in held {
        let (id, finished) = (delivery.received.id.clone(), delivery.finish().await);
        assert_eq!(finished.is_err(), taken_over.contains(&id), "{finished:?}");
    }
    drop(one);
    let late = [publication(TOPIC, "late")];
    cluster.publish(&late).await;
    assert_eq!(given(&cluster.member()).await.received.id, late[0].id.to_string(), "nothing was set back");
}

/// Guard: extending asks the client for records, and loses none | src/kafka/consumer.rs `extend`: no `give_back`
pub(super) async fn a_record_in_hand_is_held_and_what_comes_meanwhile_is_handed_over_later() {
    let cluster = Cluster::start();
    let sent = [0, 50, 100].map(|number| numbered(TOPIC, number));
    cluster.publish(&sent).await;
    let member = cluster.member();
    let first = given(&member).await;
    assert_eq!(first.limit(), HoldLimit::Extendable(Duration::from_secs(300)));
    for _ in 0..5 {
        assert_eq!(first.extend().await, Ok(Extended::Held));
    }
    let id = first.received.id.clone();
    first.finish().await.unwrap();
    let mut came = vec![id];
    for _ in 0..2 {
        let next = given(&member).await;
        came.push(next.received.id.clone());
        next.finish().await.unwrap();
    }
    assert_eq!(came, sent.map(|publication| publication.id.to_string()));
    cluster.publish(&[numbered(TOPIC, 150)]).await;
    let last = given(&member).await;
    drop(member);
    // It leaves the group on a thread of its own.
    eventually("the hold is lost", async || last.extend().await == Ok(Extended::Lost)).await;
}

pub(super) async fn no_topic_is_refused_and_no_cluster_is_away() {
    let cluster = Cluster::start();
    let unknown = RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    cluster.0.topic_error("missing", unknown).unwrap();
    for topic in ["missing", "not/one"] {
        let member = KafkaConsumer::new(cluster.place(), topic, "shipping");
        let refused = timeout(JOINED, member.next()).await.expect("an answer").unwrap_err();
        assert!(
            matches!(&refused, ConsumeError::Refused(why) if why.as_str().contains(&format!("{topic:?}"))),
            "{refused}"
        );
    }
    let place = KafkaConfig::new("kafka://127.0.0.1:1").unwrap().with_setting("sasl.password", "hunter2");
    let member = KafkaConsumer::new(place, TOPIC, "shipping");
    let away = timeout(JOINED, member.next()).await.expect("an answer").unwrap_err();
    assert!(matches!(&away, ConsumeError::Away(why) if !why.as_str().contains("hunter2")), "{away}");
}

pub(super) async fn effects_happen_once_wherever_members_end() {
    let cluster = Cluster::start();
    let sent: Vec<_> = (0..120).map(|number| numbered(TOPIC, number)).collect();
    cluster.publish(&sent).await;
    let mut effects = BTreeSet::new();
    let mut repeats = 0;
    for round in 0.. {
        let member = cluster.member();
        // The last member has all the time it wants.
        let wait = if round < 3 { JOINED } else { Duration::from_secs(10) };
        for count in 0.. {
            let Ok(delivery) = timeout(wait, member.next()).await else { break };
            let delivery = delivery.unwrap();
            repeats += usize::from(!effects.insert(delivery.received.id.clone()));
            if round < 3 && count == 30 {
                // It ends after the effect, without an acknowledgement.
                std::mem::forget(delivery);
                break;
            }
            delivery.finish().await.unwrap();
        }
        if round == 3 {
            break;
        }
    }
    eprintln!("kafka: three members ended early, {repeats} messages came again");
    assert_eq!(effects, ids(&sent));
    // A member that ends tells the cluster what it has finished, for four seconds at most, in which a busy machine may not come to it: one of them may
    // leave 31 to come again. Three would be 93.
    assert!((3..=41).contains(&repeats), "{repeats} came again, and three had not been finished");
}
