use std::cell::RefCell;

use claimstream_testbed::eventually;
use lapin::{
    Channel, Connection, ConnectionProperties, ExchangeKind,
    message::Delivery,
    options::{BasicGetOptions, ExchangeDeclareOptions, QueueDeclareOptions},
    types::{AMQPValue, FieldTable},
};

/// A connection of the test itself, in addition to that of the publisher.
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
        let name = format!("test-{}", uuid::Uuid::now_v7());
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

    /// An exchange to which the broker lets no client publish.
    pub(super) async fn internal_exchange(&self) -> String {
        let name = format!("test-{}", uuid::Uuid::now_v7());
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

    /// Takes everything out of a queue, of which no consumer holds anything: as much as expected, and what the broker has beyond that.
    pub(super) async fn drain(&self, queue: &str, expected: usize) -> Vec<Delivery> {
        let deliveries = RefCell::new(Vec::new());
        eventually("as many messages as expected", async || {
            while let Some(delivery) = self.take(queue).await {
                deliveries.borrow_mut().push(delivery);
            }
            deliveries.borrow().len() >= expected
        })
        .await;
        deliveries.into_inner()
    }

    async fn take(&self, queue: &str) -> Option<Delivery> {
        let got = self.channel.basic_get(queue.into(), BasicGetOptions { no_ack: true }).await.unwrap();
        got.map(|got| got.delivery)
    }

    /// How many consumers a queue has.
    pub(super) async fn consumers(&self, queue: &str) -> u32 {
        let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        let declared = self.channel.queue_declare(queue.into(), passive, FieldTable::default()).await;
        declared.unwrap().consumer_count()
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
