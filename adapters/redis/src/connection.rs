use std::{future::Future, sync::Arc, time::Duration};

use claimstream_ports::{Deadline, StoreError, StoreErrorKind, Timer};
use claimstream_tokio::TokioTimer;
use futures::{StreamExt, stream::FuturesUnordered};
use redis::{
    AsyncConnectionConfig, Client, Cmd, IntoConnectionInfo, Pipeline, RedisFuture, RedisResult, Value,
    aio::{ConnectionLike, MultiplexedConnection, PubSub},
    cluster::ClusterClient,
    cluster_async::ClusterConnection,
    sentinel::{SentinelClient, SentinelNodeConnectionInfo, SentinelServerType},
};
use tokio::sync::Mutex;

use crate::{
    place::{Access, Kind, RedisPlace},
    trouble::trouble,
};

/// The way to Redis: a connection that is made when it is needed, and made again after anything went wrong.
pub(crate) struct Link {
    pub(crate) place: RedisPlace,
    pub(crate) timer: Arc<dyn Timer>,
    state: Mutex<State>,
}

#[derive(Clone, Default)]
enum State {
    #[default]
    Apart,
    Connected(Connection),
    /// Redis could not be reached; no call tries again before this moment.
    Away(Deadline),
}

impl Link {
    /// For how long calls are refused at once after one that could not reach Redis.
    const AWAY: Duration = Duration::from_secs(1);

    pub(crate) fn to(place: RedisPlace) -> Self {
        Self { place, timer: Arc::new(TokioTimer::new()), state: Mutex::default() }
    }

    /// Does one thing on the connection, within [`RedisPlace::TIMEOUT`].
    pub(crate) async fn call<T, F>(
        &self,
        operation: &'static str,
        work: impl FnOnce(Connection) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = RedisResult<T>>,
    {
        let deadline = self.deadline(RedisPlace::TIMEOUT);
        let answer = deadline.within(async {
            let connection = self.connection(operation).await?;
            work(connection).await.map_err(|error| trouble(operation, error))
        });
        match answer.await {
            Some(Ok(done)) => Ok(done),
            Some(Err(error)) => {
                self.part(State::Apart).await;
                Err(error)
            }
            None => {
                self.part(State::Away(self.deadline(Self::AWAY))).await;
                let late = format!("no answer within {:?}", RedisPlace::TIMEOUT);
                Err(StoreError::new(StoreErrorKind::Unavailable, operation, late))
            }
        }
    }

    fn deadline(&self, limit: Duration) -> Deadline {
        Deadline::after(limit, &self.timer)
    }

    async fn connection(&self, operation: &'static str) -> Result<Connection, StoreError> {
        let mut state = self.state.lock().await;
        match &*state {
            State::Connected(connection) => return Ok(connection.clone()),
            State::Away(until) if !until.has_passed() => {
                let away = "it could not be reached a moment ago";
                return Err(StoreError::new(StoreErrorKind::Unavailable, operation, away));
            }
            _ => {}
        }
        // Those that wait here find it so if this call gives up.
        *state = State::Away(self.deadline(RedisPlace::TIMEOUT + Self::AWAY));
        match Connection::to(&self.place).await {
            Ok(connection) => {
                *state = State::Connected(connection.clone());
                Ok(connection)
            }
            Err(error) => {
                *state = State::Away(self.deadline(Self::AWAY));
                Err(trouble(operation, error))
            }
        }
    }

    /// Gives the connection up: it may be broken, or lead to a server that is the master no more.
    async fn part(&self, next: State) {
        let mut state = self.state.lock().await;
        if !matches!(&*state, State::Away(until) if !until.has_passed()) {
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
                let cluster = cluster.connection_timeout(RedisPlace::TIMEOUT).retries(1).build()?;
                cluster.get_async_connection().await.map(Self::Cluster)
            }
            _ => unlimited(&client(place).await?).await.map(Self::Server),
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

/// A connection that receives published messages: in a cluster any node sends them.
pub(crate) async fn listen(place: &RedisPlace) -> RedisResult<PubSub> {
    client(place).await?.get_async_pubsub().await
}

/// The server, the master that sentinels name, or the first node of a cluster that answers.
async fn client(place: &RedisPlace) -> RedisResult<Client> {
    match &place.kind {
        Kind::Server(url) => Client::open(url.as_str()),
        Kind::Cluster(nodes) => answering(nodes).await,
        Kind::Sentinel { nodes, master, access } => {
            let access = access.settings()?;
            let ask = |node| {
                let (master, access) = (master.clone(), Some(access.clone()));
                async move {
                    let kind = SentinelServerType::Master;
                    SentinelClient::build(vec![node], master, access, kind)?.async_get_client().await
                }
            };
            first_of(nodes, ask).await
        }
    }
}

async fn answering(nodes: &[String]) -> RedisResult<Client> {
    let ask = |node| async move {
        let client = Client::open(node)?;
        unlimited(&client).await.map(|_| client)
    };
    first_of(nodes, ask).await
}

/// The client of the first node that answers; all are asked at the same time, because one that is silent would use up the time of the call.
async fn first_of<'a, F>(nodes: &'a [String], ask: impl Fn(&'a str) -> F) -> RedisResult<Client>
where
    F: Future<Output = RedisResult<Client>>,
{
    let mut asked: FuturesUnordered<_> = nodes.iter().map(|node| ask(node)).collect();
    let mut failed = None;
    while let Some(answer) = asked.next().await {
        match answer {
            Ok(client) => return Ok(client),
            // One that is silent fails last, and says least.
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    let none = || (redis::ErrorKind::InvalidClientConfig, "a cluster or sentinels without nodes").into();
    Err(failed.unwrap_or_else(none))
}

/// A connection without limits of the client, whose clock is tokio's: each call is in the limit of [`Link::call`].
async fn unlimited(client: &Client) -> RedisResult<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
    client.get_multiplexed_async_connection_with_config(&config).await
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
    use claimstream_ports::mock::HandTimer;
    use futures::future::{join, join_all};
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{TcpListener, TcpStream},
    };

    use super::*;

    /// As Redis behind a firewall that drops its packets: connecting ends by our timeout, and not by an error.
    /// Guard: a silent Redis is asked once a second | `part`: one that was away stays so
    #[tokio::test]
    async fn a_silent_redis_is_waited_for_once_in_a_while() {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = RedisPlace::new(&format!("redis://{}", silent.local_addr().unwrap())).unwrap();
        let timer = HandTimer::default();
        let link = Link { timer: Arc::new(timer.clone()), ..Link::to(place) };
        let call = || link.call("ask", |_| std::future::ready(Ok(())));
        // One connection is made for the calls, and their time runs out.
        let run_out = async || {
            let (peer, _) = silent.accept().await.unwrap();
            timer.asleep_until(timer.now() + RedisPlace::TIMEOUT).await;
            timer.advance(RedisPlace::TIMEOUT);
            peer
        };
        let mut peers = Vec::new();
        for _ in 0..3 {
            let (waited, peer) = join(call(), run_out()).await;
            assert!(waited.is_err());
            peers.push(peer);
            assert!(call().await.is_err(), "the timer stands, so this call has not waited");
            timer.advance(RedisPlace::TIMEOUT + Link::AWAY);
        }
        let (calls, peer) = join(join_all((0..8).map(|_| call())), run_out()).await;
        assert!(calls.iter().all(Result::is_err));
        peers.push(peer);
        // The kernel has each connection that was made.
        let more = silent.into_std().unwrap().accept();
        assert_eq!(more.unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "one of the calls connects");
    }

    /// Answers as a sentinel that knows one master, at this port, or as that master.
    async fn answer(mut peer: TcpStream, master: Option<u16>) {
        let mut asked = [0; 4096];
        while let Ok(length @ 1..) = peer.read(&mut asked).await {
            let text = String::from_utf8_lossy(&asked[..length]).to_lowercase();
            let port = master.map(|port| port.to_string()).unwrap_or_default();
            let said = match (&*text, master) {
                (text, Some(_)) if text.contains("$4\r\nrole") => {
                    "*2\r\n$8\r\nsentinel\r\n*1\r\n$4\r\nmain\r\n".into()
                }
                (text, None) if text.contains("$4\r\nrole") => "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n".into(),
                (text, Some(_)) if text.contains("masters") => {
                    let known = ["name", "main", "ip", "127.0.0.1", "port", &port, "flags", "master"];
                    format!("*1\r\n{}", words(&known))
                }
                // Each command begins with the number of its words.
                (text, _) => "+OK\r\n".repeat(text.matches('*').count()),
            };
            if peer.write_all(said.as_bytes()).await.is_err() {
                return;
            }
        }
    }

    fn words(all: &[&str]) -> String {
        let each = all.iter().map(|word| format!("${}\r\n{word}\r\n", word.len()));
        format!("*{}\r\n{}", all.len(), each.collect::<String>())
    }

    /// Serves for as long as the test lasts, and returns the address.
    async fn serve(master: Option<u16>) -> std::net::SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((peer, _)) = listener.accept().await {
                tokio::spawn(answer(peer, master));
            }
        });
        address
    }

    /// Guard: a silent sentinel or node hides no other | `first_of`: one node after the other
    #[tokio::test]
    async fn the_first_of_several_nodes_may_be_silent() {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let first = silent.local_addr().unwrap();
        let master = serve(None).await;
        let sentinel = serve(Some(master.port())).await;
        let urls = [
            format!("redis-sentinel://{first},{sentinel}/0#main"),
            format!("redis-cluster://{first},{master}"),
        ];
        for url in urls {
            client(&RedisPlace::new(&url).unwrap()).await.unwrap();
        }
    }
}
