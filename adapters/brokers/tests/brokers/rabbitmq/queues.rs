use std::time::Duration;

use futures::StreamExt;
use lapin::{
    Channel, Connection, ConnectionProperties, ExchangeKind,
    message::Delivery,
    options::{BasicConsumeOptions, ExchangeDeclareOptions, QueueDeclareOptions},
    types::{AMQPValue, FieldTable},
};

/// How long a busy machine may take with what is there.
pub(super) const BUSY: Duration = Duration::from_secs(30);

/// A connection of the trial itself, beside that of the publisher.
pub(crate) struct Queues {
    _connection: Connection,
    pub(super) channel: Channel,
}

impl Queues {
    pub(crate) async fn at(url: &str) -> Self {
        let connection = Connection::connect(url, ConnectionProperties::default()).await.unwrap();
        let channel = connection.create_channel().await.unwrap();
        Self { _connection: connection, channel }
    }

    /// A durable queue with a name of its own.
    pub(super) async fn declare(&self, arguments: &[(&str, AMQPValue)]) -> String {
        let name = format!("trial-{}", uuid::Uuid::now_v7());
        let mut table = FieldTable::default();
        for (key, value) in arguments {
            table.insert((*key).into(), value.clone());
        }
        let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        self.channel.queue_declare(name.as_str().into(), options, table).await.unwrap();
        name
    }

    pub(crate) async fn classic(&self) -> String {
        self.declare(&[text("x-queue-type", "classic")]).await
    }

    pub(super) async fn quorum(&self) -> String {
        self.declare(&[text("x-queue-type", "quorum")]).await
    }

    /// An exchange to which the broker lets nobody publish.
    pub(super) async fn internal_exchange(&self) -> String {
        let name = format!("trial-{}", uuid::Uuid::now_v7());
        let options = ExchangeDeclareOptions { internal: true, ..ExchangeDeclareOptions::default() };
        let declared = self.channel.exchange_declare(
            name.as_str().into(),
            ExchangeKind::Direct,
            options,
            FieldTable::default(),
        );
        declared.await.unwrap();
        name
    }

    /// Takes everything out of a queue: it is empty when nothing more than expected has come for a second.
    pub(super) async fn drain(&self, queue: &str, expected: usize) -> Vec<Delivery> {
        let options = BasicConsumeOptions { no_ack: true, ..BasicConsumeOptions::default() };
        let consumer =
            self.channel.basic_consume(queue.into(), "".into(), options, FieldTable::default()).await;
        let mut consumer = consumer.unwrap();
        let mut deliveries = Vec::new();
        loop {
            let patience = if deliveries.len() < expected { BUSY } else { Duration::from_secs(1) };
            let Ok(Some(delivery)) = tokio::time::timeout(patience, consumer.next()).await else { break };
            deliveries.push(delivery.unwrap());
        }
        let tag = consumer.tag();
        self.channel.basic_cancel(tag, Default::default()).await.unwrap();
        deliveries
    }
}

pub(super) fn text(name: &'static str, value: &str) -> (&'static str, AMQPValue) {
    (name, AMQPValue::LongString(value.into()))
}

/// The id and the body.
pub(super) fn id_and_body(delivery: &Delivery) -> (String, Vec<u8>) {
    let id = delivery.properties.message_id().as_ref().map(ToString::to_string);
    (id.unwrap_or_default(), delivery.data.clone())
}
