use claimstream_testbed::PrivateBroker;

use super::{
    fault::{Fault, Stroke},
    kafka::MockKafka,
    target::Target,
};
use crate::Failure;

/// A broker that is started for a course, and stopped with it.
pub(super) enum Broker {
    /// `tests/brokers` runs it, and it has a disk.
    Private(PrivateBroker),
    /// librdkafka's mock cluster in this process, which has none.
    Mock(MockKafka),
}

impl Broker {
    pub(super) async fn start(target: Target) -> Result<Self, Failure> {
        if target == Target::Kafka {
            return Ok(Self::Mock(MockKafka::start(target.place())?));
        }
        let name = target.broker();
        Ok(Self::Private(tokio::task::spawn_blocking(move || PrivateBroker::start(name)).await?))
    }

    pub(super) fn url(&self) -> &str {
        match self {
            Self::Private(broker) => broker.url(),
            Self::Mock(cluster) => cluster.url(),
        }
    }

    /// Has its part of a fault, if it has any.
    pub(super) async fn suffer(&self, fault: Fault, round: usize) -> Result<(), Failure> {
        match (self, fault.of_broker()) {
            (Self::Private(broker), Some(Stroke::Kill)) => broker.kill_and_restart().await,
            (Self::Mock(cluster), Some(Stroke::Mocked(mishap))) => cluster.suffer(mishap, round).await?,
            (_, None | Some(_)) => {}
        }
        Ok(())
    }
}
