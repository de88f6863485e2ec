use std::time::Instant;

use claimstream_brokers::rabbitmq::{RabbitMqConfig, RabbitMqPublisher};
use futures::{StreamExt, TryStreamExt, stream};
use lapin::{
    BasicProperties, Channel, Connection, ConnectionProperties,
    options::{BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions, QueuePurgeOptions},
    types::{AMQPValue, FieldTable},
};

use crate::{Failure, Load, Row, load::body};

/// How many confirmations the client alone lets stand out, on how many channels.
const OUTSTANDING: usize = 4_000;
const CHANNELS: usize = 4;
const QUEUE: &str = "orders";
const PERSISTENT: u8 = 2;

pub(crate) async fn measure(url: &str, kind: &str, load: &Load) -> Result<Row, Failure> {
    let connection = Connection::connect(url, ConnectionProperties::default()).await?;
    let channel = connection.create_channel().await?;
    let mut arguments = FieldTable::default();
    arguments.insert("x-queue-type".into(), AMQPValue::LongString(kind.into()));
    let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    channel.queue_declare(QUEUE.into(), options, arguments).await?;
    let mut channels = Vec::with_capacity(CHANNELS);
    for _ in 0..CHANNELS {
        let one = connection.create_channel().await?;
        one.confirm_select(ConfirmSelectOptions::default()).await?;
        channels.push(one);
    }
    let publisher = RabbitMqPublisher::new(RabbitMqConfig::new(url)?);
    let mut row = Row::of(&format!("RabbitMQ, {kind} queue"));
    for _ in 0..load.rounds {
        row.alone(client_alone(&channels, load).await?);
        row.ours(load.by_adapter(&publisher, QUEUE).await?);
        channel.queue_purge(QUEUE.into(), QueuePurgeOptions::default()).await?;
    }
    Ok(row)
}

async fn client_alone(channels: &[Channel], load: &Load) -> Result<f64, Failure> {
    let body = &body();
    let publish = |number: usize| async move {
        let channel = &channels[number % channels.len()];
        let properties = BasicProperties::default().with_delivery_mode(PERSISTENT);
        let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let confirmed =
            channel.basic_publish("".into(), QUEUE.into(), options, body, properties).await?.await?;
        match confirmed.is_ack() {
            true => Ok(()),
            false => Err(Failure::from("a message was not confirmed")),
        }
    };
    let began = Instant::now();
    let sent = stream::iter(0..load.messages).map(publish).buffer_unordered(OUTSTANDING);
    sent.try_for_each(|()| std::future::ready(Ok(()))).await?;
    Ok(load.rate(began.elapsed()))
}
