use std::time::{Duration, Instant};

use claimstream_brokers::kafka::{KafkaConfig, KafkaPublisher};
use rdkafka::{
    ClientConfig, Message, Offset, TopicPartitionList,
    consumer::{BaseConsumer, Consumer},
    message::{Headers, OwnedMessage},
    mocking::MockCluster,
    producer::DefaultProducerContext,
};

pub(super) const TOPIC: &str = "orders";
pub(super) const PARTITIONS: i32 = 4;
pub(super) const BROKERS: i32 = 3;

/// A mock cluster with one topic.
pub(super) struct Cluster(pub(super) MockCluster<'static, DefaultProducerContext>);

impl Cluster {
    pub(super) fn start() -> Self {
        let cluster = MockCluster::new(BROKERS).unwrap();
        cluster.create_topic(TOPIC, PARTITIONS, BROKERS).unwrap();
        Self(cluster)
    }

    pub(super) fn place(&self) -> KafkaConfig {
        KafkaConfig::new(&format!("kafka://{}", self.0.bootstrap_servers())).unwrap()
    }

    pub(super) fn publisher(&self) -> KafkaPublisher {
        KafkaPublisher::new(self.place())
    }

    /// Everything that the topic holds, which is as much as expected or more, each partition in its order.
    pub(super) fn read(&self, expected: usize) -> Vec<OwnedMessage> {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", self.0.bootstrap_servers()).set("group.id", "reader");
        config.set("enable.partition.eof", "false");
        let consumer: BaseConsumer = config.create().unwrap();
        let mut partitions = TopicPartitionList::new();
        for partition in 0..PARTITIONS {
            partitions.add_partition_offset(TOPIC, partition, Offset::Beginning).unwrap();
        }
        consumer.assign(&partitions).unwrap();
        let (mut read, mut last) = (Vec::new(), Instant::now());
        while last.elapsed() < Duration::from_secs(if read.len() < expected { 30 } else { 2 }) {
            if let Some(Ok(message)) = consumer.poll(Duration::from_millis(100)) {
                read.push(message.detach());
                last = Instant::now();
            }
        }
        read
    }
}

/// A header as text.
pub(super) fn header(message: &OwnedMessage, name: &str) -> String {
    let headers = message.headers().unwrap();
    let found = headers.iter().find(|header| header.key == name);
    found
        .and_then(|header| header.value)
        .map(|value| String::from_utf8_lossy(value).into_owned())
        .unwrap_or_default()
}

/// The id and the body.
pub(super) fn id_and_body(message: &OwnedMessage) -> (String, Vec<u8>) {
    (header(message, "message-id"), message.payload().unwrap_or_default().to_vec())
}
