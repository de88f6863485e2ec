use redis::{AsyncConnectionConfig, Client, aio::MultiplexedConnection};

/// A connection of a test's own, which waits for answers as long as they take; the client's default is half a second.
pub async fn redis_connection(client: &Client) -> MultiplexedConnection {
    let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
    client.get_multiplexed_async_connection_with_config(&config).await.expect("a connection")
}
