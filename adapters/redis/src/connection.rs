use std::{
    future::Future,
    time::{Duration, Instant},
};

use claimstream_ports::{StoreError, StoreErrorKind};
use redis::{
    Client, Cmd, IntoConnectionInfo, Pipeline, RedisFuture, RedisResult, Value,
    aio::{ConnectionLike, MultiplexedConnection, PubSub},
    cluster::ClusterClient,
    cluster_async::ClusterConnection,
    sentinel::{SentinelClient, SentinelNodeConnectionInfo, SentinelServerType},
};
use tokio::{sync::Mutex, time::timeout};

use crate::{
    place::{Access, Kind, RedisPlace},
    trouble::trouble,
};

/// The way to Redis: a connection that is made when it is needed, and made again after anything went wrong.
pub(crate) struct Link {
    pub(crate) place: RedisPlace,
    state: Mutex<State>,
}

#[derive(Clone, Default)]
enum State {
    #[default]
    Apart,
    Connected(Connection),
    /// Redis could not be reached; nobody tries again before this moment.
    Away(Instant),
}

impl Link {
    /// For how long calls are refused at once after one that could not reach Redis.
    const AWAY: Duration = Duration::from_secs(1);

    pub(crate) fn to(place: RedisPlace) -> Self {
        Self { place, state: Mutex::default() }
    }

    /// Does one thing on the connection, within the patience that everybody has.
    pub(crate) async fn call<T, F>(
        &self,
        operation: &'static str,
        work: impl FnOnce(Connection) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = RedisResult<T>>,
    {
        let answer = timeout(RedisPlace::PATIENCE, async {
            let connection = self.connection(operation).await?;
            work(connection).await.map_err(|error| trouble(operation, error))
        });
        match answer.await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => {
                self.part(State::Apart).await;
                Err(error)
            }
            Err(_) => {
                self.part(State::Away(Instant::now() + Self::AWAY)).await;
                let late = format!("no answer within {:?}", RedisPlace::PATIENCE);
                Err(StoreError::new(StoreErrorKind::Unavailable, operation, late))
            }
        }
    }

    async fn connection(&self, operation: &'static str) -> Result<Connection, StoreError> {
        let mut state = self.state.lock().await;
        match &*state {
            State::Connected(connection) => return Ok(connection.clone()),
            State::Away(until) if Instant::now() < *until => {
                let away = "it could not be reached a moment ago";
                return Err(StoreError::new(StoreErrorKind::Unavailable, operation, away));
            }
            _ => {}
        }
        // Those that wait here find it so if this call gives up.
        *state = State::Away(Instant::now() + RedisPlace::PATIENCE + Self::AWAY);
        match Connection::to(&self.place).await {
            Ok(connection) => {
                *state = State::Connected(connection.clone());
                Ok(connection)
            }
            Err(error) => {
                *state = State::Away(Instant::now() + Self::AWAY);
                Err(trouble(operation, error))
            }
        }
    }

    /// Gives the connection up: it may be broken, or lead to a server that is the master no more.
    async fn part(&self, next: State) {
        let mut state = self.state.lock().await;
        if !matches!(*state, State::Away(until) if Instant::now() < until) {
            *state = next;
        }
    }
}

/// A connection to one server or to a cluster.
#[derive(Clone)]
pub(crate) enum Connection {
    Server(MultiplexedConnection),
    Cluster(ClusterConnection),
}

impl Connection {
    async fn to(place: &RedisPlace) -> RedisResult<Self> {
        match &place.kind {
            Kind::Cluster(nodes) => {
                let cluster = ClusterClient::builder(nodes.iter().map(String::as_str));
                let cluster = cluster.connection_timeout(RedisPlace::PATIENCE).retries(1).build()?;
                cluster.get_async_connection().await.map(Self::Cluster)
            }
            _ => client(place).await?.get_multiplexed_async_connection().await.map(Self::Server),
        }
    }
}

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Self::Server(server) => server.req_packed_command(cmd),
            Self::Cluster(cluster) => cluster.req_packed_command(cmd),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self {
            Self::Server(server) => server.req_packed_commands(pipeline, offset, count),
            Self::Cluster(cluster) => cluster.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Self::Server(server) => server.get_db(),
            Self::Cluster(cluster) => cluster.get_db(),
        }
    }
}

/// A connection that hears published messages: in a cluster any node sends them.
pub(crate) async fn listen(place: &RedisPlace) -> RedisResult<PubSub> {
    client(place).await?.get_async_pubsub().await
}

/// The server, the master that sentinels name, or the first node of a cluster that answers.
async fn client(place: &RedisPlace) -> RedisResult<Client> {
    match &place.kind {
        Kind::Server(url) => Client::open(url.as_str()),
        Kind::Cluster(nodes) => answering(nodes).await,
        Kind::Sentinel { nodes, master, access } => {
            let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
            let access = Some(access.settings()?);
            let mut sentinel =
                SentinelClient::build(nodes, master.clone(), access, SentinelServerType::Master)?;
            sentinel.async_get_client().await
        }
    }
}

async fn answering(nodes: &[String]) -> RedisResult<Client> {
    let mut failed = None;
    for node in nodes {
        let client = Client::open(node.as_str())?;
        match client.get_multiplexed_async_connection().await {
            Ok(_) => return Ok(client),
            Err(error) => failed = Some(error),
        }
    }
    Err(failed.unwrap_or_else(|| (redis::ErrorKind::InvalidClientConfig, "a cluster without nodes").into()))
}

impl Access {
    fn settings(&self) -> RedisResult<SentinelNodeConnectionInfo> {
        let mut redis = "redis://any".into_connection_info()?.redis_settings().clone().set_db(self.database);
        if let Some(user) = &self.user {
            redis = redis.set_username(user);
        }
        if let Some(password) = &self.password {
            redis = redis.set_password(password);
        }
        Ok(SentinelNodeConnectionInfo::default().set_redis_connection_info(redis))
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// As Redis behind a firewall that drops its packets: connecting ends by our patience, and not by an error.
    #[tokio::test]
    async fn a_silent_redis_is_waited_for_once_in_a_while() {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = RedisPlace::new(&format!("redis://{}", silent.local_addr().unwrap())).unwrap();
        let link = Link::to(place);
        let waited = async || {
            let began = Instant::now();
            assert!(link.call("ask", |_| std::future::ready(Ok(()))).await.is_err());
            began.elapsed() >= RedisPlace::PATIENCE
        };
        for _ in 0..3 {
            assert!(waited().await);
            assert!(!waited().await, "nobody waits a moment after");
            tokio::time::sleep(RedisPlace::PATIENCE + Link::AWAY).await;
        }
        let taken = async {
            let mut taken = Vec::new();
            while let Ok(peer) = timeout(Duration::from_millis(50), silent.accept()).await {
                taken.push(peer);
            }
            taken.len()
        };
        assert_eq!(taken.await, 3);
        let call = || link.call("ask", |_| std::future::ready(Ok(())));
        let calls = futures::future::join_all((0..8).map(|_| call())).await;
        assert!(calls.iter().all(Result::is_err));
        let more = timeout(Duration::from_secs(10), silent.accept()).await;
        assert!(
            more.is_ok() && timeout(Duration::from_millis(50), silent.accept()).await.is_err(),
            "one connects"
        );
    }
}
