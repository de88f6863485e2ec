use std::{future::Future, io, sync::Arc, time::Duration};

use claimstream_ports::{Deadline, Timer};
use redis::{
    AsyncConnectionConfig, Client, Cmd, Pipeline, RedisFuture, RedisResult, Value,
    aio::{ConnectionLike, MultiplexedConnection},
};

use super::RedisStreamsConfig;

/// A connection to Redis that is made within [`RedisConnection::LIMIT`], as is each answer on it.
///
/// The limits are of the configured timer, and the client, whose clock is tokio's, has none.
#[derive(Clone)]
pub(super) struct RedisConnection {
    inner: MultiplexedConnection,
    timer: Arc<dyn Timer>,
}

impl RedisConnection {
    /// How long a connection may take, and the answer to a call.
    pub(super) const LIMIT: Duration = Duration::from_secs(5);

    pub(super) async fn to(config: &RedisStreamsConfig) -> RedisResult<Self> {
        let options = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        let client = Client::open(config.info.clone())?;
        let connecting = client.get_multiplexed_async_connection_with_config(&options);
        let inner = in_time(&config.timer, connecting).await?;
        Ok(Self { inner, timer: Arc::clone(&config.timer) })
    }
}

/// Silence is an error as the client itself makes it.
async fn in_time<T>(timer: &Arc<dyn Timer>, work: impl Future<Output = RedisResult<T>>) -> RedisResult<T> {
    let deadline = Deadline::after(RedisConnection::LIMIT, timer);
    let done = deadline.within(work).await;
    done.unwrap_or_else(|| Err(io::Error::from(io::ErrorKind::TimedOut).into()))
}

impl ConnectionLike for RedisConnection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(in_time(&self.timer, self.inner.req_packed_command(cmd)))
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(in_time(&self.timer, self.inner.req_packed_commands(pipeline, offset, count)))
    }

    fn get_db(&self) -> i64 {
        self.inner.get_db()
    }
}
