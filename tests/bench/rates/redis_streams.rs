use std::time::{Duration, Instant};

use claimstream_brokers::redis_streams::{RedisStreamsConfig, RedisStreamsPublisher};
use futures::{StreamExt, TryStreamExt, stream};
use redis::{AsyncConnectionConfig, Client, Pipeline, aio::MultiplexedConnection};

use crate::{
    Failure, Load, Row,
    load::{BATCH, body},
};

/// How many entries the client alone adds by one pipeline, and how many of these are on the way.
const TOGETHER: usize = 10 * BATCH;
const PIPELINES: usize = 4;
/// How long a pipeline may take.
const TIMEOUT: Duration = Duration::from_secs(30);
const STREAM: &str = "orders";

pub(crate) async fn measure(url: &str, load: &Load) -> Result<Row, Failure> {
    let config = AsyncConnectionConfig::new().set_response_timeout(Some(TIMEOUT));
    let connection = Client::open(url)?.get_multiplexed_async_connection_with_config(&config).await?;
    let publisher = RedisStreamsPublisher::new(RedisStreamsConfig::new(url)?);
    let mut row = Row::of("Redis Streams");
    for _ in 0..load.rounds {
        row.alone(client_alone(&connection, load).await?);
        row.ours(load.by_adapter(&publisher, STREAM).await?);
    }
    Ok(row)
}

async fn client_alone(connection: &MultiplexedConnection, load: &Load) -> Result<f64, Failure> {
    let body = body();
    let began = Instant::now();
    let add = |from: usize| {
        let mut connection = connection.clone();
        let mut together = Pipeline::with_capacity(TOGETHER);
        for _ in from..load.messages.min(from + TOGETHER) {
            together.cmd("XADD").arg(STREAM).arg("*").arg("data").arg(&body);
        }
        async move { together.query_async::<Vec<String>>(&mut connection).await.map(|_| ()) }
    };
    let added = stream::iter((0..load.messages).step_by(TOGETHER)).map(add).buffer_unordered(PIPELINES);
    added.try_for_each(|()| std::future::ready(Ok(()))).await?;
    Ok(load.rate(began.elapsed()))
}
