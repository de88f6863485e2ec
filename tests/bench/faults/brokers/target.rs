use std::{sync::Arc, time::Duration};

use async_nats::jetstream::{self, consumer::pull, stream};
use claimstream_brokers::{
    nats::{NatsConfig, NatsConsumer, NatsPublisher},
    rabbitmq::{RabbitMqConfig, RabbitMqConsumer, RabbitMqPublisher},
    redis_streams::{RedisStreamsConfig, RedisStreamsConsumer, RedisStreamsPublisher},
};
use claimstream_ports::{Consume, Publish};
use clap::ValueEnum;
use lapin::{
    Connection, ConnectionProperties,
    options::QueueDeclareOptions,
    types::{AMQPValue, FieldTable},
};
use serde::{Deserialize, Serialize};

use super::{
    fault::{Fault, Stroke},
    kafka,
};
use crate::Failure;

/// Where messages are published.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize, Deserialize)]
pub(crate) enum Target {
    /// A stream of NATS JetStream.
    Nats,
    /// A classic queue of RabbitMQ.
    RabbitmqClassic,
    /// A quorum queue of RabbitMQ.
    RabbitmqQuorum,
    /// A stream of a Redis that writes each entry to its disk before it confirms it.
    RedisStreams,
    /// A topic of a mock cluster of Kafka; it has no disk, so its brokers go away and come back and are not killed.
    Kafka,
}

/// The one place to which a run publishes; a stream, a subject or a queue.
const PLACE: &str = "orders";
const CONSUMER: &str = "shipping";

impl Target {
    /// RabbitMQ 4.0 writes the name of a new quorum queue to its disk only after a moment, and a node that is killed before has an empty queue
    /// of that name afterwards.
    const UNTIL_IT_IS_KEPT: Duration = Duration::from_secs(5);
    /// How long NATS waits for the acknowledgement of a message until it gives it again.
    const ACK_WAIT: Duration = Duration::from_secs(2);

    /// What it is called in a line of figures.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Nats => "NATS JetStream",
            Self::RabbitmqClassic => "RabbitMQ, classic queue",
            Self::RabbitmqQuorum => "RabbitMQ, quorum queue",
            Self::RedisStreams => "Redis Streams",
            Self::Kafka => "Kafka, mock cluster",
        }
    }

    /// What `tests/brokers` calls it.
    pub(super) fn broker(self) -> &'static str {
        match self {
            Self::Nats => "nats",
            Self::RabbitmqClassic | Self::RabbitmqQuorum => "rabbitmq",
            Self::RedisStreams => "redis-streams",
            Self::Kafka => "kafka",
        }
    }

    /// Says which feature it takes, if this program was built without it.
    pub(super) fn check(self) -> Result<(), Failure> {
        match (self, kafka::MISSING) {
            (Self::Kafka, Some(why)) => Err(why.into()),
            _ => Ok(()),
        }
    }

    /// Whether this can happen with it.
    pub(super) fn can_have(self, fault: Fault) -> bool {
        match fault.of_broker() {
            None => true,
            Some(Stroke::Kill) => self != Self::Kafka,
            Some(Stroke::Mocked(_)) => self == Self::Kafka,
        }
    }

    /// Where messages go.
    pub(super) fn place(self) -> &'static str {
        PLACE
    }

    /// Makes the stream or the queue.
    pub(super) async fn prepare(self, url: &str) -> Result<(), Failure> {
        match self {
            Self::Nats => make_stream(url).await,
            Self::RabbitmqClassic => make_queue(url, "classic").await,
            Self::RabbitmqQuorum => {
                make_queue(url, "quorum").await?;
                tokio::time::sleep(Self::UNTIL_IT_IS_KEPT).await;
                Ok(())
            }
            // The consumer makes it, or it came with its cluster.
            Self::RedisStreams | Self::Kafka => Ok(()),
        }
    }

    pub(super) fn publisher(self, url: &str) -> Result<Arc<dyn Publish>, Failure> {
        Ok(match self {
            Self::Nats => Arc::new(NatsPublisher::new(NatsConfig::new(url)?)),
            Self::RabbitmqClassic | Self::RabbitmqQuorum => {
                Arc::new(RabbitMqPublisher::new(RabbitMqConfig::new(url)?))
            }
            Self::RedisStreams => Arc::new(RedisStreamsPublisher::new(RedisStreamsConfig::new(url)?)),
            Self::Kafka => kafka::publisher(url)?,
        })
    }

    pub(super) fn consumer(self, url: &str) -> Result<Arc<dyn Consume>, Failure> {
        Ok(match self {
            Self::Nats => Arc::new(NatsConsumer::new(NatsConfig::new(url)?, PLACE, CONSUMER)),
            Self::RabbitmqClassic | Self::RabbitmqQuorum => {
                Arc::new(RabbitMqConsumer::new(RabbitMqConfig::new(url)?, PLACE))
            }
            Self::RedisStreams => {
                let place = RedisStreamsConfig::new(url)?;
                Arc::new(RedisStreamsConsumer::new(place, PLACE, CONSUMER, "one"))
            }
            Self::Kafka => kafka::consumer(url, PLACE, CONSUMER)?,
        })
    }
}

/// A consumer that may hold one message at a time gets a message again before any later one.
async fn make_stream(url: &str) -> Result<(), Failure> {
    let context = jetstream::new(async_nats::connect(url).await?);
    let subjects = vec![PLACE.to_owned()];
    let config = stream::Config { name: PLACE.to_owned(), subjects, ..stream::Config::default() };
    let stream = context.create_stream(config).await?;
    let one_at_a_time = pull::Config {
        durable_name: Some(CONSUMER.to_owned()),
        ack_wait: Target::ACK_WAIT,
        max_ack_pending: 1,
        ..pull::Config::default()
    };
    stream.create_consumer(one_at_a_time).await?;
    Ok(())
}

async fn make_queue(url: &str, kind: &str) -> Result<(), Failure> {
    let connection = Connection::connect(url, ConnectionProperties::default()).await?;
    let channel = connection.create_channel().await?;
    let mut arguments = FieldTable::default();
    arguments.insert("x-queue-type".into(), AMQPValue::LongString(kind.into()));
    // A quorum queue drops what was given 20 times, and each kill of a consumer has it given again.
    if kind == "quorum" {
        arguments.insert("x-delivery-limit".into(), AMQPValue::LongLongInt(-1));
    }
    let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    channel.queue_declare(PLACE.into(), options, arguments).await?;
    Ok(())
}
