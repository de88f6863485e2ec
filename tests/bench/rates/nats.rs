use std::time::Instant;

use async_nats::jetstream::{self, message::PublishMessage, stream::Config};
use claimstream_brokers::nats::{NatsConfig, NatsPublisher};
use futures::{StreamExt, TryStreamExt, stream};
use uuid::Uuid;

use crate::{Failure, Load, Row, load::body};

/// How many acknowledgements the client alone lets stand out.
const OUTSTANDING: usize = 4_000;
const PLACE: &str = "orders";

pub(crate) async fn measure(url: &str, load: &Load) -> Result<Row, Failure> {
    let context = jetstream::new(async_nats::connect(url).await?);
    let subjects = vec![PLACE.to_owned()];
    context.create_stream(Config { name: PLACE.to_owned(), subjects, ..Config::default() }).await?;
    let publisher = NatsPublisher::new(NatsConfig::new(url)?);
    let mut row = Row::of("NATS JetStream");
    for _ in 0..load.rounds {
        row.alone(client_alone(&context, load).await?);
        row.ours(load.by_adapter(&publisher, PLACE).await?);
    }
    Ok(row)
}

/// With the ids by which the stream knows repetitions.
async fn client_alone(context: &jetstream::Context, load: &Load) -> Result<f64, Failure> {
    let message = |_| PublishMessage::build().message_id(Uuid::now_v7().to_string()).payload(body().into());
    let messages: Vec<_> = (0..load.messages).map(message).collect();
    let began = Instant::now();
    let sent = stream::iter(messages).then(|message| context.send_publish(PLACE, message));
    let stored = sent.map(|sent| async { Ok::<_, Failure>(sent?.await?) }).buffered(OUTSTANDING);
    stored.try_for_each(|_| std::future::ready(Ok(()))).await?;
    Ok(load.rate(began.elapsed()))
}
