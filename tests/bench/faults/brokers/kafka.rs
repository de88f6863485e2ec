//! Kafka as the mock cluster of librdkafka: three brokers in this process that speak its protocol and keep nothing on a disk.

use std::{sync::Arc, time::Duration};

use claimstream_brokers::kafka::{KafkaConfig, KafkaConsumer, KafkaPublisher};
use claimstream_ports::{Consume, Publish};
use rdkafka::{
    mocking::MockCluster,
    producer::DefaultProducerContext,
    types::{RDKafkaApiKey as Request, RDKafkaRespErr as Answer},
};

use super::fault::Mishap;
use crate::Failure;

/// Why this program cannot play with Kafka.
pub(super) const MISSING: Option<&str> = None;

const BROKERS: i32 = 3;
const PARTITIONS: i32 = 4;

/// So long the mock cluster keeps the partitions of a member that was killed.
const SESSION_MS: &str = "3000";
const HEARTBEAT_MS: &str = "500";

/// A mock cluster with one topic.
pub(super) struct MockKafka {
    cluster: MockCluster<'static, DefaultProducerContext>,
    topic: String,
    url: String,
}

impl MockKafka {
    /// How long one broker is away.
    const AWAY: Duration = Duration::from_secs(2);
    /// How long all of them are: longer than a relay waits for a confirmation.
    const ALL_AWAY: Duration = Duration::from_secs(6);
    /// How long answers take while they are to be lost.
    const SLOW: Duration = Duration::from_millis(800);

    pub(super) fn start(topic: &str) -> Result<Self, Failure> {
        let cluster = MockCluster::new(BROKERS)?;
        cluster.create_topic(topic, PARTITIONS, BROKERS)?;
        let url = format!("kafka://{}", cluster.bootstrap_servers());
        Ok(Self { cluster, topic: topic.to_owned(), url })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) async fn suffer(&self, mishap: Mishap, round: usize) -> Result<(), Failure> {
        // The brokers have the numbers 1 to 3.
        let one = round as i32 % BROKERS + 1;
        match mishap {
            Mishap::BrokerAway => self.away(&[one], Self::AWAY).await,
            Mishap::ClusterAway => self.away(&[1, 2, 3], Self::ALL_AWAY).await,
            Mishap::LeadersMove => self.move_leaders(round),
            Mishap::AnswersLost => self.lose_answers().await,
            Mishap::ConnectionsBreak => {
                let broken = [Answer::RD_KAFKA_RESP_ERR__TRANSPORT; 2];
                for request in REQUESTS {
                    self.cluster.request_errors(request, &broken);
                }
                Ok(())
            }
            Mishap::PassingErrors => {
                let (request, answer) = PASSING[round % PASSING.len()];
                self.cluster.request_errors(request, &[answer]);
                Ok(())
            }
        }
    }

    async fn away(&self, brokers: &[i32], pause: Duration) -> Result<(), Failure> {
        brokers.iter().try_for_each(|broker| self.cluster.broker_down(*broker))?;
        tokio::time::sleep(pause).await;
        Ok(brokers.iter().try_for_each(|broker| self.cluster.broker_up(*broker))?)
    }

    fn move_leaders(&self, round: usize) -> Result<(), Failure> {
        for partition in 0..PARTITIONS {
            let leader = (round as i32 + partition) % BROKERS + 1;
            self.cluster.partition_leader(&self.topic, partition, Some(leader))?;
        }
        Ok(())
    }

    /// The brokers take requests and answer late, and every connection ends before they do.
    async fn lose_answers(&self) -> Result<(), Failure> {
        self.cluster.broker_round_trip_time(-1, Self::SLOW)?;
        tokio::time::sleep(Self::SLOW / 2).await;
        self.away(&[1, 2, 3], Duration::from_millis(200)).await?;
        Ok(self.cluster.broker_round_trip_time(-1, Duration::ZERO)?)
    }
}

/// The requests whose connections break.
const REQUESTS: [Request; 5] =
    [Request::Produce, Request::Fetch, Request::OffsetCommit, Request::Heartbeat, Request::Metadata];

/// What a cluster says for a moment while it is well, and to which request.
const PASSING: [(Request, Answer); 15] = [
    (Request::Produce, Answer::RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION),
    (Request::Produce, Answer::RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT),
    (Request::Produce, Answer::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS),
    (Request::Produce, Answer::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND),
    (Request::Produce, Answer::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART),
    (Request::Produce, Answer::RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR),
    (Request::Fetch, Answer::RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION),
    (Request::Fetch, Answer::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART),
    (Request::Fetch, Answer::RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR),
    (Request::OffsetCommit, Answer::RD_KAFKA_RESP_ERR_NOT_COORDINATOR),
    (Request::OffsetCommit, Answer::RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS),
    (Request::OffsetCommit, Answer::RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS),
    (Request::OffsetCommit, Answer::RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION),
    (Request::Heartbeat, Answer::RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID),
    (Request::Heartbeat, Answer::RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS),
];

pub(super) fn publisher(url: &str) -> Result<Arc<dyn Publish>, Failure> {
    Ok(Arc::new(KafkaPublisher::new(KafkaConfig::new(url)?)))
}

pub(super) fn consumer(url: &str, topic: &str, group: &str) -> Result<Arc<dyn Consume>, Failure> {
    let place = KafkaConfig::new(url)?.with_setting("session.timeout.ms", SESSION_MS);
    let place = place.with_setting("heartbeat.interval.ms", HEARTBEAT_MS);
    Ok(Arc::new(KafkaConsumer::new(place, topic, group)))
}
