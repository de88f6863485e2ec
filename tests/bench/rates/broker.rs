use claimstream_testbed::PrivateBroker;
use clap::ValueEnum;

use crate::{Failure, Load, Row, nats, rabbitmq, redis_streams};

/// Where messages are published.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Broker {
    /// A stream of NATS JetStream.
    Nats,
    /// A classic queue of RabbitMQ.
    RabbitmqClassic,
    /// A quorum queue of RabbitMQ.
    RabbitmqQuorum,
    /// A stream of a Redis that writes each entry to its disk before it confirms it.
    RedisStreams,
}

impl Broker {
    /// Starts it, and measures both.
    pub(crate) async fn measure(self, load: &Load) -> Result<Row, Failure> {
        let broker = tokio::task::spawn_blocking(move || PrivateBroker::start(self.program())).await?;
        let url = broker.url();
        match self {
            Self::Nats => nats::measure(url, load).await,
            Self::RabbitmqClassic => rabbitmq::measure(url, "classic", load).await,
            Self::RabbitmqQuorum => rabbitmq::measure(url, "quorum", load).await,
            Self::RedisStreams => redis_streams::measure(url, load).await,
        }
    }

    /// What `tests/brokers` calls it.
    fn program(self) -> &'static str {
        match self {
            Self::Nats => "nats",
            Self::RabbitmqClassic | Self::RabbitmqQuorum => "rabbitmq",
            Self::RedisStreams => "redis-streams",
        }
    }
}
